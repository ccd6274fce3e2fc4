"""Runs to be replayed and forked: settings as plain data, tasks that look at the world, journals that were changed."""

import hashlib
import json
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dial_runs import PRICES
from pydantic.dataclasses import dataclass

from looper.folder import Folder
from looper.journal import Event, read
from looper.lab.replaying.fork import chained
from looper.lab.replaying.replay import Replayed, replay
from looper.launch import Audience, launch
from looper.parts import build
from looper.tasks.dial import Dial, Setting, Turn
from looper.types import STRICT, Outcome

OWN = ["replayed_runs", "written_runs"]
"""Modules whose tasks a configuration may name."""
DESIGNS: dict[str, dict[str, Any]] = {
    "adaptive": {"_target_": "looper.loops.adaptive.Adaptive", "max_steps": 5},
    "baseline": {"_target_": "looper.loops.baseline.Baseline", "max_steps": 5},
    "once": {"_target_": "looper.loops.once.Once"},
    "random_walk": {"_target_": "looper.loops.random_walk.RandomWalk", "max_steps": 5},
    "reflex": {"_target_": "looper.loops.reflex.Reflex", "max_iterations": 3},
    "workflow": {"_target_": "looper.loops.workflow.Workflow", "max_fix_cycles": 1, "max_pivots": 1},
    "cabal": {"_target_": "looper.loops.cabal.Cabal", "max_rounds": 2},
}


def settings(outputs: Path, design: str = "baseline", **parts: Any) -> dict[str, Any]:
    """A configuration; `task`, `loop`, `budget`, `model`, `agents`, `seed` can be given."""
    price = {"_target_": "looper.budget.Price"}
    budget = {"_target_": "looper.budget.Budget", "prices": {step: price | units for step, units in PRICES.items()}}
    return {
        "task": {"_target_": "looper.tasks.dial.Dial", **parts.pop("task", {})},
        "loop": {**DESIGNS[design], **parts.pop("loop", {})},
        "budget": {**budget, "outer": 40.0, **parts.pop("budget", {})},
        "model": {"name": "simulated"}, "tracking": {"_target_": "looper.tracking.Tracking", "enabled": False},
        "sandbox": {}, "outputs": str(outputs), "seed": 0, "confirm": "yes", **parts,
    }  # fmt: skip


def run(path: Path, design: str = "baseline", audience: Audience | None = None, **parts: Any) -> Outcome:
    """A run in the folder `path`, below its outputs folder."""
    return go_on(path, settings(path.parent, design, **parts), audience)


def go_on(path: Path, config: Mapping[str, Any], audience: Audience | None = None, **answers: str) -> Outcome:
    return launch(build(config, OWN), path, audience=audience, answers=answers, sync=False)


def again(path: Path, **how: Any) -> Replayed:
    """A replay of the run with the settings that it has written down."""
    return replay(Folder(path), config_of(path), OWN, **how)


def config_of(path: Path) -> dict[str, Any]:
    import yaml

    return {**yaml.safe_load((path / "config.yaml").read_text()), "outputs": str(path.parent)}


def tree(path: Path) -> dict[str, str]:
    """Every file below a folder by a hash of what is in it."""
    files = (file for file in sorted(path.rglob("*")) if file.is_file())
    return {str(file.relative_to(path)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def keys(path: Path) -> list[str]:
    """The steps of a run in the order of their ends."""
    events = read(path / "history.jsonl").events
    return [event.key for event in events if event.key and event.event not in ("call_started", "call_done")]


def rewritten(path: Path, change: Callable[[Event], Event | None]) -> None:
    """The journal with other events and a chain that fits them, as if it had been written so."""
    events = [change(event) for event in read(path / "history.jsonl").events]
    run_id = path.name
    (path / "history.jsonl").write_bytes(chained([event for event in events if event is not None], run_id))
    (path / "run.json").unlink()


def planted(path: Path, key: str, change: Callable[[Any], Any]) -> None:
    """The recorded value of one step is another one, and nothing else can tell."""
    rewritten(path, lambda e: e.model_copy(update={"payload": change(e.payload)}) if e.key == key and e.payload else e)


def broken_off(path: Path, lines: int) -> None:
    """The run as if its process had been killed after so many lines."""
    whole = (path / "history.jsonl").read_bytes().splitlines(keepends=True)
    (path / "history.jsonl").write_bytes(b"".join(whole[:lines]))
    (path / "run.json").unlink()


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Remote(Dial):
    """A dial that is turned over the network."""

    url: str = ""

    def apply(self, state: Setting, action: Turn) -> Setting:
        body = json.dumps({"by": action.by}).encode()
        with urllib.request.urlopen(f"{self.url}/chat", body, timeout=5) as reply:
            gain = json.load(reply)["gain"]
        return Setting(position=state.position + action.by, reading=(state.position + action.by) * gain)


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Filed(Dial):
    """A dial whose gain lies in a file."""

    file: str = ""

    def setting(self, position: float) -> Setting:
        return Setting(position=position, reading=position * float(Path(self.file).read_text()))


COUNT: list[int] = []


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Drifting(Dial):
    """A dial whose reading depends on how often it was read in this process."""

    def setting(self, position: float) -> Setting:
        COUNT.append(1)
        return Setting(position=position, reading=position * self.gain + len(COUNT) / 1000)
