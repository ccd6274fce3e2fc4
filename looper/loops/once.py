"""Once: the first plan, nothing else. A trivial rival that every comparison needs (SPEC 6.4).

plan --> observe --> gate --> completed, or stopped without the gate
"""

from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from looper.criteria import Evaluation
from looper.errors import Interruption
from looper.loops.look import look
from looper.run import Run
from looper.tasks.environment import Task
from looper.types import STRICT, Outcome


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Once:
    """Plans, looks at the planned state, and hands that over: no probe, no step, no second thought."""

    name: ClassVar[str] = "once"
    roles: ClassVar[dict[str, str]] = {"planner": "chooses the one state that is handed over"}
    events: ClassVar[dict[str, str]] = {"plan": "plan_created", "gate": "evaluation_done"}

    def straight(self, task: Task) -> list[tuple[str, str]]:
        """Role and step of each question of a run in which every answer is right, for an estimate before the start."""
        return [("planner", "plan")]

    def run(self, task: Task, run: Run) -> Outcome:
        facts = {"planner_calls": 1, "inner_steps": 0, "log": []}
        try:
            verdict = self.judged(task, run)
        except Interruption as end:
            end.facts.update(facts)
            raise
        if verdict.passed:
            return run.outcome("completed", "threshold_reached", **facts)
        return run.outcome("stopped", "iteration_limit", **facts)

    def judged(self, task: Task, run: Run) -> Evaluation:
        """The verdict on the planned state, with the readings that the gate itself needs."""
        plan: Any = run.ask("planner", task.answer("plan"), step="plan", **run.brief)
        state: Any = run.do("observe", task.observe, plan)
        if hasattr(task, "absorb"):
            state, _ = look(task, run, state, needed=True)
        verdict = run.do("gate", task.evaluate, state)
        run.consider(task.render(state), verdict)
        return verdict
