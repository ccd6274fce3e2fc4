"""The planted truth of an outer loop on a simulated task: what is found out, what is said, what gaps lead to."""

import random
from collections.abc import Collection, Mapping
from types import SimpleNamespace

import pytest
from outer_players import outer as around
from test_matrix import shipped_budget

from looper.agents.cast import Seats
from looper.budget import Ledger
from looper.execution import execute
from looper.journal import Journal
from looper.loops.gather_verify import GatherVerify
from looper.loops.gather_verify.answers import Assessment, IdealState
from looper.loops.gather_verify.completeness import Shares, Weights, completeness
from looper.loops.gather_verify.course import Course
from looper.loops.gather_verify.rules import aim
from looper.loops.reflex import Reflex
from looper.run import Run
from looper.stage import Stage, rounds_of
from looper.tasks.sim import outer
from looper.tasks.sim.playing import Player, hidden_twin, rendered
from looper.tasks.sim.states import Change
from looper.tasks.sim.task import Sim
from looper.tasks.sim.truth import Planted, code_for, code_for_both, meets, meets_hidden
from looper.types import Outcome, Question

MANY = 400
"""Throws of six rules: a rate of one half is known to +-0.03 (three standard errors)."""


def sim(**truth: float) -> Sim:
    """A task all of whose instances are alike."""
    return Sim(spread=0.0, judged=0, truth=Planted(**truth))


def ideals(task: Sim, skill: float = 1.0, count: int = MANY) -> list[IdealState]:
    return [IdealState.model_validate(outer.ideal(task, skill, random.Random(seed))) for seed in range(count)]


def twins(ideal: IdealState) -> list[str]:
    return [one.id for one in ideal.criteria if one.id.startswith("hidden.")]


def code(task: Sim, rule: str, met: bool, hidden: bool, seed: int = 0) -> str:
    """A code of which both truths are known."""
    dice = random.Random(f"{rule}/{seed}")
    while True:
        found = code_for(task.instance, rule, met, dice)
        if meets_hidden(task.instance, rule, found, task.truth) == hidden:
            return found


def artifact(task: Sim, met: bool, hidden: bool, seed: int = 0) -> dict[str, str]:
    return {rule: code(task, rule, met, hidden, seed) for rule in task.odds}


@pytest.mark.parametrize(("later", "target"), [(0, ">= 0.7"), (2, ">= 0.95")])
def test_the_score_that_is_wanted_is_the_one_of_the_last_phase(later: int, target: str) -> None:
    task = Sim(judged=0, later=later, thresholds={"A": 0.7, "B": 0.95})
    (metric,) = ideals(task, count=1)[0].metrics
    assert metric.target == target


@pytest.mark.parametrize(("limits", "most"), [({"max_iterations": 7}, 7), ({"max_rounds": 2}, 2), ({}, 4)])
def test_a_round_of_the_outer_loop_has_the_limit_of_its_design(limits: dict[str, int], most: int) -> None:
    loop = SimpleNamespace(**limits)
    assert rounds_of(loop) == (most if limits else None)
    course = object.__new__(Course)
    course.loop, course.design = loop, GatherVerify(max_loops=3)
    assert course.rounds == most


def rows(task: Sim) -> list[dict[str, str]]:
    """What a verifier is asked: every rule and its hidden twin."""
    return [{"id": name} for rule in task.odds for name in (rule, hidden_twin(rule))]


def verdicts(task: Sim, parts: Mapping[str, str], skill: float = 1.0, seed: int = 0) -> dict[str, bool]:
    said = outer.assess(task, rows(task), rendered(parts), skill, random.Random(seed))
    return {one.id: one.verdict == "met" for one in Assessment.model_validate(said).verdicts}


def said_met(task: Sim, met: bool, hidden: bool, skill: float = 1.0) -> tuple[float, float]:
    """The shares of rules and of hidden twins that a verifier calls met."""
    parts = artifact(task, met, hidden)
    said = [verdicts(task, parts, skill, seed) for seed in range(MANY)]
    shares = [[one[name(rule)] for one in said for rule in task.odds] for name in (str, hidden_twin)]
    return sum(shares[0]) / len(shares[0]), sum(shares[1]) / len(shares[1])


def sent_back(task: Sim, parts: Mapping[str, str], gaps: Collection[str], seed: int = 0) -> dict[str, str]:
    """The writer's draft of a result whose verification has found gaps."""
    context = {"outer": {"previous": rendered(parts), "gaps": [{"criterion": name} for name in gaps]}}
    return task.parse(Player(task, 1.0, random.Random(seed)).draft(True, context)).parts


def ended(task: Sim, seed: int = 0, *, alone: bool = False) -> Outcome:
    """Reflex on the task, under the outer loop or alone."""
    inner = Reflex(confirmation=False)
    loop = inner if alone else around(inner, escalation="stop", learn=False, recall=0)
    cast = Seats({"name": "simulated", "skill": 1.0}, {}, confirmed=True, design=loop)
    stage = Stage(task, cast, Journal(), Ledger(shipped_budget("outer_loop")), seed=seed, events=loop.events)
    return execute(loop, Run(stage))


def share(outcomes: list[Outcome]) -> float:
    """Of the holdout's weight, on average."""
    return sum(float(one.facts["holdout"]["score"]) for one in outcomes) / len(outcomes)


# What an interview finds out


@pytest.mark.parametrize(("discover", "skill", "expected"), [(0.5, 1.0, 0.5), (0.8, 0.5, 0.4), (0.1, 1.0, 0.1)])
def test_hidden_twins_are_found_out_as_often_as_planted(discover: float, skill: float, expected: float) -> None:
    task = sim(discover=discover)
    found = sum(len(twins(one)) for one in ideals(task, skill)) / (MANY * len(task.odds))
    assert found == pytest.approx(expected, abs=0.03)


def test_each_rule_has_dice_of_its_own() -> None:
    counts = {len(twins(one)) for one in ideals(sim(discover=0.5))}
    assert counts == set(range(7)), "all numbers from none to all six come up"


@pytest.mark.parametrize(("discover", "skill"), [(0.0, 1.0), (1.0, 0.0)])
def test_without_discovery_the_criteria_are_the_gates_rules_and_nothing_else(discover: float, skill: float) -> None:
    task = sim(discover=discover)
    for ideal in ideals(task, skill, 50):
        assert [one.id for one in ideal.criteria] == [rule.id for rule in task.criteria.rules]
        assert all(one.verify.rule == one.id and not one.verify.judge for one in ideal.criteria)


def test_with_full_discovery_each_rule_has_its_twin_of_the_same_severity_for_a_reader_alone() -> None:
    task = sim(discover=1.0)
    (ideal,) = ideals(task, count=1)
    by_id = {one.id: one for one in ideal.criteria}
    assert twins(ideal) == [hidden_twin(rule) for rule in task.odds]
    for rule in task.odds:
        assert by_id[hidden_twin(rule)].severity == by_id[rule].severity
        assert by_id[hidden_twin(rule)].verify.judge
        assert by_id[hidden_twin(rule)].verify.check is None


@pytest.mark.parametrize("discover", [0.0, 1.0])
def test_what_was_found_out_is_no_rule_of_the_gate(discover: float) -> None:
    task = sim(discover=discover)
    (ideal,) = ideals(task, count=1)
    gate = aim(ideal, task.criteria).over(task.criteria)
    assert [rule.id for rule in gate.rules[:6]] == [rule.id for rule in task.criteria.rules]
    assert [rule.id for rule in gate.rules[6:]] == ["a.never.nothing-handed-over", "a.never.a-secret-in-it"]
    assert gate.rules[:6] == task.criteria.rules, "neither severity nor weight of the task's rules is changed"


@pytest.mark.parametrize("discover", [0.0, 0.5, 1.0])
def test_the_ideal_state_is_complete_in_one_round_whatever_was_found_out(discover: float) -> None:
    task = sim(discover=discover)
    for ideal in ideals(task, count=20):
        found = completeness(ideal, [rule.id for rule in task.criteria.rules], Weights(), Shares())
        assert found.reaches(0.95), found.missing


# What a verifier says


@pytest.mark.parametrize("met", [True, False])
@pytest.mark.parametrize("hidden", [True, False])
def test_a_verifier_without_errors_says_what_is_true_of_rules_and_twins(met: bool, hidden: bool) -> None:
    task = sim(false_accept=0.0, false_reject=0.0, correlation=0.0, hidden=0.5)
    parts = artifact(task, met, hidden)
    said = verdicts(task, parts)
    assert all(said[rule] == met and said[hidden_twin(rule)] == hidden for rule in task.odds)


def test_its_errors_are_those_that_are_planted_each_kind_by_itself() -> None:
    task = sim(false_accept=0.4, false_reject=0.1, correlation=0.0, hidden=0.5)
    assert said_met(task, met=True, hidden=False) == pytest.approx((0.9, 0.4), abs=0.03)
    assert said_met(task, met=False, hidden=True) == pytest.approx((0.4, 0.9), abs=0.03)


def test_a_verifier_of_less_skill_is_wrong_more_often() -> None:
    task = sim(false_accept=0.0, false_reject=0.1, correlation=0.0, hidden=0.5)
    assert said_met(task, met=True, hidden=False, skill=0.5) == pytest.approx((0.45, 0.5), abs=0.03)


def test_what_is_missing_is_not_met_and_what_has_no_planted_truth_always_is() -> None:
    task = sim(false_accept=0.0, false_reject=1.0)
    assert not any(verdicts(task, {}).values())
    said = outer.assess(task, [{"id": "a.never.a-secret-in-it"}], "", 0.0, random.Random(0))
    assert [one["verdict"] for one in said["verdicts"]] == ["met"]


def test_the_simulation_answers_both_questions_with_the_planted_truth() -> None:
    task = sim(discover=1.0, false_accept=0.0, false_reject=0.0)
    asked = Question(role="interviewer", step="ideal", key="k", context={}, returns=IdealState, task=task)
    state = task.simulate(asked, 1.0, random.Random(0))
    assert isinstance(state, IdealState)
    assert len(twins(state)) == 6
    context = {"criteria": rows(task), "artifact": ""}
    read = Question(role="verifier", step="assess", key="k", context=context, returns=Assessment, task=task)
    answer = task.simulate(read, 1.0, random.Random(0))
    assert isinstance(answer, Assessment)
    assert {one.verdict for one in answer.verdicts} == {"not_met"}
    assert GatherVerify().simulate(read, 1.0, random.Random(0)) is None, "the design leaves both to the task"


# What gaps lead to


def test_a_hidden_gap_is_repaired_as_often_as_planted_and_the_rule_stays_met() -> None:
    task = sim(repair=0.6, unnamed=0.0, damage=0.0, correlation=0.0, hidden=0.5)
    parts, gaps = artifact(task, met=True, hidden=False), [hidden_twin(rule) for rule in task.odds]
    changed = [sent_back(task, parts, gaps, seed) for seed in range(MANY)]
    after = [(rule, parts[rule]) for parts in changed for rule in task.odds]
    repaired = [meets_hidden(task.instance, rule, new, task.truth) for rule, new in after]
    assert sum(repaired) / len(repaired) == pytest.approx(0.6, abs=0.03)
    assert all(meets(task.instance, rule, new) for rule, new in after)


def test_what_no_gap_names_stays_as_it_was() -> None:
    task = sim(repair=1.0, unnamed=0.0, damage=0.0, correlation=0.0, hidden=0.5)
    parts, (named, *others) = artifact(task, met=True, hidden=False), task.odds
    after = sent_back(task, parts, [hidden_twin(named)])
    assert after[named] != parts[named]
    assert meets_hidden(task.instance, named, after[named], task.truth)
    assert all(after[rule] == parts[rule] for rule in others)


def test_a_gap_of_the_gate_is_repaired_without_regard_to_its_twin() -> None:
    task = sim(repair=1.0, unnamed=0.0, damage=0.0, correlation=0.0, hidden=0.5)
    parts = artifact(task, met=False, hidden=False)
    changed = [sent_back(task, parts, task.odds, seed) for seed in range(100)]
    after = [(rule, parts[rule]) for parts in changed for rule in task.odds]
    assert all(meets(task.instance, rule, new) for rule, new in after)
    hidden = sum(meets_hidden(task.instance, rule, new, task.truth) for rule, new in after) / len(after)
    assert hidden == pytest.approx(0.5, abs=0.1)


def test_where_no_code_meets_both_the_rule_is_met() -> None:
    planted = Planted(correlation=0.0, hidden=0.0)
    rule = "a.correctness.r01"
    found = code_for_both(1, rule, planted, random.Random(0))
    assert meets(1, rule, found)
    assert not meets_hidden(1, rule, found, planted)


def test_a_change_that_is_asked_for_within_a_round_sees_the_gaps_too() -> None:
    task = sim(repair=1.0, unnamed=0.0, damage=0.0, correlation=0.0, hidden=0.5)
    parts, rule = artifact(task, met=True, hidden=False), next(iter(task.odds))
    gaps = {"gaps": [{"criterion": hidden_twin(rule)}]}
    context = {"state": task.parse(rendered(parts)), "outer": gaps}
    change = Player(task, 1.0, random.Random(0)).answer("act", context)
    assert isinstance(change, Change)
    assert set(change.codes) == {rule}


# Whole runs

SURE = {"satisfy": 1.0, "repair": 1.0, "unnamed": 0.0, "damage": 0.0, "miss": 0.0, "false_accept": 0.0,
        "false_reject": 0.0, "correlation": 0.0, "hidden": 0.5}  # fmt: skip
"""Every draft meets the gate; half of what the gate does not say is met by luck."""


def test_what_is_found_out_is_repaired_and_verified() -> None:
    outcomes = [ended(sim(**SURE, discover=1.0), seed) for seed in range(4)]
    assert share(outcomes) == 1.0
    assert {one.reason for one in outcomes} == {"verified"}


def test_what_is_not_found_out_stays_as_luck_left_it() -> None:
    outcomes = [ended(sim(**SURE, discover=0.0), seed) for seed in range(10)]
    assert {(one.reason, one.facts["outer"]["loops"]) for one in outcomes} == {("verified", 0)}
    assert share(outcomes) == pytest.approx(0.5, abs=0.2)


def test_a_blind_verifier_finds_no_gap_and_a_suspicious_one_uses_up_all_rounds() -> None:
    blind = ended(sim(**{**SURE, "false_accept": 1.0}, discover=1.0))
    assert (blind.reason, blind.facts["outer"]["loops"]) == ("verified", 0)
    assert blind.facts["holdout"]["score"] < 1
    suspicious = ended(sim(**{**SURE, "false_reject": 1.0}, discover=1.0))
    assert (suspicious.status, suspicious.facts["outer"]["loops"]) == ("stopped", 3)


def test_discovery_changes_nothing_where_there_is_no_outer_loop() -> None:
    alone = [ended(Sim(truth=Planted(discover=discover)), 3, alone=True) for discover in (0.0, 1.0)]
    assert alone[0] == alone[1]


def test_a_rule_whose_twin_is_named_too_is_mended_as_often_as_any_other() -> None:
    task = Sim(rules=1, warnings=0, judged=0, spread=0.0, truth=Planted(repair=0.6, damage=0.0))
    (rule,) = task.odds
    bad = code_for(task.instance, rule, False, random.Random(0))
    named, mended = {rule, hidden_twin(rule)}, 0
    for throw in range(1000):
        code = Player(task, 1.0, random.Random(throw)).changed(rule, task.parse(f"{rule}: {bad}"), named)
        mended += meets(task.instance, rule, code)
    assert 560 <= mended <= 640, "600 are planted, with a standard error of 15"
