"""Sweeps: the same command continues, finished cells stay as they are, MLflow has one parent (SPEC 6.6, 6.1)."""

import csv
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Said, call, ended, start
from dial_runs import config, play
from tracking_runs import Book

import looper
from looper.errors import ConfigError, JournalDamaged
from looper.journal import read
from looper.parts import build
from looper.sweeps.earlier import look
from looper.sweeps.names import canonical, cell_name, checked, sweep_name
from looper.sweeps.pressing import pressing
from looper.sweeps.tally import ALREADY, PAUSE, Tally, by_design, counted, duration
from looper.tracking.multirun import manifest, record, standing, totals

NONE = "tracking=none"
SLOW = """
import os
import time

from pydantic.dataclasses import dataclass

from looper.tasks.dial import Dial, Setting, Turn
from looper.types import STRICT


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Slow(Dial):
    pace: float = 0.0

    def apply(self, state: Setting, action: Turn) -> Setting:
        time.sleep(float(os.environ.get("PACE", "0")))
        return super().apply(state, action)
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a task of the user's own that takes its time if the environment says so."""
    (tmp_path / "slow_task.py").write_text(SLOW)
    (tmp_path / "conf/task").mkdir(parents=True)
    (tmp_path / "conf/task/slow.yaml").write_text("# Mine.\n_target_: slow_task.Slow\n")
    monkeypatch.setenv("LOOPER_ALLOW", "slow_task")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def cells(here: Path) -> dict[str, Path]:
    """Folders of all runs of all sweeps, by name."""
    return {file.parent.name: file.parent for file in sorted(here.glob("outputs/sweeps/*/*/history.jsonl"))}


def marks(here: Path) -> dict[str, list[tuple[int, bytes]]]:
    """When each run's journal and run.json were written last, and what they hold."""
    files = {name: [folder / "history.jsonl", folder / "run.json"] for name, folder in cells(here).items()}
    return {name: [(file.stat().st_mtime_ns, file.read_bytes()) for file in pair] for name, pair in files.items()}


def events(folder: Path) -> list[str]:
    return [event.event for event in read(folder / "history.jsonl").events]


def rows(said: Said) -> list[dict[str, Any]]:
    return json.loads(said.out)


def when(holds: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    """Wait until this holds while the process runs."""
    deadline = time.monotonic() + 30
    while not holds():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def in_the_middle(here: Path, number: int) -> Callable[[], bool]:
    """Whether the cell of this number, from 0 on, has made some steps and has not ended."""

    def holds() -> bool:
        files = sorted(here.glob("outputs/sweeps/*/*/history.jsonl"), key=lambda file: file.stat().st_ctime_ns)
        return len(files) > number and files[number].read_bytes().count(b"iteration_advanced") > 1

    return holds


def ended_cells(here: Path) -> list[str]:
    return [name for name, folder in cells(here).items() if events(folder)[-1] == "completed"]


# The same command again


def test_the_same_command_again_runs_nothing_and_shows_the_same_numbers(here: Path) -> None:
    command = ("-m", "+task=dial", "seed=1,2", "loop=adaptive,baseline", "rivals=no", NONE, "--json")
    first = call(*command)
    before = marks(here)
    again = call(command[0], "loop=adaptive,baseline", "seed=1,2", "task=dial", "rivals=no", NONE, "--json")
    assert (first.code, again.code) == (0, 0), again.err
    assert marks(here) == before
    assert [row["note"] for row in rows(first) + rows(again)] == [""] * 4 + [ALREADY] * 4
    assert sorted(map(str, [{**row, "note": ""} for row in rows(first)])) == sorted(
        map(str, [{**row, "note": ""} for row in rows(again)])
    )
    assert "0 done, 4 already there, 0 failed" in again.err
    (folder,) = (here / "outputs/sweeps").iterdir()
    table = list(csv.DictReader((folder / "results.csv").read_text().splitlines()))
    assert [row["note"] for row in table] == [ALREADY] * 4
    assert json.loads((folder / "results.json").read_text()) == rows(again)


def test_a_sweep_that_was_killed_goes_on_where_it_was(here: Path) -> None:
    command = ("-m", "+task=slow", "seed=range(4)", NONE, "--json")
    process = start(*command, cwd=here, PACE="0.04")
    when(in_the_middle(here, 2), process)
    process.send_signal(signal.SIGKILL)
    ended(process)
    done = {name: mark for name, mark in marks(here).items() if name in ended_cells(here)}
    assert len(done) == 2
    again = call(*command)
    assert again.code == 0, again.err
    assert [row["note"] for row in rows(again)] == [ALREADY, ALREADY, "resumed", ""]
    assert {name: mark for name, mark in marks(here).items() if name in done} == done
    assert [row["status"] for row in rows(again)] == ["completed"] * 4
    assert [events(Path(row["folder"])).count("run_started") for row in rows(again)] == [1] * 4


def test_ctrl_c_pauses_the_cell_and_starts_no_other_and_the_command_goes_on(here: Path) -> None:
    command = ("-m", "+task=slow", "seed=range(3)", NONE, "--json")
    process = start(*command, cwd=here, PACE="0.04")
    when(in_the_middle(here, 1), process)
    process.send_signal(signal.SIGINT)
    said = ended(process)
    assert said.code == 3
    assert [(row["status"], row["reason"]) for row in rows(said)][1:] == [("paused", "interrupted")]
    assert "1 cell was not started. The same command goes on from here." in said.err
    again = call(*command)
    assert (again.code, [row["note"] for row in rows(again)]) == (0, [ALREADY, "resumed", ""])


def test_a_cell_that_was_aborted_is_run_anew_beside_what_is_there(here: Path) -> None:
    command = ("-m", "+task=slow", "seed=7", NONE, "--json")
    process = start(*command, cwd=here, PACE="0.5")
    when(in_the_middle(here, 0), process)
    time.sleep(0.15)  # into the next step, which takes half a second: between two steps one press is enough to pause
    process.send_signal(signal.SIGINT)
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert ended(process).code == 130
    before = marks(here)
    for note in ("", ALREADY):
        again = call(*command)
        assert [(row["status"], row["note"]) for row in rows(again)] == [("completed", note)]
    (name,) = before
    assert marks(here)[name] == before[name]
    assert sorted(cells(here)) == [name, f"{name}.2"]


def test_a_cell_that_failed_or_ended_short_is_not_run_again(here: Path) -> None:
    command = ("-m", "+task=dial", "loop.max_steps=1", NONE, "--json")
    assert [row["status"] for row in rows(call(*command))] == ["stopped"]
    before = marks(here)
    assert [row["note"] for row in rows(call(*command))] == [ALREADY]
    assert marks(here) == before


# What a cell is


def test_settings_that_were_changed_meanwhile_are_refused_by_name(here: Path) -> None:
    command = ("-m", "+task=slow", "seed=1,2", NONE, "--json")
    call(*command)
    before = marks(here)
    (here / "conf/task/slow.yaml").write_text("# Mine.\n_target_: slow_task.Slow\nlow: 11.0\n")
    said = call(*command)
    assert said.code == 2
    assert [row["status"] for row in rows(said)] == ["not run", "not run"]
    assert "made with other settings (task.low)" in rows(said)[0]["reason"]
    assert "sweep=NAME" in said.err
    assert marks(here) == before
    other = call(*command, "sweep=other")
    assert (other.code, {row["note"] for row in rows(other)}) == (0, {""})
    assert len(list((here / "outputs/sweeps/other").glob("*/history.jsonl"))) == 2


def test_a_task_that_is_added_to_a_named_sweep_keeps_the_cells_that_are_there(here: Path) -> None:
    call("-m", "+task=dial", "seed=1,2", "sweep=mine", NONE)
    before = marks(here)
    said = call("-m", "+task=slow,dial", "seed=1,2,3", "sweep=mine", NONE, "--json")
    assert said.code == 0, said.err
    noted = [(row["task"], row["seed"], row["note"]) for row in rows(said)]
    assert noted[:3] == [("slow", seed, "") for seed in (1, 2, 3)]
    assert noted[3:] == [("dial", 1, ALREADY), ("dial", 2, ALREADY), ("dial", 3, "")]
    assert {name: mark for name, mark in marks(here).items() if name in before} == before


def test_two_commands_at_once_run_each_cell_once(here: Path) -> None:
    command = ("-m", "+task=slow", "seed=range(6)", NONE, "--json")
    both = [ended(process) for process in [start(*command, cwd=here, PACE="0.01") for _ in range(2)]]
    assert [said.code for said in both] == [0, 0], [said.err for said in both]
    assert len(cells(here)) == 6
    for folder in cells(here).values():
        found = events(folder)
        assert (found.count("run_started"), found.count("resumed"), found[-1]) == (1, 0, "completed")
    assert any(row["note"] for said in both for row in rows(said))
    assert sum(row["note"] == "" for said in both for row in rows(said)) == 6


def test_an_unknown_setting_of_one_design_is_refused_before_anything_runs(here: Path) -> None:
    said = call("-m", "+task=dial", "loop=adaptive,baseline", "loop.stable_for=1", NONE)
    assert said.code == 2
    assert "loop.stable_for" in said.complaint
    assert cells(here) == {}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["sweep=mine"], "add -m"), (["-m", "sweep=../x"], "a name is up to"),
        (["-m", "sweep='a b'"], "a name is up to"),
        (["-m", "sweep=a,b"], "cannot be swept"), (["-m", "tracking.wait=1.0,2.0"], "cannot be swept"),
    ],
)  # fmt: skip
def test_a_name_that_cannot_be_used_is_refused(arguments: list[str], told: str, here: Path) -> None:
    said = call("+task=dial", NONE, *arguments)
    assert said.code == 2
    assert told in said.complaint
    assert not (here / "outputs").exists() or cells(here) == {}


def test_a_name_depends_on_what_is_run_and_not_on_how_it_was_typed() -> None:
    one = ["+task=a/b", "seed=1", "loop=baseline"]
    assert cell_name(one) == cell_name(
        ["loop=baseline", "task=a/b", "seed=2", "seed=1", "tracking.wait=9", "outputs=x"]
    )
    assert cell_name(one).startswith("a-b-baseline-seed1-")
    assert len({cell_name(one), cell_name([*one, "seed=2"]), cell_name([*one, "~model"]), cell_name(one[:2])}) == 4
    assert sweep_name(["+experiment=corpus", "+task=x"]).startswith("corpus-")
    assert canonical(["hydra/launcher=joblib", "sweep=x", "confirm=yes"]) == []


@pytest.mark.parametrize("value", ["../../etc", "a b/c;d", "=", "x" * 500, "'quoted, twice'", ".hidden", "ü"])
def test_a_name_is_always_one_plain_folder(value: str) -> None:
    name = cell_name([f"+task.words={value}"])
    assert checked(name) == name
    assert Path(name).name == name


# What is found in a folder


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    play(tmp_path / "cell")
    return tmp_path / "cell"


def test_a_run_is_known_by_its_settings_and_its_version(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = config(finished.parent)
    assert look(finished, build(settings)).ended
    assert look(finished, build({**settings, "outputs": "elsewhere", "confirm": "yes"})).ended
    with pytest.raises(ConfigError, match=r"other settings \(seed\)"):
        look(finished, build({**settings, "seed": 1}))
    monkeypatch.setattr(looper, "__version__", "99.0")
    with pytest.raises(ConfigError, match=r"by looper .*, and this is 99\.0"):
        look(finished, build(settings))


def test_a_changed_journal_is_neither_shown_nor_overwritten(finished: Path) -> None:
    (finished / "run.json").unlink()
    text = (finished / "history.jsonl").read_bytes()
    (finished / "history.jsonl").write_bytes(text.replace(b'"score":0.0', b'"score":1.0', 1))
    with pytest.raises(JournalDamaged):
        look(finished, build(config(finished.parent)))


def test_an_empty_journal_is_a_cell_that_never_began(tmp_path: Path) -> None:
    (tmp_path / "cell").mkdir()
    (tmp_path / "cell/history.jsonl").touch()
    assert look(tmp_path / "cell", build(config(tmp_path))).state == {}


# Ctrl-C between two cells


def test_a_press_is_seen_although_a_run_took_it() -> None:
    with pressing() as pressed:
        assert not pressed()
        before = signal.signal(signal.SIGINT, lambda *_: None)  # as a run does while it is under way
        os.kill(os.getpid(), signal.SIGINT)
        signal.signal(signal.SIGINT, before)
        assert pressed()
        assert pressed()


def test_the_second_press_between_two_cells_ends_at_once() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pressing():
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) == before


# What is said


def row(**known: Any) -> dict[str, Any]:
    known = {"status": "completed", "design": "a", "score": 1.0, "inner": 2.0, "seconds": 1.0, "note": ""} | known
    return {"folder": "f", "reason": "r", **known}


def test_progress_is_a_line_in_ten_seconds_and_tells_what_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    tally = Tally(clock=lambda: now[0])
    tally.open("s", Path("f"), 100)
    for number in range(50):
        tally.begin(f"cell {number}")
        now[0] += 1.0
        tally.add(row(note=ALREADY if number < 10 else ""))
    lines = capsys.readouterr().err.splitlines()[1:]
    assert len(lines) == 50 // PAUSE - 1
    assert lines[-1] == (
        "cell 41 of 100: 30 done, 10 already there, 0 failed or not run; 40 s so far, "
        "about 1 min 20 s left; inner 60; cell 40"
    )


def test_many_rows_are_a_line_per_design_on_the_terminal_and_whole_in_the_files(tmp_path: Path) -> None:
    few, many = [row()] * 40, [row(design="b", holdout=0.5, task="x,y")] * 41
    assert len(Tally(rows=few).result(as_json=False).splitlines()) == 41
    tally = Tally(rows=many, cells=41, begun=41)
    assert len(tally.result(as_json=False).splitlines()) == 2
    assert len(json.loads(tally.result(as_json=True))) == 41
    tally.close(tmp_path)
    read_back = list(csv.DictReader((tmp_path / "results.csv").read_text().splitlines()))
    assert [(one["task"], one["holdout"]) for one in read_back] == [("x,y", "0.5")] * 41


def test_means_are_over_what_has_ended() -> None:
    given = [row(), row(status="stopped", score=0.5), row(status="paused", score=0.0), row(status="aborted", score=0.0)]
    heads, line = by_design(given)
    assert heads.split()[:4] == ["design", "cells", "ended", "completed"]
    assert line.split() == ["a", "4", "2", "1", "0.75", "-", "2", "-", "2"]
    assert counted([*given, row(note=ALREADY)]) == "2 done, 1 already there, 1 failed or not run, 1 paused"


@pytest.mark.parametrize(("seconds", "told"), [(9.6, "10 s"), (61, "1 min 01 s"), (3700, "1 h 01 min")])
def test_a_duration_is_told_in_two_units(seconds: float, told: str) -> None:
    assert duration(seconds) == told


# MLflow


def child(status: str, design: str = "a", **metrics: float) -> tuple[dict[str, str], dict[str, float]]:
    return {"status": status, "design": design}, metrics


def test_the_parent_has_the_share_completed_and_the_means_by_design() -> None:
    found = totals(
        [
            child("completed", gate_score=1.0, inner_units=3.0), child("stopped", gate_score=0.0, inner_units=1.0),
            child("aborted", gate_score=0.0), child("completed", "b", gate_score=0.5, holdout_score=0.25),
        ],
        cells=7,
    )  # fmt: skip
    expected = {"cells": 7, "runs": 4, "completed": 2, "aborted": 1, "inner_units": 4, "a/completed_share": 0.5}
    assert found.items() >= expected.items()
    assert found.items() >= {"a/mean_score": 0.5, "b/mean_holdout": 0.25, "b/completed_share": 1.0}.items()
    assert "a/mean_holdout" not in found


@pytest.mark.parametrize(
    ("states", "left", "status"),
    [
        (["completed", "failed"], 0, "completed"), (["completed", "running"], 0, "running"), ([], 0, "completed"),
        (["completed"], 3, "interrupted"), (["paused", "interrupted"], 0, "interrupted"), (["paused"], 0, "paused"),
    ],
)  # fmt: skip
def test_the_parents_status_is_that_of_its_cells(states: list[str], left: int, status: str) -> None:
    assert standing([child(state) for state in states], left) == status


def test_a_sweep_keeps_its_id_and_another_of_that_name_has_its_own(tmp_path: Path) -> None:
    record(tmp_path / "a/s", name="s", cells=3, left=3)
    first = manifest(tmp_path / "a/s")
    record(tmp_path / "a/s", left=0)
    record(tmp_path / "b/s", name="s")
    assert manifest(tmp_path / "a/s") == type(first)(name="s", id=first.id, cells=3, left=0)
    assert manifest(tmp_path / "b/s").id != first.id
    assert manifest(tmp_path / "c/s").id == ""


def children(book: Book) -> tuple[str, list[dict[str, str]]]:
    """The only parent, and the tags of the others."""
    tags = {run: book.tags(run) for run in book.runs()}
    (parent,) = [run for run, known in tags.items() if known["design"] == "sweep"]
    return parent, [known for run, known in tags.items() if run != parent]


@pytest.mark.timeout(120)
def test_a_sweep_in_three_commands_is_one_parent_with_a_child_per_cell(here: Path) -> None:
    pytest.importorskip("mlflow")
    mirrored = ("tracking.wait=100.0", "tracking.traces=false", "--json")
    command = ("-m", "+task=slow", "seed=range(3)", "sweep=mine")
    call("-m", "+task=slow", "seed=0", "sweep=mine", NONE)  # is logged although it ran without a mirror
    process = start(*command, *mirrored, cwd=here, PACE="0.04")
    when(in_the_middle(here, 1), process)
    process.send_signal(signal.SIGINT)
    assert ended(process).code == 3
    book = Book(here / "outputs/mlflow.db")
    parent, known = children(book)
    assert (book.runs()[parent], book.tags(parent)["status"], len(known)) == ("KILLED", "interrupted", 2)
    again = call(*command, *mirrored)
    assert (again.code, [row["note"] for row in rows(again)]) == (0, [ALREADY, "resumed", ""]), again.err
    same, known = children(book)
    assert (same, book.runs()[parent], book.tags(parent)["status"]) == (parent, "FINISHED", "completed")
    assert [one["mlflow.parentRunId"] for one in known] == [parent] * 3
    shared = {"sweep": "mine", "experiment": "none", "design": "adaptive", "status": "completed", "reason": "stable"}
    assert all(one.items() >= shared.items() for one in known)
    assert book.metric(parent, "cells") == {0: 3.0}
    assert book.metric(parent, "adaptive/completed_share") == {0: 1.0}
    assert book.metric(parent, "inner_units")[0] == pytest.approx(sum(row["inner"] for row in rows(again)))
