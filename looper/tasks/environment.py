"""What a task offers to every design: document 004's Environment, Probe, Policy and ProbePolicy (SPEC 0.7, 1).

A design reaches a task through this interface only. States, actions and memories are pydantic models of the task's own;
designs pass them on without looking inside. All methods are deterministic functions of their arguments, because a
resumed run calls the cheap ones again and takes the results of the others from the journal.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

from pydantic import BaseModel

from looper.criteria import Criteria, Evaluation
from looper.types import Signal


class FailureType(StrEnum):
    """Why a state is not good enough, as far as its signals tell (document 004)."""

    NO_DATA = "no_data"
    TOO_NARROW = "too_narrow"
    TOO_BROAD = "too_broad"
    RATE_LIMITED = "rate_limited"
    AUTH_DENIED = "auth_denied"
    TOOL_MISSING = "tool_missing"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"


@runtime_checkable
class Probe(Protocol):
    """A cheap reading of a state: passed or not, why, and by how much."""

    name: str

    def test(self, state: Any) -> Signal: ...


@runtime_checkable
class AskedProbe(Protocol):
    """A reading that somebody gives: a person, a model, the known answers. It fills a role of the task's own."""

    name: str
    role: str
    """Who is asked; a task that has such probes lists its roles in `roles`, name to explanation."""
    step: str
    """Name of the step: what it costs, which policy and which prompt answer it."""
    returns: type[BaseModel]

    def question(self, state: Any) -> dict[str, Any] | None:
        """What whoever is asked may see; None if there is nothing to ask about this state: it is passed over then."""
        ...

    def reading(self, state: Any, answer: Any) -> Signal:
        """The signal that an answer stands for."""
        ...


@runtime_checkable
class ProbePolicy(Protocol):
    """A fast, deterministic policy for the inner loop. It keeps nothing itself: what it learns is its memory."""

    name: str
    handles: frozenset[FailureType]
    """Failures it has an answer to."""
    levels: tuple[float, float]
    """Range of the ladder in which it is used, both ends included."""
    step: str
    """Name of the step whose price a decision of it costs."""

    def initialize(self, state: Any) -> BaseModel:
        """The memory at the planner's initial state."""
        ...

    def is_stable(self, state: Any, signals: Sequence[Signal]) -> bool:
        """Whether the state is good enough to stop."""
        ...

    def decide(self, state: Any, signals: Sequence[Signal], memory: Any, level: float) -> BaseModel | None:
        """The next action, bolder at a higher ladder level; None if it has nothing left to try."""
        ...

    def adapt(self, memory: Any, before: Any, action: Any, after: Any, feedback: float) -> BaseModel:
        """The memory after a step; `feedback` is in [-1, 1]."""
        ...


class Task(Protocol):
    """The problem, and the only one who knows the truth.

    Its probes may have `applies(state) -> bool`: those that have nothing to read are passed over, and cost nothing.
    It may also have: `work(state, action)` (what its role `writer` is asked before an action is applied), `alias` and
    `origin` (shown to people), `roles` (of its asked probes), `prompts` (by step), `absorb(state, signals) -> state`
    (what probes found becomes part of the state), `later_on_ties` (of equally good states the later one is the best
    so far), `files(artifact)`, `recording`, `holdout(artifact)`, `simulate(question, skill, dice)`, `open(folder)`
    (the run's folder, before anything is asked), `ready()` (raises ConfigError before the run begins if it cannot),
    `close()`, `deliver(artifact)` (puts a result that met the gate where it is wanted), `prose` (whether its artifact
    is Markdown), `workshop` (see `looper.loops.workflow.ground`).
    """

    goal: str
    """One sentence: what is wanted."""

    @property
    def criteria(self) -> Criteria:
        """The gate. Loops see its results."""
        ...

    def prepare(self) -> BaseModel:
        """A look at the problem before anything is decided: the brief, whose fields every role may see.

        Never the holdout. Raises ConfigError if there is nothing to do here.
        """
        ...

    def answer(self, step: str) -> type[BaseModel]:
        """The type that answers a kind of question: plan, replan, evaluate, decide, act."""
        ...

    def observe(self, plan: Any) -> BaseModel:
        """The state of the world that a plan names (None: as it is), before anything changes it."""
        ...

    def probes(self) -> Sequence[Probe | AskedProbe]: ...

    def classify(self, state: Any, signals: Sequence[Signal]) -> FailureType:
        """Why this state does not pass."""
        ...

    def policies(self) -> Sequence[ProbePolicy]:
        """The inner loop's policies, cheapest first."""
        ...

    def apply(self, state: Any, action: Any) -> BaseModel:
        """The state after an action. The return type of the method is what the journal decodes to."""
        ...

    def quantity(self, action: Any) -> float:
        """How many priced things an action does; multiplies the price of `apply`."""
        ...

    def feedback(self, before: Any, after: Any) -> float:
        """document 004's Evaluator: progress in [-1, 1]."""
        ...

    def key(self, state: Any) -> str:
        """Equal for states that count as the same; for the memory of visited states."""
        ...

    def evaluate(self, state: Any) -> Evaluation:
        """The gate's verdict on a state, computed by code from evidence."""
        ...

    def conclude(self, state: Any, answer: Any) -> BaseModel:
        """The state that the planner's final evaluation settles on; one that was evaluated."""
        ...

    def describe(self, state: Any) -> str:
        """One line on what the last action led to, for histories and people."""
        ...

    def render(self, state: Any) -> str:
        """The artifact in a state, as text."""
        ...

    def parse(self, text: str) -> BaseModel:
        """The state that an artifact stands for."""
        ...

    def policy(self, step: str) -> Callable[..., Any] | None:
        """A deterministic function that fills a role for this kind of question, if there is one."""
        ...
