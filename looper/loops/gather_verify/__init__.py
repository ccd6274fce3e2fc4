"""Gather and verify: an outer loop around any inner design (document 000).

INITIALIZED --> GATHER --> INTERVIEW --> INNER_LOOP --> VERIFY --verified--> LEARN --> COMPLETED
                                             ^             | gaps, at most 3 times; or the user adds budget
                                             +-------------+
                                                           | critical, or no round left: the user accepts or stops
                                                           +--> LEARN --> stopped
"""

import dataclasses
import random
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, Field, NonNegativeInt, PositiveInt
from pydantic.dataclasses import dataclass

from looper.checks.bench import Bench
from looper.errors import BudgetExceeded, ConfigError, Interruption
from looper.loops.gather_verify import output, policies
from looper.loops.gather_verify.completeness import Shares, Weights
from looper.loops.gather_verify.course import Course
from looper.loops.gather_verify.gathering import checked_file
from looper.loops.gather_verify.layers import LayerWeights, Thresholds
from looper.loops.gather_verify.machine import Phase
from looper.loops.gather_verify.telling import facts
from looper.run import Run
from looper.tasks.environment import Task
from looper.types import STRICT, Outcome, Question

ROLES = {
    "researcher": "finds what exists, what limits the work, what is unknown",
    "analyst": "sorts what is known and unknown, asks the user",
    "interviewer": "writes the ideal state that the result is measured by",
    "owner": "confirms the rules before the first iteration",
    "verifier": "reads the result and judges each criterion",
    "user": "answers questions, confirms what is critical, decides when the result is not good enough",
}
STEPS = {
    "researcher": ("classify", "research"), "analyst": ("analyse",), "interviewer": ("ideal",), "owner": ("confirm",),
    "verifier": ("assess",), "user": ("answer", "shortfall", "confirm_result", "escalate"),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True, config=STRICT)
class GatherVerify:
    """Requirements before the work, verification behind it, and a lesson for the next time."""

    inner: Any = None
    """The inner design; `loop=` names it."""
    until: str | None = None
    """The phase after which the run pauses; `until=` names it, `resume` goes on."""
    max_loops: NonNegativeInt = 3
    """Times that gaps lead back to the inner loop (document 000)."""
    max_rounds: PositiveInt = 5
    """Rounds of the interview at most (SPEC 5.3)."""
    complete: Annotated[float, Field(ge=0, le=1)] = 0.95
    """Completeness of the ideal state from which the work begins (document 000)."""
    completeness: Weights = Weights()
    """What each part of the ideal state counts (SPEC 5.3)."""
    shares: Shares = Shares()
    """What counts within those parts (SPEC 5.3)."""
    layers: LayerWeights = LayerWeights()
    """What each layer of the verification counts (document 000)."""
    thresholds: Thresholds = Thresholds()
    """Scores from which a result is verified, or has gaps (document 000)."""
    confirmation: bool = True
    """Whether the rule set must be confirmed before the work begins (SPEC 5.4)."""
    escalation: Literal["ask", "accept", "stop"] = "ask"
    """Who decides when the result is not good enough: the user, or this setting (for sweeps)."""
    answers: str | None = None
    """A YAML or JSON file with answers to questions, by their ids."""
    recall: Annotated[int, Field(ge=0, le=20)] = 5
    """Earlier episodes that are shown to GATHER (SPEC 5.7); 0: none, as fair comparisons need."""
    learn: bool = True
    """Whether the run is added to the episodes."""
    bench: Bench = Bench()
    """What added checks are run with."""
    prompts: dict[str, dict[str, str]] = Field(default_factory=dict)
    """Prompt templates by step; `+*` is put behind every prompt of the inner design."""

    own: ClassVar[str] = "gather_verify"
    once: ClassVar[tuple[str, ...]] = ("recall", "learn")
    """Steps that read or write what is not the run's own: a replay takes them from the record."""

    @property
    def name(self) -> str:
        """Both loops, as a recording of them is named."""
        return f"{self.own}({self.inner.name})"

    def __getattr__(self, name: str) -> Any:
        """Whatever else is asked of a design is the inner one's: its seats, its number of rounds."""
        if name.startswith("_") or name in ("inner",):
            raise AttributeError(name)
        return getattr(object.__getattribute__(self, "inner"), name)

    @property
    def roles(self) -> dict[str, str]:
        return {**getattr(self.inner, "roles", {}), **ROLES}

    @property
    def steps(self) -> dict[str, tuple[str, ...]]:
        inner: Mapping[str, tuple[str, ...]] = getattr(self.inner, "steps", {})
        both = {role: tuple(dict.fromkeys((*STEPS.get(role, ()), *inner.get(role, ())))) for role in {**inner, **STEPS}}
        return both

    @property
    def people(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(("user", *getattr(self.inner, "people", ()))))

    @property
    def outside(self) -> tuple[str, ...]:
        return (*self.once, *getattr(self.inner, "outside", ()))

    @property
    def keeps(self) -> tuple[str, ...]:
        return ("outer_updated", *getattr(self.inner, "keeps", ()))

    def files(self, told: Mapping[str, Any]) -> dict[str, str]:
        """The ideal state and the evidence as files; what else is told is the inner design's."""
        return output.files(told) if "interviewed" in told else self.inner.files(told)

    def ready(self) -> None:
        """Raises ConfigError for an answers file that cannot be used, before anything is spent."""
        checked_file(self.answers)()

    def around(self, inner: Any, until: str | None) -> "GatherVerify":
        """This loop around a design, with the prompts of both. Raises ConfigError for a phase that there is not."""
        phases = [phase.value.lower() for phase in Phase if phase not in (Phase.INITIALIZED, Phase.COMPLETED)]
        if until is not None and until not in phases:
            raise ConfigError(f"until={until}: there is no such phase; there are {', '.join(phases)}.")
        prompts = {**(getattr(inner, "prompts", None) or {}), **self.prompts}
        return dataclasses.replace(self, inner=inner, until=until, prompts=prompts)

    def confirmed(self, loop: Any, limit: int) -> Any:
        """The inner design after the rule set was confirmed: it does not ask again, and keeps the agreed limit."""
        known = {one.name for one in dataclasses.fields(loop)}
        agreed = {"confirmation": False, "max_iterations": limit, "max_steps": limit, "max_rounds": limit}
        return dataclasses.replace(loop, **{name: value for name, value in agreed.items() if name in known})

    def run(self, task: Task, run: Run) -> Outcome:
        course = Course(self, task, run)
        try:
            return course.go()
        except BudgetExceeded as end:
            if run.ledger.budget.on_limit == "ask":
                end.facts.update(facts(course))
                raise
            course.hand_over()
            return run.outcome("stopped", end.reason, detail=str(end), **facts(course))
        except Interruption as end:
            course.hand_over()
            end.facts.update(facts(course))
            raise

    def policy(self, step: str) -> Callable[..., Any] | None:
        """A deterministic filler of either loop."""
        inner = getattr(self.inner, "policy", None)
        return policies.BY_STEP.get(step) or (inner(step) if inner else None)

    def simulate(self, question: Question, skill: float, dice: random.Random) -> BaseModel | None:
        """Roles of either loop played, those by the task that it has a planted truth for. A simulation."""
        if question.step in getattr(question.task, "plays", ()):
            return None
        own = policies.played(question, skill, dice)
        inner = getattr(self.inner, "simulate", None)
        return own if own is not None or inner is None else inner(question, skill, dice)
