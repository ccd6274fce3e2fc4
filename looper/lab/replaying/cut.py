"""Where a run is cut for a fork: from the words of a person to the lines of the journal before that step."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from looper.errors import ConfigError
from looper.journal import Event
from looper.lab.replaying.record import QUIET, Record

LAST = "last"
BUDGET = ("budget_exhausted", "time_limit", "confirm")
"""Reasons of an end that a decision about the budget has brought."""

CLOSING = ("holdout", "deliver", "learn")
"""Steps that only say how a run has ended."""


@dataclass(frozen=True)
class Cut:
    """The part of a journal that a fork shares with its parent."""

    key: str
    """The first step that is not shared."""
    line: int
    """Lines of the parent's journal before it."""
    head: str
    """Hash of the last of these."""
    events: list[Event]
    """The steps among them and their attempts, their working time counted through."""

    @property
    def own(self) -> list[Event]:
        """The steps without lines of their attempts, whose cost they hold."""
        return [event for event in self.events if event.event not in QUIET]

    @property
    def steps(self) -> int:
        return len(self.own)

    @property
    def elapsed(self) -> float:
        """Working seconds of the shared part."""
        return max((event.elapsed for event in self.events), default=0.0)


def cut_at(record: Record, at: str) -> Cut:
    """The shared part before `at`: a step key, a scope such as `iteration.2`, or `last`. Raises ConfigError."""
    key = _last(record) if at == LAST else _named(record, at)
    line = _first_line(record, key) - 1
    before = [event for event in record.events[:line] if event.key]
    done = {event.key for event in before if event.event not in QUIET}
    if not done:
        raise ConfigError(f"--at {at}: nothing lies before {key}, so a fork would be a new run; start one.")
    through = dict(_counted(record))
    kept = [
        event.model_copy(update={"elapsed": through[event.seq]}) for event in before
        if event.key in done  # attempts of a step that is not shared were the parent's alone
    ]  # fmt: skip
    return Cut(key, line, record.hashes[line - 1], kept)


def _last(record: Record) -> str:
    """The decision that ended a run at its budget; else the last answer or effect before the end."""
    inner = [event for event in record.steps.values() if event.step not in CLOSING]
    if record.outcome.get("reason") in BUDGET:
        refused = [e for e in inner if e.event == "budget_refused" or (e.step == "affords" and e.payload is False)]
        if refused:
            return refused[-1].key
    told = [event for event in inner if event.step != "affords" and event.event != event.step]
    return told[-1].key


def _named(record: Record, at: str) -> str:
    """The key that is meant: the step itself, the first step of a scope, or of a scope within others."""
    keys = list(record.steps)
    if at in record.steps:
        return at
    scope = f"{at.rstrip('/')}/"
    found = [key for key in keys if key.startswith(scope)]
    if not found:
        inside = {key[: key.index(f"/{scope}") + len(scope)] for key in keys if f"/{scope}" in key}
        if len(inside) > 1:
            raise ConfigError(f"--at {at}: there are several, {', '.join(sorted(inside)[:6])}; give one of them.")
        found = [key for key in keys if inside and key.startswith(next(iter(inside)))]
    if found:
        return min(found, key=lambda key: _first_line(record, key))
    raise ConfigError(f"--at {at}: {record.name} has no such step; {_nearest(keys, at)}")


def _nearest(keys: list[str], at: str) -> str:
    scopes = {key[: end + 1].rstrip("/") for key in keys for end, sign in enumerate(key) if sign == "/"}
    near = difflib.get_close_matches(at, [*keys, *sorted(scopes)], 3, 0.5)
    if near:
        return f"did you mean {' or '.join(f'`{one}`' for one in near)}?"
    return f"its steps go from `{keys[0]}` to `{keys[-1]}`; `looper history` shows them all."


def _first_line(record: Record, key: str) -> int:
    """The line with which the step began: an attempt of it, or the step itself."""
    return next(event.seq for event in record.events if event.key == key)


def _counted(record: Record) -> Iterator[tuple[int, float]]:
    """By line the working time since the run began; the journal counts it anew after each resume."""
    before = segment = 0.0
    for event in record.events:
        if event.event in ("run_started", "resumed"):
            before, segment = before + segment, 0.0
        segment = max(segment, event.elapsed)
        yield event.seq, round(before + segment, 3)
