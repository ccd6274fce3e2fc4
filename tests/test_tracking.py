"""MLflow is a mirror of the journal, and never in the path of a run (SPEC 6.1, SAFETY P15 and P17)."""

import fcntl
import json
import math
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError
from tracking_runs import FAKE_SERVER, Book, cut, fake_mlflow, play, run

import looper
from looper import mirror_store, tracking
from looper.errors import ConfigError, JournalDamaged, LooperError
from looper.journal import Event, read
from looper.mirror_record import Record, Tail, parameters
from looper.mirror_shadow import Synced, sync
from looper.mirror_store import Place, Store, locked
from looper.redact import rescan
from looper.tracking import Mirror, Tracking

pytestmark = [
    # How MLflow uses its dependencies is not ours to warn about.
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*Any type hint is inferred as AnyType"),
    pytest.mark.timeout(180),
]
CANARY = "canary-secret-98127364"


def record_of(folder: Path, spans: int = 300) -> Record:
    record = Record(folder, spans=spans)
    for event in Tail(folder / "history.jsonl").read():
        record.take(event)
    return record


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An adaptive run on the dial, ended; not to be changed."""
    return play(tmp_path_factory.mktemp("finished"))


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


# What is told, without MLflow


def test_final_metrics_are_those_of_run_json(finished: Path):
    state = json.loads((finished / "run.json").read_text())
    record = record_of(finished)
    final = {p.name: p.value for p in record.points if p.seq == record.seq}
    assert final["inner_units"] == pytest.approx(state["spent"]["inner"])
    assert final["outer_units"] == pytest.approx(state["spent"]["outer"])
    assert (final["gate_score"], final["gate_passed"]) == (1.0, 1.0)
    assert final["iterations"] == state["iteration"]
    assert final["inner_steps"] == len(state["outcome"]["facts"]["log"])
    assert final["seconds"] == pytest.approx(state["elapsed"])


def test_every_iteration_has_its_score_and_what_was_spent_up_to_its_end(finished: Path):
    points = record_of(finished).points
    scores = {p.step: p.value for p in points if p.name == "score"}
    inner = [p.value for p in points if p.name == "inner"]
    last = json.loads((finished / "run.json").read_text())["iteration"]
    assert list(scores) == list(range(1, last + 1))
    assert scores[1] == 0.0
    assert scores[last] == 1.0
    assert inner == sorted(inner)
    assert inner[-1] > inner[0]


def test_the_tags_name_design_task_status_and_identity(finished: Path):
    tags = record_of(finished).tags
    setup = json.loads((finished / "run.json").read_text())["setup"]
    expected = {"design": "adaptive", "task": "dial", "status": "completed", "reason": "stable", "outer": "none"}
    assert tags.items() >= expected.items()
    assert tags.items() >= {"model": "offline", "config_hash": setup["config_hash"], "run_id": "one"}.items()


def test_failed_calls_count_before_their_step_is_done():
    record = Record(Path())
    call = Event(event="call_done", key="act.1", step="act", cost={"usd": 0.5}, iteration=1, ts="2026-01-01T00:00:00Z")
    done = call.model_copy(update={"event": "step_done", "cost": {"usd": 0.75}})
    probe = done.model_copy(update={"key": "probe.1", "step": "probe", "cost": {}})
    values = []
    for event in (call, probe, done):
        record.take(event)
        values.append(record._now.get("usd"))
    assert values == [None, 0.5, 0.75]


def test_what_is_not_finite_is_not_logged():
    record = Record(Path())
    record.take(
        Event(
            event="evaluation_done", step="gate", key="gate.1", iteration=1, ts="2026-01-01T00:00:00Z",
            payload={"score": math.inf, "passed": False, "blockers": []}, cost={"usd": math.nan},
        )
    )  # fmt: skip
    record._flush()
    assert {"gate", "blockers", "inner"} <= {p.name for p in record.points}
    assert not {"score", "usd"} & {p.name for p in record.points}


def test_a_tail_gives_each_line_once_and_waits_for_the_end_of_a_torn_one(finished: Path, tmp_path: Path):
    whole = (finished / "history.jsonl").read_bytes()
    copy = tmp_path / "history.jsonl"
    tail, seen = Tail(copy), []
    for upto in (0, 100, len(whole) // 2, len(whole) - 1, len(whole)):
        copy.write_bytes(whole[:upto])
        seen += tail.read()
    assert [event.seq for event in seen] == list(range(1, len(whole.splitlines()) + 1))
    assert tail.first == read(copy).hashes[0]


def test_a_changed_line_is_not_mirrored(finished: Path, tmp_path: Path):
    whole = (finished / "history.jsonl").read_bytes()
    (tmp_path / "history.jsonl").write_bytes(whole.replace(b'"score":0.0', b'"score":1.0', 1))
    with pytest.raises(JournalDamaged, match="not what was written"):
        Tail(tmp_path / "history.jsonl").read()


def test_parameters_are_the_settings_flat_in_the_alphabet_and_cut(tmp_path: Path):
    text = (
        "budget: {inner: 20.0, usd: null, none: {}}\nagents: {'a*b': yes}\nlong: " + "x" * 7000 + "\nlist: [1, two]\n"
    )
    (tmp_path / "config.yaml").write_text(text)
    found = parameters(tmp_path)
    assert found.items() >= {"budget.inner": "20.0", "budget.usd": "null", "budget.none": "{}"}.items()
    assert found["agents.a_b"] == "true"
    assert found["list"] == '[1, "two"]'
    assert len(found["long"]) == 6000


def test_a_trace_shows_the_first_and_the_last_half_of_many_steps(finished: Path):
    whole, part = record_of(finished), record_of(finished, spans=7)
    assert [s.key for s in part.steps] == [s.key for s in whole.steps[:3] + whole.steps[-4:]]
    assert part.skipped == len(whole.steps) - 7
    assert whole.skipped == 0


@pytest.mark.parametrize("wrong", [{"wait": -1.0}, {"wait": 601.0}, {"spans": 1}, {"experiment": ""}, {"urii": "x"}])
def test_settings_out_of_range_are_refused(wrong: dict[str, object]):
    with pytest.raises(ValidationError):
        Tracking(**wrong)  # pyright: ignore[reportArgumentType]


# Never in the path of a run (P17)


def without_clock(folder: Path) -> list[tuple[object, ...]]:
    return [(e.event, e.key, e.inputs, e.cost, e.status) for e in read(folder / "history.jsonl").events]


@pytest.fixture
def opened() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Mirrors to be ended after the test: some never end by themselves."""
    processes: list[subprocess.Popen[bytes]] = []
    yield processes
    for process in processes:
        process.kill()
        process.wait()


def started(mirror: Mirror, opened: list[subprocess.Popen[bytes]]) -> Mirror:
    assert mirror.process is not None
    opened.append(mirror.process)
    return mirror


@pytest.mark.parametrize("mode", ["absent", "slow", "locked", "broken"])
def test_whatever_is_wrong_with_mlflow_the_run_is_the_same_and_at_most_a_second_slower(
    mode: str, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: list[subprocess.Popen[bytes]]
):
    monkeypatch.setenv("PYTHONPATH", str(fake_mlflow(tmp_path, mode)))
    outputs = tmp_path / "outputs"
    mirror = started(Tracking().open(outputs), opened)
    mirror.follow(outputs / "one")
    outcome = run(outputs / "one", outputs)
    if mode != "slow":
        wait_for_words(outputs / "mirror.log")
    began = time.monotonic()
    said = mirror.close()
    assert time.monotonic() - began < 1.3  # wait is 1.0; the rest is for a busy machine
    assert outcome.status == "completed"
    assert without_clock(outputs / "one") == without_clock(finished)
    assert said is not None
    assert said.startswith("MLflow: ")
    assert "looper sync" in said
    assert {"absent": "No module", "slow": "busy", "locked": "is locked", "broken": "500"}[mode] in said


def wait_for_words(log: Path) -> None:
    """Until the mirror has met its fault."""
    deadline = time.monotonic() + 60
    while not (log.exists() and "Error" in log.read_text()):
        assert time.monotonic() < deadline, "the mirror met no fault"
        time.sleep(0.05)


def test_without_mlflow_installed_no_process_is_started_and_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tracking.importlib.util, "find_spec", lambda name: None)
    mirror = Tracking().open(tmp_path)
    mirror.follow(tmp_path / "one")
    assert mirror.process is None
    assert "not installed" in (mirror.close() or "")
    with pytest.raises(ConfigError, match="not installed"):
        tracking.sync(tmp_path, Tracking(), [])


def test_a_mirror_that_is_switched_off_starts_nothing_and_says_nothing(tmp_path: Path):
    mirror = Tracking(enabled=False).open(tmp_path)
    mirror.follow(tmp_path / "one")
    assert (mirror.process, mirror.close()) == (None, None)
    assert not list(tmp_path.iterdir())


def test_a_mirror_that_was_killed_is_noticed_and_hurts_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: list[subprocess.Popen[bytes]]
):
    monkeypatch.setenv("PYTHONPATH", str(fake_mlflow(tmp_path, "slow")))
    mirror = started(Tracking().open(tmp_path), opened)
    opened[0].kill()
    opened[0].wait()
    mirror.follow(tmp_path / "one")
    assert "ended before its time" in (mirror.close() or "")


def test_a_mirror_that_does_not_listen_never_blocks_the_run(tmp_path: Path, opened: list[subprocess.Popen[bytes]]):
    sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
    mirror = started(
        Mirror(wait=0.0, process=subprocess.Popen(sleeper, stdin=subprocess.PIPE, stdout=subprocess.PIPE)), opened
    )
    began = time.monotonic()
    for number in range(2000):
        mirror.follow(tmp_path / f"{number:0200}")
    assert time.monotonic() - began < 10
    assert "busy" in (mirror.close() or "")


def test_the_process_of_a_run_never_imports_mlflow(tmp_path: Path):
    program = f"""
import sys
from pathlib import Path
from looper.tracking import Tracking
from tracking_runs import run
outputs = Path({str(tmp_path)!r})
mirror = Tracking().open(outputs)
mirror.follow(outputs / "one")
run(outputs / "one", outputs)
mirror.process.kill()
mirror.close()
print([name for name in sys.modules if name.partition(".")[0] in ("mlflow", "pandas", "sqlalchemy")])
"""
    path = os.pathsep.join(str(folder) for folder in (Path(looper.__file__).parent.parent, Path(__file__).parent))
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.stdout.strip() == "[]"


# MLflow itself


def test_the_mirror_process_logs_runs_while_they_go(outputs: Path, book: Book, opened: list[subprocess.Popen[bytes]]):
    mirror = started(Tracking(wait=120.0, traces=False).open(outputs), opened)
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
    patient = sqlite3.dbapi2.connect
    monkeypatch.setattr(sqlite3.dbapi2, "connect", lambda *a, **k: patient(*a, **{**k, "timeout": 0.1}))
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


# MLflow's own UI


def test_the_ui_is_for_this_machine_alone(tmp_path: Path):
    command = tracking.ui_command(tmp_path, Tracking(), 5123)
    assert command[command.index("--host") + 1] == "127.0.0.1"
    assert command[command.index("--workers") + 1] == "1"


def test_the_ui_says_its_address_and_ends_with_ctrl_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    package = fake_mlflow(tmp_path, "broken")
    (package / "mlflow" / "__main__.py").write_text(FAKE_SERVER)
    monkeypatch.setenv("PYTHONPATH", str(package))
    monkeypatch.setattr(tracking, "sync", lambda *_: None)
    said: list[str] = []

    def press_ctrl_c(text: str) -> None:
        said.append(text)
        raise KeyboardInterrupt

    assert tracking.ui(tmp_path, Tracking(), say=press_ctrl_c) == 0
    port = said[0].partition("127.0.0.1:")[2].split()[0]
    assert (tmp_path / "ui.log").read_text().startswith(f"false 127.0.0.1 {port}")
    assert not tracking._answering(subprocess.Popen(["true"]), f"http://127.0.0.1:{port}/health", 1.0)


def test_the_ui_of_a_tracking_server_is_its_own(tmp_path: Path):
    said: list[str] = []
    assert tracking.ui(tmp_path, Tracking(uri="http://127.0.0.1:5000"), say=said.append) == 0
    assert "http://127.0.0.1:5000" in said[0]
