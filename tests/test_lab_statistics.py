"""Tests, intervals and power on data whose answer is known (SPEC 6.2)."""

import itertools
import math

import numpy as np
import pytest

from looper.errors import ConfigError
from looper.lab.statistics import (
    detectable,
    holm,
    interval,
    mcnemar,
    minimum_detectable,
    permutation,
    unpaired,
    wilson,
)


def outcomes(both: int, only_a: int, only_b: int, neither: int) -> tuple[list[int], list[int]]:
    a = [1] * both + [1] * only_a + [0] * only_b + [0] * neither
    return a, [1] * both + [0] * only_a + [1] * only_b + [0] * neither


# Known answers


def test_220_paired_items_are_significant_as_pairs_only():
    """159 solved by both, 22 by a alone, 7 by b alone, 32 by none: 82.3 % against 75.5 %."""
    a, b = outcomes(159, 22, 7, 32)
    assert len(a) == 220
    assert unpaired(a, b) == pytest.approx(0.080, abs=0.0005)
    assert mcnemar(a, b) == pytest.approx(0.008, abs=0.0005)


def test_mcnemar_is_the_binomial_tail_of_the_differing_pairs():
    a, b = outcomes(5, 8, 0, 5)
    assert mcnemar(a, b) == pytest.approx(2 / 2**8)
    assert mcnemar([1, 0, 1], [1, 0, 1]) == 1.0


def test_flips_of_single_pairs_are_mcnemar():
    a, b = np.array(outcomes(3, 7, 2, 3))
    assert permutation(a - b, range(len(a))) == pytest.approx(mcnemar(a, b))


def test_26_of_26_is_not_certainty():
    low, high = wilson(26, 26)
    assert low == pytest.approx(26 / (26 + 1.959964**2), abs=1e-6)
    assert high == 1.0
    assert wilson(0, 0) == (0.0, 1.0)


def test_wilson_of_a_half_is_symmetric():
    z = 1.959964
    half = z / (1 + z**2 / 10) * math.sqrt(0.25 / 10 + z**2 / 400)
    assert wilson(5, 10) == pytest.approx((0.5 - half, 0.5 + half), abs=1e-6)


def test_holm_steps_down_and_never_falls():
    assert holm({"x": 0.04, "y": 0.01, "z": 0.03}) == pytest.approx({"x": 0.06, "y": 0.03, "z": 0.06})
    assert list(holm({"x": 0.6, "y": 0.5})) == ["x", "y"]
    assert holm({"x": 0.6, "y": 0.5}) == {"x": 1.0, "y": 1.0}


@pytest.mark.parametrize("wrong", [math.nan, -0.1, 1.1])
def test_holm_refuses_what_is_no_p_value(wrong: float):
    with pytest.raises(ConfigError, match="between 0 and 1"):
        holm({"x": wrong})


def test_the_unpaired_test_of_no_spread_finds_nothing():
    assert unpaired([1, 1], [1, 1]) == 1.0


def test_outcomes_are_zeros_and_ones():
    with pytest.raises(ConfigError, match="0 or 1"):
        mcnemar([0.5], [1])
    with pytest.raises(ConfigError, match="Pairs"):
        mcnemar([0, 1], [1])


# Permutation


def test_all_signs_of_few_clusters_are_tried():
    """Sums 1, 2, 4: only +++ and --- are as far from zero as 7."""
    assert permutation([1, 2, 4], ["a", "b", "c"]) == pytest.approx(2 / 8)
    assert permutation([1, 2, -4], ["a", "b", "c"]) == pytest.approx(
        np.mean([abs(x + 2 * y + 4 * z) >= 1 for x, y, z in itertools.product((1, -1), repeat=3)])
    )


def test_a_cluster_is_flipped_whole():
    """Ten runs that agree on two tasks are two tasks."""
    assert permutation([1.0] * 10, ["a"] * 5 + ["b"] * 5) == pytest.approx(0.5)


def test_many_clusters_are_drawn_and_the_observed_counts():
    assert permutation([1.0] * 40, range(40), resamples=999) == pytest.approx(1 / 1000)
    noise = np.random.default_rng(1).normal(0, 1, 40)
    assert permutation(noise, range(40), seed=3) == permutation(noise, range(40), seed=3)
    exact = permutation(noise[:12], range(12))
    padded = permutation(np.concatenate([noise[:12], [1e-6]]), range(13), resamples=20000)
    assert padded == pytest.approx(exact, abs=0.02)


def test_no_difference_is_no_evidence():
    assert permutation([0.0] * 9, range(9)) == 1.0


# Intervals


def test_of_two_binary_outcomes_the_interval_is_students_where_clusters_are_even():
    """Ten tasks of one pair: 4 better, 1 worse, 5 even. Mean 0.3, variance 4.1 / 9, t(9) = 2.262."""
    found = interval([1] * 4 + [-1] + [0] * 5, range(10))
    half = 2.262157 * math.sqrt((5 - 10 * 0.09) / 9 / 10)
    assert (found.low, found.high) == pytest.approx((0.3 - half, 0.3 + half), abs=1e-5)
    assert found.tost_high - found.mean == pytest.approx(half * 1.833113 / 2.262157, abs=1e-5)
    assert (found.n, found.clusters, found.trusted) == (10, 10, True)
    assert "CR2" in found.method


def test_copies_of_a_run_are_no_evidence():
    differences = np.array([1, 1, 1, -1, 0, 0, 0, 1])
    once = interval(differences, range(8))
    copied = interval(np.repeat(differences, 5), np.repeat(range(8), 5))
    assert (copied.low, copied.high) == pytest.approx((once.low, once.high))
    assert copied.n == 40


def test_clusters_of_unequal_size_have_fewer_degrees_of_freedom():
    from looper.lab.statistics.clusters import Clusters

    even = Clusters.of(range(12), [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3])
    uneven = Clusters.of(range(12), [0] * 9 + [1, 2, 3])
    assert even.freedom() == pytest.approx(3)
    assert uneven.freedom() < 2


def test_of_one_way_differences_the_interval_is_bonett_and_prices():
    """6 of 20 better, none worse: (6 + 1) / 22 and 1 / 22, t(19) = 2.093."""
    found = interval([1] * 6 + [0] * 14, range(20))
    effective = 20 * (0.3 * 0.7 / 20) / (0.3 * 0.7 / 19)
    wins, losses = (0.3 * effective + 1) / (effective + 2), 1 / (effective + 2)
    half = 2.093024 * math.sqrt((wins + losses - (wins - losses) ** 2) / (effective + 2))
    assert (found.low, found.high) == pytest.approx((wins - losses - half, wins - losses + half), abs=1e-5)
    assert found.low > 0
    assert "Bonett-Price" in found.method


def test_scores_have_the_bootstrap_t_and_it_leans_where_they_do():
    skewed = np.array([0.0, 0.01, 0.02, 0.02, 0.03, 0.05, 0.08, 0.1, 0.3, 0.9])
    found = interval(skewed, range(10))
    assert "bootstrap-t" in found.method
    assert found.high - found.mean > 1.3 * (found.mean - found.low)
    assert found.low < found.tost_low < found.mean < found.tost_high < found.high


def test_the_bootstrap_t_is_not_narrower_than_students():
    """Where scores lean up the bootstrap-t is the shorter below; the lower end is then that of Student's t."""
    skewed = np.array([0.0, 0.01, 0.02, 0.02, 0.03, 0.05, 0.08, 0.1, 0.3, 0.9])
    half = 2.262157 * skewed.std(ddof=1) / math.sqrt(10)
    assert interval(skewed, range(10)).low == pytest.approx(skewed.mean() - half, abs=1e-6)


def test_resamples_without_spread_push_the_end_to_its_limit():
    """A tenth of all samples of 8 tasks miss the two that differ: t is minus infinite there, and held at 3 x 2.365."""
    rare = np.array([0.0] * 6 + [0.3, 0.4])
    limit = 3 * 2.364624 * rare.std(ddof=1) / math.sqrt(8)
    assert interval(rare, range(8)).high == pytest.approx(rare.mean() + limit, abs=1e-6)


def test_the_bootstrap_is_the_same_each_time():
    values = np.random.default_rng(0).normal(0, 1, 12)
    assert interval(values, range(12), seed=4) == interval(values, range(12), seed=4)


def test_an_interval_covers_about_as_often_as_it_says():
    rng, missed = np.random.default_rng(5), 0
    for number in range(200):
        tasks = np.repeat(range(10), 3)
        values = rng.exponential(1, 10)[tasks] + rng.exponential(1, 30) - 2
        found = interval(values, tasks, resamples=500, seed=number)
        missed += not found.low <= 0 <= found.high
    assert 2 <= missed <= 22


def test_tasks_that_all_agree_leave_room_for_exceptions():
    """8 tasks without an exception: at 95 % fewer than 1 - 0.05 ** (1 / 8) = 31 % are one, each as far as -1."""
    rare = 1 - 0.05 ** (1 / 8)
    none, all_better = interval([0.0] * 8, range(8)), interval([1.0] * 8, range(8))
    assert (none.low, none.high) == pytest.approx((-rare, rare))
    assert (all_better.low, all_better.high) == pytest.approx((1 - 2 * rare, 1.0))
    assert "rule of three" in none.method
    assert none.tost_high == pytest.approx(1 - 0.1 ** (1 / 8))


def test_tasks_that_agree_on_an_unlimited_scale_have_no_interval():
    for found in (interval([7.0] * 8, range(8)), interval([0.5] * 8, range(8), bound=None)):
        assert math.isnan(found.low)
        assert not found.trusted
        assert found.method.startswith("none")


def test_few_tasks_are_said_to_be_few():
    found = interval([0.1, 0.2, 0.4], ["a", "b", "c"])
    assert "not to be trusted with 3 tasks" in found.method
    assert not found.trusted
    single = interval([0.1, 0.2, 0.4], ["a", "a", "a"])
    assert math.isnan(single.low)
    assert "one task" in single.method


def test_missing_differences_are_refused():
    with pytest.raises(ConfigError, match="not finite"):
        interval([0.1, math.nan], [1, 2])
    with pytest.raises(ConfigError, match="a cluster for each"):
        interval([0.1], [1, 2])
    with pytest.raises(ConfigError, match="level"):
        interval([0.1, 0.2], [1, 2], level=95)


# Power


def test_what_can_be_found_is_what_a_paired_t_test_can_find():
    """80 % power at a two-sided 5 % with 34 pairs is a difference of half a standard deviation (Cohen 1988)."""
    assert detectable(0.0, 1.0, 34, 1) == pytest.approx(0.5, abs=0.005)


def test_more_runs_of_a_task_do_not_help_against_differences_between_tasks():
    assert detectable(1.0, 0.0, 10, 50) == pytest.approx(detectable(1.0, 0.0, 10, 1))
    assert detectable(0.0, 1.0, 10, 4) == pytest.approx(detectable(0.0, 1.0, 10, 1) / 2)
    assert detectable(0.1, 0.1, 1, 9) == math.inf


def test_the_minimum_detectable_effect_is_that_of_the_spread_seen():
    values = np.random.default_rng(2).normal(0, 1, 34)
    assert minimum_detectable(values, range(34)) == pytest.approx(detectable(values.std(ddof=1), 0, 34, 1))
    assert math.isnan(minimum_detectable([0.0] * 9, range(9)))
    assert minimum_detectable([0.1, 0.2], ["a", "a"]) == math.inf


def test_an_effect_of_the_detectable_size_is_found_four_times_in_five():
    from scipy.stats import ttest_1samp

    effect = detectable(0.0, 1.0, 15, 1)
    data = np.random.default_rng(0).normal(effect, 1, (4000, 15))
    assert (ttest_1samp(data, 0, axis=1).pvalue < 0.05).mean() == pytest.approx(0.8, abs=0.02)


def test_a_plan_without_tasks_is_refused():
    with pytest.raises(ConfigError, match="at least one task"):
        detectable(1, 1, 0, 1)
    with pytest.raises(ConfigError, match="alpha the smaller"):
        detectable(1, 1, 5, 1, power=0.01)
