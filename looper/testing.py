"""Conformance checks that third parties run on their own Task, Loop or Agent.

    check_task(MyTask(...))                    # interface, JSON, determinism, truth by code, holdout
    check_loop(MyLoop(...), MyTask(...))       # ends by name, replays, survives kills, keeps to its budget
    check_agent(MyAgent(...))                  # answers of the wanted type, calls paid and labelled

Each raises `Nonconforming`, whose text lists everything that is wrong, and returns None if nothing is.
"""

import dataclasses
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import TypeAdapter

from looper.agents.policy import Policy
from looper.budget import Budget, Ledger, Price
from looper.errors import Interruption
from looper.execution import execute
from looper.journal import Event, Journal
from looper.run import Run
from looper.stage import Stage
from looper.tasks.dial import Dial
from looper.trial import Findings, Nonconforming, Trial, plain
from looper.types import TERMINAL, Agent, Call, Loop, Outcome, Question, Reply, Usage

__all__ = ["Nonconforming", "check_agent", "check_loop", "check_task"]

TASK = (
    "goal", "criteria", "prepare", "answer", "observe", "probes", "classify", "policies", "apply", "quantity",
    "feedback", "key", "evaluate", "conclude", "describe", "render", "parse", "policy",
)  # fmt: skip
"""What every task has (looper.tasks.environment.Task)."""
DECODED = ("prepare", "observe", "apply", "evaluate", "conclude", "parse")
"""Methods whose declared return type a journal decodes to."""
# Tasks


def check_task(task: Any, *, hidden: Sequence[str] = ()) -> None:
    """Raises Nonconforming. `hidden` are texts of the holdout that no role may ever see, such as a hidden test."""
    found = Findings()
    missing = [name for name in TASK if not hasattr(task, name)]
    found.want(not missing, f"the interface lacks {', '.join(missing)}")
    found.close(task)
    for name in DECODED:
        found.want("return" in get_type_hints(getattr(task, name)), f"{name}: no return type is declared")
    with _holdout_watched(task, found):
        seen = Trial(task, found).walk()
    told = json.dumps(plain(seen))
    for text in hidden:
        found.want(json.dumps(text)[1:-1] not in told, f"the holdout's {text[:40]!r} is where roles can see it")
    found.close(task)


@contextmanager
def _holdout_watched(task: Any, found: Findings) -> Iterator[None]:
    """The holdout is for the end of a run alone: whoever asks for it during a walk is told."""
    if not hasattr(task, "holdout"):
        yield
        return

    def told(artifact: str) -> Any:
        found.want(False, "holdout: was measured before the end")
        return type(task).holdout(task, artifact)

    object.__setattr__(task, "holdout", told)
    try:
        yield
    finally:
        object.__delattr__(task, "holdout")


# Loops


class _Killed(BaseException):
    """Stands for a death of the process."""


class _Mortal(Journal):
    """A journal whose process dies before its n-th new line."""

    def __init__(self, path: Path, left: int):
        self.left = left
        super().__init__(path, sync=False)

    def append(self, event: Event, *, lazy: bool = False) -> Event:
        if self.left == 0:
            raise _Killed
        self.left -= 1
        return super().append(event, lazy=lazy)


class _Everybody:
    """A cast of policies; keeps which roles were asked."""

    def __init__(self, design: Any) -> None:
        self.design = design
        self.roles: set[str] = set()

    def agent(self, role: str, step: str, task: Any) -> Agent:
        self.roles.add(role)
        return Policy(self.design)


def check_loop(loop: Any, task: Any, *, budget: Budget | None = None, kills: int = 12) -> None:
    """Raises Nonconforming. `budget` should let the loop come to an end; `kills` moments of death are tried."""
    found = Findings()
    for name in ("name", "roles"):
        found.want(hasattr(loop, name), f"the interface lacks {name}")
    found.want(isinstance(loop, Loop), "the interface lacks run(task, run)")
    found.close(loop)
    with tempfile.TemporaryDirectory() as place:
        _check_runs(found, loop, task, budget or default_budget(), Path(place), kills)
    found.close(loop)


def _check_runs(found: Findings, loop: Any, task: Any, budget: Budget, place: Path, kills: int) -> None:
    journal, cast = Journal(place / "whole.jsonl", sync=False), _Everybody(loop)
    whole = _run(loop, task, journal, budget, cast)
    steps = _finished(journal)
    _check_end(found, whole, cast, {*loop.roles, *getattr(task, "roles", {})})
    again = _run(loop, task, journal, budget)
    found.want(again == whole, "replay: a whole journal leads to another outcome")
    found.want(_finished(journal) == steps, "replay: a whole journal is not enough, new steps were taken")
    for at in range(0, len(steps), max(1, len(steps) // kills)):
        _check_kill(found, (whole, steps), lambda j: _run(loop, task, j, budget), place / f"{at}.jsonl", at)
    for account in ("inner", "outer"):
        poor = _run(loop, task, Journal(), dataclasses.replace(budget, **{account: 0.0}))
        found.want(poor.status in TERMINAL | {"paused"}, f"without {account} units: the end has no name")


def _check_end(found: Findings, whole: Outcome, cast: _Everybody, declared: set[str]) -> None:
    found.want(whole.status in TERMINAL | {"paused"}, f"the run ends as {whole.status!r}")
    found.want(
        whole.status != "completed" or whole.passed, "completed: the gate is not met by the best state (SPEC 0.1)"
    )
    found.want(whole.score is None or whole.artifact is not None, "a score is reported without its artifact (SPEC 0.3)")
    strange = ", ".join(sorted(cast.roles - declared))
    found.want(not strange, f"roles: {strange} is asked but not declared")


def _check_kill(found: Findings, want: Any, run: Callable[[Journal], Outcome], path: Path, at: int) -> None:
    try:
        run(_Mortal(path, at))
    except _Killed:
        journal = Journal(path, sync=False)
        found.want(run(journal) == want[0], f"killed before step {at + 1}: resumes to another outcome")
        found.want(_finished(journal) == want[1], f"killed before step {at + 1}: resumes with other steps")


def _run(loop: Any, task: Any, journal: Journal, budget: Budget, cast: Any = None) -> Outcome:
    events = getattr(loop, "events", {})
    return execute(loop, Run(Stage(task, cast or _Everybody(loop), journal, Ledger(budget), events=events)))


def _finished(journal: Journal) -> list[tuple[str, str]]:
    """Keys and inputs of the steps, sorted: branches side by side may end in any order."""
    return sorted((event.key, event.inputs) for event in journal.events if event.key)


def default_budget() -> Budget:
    """Document 004's prices and caps."""
    planning = {name: Price(outer=2.0) for name in ("plan", "replan", "evaluate")}
    acting = Price(outer=2.0, policy=Price(inner=0.1))
    cheap = {"probe": Price(inner=0.05), "decide": Price(inner=0.1), "apply": Price(inner=0.005)}
    return Budget(prices={**planning, **cheap, "act": acting})


# Agents


class _Till:
    """A ledger's side of an agent's attempts."""

    def __init__(self) -> None:
        self.opened, self.calls = 0, list[Call]()

    @contextmanager
    def attempt(self, label: str, worst: Usage) -> Iterator["_Till"]:
        self.opened += 1
        yield self

    def settle(self, call: Call) -> None:
        self.calls.append(call)


def check_agent(agent: Any) -> None:
    """Raises Nonconforming. The agent is asked, twice, to plan the smallest task: where a dial should start.

    An agent may decline by an Interruption of looper's (a person who is waited for, a budget), never by another error.
    """
    found, task = Findings(), Dial()
    found.want(isinstance(agent, Agent), "the interface lacks answer(question)")
    found.want(isinstance(getattr(agent, "kind", "model"), str), "kind: is no text")
    found.close(agent)
    replies = [_asked(found, agent, task) for _ in range(2)]
    if getattr(agent, "kind", "model") in ("policy", "recording", "simulated"):
        found.want(replies[0] == replies[1], "the same question at the same place of a run is answered in two ways")
    found.close(agent)


def _asked(found: Findings, agent: Any, task: Dial) -> Reply | None:
    till = _Till()
    question = Question(
        role="planner", step="plan", key="plan.1", context=dict(task.prepare()), returns=task.answer("plan"), task=task,
        attempt=till.attempt,
    )  # fmt: skip
    try:
        reply = agent.answer(question)
    except Interruption as declined:
        found.want(declined.reason, "declines without a reason")
        return None
    found.want(till.opened == len(till.calls), "an attempt was opened and not settled")
    if not found.want(isinstance(reply, Reply), "the answer is no Reply"):
        return None
    TypeAdapter(Reply).dump_json(reply)
    found.want(isinstance(reply.value, question.returns), f"the answer is no {question.returns.__name__}")
    found.want(
        reply.by or hasattr(agent, "kind"), "nobody can tell who answered: give the reply `by` or the agent `kind`"
    )
    return reply
