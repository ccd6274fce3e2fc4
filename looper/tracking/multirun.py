"""A sweep as MLflow's parent run is told of it: its manifest on disk, and the sums over its children (SPEC 6.1)."""

import json
import secrets
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from looper.journal import write_whole
from looper.tracking.locking import locked

LOCK = ".sweep.lock"
MANIFEST = "sweep.json"
"""In a sweep's folder: what the cells alone do not tell."""
MEANS = {"gate_score": "mean_score", "holdout_score": "mean_holdout", "seconds": "mean_seconds"}
UNITS = ("inner_units", "outer_units", "usd", "model_calls")
ENDED = ("completed", "stopped", "failed")


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """One sweep."""

    name: str
    id: str
    """Tells two sweeps of one name apart, e.g. in a store that several outputs folders share."""
    experiment: str = "none"
    cells: int = 0
    """Cells of the last command; 0: not known."""
    left: int = 0
    """Cells that the last command has not begun; all of them while it is under way."""
    overrides: tuple[str, ...] = ()


def manifest(folder: Path) -> Manifest:
    """That of a sweep's folder; one that only knows the name if there is none."""
    try:
        data = json.loads((folder / MANIFEST).read_bytes())
        return Manifest(**{**data, "overrides": tuple(data.get("overrides", ()))})
    except (FileNotFoundError, ValueError, TypeError):  # a folder of an older looper, or the file was spoiled
        return Manifest(name=folder.name, id="")


def record(folder: Path, **known: Any) -> None:
    """Write the manifest of a sweep's folder anew; its id stays. Raises Paused if it cannot be written."""
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / LOCK, 10.0):  # else two commands that begin one sweep at once give it two ids
        before = manifest(folder)
        data = {**vars(before), "id": before.id or secrets.token_hex(8), **known}
        write_whole(folder / MANIFEST, (json.dumps(data, indent=2) + "\n").encode())


Child = tuple[Mapping[str, str], Mapping[str, float]]
"""Tags and metrics of a run."""


def standing(children: Sequence[Child], left: int) -> str:
    """The status of a sweep as a whole: running, interrupted, paused or completed."""
    states = {tags.get("status", "running") for tags, _ in children}
    if "running" in states:
        return "running"
    if left or "interrupted" in states:
        return "interrupted"
    return "paused" if "paused" in states else "completed"


def totals(children: Sequence[Child], cells: int) -> dict[str, float]:
    """The parent's metrics: counts, units in all, and by design the share completed and the means of what ended."""
    states = [tags.get("status", "running") for tags, _ in children]
    found: dict[str, float] = {"cells": cells or len(children), "runs": len(children)}
    known = {*states, "completed", "stopped", "failed", "paused", "aborted"}  # none is none, not what was logged before
    found |= {status: states.count(status) for status in sorted(known)}
    found |= {unit: sum(metrics.get(unit, 0.0) for _, metrics in children) for unit in UNITS}
    for design in sorted({tags.get("design", "none") for tags, _ in children}):
        own = [child for child in children if child[0].get("design", "none") == design]
        found |= {f"{design}/{name}": value for name, value in _of_design(own).items()}
    return {name: float(value) for name, value in found.items()}


def _of_design(children: Sequence[Child]) -> dict[str, float]:
    ended = [child for child in children if child[0].get("status") in ENDED]
    if not ended:
        return {}
    found = {"completed_share": statistics.fmean(tags["status"] == "completed" for tags, _ in ended)}
    names = {**MEANS, **{unit: f"mean_{unit}" for unit in UNITS}}
    for metric, name in names.items():
        known = [metrics[metric] for _, metrics in ended if metric in metrics]
        if known:
            found[name] = statistics.fmean(known)
    return found
