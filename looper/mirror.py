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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from looper.errors import LooperError
from looper.folder import Folder
from looper.mirror_record import Record, Tail, artifacts, parameters
from looper.mirror_store import Place, Store, digest, locked
from looper.redact import redact

POLL = 0.5
"""Seconds between two looks at the journals."""
SETTLED = 2.0
"""Seconds after the last event after which a run's files are taken to be written."""
PATIENCE = 60.0
"""Seconds of failures after which the mirror gives up once its command has ended; `looper sync` makes up for it."""
LONGEST_PAUSE = 15.0
"""Seconds between two tries at most while MLflow fails."""
LOCK = "mirror.lock"


class Shadow:
    """One run in MLflow, as far as it was logged."""

    def __init__(self, folder: Path, place: Place, tags: Mapping[str, str] | None = None):
        self.folder, self.place, self.extra = folder, place, dict(tags or {})
        self.tail = Tail(folder / "history.jsonl")
        self.record = Record(folder, spans=place.spans)
        self.run: Any = None
        self.logged = 0
        """Journal lines that MLflow knows."""
        self.known: dict[str, str] = {}
        """Tags as MLflow has them."""
        self.touched = time.monotonic()
        self.wrote = False

    @property
    def sweep(self) -> str | None:
        """The multirun that this run belongs to, by its folder: outputs/sweeps/SWEEP/JOB."""
        parent = self.folder.resolve().parent
        return parent.name if parent.parent == self.place.outputs.resolve() / "sweeps" else None

    def advance(self, store: Store, *, last: bool = False) -> None:
        """Log what is new; `last` says that no process writes this run any more, or that nobody looks again."""
        for event in self.tail.read():
            self.record.take(event)
            self.touched = time.monotonic()
        if not self.tail.first:
            return
        if self.run is None:
            self._find(store)
        self._log(store)
        settled = self.record.status != "running" and time.monotonic() - self.touched > SETTLED
        if last or settled:
            self._finish(store, last)

    def _find(self, store: Store) -> None:
        run = store.find(**{"looper__journal": self.tail.first})
        if run is None:
            tags = dict(self.extra)
            if self.sweep:
                tags |= {"sweep": self.sweep, "mlflow.parentRunId": store.sweep(self.sweep)}
            run = store.begin(self.record, self.tail.first, tags)
            self.wrote = True
        self.known = dict(run.data.tags)
        self.logged = int(self.known.get("looper.seq", 0))
        store.parameters(run, parameters(self.folder))
        self.run = run

    def _log(self, store: Store) -> None:
        if self.record.seq <= self.logged:
            self.record.points.clear()
            return
        new = [point for point in self.record.points if point.seq > self.logged]
        store.log(self.run.info.run_id, new)
        self._tag(store, {**self.record.tags, "looper.seq": str(self.record.seq)})
        self.logged = self.record.seq
        self.record.points.clear()

    def _tag(self, store: Store, tags: Mapping[str, str]) -> None:
        changed = {name: value for name, value in tags.items() if self.known.get(name) != value}
        if changed:
            store.log(self.run.info.run_id, tags=changed)
            self.known.update(changed)
            self.wrote = True

    def _finish(self, store: Store, last: bool) -> None:
        run_id = self.run.info.run_id
        texts = artifacts(self.folder)
        found = digest(texts)
        if self.known.get("looper.files") != found:
            store.artifacts(run_id, texts)
            self._tag(store, {"looper.files": found})
        if self.place.traces and self.record.over and "looper.trace" not in self.known:
            self._tag(store, {"looper.trace": store.trace(run_id, self.record)})
        status = self.record.status
        if last and status == "running" and not Folder(self.folder).alive():
            status = "interrupted"
        self._tag(store, {"status": status})
        if self.known.get("looper.marked") != status:
            store.mark(run_id, status, self.record.ended)
            self._tag(store, {"looper.marked": status})


@dataclass
class Failures:
    """What went wrong, counted."""

    report: Callable[[dict[str, Any]], None] = lambda message: None
    count: int = 0
    last: str = ""
    since: float | None = None
    """When the present series of failures began (monotonic seconds)."""
    pause: float = 0.0

    def add(self, error: Exception, where: str) -> None:
        self.count += 1
        self.last = f"{where}: {brief(error)}"
        self.since = time.monotonic() if self.since is None else self.since
        self.pause = min(LONGEST_PAUSE, self.pause * 2 or POLL)
        print(redact("".join(traceback.format_exception(error))), file=sys.stderr, flush=True)
        self.report({"failures": self.count, "error": self.last})

    def clear(self) -> None:
        self.since, self.pause = None, 0.0


def brief(error: Exception) -> str:
    """One short line without secrets."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return redact(f"{type(error).__name__}: {lines[0]}"[:300]) if lines else type(error).__name__


@dataclass
class Session:
    """The mirror's work for one command."""

    place: Place
    inbox: "queue.Queue[dict[str, Any]]"
    report: Callable[[dict[str, Any]], None]
    shadows: dict[Path, Shadow] = field(default_factory=dict)
    locks: dict[Path, TextIO] = field(default_factory=dict)
    store: Store | None = None
    closed: bool = False
    done: set[Path] = field(default_factory=set)
    damaged: set[Path] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.failures = Failures(self.report)
        self.sweeps: set[str] = set()

    def go(self) -> int:
        """Follow until the command has ended and all is logged; 0 if nothing is missing."""
        while not (self.closed and (self.complete() or self.hopeless())):
            self._receive(max(POLL, self.failures.pause))
            try:
                self._round()
            except ImportError as error:
                self.failures.add(error, "MLflow cannot be loaded")
                return 1
            except Exception as error:  # the boundary: whatever MLflow and its drivers raise is counted, shown and tried again
                self.failures.add(error, self.place.experiment)
            else:
                self.failures.clear()
        return int(not self.complete() or bool(self.damaged))

    def complete(self) -> bool:
        return self.done | self.damaged >= set(self.shadows) and not self.sweeps

    def hopeless(self) -> bool:
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
            self.done.discard(folder)
            self.shadows.setdefault(folder, Shadow(folder, self.place, message.get("tags")))

    def _round(self) -> None:
        """One look at every run that is not done."""
        if self.store is None:
            self.store = Store(self.place)
            self.report({"ready": True})
        for folder, shadow in list(self.shadows.items()):
            if folder not in self.done | self.damaged and self._alone(folder):
                self._advance(self.store, folder, shadow)
        if self.closed and self.done | self.damaged >= set(self.shadows):
            for sweep in sorted(self.sweeps):
                self.store.close_sweep(self.store.sweep(sweep))
                self.sweeps.discard(sweep)

    def _advance(self, store: Store, folder: Path, shadow: Shadow) -> None:
        last = self.closed
        try:
            shadow.advance(store, last=last)
        except LooperError as error:
            self.failures.add(error, folder.name)
            self.damaged.add(folder)
        if shadow.sweep:
            self.sweeps.add(shadow.sweep)
        if last:
            self.done.add(folder)

    def _alone(self, folder: Path) -> bool:
        """Whether no other mirror is at this run; its lock is held until this one ends."""
        if folder in self.locks or not folder.is_dir():
            return folder in self.locks or self.closed
        file = (folder / LOCK).open("a")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.close()
            if self.closed:
                raise LooperError(f"{folder.name}: another process mirrors this run") from error
            return False
        self.locks[folder] = file
        return True


@dataclass
class Synced:
    """What `sync` found."""

    written: list[str] = field(default_factory=list)
    """Runs of which something was missing in MLflow, and is there now."""
    same: list[str] = field(default_factory=list)
    """Runs that were complete."""
    failed: dict[str, str] = field(default_factory=dict)
    """What went wrong, by run."""


def sync(place: Place, folders: Sequence[Path]) -> Synced:
    """Bring these runs in MLflow up to date. Raises whatever MLflow raises if its store cannot be opened at all."""
    found = Synced()
    store = Store(place)
    sweeps: set[str] = set()
    for folder in folders:
        shadow = Shadow(folder, place)
        try:
            with locked(folder / LOCK, 1.0):
                shadow.advance(store, last=True)
        except Exception as error:  # the boundary: one run that cannot be logged must not keep the others from it
            found.failed[folder.name] = brief(error)
            continue
        (found.written if shadow.wrote else found.same).append(folder.name)
        if shadow.sweep and shadow.wrote:
            sweeps.add(shadow.sweep)
    for sweep in sorted(sweeps):
        store.close_sweep(store.sweep(sweep))
    return found


def _listen(inbox: "queue.Queue[dict[str, Any]]") -> None:
    """Read the parent's words in a thread, so that its pipe never fills; the end of the pipe is the end of the command."""
    for line in sys.stdin.buffer:
        with contextlib.suppress(ValueError):  # the last line of a parent that was killed may be a part
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
