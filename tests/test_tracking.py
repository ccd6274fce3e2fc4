"""MLflow is a mirror of the journal, and never in the path of a run (SPEC 6.1, SAFETY P15 and P17)."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError
from tracking_runs import FAKE_SERVER, fake_mlflow, play, record_of, run

import looper
from looper import tracking
from looper.errors import ConfigError, JournalDamaged
from looper.journal import Event, read
from looper.tracking import Mirror, Tracking
from looper.tracking import ui as page
from looper.tracking.files import parameters
from looper.tracking.record import Record, first_correct
from looper.tracking.store import title
from looper.tracking.tail import Tail


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An adaptive run on the dial, ended; not to be changed."""
    return play(tmp_path_factory.mktemp("finished"))


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
        if process.pid in tracking._left or process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
        while process.poll() is None or process.pid in tracking._left:
            tracking._reap()
            time.sleep(0.01)


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


# MLflow's own UI


def test_the_ui_is_for_this_machine_alone(tmp_path: Path):
    command = page.ui_command(tmp_path, Tracking(), 5123)
    assert command[command.index("--host") + 1] == "127.0.0.1"
    assert command[command.index("--workers") + 1] == "1"


def test_the_ui_says_its_address_and_ends_with_ctrl_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    package = fake_mlflow(tmp_path, "broken")
    (package / "mlflow" / "__main__.py").write_text(FAKE_SERVER)
    monkeypatch.setenv("PYTHONPATH", str(package))
    monkeypatch.setattr(page, "sync", lambda *_: None)
    said: list[str] = []

    def press_ctrl_c(text: str) -> None:
        said.append(text)
        raise KeyboardInterrupt

    assert page.ui(tmp_path, Tracking(), say=press_ctrl_c) == 0
    port = said[0].partition("127.0.0.1:")[2].split()[0]
    assert (tmp_path / "ui.log").read_text().startswith(f"false 127.0.0.1 {port}")
    assert not page._answering(subprocess.Popen(["true"]), f"http://127.0.0.1:{port}/health", 1.0)


def test_the_ui_of_a_tracking_server_is_its_own(tmp_path: Path):
    said: list[str] = []
    assert page.ui(tmp_path, Tracking(uri="http://127.0.0.1:5000"), say=said.append) == 0
    assert "http://127.0.0.1:5000" in said[0]


@pytest.mark.parametrize("golden", sorted(path.name for path in (Path(__file__).parent / "golden").glob("*.jsonl")))
def test_whoever_looks_after_every_line_misses_nothing(golden: str, tmp_path: Path) -> None:
    """The mirror logs what is newer than the line up to which it has looked."""
    (tmp_path / "history.jsonl").write_bytes((Path(__file__).parent / "golden" / golden).read_bytes())
    events = Tail(tmp_path / "history.jsonl").read()
    whole, bit_by_bit = Record(tmp_path), Record(tmp_path)
    for event in events:
        whole.take(event)
    logged, seen = 0, []
    for event in events:
        bit_by_bit.take(event)
        seen += [point for point in bit_by_bit.points if point.seq > logged]
        logged = bit_by_bit.seq
        bit_by_bit.points.clear()
    assert [(p.name, p.value, p.step) for p in seen] == [(p.name, p.value, p.step) for p in whole.points]
    assert seen


def test_a_run_within_an_outer_loop_is_called_so_in_lists() -> None:
    known = {"task": "dial", "design": "once", "seed": "3", "outer": "none"}
    assert title(known) == "dial once 3"
    assert title({**known, "outer": "gather_verify"}) == "dial once under gather_verify 3"


def test_a_run_that_was_right_for_nothing_has_spent_zero_until_then() -> None:
    """Without the zeros a mean over runs would be no number."""
    found = first_correct({"state": 1, "states": 2, "spent": {}})
    assert found["ever_correct"] == 1.0
    assert (found["first_correct_outer_units"], found["first_correct_usd"]) == (0.0, 0.0)
    assert first_correct({"state": None, "states": 2, "not_looked_at": 0}) == {
        "evaluated_states": 2,
        "ever_correct": 0.0,
    }
    assert first_correct({"state": None, "states": 2, "not_looked_at": 1}) == first_correct(None) == {}
