"""The simulated task: truth in opaque codes, planted odds, every design on it, nothing lost by a kill."""

import random
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from players import Dying, Killed
from pydantic import ValidationError
from test_matrix import DESIGNS, named, shipped_budget

from looper.agents.cast import Seats
from looper.budget import Ledger
from looper.criteria import Finding
from looper.execution import execute
from looper.journal import Journal
from looper.loops.adaptive import Adaptive
from looper.loops.baseline import Baseline
from looper.loops.once import Once
from looper.loops.random_walk import RandomWalk
from looper.loops.reflex import Reflex
from looper.run import Run
from looper.stage import Stage
from looper.tasks.contracts import Critique, Issue, Written
from looper.tasks.environment import Task
from looper.tasks.sim.states import Change, Plan
from looper.tasks.sim.task import Sim
from looper.tasks.sim.truth import Planted, Row, code_for, difficulty, meets, meets_hidden, shifted
from looper.testing import check_loop, check_task
from looper.types import Outcome, Question

MODEL = {"name": "simulated", "skill": 1.0, "tokens": 400, "tokens_in": 1500, "spread": 0.5,
         "price": {"input": 1.0, "output": 4.0}, "latency": 2.0, "sleeps": False}  # fmt: skip
MEASURED = Sim(judged=0, spread=0.0)


def sure(**truth: float) -> Sim:
    """A task whose odds are 0 or 1."""
    planted = {"satisfy": 0.0, "repair": 1.0, "unnamed": 0.0, "damage": 0.0, "miss": 0.0, **truth}
    return Sim(judged=0, truth=Planted(**planted))


def asked(task: Sim, step: str, skill: float = 1.0, seed: int = 0, **context: Any) -> Any:
    question = Question(role="r", step=step, key="k", context=context, returns=task.answer(step), task=task)
    return task.simulate(question, skill, random.Random(seed))


def looked(task: Sim, text: str) -> Any:
    return task.parse(text)


def critique(*rules: str) -> Critique:
    return Critique(issues=[Issue(rule=rule, problem="not met", fix="meet it") for rule in rules])


def ended(task: Sim, loop: Any, seed: int = 0, model: Any = None, journal: Journal | None = None) -> Outcome:
    cast = Seats(model or MODEL, dict(getattr(loop, "seats", {})), confirmed=True, design=loop)
    ledger = Ledger(shipped_budget("iterations"))
    stage = Stage(task, cast, journal or Journal(), ledger, seed=seed, events=loop.events)
    outcome = execute(loop, Run(stage))
    return outcome.model_copy(update={"facts": {**outcome.facts, "spent": ledger.overall()}})


# The artifact and its truth


def test_the_task_conforms_and_keeps_its_hidden_rules_to_itself() -> None:
    check_task(MEASURED)
    check_task(Sim(judged=0, later=2, seed=4))


@pytest.mark.parametrize("loop", [Adaptive(max_steps=3), Baseline(max_steps=3), Once()])
def test_designs_conform_on_it(loop: Any) -> None:
    check_loop(loop, MEASURED, kills=4)


def test_half_of_all_codes_meet_a_rule_and_another_instance_has_another_truth() -> None:
    codes = [f"{number:08x}" for number in range(4000)]
    met = [meets(1, "a.correctness.r01", code) for code in codes]
    assert sum(met) == pytest.approx(2000, abs=130)
    assert met != [meets(2, "a.correctness.r01", code) for code in codes]
    assert not meets(1, "a.correctness.r01", None)
    assert not meets(1, "a.correctness.r01", "none of it")


@pytest.mark.parametrize("wanted", [True, False])
def test_a_code_is_what_was_wanted(wanted: bool) -> None:
    dice = random.Random(1)
    codes = [code_for(3, "a.correctness.r02", wanted, dice) for _ in range(50)]
    assert {meets(3, "a.correctness.r02", code) for code in codes} == {wanted}
    assert len(set(codes)) == 50


def test_a_hidden_twin_follows_its_rule_as_planted() -> None:
    dice = random.Random(2)
    for truth in (
        Planted(correlation=1.0),
        Planted(correlation=0.0, hidden=0.25),
        Planted(correlation=0.5, hidden=0.5),
    ):
        for met in (True, False):
            codes = [code_for(1, "a.correctness.r01", met, dice) for _ in range(3000)]
            share = sum(meets_hidden(1, "a.correctness.r01", code, truth) for code in codes) / 3000
            assert share == pytest.approx(truth.correlation * met + (1 - truth.correlation) * truth.hidden, abs=0.04)


def test_the_holdout_is_the_twins_verdict_and_no_role_sees_it() -> None:
    task = Sim(judged=0, truth=Planted(satisfy=1.0, correlation=0.0, hidden=0.0))
    state = looked(task, asked(task, "plan").draft)
    assert task.evaluate(state).passed
    assert task.holdout(task.render(state)).score == 0.0
    assert "hidden" not in str(task.prepare()) + str(state)


def test_of_two_lines_for_a_rule_the_last_one_counts_and_others_are_passed_over() -> None:
    text = "# Title\na.correctness.r01: 00000000\nnonsense\na.correctness.r01: 00000001\nz: 12345678\n  : \n"
    assert MEASURED.parse(text).parts == {"a.correctness.r01": "00000001"}
    assert MEASURED.parse("a.correctness.r01: not hex").parts == {}


def test_severity_weight_phase_and_judge_of_each_rule_can_be_set() -> None:
    task = Sim(rules=4, warnings=1, later=1, judged=1, rows=[Row(rule=1, weight=5.0, judged=True, satisfy=0.1)])
    rules = {rule.id: rule for rule in task.criteria.rules}
    assert [rule.severity for rule in rules.values()] == ["fail", "fail", "fail", "warn"]
    assert [rule.phase for rule in rules.values()] == ["A", "A", "A", "B"]
    assert rules["a.correctness.r01"].weight == 5.0
    assert task.judges == ["a.correctness.r01", "b.correctness.r04"]
    assert task.odds["a.correctness.r01"].satisfy == pytest.approx(shifted(0.1, difficulty(1, 0.8)))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"warnings": 9}, "warnings=9 is more than rules=6"), ({"rows": [Row(rule=7)]}, "there is no rule 7"),
        ({"later": 1, "thresholds": {"A": 0.8}}, "phase B has rules and no threshold"),
        ({"thresholds": {"B": 0.8}}, "phase A has no threshold"), ({"instance": 0}, "greater than 0"),
        ({"typo": 1}, "Unexpected keyword"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_are_refused(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        Sim(**settings)


def test_instances_differ_in_difficulty_and_seeds_do_not() -> None:
    easy = [Sim(instance=number).odds["a.correctness.r01"].satisfy for number in range(1, 200)]
    assert min(easy) < 0.3 < 0.85 < max(easy)
    assert Sim(instance=7, seed=1).odds == Sim(instance=7, seed=2).odds
    assert {Sim(instance=n, spread=0.0).odds["a.correctness.r01"].satisfy for n in range(1, 9)} == {0.6}
    assert [Sim(instance=n, truth=Planted(satisfy=1.0)).odds["a.correctness.r01"].satisfy for n in (1, 2)] == [1.0, 1.0]


# Roles


def test_only_named_rules_are_mended_and_no_other_code_changes() -> None:
    task = sure()
    state = looked(task, asked(task, "plan").draft)
    change = asked(task, "act", state=state, critique=critique("a.correctness.r01", "a.correctness.r03"))
    after = task.apply(state, change)
    assert set(change.codes) == {"a.correctness.r01", "a.correctness.r03"}
    assert sorted(task.evaluate(looked(task, task.render(after))).failed) == [
        f"a.correctness.r0{number}" for number in (2, 4, 5, 6)
    ]


def test_without_anybody_who_names_a_rule_luck_alone_mends() -> None:
    task = sure()
    state = looked(task, asked(task, "plan").draft)
    assert asked(task, "act", state=state).codes == {}
    assert set(asked(sure(unnamed=1.0), "act", state=state).codes) == set(task.odds)
    assert asked(sure(unnamed=1.0), "act", skill=0.0, state=state).codes == {}


def test_a_repair_that_fails_writes_another_bad_code() -> None:
    task = sure(repair=0.0)
    state = looked(task, asked(task, "plan").draft)
    after = task.apply(state, asked(task, "write", seed=1, state=state, rule="a.correctness.r02"))
    assert after.parts["a.correctness.r02"] != state.parts["a.correctness.r02"]
    assert task.key(after) != task.key(state)
    assert not meets(1, "a.correctness.r02", after.parts["a.correctness.r02"])


def test_a_change_damages_what_was_met_as_often_as_planted() -> None:
    task = sure(satisfy=1.0, damage=0.25)
    state = looked(task, asked(task, "plan").draft)
    broken = sum(len(asked(task, "act", seed=seed, state=state).codes) for seed in range(500))
    assert broken / 3000 == pytest.approx(0.25, abs=0.03)


def test_a_plan_of_no_use_misleads_the_draft() -> None:
    task = Sim(judged=0, truth=Planted(satisfy=1.0, planning=0.0, misled=0.0))
    plan = asked(task, "plan")
    assert not plan.useful
    assert task.evaluate(looked(task, plan.draft)).score == 0.0
    assert task.evaluate(looked(task, asked(task, "produce", plan=plan).text)).score == 0.0
    assert task.evaluate(looked(task, asked(task, "produce", plan=Plan(steps=["s"])).text)).score == 1.0


def test_a_critic_misses_and_names_wrong_rules_as_planted() -> None:
    task = Sim(judged=0, truth=Planted(miss=0.4, wrong=0.3))
    verdict = task.criteria.evaluate({"a.correctness.r05": True, "a.correctness.r06": True})
    words = [asked(task, "critique", seed=n, evaluation=verdict, notes={}, regressions=[]) for n in range(800)]
    named = [{issue.rule for issue in word.issues} for word in words]
    assert sum("a.correctness.r01" in rules for rules in named) / 800 == pytest.approx(0.6, abs=0.05)
    assert sum(bool(rules - set(verdict.failed)) for rules in named) / 800 == pytest.approx(0.3, abs=0.05)
    assert all(rules & set(verdict.failed) for rules in named), "a critique names at least one failed rule"


@pytest.mark.parametrize(("met", "error"), [(True, 0.3), (False, 0.1)])
def test_a_judge_errs_as_planted(met: bool, error: float) -> None:
    task = Sim(truth=Planted(false_reject=0.3, false_accept=0.1))
    code = code_for(1, "a.correctness.r06", met, random.Random(0))
    said = [asked(task, "judge", seed=n, rule="a.correctness.r06", code=code).met for n in range(800)]
    assert sum(word != met for word in said) / 800 == pytest.approx(error, abs=0.045)


def test_a_judge_is_asked_once_about_a_code() -> None:
    task = Sim(truth=Planted(satisfy=1.0))
    judge = task.probes()[-1]
    state = looked(task, asked(task, "plan").draft)
    assert judge.question(state) == {"rule": "a.correctness.r06", "code": state.parts["a.correctness.r06"]}
    told = task.absorb(state, [judge.reading(state, asked(task, "judge", **judge.question(state)))])
    assert judge.question(told) is None
    other = task.apply(told, Change(codes={"a.correctness.r01": "00000000"}))
    assert judge.question(other) is None, "another rule's code has changed"
    assert other.findings == {}
    assert judge.question(task.apply(told, Change(codes={"a.correctness.r06": "00000000"}))) is not None


def test_a_rule_that_nobody_has_judged_has_not_passed() -> None:
    task = Sim(truth=Planted(satisfy=1.0))
    state = looked(task, asked(task, "plan").draft)
    assert task.evaluate(state).failed == ["a.correctness.r06"]
    said = state.model_copy(update={"findings": {**state.findings, "a.correctness.r06": Finding(passed=True)}})
    assert task.evaluate(said).passed


def test_a_random_walk_works_on_any_failed_rule() -> None:
    task = sure()
    state = looked(task, asked(task, "plan").draft)
    memory = task.policies()[0].initialize(state)
    context = {"state": state, "signals": [], "memory": memory, "level": 0.0}
    thrown = {asked(task, "decide", 0.0, seed, **context).action.rule for seed in range(60)}
    assert thrown == set(task.odds)
    assert {asked(task, "decide", 1.0, seed, **context).action.rule for seed in range(9)} == {"a.correctness.r01"}


def test_the_dice_of_a_random_walk_cost_nothing_where_a_simulated_model_does() -> None:
    price = {"input": 0.15, "output": 0.6}
    model = {"name": "simulated", "tokens": 400, "tokens_in": 1500, "price": price, "faults": 0.01, "sleeps": False}
    walked = Journal()
    ended(sure(), RandomWalk(max_steps=4), model=model, journal=walked)
    paid = {step: [e.cost for e in walked.events if e.step == step and e.cost] for step in ("plan", "decide")}
    assert paid["plan"][0]["calls"] >= 1
    assert paid["decide"]
    assert not any({"calls", "tokens", "usd"} & cost.keys() for cost in paid["decide"])


def test_the_policy_gives_a_rule_up_at_last() -> None:
    outcome = ended(sure(repair=0.0), Adaptive(), model={"name": "offline"})
    assert (outcome.status, outcome.reason) in {("stopped", "no_new_plan"), ("stopped", "budget_exhausted")}


def test_a_text_with_feedback_names_its_rules() -> None:
    task = sure()
    state = looked(task, asked(task, "plan").draft)
    change = asked(task, "act", state=state, address={"p1": ["- c3 watchdog: a.correctness.r04: not met"]})
    assert set(change.codes) == {"a.correctness.r04"}


# Designs

Make = Callable[[], Any]


@pytest.mark.parametrize("design", DESIGNS)
def test_every_design_runs_on_it(design: str) -> None:
    task = Sim(instance=2, rules=5, later=2, judged=1, truth=Planted(satisfy=0.7, wrong=0.1))
    outcome = ended(task, DESIGNS[design]())
    gave_up = design == "workflow" and outcome.reason in ("impossible", "rejected")
    assert named(outcome) or outcome.reason == "phase_error"
    assert outcome.status != "failed" or gave_up, outcome.facts.get("detail")
    assert outcome.artifact is not None
    assert outcome.facts["spent"]["usd"] > 0
    assert "holdout" in outcome.facts or outcome.reason == "phase_error"


@pytest.mark.parametrize("design", ["adaptive", "baseline", "reflex", "workflow", "once", "retry", "best_of"])
def test_it_runs_without_a_model_too(design: str) -> None:
    outcome = ended(Sim(seed=5), DESIGNS[design](), model={"name": "offline"})
    assert named(outcome), outcome.facts.get("detail")
    assert "usd" not in outcome.facts["spent"]
    assert outcome == ended(Sim(seed=5), DESIGNS[design](), model={"name": "offline"})


def test_the_interfaces_of_document_and_environment_are_there() -> None:
    for protocol in (Written, Task):
        names = {name for name in vars(protocol) if not name.startswith("_")}
        assert not [name for name in names if not hasattr(MEASURED, name)]


@pytest.mark.parametrize("at", [3, 9, 14, 20])
@pytest.mark.parametrize("after", [True, False])
def test_a_killed_run_ends_as_the_whole_one_and_pays_for_the_lost_call(at: int, after: bool, tmp_path: Path) -> None:
    task, loop = Sim(instance=2, truth=Planted(satisfy=0.2)), Reflex()
    whole = ended(task, loop, seed=3)
    with pytest.raises(Killed):
        ended(task, loop, seed=3, journal=Dying(tmp_path / "h.jsonl", at=at, after=after))
    again = ended(task, loop, seed=3, journal=Journal(tmp_path / "h.jsonl", sync=False))
    lost = again.facts.pop("spent")["calls"] - whole.facts.pop("spent")["calls"]
    assert lost in (0, 1)
    assert again == whole


def test_threads_change_no_throw() -> None:
    task, loop = Sim(instance=4, judged=3, truth=Planted(satisfy=0.5)), Reflex()
    assert len({ended(task, loop, seed=1).model_dump_json() for _ in range(4)}) == 1


def test_a_lucky_seed_on_one_instance_is_none_on_another() -> None:
    """Else tasks would be no independent clusters, and every interval too narrow."""
    scores: dict[int, list[float]] = {n: [] for n in (1, 2)}
    for seed in range(120):
        for instance, found in scores.items():
            found.append(ended(Sim(instance=instance, judged=0, spread=0.0), Once(), seed).score or 0.0)
    assert abs(statistics.correlation(scores[1], scores[2])) < 0.3
