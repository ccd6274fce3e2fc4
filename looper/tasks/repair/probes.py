"""Readings of a repair state: document 004's probes, 0.05 inner units each."""

from looper.tasks.repair.states import Program
from looper.types import Signal


class TestsProbe:
    """Share of the visible tests that pass."""

    name = "tests"

    def test(self, state: Program) -> Signal:
        passed = bool(state.results) and all(state.results.values())
        return Signal(name=self.name, passed=passed, value=state.share, reason=f"{state.share:.0%} of the tests pass")


class DistanceProbe:
    """Mean distance of the outputs from the expected ones, 0 equal to 1."""

    name = "distance"

    def test(self, state: Program) -> Signal:
        return Signal(name=self.name, passed=state.share == 1, value=state.distance, reason="distance of the outputs")


class ChoiceProbe:
    """Whether a plausible patch had enough rivals tried beside it; without one there is nothing to choose."""

    name = "choice"

    def __init__(self, alternatives: int):
        self.alternatives = alternatives

    def test(self, state: Program) -> Signal:
        passed = bool(state.plausible) and state.since >= self.alternatives
        reason = f"{len(state.plausible)} plausible, {state.since} candidates since the first"
        return Signal(name=self.name, passed=passed, value=float(len(state.plausible)), reason=reason)
