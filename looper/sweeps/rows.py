"""The rows of a sweep, one for each cell, and what is told of them: counts, a line per design, a CSV file."""

import csv
import io
import json
import statistics
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

from looper.console.blocks import amount, cell, columns
from looper.console.story import glance
from looper.folder import Folder
from looper.shared_budget.ledger import Standing
from looper.types import EXIT_CODES, TERMINAL

BAD = ("failed", "aborted", "not run", "interrupted")
NOT_BEGUN = "not begun"
"""Status of a cell that a cap of the whole sweep kept from beginning."""
ALREADY, ELSEWHERE, RESUMED = "already there", "in another process", "resumed"
"""What the column `note` says of a cell that did not begin and end here."""
ACCOUNTS = ("inner", "outer", "usd")


def row_of(state: Mapping[str, Any], labels: Mapping[str, Any], note: str = "") -> dict[str, Any]:
    """A cell's row from what run.json says of its run."""
    outcome, spent = state["outcome"] or {}, state["spent"]
    facts = outcome.get("facts") or {}
    holdout, capped = facts.get("holdout") or {}, facts.get("sweep_budget") or {}
    cut = f"sweep_budget.{capped['account']}" if capped else ""
    note = note or cut
    return {
        "folder": state["folder"], "status": state["status"], "reason": state["stop"]["reason"],
        "score": outcome.get("score"), "holdout": holdout.get("score"), **labels,
        **{account: spent.get(account, 0.0) for account in ACCOUNTS if account != "usd" or spent.get("usd")},
        "seconds": state["elapsed"], "note": note, "capped": cut,
    }  # fmt: skip


def refreshed(row: dict[str, Any], labels: Container[str]) -> dict[str, Any]:
    """The row, or for a cell that another process was at: what became of it meanwhile."""
    folder = Folder(Path(row["folder"]))
    if row.get("note") != ELSEWHERE or not folder.history.exists():
        return row
    return row_of(glance(folder), {key: value for key, value in row.items() if key in labels}, ELSEWHERE)


def exit_code(rows: Sequence[Mapping[str, Any]]) -> int:
    """0 if every cell came to an orderly end, else that of the worst, of one that waits, or of a cap of the sweep."""
    worst = max((EXIT_CODES.get(row["status"], 2) for row in rows if row["status"] in BAD), default=0)
    capped = any(row["status"] == NOT_BEGUN or row.get("capped") for row in rows)
    if any(row["status"] == "paused" for row in rows):
        return worst or EXIT_CODES["paused"]
    return worst or (EXIT_CODES["stopped"] if capped else 0)


def of_caps(caps: Mapping[str, Standing]) -> str:
    """What of the sweep's caps was spent, and is reserved at the moment."""
    parts = []
    for account, now in caps.items():
        reserved = f" ({amount(now.reserved)} reserved)" if now.reserved else ""
        parts.append(f"{account} {amount(now.spent)} of {amount(now.cap)}{reserved}")
    return f"sweep_budget: {', '.join(parts)}" if parts else ""


def counted(rows: Sequence[Mapping[str, Any]]) -> str:
    """How many are done, were done before, wait, and failed."""
    already = [row for row in rows if row.get("note") == ALREADY]
    elsewhere = [row for row in rows if row.get("note") == ELSEWHERE]
    rest = [row for row in rows if row.get("note") not in (ALREADY, ELSEWHERE)]
    failed = sum(row["status"] in BAD for row in rest)
    paused = sum(row["status"] == "paused" for row in rest)
    missing = sum(row["status"] == NOT_BEGUN for row in rest)
    parts = [
        f"{len(rest) - failed - paused - missing} done",
        f"{len(already)} already there",
        f"{failed} failed or not run",
    ]
    parts += [f"{paused} paused"] if paused else []
    parts += [f"{missing} not begun"] if missing else []
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


def not_looked_at(rows: Sequence[Mapping[str, Any]], settings: Mapping[str, Any] | None) -> str:
    """A warning where holdout=all was asked of runs that had ended without it, as they cannot be looked at any more."""
    if (settings or {}).get("holdout") != "all":
        return ""
    there = [row for row in rows if row.get("note") == ALREADY]
    facts = [((Folder(Path(row["folder"])).saved().get("outcome") or {}).get("facts") or {}) for row in there]
    without = sum("holdout" in known and "first_correct" not in known for known in facts)
    if not without:
        return ""
    cells = "cell" if without == 1 else "cells"
    return (
        f"holdout=all: {without} {cells} had ended without it, and stay as they are; sweep=NAME runs all of them anew."
    )


def added(rivals: Sequence[str], left_out: str) -> list[str]:
    """Lines on the designs that were added to those of the command (SPEC 6.4), and on those that could not be."""
    names, told = ", ".join(rivals), list[str]()
    if rivals:
        told.append(
            f"The trivial rivals {names} are compared too, with the largest of the budgets; rivals=no leaves them out."
        )
    if left_out:
        told.append(
            f"{'Other' if rivals else 'The'} trivial rivals do not fit these settings and are left out: {left_out}"
        )
    return told
