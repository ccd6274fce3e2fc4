"""Verdicts, and the tables of a comparison (SPEC 6.2)."""

import math

import numpy as np
import pandas as pd
import pytest

from looper.errors import ConfigError
from looper.lab.statistics import Interval, all_pairs, compare, interval, note, pairs, per_task, verdict

TASKS = list("abcdefgh")


def frame(**designs: list[float]) -> pd.DataFrame:
    """One run per task and design, in the order of the tasks; usd is 1 for the first design, 2 for the second."""
    return pd.DataFrame(
        [
            {"run": f"{design}-{task}", "task": task, "design": design, "seed": 0, "score": score, "usd": place + 1.0}
            for place, (design, scores) in enumerate(designs.items())
            for task, score in zip(TASKS, scores, strict=False)
        ]
    )


def given(low: float, high: float, mean: float = 0.0, clusters: int = 10, tost: float = 0.8) -> Interval:
    """An interval as a verdict meets it, the 90 % one `tost` times as long."""
    ends = mean + (low - mean) * tost, mean + (high - mean) * tost
    return Interval(low, high, mean, clusters, clusters, "given", 0.95, *ends)


# Verdicts


@pytest.mark.parametrize(
    ("ends", "p", "word"),
    [
        (given(0.10, 0.30, 0.2), 0.01, "better"),
        (given(-0.30, -0.10, -0.2), 0.01, "worse"),
        (given(-0.02, 0.02), 0.9, "equivalent"),
        (given(-0.30, 0.30), 0.9, "undecided"),
        (given(0.10, 0.30, 0.2), 0.06, "undecided"),
        (given(-0.01, 0.30, 0.15), 0.04, "undecided"),
        (given(0.10, 0.30, 0.2, clusters=4), 0.01, "undecided"),
        (given(-0.055, 0.055), 0.9, "equivalent"),
        (given(-0.065, 0.065), 0.9, "undecided"),
    ],
)
def test_the_verdict_needs_test_and_interval(ends: Interval, p: float, word: str):
    assert verdict(ends, p, 0.05) == word


def test_a_real_difference_too_small_to_matter_is_equivalent_and_noted():
    small = given(0.01, 0.03, 0.02)
    assert verdict(small, 0.001, 0.05) == "equivalent"
    assert "real difference" in note(small, 0.001, 0.05)
    assert verdict(small, 0.001, 0.0) == "better"
    assert note(given(-0.02, 0.02), 0.9, 0.05) == ""


def test_of_a_cost_less_is_better():
    assert verdict(given(0.1, 0.3, 0.2), 0.01, 0.05, lower_is_better=True) == "worse"
    assert verdict(given(-0.3, -0.1, -0.2), 0.01, 0.05, lower_is_better=True) == "better"


def test_no_difference_of_scores_is_beyond_one_and_one_of_costs_may_be():
    tasks = [f"t{number}" for number in range(5)]
    wide = interval([1.0, 0.99, 0.98, 1.0, -0.9], tasks)
    assert wide.high > 1
    assert (wide.clipped().high, wide.clipped().low) == (1.0, max(wide.low, -1.0))
    runs = frame(base=[0.0, 0.0, 0.0, 0.0, 0.9], ours=[1.0, 0.99, 0.98, 1.0, 0.0])
    assert compare(runs, "base").loc[0, "high"] == 1.0
    assert compare(runs.assign(usd=runs["score"]), "base", value="usd").loc[0, "high"] > 1


def test_the_note_says_why_nothing_was_decided():
    assert "too few" in note(given(0.1, 0.3, 0.2, clusters=4), 0.01, 0.05)
    assert "disagree" in note(given(-0.01, 0.3, 0.15), 0.04, 0.05)
    assert "disagree" in note(given(0.01, 0.3, 0.15), 0.2, 0.05, p=0.06)
    assert note(given(0.01, 0.3, 0.15), 0.09, 0.05, p=0.03) == (
        "significant alone (p = 0.030), not after the correction for all comparisons; the interval is not corrected"
    )
    nothing = interval([7.0] * 8, range(8))
    assert note(nothing, 0.01, 0.05).startswith("no interval")


def test_a_margin_is_not_negative():
    for wrong in (-0.1, math.nan):
        with pytest.raises(ConfigError, match="margin"):
            verdict(given(0, 1), 0.5, wrong)


# Tables


def test_pairs_are_of_the_same_task_and_seed():
    runs = pd.DataFrame(
        [("b", 1, "x", 0.9), ("a", 0, "x", 0.5), ("a", 0, "y", 0.25), ("b", 1, "y", 1.0)],
        columns=["task", "seed", "design", "score"],
    )
    expected = pd.DataFrame(
        {"task": ["a", "b"], "seed": [0, 1], "a": [0.5, 0.9], "b": [0.25, 1.0], "difference": [0.25, -0.1]}
    )
    pd.testing.assert_frame_equal(pairs(runs, "x", "y"), expected)


def test_what_cannot_be_paired_is_named():
    runs = frame(x=[1, 0], y=[1, 1])
    with pytest.raises(ConfigError, match="no run of the design z; there are runs of x, y"):
        pairs(runs, "x", "z")
    with pytest.raises(ConfigError, match="y has no run of b seed 0"):
        pairs(runs.iloc[:3], "x", "y")
    with pytest.raises(ConfigError, match="x has no run of b seed 0"):
        pairs(runs.drop(1), "x", "y")
    with pytest.raises(ConfigError, match="more than one run of a seed 0"):
        pairs(pd.concat([runs, runs.iloc[:1]]), "x", "y")
    with pytest.raises(ConfigError, match="have no score on a seed 0"):
        pairs(frame(x=[math.nan, 1], y=[1, 1]), "x", "y")
    with pytest.raises(ConfigError, match="no column holdout"):
        pairs(runs, "x", "y", "holdout")
    with pytest.raises(ConfigError, match="empty"):
        pairs(runs.iloc[:0], "x", "y")


def test_a_long_list_of_missing_runs_is_counted():
    runs = frame(x=[1] * 8, y=[1])
    with pytest.raises(ConfigError, match="b seed 0, c seed 0, d seed 0 and 4 more"):
        pairs(runs, "x", "y")


def test_each_design_is_compared_with_the_baseline():
    base, far, near = [0.1, 0.2, 0.3, 0.4] * 2, [0.6, 0.9, 0.9, 0.9] * 2, [0.1, 0.2, 0.3, 0.41] * 2
    table = compare(frame(base=base, far=far, near=near), "base").set_index("design")
    assert list(table.index) == ["far", "near"]
    far_row = table.loc["far"]
    assert (far_row["n"], far_row["clusters"]) == (8, 8)
    assert (far_row["mean"], far_row["baseline_mean"]) == pytest.approx((0.825, 0.25))
    assert far_row["difference"] == pytest.approx(0.575)
    assert far_row["low"] < 0.575 < far_row["high"]
    assert (far_row["p"], far_row["p_holm"]) == pytest.approx((2 / 2**8, 4 / 2**8))
    assert far_row["test"] == "sign flips by task, exact"
    assert far_row["verdict"] == "better"
    assert table.loc["near", "verdict"] == "equivalent"
    assert (far_row["usd_mean"], far_row["baseline_usd_median"], far_row["usd_ratio"]) == (2.0, 1.0, 2.0)
    assert "tokens_mean" not in table.columns


def test_binary_outcomes_of_single_runs_go_to_mcnemar():
    table = compare(frame(base=[0] * 7 + [1], other=[1] * 7 + [1]), "base")
    assert table.loc[0, "test"] == "exact McNemar"
    assert table.loc[0, "p"] == pytest.approx(2 / 2**7)


def test_repeated_binary_outcomes_are_flipped_by_task():
    runs = frame(base=[0] * 8, other=[1] * 8)
    both = pd.concat([runs, runs.assign(seed=1)])
    row = compare(both, "base").iloc[0]
    assert row["test"] == "sign flips by task, exact"
    assert (row["n"], row["clusters"], row["p"]) == (16, 8, pytest.approx(2 / 2**8))


def test_what_is_detectable_must_pass_holm():
    rng = np.random.default_rng(0)
    scores = {name: list(rng.random(8)) for name in ("base", "x", "y")}
    two = compare(frame(**scores), "base").set_index("design").loc["x", "minimum_detectable"]
    one = compare(frame(base=scores["base"], x=scores["x"]), "base").loc[0, "minimum_detectable"]
    assert two > one


def test_costs_are_compared_without_a_bound():
    runs = frame(base=[0] * 8, other=[0] * 8)
    row = compare(runs.assign(usd=0.0), "base", value="usd", lower_is_better=True).iloc[0]
    assert math.isnan(row["low"])
    assert (row["verdict"], row["note"].endswith("all 8 pairs differ by the same amount, 0")) == ("undecided", True)
    varied = runs.copy()
    varied["usd"] = [1.0, 1.1, 1.2, 1.3] * 2 + [2.0, 2.2, 2.3, 2.6] * 2
    assert compare(varied, "base", value="usd", lower_is_better=True).loc[0, "verdict"] == "worse"


def test_free_runs_have_no_ratio():
    runs = frame(base=[0.1] * 8, other=[0.2] * 8).assign(usd=0.0)
    assert math.isnan(compare(runs, "base").loc[0, "usd_ratio"])
    runs.loc[runs["design"] == "other", "usd"] = 1.0
    assert compare(runs, "base").loc[0, "usd_ratio"] == math.inf


def test_all_pairs_share_one_correction():
    table = all_pairs(frame(x=[0.1, 0.2] * 4, y=[0.5, 0.7] * 4, z=[0.8, 0.9] * 4))
    assert list(zip(table["design"], table["baseline"], strict=True)) == [("y", "x"), ("z", "x"), ("z", "y")]
    assert table["p_holm"].tolist() == pytest.approx([3 * 2 / 2**8] * 3)


def test_one_design_alone_is_no_comparison():
    with pytest.raises(ConfigError, match="no other design than x"):
        compare(frame(x=[1, 0]), "x")
    with pytest.raises(ConfigError, match="only one design"):
        all_pairs(frame(x=[1, 0]))


def test_a_null_is_seldom_called_a_difference():
    rng, alarms = np.random.default_rng(9), 0
    for _ in range(60):
        task = rng.random(8)
        scores = {name: list(np.clip(task + rng.normal(0, 0.2, 8), 0, 1)) for name in ("base", "x")}
        alarms += compare(frame(**scores), "base").loc[0, "verdict"] in ("better", "worse")
    assert alarms <= 9


def test_the_best_of_each_task_is_marked_with_ties():
    runs = pd.concat([frame(x=[1.0, 0.5, math.nan], y=[1.0, 0.7, math.nan]), frame(x=[0.0], y=[0.0])])
    table = per_task(runs).set_index(["task", "design"])
    assert table.loc[("a", "x")].tolist() == [0.5, 2, True]
    assert table.loc[("a", "y"), "best"]
    assert table["best"].loc["b"].tolist() == [False, True]
    assert table.loc[("c", "x"), "n"] == 0
    assert not table["best"].loc["c"].any()


def costs_of(*differences: float) -> pd.DataFrame:
    """Two designs on as many tasks: what the dear one costs more."""
    rows = [{"task": f"t{number}", "seed": 0, "design": design, "usd": 1.0 + more * (design == "dear")}
            for number, more in enumerate(differences) for design in ("cheap", "dear")]  # fmt: skip
    return pd.DataFrame(rows)


def test_costs_that_all_differ_alike_have_an_interval_bounded_by_the_largest_value_seen():
    """20 tasks: at 95 % fewer than 1 - 0.05 ** (1 / 20) = 14 % differ otherwise, each by 1.5 at most."""
    terms = {"value": "usd", "margin": 0.05, "lower_is_better": True}
    (row,) = compare(costs_of(*[0.5] * 20), "cheap", **terms).to_dict("records")
    rare = 1 - 0.05 ** (1 / 20)
    assert (row["low"], row["high"]) == pytest.approx((0.5 - rare * (0.5 + 1.5), 0.5 + rare * (1.5 - 0.5)))
    assert row["method"].endswith("; no difference beyond the largest value seen")
    assert (row["verdict"], row["note"]) == ("worse", "all 20 pairs differ by the same amount, 0.5")


def test_a_cap_above_the_values_seen_bounds_them():
    terms = {"value": "usd", "margin": 0.05, "lower_is_better": True}
    (row,) = compare(costs_of(*[0.5] * 20), "cheap", bound=4.0, **terms).to_dict("records")
    rare = 1 - 0.05 ** (1 / 20)
    assert row["method"].endswith("; no difference beyond the cap")
    assert (row["low"], row["verdict"]) == (pytest.approx(0.5 - rare * 4.5), "undecided")
    assert "all 20 pairs differ by the same amount, 0.5" in row["note"]
    (row,) = all_pairs(costs_of(*[0.5] * 20), bound=4.0, **terms).to_dict("records")
    assert row["low"] == pytest.approx(0.5 - rare * 4.5)


def test_costs_that_differ_have_no_such_note():
    (row,) = compare(costs_of(0.5, 0.6, 0.4, 0.5, 0.7, 0.5), "cheap", value="usd").to_dict("records")
    assert "same amount" not in row["note"]
