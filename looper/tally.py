"""What is said of a sweep: a line or a bar while it goes on, the table at its end, and the files with all rows."""

import csv
import io
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from looper.console import table
from looper.console.blocks import amount, cell, columns
from looper.console.screen import Screen, brief
from looper.errors import Paused
from looper.folder import dump
from looper.journal import write_whole
from looper.types import TERMINAL

PAUSE = 10.0
"""Seconds between two lines of progress where there is no terminal."""
LONGEST = 40
"""Rows up to which the table is printed; beyond, a line per design, and the table is in results.csv."""
BAD = ("failed", "aborted", "not run")
ALREADY, ELSEWHERE, RESUMED = "already there", "in another process", "resumed"
"""What the column `note` says of a cell that did not begin and end here."""
ACCOUNTS = ("inner", "outer", "usd")


def row_of(state: Mapping[str, Any], labels: Mapping[str, Any], note: str = "") -> dict[str, Any]:
    """A cell's row from what run.json says of its run."""
    outcome, spent = state["outcome"] or {}, state["spent"]
    holdout = (outcome.get("facts") or {}).get("holdout") or {}
    return {
        "folder": state["folder"], "status": state["status"], "reason": state["stop"]["reason"],
        "score": outcome.get("score"), "holdout": holdout.get("score"), **labels,
        **{account: spent.get(account, 0.0) for account in ACCOUNTS if account != "usd" or spent.get("usd")},
        "seconds": state["elapsed"], "note": note,
    }  # fmt: skip


@dataclass
class Tally:
    """The rows of a sweep so far."""

    name: str = ""
    cells: int = 0
    """Cells of the command."""
    screen: Screen = field(default_factory=lambda: Screen(sys.stdout, sys.stderr))
    clock: Callable[[], float] = time.monotonic
    rows: list[dict[str, Any]] = field(default_factory=list)
    current: str = ""
    """The cell under way, for people."""
    begun: int = 0
    """Cells that were begun, whatever came of them."""

    def __post_init__(self) -> None:
        self._start = self._told = self.clock()
        self._cell = self._start
        self._ran: list[float] = []

    def open(self, name: str, folder: Path, cells: int) -> None:
        """The sweep begins."""
        self.name, self.cells = name, cells
        self.screen.tell(
            f"sweep {name}: {cells} cell{'s' * (cells != 1)} in {brief(folder, 300)}; the same command continues it."
        )
        self._start = self._told = self.clock()
        self.screen.show_bar(self.line)

    def begin(self, current: str) -> None:
        """The next cell."""
        self.begun += 1
        self.current, self._cell = current, self.clock()
        self._tell()

    def add(self, row: dict[str, Any]) -> None:
        """A cell's row."""
        self.rows.append(row)
        self.current = ""
        if row.get("note") not in (ALREADY, ELSEWHERE) and row["status"] != "not run":
            self._ran.append(self.clock() - self._cell)

    def _tell(self) -> None:
        if self.clock() - self._told >= PAUSE and not self.screen.err.isatty():
            self._told = self.clock()
            self.screen.tell(self.line())

    def line(self) -> str:
        """Where the sweep stands: counts, time so far and left, what was spent here."""
        words = f"{counted(self.rows)}; {duration(self.clock() - self._start)} so far"
        if self._ran and self.begun < self.cells:
            words += f", at most {duration(statistics.fmean(self._ran) * (self.cells - len(self.rows)))} left"
        if spent := self._spent():
            words += f"; {spent}"
        at = f"; {self.current}" if self.current else ""
        return f"cell {self.begun} of {self.cells}: {words}{at}"

    def _spent(self) -> str:
        rows = [row for row in self.rows if row.get("note") != ALREADY]
        sums = {account: sum(row.get(account) or 0.0 for row in rows) for account in ACCOUNTS}
        return ", ".join(f"{account} {amount(value)}" for account, value in sums.items() if value)

    def close(self, folder: Path | None) -> None:
        """The sweep has ended: take the bar away, say how it stands, write all rows to its folder."""
        self.screen.close()
        if folder is None:
            return
        files = self._write(folder) if self.rows else ""
        self.screen.tell(f"sweep {self.name}: {counted(self.rows)}; {duration(self.clock() - self._start)}{files}")
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


def counted(rows: Sequence[Mapping[str, Any]]) -> str:
    """How many are done, were done before, wait, and failed."""
    already = [row for row in rows if row.get("note") == ALREADY]
    elsewhere = [row for row in rows if row.get("note") == ELSEWHERE]
    rest = [row for row in rows if row.get("note") not in (ALREADY, ELSEWHERE)]
    failed = sum(row["status"] in BAD for row in rest)
    paused = sum(row["status"] == "paused" for row in rest)
    parts = [f"{len(rest) - failed - paused} done", f"{len(already)} already there", f"{failed} failed or not run"]
    parts += [f"{paused} paused"] if paused else []
    return ", ".join(parts + ([f"{len(elsewhere)} in another process"] if elsewhere else []))


def duration(seconds: float) -> str:
    """Minutes and seconds, or hours and minutes."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60:02} s" if whole < 3600 else f"{whole // 3600} h {whole // 60 % 60:02} min"


def by_design(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line per design: cells that have ended, how many completed, means over those with the number, seconds in all.

    Cells that did not run, wait or were aborted are in `cells` only.
    """
    lines = []
    for design in dict.fromkeys(str(row.get("design")) for row in rows):
        own = [row for row in rows if str(row.get("design")) == design]
        ended = [row for row in own if row["status"] in TERMINAL and row["status"] != "aborted"]
        completed = sum(row["status"] == "completed" for row in ended)
        means = [_mean(ended, name) for name in ("score", "holdout", "inner", "outer")]
        seconds = sum(row.get("seconds") or 0.0 for row in ended)
        lines.append([design, *(cell(value) for value in (len(own), len(ended), completed, *means, round(seconds, 1)))])
    heads = (
        "design",
        "cells",
        "ended",
        "completed",
        "mean score",
        "mean holdout",
        "mean inner",
        "mean outer",
        "seconds",
    )
    return columns(heads, lines)


def _mean(rows: Sequence[Mapping[str, Any]], name: str) -> float | None:
    known = [row[name] for row in rows if isinstance(row.get(name), int | float)]
    return statistics.fmean(known) if known else None


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """All rows with one head line; a value that is not there is empty."""
    text = io.StringIO()
    heads = list(dict.fromkeys(key for row in rows for key in row))
    writer = csv.DictWriter(text, heads, lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {key: json.dumps(v) if isinstance(v, dict | list) else v for key, v in row.items()} for row in rows
    )
    return text.getvalue()
