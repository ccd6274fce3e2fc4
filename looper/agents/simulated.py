import random
from typing import Annotated, Any, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from looper.errors import ConfigError
from looper.types import STRICT, Call, Question, Reply


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Simulated:
    """A role of a given skill, played by the task. A simulation, and labelled so wherever it is shown.

    The dice are seeded by the question's key, so that neither threads nor a resume change a throw.
    """

    skill: Annotated[float, Field(ge=0, le=1)] = 0.6
    """Probability of a good answer, 0 to 1; what is good is the task's business."""
    latency: Annotated[float, Field(ge=0, le=60)] = 0.0
    """Seconds that an answer takes."""
    tokens: Annotated[int, Field(ge=0)] = 0
    """Tokens that an answer pretends to have cost."""
    kind: ClassVar[str] = "simulated"

    def answer(self, question: Question, design: Any = None) -> Reply:
        """The answer of the design, for questions of its own, else of the task."""
        dice = random.Random(f"{question.seed}/{question.key}")
        own = getattr(design, "simulate", None)
        value = own(question, self.skill, dice) if own else None
        if value is None:
            value = self._played(question, dice)
        if self.latency:
            _pause(self.latency)
        return Reply(value=value, calls=[Call(tokens_out=self.tokens)] if self.tokens else [], by="simulated")

    def _played(self, question: Question, dice: random.Random) -> Any:
        play = getattr(question.task, "simulate", None)
        if play is None:
            raise ConfigError(f"{question.role}: this task cannot be simulated; choose another model=...")
        return play(question, self.skill, dice)


@dataclass
class Player:
    """A simulated role in a run of a design."""

    how: Simulated
    design: Any
    kind: ClassVar[str] = "simulated"

    def answer(self, question: Question) -> Reply:
        return self.how.answer(question, self.design)


def _pause(seconds: float) -> None:
    import time

    time.sleep(seconds)
