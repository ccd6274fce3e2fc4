"""Stops, stagnation and regressions as evaluations come in (SPEC 2.3-2.5)."""

from typing import Any

import pytest

from looper.criteria import Criteria, Evaluation, Phase, Rule
from looper.loops.progress import Progress

SEVERITIES = {"one": "fail", "two": "fail", "three": "warn", "four": "warn", "told": "info"}
RULES: list[Any] = [Rule.model_validate({"id": f"a.style.{n}", "severity": s}) for n, s in SEVERITIES.items()]
RULES += [Rule(id="b.style.five", phase="B"), Rule(id="b.style.six", severity="warn", phase="B")]
CRITERIA = Criteria(rules=RULES, phases=[Phase(name="A", threshold=0.9), Phase(name="B", threshold=0.9)])


def verdict(phase: str, *failed: str) -> Evaluation:
    ids = {rule.id for rule in RULES if rule.id.rpartition(".")[2] in failed}
    return CRITERIA.evaluate({rule.id: rule.id not in ids for rule in RULES}, phase)


def stops(*looks: tuple[str, ...], stagnant: int = 2, blocked: int = 3) -> list[str | None]:
    """The reason after each evaluation: its phase and what failed."""
    progress = Progress(CRITERIA, 0.02, stagnant, blocked)
    return [progress.take(phase, verdict(phase, *failed), {}, last=phase == "B") for phase, *failed in looks]


def test_the_score_is_passed_weight_by_active_weight_without_info() -> None:
    assert verdict("A", "three").score == pytest.approx(5 / 6)
    assert verdict("A", "told").score == 1.0
    assert verdict("A", "told").passed
    assert verdict("B", "five").score == pytest.approx(7 / 9)
    info = Criteria(rules=[Rule(id="a.style.told", severity="info")])
    assert info.evaluate({"a.style.told": False}).score == 1.0


def test_a_failed_blocker_fails_whatever_the_score() -> None:
    lax = Criteria(rules=RULES, phases=[Phase(name="A", threshold=0.0)])
    found = lax.evaluate({rule.id: rule.id != "a.style.one" for rule in RULES}, "A")
    assert (found.passed, found.blockers) == (False, ["a.style.one"])


def test_only_the_last_phase_completes() -> None:
    assert stops(("A",), ("B",)) == [None, "threshold_reached"]
    assert stops(("A", "three", "four")) == [None], "no blocker is left in A, and that is no end (SPEC 2.4)"
    assert stops(("B", "six", "three")) == ["no_major_issues"]


def test_no_gain_without_blockers_twice_is_stagnation() -> None:
    same = ("A", "three", "four")
    assert stops(same, same, same) == [None, None, "stagnation"]
    assert stops(same, same, ("A", "three"), same, same) == [None] * 4 + ["stagnation"]


def test_the_same_blockers_three_times_are_stagnation_and_blocked() -> None:
    progress = Progress(CRITERIA, 0.02, 2, 3)
    look = verdict("A", "one")
    assert [progress.take("A", look, {}, last=False) for _ in range(3)] == [None] * 3
    assert not progress.blocked
    assert progress.take("A", look, {}, last=False) == "stagnation"
    assert progress.blocked


def test_other_blockers_are_another_matter() -> None:
    one, two = ("A", "one"), ("A", "two")
    assert stops(one, two, one, two, one, two) == [None] * 6


def test_a_gain_of_the_threshold_is_a_gain() -> None:
    progress = Progress(CRITERIA, 0.02, 1, 3)
    low, high = verdict("A", "three"), verdict("A", "three")
    progress.take("A", low, {}, last=False)
    gained = high.model_copy(update={"score": low.score + 0.02 + 1e-12})
    assert progress.take("A", gained, {}, last=False) is None
    assert progress.take("A", gained, {}, last=False) == "stagnation"


def test_a_new_phase_is_compared_with_itself() -> None:
    assert stops(("A", "three", "four"), ("A",), ("B", "five"), ("B", "five"), ("B", "five"), ("B", "five")) == [
        None, None, None, None, None, "stagnation",
    ]  # fmt: skip


def test_what_passed_and_fails_is_a_regression_once() -> None:
    progress = Progress(CRITERIA, 0.02, 9, 9)
    seen = []
    for failed in (["one"], ["three"], ["three"], ["one", "three"]):
        progress.take("A", verdict("A", *failed), {}, last=False)
        seen.append(progress.regressions)
    assert seen == [[], ["a.style.three"], [], ["a.style.one"]]


def test_a_change_of_phase_forgets_no_regression() -> None:
    progress = Progress(CRITERIA, 0.02, 9, 9)
    progress.take("A", verdict("A", "one"), {}, last=False)
    progress.take("A", verdict("A", "three"), {}, last=False)
    progress.take("B", verdict("B", "three", "five"), {}, last=True)
    assert progress.regressions == ["a.style.three"], "a rule that was never checked before is none"


def test_failures_come_with_what_the_checks_said() -> None:
    progress = Progress(CRITERIA, 0.02, 9, 9)
    assert progress.failures() == []
    notes = {"a.style.one": "line 3: no", "a.style.two": "of a rule that passed"}
    progress.take("A", verdict("A", "one", "three"), notes, last=False)
    assert progress.failures() == ["a.style.one: line 3: no", "a.style.three"]
