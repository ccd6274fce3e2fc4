"""Whether a difference may be chance: tests that hold for few tasks, and the correction for many comparisons."""

import itertools
from collections.abc import Mapping

import numpy as np

from looper.errors import ConfigError
from looper.lab.statistics.clusters import Clusters, Labels, Numbers

EXACT = 12
"""Up to so many clusters all 2^k signs are tried; k that agree give 2 / 2^k, so fewer than 6 never get below 0.05."""
NEAR = 1e-9
"""Sums this near to the observed one count as equal to it: the same numbers added in another order."""


def permutation(differences: Numbers, clusters: Labels, *, seed: int = 0, resamples: int = 10000) -> float:
    """Two-sided p value of the mean difference under flips of sign, a cluster at a time.

    Exact up to 12 clusters that differ from zero, else Monte Carlo with the observed one counted in (Phipson and Smyth
    2010). The hypothesis is that the two designs are exchangeable within a task.
    """
    sums = Clusters.of(differences, clusters).sums
    sums = sums[np.abs(sums) > NEAR]
    if not len(sums):
        return 1.0
    observed = abs(float(sums.sum())) - NEAR * max(1.0, float(np.abs(sums).sum()))
    if len(sums) <= EXACT:
        signs = np.array(list(itertools.product((1.0, -1.0), repeat=len(sums))))
        return float((np.abs(signs @ sums) >= observed).mean())
    signs = np.random.default_rng(seed).integers(0, 2, (resamples, len(sums))) * 2.0 - 1.0
    return float((1 + (np.abs(signs @ sums) >= observed).sum()) / (resamples + 1))


def outcomes(values: Numbers, name: str) -> np.ndarray:
    """Zeros and ones; anything else is an error."""
    found = np.asarray(values, dtype=float)
    if not len(found) or not np.isin(found, (0.0, 1.0)).all():
        raise ConfigError(f"The outcomes of {name} must be 0 or 1, and there must be some.")
    return found


def mcnemar(a: Numbers, b: Numbers) -> float:
    """Exact p value for binary outcomes of the same items: only those where one of the two succeeded count; else 1."""
    from scipy.stats import binomtest

    first, second = outcomes(a, "a"), outcomes(b, "b")
    if len(first) != len(second):
        raise ConfigError(f"Pairs are needed: a has {len(first)} outcomes and b has {len(second)}.")
    only_first, only_second = int((first > second).sum()), int((first < second).sum())
    if only_first + only_second == 0:
        return 1.0
    return float(binomtest(only_first, only_first + only_second, 0.5).pvalue)


def unpaired(a: Numbers, b: Numbers) -> float:
    """Two-proportion z test with pooled variance, as if the items were not the same: for contrast only."""
    from scipy.stats import norm

    first, second = outcomes(a, "a"), outcomes(b, "b")
    together = float(np.concatenate([first, second]).mean())
    variance = together * (1 - together) * (1 / len(first) + 1 / len(second))
    if variance == 0:
        return 1.0
    return float(2 * norm.sf(abs(first.mean() - second.mean()) / np.sqrt(variance)))


def holm(p: Mapping[str, float]) -> dict[str, float]:
    """Holm's step-down adjustment: at most alpha is the chance of any false alarm among those below alpha."""
    if any(not 0 <= value <= 1 for value in p.values()):
        raise ConfigError(f"P values are between 0 and 1: {dict(p)}.")
    adjusted, highest = {}, 0.0
    for rank, (name, value) in enumerate(sorted(p.items(), key=lambda item: item[1])):
        highest = max(highest, min(1.0, (len(p) - rank) * value))
        adjusted[name] = highest
    return {name: adjusted[name] for name in p}
