"""Policies of the band exercise: broaden, narrow, rephrase, diversify; between two bounds they bisect (SPEC 1.4)."""

from collections.abc import Iterator, Sequence
from itertools import chain

from pydantic import BaseModel

from looper.tasks.environment import FailureType
from looper.tasks.search.moves import Moves
from looper.tasks.search.query import Query
from looper.tasks.search.states import Change, Results, Steering, Trail
from looper.types import Signal

NARROW = frozenset({FailureType.NO_DATA, FailureType.TOO_NARROW})


class Steered(BaseModel, frozen=True, arbitrary_types_allowed=True):
    """What the four have in common: a memory of what was tried and of the latest bound on either side."""

    name: str = ""
    handles: frozenset[FailureType] = frozenset()
    levels: tuple[float, float] = (0.0, 3.0)
    step: str = "decide"
    moves: Moves
    low: int
    high: int

    def initialize(self, state: Results) -> Trail:
        return self.marked(Trail(), state)

    def is_stable(self, state: Results, signals: Sequence[Signal]) -> bool:
        return all(signal.passed for signal in signals if signal.name == "count")

    def decide(self, state: Results, signals: Sequence[Signal], memory: Trail, level: float) -> Change | None:
        """The first candidate that was not tried and that the backend takes."""
        steering = Steering(low=self.low, high=self.high, level=level)
        for change in self.candidates(state, memory, steering):
            if change.query.key() not in memory.tried and self.moves.fits(change.query):
                return change
        return None

    def candidates(self, state: Results, memory: Trail, steering: Steering) -> Iterator[Change]:
        raise NotImplementedError

    def bisected(self, state: Results, memory: Trail) -> Iterator[Change]:
        """What lies between the bounds, if there are two."""
        if memory.narrow is None or memory.broad is None:
            return iter(())
        return self.moves.between(memory.narrow, memory.broad, state)

    def adapt(self, memory: Trail, before: Results, action: Change, after: Results, feedback: float) -> Trail:
        """Also what was asked for counts as tried: what came of it may be another query."""
        tried = [*memory.tried, action.query.key()]
        return self.marked(memory.model_copy(update={"tried": tried}), after)

    def marked(self, memory: Trail, state: Results) -> Trail:
        """The memory with a state that was looked at."""
        tried = list(dict.fromkeys([*memory.tried, state.query.key()]))
        narrow: Query | None = state.query if state.total < self.low else memory.narrow
        broad: Query | None = state.query if state.total > self.high else memory.broad
        return Trail(tried=tried, narrow=narrow, broad=broad)


class Broaden(Steered, frozen=True):
    """Too little: the middle towards what was too much, else fewer demands."""

    name: str = "broaden"
    handles: frozenset[FailureType] = NARROW

    def candidates(self, state: Results, memory: Trail, steering: Steering) -> Iterator[Change]:
        return chain(self.bisected(state, memory), self.moves.broader(state, steering))


class Narrow(Steered, frozen=True):
    """Too much: the middle towards what was too little, else more demands."""

    name: str = "narrow"
    handles: frozenset[FailureType] = frozenset({FailureType.TOO_BROAD})

    def candidates(self, state: Results, memory: Trail, steering: Steering) -> Iterator[Change]:
        return chain(self.bisected(state, memory), self.moves.narrower(state, steering))


class Rephrase(Steered, frozen=True):
    """Too little, and no demand is left to drop: other words for the same."""

    name: str = "rephrase"
    handles: frozenset[FailureType] = NARROW

    def candidates(self, state: Results, memory: Trail, steering: Steering) -> Iterator[Change]:
        return self.moves.rephrased(state, steering)


class Diversify(Steered, frozen=True):
    """Nothing else is left: another corner of the collection."""

    name: str = "diversify"
    handles: frozenset[FailureType] = NARROW | {FailureType.TOO_BROAD}

    def candidates(self, state: Results, memory: Trail, steering: Steering) -> Iterator[Change]:
        return self.moves.diversified(state)


def policies(moves: Moves, low: int, high: int) -> list[Steered]:
    """Of equal price, so the selector asks them in this order."""
    return [kind(moves=moves, low=low, high=high) for kind in (Broaden, Narrow, Rephrase, Diversify)]
