"""How well gates tell right from wrong (SPEC 6.3)."""

from typing import Any

import numpy as np
import pandas as pd

from looper.lab.statistics.comparing import ACCOUNTS
from looper.lab.statistics.frames import distinct, needed, numbers, rows
from looper.lab.statistics.intervals import wilson

NEAR = 1e-9
"""A holdout score this near to `correct` is correct."""


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


def after_correct(runs: pd.DataFrame, *, correct: float = 1.0) -> pd.DataFrame | None:
    """A row per design: what it spent after the first state that the hidden checks call right; None if nobody looked.

    Of runs with `holdout=all` (n): ever: those that evaluated a right state; lost: those of them that handed over
    another one, which is wrong. By account: `after_X`, the mean over `ever` of what was spent later, and
    `after_X_share` of all that these runs spent; NaN without such a run.
    """
    if "ever_correct" not in runs:
        return None
    table: list[dict[str, Any]] = []
    for design in distinct(runs, "design"):
        own = rows(runs, runs["design"] == design)
        known = rows(own, ~np.isnan(numbers(own, "ever_correct")))
        ever = rows(known, numbers(known, "ever_correct") > 0)
        lost = numbers(ever, "holdout") < correct - NEAR
        row = {"design": design, "n": len(known), "ever": len(ever), "lost": int(lost.sum())}
        for account in (name for name in ACCOUNTS if f"correct_{name}" in runs):
            spent, until = numbers(ever, account), numbers(ever, f"correct_{account}")
            row[f"after_{account}"] = float((spent - until).mean()) if len(ever) else float("nan")
            row[f"after_{account}_share"] = float((spent - until).sum() / spent.sum()) if spent.sum() else float("nan")
        table.append(row)
    return pd.DataFrame(table) if any(row["n"] for row in table) else None


def rate(name: str, events: np.ndarray, cases: np.ndarray, level: float) -> dict[str, Any]:
    count, n = int(events.sum()), int(cases.sum())
    low, high = wilson(count, n, level)
    share = count / n if n else float("nan")
    return {f"{name}s": count, f"{name}_rate": share, f"{name}_low": low, f"{name}_high": high}
