"""`looper plan`: what a sweep would cost and could find, before a cent is spent. No number is made up."""

import dataclasses
import functools
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from command_line import call
from humaneval_problems import saved
from hydra._internal.config_loader_impl import ConfigLoaderImpl

from looper.arguments import rewrite
from looper.build import instantiate
from looper.commands.planning import Planner, amounts, clock
from looper.lab.planning.bounds import Amount, bounds, most_calls, question_bytes
from looper.lab.planning.forecasting import Arm, Cell, Forecast, Past, forecast, found, overall, spreads
from looper.lab.simulation.simulate import composed
from looper.parts import Parts, build

SIM = ("+task=sim", "task.judged=0")


@functools.cache
def configured(*overrides: str) -> dict[str, Any]:
    return composed(*overrides)


def parts(*overrides: str, **task: Any) -> Parts:
    config = {key: value for key, value in configured(*overrides).items() if key != "sweep"}
    return build({**config, "task": {**config["task"], **task}})


def planned(*args: str) -> dict[str, Any]:
    said = call("plan", "-m", *args, "--json")
    assert said.code == 0, said.err
    return json.loads(said.out)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("looper.lab.planning.forecasting.TRIALS", 12)
    return tmp_path


# The command


def test_a_sweep_is_planned_by_arm_and_in_total_and_nothing_is_run(here: Path) -> None:
    told = planned(*SIM, "loop=once,retry", "task.instance=1,2,3", "seed=range(2)", "budget.outer=10")
    assert (told["cells"], told["tasks"]) == (12, 3)
    once, retry = told["arms"]
    assert (once["label"], once["cells"], retry["label"]) == ("once", 6, "retry")
    assert once["expected"]["calls"] == 6
    assert 6 < retry["expected"]["calls"] <= retry["worst"]["calls"] == 30
    assert "simulated with these parameters" in retry["source"]
    assert once["detectable"] is None
    assert 0 < retry["detectable"] < 1
    assert told["total"]["expected"]["usd"] == pytest.approx(once["expected"]["usd"] + retry["expected"]["usd"])
    assert list(here.iterdir()) == []


def test_the_table_says_what_its_numbers_rest_on() -> None:
    said = call("plan", "-m", *SIM, "loop=once,retry", "task.instance=1,2", "seed=0,1")
    assert said.code == 0, said.err
    assert "8 cells on 2 tasks; nothing was run, nothing was spent." in said.out
    assert "calls are bounded by units" in said.out
    assert "(first)" in said.out
    assert "with fewer than 10 tasks" in said.out
    assert [line.split()[0] for line in said.out.splitlines() if "worst " in line] == ["once", "retry", "total"]


def test_one_run_is_planned_too() -> None:
    said = call("plan", *SIM, "loop=once")
    assert "1 cell on 1 task; nothing was run" in said.out


def test_one_task_can_show_no_difference() -> None:
    said = call("plan", "-m", *SIM, "loop=once,retry", "seed=range(3)")
    assert "unknown" in said.out.split("retry")[1].split("total")[0]


def test_swept_settings_of_a_task_are_tasks_and_others_are_arms() -> None:
    told = planned(*SIM, "loop=once", "task.truth.satisfy=0.3,0.9", "model.skill=0.5,1.0")
    assert told["tasks"] == 2
    assert [arm["label"] for arm in told["arms"]] == ["once, model.skill=0.5", "once, model.skill=1.0"]


def test_an_experiment_is_planned_by_its_name() -> None:
    told = planned("+experiment=sim_critic", "task.instance=1,2")
    assert told["cells"] == 18
    assert told["tasks"] == 6


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("loop=once",), "no task: give one with"), (("+task=sym",), "there is no such task; did you mean `sim`?"),
        ((*SIM, "task.typo=1"), "typo"), (("--frobnicate",), "there is no such flag"),
        ((*SIM, "task.rules=0"), "task.rules"),
    ],
)  # fmt: skip
def test_what_cannot_be_run_cannot_be_planned(args: tuple[str, ...], told: str) -> None:
    said = call("plan", *args)
    assert said.code == 2
    assert told in said.complaint


def test_help_is_there() -> None:
    said = call("plan", "--help")
    assert said.code == 0
    assert "before anything is spent" in said.out


# Worst cases


def test_caps_bound_a_run_whatever_it_does() -> None:
    amount, notes = bounds(parts(*SIM, "loop=retry", "budget.calls=3", "budget.usd=0.001", "budget.tokens=900"))
    assert amount == Amount(3, 900, 0.001, None)
    assert notes == []


def test_units_bound_calls_and_the_dearest_one_bounds_the_rest() -> None:
    amount, notes = bounds(parts(*SIM, "loop=retry", "budget.outer=10"))
    assert amount.calls == 5
    assert amount.tokens == 5 * 2850
    assert amount.usd == pytest.approx(5 * (2250 * 0.15 + 600 * 0.6) / 1e6)
    assert notes == ["calls are bounded by units; those that fail before any token are not counted"]


def test_without_a_cap_the_worst_case_is_not_known() -> None:
    amount, notes = bounds(parts(*SIM, "loop=retry", "budget=unlimited"))
    assert (amount.calls, amount.usd) == (None, None)
    assert notes == ["no cap bounds the number of calls; give budget.calls=... or budget.usd=..."]
    assert bounds(parts(*SIM, "loop=retry", "budget=unlimited", "budget.usd=2"))[0].usd == 2


def test_inner_units_are_refilled_by_replans() -> None:
    cell = parts(*SIM, "loop=adaptive", "budget.inner=1", "budget.outer=6")
    assert most_calls(cell, {"decide"}) == 10 * (1 + 3)
    assert most_calls(cell, {"plan"}) == 3
    assert most_calls(cell, {"plan", "decide"}) == 43


def test_a_run_without_models_costs_nothing() -> None:
    told = planned("+task=dial", "loop=adaptive", "seed=range(3)")
    (arm,) = told["arms"]
    assert {arm["worst"][name] for name in ("calls", "tokens", "usd")} == {0}
    assert {arm["expected"][name] for name in ("calls", "tokens", "usd")} == {0}
    assert arm["expected"]["seconds"] is None
    assert arm["source"].startswith("unknown")


def test_a_model_without_history_has_a_worst_case_and_no_expectation() -> None:
    told = planned("+task=dial", "loop=baseline", "model=openai/gpt-4o-mini", "model.price={input: 1.0, output: 2.0}")
    (arm,) = told["arms"]
    assert arm["worst"]["calls"] == 3
    assert 0 < arm["worst"]["usd"] < 0.1
    assert arm["expected"] == {"calls": None, "tokens": None, "usd": None, "seconds": None}
    assert any("16,000 bytes" in note for note in arm["notes"])


def test_a_model_without_a_price_is_refused_before_anything_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("looper.agents.model.library", lambda: SimpleNamespace(model_cost={}))
    said = call("plan", "+task=dial", "loop=baseline", "model=ollama/no-such-model-at-all")
    assert said.code == 2
    assert "price" in said.complaint


# Expectations from earlier runs


def test_earlier_runs_with_the_same_settings_are_what_is_expected(here: Path) -> None:
    sweep = (*SIM, "loop=once,retry", "task.instance=1,2", "tracking=none")
    assert call("-m", *sweep, "seed=0,1", "budget.outer=8").code == 0
    told = planned(*sweep, "seed=range(5)", "budget.outer=8")
    once, retry = told["arms"]
    assert once["source"] == retry["source"] == "4 earlier runs"
    assert once["expected"]["calls"] == 10
    rows = json.loads(next(here.glob("outputs/sweeps/*/results.json")).read_text())
    usd = [row["usd"] for row in rows if row["design"] == "retry"]
    assert retry["expected"]["usd"] == pytest.approx(sum(usd) / 4 * 10)
    assert retry["detectable"] is not None


def test_runs_with_another_budget_are_called_so(here: Path) -> None:
    assert call(*SIM, "loop=retry", "tracking=none", "budget.outer=8").code in (0, 4)
    told = planned(*SIM, "loop=retry", "budget.outer=4")
    assert told["arms"][0]["source"] == "1 earlier runs with other settings of design, model or budget"
    other = planned(*SIM, "task.rules=5", "loop=retry")
    assert "simulated" in other["arms"][0]["source"], "runs of another task say nothing"


def test_tasks_without_runs_are_counted() -> None:
    arm = Arm("retry", [Cell(parts(*SIM, "loop=retry", instance=number)) for number in (1, 2)])
    run = earlier(arm)
    never = {**run, "finished": False, "usd": 100.0}
    (line,) = forecast([arm], pd.DataFrame([run, never]))
    assert line.source == "1 earlier runs, none of 1 of 2 tasks"
    assert line.expected == Amount(4, 20, 1.0, 2.0)


def test_a_design_within_an_outer_loop_is_expected_to_ask_more() -> None:
    bare, outer = planned("+task=sim", "loop=reflex", "model=sim", "outer=none,gather_verify")["arms"]
    assert 0 < bare["expected"]["calls"] < outer["expected"]["calls"]


@pytest.mark.parametrize("other", [{"outer_loop": "gather_verify"}, {"capped": "sweep_budget.usd"}])
def test_a_run_within_an_outer_loop_or_cut_by_a_cap_is_no_run_of_the_arm(other: dict[str, str]) -> None:
    arm = Arm("retry", [Cell(parts(*SIM, "loop=retry"))])
    assert forecast([arm], pd.DataFrame([earlier(arm)]))[0].source == "1 earlier runs"
    assert "simulated" in forecast([arm], pd.DataFrame([earlier(arm) | other]))[0].source


def earlier(arm: Arm) -> dict[str, Any]:
    return {
        "task_hash": arm.cells[0].task, "finished": True, "trouble": "", "capped": "", "design": "retry",
        "outer_loop": "none", "model": "simulated", "settings": dict(arm.cells[0].settings), "score": 0.5, "calls": 2.0,
        "tokens": 10.0, "usd": 0.5, "seconds": 1.0,
    }  # fmt: skip


# What could be found


def past(*scores: float) -> list[Past]:
    return [Past(score, 0, 0, 0, 0) for score in scores]


def test_spreads_within_and_between_tasks() -> None:
    a = {"t1": past(0.0, 1.0), "t2": past(0.0, 1.0), "t3": past(0.5, 0.5)}
    b = {"t1": past(0.5, 0.5), "t2": past(0.5, 0.5), "t3": past(0.5, 0.5)}
    between, within = spreads(a, b) or (-1, -1)
    assert between == 0.0
    assert within == pytest.approx((1 / 3) ** 0.5)


def test_the_spread_is_not_known_from_one_task_or_single_runs() -> None:
    assert spreads({"t": past(0, 1)}, {"t": past(0, 1)}) is None
    assert spreads({"t": past(0), "u": past(1)}, {"t": past(0), "u": past(1)}) is None
    assert spreads({}, {}) is None


def test_more_tasks_show_smaller_differences() -> None:
    def arms(count: int) -> list[Arm]:
        cells = [Cell(parts(*SIM, "loop=once", instance=number)) for number in range(1, count + 1)]
        return [Arm(name, cells, {cell.task: past(0.2, 0.6) for cell in cells}) for name in "ab"]

    few, many = (found(*arms(count), alpha=0.05) or 0.0 for count in (3, 9))
    assert few > many > 0
    assert (found(*arms(9), alpha=0.01) or 0.0) > many


def test_a_sum_with_something_unknown_is_unknown() -> None:
    lines = [Forecast("a", 1, Amount(1, 1, 1, None), Amount(1, None, 1, 1), None, "s", rank="first"),
             Forecast("b", 2, Amount(2, 2, 2, None), Amount(1, 1, 1, 1), 0.1, "s")]  # fmt: skip
    total = overall(lines)
    assert (total.cells, total.worst, total.expected) == (3, Amount(3, 3, 3, None), Amount(2, None, 2, 2))
    assert amounts(total.expected)[1] == "unknown"


def test_what_is_not_finite_is_told_as_unknown() -> None:
    line = Forecast("a", 1, Amount(), Amount(), float("inf"), "s")
    assert json.loads(json.dumps(line.told()))["detectable"] is None


@pytest.mark.parametrize(("seconds", "told"), [(4, "4 s"), (600, "10 min"), (7200, "2.0 h")])
def test_times_are_told_in_words(seconds: float, told: str) -> None:
    assert clock(seconds) == told


def test_a_budget_is_not_changed_by_planning() -> None:
    cell = parts(*SIM, "loop=retry")
    before = dataclasses.asdict(cell.budget)
    bounds(cell)
    assert dataclasses.asdict(cell.budget) == before
    assert instantiate(cell.config["budget"], "budget") == cell.budget


# A priced model on a task that says how long its questions are


def code_of(folder: Path, *more: str) -> tuple[str, ...]:
    model = ("model=openai/gpt-4o-mini", "model.price={input: 1.0, output: 2.0}", "budget.outer=10")
    return ("+task=code/humaneval", f"task.file={saved(folder)}", *model, *more)


def test_a_benchmark_with_a_priced_model_is_expected_to_cost_something(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(*_: object) -> None:
        raise AssertionError("a plan executes no program")

    monkeypatch.setattr("looper.checks.sandbox.Sandbox.start", nothing)
    told = planned(*code_of(here, "loop=once,best_of,reflex", "rivals=no", "task.problem=0,1,2"))
    once, draws, reflex = told["arms"]
    assert [arm["expected"]["calls"] for arm in (once, draws)] == [3, 9]
    assert 3 < reflex["expected"]["calls"] <= reflex["worst"]["calls"] == 15
    for arm in told["arms"]:
        assert 0 < arm["expected"]["tokens"] < arm["worst"]["tokens"]
        assert 0 < arm["expected"]["usd"] < arm["worst"]["usd"]
        assert arm["source"].startswith("estimate, no run was made")
        assert arm["expected"]["seconds"] is None
    assert draws["expected"]["usd"] > 2 * once["expected"]["usd"] > 0
    assert told["total"]["expected"]["calls"] == sum(arm["expected"]["calls"] for arm in told["arms"])


def test_a_worst_case_begins_with_the_first_question_and_grows_by_answers(here: Path) -> None:
    cell = parts(*rewrite(code_of(here, "loop=retry", "model.max_tokens=1000")))
    first = max(question_bytes(cell.task, step) or 0 for step in ("plan", "produce", "write"))
    one, two, five = (bounds(dataclasses.replace(cell, budget=capped(cell, calls)))[0] for calls in (1, 2, 5))
    assert first + 1000 < (one.tokens or 0) < first + 1000 + 100
    assert (two.tokens or 0) == 2 * (one.tokens or 0) + 1000
    assert (five.tokens or 0) == 5 * (one.tokens or 0) + (1 + 2 + 3 + 3) * 1000


def capped(cell: Parts, calls: int) -> Any:
    return dataclasses.replace(cell.budget, calls=calls)


def test_a_question_of_a_designs_own_is_taken_to_be_long(here: Path) -> None:
    told = planned(*code_of(here, "loop=cabal"))
    assert any("16,000 bytes" in note for note in told["arms"][0]["notes"])
    assert told["arms"][0]["expected"]["usd"] > 0


# Time, and what a plan has in common with a run


def test_a_plan_has_the_settings_of_the_runs(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the sweep around them are not theirs: else no earlier run would be that of a cell."""
    command = (*SIM, "loop=once,retry", "seed=0,1", "jobs=2", "workers=processes", "sweep_budget.usd=9", "sweep=one")
    arms: list[Arm] = []
    with monkeypatch.context() as patch:
        patch.setattr(Planner, "said", lambda self, as_json: str(arms.extend(self.arms.values())))
        assert call("plan", "-m", *command).code == 0
    mine = {cell.parts.identity for arm in arms for cell in arm.cells}
    assert call("-m", *command, "tracking=none").code in (0, 4)
    runs = [json.loads(file.read_text()) for file in here.glob("outputs/sweeps/one/*/run.json")]
    assert {run["setup"]["config_hash"] for run in runs} == mine
    assert len(mine) == 4


def test_each_kind_of_cell_is_composed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Composing is what takes long: 9 designs on 164 problems took more than ten minutes."""
    composed: list[list[str]] = []
    load = ConfigLoaderImpl.load_sweep_config

    def counted(self: Any, master: Any, overrides: list[str]) -> Any:
        composed.append(overrides)
        return load(self, master, overrides)

    monkeypatch.setattr(ConfigLoaderImpl, "load_sweep_config", counted)
    told = planned(*SIM, "task.instance=1,2,3", "loop=once,retry", "seed=0,1", "budget.outer=4")
    assert told["cells"] == 12
    assert len(composed) == 2
