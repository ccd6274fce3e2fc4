"""search/band: steer a query until the number of its hits lies in a range. An exercise in control, never called
relevance: on real collections, reaching the range changed the precision by nothing (SPEC 7.1).
"""

import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

from pydantic import BaseModel
from pydantic.dataclasses import dataclass

from looper.criteria import Criteria, Evaluation, Phase, Rule
from looper.errors import ConfigError
from looper.pages import data_of, with_data
from looper.tasks.environment import FailureType
from looper.tasks.search import readings, steer
from looper.tasks.search.exercise import Exercise, listed, said
from looper.tasks.search.query import Query
from looper.tasks.search.states import Answer, Change, Decision, Move, Plan, Replan, Results, Trail
from looper.tasks.search.workshop import Workshop
from looper.types import STRICT, Question, Signal

SEEN = 300
"""Ids of earlier hits that a state remembers."""
RANDOM_OF_KIND = 8
"""Candidates of each kind that a random walk chooses from."""
NEAR = (3.0, 10.0)
"""Factors around the range that count as nearer: of the states that missed it the best is the nearest by these."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Band(Exercise):
    """Reach the range; scored by steps and units to the range."""

    @property
    def goal(self) -> str:
        return f"Find a query whose hits can be read, {self.low} to {self.high} of them, for: {self.words}"

    @property
    def criteria(self) -> Criteria:
        return Criteria(
            rules=[
                Rule(id="a.correctness.range", description=f"{self.low} to {self.high} hits"),
                *(
                    Rule(id=f"a.quality.near-{factor:g}", severity="warn", description=f"within {factor:g} times of it")
                    for factor in NEAR
                ),
            ],
            phases=[Phase(name="A", threshold=1.0)],
        )

    def answer(self, step: str) -> type[BaseModel]:
        return {"plan": Plan, "replan": Replan, "evaluate": Answer, "decide": Decision, "act": Move}[step]

    # The environment

    def observe(self, plan: Plan | None) -> Results:
        """What the planned query finds; without a plan, what no query finds: nothing."""
        if plan is None:
            return Results(query=Query(), total=0, last="no query yet")
        return self.results(plan.query)

    def results(self, wanted: Query, before: Results | None = None) -> Results:
        query, found, note = self.asked(wanted, self.high)
        seen = [*before.seen, *(hit.id for hit in before.hits)] if before else []
        note = said(note, found.note)
        return Results(
            query=query, total=found.total, hits=found.hits, before=before.total if before else None,
            seen=list(dict.fromkeys(seen))[-SEEN:], waited=found.waited,
            last=f"{query}: {found.total} hit{'' if found.total == 1 else 's'}{f' ({note})' if note else ''}",
        )  # fmt: skip

    @property
    def workshop(self) -> Workshop:
        """What designs of several members need besides."""
        return Workshop(self)

    def probes(self) -> list[Any]:
        return [readings.Count(self.low, self.high), readings.Spread(), readings.Drop(), readings.Overlap()]

    def classify(self, state: Results, signals: Sequence[Signal]) -> FailureType:
        if state.total == 0:
            return FailureType.NO_DATA
        if state.total < self.low:
            return FailureType.TOO_NARROW
        return FailureType.TOO_BROAD if state.total > self.high else FailureType.UNKNOWN

    def policies(self) -> list[steer.Steered]:
        return steer.policies(self.moves, self.low, self.high)

    def quantity(self, action: Change) -> float:
        return 1.0

    def apply(self, state: Results, action: Change) -> Results:
        return self.results(action.query, before=state)

    def feedback(self, before: Results, after: Results) -> float:
        """Progress of the distance to the range, on a logarithmic scale: halving a count weighs as much anywhere."""
        was, now = self.distance(before.total), self.distance(after.total)
        return max(-1.0, min(1.0, (was - now) / max(was, now, 1e-9)))

    def distance(self, total: int) -> float:
        """0 in the range; else the logarithm of the factor by which it is missed."""
        inside = min(max(total, self.low), self.high)
        return abs(math.log((total + 0.5) / (inside + 0.5)))

    def key(self, state: Results) -> str:
        return state.query.key()

    def evaluate(self, state: Results) -> Evaluation:
        found = {"a.correctness.range": self.low <= state.total <= self.high}
        for factor in NEAR:
            found[f"a.quality.near-{factor:g}"] = self.low / factor <= state.total <= self.high * factor
        return self.criteria.evaluate(found)

    def conclude(self, state: Results, answer: Answer) -> Results:
        settled, note = self.settled(state.hits, answer)
        return state.model_copy(update={"answer": settled, "last": note or state.last})

    def describe(self, state: Results) -> str:
        return state.last

    def render(self, state: Results) -> str:
        facts = {"query": str(state.query), "hits": state.total, "collection": self.origin}
        if self.unheard:
            facts["not in the collection"] = listed(self.unheard)
        kept = state.model_dump(mode="json", include={"query", "total", "hits", "answer", "last"})
        return with_data(self.page(state.hits, state.answer, facts), kept)

    def parse(self, text: str) -> Results:
        try:
            return Results.model_validate_json(data_of(text))
        except ValueError as error:
            raise ConfigError(
                "artifact: this is no result of search/band; its JSON block is missing or broken."
            ) from error

    def files(self, artifact: str) -> Mapping[str, str]:
        """The hits as documents of a collection, to be searched further with search/relevance."""
        state = self.parse(artifact)
        rows = [{"id": h.id, "name": h.title, "text": h.excerpt or h.title, **h.fields} for h in state.hits]
        return {"hits.jsonl": "".join(json.dumps(row) + "\n" for row in rows)}

    # Deterministic fillers of the roles

    def policy(self, step: str) -> Callable[..., Any] | None:
        own: dict[str, Callable[..., Any]] = {
            "plan": self.planned,
            "replan": self._replan,
            "evaluate": lambda state, **_: self.explained(state.hits),
            "decide": self._decide,
            "act": self._act,
        }
        return own.get(step)

    def _replan(self, *, state: Results, history: Sequence[Mapping[str, Any]], **_: Any) -> Replan:
        """The word of the need that most documents have and that was not asked for alone, if there is one."""
        asked = [state.last, *(entry["state"] for entry in history)]
        for word in reversed(self.moves.rarest(self.content)):
            plan = Plan(keywords=[word], reason=f"anew from {word}")
            if not asked_before(plan.query, asked):
                return Replan(plan=plan)
        return Replan(plan=None)

    def _decide(
        self, *, policy: str, state: Results, signals: Sequence[Signal], memory: Trail, level: float, **_: Any
    ) -> Decision:
        chosen = next(p for p in self.policies() if p.name == policy)
        return Decision(action=chosen.decide(state, signals, memory, level))

    def _act(self, *, state: Results, history: list[dict[str, Any]], **_: Any) -> Move:
        """The words of the need, then a word or alternatives more or fewer a step, none twice: no bisection."""
        if not state.query.keywords:
            return Move(kind="rephrase", query=Query(keywords=self.content), why="the words of the need")
        steering = steer.Steering(low=self.low, high=self.high)
        options = self.moves.broader if state.total < self.low else self.moves.narrower
        asked = [entry["result"] for entry in history]
        new = (c for c in options(state, steering) if self.moves.fits(c.query) and not asked_before(c.query, asked))
        change = next(new, None)
        return Move(done=True, why="nothing left") if change is None else Move(**change.model_dump())

    def simulate(self, question: Question, skill: float, dice: random.Random) -> BaseModel:
        """With probability `skill` what the policy says, else an action of the same kinds at random. A simulation."""
        fn = self.policy(question.step)
        if fn is None:
            raise ConfigError(f"search/band has nobody who answers `{question.step}`.")
        if question.step not in ("decide", "act") or dice.random() < skill:
            return fn(**question.context)
        context = question.context
        tried = context["memory"].tried if "memory" in context else []
        change = self.random_change(context["state"], tried, dice)
        if question.step == "act":
            return Move(**change.model_dump()) if change else Move(done=True)
        return Decision(action=change)

    def random_change(self, state: Results, tried: Sequence[str], dice: random.Random) -> Change | None:
        """One of the changes that the policies know, whatever the signals say; none to what was tried."""
        if not state.query.keywords:
            return Change(kind="rephrase", query=Query(keywords=self.content), why="at random")
        steering = steer.Steering(low=self.low, high=self.high, level=dice.uniform(0, 3))
        kinds = [self.moves.broader, self.moves.narrower, self.moves.rephrased]
        options = [
            change
            for kind in kinds
            for change in islice(kind(state, steering), RANDOM_OF_KIND)
            if self.moves.fits(change.query) and change.query.key() not in tried
        ]
        return dice.choice(options) if options else None


def asked_before(query: Query, told: Sequence[str]) -> bool:
    """Whether one of the states that a history tells of (`Band.describe`) is that of this query."""
    return any(line.startswith(f"{query}: ") for line in told)
