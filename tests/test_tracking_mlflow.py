"""What MLflow has of a run, by MLflow itself on a SQLite store (SPEC 6.1, SAFETY P15)."""

import fcntl
import json
import os
import queue
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from sqlite3 import dbapi2

import pytest
from tracking_runs import Book, cut, play, record_of, run

from looper import tracking
from looper.errors import ConfigError, LooperError
from looper.journal import read
from looper.redact import rescan
from looper.tracking import Tracking
from looper.tracking import shadow as mirror_shadow
from looper.tracking import store as mirror_store
from looper.tracking.mirror import Session
from looper.tracking.shadow import Synced, sync
from looper.tracking.store import Place, Store, locked

pytestmark = [
    # How MLflow uses its dependencies is not ours to warn about.
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*Any type hint is inferred as AnyType"),
    pytest.mark.timeout(180),
]
CANARY = "canary-secret-98127364"


@pytest.fixture(scope="module")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A database that MLflow made: copying it is faster than making one."""
    folder = tmp_path_factory.mktemp("store")
    before = dict(os.environ)
    pytest.importorskip("mlflow")
    Store(Tracking(experiment="other").place(folder))
    yield folder / "mlflow.db"
    for name in os.environ.keys() - before.keys():
        del os.environ[name]


@pytest.fixture
def outputs(tmp_path: Path, empty_store: Path) -> Path:
    """An outputs folder with an empty store."""
    shutil.copy(empty_store, tmp_path / "mlflow.db")
    return tmp_path


@pytest.fixture
def book(outputs: Path) -> Book:
    return Book(outputs / "mlflow.db")


def mirrored(outputs: Path, *folders: Path, traces: bool = False) -> Synced:
    return sync(Tracking(traces=traces).place(outputs), folders)


def test_the_mirror_process_logs_runs_while_they_go(outputs: Path, book: Book):
    mirror = Tracking(wait=120.0, traces=False).open(outputs)
    for folder in (outputs / "one", outputs / "sweeps" / "many" / "0", outputs / "sweeps" / "many" / "1"):
        mirror.follow(folder, {"note": "mine"})
        run(folder, outputs)
    assert mirror.close() is None, (outputs / "mirror.log").read_text()
    assert list(book.runs().values()) == ["FINISHED"] * 4
    parent = next(run for run in book.runs() if book.tags(run)["design"] == "sweep")
    children = [run for run in book.runs() if book.tags(run).get("mlflow.parentRunId") == parent]
    assert len(children) == 2
    assert book.metric(parent, "completed") == {0: 2.0}
    assert all(book.tags(run).items() >= {"note": "mine", "sweep": "many"}.items() for run in children)


def test_sync_logs_parameters_metrics_tags_and_files(outputs: Path, book: Book):
    folder = play(outputs)
    assert mirrored(outputs, folder) == Synced(written=["one"])
    (only,) = book.runs()
    assert book.parameters(only)["budget.inner"] == "20.0"
    assert book.tags(only).items() >= {"status": "completed", "looper.run_id": "one"}.items()
    state = json.loads((folder / "run.json").read_text())
    assert max(book.metric(only, "score")) == state["iteration"]
    assert set(book.metric(only, "gate_score").values()) == {1.0}
    kept = outputs / "mlartifacts" / only / "artifacts"
    for name in ("config.yaml", "run.json", "history.jsonl", "artifact.md"):
        assert (kept / name).read_bytes() == (folder / name).read_bytes()


def test_a_second_sync_changes_nothing(outputs: Path, book: Book):
    folder = play(outputs)
    mirrored(outputs, folder, traces=True)
    before = book.counts()
    assert mirrored(outputs, folder, traces=True) == Synced(same=["one"])
    assert book.counts() == before
    assert before["trace_info"] == 1


def test_sync_ends_what_a_killed_process_left_running_and_resume_goes_on_in_the_same_run(outputs: Path, book: Book):
    folder = play(outputs)
    whole = record_of(folder)
    cut(folder, 40)
    mirrored(outputs, folder)
    (only,) = book.runs()
    assert (book.runs()[only], book.tags(only)["status"]) == ("KILLED", "interrupted")
    assert book.metric(only, "gate_score") == {}
    run(folder, outputs)
    mirrored(outputs, folder)
    assert book.runs() == {only: "FINISHED"}
    assert book.tags(only)["status"] == "completed"
    scores = book.rows("select step, value from metrics where run_uuid = ? and key = 'score' order by step", only)
    assert scores == [(p.step, p.value) for p in whole.points if p.name == "score"]


def test_a_changed_setting_does_not_change_a_parameter_and_a_new_one_is_added(outputs: Path, book: Book):
    folder = play(outputs)
    cut(folder, 40)
    mirrored(outputs, folder)
    text = (folder / "config.yaml").read_text().replace("inner: 20.0", "inner: 99.0", 1)
    (folder / "config.yaml").write_text(text + "confirm: true\n")
    assert mirrored(outputs, folder).failed == {}
    (only,) = book.runs()
    assert book.parameters(only).items() >= {"budget.inner": "20.0", "confirm": "true"}.items()


def test_runs_of_one_name_in_two_sweeps_stay_two(outputs: Path, book: Book):
    folders = [outputs / "sweeps" / sweep / "0" for sweep in ("a", "b")]
    for folder in folders:
        run(folder, outputs)
    mirrored(outputs, *folders)
    assert sorted(book.tags(run)["design"] for run in book.runs()) == ["adaptive", "adaptive", "sweep", "sweep"]
    assert {book.tags(run).get("sweep") for run in book.runs()} == {"a", "b", None}


def test_a_run_that_has_ended_is_free_for_another_mirror_while_the_command_goes_on(
    outputs: Path, book: Book, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(mirror_shadow, "SETTLED", -1.0)
    folder, inbox = play(outputs), queue.Queue()
    session = Session(Tracking(traces=False).place(outputs), inbox, lambda message: None)
    inbox.put({"folder": str(folder)})
    session._receive(0.0)
    session._round()
    assert (session.shadows, session.closed) == ({}, False)
    assert list(book.runs().values()) == ["FINISHED"]
    with locked(folder / "mirror.lock", 0.0):
        assert session.complete()


def test_a_trace_has_a_span_per_step_nested_as_the_keys_are(outputs: Path, book: Book):
    folder = play(outputs)
    mirrored(outputs, folder, traces=True)
    rows = book.rows("select span_id, parent_span_id, name, start_time_unix_nano, end_time_unix_nano from spans")
    names = {row[0]: row[2] for row in rows}
    pairs = {(names.get(row[1]), row[2]) for row in rows}
    expected = [(None, "dial adaptive"), ("dial adaptive", "iteration.1"), ("iteration.1", "parallel.1")]
    assert pairs >= {*expected, ("parallel.1", "band"), ("band", "probe"), ("iteration.1", "decide")}
    steps = [e for e in read(folder / "history.jsonl").events if e.key and e.step != "affords"]
    leaves = {row[0] for row in rows} - {row[1] for row in rows}
    assert len(leaves) == len(steps)
    assert all(row[3] <= row[4] for row in rows)


@pytest.mark.parametrize("known", [False, True])
def test_no_secret_reaches_mlflow(known: bool, outputs: Path, monkeypatch: pytest.MonkeyPatch):
    folder = play(outputs)
    (folder / "config.yaml").write_text(f"model: {{name: x, note: 'use {CANARY}'}}\n")
    (folder / "patch.diff").write_text(f"+ {CANARY}\n")
    monkeypatch.setenv("SOME_API_KEY" if known else "SOMETHING", CANARY)
    rescan()
    assert mirrored(outputs, folder, traces=True).written == ["one"]
    monkeypatch.undo()
    rescan()
    files = [outputs / "mlflow.db", *(p for p in (outputs / "mlartifacts").rglob("*") if p.is_file())]
    found = [file.name for file in files if CANARY.encode() in file.read_bytes()]
    assert sorted(found) == ([] if known else ["config.yaml", "mlflow.db", "patch.diff"])  # else nothing was looked at


def test_a_locked_database_is_a_failure_by_name_and_sync_makes_up_for_it(
    outputs: Path, book: Book, monkeypatch: pytest.MonkeyPatch
):
    folder = play(outputs)
    holder = sqlite3.connect(outputs / "mlflow.db")
    patient = dbapi2.connect
    monkeypatch.setattr(dbapi2, "connect", lambda *a, **k: patient(*a, **{**k, "timeout": 0.1}))
    holder.execute("begin exclusive")
    with pytest.raises(ConfigError, match="cannot be used"):
        tracking.sync(outputs, Tracking(traces=False), [folder])
    holder.rollback()
    holder.close()
    assert mirrored(outputs, folder).written == ["one"]
    assert list(book.runs().values()) == ["FINISHED"]


def test_one_run_that_cannot_be_logged_does_not_keep_the_others_from_it(outputs: Path, book: Book):
    bad, good = play(outputs, "bad"), play(outputs, "good")
    cut(bad, 5)
    with (bad / "history.jsonl").open("ab") as file:
        file.write(b"{}\n")
    found = mirrored(outputs, bad, good)
    assert found.written == ["good"]
    assert "not what was written" in found.failed["bad"]


def test_a_run_that_a_mirror_is_at_is_left_to_it(outputs: Path, book: Book):
    folder = play(outputs)
    with locked(folder / "mirror.lock", 0.0):
        found = mirrored(outputs, folder)
    assert list(found.failed) == ["one"]
    assert book.runs() == {}


def test_the_database_is_opened_by_one_process_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty_store: Path
):
    monkeypatch.setattr(mirror_store, "LOCK_WAIT", 0.2)
    with (tmp_path / ".mlflow.db.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(LooperError, match="another process"):
            Store(Tracking().place(tmp_path))
    assert not (tmp_path / "mlflow.db").exists()


def test_a_deleted_experiment_is_named(outputs: Path):
    store = Store(Place(outputs, f"sqlite:///{outputs / 'mlflow.db'}", "gone", False, 300))
    store.client.delete_experiment(store.experiment)
    with pytest.raises(ConfigError, match="`gone` was deleted"):
        tracking.sync(outputs, Tracking(experiment="gone"), [])
