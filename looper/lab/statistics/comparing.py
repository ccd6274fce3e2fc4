"""Tables of comparisons: each design against a baseline, all pairs, and task by task."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from looper.errors import ConfigError
from looper.lab.statistics.clusters import Clusters
from looper.lab.statistics.frames import distinct, labels, needed, numbers, only, rows
from looper.lab.statistics.intervals import Interval, interval
from looper.lab.statistics.pairing import pairs
from looper.lab.statistics.power import minimum_detectable
from looper.lab.statistics.significance import EXACT, NEAR, holm, mcnemar, permutation
from looper.lab.statistics.verdicts import note, verdict

ACCOUNTS = ("outer", "inner", "usd", "tokens", "calls")
"""What a run costs."""
SCORES = ("score", "holdout", "gate_score", "passed")
"""Values between 0 and 1, so that a difference is at most 1."""
COLUMNS = (
    "design", "baseline", "n", "clusters", "mean", "baseline_mean", "difference", "low", "high", "p", "p_holm", "test",
    "minimum_detectable", "verdict", "note", "method",
)  # fmt: skip


@dataclass(frozen=True)
class Terms:
    """On what terms designs are compared; the settings of `compare`."""

    value: str
    margin: float
    alpha: float
    seed: int
    lower_is_better: bool
    bound: float | None = None
    """The largest difference there can be, for values that are no scores; None: the largest value seen."""


def compare(
    runs: pd.DataFrame,
    baseline: str,
    *,
    value: str = "score",
    margin: float = 0.05,
    alpha: float = 0.05,
    seed: int = 0,
    lower_is_better: bool = False,
    bound: float | None = None,
) -> pd.DataFrame:
    """One row per other design: its difference from `baseline` on the same tasks and seeds, with Holm across the rows.

    margin: of equivalence, in units of `value`. alpha: also sets the level of the intervals, 1 - alpha;
    `minimum_detectable` is at alpha over the number of rows, which is certain to pass Holm. lower_is_better: for values
    that are costs. bound: the largest difference that there can be of values that are no scores, e.g. their cap; None:
    the largest value seen. Raises ConfigError where runs cannot be paired.
    """
    needed(runs, ("task", "design", "seed", value))
    others = [name for name in distinct(runs, "design") if name != baseline]
    if not others:
        raise ConfigError(f"There is no other design than {baseline} to compare with it.")
    return table(runs, [(name, baseline) for name in others], Terms(value, margin, alpha, seed, lower_is_better, bound))


def all_pairs(
    runs: pd.DataFrame,
    *,
    value: str = "score",
    margin: float = 0.05,
    alpha: float = 0.05,
    seed: int = 0,
    lower_is_better: bool = False,
    bound: float | None = None,
) -> pd.DataFrame:
    """The same for each two designs, the later against the earlier in the frame, with Holm across all of them."""
    needed(runs, ("task", "design", "seed", value))
    sides = [(later, earlier) for earlier, later in itertools.combinations(distinct(runs, "design"), 2)]
    if not sides:
        raise ConfigError("There is only one design; two are needed for a comparison.")
    return table(runs, sides, Terms(value, margin, alpha, seed, lower_is_better, bound))


def table(runs: pd.DataFrame, sides: Sequence[tuple[str, str]], terms: Terms) -> pd.DataFrame:
    found = [measured(runs, design, baseline, terms, len(sides)) for design, baseline in sides]
    adjusted = holm({str(place): row["p"] for place, (row, _) in enumerate(found)})
    for (row, ends), p in zip(found, adjusted.values(), strict=True):
        row["p_holm"] = p
        row["verdict"] = verdict(ends, p, terms.margin, alpha=terms.alpha, lower_is_better=terms.lower_is_better)
        row["note"] = "; ".join(filter(None, (note(ends, p, terms.margin, p=row["p"], alpha=terms.alpha), row["note"])))
    frame = pd.DataFrame([row for row, _ in found])
    return only(frame, [*COLUMNS, *(name for name in frame.columns if name not in COLUMNS)])


def measured(
    runs: pd.DataFrame, design: str, baseline: str, terms: Terms, family: int
) -> tuple[dict[str, Any], Interval]:
    """A row without what depends on the other rows; `family` is how many there are."""
    paired = pairs(runs, design, baseline, terms.value)
    differences, tasks = numbers(paired, "difference"), labels(paired, "task")
    ends = interval(differences, tasks, level=1 - terms.alpha, seed=terms.seed, bound=largest(runs, terms))
    ends = ends.clipped() if terms.value in SCORES else ends
    p, test = tested(paired, terms.seed)
    row = {
        "design": design, "baseline": baseline, "n": ends.n, "clusters": ends.clusters,
        "mean": float(numbers(paired, "a").mean()), "baseline_mean": float(numbers(paired, "b").mean()),
        "difference": ends.mean, "low": ends.low, "high": ends.high, "p": p, "test": test,
        "minimum_detectable": minimum_detectable(differences, tasks, alpha=terms.alpha / family),
        "method": ends.method + bounded(ends, terms), "note": same(differences), **costs(runs, design, baseline),
    }  # fmt: skip
    return row, ends


def same(differences: np.ndarray) -> str:
    """What is exactly so where no two pairs differ otherwise; empty where they do, and of a single pair."""
    alike = len(differences) > 1 and float(np.ptp(differences)) <= NEAR
    return f"all {len(differences)} pairs differ by the same amount, {differences[0]:g}" if alike else ""


def bounded(ends: Interval, terms: Terms) -> str:
    """What the bound of an interval rests on, where all tasks agree and it is no score."""
    if not ends.method.startswith("all ") or terms.value in SCORES:
        return ""
    return f"; no difference beyond {'the largest value seen' if terms.bound is None else 'the cap'}"


def largest(runs: pd.DataFrame, terms: Terms) -> float | None:
    """The largest difference there can be; None where it is not known: values may be negative, or all are 0."""
    if terms.value in SCORES:
        return 1.0
    seen = numbers(runs, terms.value)
    if seen.min() < 0:
        return None
    return max(float(seen.max()), terms.bound or 0.0) or None


def tested(paired: pd.DataFrame, seed: int) -> tuple[float, str]:
    """McNemar where outcomes are binary and each task has one pair, else flips of sign by task."""
    a, b, tasks = numbers(paired, "a"), numbers(paired, "b"), labels(paired, "task")
    if len(set(tasks)) == len(tasks) and np.isin([a, b], (0.0, 1.0)).all():
        return mcnemar(a, b), "exact McNemar"
    differing = int((np.abs(Clusters.of(a - b, tasks).sums) > NEAR).sum())
    how = "exact" if differing <= EXACT else "Monte Carlo"
    return permutation(a - b, tasks, seed=seed), f"sign flips by task, {how}"


def costs(runs: pd.DataFrame, design: str, baseline: str) -> dict[str, float]:
    """Mean, median and ratio of means for each account that the frame has, of all runs of both designs."""
    found: dict[str, float] = {}
    sides = [rows(runs, runs["design"] == name) for name in (design, baseline)]
    for account in ACCOUNTS:
        if account not in runs.columns:
            continue
        own, other = (numbers(side, account) for side in sides)
        found |= {
            f"{account}_mean": float(own.mean()), f"{account}_median": float(np.median(own)),
            f"baseline_{account}_mean": float(other.mean()), f"baseline_{account}_median": float(np.median(other)),
            f"{account}_ratio": ratio(float(own.mean()), float(other.mean())),
        }  # fmt: skip
    return found


def ratio(own: float, other: float) -> float:
    """NaN where both spent nothing, infinite where only the baseline did."""
    if other != 0:
        return own / other
    return float("inf") if own > 0 else float("nan")


def per_task(runs: pd.DataFrame, value: str = "score") -> pd.DataFrame:
    """task, design, mean, n and whether it is the best of its task; all that tie are.

    Runs without the value are not counted in n; a cell with none of them has a NaN mean and is never the best.
    """
    needed(runs, ("task", "design", value))
    grouped = runs.assign(value=numbers(runs, value)).groupby(["task", "design"], sort=True)
    frame = grouped.agg(mean=("value", "mean"), n=("value", "count")).reset_index()
    top = np.asarray(frame.groupby("task")["mean"].transform("max"), dtype=float)
    return frame.assign(best=numbers(frame, "mean") >= top - NEAR)
