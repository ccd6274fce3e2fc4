"""One run and its image in MLflow: what was logged, what is missing, and how to make up for it (SPEC 6.1)."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from looper.folder import Folder
from looper.redact import redact
from looper.tracking.files import artifacts, parameters
from looper.tracking.locking import locked
from looper.tracking.multirun import manifest
from looper.tracking.record import Record
from looper.tracking.store import Place, Store, digest
from looper.tracking.tail import Tail

SETTLED = 2.0
"""Seconds after the last event after which a run's files are taken to be written."""
LOCK = "mirror.lock"
"""In a run's folder: held by the one process that mirrors it."""


class Shadow:
    """One run in MLflow, as far as it was logged."""

    def __init__(self, folder: Path, place: Place, tags: Mapping[str, str] | None = None):
        self.folder, self.place, self.extra = folder, place, dict(tags or {})
        self.tail = Tail(folder / "history.jsonl")
        self.record = Record(folder, spans=place.spans)
        self.run: Any = None
        self.logged = 0
        """Journal lines that MLflow knows."""
        self.known: dict[str, str] = {}
        """Tags as MLflow has them."""
        self.touched = time.monotonic()
        self.wrote = False

    @property
    def sweep(self) -> Path | None:
        """Folder of the multirun that this run belongs to: outputs/sweeps/SWEEP of outputs/sweeps/SWEEP/CELL."""
        parent = self.folder.resolve().parent
        return parent if parent.parent == self.place.outputs.resolve() / "sweeps" else None

    def advance(self, store: Store, *, last: bool = False) -> bool:
        """Log what is new; whether that was all. `last` says that nobody looks again."""
        for event in self.tail.read():
            self.record.take(event)
            self.touched = time.monotonic()
        if not self.tail.first:
            return last
        if self.run is None:
            self._find(store)
        self._log(store)
        over = last or (self.record.status != "running" and time.monotonic() - self.touched > SETTLED)
        if over:
            self._finish(store, last)
        return over

    def _find(self, store: Store) -> None:
        run = store.find(**{"looper__journal": self.tail.first})
        if run is None:
            tags = dict(self.extra)
            if self.sweep:
                known = manifest(self.sweep)
                tags |= {"sweep": known.name, "experiment": known.experiment}
                tags["mlflow.parentRunId"] = store.sweep(self.sweep)
            run = store.begin(self.record, self.tail.first, tags)
            self.wrote = True
        self.known = dict(run.data.tags)
        self.logged = int(self.known.get("looper.seq", 0))
        store.parameters(run, parameters(self.folder))
        self.run = run

    def _log(self, store: Store) -> None:
        if self.record.seq <= self.logged:
            self.record.points.clear()
            return
        new = [point for point in self.record.points if point.seq > self.logged]
        store.log(self.run.info.run_id, new)
        if self.record.status == "running" and self.known.get("looper.marked", "running") != "running":
            self._mark(store, "running")
        self._tag(store, {**self.record.tags, "looper.seq": str(self.record.seq)})
        self.logged = self.record.seq
        self.record.points.clear()

    def _tag(self, store: Store, tags: Mapping[str, str]) -> None:
        changed = {name: value for name, value in tags.items() if self.known.get(name) != value}
        if changed:
            store.log(self.run.info.run_id, tags=changed)
            self.known.update(changed)
            self.wrote = True

    def _finish(self, store: Store, last: bool) -> None:
        run_id = self.run.info.run_id
        texts = artifacts(self.folder)
        found = digest(texts)
        if self.known.get("looper.files") != found:
            store.artifacts(run_id, texts)
            self._tag(store, {"looper.files": found})
        status = self.record.status
        if last and status == "running" and not Folder(self.folder).alive():
            status = "interrupted"
        self._tag(store, {**self.record.tags, "status": status})  # what an older looper did not tell is made up for
        if self.known.get("looper.marked") != status:
            self._mark(store, status)
        if self.place.traces and self.record.over and "looper.trace" not in self.known:
            self._tag(store, {"looper.trace": store.trace(run_id, self.record)})

    def _mark(self, store: Store, status: str) -> None:
        store.mark(self.run.info.run_id, status, self.record.ended)
        self._tag(store, {"looper.marked": status})


def brief(error: Exception) -> str:
    """One short line without secrets."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return redact(f"{type(error).__name__}: {lines[0]}"[:160]) if lines else type(error).__name__


@dataclass
class Synced:
    """What `sync` found."""

    written: list[str] = field(default_factory=list)
    """Runs of which something was missing in MLflow, and is there now."""
    same: list[str] = field(default_factory=list)
    """Runs that were complete."""
    failed: dict[str, str] = field(default_factory=dict)
    """What went wrong, by run."""


def sync(place: Place, folders: Sequence[Path]) -> Synced:
    """Bring these runs in MLflow up to date. Raises whatever MLflow raises if its store cannot be opened at all."""
    found = Synced()
    store = Store(place)
    sweeps: dict[Path, bool] = {}
    for folder in folders:
        shadow = Shadow(folder, place)
        try:
            with locked(folder / LOCK, 1.0):
                shadow.advance(store, last=True)
        except Exception as error:  # the boundary: one run that cannot be logged must not keep the others from it
            found.failed[folder.name] = brief(error)
            continue
        (found.written if shadow.wrote else found.same).append(folder.name)
        if shadow.sweep and shadow.run is not None:
            sweeps[shadow.sweep] = sweeps.get(shadow.sweep, False) or shadow.wrote
    for sweep, wrote in sorted(sweeps.items()):
        if wrote or store.unfinished(sweep):  # a mirror may have been killed before it closed the parent
            store.close_sweep(sweep)
    return found
