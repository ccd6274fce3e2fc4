"""Layers, outcome and vetoes against a table computed by hand (SPEC 5.5, 5.6)."""

import math
from itertools import permutations
from typing import Any

import pytest
from pydantic import ValidationError

from looper.loops.gather_verify.layers import Evidence, Gap, LayerWeights, Thresholds, Verdict, relaxed, verdict

LAYERS = {"o": "objective", "h": "heuristic", "s": "semantic", "p": "person"}
BY = {"o": "code", "h": "code", "s": "judge", "p": "person"}
MET = {"+": True, "-": False, "?": None}
V, G, C = "VERIFIED", "GAPS_IDENTIFIED", "CRITICAL_FAILURE"


def seen(*lines: str) -> list[Evidence]:
    """`o must a +`: layer, severity (never: an anti-criterion), id, met. Code fills o and h, a judge s."""
    rows = [line.split() for line in lines]
    return [
        Evidence.model_validate({
            "criterion": name, "severity": "must" if severity == "never" else severity, "layer": LAYERS[layer],
            "met": MET[met], "anti": severity == "never", "ran_by": BY[layer], "check": f"check of {name}",
        })
        for layer, severity, name, met in rows
    ]  # fmt: skip


def ruled(*lines: str, gate: bool = True, **others: Any) -> Verdict:
    weights, thresholds = others.get("weights", LayerWeights()), others.get("thresholds", Thresholds())
    return verdict(seen(*lines), weights, thresholds, gate_passed=gate)


HS = ("h should style +", "s should clear +")
"""Heuristic 1, semantic 1: they add .3 + .2."""
TABLE: list[tuple[str, tuple[str, ...], tuple[float | None, ...], float, str]] = [
    # what; evidence; layers objective .5, heuristic .3, semantic .2; score; outcome. Weights: must 2, should 1, nice 0
    ("everything met", ("o must a +", *HS), (1, 1, 1), 1.0, V),
    ("everything failed", ("o must a -", "h should b -", "s should c -"), (0, 0, 0), 0.0, C),
    ("no evidence", (), (None, None, None), 0.0, C),
    # one layer known: its weight is 1
    ("code alone", ("o must a +",), (1, None, None), 1.0, V),
    ("a judge alone", ("s must a +",), (None, None, 1), 1.0, G),
    ("rules of thumb alone, no must", ("h should a +",), (None, 1, None), 1.0, V),
    # a person has no score
    ("a person alone", ("p must a +",), (None, None, None), 0.0, C),
    # o 2/4 = .5: .25 + .3 + .2
    ("one of two musts", ("o must a +", "o must b -", *HS), (0.5, 1, 1), 0.75, G),
    # o 2/3: .333333 + .5
    ("a must met, a should not", ("o must a +", "o should b -", *HS), (2 / 3, 1, 1), 0.83333333333333, G),
    # o 1/3: .166667 + .5
    ("a should met, a must not", ("o should a +", "o must b -", *HS), (1 / 3, 1, 1), 0.66666666666667, G),
    # o 4/5 = .8: .4 + .5
    ("exactly 0.9", ("o must a +", "o must b +", "o should c -", *HS), (0.8, 1, 1), 0.9, V),
    # o 3/4 = .75: .375 + .5
    ("below 0.9", ("o must a +", "o should b +", "o should c -", *HS), (0.75, 1, 1), 0.875, G),
    # o 1/5 = .2: .1 + .5
    ("exactly 0.6", ("o should a +", "o must b -", "o must c -", *HS), (0.2, 1, 1), 0.6, G),
    # o 1/7: .071429 + .5
    ("below 0.6", ("o should a +", "o must b -", "o must c -", "o must d -", *HS), (1 / 7, 1, 1), 0.57142857142857, C),
    # h 4/6 = .666667: .5 + .2 + .2 = .9, but b has failed
    ("0.9 with a failed must", ("o must a +", "h must b -", "h must c +", "h must d +", "s should e +"),
     (1, 2 / 3, 1), 0.9, G),
    # .5 + 0 + .2
    ("a must fails in one of two layers", ("o must a +", "h must a -", "s should e +"), (1, 0, 1), 0.7, G),
    # nice weighs 0: o 2/2
    ("a nice one is not met", ("o must a +", "o nice b -", *HS), (1, 1, 1), 1.0, V),
    # h has weight 0, so it is unknown: 5/7 + 2/7; a is verified by code
    ("a layer of nice ones", ("o must a +", "h nice b +", "s must a +"), (1, None, 1), 1.0, V),
    ("a layer that does not know", ("o must a +", "h should b ?", "s must a +"), (1, None, 1), 1.0, V),
    # b is not counted: o 2/2
    ("one that nobody can tell", ("o must a +", "o should b ?", *HS), (1, 1, 1), 1.0, V),
    # objective and heuristic: 5/8 and 3/8; o 2/3: .416667 + .375
    ("no judge", ("o must a +", "o should b -", "h should c +"), (2 / 3, 1, None), 0.79166666666667, G),
    # objective and semantic: 5/7 and 2/7; s 1/2: 5/7 + 1/7 = 6/7
    ("no rules of thumb", ("o must a +", "s should b +", "s should c -"), (1, None, 0.5), 0.85714285714286, G),
    # heuristic and semantic: .6 and .4; h 1/2: .3 + .4
    ("no check", ("h should a +", "h should b -", "s should c +"), (None, 0.5, 1), 0.7, G),
    # h unknown: 5/7 + 2/7 = 1, but only the judge says a
    ("a layer unknown, a must only judged", ("o must b +", "s must a +"), (1, None, 1), 1.0, G),
    ("the same, confirmed by a person", ("o must b +", "s must a +", "p must a +"), (1, None, 1), 1.0, V),
    ("the same, all layers known", ("o must b +", "s must a +", "h should c +"), (1, 1, 1), 1.0, V),
    # s 2/4 = .5: .5 + .3 + .1
    ("a judge against code", ("o must a +", "h should b +", "s must a -", "s must c +"), (1, 1, 0.5), 0.9, V),
    ("a judge alone against", ("o must d +", "h should b +", "s must a -", "s must c +"), (1, 1, 0.5), 0.9, G),
    ("a judge against a person", ("o must d +", "h should b +", "s must a -", "s must c +", "p must a +"),
     (1, 1, 0.5), 0.9, V),
    # s 0: .5 + .3
    ("a judge lowers the score", ("o must a +", "h should b +", "s must a -"), (1, 1, 0), 0.8, G),
    ("a person refuses a must", ("o must a +", *HS, "p must a -"), (1, 1, 1), 1.0, G),
    ("a person refuses a should", ("o must a +", *HS, "p should clear -"), (1, 1, 1), 1.0, V),
    # hit: a must that is not met, o 2/4 = .5: .25 + .5
    ("code sees a hit", ("o must a +", "o never x -", *HS), (0.5, 1, 1), 0.75, C),
    # o 18/20 = .9: .45 + .5
    ("a hit above 0.9", (*(f"o must m{n} +" for n in range(9)), "o never x -", *HS), (0.9, 1, 1), 0.95, C),
    # s 1/3: .5 + .3 + .066667
    ("a judge sees a hit", ("o must a +", *HS, "s never x -"), (1, 1, 1 / 3), 0.86666666666667, C),
    ("a person sees a hit in what is perfect", ("o must a +", *HS, "p never x -"), (1, 1, 1), 1.0, C),
    # not hit: a must that is met, o 2/3: .333333 + .5
    ("no hit", ("o never x +", "o should a -", *HS), (2 / 3, 1, 1), 0.83333333333333, G),
    # s 3/3
    # code and persons rule it out: the judge only lowers the score, s 2/4: .5 + .3 + .1
    ("a judge sees a hit that code rules out", ("o never x +", "h should b +", "s never x -", "s must a +"),
     (1, 1, 0.5), 0.9, V),
    ("a judge sees a hit that a person rules out",
     ("o must d +", "h should b +", "s never x -", "s must a +", "p never x +"), (1, 1, 0.5), 0.9, V),
    ("a judge sees a hit that code cannot tell",
     ("o must d +", "o never x ?", "h should b +", "s never x -", "s must a +"), (1, 1, 0.5), 0.9, C),
    ("code sees a hit that a judge does not", ("h should b +", "o never x -", "o must a +", "s never x +"),
     (0.5, 1, 1), 0.75, C),
    ("a prohibition that nobody looked at", ("o must a +", "o never x ?", *HS), (1, 1, 1), 1.0, V),
    ("the same, a layer unknown", ("o must a +", "o never x ?", "h should b +"), (1, 1, None), 1.0, G),
    ("judged free of it, a layer unknown", ("o must a +", "s never x +"), (1, None, 1), 1.0, V),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "layers", "score", "outcome"), [r[1:] for r in TABLE], ids=[r[0] for r in TABLE])
def test_score_and_outcome_are_what_was_computed_by_hand(
    lines: tuple[str, ...], layers: tuple[float | None, ...], score: float, outcome: str
) -> None:
    found = ruled(*lines)
    assert list(found.layers) == ["objective", "heuristic", "semantic"]
    assert list(found.layers.values()) == [None if one is None else pytest.approx(one) for one in layers]
    assert found.score == pytest.approx(score, abs=1e-12)
    assert found.outcome == outcome


@pytest.mark.parametrize("lines", [row[1] for row in TABLE], ids=[row[0] for row in TABLE])
def test_without_the_gate_nothing_is_verified_and_nothing_else_changes(lines: tuple[str, ...]) -> None:
    with_gate, without = ruled(*lines), ruled(*lines, gate=False)
    assert without.outcome == (G if with_gate.outcome == V else with_gate.outcome)
    assert (without.score, without.layers, without.hits) == (with_gate.score, with_gate.layers, with_gate.hits)


def test_the_order_of_the_evidence_changes_no_outcome() -> None:
    lines = ("o must a +", "s must a -", "s must c +", "h should b +", "p must c +")
    for order in permutations(lines):
        assert (ruled(*order).score, ruled(*order).outcome) == (pytest.approx(0.9), V)


def test_the_weights_of_unknown_layers_go_to_the_others_in_proportion() -> None:
    assert ruled("o must a +", *HS).weights == {"objective": 0.5, "heuristic": 0.3, "semantic": 0.2}
    assert ruled("o must a +", "s must a +").weights == pytest.approx(
        {"objective": 5 / 7, "heuristic": 0, "semantic": 2 / 7}
    )
    assert ruled("h must a +").weights == {"objective": 0, "heuristic": 1, "semantic": 0}
    assert ruled().weights == {"objective": 0, "heuristic": 0, "semantic": 0}


def test_a_layer_of_weight_zero_is_unknown() -> None:
    no_judge = LayerWeights(objective=0.6, heuristic=0.4, semantic=0)
    found = ruled("o must a +", "h should b -", "s must c +", weights=no_judge)
    assert found.layers == {"objective": 1, "heuristic": 0, "semantic": None}
    assert (found.score, found.unverified) == (pytest.approx(0.6), ["c"])
    assert ruled("o must a +", "h should b +", "s must c +", weights=no_judge).outcome == G
    assert ruled("o must a +", "h should b +", "s should c -", weights=no_judge).outcome == V
    assert ruled("s must c +", weights=no_judge).score == 0


@pytest.mark.parametrize(
    ("thresholds", "outcome"),
    [
        ({"verified": 0.875}, V), ({"verified": 0.875 + 5e-10}, V), ({"verified": 0.875 + 2e-9}, G),
        ({"gaps": 0.875}, G), ({"gaps": 0.875 + 5e-10}, G), ({"gaps": 0.875 + 2e-9}, C),
    ],
)  # fmt: skip
def test_the_boundaries_are_exact_with_a_slack(thresholds: dict[str, float], outcome: str) -> None:
    lines = ("o must a +", "o should b +", "o should c -", *HS)  # 0.875
    assert ruled(*lines, thresholds=Thresholds(**thresholds)).outcome == outcome


def test_an_anti_criterion_weighs_as_a_must_whatever_severity_it_is_given() -> None:
    rows = seen("o never x -", "o must a +")
    mild = [one.model_copy(update={"severity": "nice"}) if one.anti else one for one in rows]
    found = verdict(mild, LayerWeights(), Thresholds(), gate_passed=True)
    assert (found.layers["objective"], found.hits, found.gaps[0].severity) == (0.5, ["x"], "must")


def test_a_hit_is_named_once_and_is_a_gap() -> None:
    found = ruled("o never x -", "s never x -", "p never y -", "o must a +")
    assert found.hits == ["x", "y"]
    assert [(gap.criterion, gap.layer) for gap in found.gaps] == [
        ("x", "objective"),
        ("x", "semantic"),
        ("y", "person"),
    ]
    assert found.why == "x and y must not happen and have happened."


def test_gaps_say_what_to_do_the_musts_first() -> None:
    rows = seen("o nice n -", "h should b -", "s must a -", "o should c +", "o should d ?")
    rows[2] = rows[2].model_copy(update={"note": "the sum is not explained"})
    assert verdict(rows, LayerWeights(), Thresholds(), gate_passed=True).gaps == [
        Gap(criterion="a", severity="must", layer="semantic", problem="the sum is not explained"),
        Gap(criterion="b", severity="should", layer="heuristic", problem="not met: check of b"),
        Gap(criterion="n", severity="nice", layer="objective", problem="not met: check of n"),
    ]


def test_what_had_to_be_verified_and_was_not_is_a_gap() -> None:
    found = ruled("o must b +", "s must a +")
    assert found.unverified == ["a"]
    assert found.gaps == [
        Gap(criterion="a", severity="must", layer="semantic", problem="nothing that ran has verified it: check of a")
    ]
    known = ruled("o must b +", "s must a +", "h should c +")
    assert (known.unverified, known.gaps) == (["a"], [])


def test_a_failed_must_is_no_unverified_one() -> None:
    assert ruled("o must a -", "s must b -", "s must c ?").unverified == ["c"]


@pytest.mark.parametrize(
    ("lines", "gate", "why"),
    [
        (("o must a +", *HS), True,
         "The score 1 reaches 0.9, the gate is passed, and no criterion that must hold failed."),
        (("o must a +", *HS), False, "The score 1 reaches 0.9, but the gate of the task is not passed."),
        (("o must a +", "o should b -", *HS), True, "The score 0.833 is below 0.9."),
        (("o must a +", "o must b -", *HS), True, "The score 0.75 is below 0.9, and b must hold and has failed."),
        ((), True, "The score 0 is below 0.6."),
        (("s must a +", "s must b +"), True,
         "The score 1 reaches 0.9, but nothing that ran has verified a and b."),
        (("o must a -", "o must b -", "o must c -"), False,
         "The score 0 is below 0.6, and the gate of the task is not passed; a, b and c must hold and have failed."),
    ],
)  # fmt: skip
def test_the_reason_is_a_sentence(lines: tuple[str, ...], gate: bool, why: str) -> None:
    assert ruled(*lines, gate=gate).why == why


def test_a_score_just_below_is_not_shown_as_reached() -> None:
    many = [*(f"o should m{n} +" for n in range(7999)), *(f"o should f{n} -" for n in range(2001)), "h should a +"]
    found = ruled(*many, "s should b +")  # .5 * .7999 + .5 = .89995
    assert found.why == "The score 0.899 is below 0.9."


def test_a_relaxed_criterion_no_longer_counts() -> None:
    rows = seen("o must a +", "o must b -", *HS, "p must b -")
    easier = relaxed(rows, "b")
    found = verdict(easier, LayerWeights(), Thresholds(), gate_passed=True)
    assert (found.score, found.outcome) == (1.0, V)
    assert [gap.severity for gap in found.gaps] == ["nice", "nice"]
    assert [one.severity for one in rows].count("must") == 3  # the evidence itself stays as it was
    assert [one.met for one in easier] == [one.met for one in rows]


def test_what_cannot_be_relaxed_says_so() -> None:
    with pytest.raises(ValueError, match="x is an anti-criterion, which cannot be relaxed"):
        relaxed(seen("o must a +", "o never x -"), "x")
    with pytest.raises(ValueError, match="there is no criterion b"):
        relaxed(seen("o must a +"), "b")


@pytest.mark.parametrize(
    ("layer", "by"), [("objective", "judge"), ("heuristic", "judge"), ("objective", "person"), ("person", "code")]
)
def test_a_layer_is_not_filled_by_whom_it_does_not_belong_to(layer: str, by: str) -> None:
    with pytest.raises(ValidationError, match="a: a "):
        Evidence.model_validate({"criterion": "a", "severity": "must", "layer": layer, "met": True, "ran_by": by})


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (LayerWeights, {"objective": 0.6}), (LayerWeights, {"objective": 1.3, "heuristic": -0.5}),
        (LayerWeights, {"semantic": math.nan}), (Thresholds, {"gaps": 0.95}), (Thresholds, {"verified": 1.1}),
        (LayerWeights, {"person": 0.0}),
    ],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(kind: type[Any], values: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        kind(**values)


def test_the_verdict_survives_json() -> None:
    found = ruled("o must a +", "o never x -", "s must b ?")
    assert Verdict.model_validate_json(found.model_dump_json()) == found


def test_the_table_has_at_least_thirty_cases() -> None:
    assert len(TABLE) >= 30
