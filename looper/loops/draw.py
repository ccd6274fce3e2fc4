"""Independent draws: a question, the state that its answer names, the gate's verdict. What the trivial rivals share.

ask --> observe --> gate --> best so far          the next draw knows nothing of this one
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from looper.budget import ControlBudget
from looper.loops.log import left
from looper.loops.look import decides, look
from looper.run import Run
from looper.stage import Cast
from looper.tasks.contracts import Steps, written
from looper.tasks.environment import AskedProbe, Task
from looper.types import Agent, Outcome, Question, Reply

TRIVIAL = ("once", "retry", "best_of")
"""The rivals that belong to every comparison (SPEC 6.4): one call, retry until the gate passes, best of N."""
CASCADE = "cascade"
"""Cheap model first, then dear: belongs to a comparison of models, because it takes two."""
RIVALS = (*TRIVIAL, CASCADE, "random_walk")
PLAN = Steps(steps=["Write what is asked for."])
"""The plan of an artifact that nobody plans: a producer is asked as every design asks one."""
ROLES = {
    "planner": "chooses the one state of a draw",
    "producer": "writes the artifact of a draw, where one is written",
}
"""Who makes a draw unless the design says otherwise."""


def drawn(task: Task) -> tuple[str, str]:
    """Role and step of one draw."""
    return ("producer", "produce") if written(task) is not None else ("planner", "plan")


class Draws:
    """The draws of one run, from the first to the last."""

    def __init__(self, task: Task, run: Run):
        self.task, self.run = task, run
        self.role, self.step = drawn(task)
        self.log: list[dict[str, Any]] = []

    def ask(self, turn: Run, role: str) -> Any:
        """One answer. Of two draws the questions differ by their keys alone: nothing of an earlier draw is told."""
        for name in ("observe", "gate", "iteration_advanced"):
            self.run.keep(name)
        more = {"plan": PLAN} if self.step == "produce" else {}
        return turn.ask(role, self.task.answer(self.step), step=self.step, **turn.brief, **more)

    def judge(self, turn: Run, answer: Any, role: str, **more: Any) -> bool:
        """Whether the gate is met by what the answer stands for. What was paid for is judged, even if time ends."""
        stage = self.run.stage
        before, stage.closing = stage.closing, True
        try:
            return self._judged(turn, answer, role, **more)
        finally:
            stage.closing = before

    def _judged(self, turn: Run, answer: Any, role: str, **more: Any) -> bool:
        state: Any = turn.do("observe", self.task.observe, answer)
        if hasattr(self.task, "absorb"):
            state, _ = look(self.task, turn, state, needed=True)
        verdict = turn.do("gate", self.task.evaluate, state)
        self.run.consider(self.task.render(state), verdict)
        entry = {
            "step": len(self.log) + 1, "state": self.task.describe(state)[:500], "action": f"draw by {role}",
            "result": f"{verdict.passed_rules} of {verdict.total_rules} rules pass", "score": verdict.score,
            "fixed": self.fixed(role), **more, **left(ControlBudget(self.run.ledger)),
        }  # fmt: skip
        self.log.append(turn.note("iteration_advanced", **entry))
        return verdict.passed

    def affords(self, turn: Run, count: int = 1) -> bool:
        """Whether so many more draws can be paid together with whoever has to be asked to judge them."""
        asked = [probe.step for probe in self.task.probes() if isinstance(probe, AskedProbe) and decides(probe)]
        return turn.affords(*[self.step, *asked] * count)

    def limit(self, turn: Run) -> str:
        """Why there can be no other draw."""
        return "budget_exhausted" if turn.affords() else "time_limit"

    def fixed(self, role: str) -> bool:
        """Whether this role would answer every draw alike, because a deterministic policy fills it."""
        return getattr(self.run.stage.cast.agent(role, self.step, self.task), "kind", "model") == "policy"

    def over(self) -> bool:
        """Whether the latest draw came from a policy: another one of it would be the same. As the journal has it."""
        return bool(self.log[-1]["fixed"])

    def outcome(self, reason: str, **more: Any) -> Outcome:
        status = "completed" if reason == "threshold_reached" else "stopped"
        return self.run.outcome(status, reason, **more, **self.facts())

    def facts(self) -> dict[str, Any]:
        """What a comparison needs, however the run ends (SPEC 1.8)."""
        return {"planner_calls": len(self.log), "inner_steps": 0, "draws": len(self.log), "log": self.log}


class Warm:
    """An agent whose questions carry a temperature; in everything else it is that agent."""

    def __init__(self, agent: Agent, temperature: float):
        self._agent, self._temperature = agent, temperature

    def __getattr__(self, name: str) -> Any:
        return getattr(self._agent, name)

    def answer(self, question: Question) -> Reply:
        return self._agent.answer(question.model_copy(update={"temperature": self._temperature}))


class Warmed:
    """A cast of such agents."""

    def __init__(self, cast: Cast, temperature: float):
        self.cast, self.temperature = cast, temperature

    def agent(self, role: str, step: str, task: Any) -> Agent:
        return Warm(self.cast.agent(role, step, task), self.temperature)


@contextmanager
def warmed(run: Run, temperature: float | None) -> Iterator[None]:
    """What is asked meanwhile is asked at this temperature; None: as each agent is configured."""
    before = run.stage.cast
    if temperature is not None:
        run.stage.cast = Warmed(before, temperature)
    try:
        yield
    finally:
        run.stage.cast = before
