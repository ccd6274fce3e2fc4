"""A process that runs cells of a sweep for another one: a JSON line each on standard input, told on standard output.

Ctrl-C is handed on by the other process as SIGINT, for this one has a session of its own; when the other process dies
(its end of standard input closes) the run under way ends in order.
"""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from select import select
from typing import Any, TextIO

from looper.console.story import glance
from looper.control import RELAY, Control
from looper.errors import LooperError
from looper.folder import Folder
from looper.journal import Event
from looper.sweeps.cell import Cell, Watcher, not_run, run_cell
from looper.sweeps.pressing import pressing
from looper.sweeps.rows import row_of
from looper.types import Question

POLL = 0.1
"""Seconds between two looks at whether a person has pressed Ctrl-C."""
LAST = 5.0
"""Seconds that an idle worker has to end."""


class Teller:
    """In the worker: tells the other process what the watcher of a cell would be told."""

    def __init__(self, out: TextIO):
        self.out = out

    def follow(self, cell: Cell, folder: Path) -> None:
        self.tell("follow", str(folder))

    def spend(self, cell: Cell, event: Event) -> None:
        if event.cost:
            self.tell("spend", event.cost)

    def terminal(self) -> Callable[[Question], str] | None:
        return None

    def tell(self, what: str, data: Any) -> None:
        self.out.write(json.dumps({what: data}) + "\n")
        self.out.flush()


def main() -> int:
    """Run cells until there are no more."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a task prints must not be taken for a row
    teller, lines, busy = Teller(out), queue.SimpleQueue[str](), threading.Event()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # between two cells there is nothing to interrupt
    threading.Thread(target=_hear, args=(lines, busy), daemon=True).start()
    with pressing() as pressed:
        while (line := lines.get()) and not pressed():
            busy.set()
            teller.tell("row", run_cell(Cell(**json.loads(line)), teller))
            busy.clear()
    return 0


def _hear(lines: "queue.SimpleQueue[str]", busy: threading.Event) -> None:
    for line in sys.stdin:
        lines.put(line)
    lines.put("")
    if busy.is_set():  # nobody is there any more: the run under way ends before its next step
        os.kill(os.getpid(), signal.SIGINT)


class Worker:
    """The same process seen from the one that has the sweep; one cell at a time."""

    def __init__(self) -> None:
        path = os.pathsep.join(dict.fromkeys([str(Path.cwd()), *filter(None, sys.path)]))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "looper.sweeps.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            start_new_session=True, env={**os.environ, "PYTHONPATH": path},
        )  # fmt: skip
        self._heard = b""

    def run(self, cell: Cell, watcher: Watcher) -> dict[str, Any]:
        """The cell's row. A worker that dies leaves the run as it is on disk."""
        control = Control()
        with RELAY.reaching(control):
            try:
                assert self.process.stdin is not None
                self.process.stdin.write(json.dumps(cell.data()).encode() + b"\n")
                self.process.stdin.flush()
                return self._row(cell, watcher, control)
            except (BrokenPipeError, EOFError):
                return _left(cell, f"its worker process has ended ({self._exit()})")

    def _row(self, cell: Cell, watcher: Watcher, control: Control) -> dict[str, Any]:
        sent = 0
        while True:
            while sent < control.presses:
                self.process.send_signal(signal.SIGINT)
                sent += 1
            for said in self._said():
                if "row" in said:
                    return said["row"]
                if "follow" in said:
                    watcher.follow(cell, Path(said["follow"]))
                else:
                    watcher.spend(cell, Event(event="step_done", cost=said["spend"]))

    def _said(self) -> list[Mapping[str, Any]]:
        """The lines that have come; none after POLL seconds. Raises EOFError at the end."""
        assert self.process.stdout is not None
        pipe = self.process.stdout.fileno()
        if not select([pipe], [], [], POLL)[0]:
            return []
        if not (chunk := os.read(pipe, 65536)):
            raise EOFError
        *lines, self._heard = (self._heard + chunk).split(b"\n")
        return [json.loads(line) for line in lines]

    def _exit(self) -> str:
        code = self.process.wait()
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def close(self) -> None:
        """No more cells."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended, and a cell was not read any more
            self.process.stdin.close()
        try:
            self.process.wait(LAST)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def _left(cell: Cell, why: str) -> dict[str, Any]:
    """The row of a cell whose worker is gone: what its folder tells."""
    folder = Folder(Path(cell.base))
    if not folder.history.exists():
        return not_run(cell, why)
    try:
        return {**row_of(glance(folder), cell.labels), "reason": why}
    except LooperError as error:
        return not_run(cell, str(error))


class Workers:
    """As many processes as cells are under way, made when they are needed. Safe for threads."""

    def __init__(self) -> None:
        self._idle: list[Worker] = []
        self._lock = threading.Lock()

    def run(self, cell: Cell, watcher: Watcher) -> dict[str, Any]:
        with self._lock:
            worker = self._idle.pop() if self._idle else None
        worker = worker or Worker()
        row = worker.run(cell, watcher)
        if worker.alive:
            with self._lock:
                self._idle.append(worker)
        else:
            worker.close()
        return row

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.close()


if __name__ == "__main__":
    sys.exit(main())
