"""The mirror process: follows the journals of a command's runs and logs them to MLflow (SPEC 6.1, SAFETY P17).

Started by `looper.tracking`, told on standard input (a JSON line each: the place, then run folders, then `close`), it
answers on standard output (ready, failed, done) and writes its log to standard error. It goes on when its parent dies.
"""

import contextlib
import fcntl
import json
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from looper.errors import LooperError
from looper.redact import redact
from looper.tracking.shadow import LOCK, Shadow, brief
from looper.tracking.store import Place, Store

POLL = 0.5
"""Seconds between two looks at the journals."""
PATIENCE = 60.0
"""Seconds of failures after which the mirror gives up once its command has ended; `looper sync` makes up for it."""
LONGEST_PAUSE = 15.0
"""Seconds between two tries at most while MLflow fails."""


@dataclass
class Failures:
    """What went wrong, counted."""

    report: Callable[[dict[str, Any]], None] = lambda message: None
    count: int = 0
    last: str = ""
    since: float | None = None
    """When the present series of failures began (monotonic seconds)."""
    pause: float = 0.0

    def add(self, error: Exception, where: str = "") -> None:
        self.count += 1
        self.last = f"{where}: {brief(error)}" if where else brief(error)
        self.since = time.monotonic() if self.since is None else self.since
        self.pause = min(LONGEST_PAUSE, self.pause * 2 or POLL)
        print(redact("".join(traceback.format_exception(error))), file=sys.stderr, flush=True)
        self.report({"failures": self.count, "error": self.last})

    def clear(self) -> None:
        self.since, self.pause = None, 0.0


@dataclass
class Session:
    """The mirror's work for one command."""

    place: Place
    inbox: "queue.Queue[dict[str, Any]]"
    report: Callable[[dict[str, Any]], None]
    shadows: dict[Path, Shadow] = field(default_factory=dict)
    """Runs that are not done."""
    locks: dict[Path, TextIO] = field(default_factory=dict)
    store: Store | None = None
    closed: bool = False
    damaged: int = 0
    """Runs that cannot be logged."""

    def __post_init__(self) -> None:
        self.failures = Failures(self.report)
        self.sweeps: set[Path] = set()

    def go(self) -> int:
        """Follow until the command has ended and all is logged; 0 if nothing is missing."""
        while not (self.closed and (self.complete() or self.hopeless())):
            self._receive(max(POLL, self.failures.pause))
            try:
                self._round()
            except ImportError as error:
                self.failures.add(error)
                return 1
            except Exception as error:  # the boundary: what MLflow and its drivers raise is counted and shown
                self.failures.add(error)
            else:
                self.failures.clear()
        return int(not self.complete() or self.damaged > 0)

    def complete(self) -> bool:
        return not self.shadows and not self.sweeps

    def hopeless(self) -> bool:
        """Whether there is no point in trying on: it has failed for long, or the outputs were deleted."""
        if not self.place.outputs.is_dir():
            return True
        return self.failures.since is not None and time.monotonic() - self.failures.since > PATIENCE

    def _receive(self, seconds: float) -> None:
        """Take what the parent says; wait at most so long for a first word."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._hear(self.inbox.get(timeout=0 if self.closed and not self.failures.since else seconds))
                seconds = 0.0

    def _hear(self, message: Mapping[str, Any]) -> None:
        if message.get("close"):
            self.closed = True
        elif "folder" in message:
            folder = Path(message["folder"])
            self.shadows.setdefault(folder, Shadow(folder, self.place, message.get("tags")))

    def _round(self) -> None:
        """One look at every run that is not done."""
        if self.store is None:
            self.store = Store(self.place)
            self.report({"ready": True})
        busy: list[str] = []
        for folder, shadow in list(self.shadows.items()):
            if self._alone(folder):
                self._advance(self.store, folder, shadow)
            else:
                busy.append(folder.name)
        if self.closed and busy:
            raise LooperError(f"{', '.join(busy)}: another process mirrors this run")
        if self.closed and not self.shadows:
            for sweep in sorted(self.sweeps):
                self.store.close_sweep(sweep)
                self.sweeps.discard(sweep)

    def _advance(self, store: Store, folder: Path, shadow: Shadow) -> None:
        """One run; one that is done is forgotten, and its lock is free for a later mirror."""
        try:
            done = shadow.advance(store, last=self.closed)
        except LooperError as error:
            self.failures.add(error, folder.name)
            self.damaged += 1
            done = True
        if shadow.sweep and shadow.run is not None and shadow.sweep not in self.sweeps:
            store.open_sweep(shadow.sweep)
            self.sweeps.add(shadow.sweep)
        if done:
            del self.shadows[folder]
            if file := self.locks.pop(folder, None):
                file.close()

    def _alone(self, folder: Path) -> bool:
        """Whether no other mirror is at this run; its lock is held until this one is done with it."""
        if folder in self.locks or not folder.is_dir():
            return True
        file = (folder / LOCK).open("a")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return False
        self.locks[folder] = file
        return True


def _listen(inbox: "queue.Queue[dict[str, Any]]") -> None:
    """Read the parent's words in a thread, so that its pipe never fills; where the pipe ends, so did the command."""
    unread = b""
    while chunk := os.read(0, 65536):
        *lines, unread = (unread + chunk).split(b"\n")
        for line in lines:
            inbox.put(json.loads(line))
    inbox.put({"close": True})


def _answers() -> Callable[[dict[str, Any]], None]:
    """Tell the parent over what was standard output; from now on everything printed goes to the log."""
    pipe = os.dup(1)
    os.dup2(2, 1)
    os.set_blocking(pipe, False)

    def report(message: dict[str, Any]) -> None:
        with contextlib.suppress(BrokenPipeError, BlockingIOError):  # nobody listens any more: the log has it all
            os.write(pipe, json.dumps(message).encode() + b"\n")

    return report


def main() -> int:
    """The mirror process."""
    os.nice(19)
    report = _answers()
    inbox: queue.Queue[dict[str, Any]] = queue.Queue()
    threading.Thread(target=_listen, args=(inbox,), daemon=True).start()
    first = inbox.get()
    if "uri" not in first:
        return 2
    session = Session(Place(**{**first, "outputs": Path(first["outputs"])}), inbox, report)
    code = session.go()
    report({"done": True, "failures": session.failures.count, "error": session.failures.last, "missing": code})
    return code


if __name__ == "__main__":
    sys.exit(main())
