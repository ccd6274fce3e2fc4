"""Closed forms against the kernel: simulated means lie within the standard errors of what they should be."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from looper.agents.simulated import Simulated
from looper.build import instantiate
from looper.errors import ConfigError
from looper.lab.simulation import expected
from looper.lab.simulation.expected import Expected
from looper.lab.simulation.simulate import composed, simulate
from looper.tasks.sim.task import Sim
from looper.tasks.sim.truth import Planted, Row

FAULTY = {"faults": 0.1, "invalid": 0.1}
ALIKE = {"rules": 4, "warnings": 0, "judged": 0}
SIGMA = 3.5
"""Standard errors that a mean may be off: about one in 2,000 of such numbers is further, and there are thirty."""


@pytest.fixture(scope="module")
def config() -> dict[str, Any]:
    return composed("+task=sim", "budget=unlimited")


def compared(config: dict[str, Any], loop: dict[str, Any], task: dict[str, Any], model: dict[str, Any], runs: int,
             want: Callable[[Sim, Simulated], Expected]) -> None:  # fmt: skip
    settings = {**config["task"], **task, "truth": {**config["task"]["truth"], **task.get("truth", {})}}
    how = {**config["model"], **model}
    built = instantiate(settings, "task")
    told = want(built, Simulated(**{key: value for key, value in how.items() if key != "name"}))
    frame = simulate(settings, loop, config["budget"], range(runs), [built.instance], model=how)
    for column, value in (("passed", told.success), ("calls", told.calls), ("tokens", told.tokens), ("usd", told.usd)):
        found = frame[column].astype(float)
        spread = math.sqrt(value * (1 - value)) if column == "passed" else found.std()
        error = spread / math.sqrt(runs)
        assert abs(found.mean() - value) <= SIGMA * error + 1e-9, (column, value, found.mean(), error)


def loop(name: str, **settings: Any) -> dict[str, Any]:
    module = {"BestOf": "best_of"}.get(name, name.lower())
    return {"_target_": f"looper.loops.{module}.{name}", **settings}


CASES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any], Callable[[Sim, Simulated], Expected]]] = {
    "once": (loop("Once"), {}, {}, expected.once),
    "once, erring": (
        loop("Once"), {"judged": 2, "truth": {"planning": 0.6}}, {"skill": 0.9, **FAULTY}, expected.once,
    ),
    "retry": (loop("Retry", max_tries=4), {"instance": 3}, {}, lambda t, m: expected.retry(t, m, 4)),
    "retry, erring": (
        loop("Retry", max_tries=3), {"instance": 3, "judged": 2}, FAULTY, lambda t, m: expected.retry(t, m, 3),
    ),
    "best of three": (loop("BestOf", n=3), {"instance": 3}, {}, lambda t, m: expected.best_of(t, m, 3)),
    "best of three, erring": (loop("BestOf", n=3), {"instance": 3}, FAULTY, lambda t, m: expected.best_of(t, m, 3)),
    "reflex": (loop("Reflex"), ALIKE, {}, expected.reflex),
    "reflex, erring": (
        loop("Reflex"),
        {**ALIKE, "rules": 5,
         "truth": {"wrong": 0.2, "miss": 0.5, "damage": 0.2, "planning": 0.7, "satisfy": 0.3, "unnamed": 0.3}},
        {"skill": 0.95, "faults": 0.1, "invalid": 0.05}, expected.reflex,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_simulated_means_are_what_the_closed_form_says(case: str, config: dict[str, Any]) -> None:
    design, task, model, want = CASES[case]
    compared(config, design, task, model, 150, want)


def test_the_comparison_would_notice_a_planted_error(config: dict[str, Any]) -> None:
    with pytest.raises(AssertionError):
        compared(config, loop("Once"), {"truth": {"satisfy": 0.8}}, {}, 150,
                 lambda t, m: expected.once(Sim(instance=t.instance, truth=Planted(satisfy=0.6)), m))  # fmt: skip


# Known by hand

CALM = Simulated(skill=1.0, tokens=10, tokens_in=0)


def rules(count: int, satisfy: float, **more: Any) -> Sim:
    truth = {"satisfy": satisfy, "miss": 0.0, "damage": 0.0, "unnamed": 0.0, **more}
    return Sim(rules=count, warnings=0, judged=0, spread=0.0, truth=Planted(**truth))


def test_one_draft_passes_if_all_rules_are_met() -> None:
    found = expected.once(rules(3, 0.5), CALM)
    assert found.success == pytest.approx(0.125)
    assert (found.calls, found.tokens, found.usd) == (1, 10, 0)


def test_a_rule_that_warns_may_fail() -> None:
    task = Sim(rules=5, warnings=1, judged=0, spread=0.0, truth=Planted(satisfy=0.5))
    assert expected.passing(task, CALM) == pytest.approx(0.5**4), "8 of 9 points are above 0.8"


def test_retries_are_a_geometric_series() -> None:
    found = expected.retry(rules(1, 0.5), CALM, 3)
    assert (found.success, found.calls) == (pytest.approx(0.875), pytest.approx(1.75))
    assert expected.best_of(rules(1, 0.5), CALM, 3).success == pytest.approx(0.875)
    assert expected.best_of(rules(1, 0.5), CALM, 3).calls == 3


def test_one_rule_is_repaired_as_often_as_there_are_iterations() -> None:
    found = expected.reflex(rules(1, 0.5, repair=0.5), CALM, 3)
    assert found.success == pytest.approx(1 - 0.5**3)
    # plan, produce; then critique, refine, plan while it fails, in two more iterations
    assert found.calls == pytest.approx(2 + 0.5 * 3 + 0.25 * 3)


def test_a_critic_who_overlooks_everything_names_one_rule_all_the_same() -> None:
    found = expected.reflex(rules(2, 0.0, repair=1.0, miss=1.0), CALM, 2)
    assert found.success == 0.0
    assert expected.reflex(rules(2, 0.0, repair=1.0, miss=1.0), CALM, 3).success == pytest.approx(1.0)


def test_two_wrong_critiques_end_the_run() -> None:
    found = expected.reflex(rules(2, 0.5, repair=1.0, wrong=0.5), CALM, 2)
    # one of two fails in half of the drafts: a critique can be wrong then; none or both fail in a quarter each
    assert found.success == pytest.approx(0.25 + 0.25 + 0.5 * 0.75)


def test_calls_of_a_question_with_retries_and_repairs() -> None:
    assert expected.asked(Simulated(tokens=1, faults=0.5, retries=1)) == expected.Asked(0.75, 1.5, 0.75)
    assert expected.asked(Simulated(tokens=1, invalid=0.5, repairs=1)) == expected.Asked(0.75, 1.5, 1.5)
    assert expected.asked(Simulated()) == expected.Asked(1.0, 0.0, 0.0)


def test_a_judges_errors_are_part_of_the_gate() -> None:
    task = Sim(rules=1, warnings=0, judged=1, spread=0.0,
               truth=Planted(satisfy=0.5, false_accept=0.2, false_reject=0.4))  # fmt: skip
    assert expected.passing(task, CALM) == pytest.approx(0.5 * 0.6 + 0.5 * 0.2)


def test_the_hidden_twins_share() -> None:
    assert expected.hidden(Sim(truth=Planted(correlation=0.5, hidden=0.2)), 1.0) == pytest.approx(0.6)


@pytest.mark.parametrize(
    "task",
    [Sim(), rules(6, 0.5), Sim(rules=3, warnings=1, judged=0), Sim(rules=3, warnings=0, judged=1),
     Sim(rules=2, warnings=0, judged=0, rows=[Row(rule=1, repair=0.1)])],
)  # fmt: skip
def test_reflex_has_no_closed_form_for_rules_that_differ(task: Sim) -> None:
    with pytest.raises(ConfigError, match="simulate this one"):
        expected.reflex(task, CALM)


def test_nor_for_more_iterations_or_very_many_rules() -> None:
    with pytest.raises(ConfigError, match="at most 4 iterations"):
        expected.reflex(rules(2, 0.5), CALM, 5)
    with pytest.raises(ConfigError, match="more than 14 rules"):
        expected.once(rules(15, 0.5), CALM)
