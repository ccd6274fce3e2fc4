"""Runs as the laboratory reads them, without running anything."""

from pathlib import Path
from typing import Any

import pandas as pd

from looper.lab.data.frame import frame_of
from looper.lab.data.known import Known
from looper.tracking.multirun import record

SETTINGS = {
    "task._target_": "looper.tasks.dial.Dial", "task.low": "30.0", "budget.inner": "20.0", "budget.outer": "6.0",
    "budget.prices.plan.outer": "2.0", "model.name": "offline", "seed": "0", "outputs": "outputs",
}  # fmt: skip


def known(design: str = "adaptive", task: str = "dial", seed: int = 0, **changes: Any) -> Known:
    """One run; `tags`, `metrics` and `settings` are laid over what it has by itself, other names over its fields."""
    tags = {
        "design": design, "task": task, "seed": str(seed), "outer": "none", "status": "completed", "reason": "stable",
        "phase": "A", "checks": "c0ffee", "checks_given": "c0ffee", "checks_by": "code", "fillers": "policy 3",
        "version.looper": "0.1.0", "version.litellm": "1.0", "sweep": "none", "model": "offline",
    }  # fmt: skip
    metrics = {
        "gate_score": 1.0, "gate_score_on_all_rules": 1.0, "gate_passed": 1.0, "inner_units": 2.0, "outer_units": 4.0,
        "usd": 0.0, "tokens": 0.0, "model_calls": 0.0, "seconds": 0.1, "iterations": 3.0,
    }  # fmt: skip
    name = changes.pop("name", f"{task}-{design}-{seed}")
    tags |= changes.pop("tags", {})
    metrics = {key: value for key, value in (metrics | changes.pop("metrics", {})).items() if value is not None}
    settings = {**SETTINGS, "seed": str(seed), "loop._target_": f"looper.{design}", **changes.pop("settings", {})}
    return Known(
        name=name, where=changes.pop("where", f"nowhere/{name}"), tags=tags, metrics=metrics, settings=settings,
        started=changes.pop("started", 1000 + seed), **changes,
    )  # fmt: skip


def frame(*runs: Known) -> pd.DataFrame:
    return frame_of(runs)


def both(*changed: Known, seeds: int = 2, designs: tuple[str, ...] = ("adaptive", "baseline")) -> pd.DataFrame:
    """Each design on `seeds` seeds of one task; a changed run takes the place of the one of its name."""
    runs = {run.name: run for run in (known(design, seed=seed) for design in designs for seed in range(seeds))}
    return frame_of([*(runs | {run.name: run for run in changed}).values()])


def sweep_of(folder: Path, overrides: tuple[str, ...]) -> None:
    """What a sweep's folder says of its command."""
    record(folder, name=folder.name, overrides=overrides, cells=2, left=0)
