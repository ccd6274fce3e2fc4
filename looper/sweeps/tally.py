"""What is said of a sweep: a line or a bar while it goes on, the table at its end, and the files with all rows."""

import bisect
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from looper.console import table
from looper.console.blocks import amount, score
from looper.console.screen import Screen, brief
from looper.errors import Paused
from looper.folder import dump
from looper.journal import write_whole
from looper.shared_budget.ledger import Standing
from looper.sweeps.rows import (
    ACCOUNTS,
    ALREADY,
    BAD,
    ELSEWHERE,
    NOT_BEGUN,
    as_csv,
    by_design,
    counted,
    duration,
    of_caps,
)

PAUSE = 10.0
"""Seconds between two lines of progress where there is no terminal."""
LONGEST = 40
"""Rows up to which the table is printed; beyond, a line per design, and the table is in results.csv."""
NAMED = 20
"""Cells that a list names at most; all of them are in results.csv."""


@dataclass
class Tally:
    """The rows of a sweep so far. Safe for threads."""

    name: str = ""
    cells: int = 0
    """Cells of the command."""
    jobs: int = 1
    """Cells at once."""
    told: Sequence[str] = ()
    """Lines on designs that the command did not name."""
    screen: Screen = field(default_factory=lambda: Screen(sys.stdout, sys.stderr))
    clock: Callable[[], float] = time.monotonic
    rows: list[dict[str, Any]] = field(default_factory=list)
    begun: int = 0
    """Cells that were begun, whatever came of them."""
    caps: Callable[[], Mapping[str, Standing]] = dict
    """What the sweep's ledger says, if it has one."""

    def __post_init__(self) -> None:
        self._start = self._told = self.clock()
        self._under_way: dict[str, tuple[dict[str, float], int]] = {}
        self._order = list(range(1, len(self.rows) + 1))
        self._ran = 0
        self._capped: tuple[float, str] = (-PAUSE, "")
        self._lock = threading.RLock()

    def open(self, name: str, folder: Path, cells: int) -> None:
        """The sweep begins."""
        self.name, self.cells = name, cells
        side = f", {self.jobs} at once" if self.jobs > 1 else ""
        self.screen.tell(
            f"sweep {name}: {cells} cell{'s' * (cells != 1)} in {brief(folder, 300)}{side}; "
            "the same command continues it."
        )
        for line in self.told:
            self.screen.tell(line)
        self._start = self._told = self.clock()
        self.screen.show_bar(self.line)

    def begin(self, current: str) -> None:
        """The next cell."""
        with self._lock:
            self.begun += 1
            self._under_way[current] = ({}, self.begun)
        self.tick()

    def spend(self, current: str, cost: Mapping[str, float]) -> None:
        """A step of a cell under way was paid."""
        with self._lock:
            spent, _ = self._under_way.get(current, ({}, 0))
            for account, amount in cost.items():
                spent[account] = spent.get(account, 0.0) + amount

    def add(self, row: dict[str, Any], current: str = "") -> None:
        """A cell's row."""
        with self._lock:
            current = current or next(iter(self._under_way), "")
            began = current in self._under_way
            _, number = self._under_way.pop(current, ({}, len(self.rows) + 1))
            place = bisect.bisect(self._order, number)  # in the order of the command, whichever ended first
            self._order.insert(place, number)
            self.rows.insert(place, row)
            ran = row.get("note") not in (ALREADY, ELSEWHERE) and row["status"] not in ("not run", NOT_BEGUN)
            self._ran += ran and began
        if ran and self.cells <= LONGEST:
            self.screen.tell(self._done(row, current))

    def _done(self, row: Mapping[str, Any], current: str) -> str:
        spent = ", ".join(f"{name} {amount(row[name])}" for name in ACCOUNTS if row.get(name))
        words = f"{row['status']} ({row['reason']}), score {score(row.get('score'))}{f'; {spent}' if spent else ''}"
        return f"{current}: {words}" if current else words

    def tick(self) -> None:
        """Say where the sweep stands, if there is no bar and it was not said for PAUSE seconds."""
        with self._lock:
            due = self.clock() - self._told >= PAUSE and not self.screen.err.isatty()
            if due:
                self._told = self.clock()
        if due:
            self.screen.tell(self.line())

    def line(self) -> str:
        """Where the sweep stands: counts, time so far and left, what was spent here, and of the sweep's caps."""
        with self._lock:
            passed = self.clock() - self._start
            words = f"{counted(self.rows)}; {duration(passed)} so far"
            left = self.cells - len(self.rows)
            if self._ran and self.begun < self.cells:
                words += f", about {duration(passed / self._ran * left)} left"
            if spent := self._spent():
                words += f"; {spent}"
            if capped := self._of_caps():
                words += f"; {capped}"
            names = list(self._under_way)
        at = f"; {', '.join(names[:2])}{f' and {len(names) - 2} more' if len(names) > 2 else ''}" if names else ""
        return f"cell {self.begun} of {self.cells}: {words}{at}"

    def _spent(self) -> str:
        rows = [row for row in self.rows if row.get("note") != ALREADY]
        rows += [spent for spent, _ in self._under_way.values()]
        sums = {account: sum(row.get(account) or 0.0 for row in rows) for account in ACCOUNTS}
        return ", ".join(f"{account} {amount(value)}" for account, value in sums.items() if value)

    def _of_caps(self) -> str:
        """Asked for once a second at most: it is a look into a file that all runs write."""
        now = self.clock()
        if now - self._capped[0] >= 1.0:
            self._capped = (now, of_caps(self.caps()))
        return self._capped[1]

    def close(self, folder: Path | None) -> None:
        """The sweep has ended: take the bar away, say how it stands, write all rows to its folder."""
        self.screen.close()
        if folder is None:
            return
        files = self._write(folder) if self.rows else ""
        caps = of_caps(self.caps())
        told = f"{counted(self.rows)}; {duration(self.clock() - self._start)}{f'; {caps}' if caps else ''}{files}"
        self.screen.tell(f"sweep {self.name}: {told}")
        self._failures()
        self._missing()

    def _failures(self) -> None:
        bad = [(number, row) for number, row in enumerate(self.rows, 1) if row["status"] in BAD]
        for number, row in bad[:NAMED]:
            where = f"cell {number} of {self.cells}, {Path(row['folder']).name}"
            self.screen.warn(f"looper: {where}: {row['status']}: {brief(row['reason'], 300)}")
        if len(bad) > NAMED:
            self.screen.warn(f"looper: {len(bad) - NAMED} more have failed; all are in results.csv.")

    def _missing(self) -> None:
        capped = [row for row in self.rows if row["status"] == NOT_BEGUN]
        names = [Path(row["folder"]).name for row in capped]
        if names:
            more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
            cells = "cell was" if len(names) == 1 else "cells were"
            self.screen.warn(
                f"looper: {capped[0]['reason']} is used up; {len(names)} {cells} not begun: "
                f"{', '.join(names[:NAMED])}{more}. The same command with a higher one goes on from here."
            )
        if missing := self.cells - self.begun:
            cells = "cell was" if missing == 1 else "cells were"
            self.screen.warn(
                f"looper: ended by a person; {missing} {cells} not started. The same command goes on from here."
            )

    def _write(self, folder: Path) -> str:
        """Write all rows to the folder; what to say of it. A full disk must not keep the table from being shown."""
        try:
            write_whole(folder / "results.json", dump(self.rows))
            write_whole(folder / "results.csv", as_csv(self.rows).encode())
        except Paused as error:
            return f"; the rows were not written: {brief(error, 300)}"
        return f"; rows in {brief(folder / 'results.csv', 300)}"

    def result(self, *, as_json: bool) -> str:
        """For standard output: all rows, or a line per design if they are many."""
        if as_json or len(self.rows) <= LONGEST:
            shown = [{**row, "folder": Path(row["folder"]).name} for row in self.rows]
            return table(self.rows if as_json else shown, as_json=as_json)
        return "\n".join(by_design(self.rows))
