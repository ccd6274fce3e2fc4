"""search/relevance: find what answers a need, by labels of single hits at 0.05 units each (SPEC 7.1).

A label is a probe that a person, a model or the known answers give. Policies reweight the terms of the query by what
was labelled. The score counts on the residual only: labelled documents are taken out of the ranking and out of what is
relevant, so that nothing is paid for its own probes.
"""

import random
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, Field
from pydantic.dataclasses import dataclass

from looper.criteria import Criteria, Evaluation, Finding, Phase, Rule
from looper.errors import ConfigError
from looper.pages import data_of, with_data
from looper.tasks.environment import FailureType
from looper.tasks.search.exercise import Exercise
from looper.tasks.search.label import Labelling
from looper.tasks.search.residual import average_precision
from looper.tasks.search.reweigh import Begun, Reweighing, begin, policies, weights_key
from looper.tasks.search.states import (
    Answer,
    Label,
    NextWords,
    Ranking,
    Reweight,
    Reworded,
    Weighing,
    Words,
)  # fmt: skip
from looper.types import STRICT, Question, Signal

SHOWN = 30
"""Hits that a state keeps with their excerpts."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Relevance(Exercise):
    """Confirm enough relevant hits, with a ranking of the rest that is worth reading on."""

    labels: Annotated[int, Field(ge=1, le=20)] = 5
    """Hits that are labelled at each state."""
    most: Annotated[int, Field(ge=1, le=1000)] = 50
    """Labels in a run at most: a person's patience."""
    confirmed: Annotated[int, Field(ge=1, le=100)] = 5
    """Relevant hits that have to be labelled before the gate is met."""
    precision: Annotated[float, Field(ge=0, le=1)] = 0.4
    """Share of relevant ones among the latest labels that makes a state stable (SPEC 1.7)."""
    depth: Annotated[int, Field(ge=10, le=10_000)] = 200
    """Ranks that count for average precision."""

    later_on_ties: ClassVar[bool] = True  # of two states with the same labels confirmed, the later one knows more
    roles: ClassVar[dict[str, str]] = {"labeller": "says of single hits whether they answer the need"}

    @property
    def goal(self) -> str:
        return f"Find what answers the need: {self.words}"

    @property
    def criteria(self) -> Criteria:
        found = [
            Rule(id=f"a.completeness.confirmed-{n}", weight=1.0, description=f"{n} relevant hits are confirmed")
            for n in range(1, self.confirmed + 1)
        ]
        precise = Rule(
            id="a.correctness.precision", description=f"{self.precision:.0%} of the latest labels say relevant"
        )
        return Criteria(rules=[*found, precise], phases=[Phase(name="A", threshold=1.0)])

    def answer(self, step: str) -> type[BaseModel]:
        kinds: dict[str, type[BaseModel]] = {
            "plan": Words, "replan": NextWords, "evaluate": Answer, "decide": Weighing, "act": Reworded, "label": Label,
        }  # fmt: skip
        return kinds[step]

    # The environment

    def observe(self, plan: Words | None) -> Ranking:
        """The ranking by the planned words and those near them; without a plan by the words of the need alone."""
        weights = begin(self, plan.words) if plan else {}
        return self.ranked(weights or self.weights([self.words]), {}, [], "" if weights else "by the words of the need")

    def weights(self, words: Sequence[str]) -> dict[str, float]:
        """A weight of 1 for every term of some words that the collection has."""
        terms = [t for word in words for t in self.collection.terms(" ".join(self.backend.words(word)))]
        return dict.fromkeys((term for term in terms if self.collection.holds(term)), 1.0)

    def ranked(self, weights: dict[str, float], labels: dict[str, bool], rounds: list[list[str]], why: str) -> Ranking:
        hits = self.collection.rank(weights, labels.keys(), self.depth)
        return Ranking(
            weights=weights, labels=labels, rounds=rounds, hits=hits[:SHOWN], ranking=[hit.id for hit in hits],
            last=f"{why}{'; ' if why else ''}{len(hits)} ranked, {sum(labels.values())} of {len(labels)} labels good",
        )  # fmt: skip

    def probes(self) -> list[Any]:
        return [Labelling(place, self.most) for place in range(self.labels)]

    def absorb(self, state: Ranking, signals: Sequence[Signal]) -> Ranking:
        """The state with the labels that its probes brought."""
        new = {s.data["id"]: bool(s.data["relevant"]) for s in signals if "id" in s.data}
        if not new:
            return state
        left = [hit for hit in state.hits if hit.id not in new]
        return state.model_copy(
            update={
                "labels": {**state.labels, **new}, "rounds": [*state.rounds, list(new)], "hits": left,
                "ranking": [name for name in state.ranking if name not in new],
            }
        )  # fmt: skip

    def classify(self, state: Ranking, signals: Sequence[Signal]) -> FailureType:
        if not state.relevant:
            return FailureType.TOO_NARROW if len(state.labels) < 2 * self.labels else FailureType.NO_DATA
        if not state.hits:
            return FailureType.TOO_NARROW
        return FailureType.TOO_BROAD if state.precision < self.precision else FailureType.UNKNOWN

    def policies(self) -> list[Reweighing]:
        return policies(self)

    def quantity(self, action: Reweight) -> float:
        return 1.0

    def apply(self, state: Ranking, action: Reweight) -> Ranking:
        terms = {term: weight for term, weight in action.weights.items() if self.collection.holds(term)}
        for word in [word for word in action.weights if word not in terms]:  # a model speaks in words, not in terms
            terms |= dict.fromkeys(self.weights([word]), action.weights[word])
        return self.ranked(terms or state.weights, state.labels, state.rounds, action.why)

    def feedback(self, before: Ranking, after: Ranking) -> float:
        """How much better the latest labels were than those before them, -1 to 1."""
        shares = [sum(before.labels[name] for name in ids) / len(ids) for ids in before.rounds[-2:]]
        return shares[1] - shares[0] if len(shares) == 2 else 0.0

    def key(self, state: Ranking) -> str:
        return weights_key(state.weights)

    def evaluate(self, state: Ranking) -> Evaluation:
        count = len(state.relevant)
        found = {f"a.completeness.confirmed-{n}": Finding(passed=count >= n) for n in range(1, self.confirmed + 1)}
        share = f"{state.precision:.2f} of the latest labels"
        found["a.correctness.precision"] = Finding(
            passed=state.precision >= self.precision and bool(state.rounds), note=share
        )
        return self.criteria.evaluate(found)

    def conclude(self, state: Ranking, answer: Answer) -> Ranking:
        """The answer's order of the hits at hand counts; the rest of the ranking follows as it was."""
        settled, note = self.settled(self.offered(state), answer)
        first = [result.id for result in settled.results if result.id not in state.labels]
        ranking = [*first, *(name for name in state.ranking if name not in first)]
        return state.model_copy(update={"answer": settled, "ranking": ranking, "last": note or state.last})

    def offered(self, state: Ranking) -> list[Any]:
        """What an answer can name: the confirmed hits, then the ranking."""
        return [*(self.collection.hit(name) for name in state.relevant), *state.hits]

    def describe(self, state: Ranking) -> str:
        return state.last

    def render(self, state: Ranking) -> str:
        facts = {
            "collection": self.origin, "labelled": len(state.labels), "confirmed relevant": len(state.relevant),
            "terms": str(Reweight(weights=state.weights)).removeprefix("reweight: ").removesuffix(" ()"),
        }  # fmt: skip
        kept = state.model_dump(mode="json", exclude={"last"})
        page = self.page(self.offered(state), state.answer, facts)
        return with_data(page, kept)

    def parse(self, text: str) -> Ranking:
        try:
            return Ranking.model_validate_json(data_of(text))
        except ValueError as error:
            raise ConfigError(
                "artifact: this is no result of search/relevance; its JSON block is missing or broken."
            ) from error

    def holdout(self, artifact: str) -> Evaluation | None:
        """Average precision on the residual; None without known answers, or if every one of them was labelled."""
        if self.known is None:
            return None
        state = self.parse(artifact)
        # Patch releases of Python document a class more or less: what the collection lacks cannot be found in it.
        left = {name for name in self.known.relevant - state.labels.keys() if self.collection.has(name)}
        if not left:
            return None
        score = average_precision(state.ranking, left)
        return residual(score, len(left))

    # Deterministic fillers of the roles

    def policy(self, step: str) -> Callable[..., Any] | None:
        own: dict[str, Callable[..., Any]] = {
            "plan": lambda **_: Words(words=self.content, reason="the words of the need"),
            "replan": self._replan,
            "evaluate": lambda state, **_: self.explained(self.offered(state)[: self.high]),
            "decide": self._decide,
            "act": self._act,
        }
        if self.known is not None:
            own["label"] = self._known_answer
        return own.get(step)

    def _known_answer(self, *, hit: Any, **_: Any) -> Label:
        """What a person who knows the need would say: a simulation by the known answers, and said so."""
        assert self.known is not None
        return Label(relevant=hit.id in self.known.relevant, why="by the known answers (a simulated person)")

    def _replan(self, *, state: Ranking, **_: Any) -> NextWords:
        return NextWords(plan=None)

    def _decide(
        self, *, policy: str, state: Ranking, signals: Sequence[Signal], memory: Begun, level: float, **_: Any
    ) -> Weighing:
        chosen = next(p for p in self.policies() if p.name == policy)
        return Weighing(action=chosen.decide(state, signals, memory, level))

    def _act(self, *, state: Ranking, history: list[dict[str, Any]], **_: Any) -> Reworded:
        """One word of the need heavier after the other: a fixed order that uses no label."""
        place = len(history)
        words = list(self.weights([self.words]))
        if place >= len(words):
            return Reworded(done=True, why="every word of the need was stressed once")
        return Reworded(weights={**state.weights, words[place]: 2.0}, why=f"more weight for {words[place]}")

    @cached_property
    def vocabulary(self) -> list[str]:
        """Terms of the need and of what is related to them: where a random walk finds its words."""
        near = [other for word in self.content for other in [word, *self.backend.related(word, [], 8)]]
        return list(self.weights(near))

    def simulate(self, question: Question, skill: float, dice: random.Random) -> BaseModel:
        """With probability `skill` what the policy says; else random weights, or the wrong label. A simulation."""
        fn = self.policy(question.step)
        if fn is None:
            raise ConfigError(f"search/relevance has nobody who answers `{question.step}` for a need without answers.")
        value = fn(**question.context)
        if dice.random() < skill:
            return value
        if isinstance(value, Label):
            return Label(relevant=not value.relevant, why="a mistake (simulated)")
        if question.step not in ("decide", "act"):
            return value
        weights = {**question.context["state"].weights, dice.choice(self.vocabulary): dice.uniform(-1, 2)}
        if question.step == "act":
            return Reworded(weights=weights, why="at random")
        return Weighing(action=Reweight(weights=weights, why="at random"))


def residual(score: float, left: int) -> Evaluation:
    """A holdout score as an evaluation: average precision has no gate of its own."""
    return Evaluation(
        phase="residual", score=score, threshold=0.0, passed=True, failed=[], blockers=[], warnings=[],
        passed_rules=left, total_rules=left,
    )  # fmt: skip
