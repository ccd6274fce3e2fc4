"""The most that a run can take, from caps, unit prices and what one call can cost at worst."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from looper.agents.cast import Seats
from looper.lab.roles import ASKED
from looper.parts import Parts
from looper.run import KEPT_PROMPT
from looper.tasks.environment import AskedProbe
from looper.types import Usage

UNPAID = ("offline", "policy", "human", "recording")
"""Fillers that make no calls."""
EARLIER = 3
"""Earlier answers that a question holds at most: a program, a plan or critique, and what was refused."""
Seated = tuple[str, str, Any]
"""Role, step and agent of a question."""
AMOUNTS = ("calls", "tokens", "usd", "seconds")


@dataclass(frozen=True)
class Amount:
    """What runs may take; None: not known."""

    calls: float | None = 0.0
    tokens: float | None = 0.0
    usd: float | None = 0.0
    seconds: float | None = 0.0

    @classmethod
    def summed(cls, parts: Iterable["Amount"]) -> "Amount":
        """Account by account; one that is not known makes the sum unknown."""
        every = list(parts)
        columns = {name: [getattr(part, name) for part in every] for name in AMOUNTS}
        return cls(**{name: None if None in column else math.fsum(column) for name, column in columns.items()})


def bounds(parts: Parts) -> tuple[Amount, list[str]]:
    """The most that a run can take, and on what that rests. Raises ConfigError for a model without a price."""
    seated = metered(parts)
    seconds = parts.budget.seconds or None
    if not seated:
        return Amount(seconds=seconds), []
    calls = most_calls(parts, {step for _, step, _ in seated})
    caps = parts.budget.caps()
    tokens, usd = (_least(caps.get(name), _dearest(parts.task, seated, calls, name)) for name in ("tokens", "usd"))
    return Amount(calls, tokens, usd, seconds), _notes(parts, seated, calls)


def _dearest(task: Any, seated: Sequence[Seated], calls: float | None, name: str) -> float | None:
    """What so many calls take at most, if each is the dearest there can be at its place in the run."""
    if calls is None:
        return None
    first = {step: question_bytes(task, step) for _, step, _ in seated}
    asked = {(first[step], id(agent)): (first[step], agent) for _, step, agent in seated}.values()
    most = [max(getattr(worst_call(*one, place), name) for one in asked) for place in range(EARLIER + 1)]
    return math.fsum(most[:EARLIER][: int(calls)]) + max(0.0, calls - EARLIER) * most[EARLIER]


def worst_call(first: int | None, agent: Any, place: int) -> Usage:
    """The most that the call at this place of a run can cost, from 0 on: its question holds what was answered before.

    first: bytes of the question where the task says how long it is at first; None: it has KEPT_PROMPT.
    """
    length = KEPT_PROMPT if first is None else first + min(place, EARLIER) * getattr(agent, "max_tokens", 0)
    return agent.worst_case([{"role": "user", "content": " " * length}])


def question_bytes(task: Any, step: str) -> int | None:
    """Bytes of a first question as the task knows them; None where it does not."""
    known = getattr(task, "question_bytes", None)
    return known(step) if known else None


def _notes(parts: Parts, seated: Sequence[Seated], calls: float | None) -> list[str]:
    caps = parts.budget.caps()
    notes = []
    if calls is None:
        notes.append("no cap bounds the number of calls; give budget.calls=... or budget.usd=...")
    elif "calls" not in caps:
        notes.append("calls are bounded by units; those that fail before any token are not counted")
    real = any(getattr(agent, "kind", "model") == "model" for *_, agent in seated)
    if real and not {"usd", "tokens"} <= caps.keys() and calls is not None:
        known = [question_bytes(parts.task, step) is not None for _, step, _ in seated]
        if not all(known):
            notes.append(
                f"without a cap a prompt is taken to have at most {KEPT_PROMPT:,} bytes; budget.usd=... is certain"
            )
        if any(known):
            notes.append(
                f"a question holds at most {EARLIER} earlier answers, of full length; a token has at least one byte"
            )
    return notes


def metered(parts: Parts) -> list[Seated]:
    """Role, step and agent of all questions that are answered by calls that cost tokens."""
    model, seats = parts.config.get("model") or {"name": "offline"}, parts.config.get("agents") or {}
    cast = Seats(model, seats, confirmed=True, design=parts.loop)
    asked = [*_of_design(parts.loop), *_of_task(parts.task)]
    paid = [one for one in asked if ((seats.get(one[0]) or {}).get("model") or model["name"]) not in UNPAID]
    known = [(role, step, cast.agent(role, step, parts.task)) for role, step in dict.fromkeys(paid)]
    return [(role, step, agent) for role, step, agent in known if getattr(agent, "metered", False)]


def _of_design(loop: Any) -> Iterator[tuple[str, str]]:
    """Role and step of a design's own questions."""
    told = getattr(loop, "steps", {})
    for role in getattr(loop, "roles", {}):
        for step in told.get(role) or ASKED.get(role, (role,)):
            yield role, step


def _of_task(task: Any) -> Iterator[tuple[str, str]]:
    """Role and step of what a task has asked: its probes, and the writer behind a policy."""
    for probe in task.probes():
        if isinstance(probe, AskedProbe):
            yield probe.role, probe.step
    if hasattr(task, "work"):
        yield "writer", "write"


def most_calls(parts: Parts, steps: Iterable[str]) -> float | None:
    """Calls that caps and unit prices allow at most; None if nothing bounds them."""
    budget, caps = parts.budget, parts.budget.caps()
    prices = [budget.price(step) for step in steps]
    bound: dict[str, float | None] = {}
    for account in ("outer", "inner"):
        own = [price[account] for price in prices if account in price and (account == "outer" or "outer" not in price)]
        cap = caps.get(account)
        bound[account] = 0.0 if not own else None if cap is None else math.floor(cap / min(own) + 1e-9)
    replan = budget.price("replan").get("outer")
    if bound["inner"] and replan and "outer" in caps:  # a replan refills the inner account
        bound["inner"] *= 1 + math.floor(caps["outer"] / replan)
    free = any(not price for price in prices)
    units = None if free or None in bound.values() else sum(value or 0.0 for value in bound.values())
    return _least(caps.get("calls"), units)


def _least(*values: float | None) -> float | None:
    return min((value for value in values if value is not None), default=None)


def _times(count: float | None, each: float) -> float | None:
    return None if count is None else count * each
