"""A simulated writer of programs: it knows the official solution. For sweeps and tests, never for results."""

import random
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from looper.errors import ConfigError
from looper.tasks.code.problems import Row
from looper.tasks.code.states import NewPlan, Plan, Prepared
from looper.tasks.contracts import Draft, by_rules
from looper.tasks.document.states import Revision
from looper.types import Question


class Playing:
    """Answers of every role, good with probability `skill`."""

    def __init__(self, row: Row, policy: Callable[[str], Callable[..., Any] | None]):
        self.row, self.policy = row, policy

    def answer(self, question: Question, skill: float, dice: random.Random) -> BaseModel:
        context, step = question.context, question.step
        if step == "plan":
            return Plan(steps=["write the function"], draft=self.program(skill, dice))
        if step == "produce":
            return Draft(text=self.program(skill, dice))
        if step in ("act", "write"):
            return Revision(text=self.program(skill, dice), why="written anew (simulated)")
        if step == "critique":
            return by_rules(**{name: context[name] for name in ("evaluation", "notes", "regressions")})
        if step in ("replan", "prepare_checks"):
            return NewPlan(plan=None) if step == "replan" else Prepared()
        fn = self.policy(step)
        if fn is None:
            raise ConfigError(f"a program has nobody who plays `{step}`.")
        return fn(**context)

    def program(self, skill: float, dice: random.Random) -> str:
        """The official solution, or a program that returns a number thrown by dice."""
        if dice.random() < skill:
            return self.row.prompt + self.row.canonical_solution
        return f"{self.row.prompt.rstrip()}\n    return {dice.randrange(10_000)}\n"
