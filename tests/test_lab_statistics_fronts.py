"""Curves over spending, fronts of cost and score, and gates against the holdout (SPEC 6.3)."""

import math

import numpy as np
import pandas as pd
import pytest

from looper.errors import ConfigError
from looper.lab.statistics import after_correct, anytime, gate_truth, pareto, pareto_share


def points(**designs: tuple[float, float]) -> pd.DataFrame:
    return pd.DataFrame([(name, *point) for name, point in designs.items()], columns=["design", "cost", "score"])


def history(*runs: tuple[str, str, str, list[tuple[float, float]]]) -> pd.DataFrame:
    """(run, task, design, steps), each step what was spent so far and the score of the state evaluated then."""
    return pd.DataFrame(
        [
            {"run": run, "task": task, "design": design, "seed": 0, "step": step, "score": score, "inner": spent}
            for run, task, design, steps in runs
            for step, (spent, score) in enumerate(steps)
        ]
    )


# Anytime


def test_the_best_so_far_is_kept_and_nothing_is_zero():
    """One run has 0.4 after 1, falls to 0.2, has 0.9 after 4; the other has 0.6 after 2 and ends."""
    steps = history(
        ("1", "a", "x", [(1, 0.4), (2, 0.2), (4, 0.9)]),
        ("2", "b", "x", [(2, 0.6)]),
    )
    table = anytime(steps, "inner", points=5)
    assert table["spent"].tolist() == [0, 1, 2, 3, 4]
    assert table["mean"].tolist() == pytest.approx([0.0, 0.2, 0.5, 0.5, 0.75])
    assert table[["runs", "tasks"]].drop_duplicates().to_numpy().tolist() == [[2, 2]]


def test_a_run_that_never_evaluated_counts_zero():
    steps = history(("1", "a", "x", [(1, 1.0)]))
    everyone = pd.DataFrame({"run": ["1", "2"], "task": ["a", "b"], "design": ["x", "x"]})
    assert anytime(steps, "inner", points=[1.0], runs=everyone).loc[0, "mean"] == 0.5
    with pytest.raises(ConfigError, match="the run 1, which is not among"):
        anytime(steps, "inner", points=[1.0], runs=everyone.iloc[1:])


def test_designs_share_the_grid_and_steps_may_come_in_any_order():
    steps = history(("1", "a", "x", [(1, 0.4), (3, 0.9)]), ("2", "a", "y", [(10, 0.5)]))
    table = anytime(steps.iloc[::-1], "inner", points=[2, 5, 10])
    assert table.groupby("design")["mean"].apply(list).to_dict() == {"x": [0.4, 0.9, 0.9], "y": [0, 0, 0.5]}
    assert table["low"].isna().all()


def test_bands_hold_the_mean_and_are_wider_with_fewer_tasks():
    rng = np.random.default_rng(0)
    few = history(*((f"{n}", f"t{n}", "x", [(1, float(rng.random()))]) for n in range(6)))
    many = pd.concat([few.assign(run=few["run"] + f"-{k}", task=few["task"] + f"-{k}") for k in range(6)])
    narrow, wide = (anytime(frame, "inner", points=[1.0]).iloc[0] for frame in (many, few))
    assert wide["low"] < wide["mean"] < wide["high"]
    assert wide["high"] - wide["low"] > 2 * (narrow["high"] - narrow["low"])


def test_a_band_is_about_as_wide_as_students_interval():
    scores = np.linspace(0.2, 0.8, 8)
    steps = history(*((f"{n}", f"t{n}", "x", [(1, float(score))]) for n, score in enumerate(scores)))
    band = anytime(steps, "inner", points=[1.0], resamples=8000).iloc[0]
    half = 2.364624 * scores.std(ddof=1) / math.sqrt(8)
    assert (band["high"] - band["low"]) / 2 == pytest.approx(half, rel=0.03)


def test_a_state_evaluated_for_nothing_counts_from_zero_on():
    assert anytime(history(("1", "a", "x", [(0, 0.4), (1, 0.5)])), "inner", points=[0, 1])["mean"].tolist() == [
        0.4,
        0.5,
    ]


def test_steps_without_a_score_are_not_evaluations():
    steps = history(("1", "a", "x", [(1, math.nan), (2, 0.5)]))
    assert anytime(steps, "inner", points=[1, 2])["mean"].tolist() == [0, 0.5]


def test_a_curve_over_what_nobody_spent_is_refused():
    with pytest.raises(ConfigError, match="Nothing was spent on the account inner"):
        anytime(history(("1", "a", "x", [(0, 0.4)])), "inner")
    with pytest.raises(ConfigError, match="no column usd"):
        anytime(history(("1", "a", "x", [(1, 0.4)])), "usd")


# Fronts


def test_what_is_dearer_and_no_better_is_off_the_front():
    assert pareto(points(d=(4, 0.9), a=(1, 0.5), b=(2, 0.5), c=(3, 0.4), e=(1, 0.4))) == ["a", "d"]


def test_equal_points_stay_together():
    assert pareto(points(a=(1, 0.5), b=(1, 0.5), c=(2, 0.5))) == ["a", "b"]
    assert pareto(points(a=(1, 0.5), b=(1, 0.5), c=(2, 0.9)), convex=True) == ["a", "b", "c"]


def test_a_convex_front_leaves_out_what_a_mixture_beats_or_equals():
    """Halfway between (1, 0.5) and (3, 0.9) lies (2, 0.7)."""
    below, on, above = (points(a=(1, 0.5), m=(2, score), z=(3, 0.9)) for score in (0.6, 0.7, 0.8))
    assert pareto(below) == ["a", "m", "z"]
    assert pareto(below, convex=True) == ["a", "z"]
    assert pareto(on, convex=True) == ["a", "z"]
    assert pareto(above, convex=True) == ["a", "m", "z"]


def test_with_the_origin_a_poor_bargain_leaves_the_front():
    """0.1 for 1 is less than half of 0.8 for 2."""
    both = points(a=(1, 0.1), z=(2, 0.8))
    assert pareto(both, convex=True) == ["a", "z"]
    assert pareto(both, convex=True, origin=True) == ["z"]
    assert pareto(points(free=(0, 0.1), z=(2, 0.8)), convex=True, origin=True) == ["free", "z"]
    assert pareto(points(idle=(0, 0), z=(2, 0.8)), convex=True, origin=True) == ["idle", "z"]


def test_a_front_needs_one_known_point_of_each():
    with pytest.raises(ConfigError, match="missing"):
        pareto(points(a=(1, math.nan)))
    with pytest.raises(ConfigError, match="twice"):
        pareto(pd.concat([points(a=(1, 0.5)), points(a=(1, 0.5))]))


def cells(**designs: list[tuple[float, float]]) -> pd.DataFrame:
    """One run per task: usd and score."""
    return pd.DataFrame(
        [(f"t{n}", name, usd, score) for name, runs in designs.items() for n, (usd, score) in enumerate(runs)],
        columns=["task", "design", "usd", "score"],
    )


def test_a_certain_front_has_all_samples_and_a_dominated_design_none():
    table = pareto_share(
        cells(cheap=[(1, 0.2), (1, 0.3)], dear=[(2, 0.8), (2, 0.9)], bad=[(3, 0.1), (3, 0.2)]), "usd"
    ).set_index("design")
    assert table["share"].to_dict() == {"cheap": 1.0, "dear": 1.0, "bad": 0.0}
    assert table["on_front"].tolist() == [True, True, False]
    assert table.loc["dear", ["cost", "score"]].tolist() == pytest.approx([2, 0.85])


def test_a_design_that_is_ahead_on_one_task_of_two_is_on_the_front_in_three_samples_of_four():
    """The dearer one gains more on t0 than it loses on t1: it stays off only where t0 is never drawn."""
    table = pareto_share(cells(cheap=[(1, 0.5), (1, 0.5)], dear=[(2, 0.9), (2, 0.2)]), "usd", resamples=8000)
    assert table.set_index("design").loc["dear", "share"] == pytest.approx(0.75, abs=0.02)


def test_tasks_are_drawn_for_all_designs_at_once():
    """Task by task the dear one is ahead by 0.01, however far tasks are apart."""
    scores = np.linspace(0, 0.9, 6)
    table = pareto_share(cells(cheap=[(1, s) for s in scores], dear=[(2, s + 0.01) for s in scores]), "usd")
    assert table["share"].tolist() == [1.0, 1.0]


def test_more_runs_of_a_design_do_not_raise_its_score():
    runs = cells(cheap=[(1, 0.5), (1, 0.6)], bad=[(1, 0.4), (1, 0.5)])
    again = pd.concat([runs, runs[runs["design"] == "bad"]])
    assert pareto_share(again, "usd").set_index("design")["share"].to_dict() == {"cheap": 1.0, "bad": 0.0}
    assert pareto_share(again, "usd").set_index("design").loc["bad", "score"] == pytest.approx(0.45)


def test_a_convex_share_needs_the_hull():
    runs = cells(a=[(1, 0.5)] * 2, m=[(2, 0.6)] * 2, z=[(3, 0.9)] * 2)
    assert pareto_share(runs, "usd")["share"].tolist() == [1, 1, 1]
    assert pareto_share(runs, "usd", convex=True)["share"].tolist() == [1, 0, 1]


def test_a_front_of_unlike_tasks_is_refused():
    runs = cells(a=[(1, 0.5), (1, 0.6)], b=[(2, 0.5)])
    with pytest.raises(ConfigError, match="design b has no run of t1"):
        pareto_share(runs, "usd")
    with pytest.raises(ConfigError, match="1 runs have no usd or no score"):
        pareto_share(cells(a=[(math.nan, 0.5)]), "usd")


# Gates


def test_gates_are_counted_against_the_holdout():
    """x: 3 accepted, one wrong; 2 rejected, one right; one run without a holdout."""
    runs = pd.DataFrame(
        {
            "design": ["x"] * 6 + ["y"],
            "passed": [True, True, True, False, False, True, False],
            "holdout": [1.0, 1.0, 0.5, 1.0, 0.0, math.nan, math.nan],
        }
    )
    table = gate_truth(runs).set_index("design")
    x, y = table.loc["x"], table.loc["y"]
    assert (x["n"], x["without_holdout"], x["accepted"], x["rejected"]) == (5, 1, 3, 2)
    assert (x["false_accepts"], x["false_rejects"]) == (1, 1)
    assert (x["false_accept_rate"], x["false_reject_rate"]) == (pytest.approx(1 / 3), 0.5)
    assert x["false_accept_low"] < 1 / 3 < x["false_accept_high"]
    assert (y["n"], y["false_accept_low"], y["false_accept_high"]) == (0, 0, 1)
    assert math.isnan(y["false_accept_rate"])


def test_what_counts_as_correct_can_be_lowered():
    runs = pd.DataFrame({"design": ["x"], "passed": [True], "holdout": [0.8]})
    assert gate_truth(runs).loc[0, "false_accepts"] == 1
    assert gate_truth(runs, correct=0.8).loc[0, "false_accepts"] == 0


def test_what_was_spent_after_the_first_right_state_by_hand():
    """x: right after 2 of 8 units, after 4 of 4 and then lost again, never, not looked at; y: not looked at."""
    runs = pd.DataFrame(
        {
            "design": ["x"] * 4 + ["y"],
            "holdout": [1.0, 0.5, 0.0, 1.0, 1.0],
            "ever_correct": [1.0, 1.0, 0.0, math.nan, math.nan],
            "outer": [8.0, 4.0, 9.0, 9.0, 9.0],
            "correct_outer": [2.0, 4.0, math.nan, math.nan, math.nan],
        }
    )
    found = after_correct(runs)
    assert found is not None
    x, y = found.set_index("design").loc["x"], found.set_index("design").loc["y"]
    assert (x["n"], x["ever"], x["lost"]) == (3, 2, 1)
    assert (x["after_outer"], x["after_outer_share"]) == (3.0, 0.5)
    assert (y["n"], y["ever"]) == (0, 0)
    assert math.isnan(y["after_outer"])
    assert "after_usd" not in found


def test_without_a_look_at_the_states_between_nothing_is_said_of_them():
    runs = pd.DataFrame({"design": ["x"], "holdout": [1.0], "ever_correct": [math.nan]})
    assert after_correct(runs) is None
    assert after_correct(runs.drop(columns="ever_correct")) is None
