"""The smallest task that is written by roles, and runs of it under reflex."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field
from pydantic.dataclasses import dataclass

from looper.criteria import Criteria, Evaluation, Finding, Phase, Rule
from looper.launch import Audience, launch
from looper.parts import Parts, build
from looper.tasks.contracts import Changes, Confirmation, Critique, Draft, Steps
from looper.tasks.environment import FailureType
from looper.types import STRICT, Outcome, Signal


class Memo(BaseModel):
    """The text so far, the phase it is judged in, and the words that rules look for."""

    text: str = ""
    phase: str = "A"
    words: dict[str, str] = {}


class Words(BaseModel):
    """PREPARE: the word that each rule looks for."""

    words: dict[str, str]


class Brief(BaseModel):
    """What every role may see."""

    goal: str


@dataclass(kw_only=True, config=STRICT)
class Writing:
    """Write a memo in which two words stand, one in each phase."""

    goal: str = "Write a memo."
    recording: str | None = None
    plans: bool = True
    """Whether the task has a policy that plans."""
    prompts: dict[str, Any] = Field(
        default_factory=lambda: {"produce": "Goal: {{ goal }}\n{{ plan | data('plan') }}\nWrite it."}
    )
    rules = (
        Rule(id="a.completeness.greeting", description="the memo greets", phase="A"),
        Rule(id="b.style.farewell", description="the memo ends well", phase="B", severity="warn"),
    )

    def __post_init__(self) -> None:
        self.edit = Confirmation(decision="yes")

    @property
    def criteria(self) -> Criteria:
        rules = [rule for rule in self.rules if rule.id not in self.edit.leave_out]
        phases = {"A": 0.8, "B": 0.9} | self.edit.thresholds
        return Criteria(rules=rules, phases=[Phase(name=name, threshold=value) for name, value in phases.items()])

    def amend(self, word: Confirmation) -> None:
        self.edit = word

    def prepare(self) -> Brief:
        return Brief(goal=self.goal)

    def answer(self, step: str) -> type[BaseModel]:
        return {"plan": Steps, "produce": Draft, "prepare_checks": Words, "act": Draft}[step]

    def observe(self, plan: Draft) -> Memo:
        return Memo(text=plan.text)

    def probes(self) -> list[Any]:
        return []

    def classify(self, state: Any, signals: Sequence[Signal]) -> FailureType:
        return FailureType.UNKNOWN

    def policies(self) -> list[Any]:
        return []

    def apply(self, state: Memo, action: Draft) -> Memo:
        return state.model_copy(update={"text": action.text})

    def quantity(self, action: Any) -> float:
        return 1.0

    def feedback(self, before: Any, after: Any) -> float:
        return 0.0

    def key(self, state: Memo) -> str:
        return state.text

    def evaluate(self, state: Memo) -> Evaluation:
        found = {rule: Finding(passed=bool(re.search(word, state.text))) for rule, word in state.words.items()}
        return self.criteria.evaluate(found, state.phase)

    def conclude(self, state: Memo, answer: Any) -> Memo:
        return state

    def describe(self, state: Memo) -> str:
        return state.text

    def render(self, state: Memo) -> str:
        return state.text

    def parse(self, text: str) -> Memo:
        return Memo(text=text)

    def policy(self, step: str) -> Callable[..., Any] | None:
        return (lambda **_: Steps(steps=["greet", "tell", "part"])) if step == "plan" and self.plans else None

    def enter(self, state: Memo, phase: str) -> Memo:
        return state.model_copy(update={"phase": phase})

    def unprepared(self, phase: str) -> list[Rule]:
        return [rule for rule in self.criteria.rules if rule.phase == phase]

    def vacuous(self, prepared: Words) -> list[str]:
        return [rule for rule, word in prepared.words.items() if re.search(word, "")]

    def equip(self, state: Memo, prepared: Words) -> Memo:
        return state.model_copy(update={"words": {**state.words, **prepared.words}})

    def changes(self, before: Memo, after: Memo, critique: Critique) -> Changes:
        return Changes(changed=["memo"] if before.text != after.text else [])


ANSWERS = {
    "iteration.1/parallel.1/produce/produce.1": {"text": "Hi all."},
    "iteration.1/parallel.1/prepare/prepare_checks.1": {"words": {"a.completeness.greeting": "hello"}},
    "iteration.1/critique.1": {
        "issues": [{"rule": "a.completeness.greeting", "problem": "no hello", "fix": "say hello"}]
    },
    "iteration.1/act.1": {"text": "hello all. bye"},
    "iteration.2/prepare_checks.1": {"words": {"b.style.farewell": "bye"}},
}  # fmt: skip
"""Answers that lead to the end, by step key; a failed evaluation, a critique and the switch to B are in it."""


def parts(outputs: Path, *, task: Mapping[str, Any] | None = None, **more: Any) -> Parts:
    """A run of the memo under reflex; `model`, `agents`, `confirm`, `record`, `loop_settings` can be given."""
    price = {"_target_": "looper.budget.Price"}
    prices = {step: price | {"outer": 2.0, "policy": price | {"inner": 0.1}} for step in ("produce", "act", "critique")}
    config = {
        "task": {"_target_": "written_runs.Writing", **(task or {})},
        "loop": {"_target_": "looper.loops.reflex.Reflex", **more.pop("loop_settings", {})},
        "budget": {"_target_": "looper.budget.Budget", "outer": 40.0, "prices": prices},
        "model": {"name": "offline"}, "tracking": {}, "sandbox": {}, "outputs": str(outputs), "seed": 0,
    }  # fmt: skip
    return build(config | more, ["written_runs"])


def write(
    path: Path, answers: Mapping[str, Any] | None = None, audience: Audience | None = None, **more: Any
) -> Outcome:
    """A run in the folder `path`, with answers of people by step key."""
    given = {key: value if isinstance(value, str) else json.dumps(value) for key, value in (answers or {}).items()}
    return launch(parts(path.parent, **more), path, audience=audience, answers=given, sync=False)


def by_hand(path: Path, **more: Any) -> Outcome:
    """The whole run, answered by people from `ANSWERS` whenever it waits."""
    outcome = write(path, **more)
    for _round in ANSWERS:
        if outcome.status != "paused":
            break
        asked = outcome.facts["waiting"]
        keys = [asked["key"], *(other["key"] for other in asked.get("others", []))]
        outcome = write(path, {key: ANSWERS[key] for key in keys}, **more)
    return outcome
