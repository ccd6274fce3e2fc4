"""Completeness of the ideal state against a table computed by hand (SPEC 5.3)."""

import math
from typing import Any

import pytest
from pydantic import ValidationError

from looper.loops.gather_verify.answers import AntiCriterion, Criterion, IdealState, Metric, Way
from looper.loops.gather_verify.completeness import (
    ENOUGH,
    Completeness,
    Shares,
    Weights,
    completeness,
    parse_target,
)

RULES = ["tests.pass", "style.length"]
SAID = "All tests must pass"
RULE, JUDGE, PERSON = Way(rule="tests.pass"), Way(judge="Is it clear enough?"), Way(person="Do you like it?")
CHECK = Way.model_validate({"check": {"kind": "secrets"}})
STRANGE, CURT, NONE = Way(rule="tests.none"), Way(judge="Is it?"), Way()
PERFECT = {"name": "latency", "target": "<= 300", "unit": "ms"}


def good(*ways: Way, said: str = SAID) -> list[Criterion]:
    return [Criterion(id=f"c{number}", description=said, verify=way) for number, way in enumerate(ways, 1)]


def never(*ways: Way) -> list[AntiCriterion]:
    return [
        AntiCriterion(id=f"a{number}", description="Data is lost", detect=way) for number, way in enumerate(ways, 1)
    ]


def state(**changes: Any) -> IdealState:
    """A complete ideal state, with some parts changed."""
    parts: dict[str, Any] = {
        "objective": "A fast web service", "criteria": good(RULE), "anti_criteria": never(RULE, JUDGE),
        "metrics": [Metric.model_validate(PERFECT)], "exits": ["All tests pass", "The budget is spent"],
    }  # fmt: skip
    return IdealState(**{**parts, **changes})


def metrics(*fields: dict[str, str]) -> dict[str, Any]:
    return {"metrics": [Metric.model_validate(each) for each in fields]}


EMPTY: dict[str, Any] = {"objective": "", "criteria": [], "anti_criteria": [], "metrics": [], "exits": []}
TABLE: list[tuple[str, dict[str, Any], tuple[float, ...], float]] = [
    # what; changes to a complete state;
    # criteria .25, metrics .20, verification .20, anti-criteria .15, exits .10, intent .10; their sum
    ("nothing lacks", {}, (0.25, 0.20, 0.20, 0.15, 0.10, 0.10), 1.0),
    # anti .15 * .5 = .075, exits .10 * .3 = .03, the rest 0
    ("nothing is there", EMPTY, (0, 0, 0, 0.075, 0.03, 0), 0.105),
    ("an objective alone", {**EMPTY, "objective": "Three words here"}, (0, 0, 0, 0.075, 0.03, 0.10), 0.205),
    ("objective of two words", {"objective": "Be fast"}, (0.25, 0.20, 0.20, 0.15, 0.10, 0), 0.90),
    ("objective of three words", {"objective": "Be very fast"}, (0.25, 0.20, 0.20, 0.15, 0.10, 0.10), 1.0),
    ("signs are no words", {"objective": "Be fast - !"}, (0.25, 0.20, 0.20, 0.15, 0.10, 0), 0.90),
    # verification: 0 criteria + 2 anti-criteria, both with a way: 2/2
    ("no criteria", {"criteria": []}, (0, 0.20, 0.20, 0.15, 0.10, 0.10), 0.75),
    # .25 * (0 + .5)
    ("criterion not described", {"criteria": good(RULE, said="")}, (0.125, 0.20, 0.20, 0.15, 0.10, 0.10), 0.875),
    ("criterion of two words", {"criteria": good(RULE, said="Be fast")}, (0.125, 0.20, 0.20, 0.15, 0.10, 0.10), 0.875),
    # .25 * (.5 + 0); verification .20 * 2/3 = .133333
    ("criterion without a way", {"criteria": good(NONE)}, (0.125, 0.20, 0.4 / 3, 0.15, 0.10, 0.10), 0.80833333333333),
    # an unknown rule is a way, but no concrete one: .25 * .5, verification 3/3
    ("unknown rule", {"criteria": good(STRANGE)}, (0.125, 0.20, 0.20, 0.15, 0.10, 0.10), 0.875),
    ("question of two words", {"criteria": good(CURT)}, (0.125, 0.20, 0.20, 0.15, 0.10, 0.10), 0.875),
    ("question to a judge", {"criteria": good(JUDGE)}, (0.25, 0.20, 0.20, 0.15, 0.10, 0.10), 1.0),
    ("question to a person", {"criteria": good(PERSON)}, (0.25, 0.20, 0.20, 0.15, 0.10, 0.10), 1.0),
    ("typed check", {"criteria": good(CHECK)}, (0.25, 0.20, 0.20, 0.15, 0.10, 0.10), 1.0),
    # mean of 1, 1, .5, .5 = .75: .25 * .75 = .1875; verification (3 + 2) / 6: .20 * 5/6 = .166667
    ("four criteria, one vague, one without",
     {"criteria": good(RULE, CHECK, CURT, NONE)}, (0.1875, 0.20, 0.5 / 3, 0.15, 0.10, 0.10), 0.90416666666667),
    # mean of 0 and 1 = .5: .125; verification 3/4: .15
    ("one of two with nothing", {"criteria": [Criterion(id="x"), *good(RULE)]},
     (0.125, 0.20, 0.15, 0.15, 0.10, 0.10), 0.825),
    ("no metrics", metrics(), (0.25, 0, 0.20, 0.15, 0.10, 0.10), 0.80),
    # .20 * (.3 + .5) = .16
    ("metric without unit", metrics({**PERFECT, "unit": ""}), (0.25, 0.16, 0.20, 0.15, 0.10, 0.10), 0.96),
    # .20 * (.3 + .2) = .10
    ("metric without target", metrics({**PERFECT, "target": ""}), (0.25, 0.10, 0.20, 0.15, 0.10, 0.10), 0.90),
    ("target in words", metrics({**PERFECT, "target": "very low"}), (0.25, 0.10, 0.20, 0.15, 0.10, 0.10), 0.90),
    # .20 * (.5 + .2) = .14
    ("metric without name", metrics({**PERFECT, "name": ""}), (0.25, 0.14, 0.20, 0.15, 0.10, 0.10), 0.94),
    # mean of 1, .8, 0 = .6: .20 * .6 = .12
    ("three metrics", metrics(PERFECT, {**PERFECT, "unit": ""}, {}), (0.25, 0.12, 0.20, 0.15, 0.10, 0.10), 0.92),
    # anti .15 * .5 = .075; verification 1/1
    ("no anti-criteria", {"anti_criteria": []}, (0.25, 0.20, 0.20, 0.075, 0.10, 0.10), 0.925),
    # anti .15 * .75 = .1125; verification 2/2
    ("one anti-criterion", {"anti_criteria": never(RULE)}, (0.25, 0.20, 0.20, 0.1125, 0.10, 0.10), 0.9625),
    # verification (1 + 2) / 4: .20 * .75 = .15
    ("three anti-criteria, one without detector",
     {"anti_criteria": never(RULE, NONE, CHECK)}, (0.25, 0.20, 0.15, 0.15, 0.10, 0.10), 0.95),
    # 0 criteria, 0 anti-criteria: nothing to verify
    ("neither", {"criteria": [], "anti_criteria": []}, (0, 0.20, 0, 0.075, 0.10, 0.10), 0.475),
    # exits .10 * .3 and .10 * .7
    ("no exit", {"exits": []}, (0.25, 0.20, 0.20, 0.15, 0.03, 0.10), 0.93),
    ("one exit", {"exits": ["All tests pass"]}, (0.25, 0.20, 0.20, 0.15, 0.07, 0.10), 0.97),
    ("three exits", {"exits": ["One", "Two", "Three"]}, (0.25, 0.20, 0.20, 0.15, 0.10, 0.10), 1.0),
    # .15 * .75 = .1125 and .10 * .7 = .07
    ("one anti-criterion, one exit",
     {"anti_criteria": never(RULE), "exits": ["Done"]}, (0.25, 0.20, 0.20, 0.1125, 0.07, 0.10), 0.9325),
    # criterion: .25 * .5; verification 0/1 = 0; anti none .075; exits none .03; metric .20 * .3 = .06; intent 0
    ("a first draft",
     {**EMPTY, "criteria": good(NONE), **metrics({"name": "speed"})}, (0.125, 0.06, 0, 0.075, 0.03, 0), 0.29),
]  # fmt: skip
LIMITS = (0.25, 0.20, 0.20, 0.15, 0.10, 0.10)


def measured(**changes: Any) -> Completeness:
    return completeness(state(**changes), RULES)


@pytest.mark.parametrize(("changes", "products", "score"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_the_score_is_what_was_computed_by_hand(
    changes: dict[str, Any], products: tuple[float, ...], score: float
) -> None:
    found = measured(**changes)
    assert list(found.parts) == ["criteria", "metrics", "verification", "anti_criteria", "exits", "intent"]
    assert [part * most for part, most in zip(found.parts.values(), LIMITS, strict=True)] == pytest.approx(products)
    assert found.score == pytest.approx(score, abs=1e-12)
    assert math.fsum(products) == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize("row", TABLE, ids=[row[0] for row in TABLE])
def test_each_part_below_full_is_named_and_no_other(row: tuple[str, dict[str, Any], tuple[float, ...], float]) -> None:
    found = measured(**row[1])
    named = {sentence.partition(":")[0].replace("-", "_") for sentence in found.missing}
    assert named == {name for name, part in found.parts.items() if part < 1 - 1e-9}


def test_the_boundary_is_exact() -> None:
    at = measured(anti_criteria=never(RULE, NONE, CHECK))
    assert at.score == pytest.approx(ENOUGH)
    assert at.reaches()
    assert at.reaches(0.95)
    assert not at.reaches(0.95 + 1e-8)
    assert not measured(metrics=[Metric(target="= 0", unit="errors")]).reaches()  # 0.94


def test_what_is_missing_comes_in_the_order_of_what_it_would_add() -> None:
    found = completeness(
        IdealState(
            criteria=[Criterion(id="fast", description="It is very fast", verify=Way(rule="speed"))],
            metrics=[Metric(name="latency", target="low"), Metric(target="= 0", unit="errors")],
            anti_criteria=never(RULE),
            exits=["Done"],
        ),
        RULES,
    )
    assert found.missing == [
        'criteria: "fast" names the rule "speed", which the task does not have',  # .25 * .5 = .125
        "intent: there is no objective; say what is wanted in the end",  # .10
        'metrics: "latency" has the target "low"; give a comparison and a number, such as >= 0.9',  # .20 * .5/2 = .05
        "anti-criteria: there is only one; give a second: what must not happen",  # .15 * .25 = .0375
        "metrics: number 2 has no name",  # .20 * .3/2 = .03
        "exits: there is only one; give a second: when the work is done or given up",  # .10 * .3 = .03
        'metrics: "latency" has no unit',  # .20 * .2/2 = .02
    ]


def test_the_empty_state_is_told_what_it_needs() -> None:
    assert completeness(IdealState(), RULES).missing == [
        "criteria: there is no success criterion",
        "metrics: there is no metric",
        "verification: there is nothing that could be verified",
        "intent: there is no objective; say what is wanted in the end",
        "anti-criteria: there is none; give two: what must not happen",
        "exits: there is none; give two: when the work is done or given up",
    ]


def test_short_words_are_quoted_back() -> None:
    found = measured(criteria=good(CURT, said="Be fast"), objective="Go on").missing
    assert '"c1" is described in fewer than three words' in found[0] + found[1]
    assert any('"c1" asks "Is it?", which is fewer than three words' in sentence for sentence in found)
    assert any("the objective has fewer than three words" in sentence for sentence in found)


def test_doing_what_is_said_to_be_missing_adds_to_the_score() -> None:
    poor = {**EMPTY, "criteria": good(NONE, said=""), **metrics({})}
    assert len(measured(**poor).missing) == 9
    assert measured().missing == []
    for name, part in {"objective": "A fast web service", "criteria": good(RULE), "exits": ["One", "Two"]}.items():
        better = measured(**{**poor, name: part})
        assert better.score > measured(**poor).score
        assert len(better.missing) < 9


@pytest.mark.parametrize(
    ("text", "target"),
    [
        (">= 0.9", (">=", 0.9)), ("<= 300", ("<=", 300)), ("= 0", ("=", 0)), ("< 5 %", ("<", 5)), (">0", (">", 0)),
        ("== 1", ("=", 1)), ("!= 0", ("!=", 0)), ("≥ 0.95", (">=", 0.95)), ("≤ .5", ("<=", 0.5)), ("≠ 3", ("!=", 3)),
        ("<= 1,000,000", ("<=", 1e6)), ("< 1e-3", ("<", 0.001)), ("> -2.5 degrees", (">", -2.5)),
        ("> \u22122", (">", -2)),
        ("<= 300 words in all", ("<=", 300)), ("  >=   2  ", (">=", 2)), ("<= 5%", ("<=", 5)), ("<= 3.", ("<=", 3)),
        ("", None), ("fast", None), ("0.9", None), ("at least 0.9", None), (">=", None), (">= many", None),
        (">= 0,9", None), ("<= 1.2.3", None), (">= 1 and <= 2", None), ("=> 3", None), ("<= 12,34", None),
        ("< 1e999", None), ("> nan", None), ("latency <= 300", None), ("<= 1,0000", None),
    ],
)  # fmt: skip
def test_a_target_is_a_comparison_and_a_number(text: str, target: tuple[str, float] | None) -> None:
    assert parse_target(text) == target


def test_other_weights_count_as_they_say() -> None:
    only = Weights(criteria=0, metrics=1, verification=0, anti_criteria=0, exits=0, intent=0)
    found = completeness(state(objective="", metrics=[Metric(name="latency", unit="ms")]), RULES, only)
    assert found.score == pytest.approx(0.5)
    assert [sentence[:24] for sentence in found.missing] == ['metrics: "latency" has n']
    half = Shares(described=0.2, verifiable=0.8, exits=(0.0, 0.5, 1.0))
    found = completeness(state(criteria=good(NONE), exits=["Done"]), RULES, shares=half)
    assert (found.parts["criteria"], found.parts["exits"]) == (pytest.approx(0.2), 0.5)


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        (Weights, {"criteria": 0.3}), (Weights, {"criteria": -0.05, "metrics": 0.5}), (Weights, {"criteria": math.nan}),
        (Shares, {"described": 0.6}), (Shares, {"unit": 0.3}), (Shares, {"exits": (0.7, 0.3, 1.0)}),
        (Shares, {"anti_criteria": (0.5, 0.6, 0.7)}), (Weights, {"objective": 0.1}),
    ],
)  # fmt: skip
def test_weights_that_do_not_sum_to_one_are_refused(kind: type[Any], changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        kind(**changes)


def test_the_table_has_at_least_thirty_cases() -> None:
    assert len(TABLE) >= 30
