"""Repeat a run offline, without any model call, and hold each step against its record (SPEC 6.5).

From the record: answers of models, people, recordings and simulations, and what cannot or must not be repeated: effects
over the network, delivery into the user's own folder, and what a task or a design names in `outside`. Computed anew:
all other effects, the answers of policies, decisions about the budget, notes, the gate, the outcome. The first step
that comes out otherwise is told. It all happens in a temporary folder, with the network blocked.
"""

import contextlib
import dataclasses
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from looper.agents.cast import Seats
from looper.agents.policy import Policy
from looper.budget import total
from looper.errors import ConfigError, ReplayMismatch
from looper.execution import execute
from looper.folder import Folder
from looper.lab.replaying import causes
from looper.lab.replaying.carry import alone, carry
from looper.lab.replaying.differing import plain
from looper.lab.replaying.offline import offline
from looper.lab.replaying.record import Record
from looper.lab.replaying.rehearsal import Beyond, Difference, Diverged, How, Lenient, Rehearsal
from looper.parts import Parts, build, hidden_on_all
from looper.run import Run
from looper.stage import Stage
from looper.types import Agent, Outcome, Question, Reply

NEVER = frozenset({"deliver"})
"""A step that writes into the user's own folder."""
HERE = "(folder of the run)"
OUTCOME = "outcome"
OTHERS = ("waiting", "sweep_budget")
"""Facts of an outcome that are told by who runs the design."""
TRIES = 8
"""Replays at most until all steps that want the network are known."""


ELSEWHERE = object()
"""Stands for the store of episodes: there is one, and what was read from it and written is on record."""


class Understudy:
    """Whoever answered then, by kind; only the answers of policies are given anew."""

    def __init__(self, kind: str, agent: Agent | None, design: Any):
        self.kind, self._agent, self._design = kind, agent, design
        self.metered = bool(getattr(agent, "metered", False))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._agent, name)

    def answer(self, question: Question) -> Reply:
        return Policy(self._design).answer(question)


@dataclass
class Understudies:
    """A cast that asks nobody. Who filled a role is told by the record where that is plain, else by the settings."""

    seats: Seats
    record: Record
    design: Any

    def __post_init__(self) -> None:
        self._by: dict[str, set[str]] = {}
        for event in self.record.steps.values():
            if event.by:
                self._by.setdefault(event.step, set()).add("policy" if event.by == "policy" else "else")

    def agent(self, role: str, step: str, task: Any) -> Agent:
        agent: Any = None
        with contextlib.suppress(ConfigError):  # a seat that nobody can fill today may have been filled then
            agent = self.seats.agent(role, step, task)
        kind = getattr(agent, "kind", "model")
        known = self._by.get(step, set())
        if known == {"policy"}:
            kind = "policy"
        elif known and "policy" not in known and kind == "policy":
            kind = "model"
        return Understudy(kind, agent if kind != "policy" else None, self.design)


@dataclass
class Replayed:
    """What a replay found."""

    run: str
    steps: int
    """Steps on record."""
    same: int
    """Steps that are the same, up to the first difference if there is one."""
    rehearsal: Rehearsal
    difference: Difference | None = None
    causes: list[str] = field(default_factory=list)
    """What may have led to it, the likeliest first."""
    over: bool = True
    """Whether the run on record has come to an end, or to a pause."""

    @property
    def identical(self) -> bool:
        return self.difference is None

    @property
    def cost(self) -> dict[str, float]:
        """What the run cost then, by account; a replay costs nothing."""
        return total(event.cost for event in self.rehearsal.record.steps.values())


def replay(
    folder: Folder, config: Mapping[str, Any], allowed: Sequence[str] = (), *, effects: bool = True,
    kept: Collection[str] = (),
) -> Replayed:  # fmt: skip
    """Repeat the run in `folder`, whose settings are `config`.

    `kept` names steps whose effect is taken from the record; without `effects` all are. Raises JournalDamaged for a
    journal that was changed or ends in half a line, ConfigError if the task cannot be built any more.
    """
    record = Record.of(folder)
    strange = set(kept) - {event.step for event in record.steps.values()}
    if strange:
        names = sorted({event.step for event in record.steps.values() if not event.by})
        raise ConfigError(f"from_record={strange.pop()}: {record.name} has no such step; it has {', '.join(names)}.")

    def once(names: frozenset[str]) -> Replayed:
        return _Attempt(record, alone(config), allowed, How(effects=effects, kept=names)).go()

    names, found = frozenset(kept), once(frozenset(kept))
    for _try in range(TRIES):
        wanted = found.rehearsal.wanted.keys() - names
        if found.identical or not wanted:
            break
        names |= wanted  # what wants the network cannot be repeated: its value is the recorded one
        found = once(names)
    if found.difference:
        again = once(names).difference
        steady = found.difference.same_as(again)
        found.causes = causes.likely(record, build(config, allowed), found.difference, steady)
    return found


class _Attempt:
    """One repetition."""

    def __init__(self, record: Record, config: Mapping[str, Any], allowed: Sequence[str], how: How):
        self.record, self.config, self.allowed, self.how = record, config, allowed, how

    def go(self) -> Replayed:
        with tempfile.TemporaryDirectory(prefix="looper-replay-") as place, opened(self, Path(place)) as parts:
            rehearsal, ended = walk(self.record, parts, self._settled(parts, Path(place)))
        return self._told(rehearsal, ended)

    def _settled(self, parts: Parts, place: Path) -> How:
        places = {str(path): HERE for path in (self.record.folder.absolute(), self.record.folder, place)}
        kept = self.how.kept | NEVER | outside(parts)
        return dataclasses.replace(self.how, kept=kept, timed=bool(parts.budget.seconds), places=places)

    def _told(self, rehearsal: Rehearsal, ended: "Outcome | ReplayMismatch | None") -> Replayed:
        record, found = self.record, min(rehearsal.differences, key=lambda one: one.at, default=None)
        steps = len(record.steps)
        if found is None:
            found = _left(rehearsal, ended) or _end(rehearsal, ended)
        same = found.at - 1 if found else steps
        return Replayed(record.name, steps, same, rehearsal, found, over=record.ending is not None)


@contextlib.contextmanager
def opened(attempt: _Attempt, place: Path) -> Iterator[Parts]:
    """The parts of a run, its task at work in a folder of its own."""
    home = place / attempt.record.name
    carry(attempt.record.folder, home, measured=attempt.how.everything, apart=True)
    parts = build(attempt.config, attempt.allowed)
    with at_work(parts, home):
        yield parts


@contextlib.contextmanager
def at_work(parts: Parts, home: Path) -> Iterator[None]:
    """A task that keeps files keeps them in `home`."""
    begin: Callable[[Path], None] | None = getattr(parts.task, "open", None)
    end: Callable[[], None] | None = getattr(parts.task, "close", None)
    if begin:
        begin(home)
    try:
        yield
    finally:
        if end:
            end()


def walk(record: Record, parts: Parts, how: How) -> tuple[Rehearsal, Outcome | ReplayMismatch | None]:
    """The run once more, against its record: what was held against what, and how it ended."""
    budget = dataclasses.replace(parts.budget, seconds=None)  # the clock has turned what it turned then
    ledger, config = Lenient(budget), parts.config
    rehearsal = Rehearsal(record, ledger, how)
    seats = Seats(config.get("model") or {"name": "offline"}, config.get("agents") or {}, design=parts.loop)
    cast = Understudies(seats, record, parts.loop)
    events = getattr(parts.loop, "events", {})
    stage = Stage(parts.task, cast, rehearsal, ledger, seed=config["seed"], events=events)
    stage.hidden_on_all = hidden_on_all(config)
    stage.episodes = ELSEWHERE
    with offline(rehearsal.heard):
        try:
            return rehearsal, execute(parts.loop, Run(stage))
        except (Diverged, Beyond):
            return rehearsal, None
        except ReplayMismatch as error:
            return rehearsal, error
        except Exception as error:  # the boundary: who is refused the network may raise anything
            if not rehearsal.wanted:
                raise
            return rehearsal, ReplayMismatch(str(error))


def outside(parts: Parts) -> frozenset[str]:
    """Steps whose effect lies beyond this machine or outlasts the run, so that repeating it would tell nothing."""
    named = [name for part in (parts.task, parts.loop) for name in getattr(part, "outside", ())]
    asked = getattr(parts.task, "collection", None)
    server = asked is not None and getattr(asked, "fingerprint", None) == ""  # `Backend.fingerprint`: nobody can know
    return frozenset([*named, *(("observe", "apply") if server else ())])


def _left(rehearsal: Rehearsal, ended: object) -> Difference | None:
    """The first step on record that was not reached, or one whose recorded value could not be read."""
    order = rehearsal.order
    if isinstance(ended, ReplayMismatch):
        last = max((order[key] for key in rehearsal.reached), default=1)
        key = next(key for key, number in order.items() if number == last)
        return Difference(key, "form", None, str(ended), last)
    missed = next((key for key in order if key not in rehearsal.reached), None)
    if missed is None:
        return None
    instead = rehearsal.beyond[0] if rehearsal.beyond else None
    return Difference(missed, "missing", missed, instead, order[missed])


def _end(rehearsal: Rehearsal, ended: object) -> Difference | None:
    """Whether the run came to another end."""
    record = rehearsal.record
    if record.ending is None or not isinstance(ended, Outcome):
        return None
    known, now = (_comparable(one, rehearsal) for one in (record.outcome, ended.model_dump(mode="json")))
    return None if known == now else Difference(OUTCOME, OUTCOME, known, now, len(record.steps) + 1)


def _comparable(outcome: Mapping[str, Any], rehearsal: Rehearsal) -> Any:
    facts = {name: fact for name, fact in (outcome.get("facts") or {}).items() if name not in OTHERS}
    facts["detail"] = facts.get("detail", "")
    return plain({**outcome, "facts": facts}, rehearsal.how.places)
