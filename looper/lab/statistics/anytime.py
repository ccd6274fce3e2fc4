"""The best score so far against what was spent for it."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from looper.errors import ConfigError
from looper.lab.statistics.clusters import drawn
from looper.lab.statistics.frames import distinct, labels, needed, numbers, only, rows
from looper.lab.statistics.intervals import expanded


def anytime(
    history: pd.DataFrame,
    account: str,
    *,
    points: int | Sequence[float] = 101,
    runs: pd.DataFrame | None = None,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """design, spent, mean, low, high, runs, tasks: the mean over a design's runs of the best score reached for `spent`.

    account: a cumulative column of the history (inner, outer, usd, tokens, calls). points: the grid, or how many points
    from 0 to the most that was spent. runs: all runs (run, task, design), so that one which evaluated nothing counts 0
    throughout. A run that ended keeps its best; before its first evaluation it has 0. Bands: bootstrap by task,
    percentiles widened for few tasks, each point by itself; NaN with one task.
    """
    needed(history, ("run", "task", "design", "step", "score", account))
    known = rows(history, ~(np.isnan(numbers(history, "score")) | np.isnan(numbers(history, account))))
    everyone = only(known if runs is None else runs, ("run", "task", "design")).groupby("run", sort=False).first()
    strangers = set(labels(known, "run")) - set(everyone.index)
    if strangers:
        raise ConfigError(f"The history has the run {min(map(str, strangers))}, which is not among the runs.")
    grid = grid_of(numbers(known, account), account, points)
    steps = dict(list(known.sort_values("step", kind="stable").groupby("run", sort=False)))
    curves = np.array([curve(steps.get(run), account, grid) for run in everyone.index])
    frames = []
    for design in distinct(everyone, "design"):
        chosen = np.asarray(everyone["design"] == design)
        band = banded(curves[chosen], labels(rows(everyone, chosen), "task"), level, resamples, seed)
        frames.append(band.assign(design=design, spent=grid))
    return only(pd.concat(frames, ignore_index=True), ("design", "spent", "mean", "low", "high", "runs", "tasks"))


def grid_of(spent: np.ndarray, account: str, points: int | Sequence[float]) -> np.ndarray:
    if not isinstance(points, int):
        return np.sort(np.asarray(points, dtype=float))
    if not len(spent) or spent.max() <= 0:
        raise ConfigError(f"Nothing was spent on the account {account}; choose another one.")
    return np.linspace(0.0, float(spent.max()), points)


def curve(steps: pd.DataFrame | None, account: str, grid: np.ndarray) -> np.ndarray:
    """The best score so far of one run at each point of the grid."""
    if steps is None:
        return np.zeros(len(grid))
    best = np.maximum.accumulate(np.concatenate([[0.0], numbers(steps, "score")]))
    spent = np.maximum.accumulate(numbers(steps, account))
    return best[np.searchsorted(spent, grid * (1 + 1e-12), side="right")]


def banded(curves: np.ndarray, tasks: list[str], level: float, resamples: int, seed: int) -> pd.DataFrame:
    codes, names = pd.factorize(pd.Series(tasks))
    member = (codes[None, :] == np.arange(len(names))[:, None]).astype(float)
    weights = drawn(len(names), resamples, seed)
    samples = (weights @ (member @ curves)) / (weights @ member.sum(axis=1))[:, None]
    low, high = expanded(samples, len(names), level)
    return pd.DataFrame(
        {"mean": curves.mean(axis=0), "low": low, "high": high, "runs": len(curves), "tasks": len(names)}
    )
