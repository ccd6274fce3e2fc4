"""How well gates tell right from wrong, and what was spent on what was right already (SPEC 6.3)."""

from typing import Any

import numpy as np
import pandas as pd

from looper.lab.statistics.comparing import ACCOUNTS
from looper.lab.statistics.frames import distinct, labels, needed, numbers, rows
from looper.lab.statistics.intervals import wilson

NEAR = 1e-9
"""A holdout score this near to `correct` is correct."""
UNKNOWN = "the history does not know what is correct"
NEVER = "never correct"


def gate_truth(runs: pd.DataFrame, *, correct: float = 1.0, level: float = 0.95) -> pd.DataFrame:
    """A row per design: the verdicts of its gate against the holdout, which it did not see.

    correct: the holdout score from which a result is right. false_accept_rate: the share of accepted results that are
    wrong; false_reject_rate: the share of rejected ones that are right; both with Wilson's interval, which takes runs
    as independent. n: runs with a holdout; without_holdout: the others, left out.
    """
    needed(runs, ("design", "passed", "holdout"))
    table: list[dict[str, Any]] = []
    for design in distinct(runs, "design"):
        own = rows(runs, runs["design"] == design)
        known = rows(own, ~np.isnan(numbers(own, "holdout")))
        right, accepted = numbers(known, "holdout") >= correct - NEAR, numbers(known, "passed") > 0
        false_accepts, false_rejects = accepted & ~right, ~accepted & right
        row = {"design": design, "n": len(known), "without_holdout": len(own) - len(known)}
        row |= {"accepted": int(accepted.sum())} | rate("false_accept", false_accepts, accepted, level)
        table.append(row | {"rejected": int((~accepted).sum())} | rate("false_reject", false_rejects, ~accepted, level))
    return pd.DataFrame(table)


def rate(name: str, events: np.ndarray, cases: np.ndarray, level: float) -> dict[str, Any]:
    count, n = int(events.sum()), int(cases.sum())
    low, high = wilson(count, n, level)
    share = count / n if n else float("nan")
    return {f"{name}s": count, f"{name}_rate": share, f"{name}_low": low, f"{name}_high": high}


def spend_after_correct(history: pd.DataFrame) -> pd.DataFrame:
    """A row per run: the step at which it was first correct, and what it spent on each account after that.

    `usd_after` is in US dollars, `usd_share` the share of all the run spent; so for each account of the history. Reads
    its column `correct` (true, false, or missing where nobody knows); NaN with the reason where there is nothing to
    measure. The last step of a run in the history is taken as its end.
    """
    needed(history, ("run", "task", "design", "seed", "step"))
    accounts = [account for account in ACCOUNTS if account in history.columns]
    table = []
    for _, steps in history.sort_values("step", kind="stable").groupby("run", sort=False):
        first = steps.iloc[0]
        place, reason = first_correct(steps)
        row = {name: first[name] for name in ("run", "task", "design", "seed")}
        row["correct_at"] = float("nan") if place is None else numbers(steps, "step")[place]
        for account in accounts:
            row |= after(numbers(steps, account), place, account)
        table.append(row | {"reason": reason})
    return pd.DataFrame(table)


def first_correct(steps: pd.DataFrame) -> tuple[int | None, str]:
    """The place of the first correct step, or why there is none; what is unknown before it may hide an earlier one."""
    if "correct" not in steps.columns:
        return None, UNKNOWN
    known = np.array([float("nan") if pd.isna(value) else float(value) for value in labels(steps, "correct")])
    found = np.flatnonzero(known > 0)
    if not len(found):
        return None, UNKNOWN if np.isnan(known).any() else NEVER
    hidden = int(np.isnan(known[: found[0]]).sum())
    return int(found[0]), f"{hidden} earlier steps are unknown" if hidden else ""


def after(spent: np.ndarray, place: int | None, account: str) -> dict[str, float]:
    if place is None:
        return {f"{account}_after": float("nan"), f"{account}_share": float("nan")}
    late, total = float(spent[-1] - spent[place]), float(spent[-1])
    return {f"{account}_after": late, f"{account}_share": late / total if total else float("nan")}
