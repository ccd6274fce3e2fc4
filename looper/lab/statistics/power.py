"""How small a difference could have been found, or could be."""

import numpy as np

from looper.errors import ConfigError
from looper.lab.statistics.clusters import Clusters, Labels, Numbers


def minimum_detectable(differences: Numbers, clusters: Labels, *, power: float = 0.8, alpha: float = 0.05) -> float:
    """The true mean difference that a two-sided test at `alpha` finds with probability `power`, at the spread seen.

    NaN where no spread was seen (nothing can be said), infinite with one cluster.
    """
    data = Clusters.of(differences, clusters)
    if data.count == 1:
        return float("inf")
    if data.even():
        return float("nan")
    return needed_ratio(data.freedom(), power, alpha) * data.error()


def detectable(
    sd_between: float, sd_within: float, clusters: int, per_cluster: int, power: float = 0.8, alpha: float = 0.05
) -> float:
    """The same for a plan: `clusters` tasks with `per_cluster` pairs each.

    sd_between: standard deviation of the tasks' true differences; sd_within: of the pairs' differences within a task.
    """
    if clusters < 1 or per_cluster < 1 or sd_between < 0 or sd_within < 0:
        raise ConfigError("A plan needs at least one task, one pair per task and no negative standard deviation.")
    if clusters == 1:
        return float("inf")
    error = float(np.sqrt(sd_between**2 / clusters + sd_within**2 / (clusters * per_cluster)))
    return needed_ratio(clusters - 1, power, alpha) * error


def needed_ratio(freedom: float, power: float, alpha: float) -> float:
    """Difference over standard error at which a two-sided t test has the power: by the noncentral t distribution."""
    from scipy.optimize import brentq
    from scipy.stats import nct, t

    if not (0 < alpha < power < 1):
        raise ConfigError(f"Alpha and power must be between 0 and 1, alpha the smaller: {alpha} and {power}.")
    critical = float(t.ppf(1 - alpha / 2, freedom))

    def surplus(ratio: float) -> float:
        far = float(nct.cdf(-critical, freedom, ratio))  # scipy gives NaN for some that are next to nothing
        return float(nct.sf(critical, freedom, ratio)) + (0.0 if np.isnan(far) else far) - power

    return float(np.asarray(brentq(surplus, 1e-6, critical + 40 * max(1.0, critical))))
