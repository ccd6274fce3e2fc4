"""A simulated writer: it knows a reference and leaves parts of it out. For sweeps and tests, never for results."""

import random
from typing import Any

from pydantic import BaseModel

from looper.errors import ConfigError
from looper.tasks.contracts import Draft, by_rules
from looper.tasks.document.sections import TOP, sections
from looper.tasks.document.states import Artifact, Judgement, NewPlan, Plan, Prepared, Revision
from looper.types import Question


class Playing:
    """Answers of every role, good with probability `skill`."""

    def __init__(self, reference: str, task: Any):
        self.parts, self.task = sections(reference), task

    def answer(self, question: Question, skill: float, dice: random.Random) -> BaseModel:
        context = question.context
        if question.step == "plan":
            return Plan(steps=["write what is asked for"], draft=self.draft(skill, dice))
        if question.step == "produce":
            return Draft(text=self.draft(skill, dice))
        if question.step in ("act", "write"):
            return self.revision(context["state"], skill, dice)
        if question.step == "critique":
            return by_rules(**{name: context[name] for name in ("evaluation", "notes", "regressions")})
        if question.step == "judge":
            return Judgement(
                nonce=context["nonce"], score=1.0 if dice.random() < skill else 0.0, reason="thrown by dice"
            )
        return self.rest(question)

    def rest(self, question: Question) -> BaseModel:
        if question.step == "replan":
            return NewPlan(plan=None)
        if question.step == "prepare_checks":
            return Prepared(checks=[])
        fn = self.task.policy(question.step)
        if fn is None:
            raise ConfigError(f"a document has nobody who plays `{question.step}`.")
        return fn(**question.context)

    def draft(self, skill: float, dice: random.Random) -> str:
        """The reference with each part left out with probability 1 - skill."""
        kept = [text for name, text in self.parts.items() if name == TOP or dice.random() < skill]
        return "\n\n".join(kept) or "(nothing yet)"

    def revision(self, state: Artifact, skill: float, dice: random.Random) -> Revision:
        """One missing part put back with probability `skill`, else a remark that helps nobody."""
        missing = [name for name in self.parts if name not in sections(state.text)]
        if dice.random() >= skill or not missing:
            return Revision(text=f"{state.text}\n\nNote {dice.randrange(10_000)}.", why="a remark (simulated)")
        name = dice.choice(missing)
        known = {**sections(state.text), name: self.parts[name]}
        order = [part for part in self.parts if part in known] + [part for part in known if part not in self.parts]
        return Revision(text="\n\n".join(known[part] for part in order), why=f"put back {name} (simulated)")
