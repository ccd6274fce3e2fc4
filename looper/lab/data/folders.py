"""Runs told from their folders: the journal is the truth, read once, its hash chain checked on the way."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from looper.errors import ConfigError, LooperError
from looper.folder import Folder
from looper.lab.data.known import Known, settings_in
from looper.tracking.multirun import MANIFEST, manifest
from looper.tracking.record import Record
from looper.tracking.tail import Tail

SWEEPS = "sweeps"


def known_below(path: Path) -> list[Known]:
    """The runs of a run's, a sweep's or an outputs folder. Raises ConfigError if there is none."""
    if (path / "history.jsonl").is_file():
        return [known_in(path)]
    found = [file.parent for pattern in ("*", f"{SWEEPS}/*/*") for file in path.glob(f"{pattern}/history.jsonl")]
    runs = [known_in(folder) for folder in sorted(found)]
    runs += [known for sweep in (path, *sorted(path.glob(f"{SWEEPS}/*"))) for known in _never_begun(sweep)]
    if not runs:
        raise ConfigError(
            f"{path}: there is no run in this folder or below it; give a run, a sweep or an outputs folder."
        )
    return runs


def known_in(path: Path) -> Known:
    """One run; what is wrong with its record is told in `trouble`."""
    known = Known(name=path.name, where=str(path))
    try:
        record = read_record(path)
        known.settings = settings_in(path / "config.yaml")
    except (LooperError, ValueError, KeyError, yaml.YAMLError) as error:
        known.trouble = f"its record cannot be read ({str(error)[:200]})"
        return known
    status = record.status
    if status == "running" and not Folder(path).alive():
        status = "interrupted"
    known.tags = {**record.tags, "status": status, "sweep": _sweep_of(path)}
    known.metrics, known.started = _final(record), record.started
    return known


def read_record(path: Path) -> Record:
    """All that a journal tells. Raises JournalDamaged."""
    record = Record(path, spans=0)
    for event in Tail(path / "history.jsonl").read():
        record.take(event)
    return record


def _final(record: Record) -> dict[str, float]:
    """The last value of each metric."""
    return {point.name: point.value for point in record.points}


def _sweep_of(path: Path) -> str:
    parent = path.resolve().parent
    return manifest(parent).name if parent.parent.name == SWEEPS else "none"


def _never_begun(sweep: Path) -> Iterator[Known]:
    """Cells that the sweep's last command could not begin, from its table of results."""
    file = sweep / "results.json"
    if not (sweep / MANIFEST).is_file() or not file.is_file():
        return
    try:
        rows: list[dict[str, Any]] = json.loads(file.read_bytes())
    except ValueError as error:
        raise ConfigError(
            f"{file}: is not JSON any more; run the sweep's command again, or delete the file."
        ) from error
    for row in rows:
        begun = row.get("status") not in ("not run", "not begun")
        if not begun and not (sweep / Path(row["folder"]).name / "history.jsonl").is_file():
            named = {name: str(row.get(name)) for name in ("task", "design", "seed")}
            told = {"status": row["status"], "reason": str(row.get("reason", "")), "sweep": manifest(sweep).name}
            yield Known(name=Path(row["folder"]).name, where=row["folder"], tags={**named, **told})


def evaluations_in(path: Path) -> list[dict[str, float]]:
    """Every verdict of a run with its step and what was spent up to it. Raises JournalDamaged."""
    return read_record(path).evaluated
