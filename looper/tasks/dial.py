"""dial: turn a dial until its reading lies in a band. The smallest task there is: an example to copy, and a simulation.

The reading is a monotonic function of the setting with a hidden gain, so a policy sees the direction of the error, not
the way; once it has seen a reading on either side it bisects (SPEC 1.4).
"""

import random
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, Field
from pydantic.dataclasses import dataclass

from looper.criteria import Criteria, Evaluation, Finding, Phase, Rule
from looper.errors import ConfigError
from looper.tasks.environment import FailureType
from looper.types import STRICT, Question, Signal


class Setting(BaseModel):
    """Where the dial stands, and what the instrument shows there."""

    position: float
    reading: float


class Turn(BaseModel):
    """One turn of the dial."""

    by: float
    why: str = ""


class Plan(BaseModel):
    """Where to begin."""

    position: float


class Replan(BaseModel):
    """Where to begin anew, or nothing."""

    plan: Plan | None


class Decision(BaseModel):
    """The next turn, or nothing."""

    action: Turn | None


class Move(Turn):
    """The next turn, or done."""

    by: float = 0.0
    done: bool = False


class Bounds(BaseModel):
    """What the policy remembers: the nearest settings seen on either side of the band."""

    low: float | None = None
    high: float | None = None


class Brief(BaseModel):
    """What every role may see."""

    goal: str
    low: float
    high: float


class Note(BaseModel):
    """The final words on a run."""

    text: str


class BandProbe:
    """Whether the reading is in the band, and how far from its middle."""

    name = "band"

    def __init__(self, dial: "Dial"):
        self.dial = dial

    def test(self, state: Setting) -> Signal:
        gap = state.reading - (self.dial.low + self.dial.high) / 2
        inside = self.dial.low <= state.reading <= self.dial.high
        return Signal(name=self.name, passed=inside, value=gap, reason="in the band" if inside else "outside the band")


class Bisect:
    """Proportional steps, scaled by the ladder, until the band is bracketed; then the middle of the bracket."""

    name, step = "bisect", "decide"
    handles = frozenset({FailureType.TOO_NARROW, FailureType.TOO_BROAD})
    levels = (0.0, 3.0)

    def initialize(self, state: Setting) -> Bounds:
        return Bounds()

    def is_stable(self, state: Setting, signals: Sequence[Signal]) -> bool:
        return all(signal.passed for signal in signals)

    def decide(self, state: Setting, signals: Sequence[Signal], memory: Bounds, level: float) -> Turn:
        gap = signals[0].value
        low = state.position if gap < 0 else memory.low
        high = state.position if gap > 0 else memory.high
        if low is not None and high is not None:
            return Turn(by=(low + high) / 2 - state.position, why=f"middle of {low:g} and {high:g}")
        return Turn(by=-(1 + level) * (1 if gap > 0 else -1), why=f"reading is {gap:+.3g} off")

    def adapt(self, memory: Bounds, before: Setting, action: Turn, after: Setting, feedback: float) -> Bounds:
        below = [x for x in (memory.low, before.position) if x is not None and x < after.position]
        above = [x for x in (memory.high, before.position) if x is not None and x > after.position]
        return Bounds(low=max(below, default=memory.low), high=min(above, default=memory.high))


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Dial:
    """Reach a band of readings by turning a dial whose gain is not known."""

    low: float = 30.0
    """Lower end of the band, in the reading's unit."""
    high: float = 32.0
    """Upper end of the band."""
    gain: Annotated[float, Field(gt=0, le=100)] = 1.7
    """Reading per unit of the dial: the planted truth."""
    goal: str = "Turn the dial until the reading lies in the band."
    """What is wanted, in a sentence."""

    @property
    def criteria(self) -> Criteria:
        return Criteria(
            rules=[Rule(id="a.correctness.band", description="the reading lies in the band")],
            phases=[Phase(name="A", threshold=1.0)],
        )

    def prepare(self) -> Brief:
        if self.low >= self.high:
            raise ConfigError(f"task.low={self.low:g} must be below task.high={self.high:g}.")
        return Brief(goal=self.goal, low=self.low, high=self.high)

    def answer(self, step: str) -> type[BaseModel]:
        return {"plan": Plan, "replan": Replan, "evaluate": Note, "decide": Decision, "act": Move}[step]

    def observe(self, plan: Plan | None) -> Setting:
        return self.setting(plan.position if plan else 0.0)

    def setting(self, position: float) -> Setting:
        return Setting(position=position, reading=position * self.gain)

    def probes(self) -> list[BandProbe]:
        return [BandProbe(self)]

    def classify(self, state: Setting, signals: Sequence[Signal]) -> FailureType:
        return FailureType.TOO_BROAD if signals[0].value > 0 else FailureType.TOO_NARROW

    def policies(self) -> list[Bisect]:
        return [Bisect()]

    def apply(self, state: Setting, action: Turn) -> Setting:
        return self.setting(state.position + action.by)

    def quantity(self, action: Turn) -> float:
        return 1.0

    def feedback(self, before: Setting, after: Setting) -> float:
        middle = (self.low + self.high) / 2
        was, now = abs(before.reading - middle), abs(after.reading - middle)
        return max(-1.0, min(1.0, (was - now) / max(was, now, 1e-12)))

    def key(self, state: Setting) -> str:
        return f"{state.position:.9g}"

    def evaluate(self, state: Setting) -> Evaluation:
        return self.criteria.evaluate({"a.correctness.band": Finding(passed=self.low <= state.reading <= self.high)})

    def conclude(self, state: Setting, answer: Note) -> Setting:
        return state

    def describe(self, state: Setting) -> str:
        return f"position {state.position:g} reads {state.reading:g}"

    def render(self, state: Setting) -> str:
        return f"{state.position!r}"

    def parse(self, text: str) -> Setting:
        return self.setting(float(text))

    def policy(self, step: str) -> Callable[..., Any] | None:
        own: dict[str, Callable[..., Any]] = {
            "plan": lambda **_: Plan(position=0.0),
            "replan": lambda **_: Replan(plan=None),
            "evaluate": lambda state, **_: Note(text=self.describe(state)),
            "decide": self._decide,
            "act": lambda state, signals, **_: Move(**Bisect().decide(state, signals, Bounds(), 1.0).model_dump()),
        }
        return own.get(step)

    def _decide(self, *, state: Setting, signals: Sequence[Signal], memory: Bounds, level: float, **_: Any) -> Decision:
        return Decision(action=Bisect().decide(state, signals, memory, level))

    def simulate(self, question: Question, skill: float, dice: random.Random) -> BaseModel:
        """The policy's answer with probability `skill`, else a turn at random."""
        fn = self.policy(question.step)
        value = fn(**question.context) if fn else None
        if isinstance(value, Decision) and dice.random() > skill:
            return Decision(action=Turn(by=dice.uniform(-3, 3), why="at random"))
        if isinstance(value, Move) and dice.random() > skill:
            return Move(by=dice.uniform(-3, 3), why="at random")
        if value is None:
            raise ConfigError(f"a dial has nobody who answers `{question.step}`.")
        return value
