"""How well gates tell right from wrong (SPEC 6.3)."""

from typing import Any

import numpy as np
import pandas as pd

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


def rate(name: str, events: np.ndarray, cases: np.ndarray, level: float) -> dict[str, Any]:
    count, n = int(events.sum()), int(cases.sum())
    low, high = wilson(count, n, level)
    share = count / n if n else float("nan")
    return {f"{name}s": count, f"{name}_rate": share, f"{name}_low": low, f"{name}_high": high}
