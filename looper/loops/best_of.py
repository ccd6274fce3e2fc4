"""Best of N: independent draws side by side, the gate's best one is handed over. A trivial rival (SPEC 6.4).

draw --+
draw --+--> gate on each, in order --> the best, of equals the first --> completed, or stopped without the gate
draw --+
"""

from typing import Any, ClassVar

from pydantic import PositiveInt
from pydantic.dataclasses import dataclass

from looper.errors import BudgetExceeded, Interruption
from looper.loops.draw import ROLES, Draws, drawn
from looper.run import Run
from looper.tasks.environment import Task
from looper.types import STRICT, Outcome


@dataclass(frozen=True, kw_only=True, config=STRICT)
class BestOf:
    """N draws of the same question. All are made, whatever the first one is worth; a policy's are made once."""

    n: PositiveInt = 3
    """Draws at most; three model calls of 2.0 units are what document 004's outer account affords."""
    name: ClassVar[str] = "best_of"
    roles: ClassVar[dict[str, str]] = ROLES
    steps: ClassVar[dict[str, tuple[str, ...]]] = {"planner": ("plan",), "producer": ("produce",)}
    events: ClassVar[dict[str, str]] = {"plan": "plan_created", "gate": "evaluation_done"}

    def straight(self, task: Task) -> list[tuple[str, str]]:
        """Role and step of each question of a run in which every answer is right, for an estimate before the start."""
        return [drawn(task)] * self.n

    def run(self, task: Task, run: Run) -> Outcome:
        draws = Draws(task, run)
        try:
            return self.best(draws, run)
        except Interruption as end:
            end.facts.update(draws.facts())
            raise

    def best(self, draws: Draws, run: Run) -> Outcome:
        """All draws, then the gate on each in order: answers come side by side, what they do to a machine does not."""
        wanted = 1 if draws.fixed(draws.role) else self.n
        answers, refused = self.drawn(draws, run, affordable(draws, run, wanted))
        met = [draws.judge(run.scope("iteration"), answer, draws.role) for answer in answers]
        if any(met):
            return draws.outcome("threshold_reached")
        if refused:
            return draws.outcome(refused.reason, detail=str(refused))
        if len(answers) < wanted:
            return draws.outcome(draws.limit(run))
        return draws.outcome("stagnation" if draws.over() else "iteration_limit")

    def drawn(self, draws: Draws, run: Run, count: int) -> tuple[list[Any], BudgetExceeded | None]:
        """Answers in order. Those whose worst cases could not be reserved together are asked for one by one."""
        found = run.each([f"draw-{number}" for number in range(1, count + 1)], lambda turn, _: self.one(draws, turn))
        answers, refused = list(found.values()), None
        for at, answer in enumerate(answers):
            if isinstance(answer, BudgetExceeded) and refused is None and count > 1:
                answers[at] = self.one(draws, run.scope("again"))
            if isinstance(answers[at], BudgetExceeded):
                refused = answers[at]
        if refused and len(answers) == 1:
            raise refused
        return [answer for answer in answers if not isinstance(answer, BudgetExceeded)], refused

    def one(self, draws: Draws, turn: Run) -> Any:
        """An answer, or why it could not be paid; others of the same moment may have been."""
        try:
            return draws.ask(turn, draws.role)
        except BudgetExceeded as end:
            if turn.ledger.budget.on_limit == "ask":
                raise
            return end


def affordable(draws: Draws, run: Run, wanted: int) -> int:
    """How many draws the units pay together, at least the one that says why there is none."""
    return next((count for count in range(wanted, 1, -1) if draws.affords(run, count)), 1)
