"""What reflex is without one of its roles, and what those who know the truth would say in it, for ablations."""

import random
from collections.abc import Callable
from typing import Any, get_origin

from pydantic import BaseModel, Field

from looper.tasks.contracts import Critique, Issue, by_rules
from looper.types import Question

SPARE = ("planner", "preparer", "critic")
"""Roles that a run could do without."""
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
