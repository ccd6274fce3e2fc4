"""What reflex is without one of its roles, and what those who know the truth would say in it, for ablations."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, get_origin

from pydantic import BaseModel, Field

from looper.tasks.contracts import Critique, Issue, by_rules, written
from looper.tasks.environment import Task
from looper.types import Question

SPARE = {"planner": ("plan",), "preparer": ("prepare_checks",), "critic": ("critique",)}
"""Roles that a run could do without, with what they are asked."""
NEEDED = {
    "assessor": "it writes the gate that runs are measured by", "owner": "it only confirms the setup",
    "producer": "it writes the artifact", "refiner": "without it nothing changes after the first draft",
}  # fmt: skip
"""The others, and why."""
MOST_STEPS, LONGEST = 5, 500
"""Steps of a plan at most, and characters of one (looper.tasks.contracts)."""


class NoCritique(Critique):
    """What a critic who is left out says: nothing."""

    issues: list[Issue] = Field(default=[], max_length=0)


def nothing(kind: Any) -> BaseModel:
    """An answer of this kind in which whatever must be given is empty."""
    needed = {name: info.annotation for name, info in kind.model_fields.items() if info.is_required()}
    return kind(**{name: (get_origin(annotation) or annotation)() for name, annotation in needed.items()})


WITHOUT: dict[str, Callable[[Question], BaseModel]] = {
    "plan": lambda question: question.returns(steps=["do what is wanted"]),
    "critique": lambda _: NoCritique(),
    "prepare_checks": lambda question: nothing(question.returns),
}
"""By step: the refiner sees the findings in place of a critique; rules for which nobody wrote checks go to a judge."""


def true_plan(question: Question, _dice: random.Random) -> BaseModel:
    """The failures as the checks told them; before there are any, what the rules want."""
    failures = question.context["failures"]
    told = failures or [rule.description or rule.id for rule in question.task.criteria.rules]
    return question.returns(steps=[" ".join(text.split())[:LONGEST] for text in told[:MOST_STEPS]])


def true_critique(question: Question, _dice: random.Random) -> BaseModel:
    """Every failed rule with the note of its check."""
    return by_rules(**{name: question.context[name] for name in ("evaluation", "notes", "regressions")})


ORACLES: dict[str, Callable[[Question, random.Random], BaseModel]] = {"plan": true_plan, "critique": true_critique}


def rules_in(question: Question) -> list[str]:
    """Ids of the rules that an answer may be about: those that need checks, if there are several, else all."""
    given: Any = question.context.get("rules")
    rules = given if isinstance(given, list) and len(given) > 1 else question.task.criteria.rules
    return [rule.id for rule in rules]


class Spared:
    """What reflex says of its roles to whoever ablates one (looper.agents.ablated)."""

    needed: ClassVar[Mapping[str, str]] = NEEDED
    redrawn: ClassVar[Mapping[str, Sequence[Any]]] = {}

    def spare(self, task: Task) -> Mapping[str, Sequence[str]]:
        """Roles that a run on this task could do without; where nobody writes, the plan is where the work begins."""
        return SPARE if written(task) else {}

    def without(self, step: str) -> Callable[[Question], BaseModel]:
        """An answer that says nothing."""
        return WITHOUT[step]

    def oracle(self, step: str, task: Task) -> Callable[[Question, random.Random], BaseModel] | None:
        """What the checks say, to the letter; nobody knows the right checks."""
        return ORACLES.get(step)

    def names(self, question: Question, answer: BaseModel) -> list[str]:
        """Ids of the rules that an answer may be about."""
        return rules_in(question)
