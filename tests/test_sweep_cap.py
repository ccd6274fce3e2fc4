"""A cap over all runs of a sweep: held at every instant, by threads, processes and killed ones (SPEC 6.6, 0.5)."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from command_line import ROOT, call, ended, start
from dial_runs import config
from sweep_runs import PAID, calls, folder, journals, ledger, paid, rows, share, until

from looper.budget import Budget, Ledger
from looper.errors import BudgetExceeded, Paused
from looper.folder import Folder
from looper.launch import launch
from looper.parts import build
from looper.shared_budget.ledger import FILE, SweepBudget, SweepLedger
from looper.shared_budget.share import Share, lives
from looper.sweeps.rows import ALREADY, exit_code, row_of

DOLLAR = {"usd": 1.0, "calls": 1.0}


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """The folder of a sweep that may spend ten dollars."""
    SweepLedger(tmp_path).open(SweepBudget(usd=10.0))
    return tmp_path


def run(sweep: Path, name: str, budget: Budget | None = None) -> Ledger:
    """The ledger of a run that has begun."""
    found = Ledger(budget or Budget(), shared=share(sweep, name))
    found.owe({})
    return found


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


# The ledger


def test_what_is_spent_and_reserved_never_exceeds_the_cap_whatever_threads_do(sweep: Path) -> None:
    seen: list[float] = []
    refused: list[str] = []

    def spend(name: str) -> None:
        own = run(sweep, name)
        while True:
            try:
                hold = own.reserve("act", {"usd": 0.9, "calls": 1.0})
            except BudgetExceeded as end:
                refused.append(str(end))
                return
            now = SweepLedger(sweep).standing()["usd"]
            seen.append(now.spent + now.reserved)
            own.settle(hold, {"usd": 0.3, "calls": 1.0})

    threads = [threading.Thread(target=spend, args=(f"run{number}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    now = SweepLedger(sweep).standing()["usd"]
    assert max(seen) <= 10.0 + 1e-9
    assert (now.reserved, now.reached, len(refused)) == (0.0, True, 6)
    assert 10.0 - 0.9 < now.spent <= 10.0  # what is left pays no call
    assert "of the 10 of the whole sweep" in refused[0]
    assert "sweep_budget.usd" in refused[0]


SPENDER = """
import sys
from pathlib import Path
from looper.budget import Budget, Ledger
from looper.errors import BudgetExceeded
from looper.shared_budget.share import beside

own = Ledger(Budget(), shared=beside(Path(sys.argv[1], sys.argv[2]), lambda: None))
own.owe({})
try:
    while True:
        own.settle(own.reserve("act", {"usd": 0.5}), {"usd": 0.1})
except BudgetExceeded:
    own.close()
"""


def test_processes_share_it_to_the_last_cent(sweep: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    spenders = [
        subprocess.Popen([sys.executable, "-c", SPENDER, str(sweep), f"run{number}"], env=environment)
        for number in range(3)
    ]
    assert [spender.wait(60) for spender in spenders] == [0, 0, 0]
    now = SweepLedger(sweep).standing()["usd"]
    assert now.reserved == 0.0
    assert 9.5 < now.spent <= 10.0 + 1e-9


def test_a_call_waits_for_what_others_have_reserved_and_will_give_back(sweep: Path) -> None:
    one, other = run(sweep, "one"), run(sweep, "other")
    hold = one.reserve("act", {"usd": 8.0})
    came: list[float] = []
    thread = threading.Thread(target=lambda: came.append(other.reserve("act", {"usd": 5.0})["usd"]))
    thread.start()
    thread.join(0.3)
    assert (came, thread.is_alive()) == ([], True)
    one.settle(hold, {"usd": 1.0})
    thread.join(10)
    assert came == [5.0]
    assert other.elapsed() < 0.3  # waiting is no working time


def test_a_person_can_end_a_run_that_waits(sweep: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = run(sweep, "one"), run(sweep, "other")
    one.reserve("act", {"usd": 8.0})

    def pressed() -> None:
        raise Paused("Ctrl-C", "interrupted")

    monkeypatch.setattr(other.shared, "check", pressed)
    with pytest.raises(Paused):
        other.reserve("act", {"usd": 5.0})


def test_what_closes_a_run_is_kept_from_all_others_until_the_run_has_ended(sweep: Path) -> None:
    one, other = run(sweep, "one"), run(sweep, "other")
    one.keep("evaluate", {"usd": 6.0, "outer": 2.0})
    with pytest.raises(BudgetExceeded):
        other.reserve("act", {"usd": 5.0})
    hold = one.reserve("evaluate", {"usd": 6.0})
    one.settle(hold, {"usd": 2.0})
    assert SweepLedger(sweep).standing()["usd"].spent == 2.0
    one.keep("evaluate", {"usd": 6.0})
    one.close()
    assert other.reserve("act", {"usd": 8.0}) == {"usd": 8.0}


def test_a_refusal_by_what_others_keep_for_their_close_does_not_end_the_sweep(sweep: Path) -> None:
    one, other = run(sweep, "one"), run(sweep, "other")
    one.keep("evaluate", {"usd": 6.0})
    with pytest.raises(BudgetExceeded):
        other.reserve("act", {"usd": 5.0})
    one.close()
    assert SweepLedger(sweep).exhausted() == ""
    with pytest.raises(BudgetExceeded):
        other.reserve("act", {"usd": 11.0})
    assert SweepLedger(sweep).exhausted() == "sweep_budget.usd"


@pytest.mark.parametrize(("status", "reserved"), [("completed", 0.0), ("paused", 9.0)])
def test_what_an_ended_run_had_reserved_is_free_once_the_ledger_is_opened_again(
    status: str, reserved: float, sweep: Path
) -> None:
    own = run(sweep, "one")
    own.keep("evaluate", {"usd": 6.0})
    own.reserve("act", {"usd": 3.0})
    (sweep / "one").mkdir()
    (sweep / "one/history.jsonl").touch()
    (sweep / "one/run.json").write_text(json.dumps({"status": status, "spent": {"usd": 1.0}}))
    SweepLedger(sweep).open(SweepBudget())
    assert SweepLedger(sweep).standing()["usd"].reserved == reserved


def test_an_outcome_is_kept_when_the_sweeps_ledger_cannot_be_closed(
    sweep: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(self: Share) -> None:
        raise Paused("the ledger is busy", "storage")

    monkeypatch.setattr(Share, "close", busy)
    outcome = launch(build(config(sweep)), sweep / "one")
    assert outcome.status == "completed"
    assert outcome.facts["sweep_ledger"] == "the ledger is busy"
    assert Folder(sweep / "one").saved()["status"] == "completed"


def test_units_are_each_runs_own_and_cost_no_look_into_the_ledger(sweep: Path) -> None:
    own = run(sweep, "one", Budget(inner=1.0, outer=None))
    (sweep / FILE).unlink()
    own.settle(own.reserve("probe", {"inner": 0.5}), {"inner": 0.5})
    assert own.left("inner") == 0.5
    assert own.short({"inner": 0.1}) is None
    own.close()


def test_only_with_a_cap_of_the_sweep_must_the_worst_case_of_the_close_be_known(sweep: Path) -> None:
    assert {"usd"} == {"usd", "tokens", "calls"} & run(sweep, "one").caps.keys()
    assert not {"usd", "tokens", "calls"} & Ledger(Budget()).caps.keys()


DIES = """
import os, sys
from pathlib import Path
from looper.budget import Budget, Ledger
from looper.shared_budget.share import beside

own = Ledger(Budget(), shared=beside(Path(sys.argv[1], "dead"), lambda: None))
own.owe({})
own.settle(own.reserve("act", {"usd": 1.0}), {"usd": 1.0})
own.reserve("act", {"usd": 8.0})
os._exit(9)
"""


def test_what_a_dead_process_had_reserved_counts_until_its_run_is_resumed(sweep: Path) -> None:
    subprocess.run([sys.executable, "-c", DIES, str(sweep)], env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)
    assert SweepLedger(sweep).standing()["usd"][1:3] == (1.0, 8.0)
    with pytest.raises(BudgetExceeded):  # and nobody waits for it
        run(sweep, "other").reserve("act", {"usd": 2.0})
    resumed = Ledger(Budget(), shared=share(sweep, "dead"))
    resumed.owe({"usd": 4.0})  # what its journal says
    assert SweepLedger(sweep).standing()["usd"][1:3] == (4.0, 0.0)
    assert run(sweep, "other").reserve("act", {"usd": 6.0})


def test_a_resumed_run_keeps_for_its_close_what_it_has_not_spent_of_it(sweep: Path) -> None:
    own = Ledger(Budget(), shared=share(sweep, "one"))
    own.owe({"usd": 9.0})
    own.keep("evaluate", {"usd": 8.0})  # it was kept, and paid for, before
    own.charge({"usd": 9.0}, "evaluate")
    assert SweepLedger(sweep).standing()["usd"][1:3] == (9.0, 0.0)


def test_a_process_of_another_machine_is_taken_for_alive() -> None:
    assert lives("elsewhere:1")
    assert not lives(f"{os.uname().nodename}:999999999")


def test_a_cap_that_is_not_given_stays_and_a_higher_one_is_not_reached(sweep: Path) -> None:
    with pytest.raises(BudgetExceeded):
        run(sweep, "one").reserve("act", {"usd": 11.0})
    book = SweepLedger(sweep)
    book.open(SweepBudget(calls=5.0))
    assert (book.exhausted(), book.standing()["usd"].cap, book.standing()["calls"].cap) == ("sweep_budget.usd", 10, 5)
    assert not book.raised({"account": "usd", "cap": 10.0})
    book.open(SweepBudget(usd=12.0))
    assert (book.exhausted(), book.raised({"account": "usd", "cap": 10.0})) == ("", True)


def test_a_file_that_is_no_ledger_is_refused_and_rebuilt_once_it_is_deleted(here: Path) -> None:
    command = ("-m", *PAID, "seed=0", "sweep_budget.usd=100")
    assert call(*command).code == 0
    spent = ledger(here).standing()["usd"].spent
    (folder(here) / FILE).write_bytes(b"no database at all, " * 400)
    assert "delete it, the cells tell what was spent" in call(*command).complaint
    (folder(here) / FILE).unlink()
    assert call(*command).code == 0
    assert ledger(here).standing()["usd"].spent == spent == paid(here)


# Sweeps


@pytest.mark.parametrize(("facts", "code"), [({"sweep_budget": {"account": "usd", "cap": 4.0}}, 4), ({}, 0)])
def test_a_run_that_the_cap_cut_short_is_one_whatever_is_noted_of_it(facts: dict[str, Any], code: int) -> None:
    state = {
        "outcome": {"facts": facts}, "spent": {}, "folder": "x", "status": "stopped",
        "stop": {"reason": "budget_exhausted"}, "elapsed": 1.0,
    }  # fmt: skip
    row = row_of(state, {}, ALREADY)
    assert (row["note"], exit_code([row])) == (ALREADY, code)


@pytest.mark.parametrize(
    ("states", "code"),
    [
        (["completed", "paused"], 3), (["paused", "stopped", "not begun"], 3), (["paused", "failed"], 1),
        (["paused", "not run"], 2), (["completed", "not begun"], 4), (["completed", "stopped"], 0),
    ],
)  # fmt: skip
def test_a_sweep_with_cells_that_wait_says_so_unless_one_has_failed(states: list[str], code: int) -> None:
    assert exit_code([{"status": state} for state in states]) == code


def test_a_sweep_ends_at_its_cap_and_a_higher_one_goes_on(here: Path) -> None:
    command = ("-m", *PAID, "seed=range(8)", "jobs=3")
    first = call(*command, "sweep_budget.usd=40")
    assert first.code == 4, first.err
    assert paid(here) == ledger(here).standing()["usd"].spent == 40.0
    states = {row["status"]: [one for one in rows(first) if one["status"] == row["status"]] for row in rows(first)}
    assert set(states) == {"completed", "stopped", "not begun"}
    assert {(row["reason"], row["note"]) for row in states["stopped"]} == {("budget_exhausted", "sweep_budget.usd")}
    assert f"{len(states['not begun'])} cell" in first.err
    assert all(Path(row["folder"]).name in first.err for row in states["not begun"])
    assert "sweep_budget.usd is used up" in first.err
    state = Folder(Path(states["stopped"][0]["folder"])).saved()
    assert "sweep_budget.usd=40" in state["outcome"]["facts"]["detail"]
    again = call(*command)  # the cap stays
    assert (again.code, paid(here)) == (4, 40.0)
    last = call(*command, "sweep_budget.usd=400")
    assert last.code == 0, last.err
    assert [row["status"] for row in rows(last)] == ["completed"] * 8
    assert [row["seed"] for row in rows(last)] == list(range(8))  # in the order of the command
    assert sum(row["note"] == "already there" for row in rows(last)) == len(states["completed"])
    assert paid(here) == ledger(here).standing()["usd"].spent


def test_a_run_whose_limits_ask_pauses_at_the_cap_and_is_not_paid_twice(here: Path) -> None:
    command = ("-m", *PAID, "seed=0", "budget.on_limit=ask")
    first = call(*command, "sweep_budget.usd=5")
    assert [(row["status"], row["reason"]) for row in rows(first)] == [("paused", "confirm")]
    last = call(*command, "sweep_budget.usd=50")
    assert [(row["status"], row["note"]) for row in rows(last)] == [("completed", "resumed")]
    assert len(journals(here)) == 1
    assert paid(here) == ledger(here).standing()["usd"].spent == 9.0


def test_what_was_spent_before_there_was_a_cap_counts(here: Path) -> None:
    call("-m", *PAID, "seed=0,1")
    before = paid(here)
    said = call("-m", *PAID, "seed=0,1,2", f"sweep_budget.usd={before:g}")
    assert [row["status"] for row in rows(said)] == ["completed", "completed", "not begun"]
    assert paid(here) == before


def test_two_commands_and_their_processes_share_one_cap(here: Path) -> None:
    command = ("-m", *PAID, "seed=range(6)", "model.latency=0.01", "sweep_budget.usd=40")
    both = [start(*command, *more, cwd=here) for more in ((), ("jobs=2", "workers=processes"))]
    assert {ended(process).code for process in both} == {4}
    assert paid(here) == ledger(here).standing()["usd"].spent == 40.0


def test_a_sweep_that_is_killed_has_spent_no_more_than_it_may(here: Path) -> None:
    command = ("-m", *PAID, "seed=range(6)", "model.latency=0.05", "jobs=4", "sweep_budget.usd=60")
    process = start(*command, cwd=here)
    until(lambda: calls(here) > 16)
    process.send_signal(signal.SIGKILL)
    ended(process)
    assert 10 <= paid(here) <= ledger(here).standing()["usd"].spent + ledger(here).standing()["usd"].reserved
    assert call(*command).code == 4
    now = ledger(here).standing()["usd"]
    assert (now.reserved, now.spent) == (0.0, paid(here))
    assert now.spent <= 60.0


def test_a_run_without_the_ledger_that_is_under_way_is_no_reason_to_guess(here: Path) -> None:
    call("-m", *PAID, "seed=0")
    (run,) = (Folder(path.parent) for path in folder(here).glob("*/history.jsonl"))
    lines = run.history.read_bytes().splitlines(keepends=True)
    run.history.write_bytes(b"".join(lines[:-1]))
    (run.path / "run.json").unlink()
    with run.locked():
        said = call("-m", *PAID, "seed=0", "sweep_budget.usd=5")
    assert (said.code, "without a cap for the sweep" in said.complaint) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["sweep_budget.usd=5"], "caps all runs of a sweep together"), (["jobs=2"], "add -m"),
        (["-m", "sweep_budget.usd=-1"], "sweep_budget.usd"), (["-m", "sweep_budget.euro=1"], "sweep_budget"),
        (["-m", "jobs=0"], "looper: jobs: "), (["-m", "workers=cluster"], "looper: workers: "),
        (["-m", "sweep_budget.usd=1,2"], "cannot be swept"),
    ],
)  # fmt: skip
def test_settings_of_a_sweep_that_cannot_be_used_are_refused(arguments: list[str], told: str, here: Path) -> None:
    said = call("+task=dial", "tracking=none", *arguments)
    assert said.code == 2
    assert told in said.complaint
    assert not list(here.glob("outputs/**/history.jsonl"))


def test_a_ledger_is_made_only_where_a_cap_was_given(here: Path) -> None:
    call("-m", *PAID, "seed=0")
    assert not (folder(here) / FILE).exists()
