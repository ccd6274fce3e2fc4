"""The one place that talks to MLflow. Explicit ids only; nothing here is called from the process of a run."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from looper.errors import LooperError
from looper.tracking.files import spelled
from looper.tracking.locking import locked
from looper.tracking.multirun import LOCK, manifest, standing, totals
from looper.tracking.record import MLFLOW_STATUS, Point, Record
from looper.tracking.steps import Step

ENVIRONMENT = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ASYNC_TRACE_LOGGING": "false",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "GIT_PYTHON_REFRESH": "quiet",
}
"""Set before MLflow is imported: no telemetry, short time-outs (a server that is down blocks 247 s by default)."""
LOCK_WAIT = 60.0
"""Seconds to wait for another process that creates or upgrades the same database (2 s of work on an idle machine)."""
BATCH = 100
"""Parameters or tags that MLflow takes at once."""
METRICS = 1000
"""Metrics that MLflow takes at once."""


@dataclass(frozen=True)
class Place:
    """Where runs are mirrored to."""

    outputs: Path
    uri: str
    experiment: str
    traces: bool
    spans: int

    @property
    def database(self) -> Path | None:
        """The file of a SQLite store, else None."""
        scheme, _, path = self.uri.partition(":///")
        return Path(path) if scheme == "sqlite" else None


def quiet() -> None:
    """Set what MLflow reads from the environment; what the user has set stays."""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)


class Store:
    """An experiment in an MLflow store. Raises what MLflow and its drivers raise; the mirror counts it."""

    def __init__(self, place: Place):
        quiet()
        import mlflow

        self.place = place
        self._parents: dict[Path, str] = {}
        mlflow.set_tracking_uri(place.uri)
        if place.database is None:
            self.client, self.experiment = self._open()
            return
        # Two processes that create or upgrade one SQLite database together break it (STACK, MLflow).
        with locked(place.database.with_name(f".{place.database.name}.lock"), LOCK_WAIT):
            self.client, self.experiment = self._open()

    def _open(self) -> tuple[Any, str]:
        from mlflow import MlflowClient

        client = MlflowClient(self.place.uri)
        found = client.get_experiment_by_name(self.place.experiment)
        if found is None:
            return client, client.create_experiment(self.place.experiment, artifact_location=self._artifacts())
        if found.lifecycle_stage != "active":
            raise LooperError(
                f"tracking.experiment: `{self.place.experiment}` was deleted in MLflow; restore it or name another."
            )
        return client, found.experiment_id

    def _artifacts(self) -> str | None:
        """Beside a SQLite database; by default MLflow would take the folder one happens to stand in."""
        database = self.place.database
        return (database.parent.resolve() / "mlartifacts").as_uri() if database else None

    def find(self, **tags: str) -> Any:
        """The run with these tags, or None."""
        query = " and ".join(f"tags.`{name.replace('__', '.')}` = '{value}'" for name, value in tags.items())
        found = self.client.search_runs([self.experiment], query, max_results=1)
        return found[0] if found else None

    def begin(self, record: Record, identity: str, tags: Mapping[str, str]) -> Any:
        """A new run for this record; its own tags win, for `sync` knows no others."""
        known = {**tags, **record.tags, "looper.journal": identity, "looper.run_id": record.tags.get("run_id", "")}
        known |= {"mlflow.source.name": "looper", "mlflow.source.type": "LOCAL"}
        return self.client.create_run(self.experiment, start_time=record.started, tags=known, run_name=title(known))

    def log(self, run_id: str, points: Sequence[Point] = (), tags: Mapping[str, str] | None = None) -> None:
        from mlflow.entities import Metric, RunTag

        for start in range(0, len(points), METRICS):
            part = points[start : start + METRICS]
            self.client.log_batch(run_id, metrics=[Metric(p.name, p.value, p.at, p.step) for p in part])
        if tags:
            self.client.log_batch(run_id, tags=[RunTag(name, value[:5000]) for name, value in tags.items()])

    def parameters(self, run: Any, values: Mapping[str, str]) -> None:
        """Log those that are not there yet: MLflow refuses to change one."""
        from mlflow.entities import Param

        new = [Param(name, value) for name, value in values.items() if name not in run.data.params]
        for start in range(0, len(new), BATCH):
            self.client.log_batch(run.info.run_id, params=new[start : start + BATCH])

    def artifacts(self, run_id: str, texts: Mapping[str, str]) -> None:
        for name, text in texts.items():
            self.client.log_text(run_id, text, name)

    def mark(self, run_id: str, status: str, ended: int | None) -> None:
        """Set MLflow's status of a run."""
        if MLFLOW_STATUS[status] == "RUNNING":
            self.client.update_run(run_id, status="RUNNING")
        else:
            self.client.set_terminated(run_id, MLFLOW_STATUS[status], end_time=ended)

    def sweep(self, folder: Path) -> str:
        """The parent run of the sweep in this folder: found again, or made."""
        known = manifest(folder)
        if folder in self._parents:
            return self._parents[folder]
        named = {"looper.sweep": known.name, "design": "sweep"} | ({"looper.sweep_id": known.id} if known.id else {})
        with locked(folder / LOCK, LOCK_WAIT):  # else two commands that begin one sweep at once make two parents
            found = self.find(**{name.replace(".", "__"): value for name, value in named.items()})
            if found is None:
                tags = {**named, "run_id": known.name, "experiment": known.experiment}
                tags |= {"status": "running", "mlflow.source.name": "looper"}
                found = self.client.create_run(self.experiment, tags=tags, run_name=f"sweep {known.name}")
        self._parents[folder] = found.info.run_id
        return found.info.run_id

    def open_sweep(self, folder: Path) -> None:
        """Say that the sweep is under way, again perhaps."""
        parent = self.sweep(folder)
        self.client.update_run(parent, status="RUNNING")
        self.log(parent, tags={"status": "running"})

    def unfinished(self, folder: Path) -> bool:
        """Whether the parent run says that the sweep is under way."""
        return self.client.get_run(self.sweep(folder)).info.status == "RUNNING"

    def close_sweep(self, folder: Path) -> None:
        """Give the parent run its sums, its status, and its end if no child is running."""
        parent, known = self.sweep(folder), manifest(folder)
        found = self.client.search_runs(
            [self.experiment], f"tags.mlflow.parentRunId = '{parent}'", max_results=10_000
        )  # fmt: skip
        children = [(child.data.tags, child.data.metrics) for child in found]
        now = int(datetime.now(UTC).timestamp() * 1000)
        sums = totals(children, known.cells)
        self.log(parent, [Point(spelled(name), value, now, 0, 0) for name, value in sums.items()])
        status = standing(children, known.left)
        self.log(parent, tags={"status": status})
        if status != "running":
            self.client.set_terminated(parent, MLFLOW_STATUS[status], end_time=now)

    def trace(self, run_id: str, record: Record) -> str:
        """A trace with a span per step, nested as the steps' keys are; its id. Made once for a run."""
        import mlflow

        if known := self._trace_of(run_id):
            return known

        begin, end = record.started * 1_000_000, (record.ended or record.started) * 1_000_000
        root = mlflow.start_span_no_context(
            f"{record.tags.get('task')} {record.tags.get('design')}", span_type="AGENT", experiment_id=self.experiment,
            start_time_ns=begin, inputs={"run_id": record.tags.get("run_id", "")},
            metadata={"mlflow.sourceRun": run_id},
            attributes={"steps": str(len(record.steps)), "steps_not_shown": str(record.skipped)},
        )  # fmt: skip
        Branch("", list(record.steps)).grow(root)
        outputs = {"status": record.status, "reason": record.tags.get("reason", "")}
        root.end(outputs=outputs, status="ERROR" if record.status == "failed" else "OK", end_time_ns=max(end, begin))
        if known := self._trace_of(run_id):
            return known
        raise LooperError("the trace was not stored; mirror.log has MLflow's reason")  # it only warns of it

    def _trace_of(self, run_id: str) -> str:
        found = self.client.search_traces(
            locations=[self.experiment], run_id=run_id, max_results=1, include_spans=False
        )
        return found[0].info.trace_id if found else ""


class Branch:
    """The steps below one part of the key (`iteration.2/`), in the order in which they ended."""

    def __init__(self, path: str, steps: list[Step]):
        self.path, self.steps = path, steps

    def grow(self, parent: Any) -> None:
        """Add a span for every step and every part of a key to the span `parent`."""
        parts: dict[str, list[Step]] = {}
        for step in self.steps:
            name = step.key[len(self.path) :].partition("/")[0]
            parts.setdefault(name, []).append(step)
        for name, steps in parts.items():
            for step in steps:
                if step.key == self.path + name:
                    self._leaf(parent, step)
            below = [step for step in steps if step.key != self.path + name]
            if below:
                self._limb(parent, name, below)

    def _limb(self, parent: Any, name: str, steps: list[Step]) -> None:
        import mlflow

        span = mlflow.start_span_no_context(
            name, span_type="CHAIN", parent_span=parent, start_time_ns=min(step.begin for step in steps)
        )
        Branch(f"{self.path}{name}/", steps).grow(span)
        span.end(end_time_ns=max(step.end for step in steps))

    def _leaf(self, parent: Any, step: Step) -> None:
        import mlflow

        attributes: dict[str, Any] = {"key": step.key, "by": step.by, "cost": step.cost}
        if any(step.tokens):
            used = {"input_tokens": step.tokens[0], "output_tokens": step.tokens[1], "total_tokens": sum(step.tokens)}
            attributes["mlflow.chat.tokenUsage"] = used
        span = mlflow.start_span_no_context(
            step.name, span_type="LLM" if any(step.tokens) else "TOOL", parent_span=parent, inputs=step.inputs,
            attributes=attributes, start_time_ns=step.begin,
        )  # fmt: skip
        span.end(outputs=step.outputs, status="OK" if step.ok else "ERROR", end_time_ns=step.end)


def digest(texts: Mapping[str, str]) -> str:
    """Changes when a file does."""
    whole = hashlib.blake2b(digest_size=8)
    for name, text in sorted(texts.items()):
        whole.update(f"{name}\0{text}\0".encode("utf-8", "replace"))
    return whole.hexdigest()


def title(tags: Mapping[str, str]) -> str:
    """What a list of runs calls one: task, design with the outer loop around it, seed."""
    outer = tags.get("outer", "none")
    design = tags.get("design") if outer == "none" else f"{tags.get('design')} under {outer}"
    return f"{tags.get('task')} {design} {tags.get('seed')}"
