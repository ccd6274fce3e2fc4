"""Probes of the band exercise: how many hits, how their scores spread, a sudden drop, overlap with what was seen."""

from typing import ClassVar

from looper.tasks.search.states import Results
from looper.types import Signal

FLAT, SUDDEN, STALE = 0.1, 0.1, 0.8
"""Spread of scores below which hits cannot be told apart; share of hits left that is a sudden drop; share of hits seen
before that makes a state stale. Readings for histories and planners: only the count decides what is stable."""


class Count:
    """Whether the number of hits lies in the wanted range; the value is the number."""

    name: ClassVar[str] = "count"

    def __init__(self, low: int, high: int):
        self.low, self.high = low, high

    def test(self, state: Results) -> Signal:
        inside = self.low <= state.total <= self.high
        reason = f"{state.total} hits, wanted are {self.low} to {self.high}"
        return Signal(name=self.name, passed=inside, value=state.total, reason=reason)


class Spread:
    """How far the scores of the hits lie apart, 0 to 1: (best - worst) / best."""

    name: ClassVar[str] = "spread"

    def test(self, state: Results) -> Signal:
        scores = [hit.score for hit in state.hits]
        best = max((abs(score) for score in scores), default=0.0)
        value = (max(scores) - min(scores)) / best if len(scores) > 1 and best else 0.0
        flat = len(scores) > 1 and value < FLAT
        return Signal(name=self.name, passed=not flat, value=round(value, 6), reason="flat" if flat else "spread out")


class Drop:
    """Hits against those of the state before, as a ratio; passes unless nine tenths are gone at once."""

    name: ClassVar[str] = "drop"

    def test(self, state: Results) -> Signal:
        ratio = state.total / state.before if state.before else 1.0
        sudden = bool(state.before) and ratio < SUDDEN
        return Signal(name=self.name, passed=not sudden, value=round(ratio, 6), reason="sudden" if sudden else "")


class Overlap:
    """Share of the hits that were seen in states before, 0 to 1; passes unless nearly all were."""

    name: ClassVar[str] = "overlap"

    def test(self, state: Results) -> Signal:
        seen = set(state.seen)
        share = sum(hit.id in seen for hit in state.hits) / len(state.hits) if state.hits else 0.0
        return Signal(name=self.name, passed=share < STALE, value=round(share, 6), reason=f"{share:.0%} seen before")
