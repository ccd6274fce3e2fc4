"""One cell of a sweep: run unless it has ended before, here or elsewhere; what came of it is a row."""

import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from looper.complaints import complaint
from looper.console.story import glance
from looper.errors import ConfigError, RunLocked
from looper.folder import Folder
from looper.journal import Event
from looper.launch import Audience, launch
from looper.parts import SWEEP_ONLY, Parts, build, user_packages
from looper.shared_budget.ledger import SweepLedger
from looper.sweeps.earlier import look
from looper.sweeps.rows import ALREADY, ELSEWHERE, NOT_BEGUN, RESUMED, row_of
from looper.types import Question

LOOK_AGAIN = 0.3
"""Seconds after which a locked folder is tried once more: who looks whether a run is alive locks it for a moment."""


@dataclass
class Cell:
    """What is to be run; plain data, so that another process can do it."""

    base: str
    """Its folder, or that of the first try."""
    name: str = ""
    """For people."""
    config: dict[str, Any] = field(default_factory=dict)
    choices: dict[str, str] = field(default_factory=dict)
    labels: dict[str, Any] = field(default_factory=dict)
    """What its row begins with: task, design, seed, and what else is swept."""

    def data(self) -> dict[str, Any]:
        return asdict(self)


class Watcher(Protocol):
    """Whoever is told what happens in a cell."""

    def follow(self, cell: Cell, folder: Path) -> None:
        """The cell runs, or has run, in this folder: mirror it."""
        ...

    def spend(self, cell: Cell, event: Event) -> None:
        """An event of the cell's journal."""
        ...

    def terminal(self) -> Callable[[Question], str] | None:
        """Where a person can be asked; None if nobody is there."""
        ...


def run_cell(cell: Cell, watcher: Watcher) -> dict[str, Any]:
    """The cell's row. Whatever keeps it from running is a row too; only a KeyboardInterrupt ends more than the cell."""
    try:
        return _tried(cell, watcher)
    except Exception as error:  # the boundary of a cell: its failure does not stop the others
        return not_run(cell, complaint(error))


def not_run(cell: Cell, reason: str, status: str = "not run") -> dict[str, Any]:
    """The row of a cell that did not run."""
    with contextlib.suppress(OSError):
        Path(cell.base).rmdir()  # Hydra made it; nothing was run in it
    return {"folder": cell.base, "status": status, "reason": reason, **cell.labels}


def ended_before(cell: Cell) -> dict[str, Any] | None:
    """The row of a cell that has ended before; None if there is something to run. Raises LooperError."""
    if not Folder(Path(cell.base)).history.exists():
        return None
    parts = build(cell.config, user_packages())
    try:
        return _kept(cell, parts)
    finally:
        _close(parts)


def _tried(cell: Cell, watcher: Watcher) -> dict[str, Any]:
    if used_up := SweepLedger(Path(cell.base).parent).exhausted():
        return ended_before(cell) or not_run(cell, used_up, NOT_BEGUN)
    parts = build(cell.config, user_packages())  # what a design adds to its settings belongs to a run's identity
    if kept := _kept(cell, parts):
        _close(parts)
        if not (Path(kept["folder"]) / "mirror.lock").exists():  # tracking was off then
            watcher.follow(cell, Path(kept["folder"]))
        return kept
    try:
        return _launched(cell, parts, watcher)
    except RunLocked:
        time.sleep(LOOK_AGAIN)
    try:
        return _launched(cell, parts, watcher)
    except RunLocked:
        _close(parts)
        folder = look(Path(cell.base), parts).folder
        return {"folder": str(folder), "status": "running", "reason": "", **cell.labels, "note": ELSEWHERE}


def _kept(cell: Cell, parts: Parts) -> dict[str, Any] | None:
    found = look(Path(cell.base), parts)
    return row_of(glance(Folder(found.folder)), cell.labels, ALREADY) if found.ended else None


def _launched(cell: Cell, parts: Parts, watcher: Watcher) -> dict[str, Any]:
    found = look(Path(cell.base), parts)
    watcher.follow(cell, found.folder)
    audience = Audience(listeners=[lambda event: watcher.spend(cell, event)], terminal=watcher.terminal())
    try:
        outcome = launch(parts, found.folder, audience=audience)
    except ConfigError:
        if kept := _kept(cell, parts):  # another process ended it since we looked
            return kept
        raise
    row = row_of(glance(Folder(found.folder)), cell.labels, RESUMED if found.state else "")
    return {**row, "status": outcome.status, "reason": outcome.reason, "score": outcome.score}


def _close(parts: Parts) -> None:
    """Give back what the task of a cell holds that was built and not launched."""
    close = getattr(parts.task, "close", None)
    if close:
        close()


def settings_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the run, without those of the sweep around it."""
    return {key: value for key, value in config.items() if key not in SWEEP_ONLY}
