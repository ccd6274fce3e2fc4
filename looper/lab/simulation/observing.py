"""What the journals of runs show of work on rules and of calls: counts, for `looper.lab.simulation.fitting`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from looper.build import locate
from looper.console.story import config_of
from looper.errors import ConfigError
from looper.folder import Folder
from looper.journal import Event, load_payload, read
from looper.lab.roles import ASKED
from looper.types import Call

DESCENT = ("adaptive", "random_walk", "baseline", "reflex")
"""Designs whose artifact has one line of descent."""
DRAWS = ("once", "retry", "best_of", "cascade")
"""Designs of which every evaluation is that of a fresh draft."""
ATTEMPTS = ("call_started", "call_done")


@dataclass
class Tally:
    """Counts of one kind of event."""

    yes: int = 0
    n: int = 0

    def add(self, happened: bool) -> None:
        self.yes, self.n = self.yes + happened, self.n + 1


@dataclass
class Seen:
    """What was counted over all runs."""

    rates: dict[tuple[str, str], Tally] = field(default_factory=dict)
    """By parameter and rule; the rule is empty for all together."""
    calls: dict[str, list[Call]] = field(default_factory=dict)
    """By role."""
    rules: list[dict[str, Any]] = field(default_factory=list)
    """The rules of the first run."""

    def count(self, parameter: str, happened: bool, rule: str = "") -> None:
        for name in {"", rule}:
            self.rates.setdefault((parameter, name), Tally()).add(happened)


def observe(place: Path, seen: Seen) -> None:
    """Add what the run in a folder shows. Raises ConfigError where there is none, JournalDamaged for a changed one."""
    events = read(Folder(place).history).events
    if not events:
        raise ConfigError(f"{place}: there is no journal of a run here.")
    setup = load_payload(place, events[0])
    seen.rules = seen.rules or list(setup["criteria"]["rules"])
    roles = _roles(config_of(Folder(place)))
    for event in events:
        if event.key and event.event not in ATTEMPTS and event.calls:
            seen.calls.setdefault(roles.get(event.step, event.step), []).extend(event.calls)
    if setup["design"] in (*DESCENT, *DRAWS):
        _Walk(place, setup, seen).over(events)


def _roles(config: Mapping[str, Any]) -> dict[str, str]:
    """Role by step: as the design says, else as it is usual."""
    loop = locate(str((config.get("loop") or {}).get("_target_")), "loop")
    told = {role: getattr(loop, "steps", {}).get(role) or ASKED.get(role, ()) for role in getattr(loop, "roles", {})}
    return {step: role for known in (ASKED, told) for role, steps in known.items() for step in steps}


class _Walk:
    """The evaluations of one run in order, and what was done between two of them."""

    def __init__(self, place: Path, setup: Mapping[str, Any], seen: Seen):
        self.place, self.seen, self.design = place, seen, setup["design"]
        self.phases = [phase["name"] for phase in setup["criteria"]["phases"]]
        self.rules = setup["criteria"]["rules"]
        self.before: tuple[set[str], set[str]] | None = None
        """Active and failed rules of the last evaluation."""
        self.fresh = self.changed = False
        """Whether the artifact is as it was drafted; whether it was changed since the last evaluation."""
        self.judged: set[str] = set()
        """Rules of this draft that were judged."""
        self.named: set[str] = set()

    def over(self, events: Iterable[Event]) -> None:
        for event in events:
            if event.event == "evaluation_done":
                self.evaluated(load_payload(self.place, event))
            elif event.step == "observe":
                self.fresh, self.changed, self.judged, self.before = self.design != "baseline", False, set(), None
            elif event.step == "apply":
                self.changed = True
            elif event.step in ("critique", "decide") and event.by and event.event not in ATTEMPTS:
                self.told(event.step, load_payload(self.place, event))

    def evaluated(self, verdict: Mapping[str, Any]) -> None:
        upto = self.phases[: self.phases.index(verdict["phase"]) + 1]
        active, failed = {rule["id"] for rule in self.rules if rule["phase"] in upto}, set(verdict["failed"])
        from_nothing = self.design == "baseline" and self.before is not None and self.before[0] == self.before[1]
        if self.changed and from_nothing:
            self.drafted(active, failed)
        elif self.changed and self.before:
            self.moved(active & self.before[0], failed)
        elif self.fresh and not self.changed:
            self.drafted(active - self.judged, failed)
        self.fresh = self.fresh and not self.changed
        self.judged |= active
        self.before, self.changed, self.named = (active, failed), False, set()

    def drafted(self, rules: Iterable[str], failed: set[str]) -> None:
        for rule in sorted(rules):
            self.seen.count("satisfy", rule not in failed, rule)

    def moved(self, common: set[str], failed: set[str]) -> None:
        """What a change did to the rules that were judged before and after it."""
        were = self.before[1] if self.before else set[str]()
        for rule in sorted(common):
            if rule in were:
                self.seen.count("repair" if rule in self.named else "unnamed", rule not in failed, rule)
            else:
                self.seen.count("damage", rule in failed, rule)

    def told(self, step: str, answer: Mapping[str, Any]) -> None:
        """Whom a critique or a policy names; a critique may overlook what failed, and name what did not."""
        if step == "decide":
            self.named |= {str((answer.get("action") or {}).get("rule"))}
            return
        issues, failed = {issue["rule"] for issue in answer["issues"]}, self.before[1] if self.before else set[str]()
        self.seen.count("wrong", bool(issues - failed))
        if issues <= failed:  # else it is sent back, and another one counts
            for rule in sorted(failed) if len(failed) > 1 else ():  # a single one cannot be overlooked
                self.seen.count("miss", rule not in issues)
            self.named |= issues
