"""A role of a given skill, played by the task or the design, at a planted cost. A simulation."""

import math
import random
from contextlib import nullcontext
from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from looper.agents.prices import Price, worst
from looper.errors import ConfigError, InvalidAnswer
from looper.types import STRICT, Call, Question, Reply, Usage

Share = Annotated[float, Field(ge=0, le=1)]
FAULT, INVALID = "server_error", "invalid"
"""How a planted fault of the transport, and an answer that is none, are called (SAFETY, model calls)."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Simulated:
    """A role of a given skill, played by the task. A simulation, and labelled so wherever it is shown.

    The dice are seeded by the run's seed, the task's name and the question's key, so that neither threads nor a resume
    change a throw.
    With tokens each call is reserved, journalled and settled as a model's is (SPEC 0.5); without, an answer costs units
    alone.
    """

    skill: Share = 0.6
    """Probability of a good answer, 0 to 1; what is good is the task's business."""
    latency: Annotated[float, Field(ge=0, le=60)] = 0.0
    """Seconds that a call takes."""
    sleeps: bool = True
    """Whether these seconds are waited for, or only written into the call."""
    tokens: Annotated[int, Field(ge=0)] = 0
    """Tokens of an answer, on average."""
    tokens_in: Annotated[int, Field(ge=0)] = 0
    """Tokens of a prompt, on average."""
    spread: Share = 0.0
    """How far a call's tokens may be from their mean, as a share of it; evenly spread, and a bound for the ledger."""
    price: Price | None = None
    """US dollars per million tokens; None: they cost nothing."""
    faults: Share = 0.0
    """Probability that a call fails on its way: no tokens, asked again up to `retries` times."""
    invalid: Share = 0.0
    """Probability that a call's answer is none: paid in full, sent back up to `repairs` times."""
    retries: Annotated[int, Field(ge=0, le=20)] = 3
    """Calls made again after faults, per answer."""
    repairs: Annotated[int, Field(ge=0, le=10)] = 1
    """Answers sent back, per answer (SPEC 0.10)."""
    kind: ClassVar[str] = "simulated"

    @model_validator(mode="after")
    def _billed(self) -> "Simulated":
        if (self.faults or self.invalid or self.price) and not self.metered:
            raise ValueError("faults, invalid and price need tokens: an answer without tokens is no call")
        return self

    @property
    def metered(self) -> bool:
        """Whether its calls weigh on the accounts beside the units."""
        return bool(self.tokens or self.tokens_in)

    def worst_case(self, messages: Any = (), schema: str = "") -> Usage:
        """The most that one call can cost."""
        most = [math.ceil(mean * (1 + self.spread)) for mean in (self.tokens_in, self.tokens)]
        return worst(self.price or Price(input=0, output=0), *most)

    def answer(self, question: Question, design: Any = None) -> Reply:
        """The answer of the design, for questions of its own, else of the task.

        Raises InvalidAnswer if its planted faults leave no answer; its calls are paid all the same.
        """
        calls = self._calls(question) if self.metered else []
        if not self.metered:
            self._wait()
        dice = random.Random(_place(question))
        own = getattr(design, "simulate", None)
        left = getattr(question.task, "accuracy", None) or {}
        value = own(question, self.skill * left.get(question.step, 1.0), dice) if own else None
        if value is None:
            value = self._played(question, dice)
        return Reply(value=value, calls=calls, by="simulated")

    def _played(self, question: Question, dice: random.Random) -> Any:
        play = getattr(question.task, "simulate", None)
        if play is None:
            raise ConfigError(f"{question.role}: this task cannot be simulated; choose another model=...")
        return play(question, self.skill, dice)

    def _calls(self, question: Question) -> list[Call]:
        """The calls that an answer takes; the last one is good. Their dice are apart from the answer's."""
        dice, calls, label = random.Random(f"{_place(question)}/calls"), list[Call](), "answer"
        while True:
            attempt = question.attempt
            with nullcontext() if attempt is None else attempt(label, self.worst_case()) as paid:
                self._wait()  # within the attempt: a process that is killed now was in the middle of a call
                calls.append(self._call(label, dice))
                if paid is not None:
                    paid.settle(calls[-1])
            if (ended := calls[-1].ended) == "ok":
                return calls
            limit = self.retries if ended == FAULT else self.repairs
            if sum(call.ended == ended for call in calls) > limit:
                raise InvalidAnswer(
                    f"{question.key}: the simulated {question.role} gave no answer after {len(calls)} calls ({ended}).",
                    "phase_error", calls=calls, ended=ended,
                )  # fmt: skip
            label = "retry" if ended == FAULT else "repair"

    def _wait(self) -> None:
        if self.latency and self.sleeps:
            _pause(self.latency)

    def _call(self, label: str, dice: random.Random) -> Call:
        if dice.random() < self.faults:
            return Call(label=label, ended=FAULT, seconds=self.latency)
        ended = INVALID if dice.random() < self.invalid else "ok"
        given, taken = (round(mean * dice.uniform(1 - self.spread, 1 + self.spread))
                        for mean in (self.tokens_in, self.tokens))  # fmt: skip
        usd = self.price.usd(given, taken) if self.price else 0.0
        return Call(label=label, ended=ended, tokens_in=given, tokens_out=taken, usd=usd, seconds=self.latency)


@dataclass
class Player:
    """A simulated role in a run of a design."""

    how: Simulated
    design: Any
    kind: ClassVar[str] = "simulated"

    @property
    def metered(self) -> bool:
        return self.how.metered

    def worst_case(self, messages: Any, schema: str = "") -> Usage:
        return self.how.worst_case(messages, schema)

    def answer(self, question: Question) -> Reply:
        return self.how.answer(question, self.design)


def _place(question: Question) -> str:
    """What the dice are thrown from: a task with a name has dice of its own. Else a seed that is lucky on one task is
    lucky on all of them, and tasks are no independent clusters."""
    alias = getattr(question.task, "alias", "")
    return f"{question.seed}/{alias}/{question.key}" if alias else f"{question.seed}/{question.key}"


def _pause(seconds: float) -> None:
    import time

    time.sleep(seconds)
