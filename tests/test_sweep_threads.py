"""Cells side by side, in threads and in processes: each once, ended by Ctrl-C, resumed after a kill (SPEC 6.6)."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from command_line import call, ended, start
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from sweep_runs import PAID, calls, folder, journals, rows, until

from looper.catalogue import shipped
from looper.control import RELAY, Control
from looper.errors import Aborted, ConfigError, Paused
from looper.sweeps.cell import Cell
from looper.sweeps.grid import Composer
from looper.sweeps.pool import Pool
from looper.sweeps.pressing import pressing
from looper.sweeps.settings import Sweeping
from looper.sweeps.tally import Tally

SLOW = (*PAID, "model.latency=0.05")
NATIVE = {"hydra": {"launcher": {}}}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def begun_and_ended(here: Path) -> list[tuple[int, str]]:
    """Of every run: how often it was begun, and its last event."""
    found = [[event.event for event in events] for events in journals(here).values()]
    return [(events.count("run_started"), events[-1]) for events in found]


def without(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in ("folder", "seconds")}


# Side by side


@pytest.mark.parametrize("how", [("jobs=4",), ("hydra/launcher=threads",), ("jobs=2", "workers=processes")])
def test_cells_side_by_side_come_to_the_same_as_one_after_the_other(how: tuple[str, ...], here: Path) -> None:
    command = ("-m", *PAID, "seed=range(5)")
    alone = call(*command, "sweep=alone")
    together = call(*command, *how)
    assert (alone.code, together.code) == (0, 0), together.err
    assert [without(row) for row in rows(alone)] == [without(row) for row in rows(together)]
    assert begun_and_ended(here) == [(1, "completed")] * 5


def test_cells_in_threads_overlap(here: Path) -> None:
    call("-m", *SLOW, "seed=range(4)", "jobs=4")
    spans = [(events[0].ts, events[-1].ts) for events in journals(here).values()]
    assert max(begin for begin, _ in spans) < min(end for _, end in spans)


def test_tasks_that_parse_and_execute_programs_run_in_threads(here: Path) -> None:
    said = call("-m", "+task=repair/coat_check,repair/ships_bells", "loop=adaptive,baseline", "rivals=no", "jobs=4",
                "tracking=none", "--json")  # fmt: skip
    assert said.code == 0, said.err
    assert [(row["task"], row["status"]) for row in rows(said)] == [
        ("repair/coat_check", "completed"), ("repair/coat_check", "completed"),
        ("repair/ships_bells", "completed"), ("repair/ships_bells", "completed"),
    ]  # fmt: skip


def test_a_cell_that_cannot_run_does_not_stop_the_others_and_is_listed(here: Path) -> None:
    said = call("-m", *PAID, "seed=0,1", "task.low=30,40", "jobs=3")  # 40 is above task.high
    assert said.code == 2
    assert sorted(row["status"] for row in rows(said)) == ["completed", "completed", "not run", "not run"]
    assert said.err.count("not run: task.low=40 must be below task.high=32.") == 2
    assert "2 done, 0 already there, 2 failed or not run" in said.err


# Ctrl-C


def test_ctrl_c_ends_all_runs_under_way_before_their_next_step_and_the_command_goes_on(here: Path) -> None:
    command = ("-m", *SLOW, "seed=range(8)", "jobs=4")
    process = start(*command, cwd=here)
    until(lambda: len(journals(here)) >= 4 and calls(here) > 12)
    process.send_signal(signal.SIGINT)
    said = ended(process)
    assert said.code == 3, said.err
    states = [(row["status"], row["reason"]) for row in rows(said)]
    assert states.count(("paused", "interrupted")) >= 3
    assert "The same command goes on from here." in said.err
    again = call(*command)
    assert (again.code, [row["status"] for row in rows(again)]) == (0, ["completed"] * 8), again.err
    assert begun_and_ended(here) == [(1, "completed")] * 8


@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_ctrl_c_twice_ends_at_once(workers: str, here: Path) -> None:
    command = ("-m", *PAID, "model.latency=0.4", "seed=range(4)", "jobs=2", f"workers={workers}")
    process = start(*command, cwd=here)
    until(lambda: calls(here) > 2)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    said = ended(process)
    assert said.code == 130, said.err
    assert {row["status"] for row in rows(said)} <= {"aborted", "paused"}


def test_a_press_reaches_a_run_in_another_thread_however_late_it_begins() -> None:
    control, begun, over = Control(), threading.Event(), threading.Event()

    def run(control: Control) -> None:
        with control.listening():
            begun.set()
            over.wait(10)

    with pressing() as pressed:
        thread = threading.Thread(target=run, args=(control,))
        thread.start()
        begun.wait(10)
        control.check()
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(Paused):
            control.check()
        late = Control()
        with RELAY.reaching(late), pytest.raises(Paused):
            late.check()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(Aborted):
            control.check()
        assert pressed()
        over.set()
        thread.join(10)
    with RELAY.reaching(late := Control()):
        late.check()  # it was for that sweep alone


# Kills


@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_a_sweep_that_is_killed_goes_on_and_nothing_is_lost_or_done_twice(workers: str, here: Path) -> None:
    command = ("-m", *SLOW, "seed=range(6)", "jobs=4", f"workers={workers}")
    process = start(*command, cwd=here)
    until(lambda: calls(here) > 24)
    process.send_signal(signal.SIGKILL)
    ended(process)
    if workers == "processes":  # its workers hear that nobody is there any more
        size = -1
        while size != (size := sum(file.stat().st_size for file in folder(here).glob("*/history.jsonl"))):
            threading.Event().wait(0.3)
    before = {name: [event.key for event in events if event.key] for name, events in journals(here).items()}
    again = call(*command)
    assert (again.code, [row["status"] for row in rows(again)]) == (0, ["completed"] * 6), again.err
    assert begun_and_ended(here) == [(1, "completed")] * 6
    for name, events in journals(here).items():
        finished = [event.key for event in events if event.key and event.event not in ("call_started", "call_done")]
        assert len(finished) == len(set(finished))  # no step twice
        assert [event.key for event in events if event.key][: len(before.get(name, []))] == before.get(name, [])


def test_a_worker_that_dies_leaves_its_run_to_the_next_command(here: Path) -> None:
    command = ("-m", *SLOW, "seed=range(4)", "jobs=2", "workers=processes")
    process = start(*command, cwd=here)
    until(lambda: calls(here) > 4)
    found = [pid for file in Path(f"/proc/{process.pid}/task").glob("*/children") for pid in file.read_text().split()]
    os.kill(int(found[0]), signal.SIGKILL)
    said = ended(process)
    assert said.code == 2
    assert sorted(row["status"] for row in rows(said)) == ["completed", "completed", "completed", "interrupted"]
    assert "its worker process has ended (SIGKILL)" in said.err
    again = call(*command)
    notes = [row["note"] for row in rows(again)]
    assert notes.count("already there") == 3
    assert {"resumed", ""} & set(notes), "without a word where it died before its first event"
    assert [row["status"] for row in rows(again)] == ["completed"] * 4


def test_a_worker_whose_sweep_is_gone_ends_its_run_in_order(here: Path) -> None:
    worker = subprocess.Popen([sys.executable, "-m", "looper.sweeps.worker"], stdin=subprocess.PIPE, text=True)
    assert worker.stdin is not None
    worker.stdin.close()
    assert worker.wait(20) == 0


# The pool


def test_a_pool_has_so_many_cells_under_way_and_no_more() -> None:
    now, most, lock = 0, 0, threading.Lock()

    def run(cell: Cell) -> dict[str, Any]:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        threading.Event().wait(0.02)
        with lock:
            now -= 1
        return {"cell": cell.base}

    done: list[str] = []
    pool = Pool(3, run, lambda cell, row: done.append(row["cell"]))
    for number in range(9):
        pool.room()
        pool.begin(Cell(str(number)))
    pool.drain()
    assert (most, sorted(done)) == (3, [str(number) for number in range(9)])


def test_a_python_that_cannot_parse_in_threads_is_not_asked_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 11, 4))
    with pytest.raises(ConfigError, match="workers=processes"):
        Sweeping.of({**NATIVE, "jobs": 2})
    assert Sweeping.of({**NATIVE, "jobs": 2, "workers": "processes"}).jobs == 2
    assert Sweeping.of(NATIVE).inline


# Composition


def settings(config: DictConfig) -> Any:
    """What a cell is, without Hydra's own part."""
    return OmegaConf.to_container(
        OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"]), resolve=True
    )


def test_cells_that_differ_in_values_are_composed_as_hydra_would_compose_them() -> None:
    cells = [
        ["+task=dial", f"task.gain={gain}", f"loop={loop}", f"seed={seed}", "+task.goal='a b'"]
        for loop in ("adaptive", "baseline") for gain in (0.5, "${seed}", 2) for seed in (1, 2)
    ]  # fmt: skip
    with initialize_config_dir(str(shipped()), job_name="looper", version_base="1.3"):
        hydra = GlobalHydra.instance().hydra
        assert hydra is not None
        master = hydra.compose_config("config", [], RunMode.MULTIRUN, with_log_configuration=False)
        composer = Composer(hydra.config_loader, master, {"task.gain", "loop", "seed"})
        for cell in cells:
            mine, theirs = composer.compose(cell), hydra.config_loader.load_sweep_config(master, cell)
            assert settings(mine) == settings(theirs)
            assert list(mine.hydra.overrides.task) == list(theirs.hydra.overrides.task)
            assert mine.hydra.runtime.choices == theirs.hydra.runtime.choices


# What is said


def test_rows_stand_in_the_order_of_the_command_and_what_failed_is_told_at_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = Tally(jobs=2)
    tally.open("s", tmp_path, 3)
    for name in ("one", "two", "three"):
        tally.begin(name)
    tally.spend("three", {"usd": 0.25})
    assert "usd 0.25; one, two and 1 more" in tally.line()
    tally.add({"folder": "f2", "status": "failed", "reason": "phase_error", "score": None}, "two")
    tally.add({"folder": "f3", "status": "completed", "reason": "stable", "score": 1.0, "usd": 0.5}, "three")
    tally.add({"folder": "f1", "status": "completed", "reason": "stable", "score": 1.0}, "one")
    tally.close(tmp_path)
    assert [row["folder"] for row in tally.rows] == ["f1", "f2", "f3"]
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].endswith("3 cells in " + str(tmp_path) + ", 2 at once; the same command continues it.")
    assert lines[2] == "three: completed (stable), score 1.00; usd 0.5"
    assert lines[-1] == "looper: cell 2 of 3, f2: failed: phase_error"
