"""Differences summed by cluster: all that the statistics need to know of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from looper.errors import ConfigError

Numbers = Sequence[float] | np.ndarray | pd.Series
Labels = Sequence[Any] | np.ndarray | pd.Series
TINY = 1e-12
"""A spread below this is none; scores are between 0 and 1."""


@dataclass(frozen=True)
class Clusters:
    """Sums and sizes by cluster; the mean is that of all values, so a cluster counts by its size."""

    sums: np.ndarray
    sizes: np.ndarray

    @classmethod
    def of(cls, values: Numbers, labels: Labels) -> "Clusters":
        numbers, names = np.asarray(values, dtype=float), pd.Series(labels)
        if len(numbers) == 0 or len(numbers) != len(names):
            raise ConfigError(
                f"There must be a cluster for each difference: there are {len(numbers)} and {len(names)}."
            )
        if not np.isfinite(numbers).all() or names.isna().any():
            raise ConfigError("A difference or its cluster is missing or not finite; leave such pairs out first.")
        codes, _ = pd.factorize(names)
        return cls(np.bincount(codes, numbers), np.bincount(codes).astype(float))

    @property
    def count(self) -> int:
        return len(self.sums)

    @property
    def n(self) -> int:
        return int(self.sizes.sum())

    @property
    def mean(self) -> float:
        return float(self.sums.sum() / self.sizes.sum())

    def error(self) -> float:
        """Standard error of the mean, robust to likeness within clusters (CR2, Bell and McCaffrey 2002)."""
        share = self.sizes / self.sizes.sum()
        left = self.sums - self.sizes * self.mean
        return float(np.sqrt((left**2 / (1 - share)).sum()) / self.sizes.sum())

    def freedom(self) -> float:
        """Degrees of freedom of that error (the same): clusters - 1 where all are of one size, fewer otherwise."""
        share = self.sizes / self.sizes.sum()
        weight = self.sizes**2 / (1 - share)
        square = (self.sizes**2).sum() + (weight.sum() ** 2 - (weight**2).sum()) / self.n**2
        return float(self.n**2 / square)

    def even(self) -> bool:
        """Whether no cluster differs from the mean."""
        return bool(np.abs(self.sums - self.sizes * self.mean).max() <= TINY * max(1.0, float(np.abs(self.sums).max())))


def drawn(count: int, resamples: int, seed: int) -> np.ndarray:
    """How often each of `count` clusters is drawn, resamples x count."""
    return np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), resamples).astype(float)
