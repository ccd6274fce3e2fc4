"""Parameters fitted from recorded runs: what was planted is found again, with its n and an interval."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from looper.errors import ConfigError
from looper.lab.simulation.fitting import Fitted, fitted
from looper.lab.simulation.simulate import composed, simulate
from looper.launch import launch
from looper.parts import build

PLANTED = {"satisfy": 0.5, "repair": 0.7, "unnamed": 0.2, "damage": 0.1, "miss": 0.3, "wrong": 0.1}
RUNS = 50


def recorded(place: Path, count: int, *overrides: str) -> Iterator[Path]:
    config = composed("+task=sim", "task.judged=0", "task.spread=0", "confirm=yes", "tracking=none", *overrides)
    config.pop("sweep")
    for seed in range(count):
        folder = place / f"run-{seed}"
        task = {**config["task"], "instance": seed + 1}
        launch(build({**config, "task": task, "seed": seed, "outputs": str(place)}), folder, sync=False)
        yield folder


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Fitted:
    place = tmp_path_factory.mktemp("fitting")
    odds = [f"task.truth.{name}={value}" for name, value in PLANTED.items()]
    own = ("model.faults=0.05", "model.invalid=0.04", "+agents.critic={tokens: 900}")
    return fitted(recorded(place, RUNS, "loop=reflex", "budget=unlimited", *odds, *own))


def row(found: Fitted, parameter: str) -> dict[str, Any]:
    (row,) = found.table[found.table["parameter"] == parameter].to_dict("records")
    return row


@pytest.mark.parametrize("parameter", PLANTED)
def test_planted_odds_are_found_within_twice_their_interval(parameter: str, found: Fitted) -> None:
    told = row(found, parameter)
    assert told["n"] > 30
    assert told["low"] < told["value"] < told["high"]
    assert told["low"] - (told["value"] - told["low"]) < PLANTED[parameter] < 2 * told["high"] - told["value"]


def test_failures_and_tokens_are_found_by_role(found: Fitted) -> None:
    for name, planted in (("faults", 0.05), ("invalid", 0.04), ("tokens_in", 1500), ("tokens critic", 900)):
        told = row(found, name)
        assert told["value"] == pytest.approx(planted, rel=0.6 if planted < 1 else 0.12), name
        assert told["low"] <= told["value"] <= told["high"]
    assert row(found, "latency")["value"] == 2.0


def test_a_rule_has_rates_of_its_own(found: Fitted) -> None:
    assert row(found, "satisfy a.correctness.r01")["n"] == RUNS
    rows = found.settings["task"]["rows"]
    assert [one["rule"] for one in rows] == [1, 2, 3, 4, 5, 6]
    assert [one["severity"] for one in rows] == ["fail"] * 4 + ["warn"] * 2
    assert rows[0]["satisfy"] == pytest.approx(row(found, "satisfy a.correctness.r01")["value"])


def test_what_is_fitted_can_be_simulated_and_costs_about_the_same(found: Fitted) -> None:
    config = composed("+task=sim", "loop=reflex", "budget=unlimited")
    again = simulate(found.settings["task"], config["loop"], config["budget"], range(30), [1, 2],
                     model=found.settings["model"], agents=found.settings["agents"])  # fmt: skip
    first = simulate({**config["task"], "judged": 0, "spread": 0.0, "truth": {**config["task"]["truth"], **PLANTED}},
                     config["loop"], config["budget"], range(30), [1, 2],
                     model={**config["model"], "faults": 0.05, "invalid": 0.04},
                     agents={"critic": {"tokens": 900}})  # fmt: skip
    assert again["calls"].mean() == pytest.approx(first["calls"].mean(), rel=0.2)
    assert again["tokens"].mean() == pytest.approx(first["tokens"].mean(), rel=0.25)


def test_draws_show_drafts_and_nothing_of_repairs(tmp_path: Path) -> None:
    told = fitted(recorded(tmp_path, 4, "loop=retry", "loop.max_tries=3", "task.truth.satisfy=0.3"))
    assert row(told, "satisfy")["n"] >= 4 * 6
    assert not {"repair", "unnamed", "damage"} & set(told.table["parameter"])
    assert "repair" not in told.settings["task"]["truth"], "what was not observed is left out"


def test_adaptive_shows_repairs_of_the_rule_that_its_policy_named(tmp_path: Path) -> None:
    told = fitted(recorded(tmp_path, 6, "loop=adaptive", "budget=iterations", "task.truth.unnamed=0"))
    assert row(told, "repair")["n"] > 6
    assert row(told, "unnamed")["value"] == 0.0


def test_the_first_change_of_baseline_is_a_draft(tmp_path: Path) -> None:
    told = fitted(recorded(tmp_path, 6, "loop=baseline", "budget.outer=6", "task.truth.satisfy=1.0"))
    assert row(told, "satisfy")["value"] == 1.0


def test_runs_without_tokens_say_nothing_of_models(tmp_path: Path) -> None:
    told = fitted(recorded(tmp_path, 2, "loop=once", "model=offline"))
    assert "model" not in told.settings
    assert "tokens" not in set(told.table["parameter"])


def test_a_workflow_shows_its_calls_alone(tmp_path: Path) -> None:
    told = fitted(recorded(tmp_path, 1, "loop=workflow"))
    assert {"coder", "tester"} <= set(told.settings["agents"])
    assert "satisfy" not in set(told.table["parameter"])


def test_without_runs_there_is_nothing_to_fit(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no run"):
        fitted([])
    with pytest.raises(ConfigError, match="there is no journal"):
        fitted([tmp_path])


def test_what_is_fitted_is_plain(found: Fitted) -> None:
    assert dataclasses.is_dataclass(found)
    assert build({**composed("+task=sim", "loop=once"), **found.settings, "sweep": None}).task.rules == 6
