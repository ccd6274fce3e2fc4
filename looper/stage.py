"""What all parts of one run share: the task, who fills the roles, the journal, the ledger, the best state so far."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from looper.budget import Amounts, Ledger
from looper.criteria import Evaluation
from looper.journal import Journal
from looper.types import Agent


class Cast(Protocol):
    """Who fills which role."""

    def agent(self, role: str, step: str, task: Any) -> Agent:
        """Whoever answers this kind of question; raises ConfigError if nobody can."""
        ...


@dataclass
class Best:
    """The best state that was evaluated so far (SPEC 0.3)."""

    artifact: str
    evaluation: Evaluation


@dataclass
class Stage:
    """What all parts of one run share."""

    task: Any
    cast: Cast
    journal: Journal
    ledger: Ledger
    seed: int = 0
    check: Callable[[], None] = lambda: None
    """Raises StopRequested, Paused or Aborted if a person wants the run to end; asked before every live step."""
    events: Mapping[str, str] = field(default_factory=dict)
    """Event name by step name, where the design has one of document 003's names for it."""
    brief: dict[str, Any] = field(default_factory=dict)
    """What the task's first look found and every role may see."""
    best: Best | None = None
    looks: dict[str, Amounts] = field(default_factory=dict)
    """Evaluated states in their order, each with what had been spent when it was first evaluated."""
    hidden_on_all: bool = False
    """Whether hidden checks are run, after the end, on every evaluated state and not on the result alone."""
    iteration: int = 0
    closing: bool = False
    """Whether what is under way closes the run: it is done although the time is up (SPEC 0.5)."""
    before: int = 0
    """Iterations of earlier inner loops, so that those of the run are numbered through."""
    phase: str = ""
    episodes: Any = None
    """The `Episodes` that earlier runs left (SPEC 5.7); None where none are kept."""


def rounds_of(loop: Any) -> int | None:
    """Iterations that a design makes at most, whatever it calls them; None if it has no such limit."""
    named = (getattr(loop, name, None) for name in ("max_iterations", "max_steps", "max_rounds"))
    return next((limit for limit in named if limit is not None), None)
