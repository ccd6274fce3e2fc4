"""A journal that is not written but held against: each step of a replay is compared with the one on record (SPEC 6.5).

find(key) --not on record--> the end of what is known, or a difference
          --an answer of a role, or an effect that cannot be repeated--> the record
          --anything else--> computed anew --append--> compared; the run goes on with the recorded value
"""

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import to_jsonable_python

from looper.budget import Ledger
from looper.errors import Aborted, BudgetExceeded, Interruption, LooperError, Paused, StopRequested
from looper.journal import Event, Journal
from looper.lab.replaying.differing import CLOCK, LEFT, alike, plain
from looper.lab.replaying.record import Record

PERSONS = ("user_stop", "user_abort")
"""Ends that came from outside the run, beside all pauses."""
CARRIED = ("waiting", "note", "account")
"""Facts of an interruption that the design's own do not hold."""


class Diverged(LooperError):
    """A step is not as recorded; what differs is in `Rehearsal.differences`."""


class Beyond(LooperError):
    """The record of a run that was broken off has no more."""


@dataclass(frozen=True)
class Difference:
    """Where a replay left its record."""

    key: str
    """Of the step; `outcome` for the end of the run."""
    what: str
    """inputs, event, value, cost, new, missing, form or outcome."""
    recorded: Any
    now: Any
    at: int
    """Number of the step on record, from 1."""

    def same_as(self, other: "Difference | None") -> bool:
        return other is not None and (self.key, self.what, self.now) == (other.key, other.what, other.now)


@dataclass
class Seen:
    """What was repeated, and how."""

    computed: Counter[str] = field(default_factory=Counter)
    """Effects, policies, decisions: what was computed anew and is the same."""
    answers: Counter[str] = field(default_factory=Counter)
    """Answers from the record, by who gave them."""
    kept: Counter[str] = field(default_factory=Counter)
    """Effects and decisions from the record, by the name of their step."""


@dataclass(frozen=True)
class How:
    """What a rehearsal takes from the record besides the answers of people, models and their stand-ins."""

    effects: bool = True
    """Whether effects are computed anew at all."""
    kept: frozenset[str] = frozenset()
    """Names of steps whose effect is taken from the record all the same."""
    everything: bool = False
    """Whether nothing at all is computed: only the way through the steps is walked."""
    timed: bool = False
    """Whether the run had a time limit, which may have turned its decisions."""
    places: Mapping[str, str] = field(default_factory=dict)
    """Folders of the two runs, and what stands for them."""


class Lenient(Ledger):
    """A ledger that refuses nothing while it is told to: under an earlier budget that nobody knows any more."""

    lenient = False

    def _short(self, bill: Mapping[str, float], kept: Mapping[str, float]) -> str | None:
        return None if self.lenient else super()._short(bill, kept)


class Rehearsal(Journal):
    """Hands out what is on record, and compares what is computed anew. Lives in memory; safe for threads."""

    def __init__(self, record: Record, ledger: "Lenient", how: How):
        super().__init__(run_id=record.events[0].run_id)
        self.record, self.ledger, self.how = record, ledger, how
        self.order = {key: number for number, key in enumerate(record.steps, 1)}
        self.reached: set[str] = set()
        self.beyond: list[str] = []
        self.differences: list[Difference] = []
        self.seen = Seen()
        self.wanted: dict[str, list[str]] = {}
        """Addresses that a step wanted to connect to while it was computed, by its name."""
        self._computing: dict[str, str] = {}
        self._mutex = threading.Lock()
        self._settled = 0 if how.everything else record.resumed

    # What the run asks for

    def find(self, key: str, inputs: str) -> Event | None:
        """The recorded step, or None if it is to be computed. Raises Diverged, Beyond, or how the run was ended."""
        event = self.record.steps.get(key)
        if event is None:
            raise self._no_more(key)
        with self._mutex:
            self.reached.add(key)
            self.ledger.lenient = self._earlier(event)
        if event.inputs and event.inputs != inputs:
            raise self._differs(event, "inputs", event.inputs, inputs)
        if event.by not in ("", "policy"):
            return self._given(event, self.seen.answers, event.by)
        if self._is_kept(event):
            return self._given(event, self.seen.kept, event.step)
        with self._mutex:
            self._computing[key] = event.step
        return None

    def append(self, event: Event, *, lazy: bool = False) -> Event:
        """Compare a step that was computed; what is returned is the recorded one, times and all."""
        known = self.record.steps[event.key]
        with self._mutex:
            self._computing.pop(event.key, None)
        if not self._compare(known, event):
            return self._given(known, self.seen.kept, known.step)
        kind = "policy" if known.by else "decision" if self._decides(known) else "effect"
        return self._given(known, self.seen.computed, kind)

    def heard(self, where: str) -> None:
        """A step that is being computed wanted to go to this address, which was refused."""
        with self._mutex:
            for name in self._computing.values():
                self.wanted.setdefault(name, []).append(where)

    # What is on record

    def _given(self, event: Event, count: Counter[str], what: str) -> Event:
        found = event.model_copy(update={"payload": self.record.payload(event)})
        with self._mutex:
            count[what] += 1
            self._index(found)
        return found

    def _decides(self, event: Event) -> bool:
        """Whether this is a decision about the budget or a note: neither an answer nor an effect."""
        return event.step == "affords" or event.event == event.step

    def _is_kept(self, event: Event) -> bool:
        """Whether the record has the last word: what is not to be repeated, and what a clock or a budget that is not
        known any more has decided."""
        if self.how.everything:
            return True
        refused = event.event == "budget_refused"
        if refused and (self._earlier(event) or self._timed(event)):
            return True
        if event.by or self._decides(event):
            return False
        return not self.how.effects or event.step in self.how.kept

    def _earlier(self, event: Event) -> bool:
        """Whether it was made before the last resume, perhaps under another budget."""
        return event.seq < self._settled

    def _timed(self, event: Event) -> bool:
        return self.record.payload(event).get("reason") == "time_limit"

    def _no_more(self, key: str) -> LooperError:
        """The end of the record: as a person, time or the disk ended it; else a step too many."""
        with self._mutex:
            self.beyond.append(key)
        ending = self.record.ending
        if ending is None:
            return Beyond(key)
        outcome = self.record.outcome
        if ending.event == "paused" or outcome["reason"] in PERSONS:
            return _ended(ending.event, outcome)
        if "sweep_budget" in (outcome.get("facts") or {}):  # what other runs of its sweep had spent
            return BudgetExceeded(outcome["facts"].get("detail", ""))
        return self._differs(Event(event="", key=key), "new", None, key)

    # What came now

    def _compare(self, known: Event, now: Event) -> bool:
        """Whether it is the same; False where the record holds although it is not. Raises Diverged."""
        if (known.event, known.status) != (now.event, now.status) and not self._either(known):
            raise self._differs(known, "event", self._story(known), self._story(now))
        skip = CLOCK | LEFT if self._either(known) else CLOCK
        before = plain(self.record.payload(known), self.how.places, skip)
        after = plain(self._stow(now), self.how.places, skip)
        if before != after and not self._by_another_clock(known, before):
            raise self._differs(known, "value", before, after)
        if not alike(known.cost, now.cost):
            raise self._differs(known, "cost", known.cost, now.cost)
        return before == after

    def _story(self, event: Event) -> Any:
        payload = self.record.payload(event) if event.seq else to_jsonable_python(event.payload)
        return {"event": event.event, "payload": plain(payload, self.how.places)}

    def _either(self, event: Event) -> bool:
        """Whether what is left of the budget may be another amount: under an earlier one, or in a race of branches."""
        return self._earlier(event) or "parallel." in event.key

    def _by_another_clock(self, event: Event, before: Any) -> bool:
        """Whether a decision about the budget may turn the other way now, for reasons that are not the run's own."""
        return event.step == "affords" and (self._either(event) or (self.how.timed and before is False))

    def _differs(self, event: Event, what: str, recorded: Any, now: Any) -> Diverged:
        at = self.order.get(event.key, len(self.order) + 1)
        with self._mutex:
            self.differences.append(Difference(event.key, what, recorded, now, at))
        return Diverged(event.key)


def _ended(status: str, outcome: Mapping[str, Any]) -> Interruption:
    """What ended the run from outside, again."""
    facts = outcome.get("facts") or {}
    own = {name: facts[name] for name in CARRIED if name in facts}
    kind = {"paused": Paused, "stopped": StopRequested, "aborted": Aborted}[status]
    return kind(facts.get("detail", ""), outcome["reason"], **own)
