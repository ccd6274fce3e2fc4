"""Dials whose policies, probes and planners are a test's own."""

from collections.abc import Callable, Sequence
from typing import Any

from looper.tasks.dial import Bounds, Decision, Dial, Plan, Replan, Setting, Turn
from looper.tasks.environment import FailureType
from looper.types import Signal

Say = Callable[[Setting, float], float | None]


class Nudge:
    """A policy that turns by what `say(state, level)` gives; None: it has nothing left."""

    def __init__(self, say: Say, name: str = "nudge", **more: Any):
        self.say, self.name = say, name
        self.step: str = more.get("step", "decide")
        self.handles = frozenset(more.get("handles", FailureType))
        self.levels: tuple[float, float] = more.get("levels", (0.0, 3.0))
        self.met: list[tuple[float, float]] = []
        """Feedback of the steps it was told of, and where they led."""

    def initialize(self, state: Setting) -> Bounds:
        return Bounds()

    def is_stable(self, state: Setting, signals: Sequence[Signal]) -> bool:
        return all(signal.passed for signal in signals)

    def decide(self, state: Setting, signals: Sequence[Signal], memory: Bounds, level: float) -> Turn | None:
        by = self.say(state, level)
        return None if by is None else Turn(by=by)

    def adapt(self, memory: Bounds, before: Setting, action: Turn, after: Setting, feedback: float) -> Bounds:
        self.met.append((feedback, after.position))
        return memory


def dial(*policies: Any, replans: Sequence[float] = (), failure: FailureType | None = None, **fields: Any) -> Dial:
    """A dial with these inner policies, whose planner begins anew at `replans`, one after the other."""
    left = list(replans)

    class Own(Dial):
        def policies(self) -> list[Any]:
            return list(policies) or super().policies()

        def classify(self, state: Setting, signals: Sequence[Signal]) -> FailureType:
            return failure or super().classify(state, signals)

        def policy(self, step: str) -> Callable[..., Any] | None:
            own: dict[str, Callable[..., Any]] = {
                "decide": self._named,
                "think": self._named,
                "replan": lambda **_: Replan(plan=Plan(position=left.pop(0)) if left else None),
            }
            return own.get(step) or super().policy(step)

        def _named(self, *, policy: str, state: Setting, signals: Any, memory: Any, level: float, **_: Any) -> Decision:
            chosen = next(p for p in self.policies() if p.name == policy)
            return Decision(action=chosen.decide(state, signals, memory, level))

    return Own(**{"low": 4.5, "high": 5.5, "gain": 1.0} | fields)
