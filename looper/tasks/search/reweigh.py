"""Policies of the relevance exercise: new weights of terms from what was labelled.

Nothing relevant yet: `rephrase`, then `diversify`. Something relevant: `rocchio` while most of the latest labels say
otherwise, `separate` when they are good. The ladder's level says how many words they may bring.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from looper.tasks.environment import FailureType
from looper.tasks.search.states import Ranking, Reweight, Tried
from looper.tasks.search.words import STOP
from looper.types import Signal

if TYPE_CHECKING:
    from looper.tasks.search.learn import Vector
    from looper.tasks.search.relevance import Relevance

BETA, GAMMA = 2.0, 0.15
"""Rocchio's weights of the relevant and of the other labelled documents, beside 1 for the need. Gamma as usual (Manning
et al. 2008, 9.1.1); beta above the usual .75, because the words of a need are few and often not the collection's:
on the half of the needs for building, 2 was a little better than 1, and 1 than .5."""
EXPANSION = 60
"""Terms that feedback keeps at level 0; level 3 keeps four times as many. 30 to 100 measured alike, 10 worse."""
NEAR = 8
"""Near words that each word of the need gets at level 0."""
SHARE = 0.3
"""Length of the near words beside that of the words themselves at the start."""
ASIDE = 0.3
"""How far a search in which nothing was relevant moves from what it found."""
NAMED = 3
"""Words that a reason names."""


def weights_key(weights: Mapping[str, float]) -> str:
    """Equal for weights that rank alike: three digits, relative to the largest."""
    top = max((abs(weight) for weight in weights.values()), default=1.0) or 1.0
    rounded = {term: round(weight / top, 3) for term, weight in weights.items()}
    return " ".join(f"{term}:{weight:g}" for term, weight in sorted(rounded.items()) if weight)


class Begun(Tried):
    """What these policies remember."""

    start: dict[str, float] = Field(default_factory=dict)
    """The weights of the plan: what was asked before any label was known."""


class Reweighing(BaseModel, frozen=True, arbitrary_types_allowed=True):
    """What the policies have in common: what is stable, and what was tried."""

    name: str = ""
    handles: frozenset[FailureType] = frozenset()
    levels: tuple[float, float] = (0.0, 3.0)
    step: str = "decide"
    task: Any

    def initialize(self, state: Ranking) -> Begun:
        return Begun(keys=[weights_key(state.weights)], start=state.weights)

    def is_stable(self, state: Ranking, signals: Sequence[Signal]) -> bool:
        """Labelled precision, not a number of hits (SPEC 1.7), and enough that is confirmed."""
        return (
            bool(state.rounds) and state.precision >= self.task.precision and len(state.relevant) >= self.task.confirmed
        )

    def decide(self, state: Ranking, signals: Sequence[Signal], memory: Begun, level: float) -> Reweight | None:
        if len(state.labels) >= self.task.most:
            return None
        found = (action for action in self.candidates(state, memory.start, level) if action.weights)
        return next((action for action in found if weights_key(action.weights) not in memory.keys), None)

    def candidates(self, state: Ranking, start: Mapping[str, float], level: float) -> Iterator[Reweight]:
        """What could be tried, the best first."""
        raise NotImplementedError

    def adapt(self, memory: Begun, before: Ranking, action: Reweight, after: Ranking, feedback: float) -> Begun:
        return memory.model_copy(update={"keys": list(dict.fromkeys([*memory.keys, weights_key(after.weights)]))})

    # Between the terms of a state and the numbers that are learnt with

    def vector(self, weights: Mapping[str, float]) -> "Vector":
        import numpy as np

        made = np.zeros(len(self.task.collection.vocabulary))
        for term, number in self.task.collection.numbers(weights).items():
            made[number] = weights[term]
        return made

    def labelled(self, state: Ranking, relevant: bool) -> list[int]:
        return [self.task.collection.number(name) for name, label in state.labels.items() if label is relevant]

    def action(self, made: "Vector", than: "Vector", why: str) -> Reweight:
        """An action whose reason names the words in which it differs most from other weights."""
        return Reweight(weights=named(self.task, made), why=f"{why}{changes(self.task, made - than)}")


class Rephrase(Reweighing, frozen=True):
    """Words of the collection that stand where those of the need do, as heavy as they are, and ever more of them."""

    name: str = "rephrase"
    handles: frozenset[FailureType] = frozenset({FailureType.TOO_NARROW})

    def candidates(self, state: Ranking, start: Mapping[str, float], level: float) -> Iterator[Reweight]:
        why = "no hit is left" if state.relevant else "nothing relevant yet"
        for made, plain in self.widened(start, level):
            yield self.action(made, plain, f"{why}, so other words for the same")

    def widened(self, start: Mapping[str, float], level: float) -> "Iterator[tuple[Vector, Vector]]":
        """The start with ever more near words, and without."""
        from looper.tasks.search import learn

        plain = learn.unit(self.vector(start))
        for more in (1, 2, 4):
            near = neighbours(self.task, self.task.content, round(NEAR * more * (1 + level)))
            yield plain + learn.begin(self.task.collection.matrix, {}, near, 1.0), plain


class Diversify(Rephrase, frozen=True):
    """Other words for the same, and away from all that was found in vain (negative feedback; MMR's second half)."""

    name: str = "diversify"
    handles: frozenset[FailureType] = frozenset({FailureType.NO_DATA})

    def candidates(self, state: Ranking, start: Mapping[str, float], level: float) -> Iterator[Reweight]:
        from looper.tasks.search import learn

        matrix, bad = self.task.collection.matrix, self.labelled(state, False)
        for wide, plain in self.widened(start, level):
            for further in (1, 2, 4):
                made = learn.away(matrix, learn.unit(wide), bad, ASIDE * further)
                yield self.action(made, plain, f"nothing relevant among {len(bad)}, so away from what they are like")


class Rocchio(Reweighing, frozen=True):
    """Towards the mean of the relevant, a little away from that of the others (Rocchio 1971)."""

    name: str = "rocchio"
    handles: frozenset[FailureType] = frozenset({FailureType.TOO_BROAD})

    def candidates(self, state: Ranking, start: Mapping[str, float], level: float) -> Iterator[Reweight]:
        from looper.tasks.search import learn

        matrix, good, bad = self.task.collection.matrix, self.labelled(state, True), self.labelled(state, False)
        plain = self.vector(start)
        wide = learn.towards(matrix, plain, good, BETA, round(EXPANSION * (1 + level)))
        for further in (1, 2, 4):
            made = learn.away(matrix, wide, bad, GAMMA * further)
            yield self.action(made, learn.unit(plain), f"towards {len(good)} relevant, away from {len(bad)} others")


class Separate(Reweighing, frozen=True):
    """What tells the relevant from the others and from the rest of the collection: a linear classifier."""

    name: str = "separate"
    handles: frozenset[FailureType] = frozenset({FailureType.UNKNOWN})

    def candidates(self, state: Ranking, start: Mapping[str, float], level: float) -> Iterator[Reweight]:
        from looper.tasks.search import learn

        matrix, good, bad = self.task.collection.matrix, self.labelled(state, True), self.labelled(state, False)
        for trust in (1.0, 0.5, 0.25):
            made = learn.separate(matrix, self.vector(start), good, bad, trust)
            made = learn.largest(made, round(EXPANSION * (1 + level)))
            yield self.action(made, 0 * made, f"what tells {len(good)} relevant from {len(bad)} others")


# Words and reasons


def begin(task: "Relevance", words: Sequence[str]) -> dict[str, float]:
    """The weights to begin with: the words, and lighter the collection's own words near them; empty if it has none."""
    from looper.tasks.search import learn

    said = dict.fromkeys(task.collection.numbers(task.weights(words)).values(), 1.0)
    near = neighbours(task, words, NEAR)
    return named(task, learn.begin(task.collection.matrix, said, near, SHARE))


def neighbours(task: "Relevance", words: Sequence[str], count: int) -> dict[int, float]:
    """By number of the term: of how many of the words it is near."""
    found: dict[int, float] = {}
    for word in words:
        near = [term for other in task.collection.related(word, [], count) for term in task.collection.terms(other)]
        for number in task.collection.numbers(near).values():
            found[number] = found.get(number, 0.0) + 1.0
    return found


def named(task: "Relevance", vector: "Vector") -> dict[str, float]:
    """By term, relative to the largest, four digits."""
    top = abs(vector).max(initial=0.0) or 1.0
    kept = {number: round(float(vector[number] / top), 4) for number in vector.nonzero()[0].tolist()}
    return {task.collection.vocabulary[number][0]: weight for number, weight in kept.items() if weight}


def changes(task: "Relevance", gain: "Vector") -> str:
    """The words that gain and lose most, as a person reads them; stop words and numbers tell them nothing."""
    words = [(float(gain[number]), task.collection.vocabulary[number][1]) for number in gain.nonzero()[0].tolist()]
    told = sorted((-by, word) for by, word in words if word.isalpha() and word not in STOP)
    more = [f"+ {word}" for by, word in told[:NAMED] if by < 0]
    less = [f"- {word}" for by, word in told[: -NAMED - 1 : -1] if by > 0]
    return f": {', '.join([*more, *less])}" if more or less else ""


def policies(task: "Relevance") -> list[Reweighing]:
    """Of equal price; each has failures of its own."""
    return [Rephrase(task=task), Diversify(task=task), Rocchio(task=task), Separate(task=task)]
