"""What the cells of a sweep tell while they run: to MLflow's mirror, to the tally, to a person who is asked."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from looper.build import instantiate
from looper.console import Console
from looper.journal import Event
from looper.parts import user_packages
from looper.sweeps.cell import Cell
from looper.sweeps.tally import Tally
from looper.types import Question


class Watch:
    """The `Watcher` of a command's cells. Safe for threads."""

    def __init__(self, tally: Tally):
        self._tally = tally
        self._tracking: Any = None
        self._mirror: Any = None
        self._lock = threading.Lock()

    def follow(self, cell: Cell, folder: Path) -> None:
        """Tell MLflow's mirror of the run; it reads the journal by itself."""
        with self._lock:
            if self._tracking is None:
                self._tracking = instantiate(cell.config.get("tracking") or {}, "tracking", user_packages())
            if not getattr(self._tracking, "enabled", False):
                return
            if self._mirror is None:
                self._mirror = self._tracking.open(Path(cell.config["outputs"]))
            tags = {"task": cell.choices.get("task", ""), "design": cell.choices.get("loop", "")}
            outer = {"outer": cell.choices.get("outer", "none")}
            self._mirror.follow(folder, {**tags, **outer, "experiment": cell.choices.get("experiment", "none")})

    def spend(self, cell: Cell, event: Event) -> None:
        if event.cost:
            self._tally.spend(cell.name, event.cost)

    def terminal(self) -> Callable[[Question], str]:
        """The cell's talk with a person; the sweep's bar makes room for it, and other cells wait for their turn."""
        talk = Console(compact=True, quiet=True).terminal

        def ask(question: Question) -> str:
            with self._tally.screen.alone():
                return talk(question)

        return ask

    def close(self) -> str | None:
        """Tell the mirror that the command has ended; a line to show if something is missing."""
        return self._mirror.close() if self._mirror else None
