"""`looper tune`: a search over settings whose trials are cells of a sweep; resumed, capped, honest about holdouts."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_line import Said, call, ended, start
from sweep_runs import PAID, calls, folder, journals, ledger, paid, until

from looper.errors import ConfigError
from looper.journal import write_whole
from looper.sweeps.tuning.tune import Unfinished, as_overrides, tune_of, value

SPACE = {"loop.max_steps": {"low": 1, "high": 12}, "task.gain": {"choices": [0.4, 1.7]}}
OFFLINE = ("+task=dial", "loop=adaptive", "seed=0,1", "tracking=none", "sweep=mine", "--json")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pytest.importorskip("optuna")
    (tmp_path / "conf/experiment").mkdir(parents=True)
    text = f"# @package _global_\ndefaults: []\ntune:\n  trials: 3\n  space: {json.dumps(SPACE)}\n"
    (tmp_path / "conf/experiment/mine.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tune(*more: str) -> Said:
    return call("tune", "+experiment=mine", *OFFLINE, *more)


def trials(said: Said) -> list[dict[str, Any]]:
    return json.loads(said.out)


def test_a_search_tells_the_best_settings_and_the_same_command_has_nothing_left_to_do(here: Path) -> None:
    said = tune("tune.objective.cost=inner", "tune.objective.weight=0.01", "jobs=2")
    assert said.code == 0, said.err
    found = trials(said)
    assert [one["state"] for one in found] == ["complete"] * 3
    best = max(one["values"][0] for one in found)
    assert {one["values"][0] for one in found if one["best"]} == {best}
    before = {name: len(events) for name, events in journals(here).items()}
    again = tune("tune.objective.cost=inner", "tune.objective.weight=0.01", "jobs=2")
    assert (again.code, trials(again)) == (0, found)
    assert {name: len(events) for name, events in journals(here).items()} == before
    more = tune("tune.objective.cost=inner", "tune.objective.weight=0.01", "trials=4")
    assert [one["trial"] for one in trials(more)] == list(range(4))
    assert trials(more)[:3] == [{**one, "best": trials(more)[i]["best"]} for i, one in enumerate(found)]


def test_the_value_of_a_trial_is_that_of_its_cells(here: Path) -> None:
    said = tune("trials=3", "tune.objective.cost=inner")
    runs = [(yaml.safe_load((path.parent / "config.yaml").read_text()), json.loads(path.read_text()))
            for path in folder(here).glob("*/run.json")]  # fmt: skip
    for one in trials(said):
        steps, gain = (text.rpartition("=")[2] for text in one["settings"].split())
        own = [state for config, state in runs
               if (str(config["loop"]["max_steps"]), str(config["task"]["gain"])) == (steps, gain)]  # fmt: skip
        assert len(own) == 2
        assert one["values"][0] == sum(state["outcome"]["score"] for state in own) / 2
        assert one["values"][1] == pytest.approx(sum(state["spent"]["inner"] for state in own) / 2)
    assert said.code == 0
    assert any(one["best"] for one in trials(said))  # a front: score against cost
    assert all(len(one["values"]) == 2 for one in trials(said))


def test_a_search_that_is_killed_goes_on_with_the_trial_it_was_at(here: Path) -> None:
    paid_for = ("model=simulated", "model.tokens=1000", "model.price={input: 0, output: 1000}", "model.latency=0.03")
    command = (
        "tune",
        "+experiment=mine",
        *OFFLINE,
        "loop=baseline",
        "budget.outer=null",
        *paid_for,
        "seed=0",
        "trials=2",
    )
    process = start(*command, cwd=here)
    until(lambda: calls(here) > 3)
    process.send_signal(signal.SIGKILL)
    ended(process)
    said = call(*command)
    assert said.code == 0, said.err
    assert [one["state"] for one in trials(said)] == ["complete", "complete"]
    begun = [[event.event for event in events].count("run_started") for events in journals(here).values()]
    assert set(begun) == {1}


def test_a_search_ends_at_the_cap_of_the_sweep_and_goes_on_with_a_higher_one(here: Path) -> None:
    command = ("tune", "+experiment=mine", *PAID, "seed=0", "trials=3")
    said = call(*command, "sweep_budget.usd=8")
    assert said.code == 4, said.err
    assert paid(here) == ledger(here).standing()["usd"].spent == 8.0
    assert [one["state"] for one in trials(said)][-1] == "running"
    last = call(*command, "sweep_budget.usd=800")
    assert last.code == 0, last.err
    assert [one["state"] for one in trials(last)] == ["complete"] * 3


def test_another_space_is_another_search(here: Path) -> None:
    assert tune("trials=1").code == 0
    said = tune("trials=1", "tune.space.seed={low: 1, high: 2}")
    assert (said.code, "give another sweep=NAME" in said.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["tune.objective.score=holdout"], "tune.use_holdout=true"),
        (["tune.objective.weight=1"], "a weight needs a cost"), (["trials=0"], "tune.trials"),
        (["tune.sampler=x"], "tune.sampler"), (["tune.space.seed={low: 3, high: 2}"], "low must be below high"),
        (["tune.space.seed=7"], "tune.space.seed"), (["tune=null"], "nothing is declared"),
        (["hydra/launcher=joblib"], "runs its own cells"),
    ],
)  # fmt: skip
def test_what_cannot_be_searched_is_refused_before_anything_runs(arguments: list[str], told: str, here: Path) -> None:
    said = tune(*arguments)
    assert said.code == 2
    assert told in said.complaint
    assert journals(here) == {}


def test_a_plain_sweep_does_not_mind_what_a_search_would_do(here: Path) -> None:
    said = call("-m", "+experiment=mine", *OFFLINE)
    assert (said.code, len(trials(said))) == (0, 2)


def row(tmp_path: Path, **known: Any) -> dict[str, Any]:
    write_whole(tmp_path / "run.json", json.dumps({"spent": {"usd": 0.5, "inner": 2.0}}).encode())
    return {"folder": str(tmp_path), "status": "completed", "score": 1.0, "seconds": 3.0, "note": "", **known}


@pytest.mark.parametrize(
    ("objective", "expected"),
    [
        ({}, [0.5]), ({"cost": "usd"}, [0.5, 0.5]), ({"cost": "inner", "weight": 0.1}, [0.5 - 0.2]),
        ({"cost": "seconds", "weight": 1.0}, [0.5 - 3.0]), ({"cost": "tokens"}, [0.5, 0.0]),
    ],
)  # fmt: skip
def test_a_failed_cell_has_no_score_and_its_cost(
    objective: dict[str, Any], expected: list[float], tmp_path: Path
) -> None:
    known = tune_of({"space": {"seed": {"low": 1, "high": 2}}, "objective": objective})
    found = value(known, [row(tmp_path), row(tmp_path, status="failed", score=None)])
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    "known", [{"status": "paused"}, {"status": "running"}, {"status": "stopped", "capped": "sweep_budget.usd"},
              {"note": "in another process"}, {"status": "not begun"}, {"status": "interrupted"}]
)  # fmt: skip
def test_a_trial_with_an_unfinished_cell_is_not_told(known: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(Unfinished):
        value(tune_of({"space": {"seed": {"low": 1, "high": 2}}}), [row(tmp_path), row(tmp_path, **known)])


def test_a_holdout_is_used_only_where_that_is_said_and_where_there_is_one(tmp_path: Path) -> None:
    settings = {"space": SPACE, "objective": {"score": "holdout"}, "use_holdout": True}
    assert value(tune_of(settings), [row(tmp_path, holdout=0.25)]) == [0.25]
    with pytest.raises(ConfigError, match="the task has none"):
        value(tune_of(settings), [row(tmp_path, holdout=None)])


def test_values_are_written_as_a_command_line_takes_them() -> None:
    given = {"a": True, "b": 3, "c": 0.123456789, "d": "word"}
    assert as_overrides(given) == ["a=true", "b=3", "c=0.123457", "d=word"]
