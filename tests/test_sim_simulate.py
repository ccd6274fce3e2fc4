"""Many simulated runs in one process: the columns that the statistics read, and what a simulation plants."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import pytest

from looper.errors import ConfigError
from looper.lab.simulation.simulate import composed, simulate
from looper.lab.statistics import compare

READ = {"run", "task", "design", "seed", "gate_score", "passed", "holdout", "score", "inner", "outer", "usd", "tokens",
        "calls", "seconds"}  # fmt: skip


@pytest.fixture(scope="module")
def config() -> dict[str, Any]:
    return composed("+task=sim", "loop=once", "task.judged=0")


def runs(config: Mapping[str, Any], seeds: Any = (0, 1, 2), instances: Any = (1, 2), **more: Any) -> pd.DataFrame:
    more = {"model": config["model"], **more}
    return simulate(config["task"], config["loop"], config["budget"], seeds, instances, **more)


def test_a_row_for_each_instance_and_seed_with_all_that_statistics_read(config: dict[str, Any]) -> None:
    frame = runs(config)
    assert set(frame.columns) >= READ
    assert list(frame["task"]) == ["sim-1"] * 3 + ["sim-2"] * 3
    assert list(frame["seed"]) == [0, 1, 2] * 2
    assert frame["run"].is_unique
    assert not frame[list(READ)].isna().any().any()
    assert set(frame["synthetic"]) == {"simulation"}
    assert (frame["score"] == frame["holdout"]).all()


def test_calls_tokens_usd_and_seconds_are_those_of_the_simulated_calls(config: dict[str, Any]) -> None:
    row = runs(config, [0], [1]).iloc[0]
    assert (row["calls"], row["seconds"], row["outer"]) == (1, 2.0, 2.0)
    assert 950 <= row["tokens"] <= 2850
    assert row["usd"] > 0


def test_the_same_seeds_give_the_same_frame(config: dict[str, Any]) -> None:
    pd.testing.assert_frame_equal(runs(config), runs(config))
    assert list(runs(config, range(8))["holdout"]) != list(runs(config, range(8, 16))["holdout"])


def test_roles_can_differ_in_skill(config: dict[str, Any]) -> None:
    good = runs(config, range(12), label="good")
    bad = runs(config, range(12), agents={"planner": {"skill": 0.2}}, label="bad")
    assert set(bad["design"]) == {"bad"}
    assert bad["score"].mean() < good["score"].mean() - 0.2


def test_what_is_planted_is_found_by_the_statistics(config: dict[str, Any]) -> None:
    arms = [runs(config, range(2), range(1, 13), model={"name": "simulated", "skill": skill}, label=name)
            for name, skill in (("weak", 0.3), ("strong", 1.0))]  # fmt: skip
    (row,) = compare(pd.concat(arms), "weak").to_dict("records")
    assert row["verdict"] == "better"
    assert row["p"] < 0.01
    assert row["clusters"] == 12


def test_a_run_that_breaks_down_has_earned_nothing(config: dict[str, Any]) -> None:
    frame = runs(config, model={**config["model"], "invalid": 1.0})
    assert set(frame["status"]) == {"failed"}
    assert (frame[["gate_score", "holdout", "score"]] == 0).all().all()
    assert (frame["calls"] == 2).all()


def test_without_a_model_each_seed_has_dice_of_its_own(config: dict[str, Any]) -> None:
    frame = runs(config, range(8), [1], model={"name": "offline"})
    assert frame["holdout"].nunique() > 1
    assert (frame["calls"] == 0).all()


def test_another_task_is_refused(config: dict[str, Any]) -> None:
    dial = {"_target_": "looper.tasks.dial.Dial"}
    with pytest.raises(ConfigError, match=r"task\.instance: there is no such setting"):
        simulate(dial, config["loop"], config["budget"], [0], [1])


def test_what_does_not_compose_is_refused_with_its_overrides() -> None:
    with pytest.raises(ConfigError, match=r"\+task=nothing: does not compose"):
        composed("+task=nothing")
