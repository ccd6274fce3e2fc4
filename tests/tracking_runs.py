"""Runs to mirror, a stand-in for MLflow that misbehaves, and a look at MLflow's database without MLflow."""

import sqlite3
from pathlib import Path
from typing import Any

from looper.launch import launch
from looper.parts import build
from looper.tracking.record import Record
from looper.tracking.tail import Tail
from looper.types import Outcome

PRICES = {
    "plan": {"_target_": "looper.budget.Price", "outer": 2.0},
    "evaluate": {"_target_": "looper.budget.Price", "outer": 2.0},
    "probe": {"_target_": "looper.budget.Price", "inner": 0.05},
    "decide": {"_target_": "looper.budget.Price", "inner": 0.1},
}


def settings(outputs: Path, design: str = "adaptive", seed: int = 0) -> dict[str, Any]:
    """A composed configuration of the smallest task."""
    kind = {"adaptive": "looper.loops.adaptive.Adaptive", "baseline": "looper.loops.baseline.Baseline"}[design]
    return {
        "task": {"_target_": "looper.tasks.dial.Dial", "low": 30.0, "high": 32.0},
        "loop": {"_target_": kind},
        "budget": {"_target_": "looper.budget.Budget", "inner": 20.0, "outer": 6.0, "prices": PRICES},
        "model": {"name": "offline"},
        "outputs": str(outputs),
        "seed": seed,
    }


def play(outputs: Path, name: str = "one", **changes: Any) -> Path:
    """A finished run; its folder."""
    run(outputs / name, outputs, **changes)
    return outputs / name


def run(folder: Path, outputs: Path, **changes: Any) -> Outcome:
    return launch(build(settings(outputs, **changes)), folder, sync=False)


def record_of(folder: Path, spans: int = 300) -> Record:
    record = Record(folder, spans=spans)
    for event in Tail(folder / "history.jsonl").read():
        record.take(event)
    return record


def cut(folder: Path, lines: int) -> None:
    """Leave the folder as if the process had been killed after so many lines."""
    whole = (folder / "history.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "history.jsonl").write_bytes(b"".join(whole[:lines]))
    (folder / "run.json").unlink(missing_ok=True)
    (folder / "artifact.md").unlink(missing_ok=True)


class Book:
    """MLflow's SQLite store, read directly."""

    def __init__(self, file: Path):
        self.file = file

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(self.file)
        try:
            return connection.execute(query, values).fetchall()
        finally:
            connection.close()

    def runs(self) -> dict[str, str]:
        """MLflow's status by MLflow's run id."""
        return dict(self.rows("select run_uuid, status from runs order by start_time"))

    def tags(self, run: str) -> dict[str, str]:
        return dict(self.rows("select key, value from tags where run_uuid = ?", run))

    def parameters(self, run: str) -> dict[str, str]:
        return dict(self.rows("select key, value from params where run_uuid = ?", run))

    def metric(self, run: str, name: str) -> dict[int, float]:
        """Values by step, the latest where there are several."""
        query = "select step, value from metrics where run_uuid = ? and key = ? order by timestamp"
        return dict(self.rows(query, run, name))

    def counts(self) -> dict[str, int]:
        """Rows by table."""
        tables = ("runs", "tags", "params", "metrics", "spans", "trace_info")
        return {table: self.rows(f"select count(*) from {table}")[0][0] for table in tables}


FAKE = """
import sqlite3, time
MODE = {mode!r}
if MODE == "absent":
    raise ModuleNotFoundError("No module named 'mlflow'")
def set_tracking_uri(uri): pass
class MlflowClient:
    def __init__(self, uri):
        if MODE == "slow":
            time.sleep(600)
        if MODE == "locked":
            raise sqlite3.OperationalError("database is locked")
    def get_experiment_by_name(self, name):
        raise RuntimeError("500 Internal Server Error")
"""


def fake_mlflow(folder: Path, mode: str) -> Path:
    """A package `mlflow` that is absent, slow, locked or broken; the folder for PYTHONPATH."""
    package = folder / mode / "mlflow"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(FAKE.format(mode=mode))
    return package.parent


FAKE_SERVER = """
import http.server, os, sys
class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"OK")
arguments = sys.argv
host, port = arguments[arguments.index("--host") + 1], int(arguments[arguments.index("--port") + 1])
print(os.environ["MLFLOW_SERVER_ENABLE_JOB_EXECUTION"], host, port, flush=True)
http.server.HTTPServer((host, port), Health).serve_forever()
"""
