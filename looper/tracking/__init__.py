"""Tracking: MLflow as a mirror of every run's journal, never in the path of a run (SPEC 6.1, SAFETY P17).

The process of a run never imports MLflow: one mirror process per command (`looper.tracking.mirror`) reads the journals
and logs them. A run is the same with MLflow absent, slow, locked or broken, and ends at most `wait` seconds later.
"""

import contextlib
import importlib.util
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field
from pydantic.dataclasses import dataclass

from looper.errors import ConfigError
from looper.types import STRICT

if TYPE_CHECKING:
    from looper.tracking.shadow import Synced
    from looper.tracking.store import Place

LOADING = 5.0
"""Seconds that loading MLflow takes (3.5 s, STACK, Start-up): a mirror not past that is not worth a shorter wait."""
SYNC = "`looper sync` makes up for what is missing."
_left: set[int] = set()
"""Process ids of mirrors that outlast their command."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Tracking:
    """Where MLflow's copy of the runs goes."""

    enabled: bool = True
    """Whether runs are mirrored while they go; `looper sync` does it later in any case."""
    uri: str | None = None
    """MLflow's store: sqlite:///file.db, http://127.0.0.1:5000 or such. None: mlflow.db in the outputs folder."""
    experiment: Annotated[str, Field(min_length=1, max_length=250)] = "looper"
    """Name of the experiment in MLflow; it is created if it is not there."""
    wait: Annotated[float, Field(ge=0, le=600)] = 1.0
    """Seconds, 0 to 600, that the end of a command waits for the mirror at most (SAFETY P17: 1). A mirror that has not
    loaded MLflow by then is not waited for unless at least 5 s are allowed: it could not be done in time."""
    traces: bool = True
    """Whether a run's steps are logged as a trace, once the run has ended."""
    spans: Annotated[int, Field(ge=2, le=10_000)] = 300
    """Steps that a trace shows at most, the first and the last half; one costs 7 ms in the background (STACK)."""

    def place(self, outputs: Path) -> "Place":
        """This setting for one outputs folder."""
        from looper.tracking.store import Place

        uri = self.uri or f"sqlite:///{(outputs / 'mlflow.db').resolve()}"
        return Place(outputs.resolve(), uri, self.experiment, self.traces, self.spans)

    def open(self, outputs: Path) -> "Mirror":
        """Start the mirror for one command. Never raises for MLflow's sake: `close` tells what went wrong."""
        if not self.enabled:
            return Mirror(wait=self.wait)
        if importlib.util.find_spec("mlflow") is None:
            return Mirror(wait=self.wait, error=f"MLflow is not installed; once it is, {SYNC}")
        try:
            process = _start(outputs)
        except OSError as error:
            return Mirror(wait=self.wait, error=f"MLflow: the mirror could not be started ({error.strerror}); {SYNC}")
        mirror = Mirror(wait=self.wait, process=process)
        place = self.place(outputs)
        mirror.tell({**vars(place), "outputs": str(place.outputs)})
        return mirror


def _start(outputs: Path) -> "subprocess.Popen[bytes]":
    """The mirror, in a session of its own: Ctrl-C in the terminal is for the run."""
    _reap()
    outputs.mkdir(parents=True, exist_ok=True)
    with (outputs / "mirror.log").open("ab") as log:
        return subprocess.Popen(
            # -P: the folder one stands in may hold a json.py or an mlflow/ of the user's.
            [sys.executable, "-P", "-m", "looper.tracking.mirror"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True, env=_environment(),
        )  # fmt: skip


def _leave(process: "subprocess.Popen[bytes]") -> int | None:
    """Let a mirror go on by itself; its exit code if it has ended."""
    code = process.poll()
    if code is None:
        _left.add(process.pid)
        process.returncode = 0  # or Python warns, when it forgets the object, of a process that nobody waited for
    return code


def _reap() -> None:
    """Release what is left of mirrors that have ended since."""
    for pid in list(_left):
        try:
            ended, _ = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            ended = pid
        if ended:
            _left.discard(pid)


def _environment() -> dict[str, str]:
    here = str(Path(__file__).resolve().parents[2])
    path = [here, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}


class Mirror:
    """One command's mirror process, seen from the command. Only `close` may take time: `wait` seconds at most."""

    def __init__(self, *, wait: float, process: "subprocess.Popen[bytes] | None" = None, error: str = ""):
        self.wait, self.process, self.error = wait, process, error
        self._unsent = b""
        self._heard = b""
        for pipe in (process.stdin, process.stdout) if process else ():
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)

    def follow(self, folder: Path, tags: Mapping[str, str] | None = None) -> None:
        """Mirror the run in this folder, now or to come. A folder below `sweeps/NAME/` belongs to the multirun NAME."""
        self.tell({"folder": str(folder.resolve()), "tags": dict(tags or {})})

    def tell(self, message: Mapping[str, Any]) -> None:
        """Send a line, as far as the pipe takes it; the rest goes with the next one."""
        if self.process is None or self.process.stdin is None:
            return
        self._unsent += json.dumps(message).encode() + b"\n"
        try:
            sent = os.write(self.process.stdin.fileno(), self._unsent)
        except BlockingIOError:
            return
        except BrokenPipeError:
            self.error = f"MLflow: the mirror has ended before its time (see mirror.log); {SYNC}"
            return
        self._unsent = self._unsent[sent:]

    def close(self) -> str | None:
        """Tell the mirror that the command has ended; one line to show if it is not done by then, or has failed."""
        process = self.process
        if process is None:
            return self.error or None
        self.tell({"close": True})
        self.process = None
        if process.stdin is not None:
            process.stdin.close()
        said = self._listen(process)
        if process.stdout is not None:
            process.stdout.close()
        return self._verdict(said, _leave(process))

    def _listen(self, process: "subprocess.Popen[bytes]") -> dict[str, Any]:
        """What the mirror said, until it is done or `wait` is over."""
        assert process.stdout is not None
        deadline = time.monotonic() + self.wait
        said: dict[str, Any] = {}
        while True:
            said |= self._said(process.stdout.fileno())
            loading = not said and self.wait < LOADING
            left = deadline - time.monotonic()
            if said.get("done") or "ended" in said or loading or left <= 0:
                break
            select.select([process.stdout], [], [], left)
        return said

    def _said(self, pipe: int) -> dict[str, Any]:
        """What has come down the pipe, later words over earlier ones; `ended` at its end."""
        said: dict[str, Any] = {}
        with contextlib.suppress(BlockingIOError):
            while chunk := os.read(pipe, 65536):
                self._heard += chunk
            said["ended"] = True
        *lines, self._heard = self._heard.split(b"\n")
        for line in lines:
            said |= json.loads(line)
        return said

    def _verdict(self, said: Mapping[str, Any], code: int | None) -> str | None:
        if self._unsent and self.error == "":
            self.error = f"MLflow: the mirror did not listen; {SYNC}"
        if said.get("done") and not said.get("missing"):
            return self.error or None
        failed = f"{said['error']} ({said['failures']} failures, see mirror.log)" if said.get("failures") else ""
        if said.get("done"):
            return f"MLflow: {failed}; {SYNC}"
        if "ended" in said or code is not None:
            return f"MLflow: {failed or 'the mirror has ended before its time, see mirror.log'}; {SYNC}"
        if failed:
            return f"MLflow: {failed}; it is tried again in the background for a minute; {SYNC}"
        return f"MLflow: still busy in the background; if it is stopped, {SYNC}"


def sync(outputs: Path, tracking: Tracking, folders: Sequence[Path]) -> "Synced":
    """Log to MLflow what is missing of these runs; a second time there is nothing to do. Also ends runs that a stopped
    mirror left as RUNNING. Raises ConfigError if there is no MLflow or its store cannot be used.
    """
    if importlib.util.find_spec("mlflow") is None:
        raise ConfigError("MLflow is not installed: `pip install mlflow`, then sync again.")
    from looper.tracking.shadow import brief
    from looper.tracking.shadow import sync as log

    place = tracking.place(outputs)
    try:
        return log(place, folders)
    except Exception as error:  # the boundary: what MLflow's drivers raise has no common class
        raise ConfigError(f"tracking.uri: the MLflow store cannot be used ({brief(error)}).") from error
