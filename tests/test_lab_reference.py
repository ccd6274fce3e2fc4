"""The published points on HumanEval (Kapoor et al. 2024), and their front."""

import pandas as pd
import pytest

from looper.lab.report.reference import reference, reference_runs
from looper.lab.statistics import pareto, pareto_share

TABLE = {
    "LATS (GPT-4)": (88.0, 134.50),
    "LDB (GPT-4)": (93.3, 6.36),
    "LDB (GPT-4, GPT-3.5)": (91.0, 2.19),
    "Reflexion (GPT-4)": (87.8, 3.90),
    "GPT-4": (89.6, 1.93),
    "GPT-3.5": (73.9, 0.05),
    "Warming (GPT-4)": (93.2, 2.45),
    "Retry (GPT-4)": (92.0, 2.51),
    "Escalation": (85.0, 0.27),
}
"""Accuracy in % and US dollars as Table A1 prints them, where a second text repeats them."""


def named(**other: str) -> pd.DataFrame:
    return reference().rename(columns={"label": "design", "usd": "cost", "accuracy": "score"} | other)


def test_13_agents_of_five_runs_each():
    table = reference()
    assert len(table) == 13
    assert list(table.columns[:5]) == ["label", "accuracy", "usd", "source", "note"]
    assert (table["runs"] == 5).all()
    assert (table["problems"] == 164).all()
    assert table["source"].str.contains("2407.01502").all()
    assert table["note"].str.contains("April 2024").all()


def test_the_means_of_the_runs_are_the_published_ones():
    table = reference().set_index("label")
    for label, (accuracy, usd) in TABLE.items():
        row = table.loc[label]
        assert 100 * row["accuracy"] == pytest.approx(accuracy, abs=0.051), label
        assert row["usd"] == pytest.approx(usd, abs=0.0051), label
    assert 100 * table.loc["Warming (GPT-4)", "accuracy_low"] == pytest.approx(92.1, abs=0.05)
    assert 100 * table.loc["Warming (GPT-4)", "accuracy_high"] == pytest.approx(93.9, abs=0.05)


def test_the_convex_front_is_the_published_one():
    """Zero-shot GPT-4 is not on it (note 2 of the paper); three of the four are no agents but trivial rivals."""
    assert pareto(named(), convex=True) == ["GPT-3.5", "Escalation", "Warming (GPT-4)", "LDB (GPT-4)"]


def test_without_mixtures_two_more_are_on_the_front():
    front = pareto(named())
    assert set(front) - set(pareto(named(), convex=True)) == {"GPT-4", "LDB (GPT-4, GPT-3.5)"}


def test_lats_is_beaten_by_seven():
    table = named()
    lats = table[table["design"] == "LATS (GPT-4)"].iloc[0]
    assert ((table["cost"] < lats["cost"]) & (table["score"] > lats["score"])).sum() == 7


def test_by_its_runs_the_last_corner_is_not_certain():
    """LDB (GPT-4) is 0.1 points above Warming at 2.6 times the cost: within the noise of five runs."""
    runs = reference_runs().assign(score=lambda frame: frame["solved"] / frame["problems"])
    runs = runs.rename(columns={"label": "design", "run": "task"})
    share = pareto_share(runs, "usd", convex=True).set_index("design")["share"]
    assert share[["GPT-3.5", "Escalation", "Warming (GPT-4)"]].tolist() == [1.0, 1.0, 1.0]
    assert 0.2 < share["LDB (GPT-4)"] < 0.8
    assert share["GPT-4"] < 0.05
    assert share["LATS (GPT-4)"] == 0.0
