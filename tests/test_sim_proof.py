"""The laboratory proves itself, in miniature; experiments/benchmarks/laboratory.py does it at length."""

import dataclasses
import math

import numpy as np
import pytest

from looper.agents.simulated import Simulated
from looper.errors import ConfigError
from looper.lab.simulation import expected
from looper.lab.simulation.proof import Case, Family, detected, planned, proved
from looper.tasks.sim.task import Sim
from looper.tasks.sim.truth import Planted

FAMILY = Family(Sim(judged=0))
NULL = Case(a=0.9, b=0.9, tasks=12, seeds=2, value="holdout")
COMPARISONS = 120


def within(share: float, wanted: float, count: int) -> bool:
    """Four standard errors: a fair share is further off once in 16,000 times."""
    return abs(share - wanted) <= 4 * math.sqrt(wanted * (1 - wanted) / count)


def test_where_nothing_is_there_little_is_found() -> None:
    found = proved(FAMILY, NULL, COMPARISONS)
    assert found.effect == 0.0
    assert within(found.coverage, 0.95, COMPARISONS)
    assert found.found <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / COMPARISONS)
    assert found.wrong <= found.found + 0.05
    assert abs(found.bias) < 4


def test_what_is_planted_is_found_about_as_often_as_planned() -> None:
    case = detected(FAMILY, NULL)
    found = proved(FAMILY, case, COMPARISONS)
    assert found.planned == pytest.approx(0.8, abs=0.01)
    assert found.effect < 0
    assert within(found.coverage, 0.95, COMPARISONS)
    assert 0.6 < found.found < 0.92
    assert found.wrong == 0.0
    assert abs(found.bias) < 4


def test_a_wrong_truth_would_be_noticed() -> None:
    other = Family(Sim(judged=0, truth=Planted(correlation=0.2)))
    case = detected(FAMILY, NULL)
    frames = (FAMILY.drawn(case, np.random.default_rng(number)) for number in range(40))
    from looper.lab.simulation.proof import judged

    assert abs(judged(other, case, frames).bias) > 4


def test_the_power_of_a_plan_rises_with_effect_and_tasks() -> None:
    assert planned(FAMILY, NULL, 0.9) == pytest.approx(0.05)
    assert planned(FAMILY, NULL, 0.5) > planned(FAMILY, NULL, 0.7) > 0.05
    assert planned(FAMILY, dataclasses.replace(NULL, tasks=40), 0.7) > planned(FAMILY, NULL, 0.7)


def test_the_truth_is_what_closed_forms_say_of_each_instance() -> None:
    """One instance: the family's means against `looper.lab.simulation.expected`."""
    even = Family(Sim(judged=0, spread=0.0))
    skill = Simulated(skill=0.7)
    (passed, _), (holdout, _) = (even.moments(0.7, value) for value in ("passed", "holdout"))
    assert passed[0] == pytest.approx(expected.passing(even.task, skill))
    assert holdout[0] == pytest.approx(expected.hidden(even.task, 0.7 * 0.6))


def test_what_is_drawn_has_the_moments_that_it_should() -> None:
    case = dataclasses.replace(NULL, b=0.5, tasks=4000, seeds=2)
    frame = FAMILY.drawn(case, np.random.default_rng(3))
    effect, between, within_ = FAMILY.effect(case)
    paired = frame.pivot_table(index=["task", "seed"], columns="design", values="holdout")
    difference = paired["b"] - paired["a"]
    assert difference.mean() == pytest.approx(effect, abs=0.02)
    assert difference.std() == pytest.approx(math.hypot(between, within_), rel=0.05)


def test_only_families_that_can_be_added_up_are_taken() -> None:
    with pytest.raises(ConfigError, match="rules are measured"):
        Family(Sim())
