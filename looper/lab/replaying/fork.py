"""Continue a copy of a run from one of its steps with other settings, and pay only what comes after (SPEC 6.5).

parent    s1 - s2 - s3 - s4 - ...                         is only read
fork      run_started(forked) - s1 - s2 - forked - resumed - s3' - ...

The steps before STEP are copied into a journal with a hash chain of its own; the event `forked` names the parent, the
step and the hash of the last line that is shared. Their cost counts against the caps, as in any resumed run, and is
told as `inherited`: the fork itself has paid only the rest. Before a fork is made its shared part is walked under the
new settings, without a model call or an effect: what does not lead to STEP any more is refused.
"""

import dataclasses
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from looper.budget import SLACK, total
from looper.console.blocks import amount
from looper.errors import ConfigError, ReplayMismatch
from looper.folder import Folder
from looper.journal import Event, is_reference, seal, write_whole
from looper.lab.replaying.carry import alone, begun, carry, renamed
from looper.lab.replaying.cut import Cut, cut_at
from looper.lab.replaying.record import Record
from looper.lab.replaying.rehearsal import How
from looper.lab.replaying.replay import at_work, walk
from looper.parts import Parts, build, versions
from looper.redact import redact
from looper.stage import rounds_of
from looper.types import Outcome


class Forked(BaseModel):
    """Where a run comes from: the payload of the event `forked`, and `forked` of its `run_started`."""

    parent: str
    """Id of the run that it is a fork of."""
    at: str
    """Key of the first step that is the fork's own."""
    line: int
    """Lines of the parent's journal that are shared."""
    head: str
    """Hash of the last of them."""
    steps: int
    """Steps that were copied."""
    settings: dict[str, str] = {}
    """What was set otherwise, as it was given."""
    inherited: dict[str, float] = {}
    """What the copied steps cost, by account; it was paid by the parent, once."""


@dataclass(frozen=True)
class Settings:
    """The configuration of the parent, and what the fork changes in it."""

    config: Mapping[str, Any]
    given: Mapping[str, str]
    amend: Callable[[Mapping[str, Any], Mapping[str, str]], dict[str, Any]]
    """`amend(config, given)` is the configuration with `budget.outer=12` and such in it."""
    allowed: Sequence[str] = ()

    def with_(self, given: Mapping[str, str]) -> dict[str, Any]:
        return {**self.amend({**self.config, "until": None}, given), "record": None}


def fork(parent: Folder, target: Path, at: str, settings: Settings) -> Forked:
    """Make the fork's folder `target`, ready to be run. The parent is not changed.

    Raises RunLocked if the parent is running, JournalDamaged if it was changed, ConfigError for a step that it does not
    have or a setting that changes what lies before the step.
    """
    with parent.read():
        record = Record.of(parent, torn=True)
        cut = cut_at(record, at)
        _check(record, cut, settings)
        config = settings.with_(settings.given)
        try:
            return _made(record, cut, target, config, settings)
        except BaseException:
            shutil.rmtree(target, ignore_errors=True)  # it has no journal yet, so it is nobody's run
            raise


def _made(record: Record, cut: Cut, target: Path, config: Mapping[str, Any], settings: Settings) -> Forked:
    target.mkdir(parents=True)
    carry(record.folder, target, measured=True, apart=False)
    renamed(target, record.name)
    for event in cut.events:
        if is_reference(event.payload):
            record.payload(event)  # is as it was written, or the fork is refused
            (target / "blobs").mkdir(exist_ok=True)
            shutil.copy2(record.folder / "blobs" / event.payload["$blob"], target / "blobs")
    text = redact(yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=False))
    write_whole(target / "config.yaml", text.encode())
    forked = Forked(
        parent=record.events[0].run_id, at=cut.key, line=cut.line, head=cut.head, steps=cut.steps,
        settings=dict(settings.given), inherited={**total(e.cost for e in cut.own), "seconds": cut.elapsed},
    )  # fmt: skip
    parts = build(config, settings.allowed)
    begun(parts.task, record.folder, target)
    begin = Event(event="run_started", payload=_setup(record, parts, forked))
    events = [begin, *cut.events, Event(event="forked", payload=forked.model_dump(), elapsed=cut.elapsed)]
    write_whole(target / "history.jsonl", chained(events, target.name))  # last: from now on it is a run
    return forked


def _setup(record: Record, parts: Parts, forked: Forked) -> dict[str, Any]:
    """What a run writes down when it begins: the parent's, with what the fork's settings change."""
    config = parts.config
    own = {
        "config_hash": parts.identity, "seed": config.get("seed"), "max_iterations": rounds_of(parts.loop),
        "model": (config.get("model") or {}).get("name"), "versions": versions(),
    }  # fmt: skip
    if any("thresholds" in key for key in forked.settings):
        criteria = parts.task.criteria
        own["criteria"] = dataclasses.asdict(criteria) | {"rules": [rule.model_dump() for rule in criteria.rules]}
    return {"forked": forked.model_dump(), **{k: v for k, v in record.setup.items() if k != "forked"}, **own}


def chained(events: Sequence[Event], run_id: str) -> bytes:
    """The lines of a new journal with these events, one after the other, from now on."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    lines, digest = [], ""
    for number, event in enumerate(events, 1):
        own = event.model_copy(update={"seq": number, "ts": now, "run_id": run_id})
        body = json.dumps(own.model_dump(mode="json"), separators=(",", ":"), allow_nan=False).encode()
        line, digest = seal(body, digest)
        lines.append(line)
    return b"".join(lines)


# Whether the shared part stays as it is


def _check(record: Record, cut: Cut, settings: Settings) -> None:
    """Raises ConfigError that names the setting which changes what is before the step."""
    _affords(cut, settings)
    shared = Record(record.folder, [event for event in record.events if event.seq <= cut.line], record.hashes)
    why = _astray(shared, cut, settings, settings.given)
    if not why:
        return
    if settings.given and _astray(shared, cut, settings, {}):
        raise ConfigError(
            f"{record.name} does not lead to {cut.key} any more, whatever is set ({why}): the task's files or looper "
            f"have changed; `looper replay {record.name}` shows where."
        )
    blamed = [key for key, value in settings.given.items() if _astray(shared, cut, settings, {key: value})]
    named = " and ".join(f"{key}={settings.given[key]}" for key in blamed or settings.given)
    raise ConfigError(
        f"{named or 'the fork'}: this changes what is before {cut.key} ({why}); fork from an earlier step, or start a "
        "new run."
    )


def _affords(cut: Cut, settings: Settings) -> None:
    """Raises ConfigError for a cap of the whole run that the shared steps have used up already."""
    spent, budget = total(event.cost for event in cut.own), settings.with_(settings.given).get("budget")
    for account in ("outer", "usd", "tokens", "calls"):  # `inner` is for each planned start
        key = f"budget.{account}"
        cap = budget.get(account) if key in settings.given and isinstance(budget, Mapping) else None
        if isinstance(cap, int | float) and cap < spent.get(account, 0.0) - SLACK:
            raise ConfigError(
                f"{key}={settings.given[key]}: the steps before {cut.key} have cost {amount(spent[account])} already; "
                "give more, or fork from an earlier step."
            )


def _astray(shared: Record, cut: Cut, settings: Settings, given: Mapping[str, str]) -> str:
    """Where the run would leave the shared steps under these settings; empty if it comes to the step."""
    with tempfile.TemporaryDirectory(prefix="looper-fork-") as place:
        home = Path(place) / shared.name
        carry(shared.folder, home, measured=True, apart=True)
        parts = build(alone(settings.with_(given)), settings.allowed)
        with at_work(parts, home):
            rehearsal, ended = walk(shared, parts, How(everything=True))
    if rehearsal.differences:
        return f"{rehearsal.differences[0].key} would be asked or done with other inputs"
    if isinstance(ended, ReplayMismatch):
        return str(ended)
    missed = next((key for key in rehearsal.order if key not in rehearsal.reached), None)
    if missed is None:
        return "" if rehearsal.beyond or not isinstance(ended, Outcome) else f"the run would end as {ended.reason}"
    turned = f"to {rehearsal.beyond[0]}" if rehearsal.beyond else "to its end"
    return f"instead of {missed} it would come {turned}"
