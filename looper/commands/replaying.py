"""The commands replay and fork: a run once more without a model call, and a run that goes on from a step (SPEC 6.5)."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from looper.commands.ending import remove, settings_of
from looper.commands.request import Request, changed
from looper.commands.resuming import play
from looper.commands.shelf import pick
from looper.console.blocks import amount
from looper.console.screen import brief, plain
from looper.errors import ConfigError
from looper.folder import Folder
from looper.journal import read
from looper.parts import user_packages

if TYPE_CHECKING:
    from looper.lab.replaying.replay import Replayed

FROM = "--from-record"


def replay(request: Request) -> int:
    """Repeat a run and say where it differs from its record. 0: nowhere; 1: somewhere."""
    from looper.lab.replaying.replay import replay as repeat

    folder = pick(request.outputs, request.name)
    kept = [name for name in request.settings.get("from_record", "").split(",") if name]
    config = settings_of(folder, request.outputs)
    found = repeat(folder, config, user_packages(), effects=FROM not in request.flags, kept=kept)
    request.screen.say(json.dumps(card(found)) if request.as_json else "\n".join(lines(found)))
    return 0 if found.identical else 1


def card(found: "Replayed") -> dict[str, Any]:
    """What a replay found, for scripts."""
    seen, other = found.rehearsal.seen, found.difference
    return {
        "run": found.run, "identical": found.identical, "steps": found.steps, "same": found.same,
        "ended": found.over, "computed": dict(seen.computed),
        "from_record": {"answers": dict(seen.answers), "effects": dict(seen.kept)},
        "network": sorted(found.rehearsal.wanted), "cost_on_record": found.cost, "cost": {}, "model_calls": 0,
        "divergence": None if other is None else {
            "step": other.key, "number": other.at, "what": other.what, "recorded": other.recorded, "now": other.now,
            "causes": found.causes,
        },
    }  # fmt: skip


def lines(found: "Replayed") -> list[str]:
    """The same for people."""
    head = f"{found.run}: {found.same} of {found.steps} steps are the same"
    if found.difference is None:
        tail = ", and so is the end." if found.over else "; it was broken off there, or is still under way."
        return [head + tail, *_how(found)]
    return [*_diverged(found), *_how(found)]


def _how(found: "Replayed") -> list[str]:
    seen = found.rehearsal.seen
    told = [f"  computed anew: {_counted(seen.computed)}"]
    told += [f"  answers from the record: {_counted(seen.answers)}"] if seen.answers else []
    told += [f"  effects from the record: {_counted(seen.kept)}"] if seen.kept else []
    told += [f"  wanted the network, which is blocked: {', '.join(sorted(found.rehearsal.wanted))}"] * bool(
        found.rehearsal.wanted
    )
    spent = ", ".join(f"{account} {amount(value)}" for account, value in sorted(found.cost.items())) or "nothing"
    return [*told, f"  cost: nothing, no model was called; on record: {spent}"]


def _counted(count: "Counter[str]") -> str:
    return ", ".join(f"{brief(name, 60)} {number}" for name, number in count.most_common()) or "nothing"


def _diverged(found: "Replayed") -> list[str]:
    from looper.lab.replaying.differing import diff

    other = found.difference
    assert other is not None
    told = {
        "inputs": "it was given other inputs", "event": "it ended otherwise", "value": "its value differs",
        "cost": "its price differs", "new": "it is not on record", "form": "its value cannot be read",
        "missing": f"it was not reached; the run came to {other.now or 'its end'} instead",
        "outcome": "the run ends otherwise",
    }[other.what]  # fmt: skip
    head = f"{found.run}: differs from its record at {brief(other.key, 200)}, step {other.at} of {found.steps}: {told}"
    shown = diff(other.recorded, other.now) if other.what in ("inputs", "event", "value", "cost", "outcome") else []
    shown = [plain(str(other.now))] if other.what == "form" else shown
    return [
        head,
        f"  the {found.same} steps before it are the same",
        *(["  recorded (-) and now (+):"] if shown else []),
        *(f"    {plain(line)}" for line in shown),
        "  may be the cause:",
        *(f"    - {plain(cause)}" for cause in found.causes),
    ]


def fork(request: Request) -> int:
    """Continue a copy of a run from a step with other settings."""
    from looper.lab.replaying.fork import Settings
    from looper.lab.replaying.fork import fork as make

    at = request.options.get("--at")
    if not at:
        raise ConfigError(
            "fork: say from where: --at STEP, a step key, iteration.N or last; `looper history` has them."
        )
    given = dict(request.settings)
    _refuse(given)
    parent = pick(request.outputs, request.name)
    settings = Settings(settings_of(parent, request.outputs), given, changed, user_packages())
    target = Folder(request.outputs.root / fork_name(parent.path.name))
    made = make(parent, target.path, at, settings)
    paid = ", ".join(f"{account} {amount(value)}" for account, value in sorted(made.inherited.items())) or "nothing"
    request.screen.warn(
        f"fork of {made.parent} at {made.at}: {made.steps} steps are shared, which cost {paid} and are not paid again."
    )
    try:
        return play(request, target, {}, {}, reached=False)
    except ConfigError:
        events = read(target.history).events
        shared = next(event.seq for event in events if event.event == "forked")
        if not any(event.key for event in events[shared:]):  # refused before its first step of its own
            remove(target, request.outputs)
        raise


def fork_name(parent: str) -> str:
    """The folder of a fork: that of the run it comes from, of a fork's too, and the time."""
    from looper.sweeps.names import stamp

    return f"{re.sub(r'-fork-[0-9]{8}-[0-9]{6}-[0-9a-f]{4}$', '', parent)}-fork-{stamp()}"


def _refuse(given: Mapping[str, str]) -> None:
    """Raises ConfigError for what would make another run of it."""
    for key in given:
        if key == "loop":
            raise ConfigError(
                "loop: a fork keeps its design, whose steps are on record; set loop.KEY=..., or start anew."
            )
        if key.split(".")[0] == "task" and "thresholds" not in key.split("."):
            raise ConfigError(
                f"{key}: what the run is about lies before every step; of the task a fork may change thresholds only "
                "(task.criteria_template.thresholds.A=0.9). Start a new run."
            )
