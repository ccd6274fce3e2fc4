"""Cascade: a cheap model first, the dear one only where the gate refuses the cheap one's work. A trivial rival.

[ cheap draw --> gate ]* --not met--> [ dear draw --> gate ]* --> completed, or stopped without the gate

Known as escalation (Kapoor et al. 2024, AI Agents That Matter) and as an LLM cascade (Chen et al. 2023, FrugalGPT).
"""

from typing import ClassVar

from pydantic import PositiveInt
from pydantic.dataclasses import dataclass

from looper.errors import Interruption
from looper.loops.draw import Draws, drawn
from looper.run import Run
from looper.tasks.environment import Task
from looper.types import STRICT, Outcome


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Cascade:
    """`agents.cheap.model=... agents.dear.model=...`; a stage without a model of its own is filled by `model`."""

    cheap_tries: PositiveInt = 1
    """Draws of the cheap model before it is given up."""
    dear_tries: PositiveInt = 1
    """Draws of the dear model; one each, because what a cascade saves is the dear calls."""
    name: ClassVar[str] = "cascade"
    roles: ClassVar[dict[str, str]] = {
        "cheap": "makes the first draws",
        "dear": "makes the next ones, if no cheap draw met the gate",
    }
    steps: ClassVar[dict[str, tuple[str, ...]]] = {"cheap": ("plan", "produce"), "dear": ("plan", "produce")}
    events: ClassVar[dict[str, str]] = {"plan": "plan_created", "gate": "evaluation_done"}

    def straight(self, task: Task) -> list[tuple[str, str]]:
        """Role and step of each question of a run in which every answer is right, for an estimate before the start."""
        return [("cheap", drawn(task)[1])]

    def run(self, task: Task, run: Run) -> Outcome:
        draws = Draws(task, run)
        try:
            return draws.outcome(self.climbed(draws, run))
        except Interruption as end:
            end.facts.update(draws.facts())
            raise

    def climbed(self, draws: Draws, run: Run) -> str:
        """Stage after stage; the reason of the end."""
        seen = False  # a policy is the same at every stage: it is asked once
        for role, tries in (("cheap", self.cheap_tries), ("dear", self.dear_tries)):
            for _try in range(tries):
                if seen and draws.fixed(role):
                    break
                turn = run.scope("iteration")
                if draws.log and not draws.affords(turn):
                    return draws.limit(turn)
                run.phase(role)
                if draws.judge(turn, draws.ask(turn, role), role):
                    return "threshold_reached"
                seen = seen or draws.over()
        short = len(draws.log) < self.cheap_tries + self.dear_tries
        return "stagnation" if short and draws.over() else "iteration_limit"
