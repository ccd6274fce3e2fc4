import random
from typing import Annotated, ClassVar

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

    def answer(self, question: Question) -> Reply:
        play = getattr(question.task, "simulate", None)
        if play is None:
            raise ConfigError(f"{question.role}: this task cannot be simulated; choose another model=...")
        dice = random.Random(f"{question.seed}/{question.key}")
        value = play(question, self.skill, dice)
        if self.latency:
            _pause(self.latency)
        return Reply(value=value, calls=[Call(tokens_out=self.tokens)] if self.tokens else [], by="simulated")


def _pause(seconds: float) -> None:
    import time

    time.sleep(seconds)
