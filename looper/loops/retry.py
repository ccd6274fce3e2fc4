"""Retry: the same question again until the gate passes or the budget ends. A trivial rival (SPEC 6.4).

[ draw --> gate ]* --> completed, or stopped without the gate
      ^       | not met: the same question, without a word about what was wrong
      +-------+
"""

from typing import Annotated, ClassVar

from pydantic import Field, PositiveInt
from pydantic.dataclasses import dataclass

from looper.errors import Interruption
from looper.loops.draw import ROLES, Draws, drawn, warmed
from looper.run import Run
from looper.tasks.environment import Task
from looper.types import STRICT, Outcome


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Retry:
    """A fresh draw each time, no feedback at all; ends with `stagnation` where every draw would be the same."""

    max_tries: PositiveInt = 100
    """A rail: the budget ends a run long before, at 2.0 outer units a draw."""
    warming: list[Annotated[float, Field(ge=0, le=2)]] = Field(default_factory=list)
    """Temperature of each try in turn, 0 to 2, the last one for all that follow; empty: as the model is configured.
    "Warming" of Kapoor et al. (2024), AI Agents That Matter, is [0, 0.1, 0.2, 0.3, 0.4, 0.5] with max_tries 6. Only
    models have a temperature."""
    name: ClassVar[str] = "retry"
    roles: ClassVar[dict[str, str]] = ROLES
    steps: ClassVar[dict[str, tuple[str, ...]]] = {"planner": ("plan",), "producer": ("produce",)}
    events: ClassVar[dict[str, str]] = {"plan": "plan_created", "gate": "evaluation_done"}

    def straight(self, task: Task) -> list[tuple[str, str]]:
        """Role and step of each question of a run in which every answer is right, for an estimate before the start."""
        return [drawn(task)]

    def run(self, task: Task, run: Run) -> Outcome:
        draws = Draws(task, run)
        try:
            return draws.outcome(self.tried(draws, run))
        except Interruption as end:
            end.facts.update(draws.facts())
            raise

    def tried(self, draws: Draws, run: Run) -> str:
        """Try after try; the reason of the end."""
        for number in range(1, self.max_tries + 1):
            turn, temperature = run.scope("iteration"), self.temperature(number)
            if number > 1 and not draws.affords(turn):
                return draws.limit(turn)
            more = {} if temperature is None else {"temperature": temperature}
            with warmed(run, temperature):
                answer = draws.ask(turn, draws.role)
            if draws.judge(turn, answer, draws.role, **more):
                return "threshold_reached"
            if draws.over():
                return "stagnation"
        return "iteration_limit"

    def temperature(self, number: int) -> float | None:
        """Of the try of this number, from 1 on."""
        return self.warming[min(number, len(self.warming)) - 1] if self.warming else None
