"""The trivial rivals in sweeps over designs (SPEC 6.4): which, where, at what budgets, and how they are left out."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_line import call
from sweep_runs import rows

from looper.errors import ConfigError
from looper.sweeps.rivals import Kind, cells, missing, wanted
from looper.tracking.multirun import manifest

NONE = "tracking=none"
TOLD = "The trivial rivals once, retry, best_of are compared too, with the largest of the budgets; rivals=no leaves"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(*designs: str, agents: dict[str, Any] | None = None) -> list[str]:
    return missing({"loop": [f"loop={name}" for name in designs]}, [kind(agents=agents)])


def kind(*around: str, agents: dict[str, Any] | None = None, **budget: Any) -> Kind:
    return Kind(frozenset(around), budget, agents or {})


def settings(run: Path) -> dict[str, Any]:
    return yaml.safe_load((run / "config.yaml").read_text())


def test_a_sweep_over_two_designs_runs_them_too_and_says_so(here: Path) -> None:
    command = ("-m", "+task=dial", "seed=1,2", "loop=adaptive,baseline", NONE, "--json")
    said = call(*command)
    assert said.code == 0, said.err
    assert TOLD in said.err
    assert sorted((row["design"], row["seed"]) for row in rows(said)) == sorted(
        (design, seed) for design in ("adaptive", "baseline", "once", "retry", "best_of") for seed in (1, 2)
    )
    (sweep,) = (here / "outputs/sweeps").iterdir()
    assert manifest(sweep).cells == 10
    assert {row["note"] for row in rows(call(*command))} == {"already there"}


def test_the_setting_leaves_them_out() -> None:
    for word in ("no", "false"):
        said = call("-m", "+task=dial", "loop=adaptive,baseline", f"rivals={word}", NONE, "--json")
        assert len(rows(said)) == 2
        assert "trivial rivals" not in said.err


@pytest.mark.parametrize(
    ("designs", "added"),
    [
        (("adaptive",), []),
        (("adaptive", "baseline"), ["once", "retry", "best_of"]),
        (("adaptive", "once"), ["retry", "best_of"]),
        (("adaptive", "once", "retry", "best_of"), []),
        (("once", "retry"), []),
        (("cascade", "random_walk"), []),
    ],
)
def test_only_a_comparison_of_designs_gets_those_that_it_lacks(designs: tuple[str, ...], added: list[str]) -> None:
    assert names(*designs) == added


def test_a_cascade_is_one_of_them_where_it_has_its_two_models() -> None:
    one, other = {"model": "provider/small"}, {"model": "provider/large"}
    assert "cascade" not in names("reflex", "adaptive", agents={"cheap": one})
    assert names("reflex", "adaptive", agents={"cheap": one, "dear": other})[-1] == "cascade"
    assert "cascade" not in names("reflex", "cascade", agents={"cheap": one, "dear": other})


def test_they_run_wherever_the_designs_do_without_what_is_set_of_a_design() -> None:
    axes = {
        "task": ["+task=a", "+task=b"], "loop": ["loop=reflex", "loop=cabal"], "seed": ["seed=0", "seed=1"],
        "loop.passes": ["loop.passes=1", "loop.passes=2"], "+ablate": ["+ablate=critic"],
    }  # fmt: skip
    made = cells(axes, ["once", "retry"], [kind(), kind()])
    assert len(made) == len({tuple(cell) for cell in made}) == 8
    assert sorted(made)[0] == ["+task=a", "seed=0", "loop=once"]


def test_of_budgets_that_differ_they_have_the_largest_and_what_was_typed_stays() -> None:
    axes = {"loop": ["loop=a", "loop=b"], "budget.usd": ["budget.usd=1"]}
    kinds = [kind(inner=20.0, outer=6.0, seconds=None, usd=1), kind(inner=5.0, outer=40.0, seconds=60, usd=1)]
    (cell,) = cells(axes, ["once"], kinds)
    assert cell == ["budget.usd=1", "budget.inner=20.0", "budget.outer=40.0", "budget.seconds=null", "loop=once"]
    (cell,) = cells({**axes, "budget": ["budget=rounds"]}, ["once"], kinds)
    assert cell == ["budget.usd=1", "budget=rounds", "loop=once"]


def test_budgets_are_those_of_the_designs_on_the_same_task() -> None:
    axes = {"+task": ["+task=a", "+task=b"], "loop": ["loop=x", "loop=y"]}
    kinds = [
        kind("+task=a", outer=6.0),
        kind("+task=a", outer=40.0),
        kind("+task=b", outer=9.0),
        kind("+task=b", outer=9.0),
    ]
    first, second = cells(axes, ["once"], kinds)
    assert first == ["+task=a", "budget.outer=40.0", "loop=once"]
    assert second == ["+task=b", "loop=once"]


def test_no_limit_of_time_is_the_largest() -> None:
    (cell,) = cells({"loop": ["loop=x", "loop=y"]}, ["once"], [kind(seconds=0), kind(seconds=60)])
    assert cell == ["budget.seconds=null", "loop=once"]


def experiment(here: Path, *lines: str) -> None:
    """An experiment file of the user's own, `mine`."""
    (here / "conf/experiment").mkdir(parents=True)
    body = ("# @package _global_", "# Mine.", "defaults: []", *lines, "")
    (here / "conf/experiment/mine.yaml").write_text("\n".join(body))


def test_rivals_whose_settings_do_not_fit_are_left_out_and_told(here: Path) -> None:
    experiment(here, "loop: {max_steps: 5}")
    said = call("-m", "+experiment=mine", "+task=dial", "loop=adaptive,baseline", NONE, "--json")
    assert said.code == 0, said.err
    assert [row["design"] for row in rows(said)] == ["adaptive", "baseline"]
    assert "trivial rivals do not fit these settings and are left out: loop.max_steps" in said.err


def test_an_ablation_of_the_experiment_is_not_theirs(here: Path) -> None:
    experiment(here, "ablate: planner", 'confirm: "yes"')
    said = call("-m", "+experiment=mine", "+task=sim", "loop=reflex,workflow", NONE, "--json")
    assert said.code == 0, said.err
    assert sorted(row["design"] for row in rows(said)) == ["best_of", "once", "reflex", "retry", "workflow"]


@pytest.mark.parametrize("taken_away", ["~agents", "~rivals"])
def test_parts_may_be_taken_away(taken_away: str) -> None:
    said = call("-m", "+task=dial", "loop=adaptive,baseline", taken_away, NONE, "--json")
    assert said.code == 0, said.err
    assert len(rows(said)) == 5


def test_no_rival_is_starved_in_a_real_sweep(here: Path) -> None:
    said = call("-m", "+task=sim", "loop=adaptive,reflex", "confirm=yes", "budget.usd=0.01", NONE, "--json")
    assert said.code == 0, said.err
    budgets = {row["design"]: settings(Path(row["folder"]))["budget"] for row in rows(said)}
    for cap in ("inner", "outer", "usd"):
        assert budgets["retry"][cap] == max(budgets["adaptive"][cap], budgets["reflex"][cap])
    assert budgets["adaptive"]["outer"] != budgets["reflex"]["outer"]


def test_a_plan_counts_them() -> None:
    command = ("plan", "-m", "+task=sim", "loop=adaptive,baseline")
    assert json.loads(call(*command, "--json").out)["cells"] == 5
    assert TOLD in call(*command).out
    assert json.loads(call(*command, "rivals=no", "--json").out)["cells"] == 2


@pytest.mark.parametrize("word", ["maybe", "null", "1", ""])
def test_another_word_is_refused(word: str) -> None:
    with pytest.raises(ConfigError, match=r"yes adds the trivial rivals"):
        wanted(word)


def test_it_cannot_be_swept() -> None:
    said = call("-m", "+task=dial", "loop=adaptive,baseline", "rivals=yes,no", NONE)
    assert said.code == 2
    assert "rivals" in said.complaint
