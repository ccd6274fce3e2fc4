"""How far off a mean difference may be.

The plain percentile bootstrap covers 80-92 % where it says 95 % with 8 to 12 clusters, so it is not used. What is used
was chosen by simulation: 500 to 2,000 data sets for each of 8, 12, 20 and 40 clusters of 1, 1 to 5, or 5 runs. Coverage
of a 95 % interval, one standard error of the simulation being 0.5 to 1:

* differences of two binary outcomes: cluster t (CR2 error, Bell-McCaffrey degrees of freedom). 94.2-97.3 %; where
  outcomes hardly ever differ 93-99 %, too wide for 8 or 12 clusters of one run. A bootstrap-t falls to 87 % there.
* the same where all that differ go one way (one design never loses): Bonett and Price's adjusted interval at the
  effective number of pairs. 94-99.9 %, but 89.5-92 % for 20 or 40 tasks of 5 runs of which 5 % differ; cluster t 82 %.
* anything else: the cluster bootstrap-t (studentized), never narrower than the cluster t. Normal 93.9-97.2 %,
  exponential 93-97 %, scores of which most are equal 94-98.8 % (rather too wide), log-normal 91-96 %: the worst is a
  long tail with clusters of unequal size.

What fails: fewer than 5 clusters, which is said in the method, and tails much longer than scores between 0 and 1 have.
"""

from dataclasses import dataclass, replace

import numpy as np

from looper.errors import ConfigError
from looper.lab.statistics.clusters import TINY, Clusters, Labels, Numbers, drawn

ENOUGH = 5
"""Clusters below which an interval is shown but not to be trusted."""
REACH = 3.0
"""A bootstrap t beyond this many times the t quantile is held there: some resamples of few clusters have no spread."""


@dataclass(frozen=True)
class Interval:
    """An interval of the mean difference; NaN ends where none can be given."""

    low: float
    high: float
    mean: float
    n: int
    """Pairs."""
    clusters: int
    method: str
    """In words, with what is to be said against it."""
    level: float = 0.95
    tost_low: float = float("nan")
    """The interval at level 1 - 2 (1 - level), for two one-sided tests: 90 % beside a 95 % interval."""
    tost_high: float = float("nan")

    @property
    def trusted(self) -> bool:
        """Enough clusters, and ends that are numbers."""
        return self.clusters >= ENOUGH and bool(np.isfinite([self.low, self.high]).all())

    def clipped(self, bound: float = 1.0) -> "Interval":
        """The same within +-bound: no difference of two scores is beyond 1."""
        names = ("low", "high", "tost_low", "tost_high")
        return replace(self, **{name: float(np.clip(getattr(self, name), -bound, bound)) for name in names})


def interval(
    differences: Numbers,
    clusters: Labels,
    *,
    level: float = 0.95,
    resamples: int = 4000,
    seed: int = 0,
    bound: float | None = 1.0,
) -> Interval:
    """The mean of all differences with its interval; `clusters` says which task each one is from.

    level: confidence, 0.5 to 1. bound: the largest difference there can be (1 for scores from 0 to 1; None: not known);
    it is needed only where all tasks agree. Raises ConfigError for missing values.
    """
    if not 0.5 < level < 1:
        raise ConfigError(f"A level of confidence is between 0.5 and 1, not {level}.")
    data, values = Clusters.of(differences, clusters), np.asarray(differences, dtype=float)
    levels = (level, 2 * level - 1)
    if data.count == 1:
        method, ends = "none: runs of one task say nothing about other tasks", [(np.nan, np.nan)] * 2
    elif data.even():
        method, ends = unvaried(data, values, bound, levels)
    elif data.count < ENOUGH:
        method, ends = f"cluster t; not to be trusted with {data.count} tasks", [students(data, at) for at in levels]
    elif np.isin(values, (-1.0, 0.0, 1.0)).all():
        method, ends = binary(data, values, levels)
    else:
        method, ends = "cluster bootstrap-t, at least cluster t", studentized(data, levels, resamples, seed)
    (low, high), (inner_low, inner_high) = ends
    return Interval(low, high, data.mean, data.n, data.count, method, level, inner_low, inner_high)


def unvaried(
    data: Clusters, values: np.ndarray, bound: float | None, levels: tuple[float, ...]
) -> tuple[str, list[tuple[float, float]]]:
    """All alike is no certainty: so many tasks without an exception bound how common they are (the rule of three)."""
    if bound is None or np.abs(values).max() > bound + TINY:
        return "none: all tasks agree, and how far others may differ is not known", [(np.nan, np.nan)] * len(levels)
    ends = []
    for level in levels:
        rare = 1 - (1 - level) ** (1 / data.count)
        ends.append((data.mean - rare * (data.mean + bound), data.mean + rare * (bound - data.mean)))
    return f"all {data.count} tasks agree: bound on how common exceptions are (rule of three)", ends


def students(data: Clusters, level: float) -> tuple[float, float]:
    """Mean and cluster-robust error, with Student's t at Bell and McCaffrey's degrees of freedom."""
    from scipy.stats import t

    half = float(t.ppf((1 + level) / 2, data.freedom())) * data.error()
    return data.mean - half, data.mean + half


def binary(data: Clusters, values: np.ndarray, levels: tuple[float, ...]) -> tuple[str, list[tuple[float, float]]]:
    """Differences of binary outcomes: -1, 0 and 1."""
    if (values > 0).any() and (values < 0).any():
        return "cluster t (CR2)", [students(data, at) for at in levels]
    return "Bonett-Price at the effective number of pairs (all go one way)", [
        adjusted(data, values, at) for at in levels
    ]


def adjusted(data: Clusters, values: np.ndarray, level: float) -> tuple[float, float]:
    """Bonett and Price 2012: a pair each way is added, to as many independent pairs as would have the cluster error."""
    from scipy.stats import t

    wins, losses = float((values > 0).mean()), float((values < 0).mean())
    independent = (wins + losses - data.mean**2) / data.n
    effective = min(max(data.n * independent / data.error() ** 2, 1.0), float(data.n))
    wins, losses = (wins * effective + 1) / (effective + 2), (losses * effective + 1) / (effective + 2)
    error = np.sqrt((wins + losses - (wins - losses) ** 2) / (effective + 2))
    half = float(t.ppf((1 + level) / 2, data.freedom()) * error)
    return max(wins - losses - half, -1.0), min(wins - losses + half, 1.0)


def studentized(data: Clusters, levels: tuple[float, ...], resamples: int, seed: int) -> list[tuple[float, float]]:
    """The bootstrap-t by cluster (Efron 1981; Cameron, Gelbach and Miller 2008), not narrower than `students`."""
    from scipy.stats import t

    ratios, error = np.sort(resampled_t(data, resamples, seed)), plain_error(data)
    ends = []
    for level in levels:
        limit = REACH * float(t.ppf((1 + level) / 2, data.count - 1))
        tail = max(int(np.floor((1 - level) / 2 * (resamples + 1))) - 1, 0)
        lowest, highest = np.clip(ratios[tail], -limit, 0), np.clip(ratios[-1 - tail], 0, limit)
        plain = students(data, level)
        ends.append((min(data.mean - highest * error, plain[0]), max(data.mean - lowest * error, plain[1])))
    return [(float(low), float(high)) for low, high in ends]


def plain_error(data: Clusters) -> float:
    """Standard error without the weighing by leverage: the same formula is cheap in each resample."""
    left = data.sums - data.sizes * data.mean
    return float(np.sqrt(data.count / (data.count - 1) * (left**2).sum()) / data.n)


def resampled_t(data: Clusters, resamples: int, seed: int) -> np.ndarray:
    """(mean* - mean) / error* of each resample of clusters; infinite where a resample has no spread."""
    weights, sums, sizes = drawn(data.count, resamples, seed), data.sums, data.sizes
    size = weights @ sizes
    mean = weights @ sums / size
    squares = weights @ sums**2 - 2 * mean * (weights @ (sums * sizes)) + mean**2 * (weights @ sizes**2)
    error = np.sqrt(np.maximum(squares, 0) * data.count / (data.count - 1)) / size
    away = mean - data.mean
    spread = error > 1e-7 * plain_error(data)
    without = np.where(np.abs(away) <= TINY, 0.0, np.copysign(np.inf, away))
    return np.where(spread, away / np.where(spread, error, 1.0), without)


def wilson(successes: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Wilson's interval of a proportion; (0, 1) of nothing. 26 of 26 at 95 %: 0.871 to 1."""
    from scipy.stats import binomtest

    if not 0 <= successes <= n:
        raise ConfigError(f"There cannot be {successes} successes in {n}.")
    if n == 0:
        return 0.0, 1.0
    found = binomtest(int(successes), int(n)).proportion_ci(level, method="wilson")
    return float(found.low), float(found.high)


def expanded(samples: np.ndarray, clusters: int, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Percentiles of bootstrap samples (axis 0), widened for few clusters (Hesterberg 2015): for bands.

    NaN with fewer than two clusters.
    """
    from scipy.stats import norm, t

    if clusters < 2:
        nothing = np.full(samples.shape[1:], np.nan)
        return nothing, nothing
    tail = float(norm.cdf(-np.sqrt(clusters / (clusters - 1)) * t.ppf((1 + level) / 2, clusters - 1)))
    low, high = np.quantile(samples, [tail, 1 - tail], axis=0)
    return low, high
