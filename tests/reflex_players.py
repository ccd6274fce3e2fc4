"""A page that must hold certain words, its roles played by a script, and runs of it under reflex."""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, Field
from pydantic.dataclasses import dataclass as strict
from written_runs import Words

from looper.agents.simulated import Simulated
from looper.budget import Budget, Ledger
from looper.criteria import Criteria, Evaluation, Finding, Phase, Rule
from looper.errors import InvalidAnswer
from looper.execution import execute
from looper.journal import Event, Journal, read
from looper.launch import Audience, launch
from looper.loops.reflex import Reflex
from looper.parts import build
from looper.run import Run
from looper.stage import Stage
from looper.tasks.contracts import Changes, Confirmation, Critique, Draft, Steps, by_rules
from looper.tasks.environment import FailureType
from looper.types import STRICT, Outcome, Question, Reply, Signal

HELLO, NAME, BYE = "a.completeness.hello", "a.style.name", "b.style.bye"
RULES = {HELLO: ("fail", "hello"), NAME: ("warn", "Ann"), BYE: ("fail", "bye")}
"""By id: severity, and the word that the page must hold."""


class Sheet(BaseModel):
    """A state: the page in a phase, and the words that were prepared."""

    text: str
    phase: str = "A"
    words: dict[str, str] = {}


class Goal(BaseModel):
    """What every role may see."""

    goal: str
    rules: str


@strict(kw_only=True, config=STRICT)
class Page:
    """Write a page with the words that its rules want."""

    texts: list[str]
    """The page of the producer, then those of the refiner by iteration; the last one again."""
    rows: dict[str, Any] = Field(default_factory=lambda: dict(RULES))
    """By id: severity and word; without a word the rule has to be prepared."""
    thresholds: dict[str, float] = Field(default_factory=lambda: {"A": 0.6, "B": 0.9})
    words: list[dict[str, str]] = Field(default_factory=list)
    """What the preparer answers, one after the other, the last one again."""
    said: dict[str, Any] = Field(default_factory=dict)
    """Answers by step key, before all others; the text `invalid` stands for one that was given up."""
    slow: dict[str, float] = Field(default_factory=dict)
    """Seconds by step."""
    goal: str = "Write a page."
    recording: str | None = None
    prompts: dict[str, Any] = Field(default_factory=dict)
    roles: ClassVar[dict[str, str]] = {}

    def __post_init__(self) -> None:
        self.edit = Confirmation(decision="yes")
        self.prepared = 0

    @property
    def criteria(self) -> Criteria:
        rules = [
            Rule(id=name, severity=severity, phase=name[0].upper(), description=f"says {word}", check=word)
            for name, (severity, word) in self.rows.items()
            if name not in self.edit.leave_out
        ]
        wanted = self.thresholds | self.edit.thresholds
        return Criteria(rules=rules, phases=[Phase(name=name, threshold=value) for name, value in wanted.items()])

    def amend(self, word: Confirmation) -> None:
        self.edit = word

    def prepare(self) -> Goal:
        return Goal(goal=self.goal, rules=" ".join(rule.id for rule in self.criteria.rules))

    def answer(self, step: str) -> type[BaseModel]:
        return {"plan": Steps, "produce": Draft, "prepare_checks": Words, "act": Draft}[step]

    def observe(self, plan: Draft) -> Sheet:
        return Sheet(text=plan.text)

    def probes(self) -> list[Any]:
        return []

    def classify(self, state: Any, signals: Sequence[Signal]) -> FailureType:
        return FailureType.UNKNOWN

    def policies(self) -> list[Any]:
        return []

    def apply(self, state: Sheet, action: Draft) -> Sheet:
        return state.model_copy(update={"text": action.text})

    def quantity(self, action: Any) -> float:
        return 1.0

    def feedback(self, before: Any, after: Any) -> float:
        return 0.0

    def key(self, state: Sheet) -> str:
        return state.text

    def evaluate(self, state: Sheet) -> Evaluation:
        words = {name: word for name, (_, word) in self.rows.items() if word} | state.words
        found = {rule: Finding(passed=bool(word) and word in state.text) for rule, word in words.items()}
        return self.criteria.evaluate(found, state.phase)

    def notes(self, state: Sheet) -> dict[str, str]:
        return {rule: f"no {self.rows[rule][1]} in {state.text}" for rule in self.evaluate(state).failed}

    def conclude(self, state: Sheet, answer: Any) -> Sheet:
        return state

    def describe(self, state: Sheet) -> str:
        return f"{len(state.text)} characters"

    def render(self, state: Sheet) -> str:
        return state.text

    def parse(self, text: str) -> Sheet:
        return Sheet(text=text)

    def enter(self, state: Sheet, phase: str) -> Sheet:
        return state.model_copy(update={"phase": phase})

    def unprepared(self, phase: str) -> list[Rule]:
        return [rule for rule in self.criteria.rules if rule.phase == phase and not self.rows[rule.id][1]]

    def vacuous(self, prepared: Words) -> list[str]:
        return [rule for rule, word in prepared.words.items() if not word or rule not in self.rows]

    def equip(self, state: Sheet, prepared: Words) -> Sheet:
        return state.model_copy(update={"words": state.words | prepared.words})

    def changes(self, before: Sheet, after: Sheet, critique: Critique) -> Changes:
        changed = ["page"] if before.text != after.text else []
        return Changes(changed=changed, unnamed=[] if "page" in str(critique) else changed)

    # Who plays

    def policy(self, step: str) -> Callable[..., Any] | None:
        """Every role, for runs that are offline: the answers do not depend on who gives them."""
        return None if step == "prepare_checks" else lambda **context: self._plain(step, context)

    def simulate(self, question: Question, skill: float, dice: random.Random) -> BaseModel:
        time.sleep(self.slow.get(question.step, 0.0))
        told = self.said.get(question.key)
        if told == "invalid":
            raise InvalidAnswer(f"{question.key}: no answer", "phase_error")
        if told is not None:
            return question.returns.model_validate(told)
        if question.step == "prepare_checks":
            number = int(question.key.rpartition(".")[2])
            return Words(words=self.words[min(number, len(self.words)) - 1])
        return self._plain(question.step, question.context)

    def _plain(self, step: str, context: Mapping[str, Any]) -> BaseModel:
        if step == "plan":
            return Steps(steps=["write", "read"])
        if step == "critique":
            return by_rules(evaluation=context["evaluation"], notes=context["notes"])
        if step == "confirm":
            return Confirmation(decision="yes")
        number = 0 if step == "produce" else len(context["history"]) + 1
        return Draft(text=self.texts[min(number, len(self.texts) - 1)])


@dataclass
class Hall:
    """A simulated agent in every seat; keeps all questions."""

    asked: list[Question] = field(default_factory=list)
    kind: str = "simulated"

    def agent(self, role: str, step: str, task: Any) -> "Hall":
        return self

    def answer(self, question: Question) -> Reply:
        self.asked.append(question)
        return Simulated().answer(question)

    def heard(self, step: str) -> list[dict[str, Any]]:
        """Contexts of the questions of a step, in order."""
        return [question.context for question in self.asked if question.step == step]


@dataclass
class Played:
    """A run that was played in memory."""

    outcome: Outcome
    journal: Journal
    hall: Hall

    def events(self, name: str) -> list[Any]:
        """Payloads of the events of a name."""
        return [event.payload for event in self.journal.events if event.event == name]

    @property
    def scores(self) -> list[float]:
        return [verdict["score"] for verdict in self.events("evaluation_done")]


def play(task: Any, journal: Journal | None = None, *, budget: Budget | None = None, **settings: Any) -> Played:
    """A run in memory, without confirmation unless the settings say so."""
    loop, hall, journal = Reflex(**{"confirmation": False, **settings}), Hall(), journal or Journal()
    budget = budget or Budget(outer=None, inner=None)
    outcome = execute(loop, Run(Stage(task, hall, journal, Ledger(budget), events=loop.events)))
    return Played(outcome, journal, hall)


def page(*texts: str, **fields: Any) -> Page:
    return Page(texts=list(texts), **fields)


def settings(outputs: Path, task: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A configuration as plain data; `loop`, `model`, `agents`, `budget`, `confirm` can be given."""
    return {
        "task": {"_target_": "reflex_players.Page", **task},
        "loop": {"_target_": "looper.loops.reflex.Reflex", **more.pop("loop", {})},
        "budget": {"_target_": "looper.budget.Budget", "outer": None, "inner": None, **more.pop("budget", {})},
        "model": {"name": "simulated"}, "tracking": {}, "sandbox": {}, "outputs": str(outputs), "seed": 0,
        "confirm": "yes", **more,
    }  # fmt: skip


def start(
    path: Path,
    task: Mapping[str, Any],
    *,
    listeners: Sequence[Callable[[Event], None]] = (),
    answers: Mapping[str, str] | None = None,
    **more: Any,
) -> Outcome:
    """A run in the folder `path`, or the rest of it."""
    parts = build(settings(path.parent, task, **more), ["reflex_players"])
    return launch(parts, path, audience=Audience(listeners=listeners), answers=answers, sync=False)


def history(path: Path) -> list[Event]:
    return read(path / "history.jsonl").events
