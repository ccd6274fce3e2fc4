"""Baseline: whoever fills one role decides everything (document 004, "LLM decides everything").

observe --> [ probe --> gate met? --> act --> apply ]* --> completed
                           |                    | budget used up, steps used up, or `done` twice without the gate
                           +--> completed       +--> stopped
"""

from typing import Any, ClassVar

from pydantic import PositiveInt
from pydantic.dataclasses import dataclass

from looper.budget import ControlBudget
from looper.errors import BudgetExceeded, Interruption
from looper.loops.log import left, readings
from looper.loops.look import look
from looper.run import Run
from looper.tasks.environment import Task
from looper.types import STRICT, Outcome


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Baseline:
    """Each step one call sees the task, state, signals and history, and answers with an action or `done` (SPEC 1.1)."""

    max_steps: PositiveInt = 200
    """A rail: the budget ends a run long before, at 2.0 outer units a call of a model."""
    remembered: PositiveInt = 20
    """Latest steps that the next call sees."""
    name: ClassVar[str] = "baseline"
    roles: ClassVar[dict[str, str]] = {"actor": "decides every step"}
    events: ClassVar[dict[str, str]] = {"gate": "evaluation_done"}

    def run(self, task: Task, run: Run) -> Outcome:
        walk = Steps(task, run)
        try:
            return walk.outcome(self.walk(task, run, walk))
        except BudgetExceeded as end:
            if run.ledger.budget.on_limit == "ask":
                end.facts.update(walk.facts())
                raise
            return walk.outcome(end.reason)
        except Interruption as end:
            end.facts.update(walk.facts())
            raise

    def walk(self, task: Task, run: Run, walk: "Steps") -> str:
        """Until the gate is met or nothing is left; the reason."""
        walk.state = run.do("observe", task.observe, None)
        for _ in range(self.max_steps):
            turn = run.scope("iteration")
            if walk.look(turn):
                return "threshold_reached"
            if walk.dones >= 2:
                return "stagnation"
            walk.act(turn, self.remembered)
        return "threshold_reached" if walk.look(run.scope("iteration")) else "iteration_limit"


class Steps:
    """The one state of a baseline run and what was done to it."""

    def __init__(self, task: Task, run: Run):
        self.task, self.run = task, run
        self.state: Any = None
        self.signals: list[Any] = []
        self.history: list[dict[str, Any]] = []
        self.steps = self.dones = 0
        self.score = 0.0

    def look(self, turn: Run) -> bool:
        """Probe and judge the state; whether the gate is met."""
        self.state, self.signals = look(self.task, turn, self.state)
        verdict = turn.do("gate", self.task.evaluate, self.state)
        self.score = verdict.score
        self.run.consider(self.task.render(self.state), verdict)
        return verdict.passed

    def act(self, turn: Run, remembered: int) -> None:
        move: Any = turn.ask(
            "actor", self.task.answer("act"), step="act", **turn.brief,
            state=self.state, signals=self.signals, history=self.history[-remembered:],
        )  # fmt: skip
        if move.done:
            self.dones += 1
            refused = {"action": "done", "result": "not accepted: the gate is not met", "feedback": 0.0}
            self.note(turn, refused)
            return
        self.dones = 0
        after = turn.do("apply", self.task.apply, self.state, move, quantity=self.task.quantity(move))
        feedback = self.task.feedback(self.state, after)
        self.steps += 1
        self.note(turn, {"action": str(move)[:500], "result": self.task.describe(after), "feedback": feedback})
        self.state = after

    def note(self, turn: Run, what: dict[str, Any]) -> None:
        """An entry of the log (SPEC 1.8); the next call sees it."""
        entry = {
            "step": self.steps, "state": self.task.describe(self.state)[:500], **readings(self.signals), **what,
            "score": self.score, **left(ControlBudget(turn.ledger)),
        }  # fmt: skip
        self.history.append(turn.note("iteration_advanced", **entry))

    def outcome(self, reason: str) -> Outcome:
        status = "completed" if reason == "threshold_reached" else "stopped"
        return self.run.outcome(status, reason, **self.facts())

    def facts(self) -> dict[str, Any]:
        """What the comparison needs, however the run ends (SPEC 1.8)."""
        return {"planner_calls": 0, "inner_steps": self.steps, "log": self.history}
