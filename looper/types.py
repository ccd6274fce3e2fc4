"""The few values that pass between loops, agents and tasks."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Annotated, Any, Literal, Protocol, runtime_checkable

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import to_jsonable_python

STRICT = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
"""For everything Hydra builds: a misspelt setting is an error, not a surprise."""

Plain = Annotated[Any, BeforeValidator(to_jsonable_python)]
"""Data that survives JSON unchanged, so that what is saved equals what was returned."""

Status = Literal["running", "paused", "completed", "stopped", "failed", "aborted"]
TERMINAL: frozenset[str] = frozenset({"completed", "stopped", "failed", "aborted"})
EXIT_CODES: dict[str, int] = {"completed": 0, "failed": 1, "paused": 3, "stopped": 4, "aborted": 130}
"""Exit code of the command by status (SPEC 0.2); 2 is a usage or configuration error."""


class Call(BaseModel):
    """One attempt to get an answer, paid for whether or not it was any good (SPEC 0.5)."""

    label: str = "answer"
    """Why it was made: answer, retry, repair, shorten, judge, lost (in flight when the process died)."""
    ended: str = "ok"
    """How it ended, by the names of SAFETY's model-call table (ok, rate_limited, refusal, truncated, ...)."""
    tokens_in: int = Field(default=0, ge=0)
    tokens_out: int = Field(default=0, ge=0)
    usd: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """US dollars at the price that was in force."""
    estimated: bool = False
    """Whether tokens or USD were estimated because the provider did not say."""
    seconds: float = Field(default=0.0, ge=0)


class Usage(BaseModel):
    """The sum of some calls, or the worst that a call to come can cost."""

    calls: int = 0
    tokens: int = 0
    usd: float = 0.0

    @classmethod
    def of(cls, calls: "list[Call]") -> "Usage":
        return cls(
            calls=len(calls), tokens=sum(c.tokens_in + c.tokens_out for c in calls), usd=sum(c.usd for c in calls)
        )


Attempt = Callable[[str, Usage], AbstractContextManager["Paid"]]
"""`with question.attempt(label, worst) as paid:` reserves the worst case, journals the intent, and settles on exit."""


class Paid(Protocol):
    """The receipt of one attempt: the agent hands in what it turned out to cost, also when it failed."""

    def settle(self, call: Call) -> None: ...


class Question(BaseModel, arbitrary_types_allowed=True):
    """A question put to a role."""

    role: str
    step: str = ""
    """What is asked of the role when it has several kinds of question (plan, replan, evaluate); else the role."""
    key: str
    """Where in the run it was asked; unique, and the same on every replay."""
    context: dict[str, Any]
    """What the role may see: plain values and pydantic models."""
    returns: Any
    """The pydantic model that an answer must be."""
    task: Any = None
    """The task, for agents that play with its policies or its planted truth; never rendered into a prompt."""
    seed: int = 0
    attempt: Any = None
    """An `Attempt`; None outside a run. Only agents that cost money per call use it."""
    seconds_left: float | None = None
    """What is left of the run's time cap, None without one: no call may outlast it."""
    temperature: float | None = None
    """0 to 2, in place of the one that a model is configured with; None: as configured. Only models have one."""


class Reply(BaseModel):
    """An answer and what it took to get it."""

    value: Any
    calls: list[Call] = []
    said: str = ""
    """The raw words behind the value, kept for the reader of the journal."""
    waited: float = Field(default=0.0, ge=0)
    """Seconds spent waiting because a server said so; not working time."""
    by: str = ""
    """Who answered, as shown to people: `model:openai/gpt-4o`, `policy`, `human`, `recording`, `simulated`."""


@runtime_checkable
class Agent(Protocol):
    """Whoever fills a role: a model, a policy, a person, a recording, a simulation."""

    def answer(self, question: Question) -> Reply: ...


class Signal(BaseModel):
    """What a probe found: cheap gradient information (document 004, Probe)."""

    name: str
    passed: bool
    value: float
    """The reading, in the probe's own unit."""
    reason: str = ""
    data: dict[str, Plain] = {}


class Outcome(BaseModel):
    """How a run ended. Plain data: what is saved equals what was returned (SPEC 0.2, 0.3)."""

    status: Status
    reason: str
    artifact: Plain = None
    """The best state that was evaluated, rendered as text; None if nothing was."""
    score: float | None = None
    """The gate score that belongs to that artifact, 0 to 1."""
    passed: bool = False
    """Whether that artifact met the gate."""
    facts: dict[str, Plain] = {}


@runtime_checkable
class Loop(Protocol):
    """A design: plain control flow over a `Run`."""

    def run(self, task: Any, run: Any, /) -> Outcome: ...
