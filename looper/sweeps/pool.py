"""Cells side by side: a thread for each, in this process or waiting for another one that runs it."""

import threading
import time
from collections.abc import Callable
from typing import Any

from looper.sweeps.cell import Cell

GRACE = 2.0
"""Seconds that runs under way have to end after Ctrl-C twice; what takes longer is left, and its run can be resumed."""
LOOK = 0.1
"""Seconds between two looks at whether a person has pressed Ctrl-C."""


class Pool:
    """At most `jobs` cells under way; each row is handed to `done`, and `tick` is called now and then while one waits.

    Used from one thread.
    """

    def __init__(
        self,
        jobs: int,
        run: Callable[[Cell], dict[str, Any]],
        done: Callable[[Cell, dict[str, Any]], None],
        tick: Callable[[], None] = lambda: None,
    ):
        self.jobs, self.run, self.done, self.tick = jobs, run, done, tick
        self._under_way: set[str] = set()
        self._change = threading.Condition()

    def room(self) -> None:
        """Wait until another cell can begin."""
        self._until(lambda: len(self._under_way) < self.jobs)

    def begin(self, cell: Cell) -> None:
        """Start a cell; there must be room."""
        with self._change:
            self._under_way.add(cell.base)
        threading.Thread(target=self._work, args=(cell,), name=f"cell {cell.name}", daemon=True).start()

    def drain(self) -> None:
        """Wait for all."""
        self._until(lambda: not self._under_way)

    def leave(self) -> None:
        """Wait GRACE at most; what is under way then is left as it is, its thread ends with the process."""
        deadline = time.monotonic() + GRACE
        self._until(lambda: not self._under_way or time.monotonic() > deadline)

    def _until(self, holds: Callable[[], bool]) -> None:
        with self._change:
            while not holds():
                self._change.wait(LOOK)
                self.tick()

    def _work(self, cell: Cell) -> None:
        try:
            self.done(cell, self.run(cell))
        finally:
            with self._change:
                self._under_way.discard(cell.base)
                self._change.notify_all()
