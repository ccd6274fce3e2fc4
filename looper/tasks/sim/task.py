"""sim: an artificial task with planted truth (SPEC 7.4), for proving the laboratory and for planning a sweep.

An artifact is a code for each rule; drafts, changes, critiques and verdicts are thrown by the planted odds, whatever
design asks for them. Difficulty differs by instance. A simulation, and labelled so wherever it is shown.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, Field, PositiveInt, model_validator
from pydantic.dataclasses import dataclass

from looper.criteria import Criteria, Evaluation, Finding, Phase, Rule
from looper.tasks.contracts import Changes, Critique, Draft
from looper.tasks.environment import FailureType
from looper.tasks.sim import outer
from looper.tasks.sim.playing import Player, named_in, rendered
from looper.tasks.sim.reading import JUDGE, Judged, Measured, NextRule
from looper.tasks.sim.states import (
    Brief,
    Change,
    Decision,
    Handed,
    Judgement,
    NewPlan,
    Piece,
    Plan,
    Unprepared,
    WorkOn,
)
from looper.tasks.sim.truth import CODE, LINE, Odds, Planted, Row, difficulty, meets, meets_hidden, shifted
from looper.types import STRICT, Question, Signal

Count = Annotated[int, Field(ge=0, le=99)]
ANSWERS: dict[str, type[BaseModel]] = {
    "plan": Plan, "replan": NewPlan, "evaluate": Handed, "decide": Decision, "act": Change, "write": Change,
    "produce": Draft, "prepare_checks": Unprepared, "critique": Critique, "judge": Judgement,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Sim:
    """Write an artifact whose rules are met by luck, of known odds."""

    instance: PositiveInt = 1
    """Which instance of the family, from 1; each has its own difficulty and its own truth about codes."""
    rules: Annotated[int, Field(ge=1, le=99)] = 6
    """Rules of the gate, each with a hidden twin."""
    warnings: Count = 2
    """How many of them, the last ones, only warn (weight 1); the others block (weight 2)."""
    later: Count = 0
    """How many, the last ones, belong to phase B; 0: one phase, so that scores of all designs are on one footing."""
    judged: Count = 1
    """How many, the last ones, a judge decides; the others are measured without error."""
    thresholds: dict[str, Annotated[float, Field(ge=0, le=1)]] = Field(default_factory=lambda: {"A": 0.8, "B": 0.9})
    """Score needed by phase (document 003)."""
    truth: Planted = Field(default_factory=Planted)
    """What is planted."""
    spread: Annotated[float, Field(ge=0, le=10)] = 0.8
    """How much instances differ: standard deviation of `satisfy`, `repair`, `unnamed` in log-odds. 0: all alike."""
    rows: list[Row] = Field(default_factory=list)
    """Rules that differ from the others."""
    seed: Annotated[int, Field(ge=0)] = 0
    """The dice of the task's own policies (model=offline); simulated roles have those of the run."""

    roles: ClassVar[dict[str, str]] = {"judge": "decides rules that cannot be measured", "writer": "edits"}
    prose: ClassVar[bool] = False
    plays: ClassVar[tuple[str, ...]] = ("ideal", "assess")
    """Questions of an outer loop that are answered by the planted truth."""
    goal: ClassVar[str] = "Meet every rule of an artificial task (a simulation)."
    origin: ClassVar[str] = "a simulation with planted truth: it shows the loop, and nothing of any model"

    @model_validator(mode="after")
    def _within(self) -> "Sim":
        for name in ("warnings", "later", "judged"):
            if getattr(self, name) > self.rules:
                raise ValueError(f"{name}={getattr(self, name)} is more than rules={self.rules}")
        if strange := [row.rule for row in self.rows if row.rule > self.rules]:
            raise ValueError(f"rows: there is no rule {strange[0]}, only {self.rules}")
        if self.later and "B" not in self.thresholds:
            raise ValueError("thresholds: phase B has rules and no threshold")
        if "A" not in self.thresholds:
            raise ValueError("thresholds: phase A has no threshold")
        return self

    @property
    def alias(self) -> str:
        return f"sim-{self.instance}"

    @cached_property
    def numbered(self) -> dict[str, Row]:
        """The row of each rule by id, whatever differs for it."""
        rows = {row.rule: row for row in self.rows}
        first = self.rules - self.later
        return {
            f"{'a' if n <= first else 'b'}.correctness.r{n:02}": rows.get(n, Row(rule=n))
            for n in range(1, self.rules + 1)
        }

    @cached_property
    def criteria(self) -> Criteria:
        """The gate."""
        phases = [Phase(name="A", threshold=self.thresholds["A"])]
        phases += [Phase(name="B", threshold=self.thresholds["B"])] if self.later else []
        rules = [self._rule(name, row) for name, row in self.numbered.items()]
        return Criteria(rules=rules, phases=phases)

    def _rule(self, name: str, row: Row) -> Rule:
        severity = row.severity or ("warn" if row.rule > self.rules - self.warnings else "fail")
        known: dict[str, Any] = {"severity": severity, "phase": name[0].upper(), "check": "judge" if name in self.judges
                                 else "code"}  # fmt: skip
        return Rule.model_validate({"id": name, "description": f"rule {row.rule}", "weight": row.weight, **known})

    @cached_property
    def judges(self) -> list[str]:
        """Ids of rules that a judge decides."""
        late = self.rules - self.judged
        return [name for name, row in self.numbered.items() if (row.rule > late if row.judged is None else row.judged)]

    @cached_property
    def odds(self) -> dict[str, Odds]:
        """By rule: what roles of full skill do in this instance."""
        shift = difficulty(self.instance, self.spread)
        return {name: self._odds(row, shift) for name, row in self.numbered.items()}

    def _odds(self, row: Row, shift: float) -> Odds:
        given = {name: getattr(row, name) for name in ("satisfy", "repair", "unnamed", "damage")}
        base = {name: getattr(self.truth, name) if own is None else own for name, own in given.items()}
        moved = {name: shifted(base[name], shift) for name in ("satisfy", "repair", "unnamed")}
        return Odds(**moved, damage=base["damage"])

    @property
    def accuracy(self) -> Mapping[str, float]:
        """By step of a design's own roles: what is left of their skill here."""
        return {"diagnose": self.truth.diagnosis, "tasks": self.truth.planning}

    def active(self, state: Piece) -> list[str]:
        """Ids of the rules of the state's phase."""
        return [rule.id for rule in self.criteria.active(state.phase)]

    # The environment

    def prepare(self) -> Brief:
        return Brief(goal=self.goal, rules="\n".join(f"{r.id} ({r.severity})" for r in self.criteria.rules))

    def answer(self, step: str) -> type[BaseModel]:
        return ANSWERS[step]

    def observe(self, plan: Plan | Draft | None) -> Piece:
        """The artifact of a plan or a producer, else an empty one; judged by all phases."""
        text = plan.text if isinstance(plan, Draft) else plan.draft if plan else ""
        return self.parse(text)

    def probes(self) -> list[Any]:
        return [Measured(self), *(Judged(self, rule) for rule in self.judges)]

    def absorb(self, state: Piece, signals: Sequence[Signal]) -> Piece:
        """The state with what checks and judges found."""
        found = {
            signal.name: {rule: Finding.model_validate(one) for rule, one in signal.data.items()} for signal in signals
        }
        said = [part for name, part in found.items() if name.startswith(JUDGE)]
        verdicts = {rule: one for part in (state.verdicts, *said) for rule, one in part.items()}
        measured = {rule: one for part in found.values() for rule, one in part.items() if rule not in self.judges}
        return state.model_copy(update={"findings": {**measured, **verdicts}, "verdicts": verdicts})

    def classify(self, state: Piece, signals: Sequence[Signal]) -> FailureType:
        return FailureType.UNKNOWN if state.parts else FailureType.NO_DATA

    def policies(self) -> list[NextRule]:
        return [NextRule(self)]

    def work(self, state: Piece, action: WorkOn) -> dict[str, Any]:
        """What the writer is asked when the policy has chosen a rule."""
        return {"state": state, "rule": action.rule}

    def apply(self, state: Piece, action: Change) -> Piece:
        """The artifact after a change; what is said about the codes that stay is kept."""
        codes = {rule: code for rule, code in action.codes.items() if rule in self.odds and CODE.fullmatch(code)}
        parts = {rule: code for rule in self.odds if (code := codes.get(rule) or state.parts.get(rule))}
        kept = {rule: one for rule, one in state.verdicts.items() if parts.get(rule) == state.parts.get(rule)}
        last = f"{', '.join(sorted(codes)) or 'nothing'} changed"
        return state.model_copy(update={"parts": parts, "findings": {}, "verdicts": kept, "last": last})

    def quantity(self, action: Any) -> float:
        return 1.0

    def feedback(self, before: Piece, after: Piece) -> float:
        """The change in the share of measured rules that are met."""
        measured = [rule for rule in self.odds if rule not in self.judges]
        counts = [sum(meets(self.instance, r, state.parts.get(r)) for r in measured) for state in (before, after)]
        return (counts[1] - counts[0]) / max(1, len(measured))

    def key(self, state: Piece) -> str:
        return f"{state.phase}\n{self.render(state)}"

    def evaluate(self, state: Piece) -> Evaluation:
        return self.criteria.evaluate(state.findings, state.phase)

    def notes(self, state: Piece) -> dict[str, str]:
        """What was said of the rules that failed."""
        return {rule: one.note for rule, one in state.findings.items() if not one.passed}

    def conclude(self, state: Piece, answer: Handed) -> Piece:
        return state

    def describe(self, state: Piece) -> str:
        return state.last

    def render(self, state: Piece) -> str:
        return rendered(state.parts)

    def parse(self, text: str) -> Piece:
        """Lines `rule: code`; others are passed over, and of two lines for a rule the last one counts."""
        lines = dict(LINE.findall(text))
        parts = {rule: lines[rule] for rule in self.odds if rule in lines}
        state = Piece(parts=parts, phase=self.criteria.phases[-1].name, last=f"{len(parts)} codes")
        return self.absorb(state, [Measured(self).test(state)])

    def holdout(self, artifact: str) -> Evaluation:
        """The hidden twins' verdict on the final artifact: share of their weight, passed if all that block are met."""
        parts = self.parse(artifact).parts
        rules = [rule.model_copy(update={"phase": "A"}) for rule in self.criteria.rules]
        hidden = Criteria(rules=rules, phases=[Phase(name="A", threshold=self.criteria.phases[-1].threshold)])
        return hidden.evaluate(
            {rule: meets_hidden(self.instance, rule, parts.get(rule), self.truth) for rule in self.odds}
        )

    # What document 003's phases need (looper.tasks.contracts.Written)

    def enter(self, state: Piece, phase: str) -> Piece:
        return state.model_copy(update={"phase": phase, "findings": {}})

    def unprepared(self, phase: str) -> list[Rule]:
        return []

    def vacuous(self, prepared: Unprepared) -> list[str]:
        return []

    def equip(self, state: Piece, prepared: Unprepared) -> Piece:
        return state

    def changes(self, before: Piece, after: Piece, critique: Critique) -> Changes:
        names = [rule for rule in self.odds if before.parts.get(rule) != after.parts.get(rule)]
        named = named_in({"critique": critique}, self.odds)
        return Changes(changed=names, unnamed=[rule for rule in names if rule not in named])

    # Fillers of the roles

    def policy(self, step: str) -> Callable[..., BaseModel] | None:
        """The planted odds without a model: the dice belong to the task's seed and what is asked."""
        return partial(self._offline, step) if step in ANSWERS else None

    def _offline(self, step: str, **context: Any) -> BaseModel:
        state = context.get("state")
        seen = [self.render(state) if state else "", context.get("rule"), context.get("code"), context.get("history")]
        told = getattr(context.get("critique"), "issues", "")
        dice = random.Random(f"{self.seed}/{self.instance}/{step}/{seen}/{told}")
        return Player(self, 1.0, dice).answer(step, context)

    def simulate(self, question: Question, skill: float, dice: random.Random) -> BaseModel:
        """A role of a given skill. A simulation."""
        if question.step == "ideal":
            return question.returns.model_validate(outer.ideal(self, skill, dice))
        if question.step == "assess":
            rows, artifact = question.context["criteria"], question.context["artifact"]
            return question.returns.model_validate(outer.assess(self, rows, artifact, skill, dice))
        return Player(self, skill, dice).answer(question.step, question.context)
