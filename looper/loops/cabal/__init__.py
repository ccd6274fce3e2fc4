"""Cabal: rounds of a chair, operatives, a watchdog and an envoy around one board (document 002).

Bootstrap --> [ Reflect --> Plan & Assign --> Write --> Peer Review --> Inspect --> acceptance --> Presentation ]*
  | halt           | halt: the user answers,         | all deliverables accepted and the gate met --> completed
  +--> Bootstrap   +--> the same step runs again     | round limit, stagnation, budget            --> stopped
"""

import random
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, Field, PositiveInt
from pydantic.dataclasses import dataclass

from looper.errors import BudgetExceeded, Interruption
from looper.loops.cabal import output, policies
from looper.loops.cabal.rounds import Mission
from looper.run import Run
from looper.tasks.environment import Task
from looper.types import STRICT, Outcome, Question


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Cabal:
    """A team whose rules are kept by a board, not by prompts."""

    max_rounds: PositiveInt = 6
    """Rounds after the bootstrap at most."""
    max_operatives: Annotated[int, Field(ge=1, le=12)] = 12
    """Operatives at most."""
    operatives: Annotated[int, Field(ge=1, le=12)] = 3
    """Parts, and operatives, that a chair without a model makes of a task that is searched."""
    changes: PositiveInt = 4
    """Changes of one operative in one round on such a task."""
    stagnant: PositiveInt = 2
    """Rounds without an acceptance and without falling open importance that end the run (SPEC 4.8)."""
    max_halts: PositiveInt = 3
    """Questions of the chair to the user within one step."""
    reviewed: Annotated[int, Field(ge=1, le=5)] = 5
    """Products that one reviewer sees at most (SPEC 4.6)."""
    prompt_characters: Annotated[int, Field(ge=8_000)] = 60_000
    """What products in full may take of one prompt; longer ones are cut, visibly."""
    artifact: Literal["auto", "joined", "bare"] = "auto"
    """What the task's criteria judge: the accepted products with contents and Change Log (`joined`), or their texts
    alone (`bare`), as of a program or a configuration; `auto`: as the task says (`prose`), else joined."""
    prompts: dict[str, dict[str, str]] = Field(default_factory=dict)
    """Prompt templates by step, under those of the task."""

    name: ClassVar[str] = "cabal"
    roles: ClassVar[dict[str, str]] = {
        "chair": "sets mission and team, plans each round, assigns the work",
        "operative": "reflects, writes what is assigned, reviews the work of others",
        "watchdog": "inspects new work against its definition of done",
        "envoy": "tells the user about each round",
        "user": "answers when the chair halts",
    }
    steps: ClassVar[dict[str, tuple[str, ...]]] = {
        "chair": ("bootstrap", "assign"), "operative": ("reflect", "compose", "peer_review"),
        "watchdog": ("inspect",), "envoy": ("present",), "user": ("halt",),
    }  # fmt: skip
    people: ClassVar[tuple[str, ...]] = ("user",)
    """Roles that a person fills unless the configuration says otherwise."""
    events: ClassVar[dict[str, str]] = {"gate": "evaluation_done"}

    keeps: ClassVar[tuple[str, ...]] = ("board_updated",)
    """The events that tell the board; `files` are made from the latest one."""

    def files(self, told: Mapping[str, Any]) -> dict[str, str]:
        """Accepted products as files, and the document that joins them."""
        return output.files(told)

    def run(self, task: Task, run: Run) -> Outcome:
        mission = Mission(self, task, run)
        try:
            return mission.go()
        except BudgetExceeded as end:
            if run.ledger.budget.on_limit == "ask":
                end.facts.update(mission.facts())
                raise
            mission.cut_short()
            return run.outcome("stopped", end.reason, detail=str(end), **mission.facts())
        except Interruption as end:
            end.facts.update(mission.facts())
            raise

    def policy(self, step: str) -> Callable[..., Any] | None:
        """Deterministic fillers of the design's own: a chair, a watchdog and an envoy for tasks that code can judge."""
        return policies.BY_STEP.get(step)

    def simulate(self, question: Question, skill: float, dice: random.Random) -> BaseModel | None:
        """The design's roles played. A simulation."""
        return policies.played(question, skill, dice)
