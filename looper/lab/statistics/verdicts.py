"""What a comparison has shown, in one word and in one sentence."""

from typing import Literal

from looper.errors import ConfigError
from looper.lab.statistics.intervals import ENOUGH, Interval

Verdict = Literal["better", "worse", "equivalent", "undecided"]


def verdict(
    interval: Interval, p_adjusted: float, margin: float, *, alpha: float = 0.05, lower_is_better: bool = False
) -> Verdict:
    """Better, worse, equivalent or undecided.

    equivalent: the 90 % interval (two one-sided tests at 5 %) lies within +-margin. Better or worse: p_adjusted < alpha
    and the interval does not contain 0. Where both hold the difference is real and too small to matter: equivalent
    wins, and `note` says so. Always undecided with fewer than 5 tasks. margin: in units of the value, 0 or more.
    """
    if not margin >= 0:
        raise ConfigError(f"The margin of equivalence must be 0 or more, not {margin}.")
    if not interval.trusted:
        return "undecided"
    if within(interval, margin):
        return "equivalent"
    if not significant(interval, p_adjusted, alpha):
        return "undecided"
    return "better" if (interval.mean > 0) != lower_is_better else "worse"


def within(interval: Interval, margin: float) -> bool:
    return -margin < interval.tost_low and interval.tost_high < margin


def significant(interval: Interval, p_adjusted: float, alpha: float) -> bool:
    return p_adjusted < alpha and (interval.low > 0 or interval.high < 0)


def note(interval: Interval, p_adjusted: float, margin: float, *, p: float | None = None, alpha: float = 0.05) -> str:
    """What the verdict does not say by itself; empty where there is nothing to add.

    p: before the correction for all comparisons; None where there is but one.
    """
    if interval.clusters < ENOUGH:
        return f"too few tasks for any verdict: {interval.clusters}, where {ENOUGH} are needed and 6 for p < 0.05"
    if not interval.trusted:
        return f"no interval: {interval.method}"
    if within(interval, margin):
        return "a real difference, but within the margin" if significant(interval, p_adjusted, alpha) else ""
    apart = interval.low > 0 or interval.high < 0
    if apart and p is not None and p < alpha <= p_adjusted:
        alone = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
        return (
            f"significant alone ({alone}), not after the correction for all comparisons; the interval is not corrected"
        )
    if (p_adjusted < alpha) != apart:
        return "test and interval disagree: the difference is at the edge of what these runs can show"
    return ""
