"""Whole runs of search/band: over the shipped needs, and step by step over a collection with known counts (SPEC 1)."""

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from search_runs import (
    WORDS,
    Played,
    Remembering,
    Saying,
    band,
    budget,
    ladder,
    planned,
    play,
)

from looper.agents.simulated import Simulated
from looper.budget import Budget
from looper.loops.adaptive import Adaptive, ProportionalLadder
from looper.loops.baseline import Baseline
from looper.tasks.search.band import Band
from looper.tasks.search.index import Embedded
from looper.tasks.search.needs import shipped
from looper.tasks.search.query import Query
from looper.tasks.search.states import Plan
from looper.testing import check_loop, check_task

BUILDING = [need for need in shipped().values() if need.half == "building"]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Remembering:
    return Remembering(cache=str(tmp_path_factory.mktemp("library")))


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Embedded:
    return ladder(tmp_path_factory.mktemp("ladder"))


# Whole runs over the needs that the policies were made with

DESIGNS: dict[str, tuple[Any, dict[str, Any], Budget]] = {
    "adaptive": (Adaptive(), {}, budget()),
    "baseline": (Baseline(), {}, budget()),
    "dice": (Adaptive(), {"policy": Simulated(skill=0.0)}, budget(inner=4.0)),  # poor, so that it is quick and replans
}


@pytest.fixture(scope="module")
def played(library: Remembering) -> dict[str, list[Played]]:
    return {
        name: [play(Band(collection=library, need=need.id), loop, seats, budget=money) for need in BUILDING]
        for name, (loop, seats, money) in DESIGNS.items()
    }


@pytest.mark.parametrize("design", DESIGNS)
def test_no_run_is_in_a_state_twice(played: dict[str, list[Played]], design: str) -> None:
    """SPEC 1.4, over whole runs, all plans of a run together."""
    for run in played[design]:
        keys = run.visited()
        assert len(keys) == len(set(keys)), run.task.need


@pytest.mark.parametrize("design", DESIGNS)
def test_every_need_ends_in_a_named_status(played: dict[str, list[Played]], design: str) -> None:
    ends = {(run.outcome.status, run.outcome.reason) for run in played[design]}
    assert ends <= {
        ("completed", "stable"), ("completed", "threshold_reached"), ("stopped", "no_new_plan"),
        ("stopped", "budget_exhausted"), ("stopped", "stagnation"),
    }  # fmt: skip
    for run in played[design]:
        inside = 10 <= run.task.parse(run.outcome.artifact).total <= 30  # pyright: ignore[reportArgumentType]
        assert (run.outcome.status == "completed") == run.outcome.passed == inside


def test_the_policy_reaches_the_range_in_95_of_100_needs_within_20_units(played: dict[str, list[Played]]) -> None:
    reached = [run for run in played["adaptive"] if run.outcome.status == "completed" and run.units["inner"] <= 20]
    assert len(reached) >= 0.95 * len(BUILDING) > 20


def test_the_policy_needs_fewer_steps_than_dice(played: dict[str, list[Played]]) -> None:
    steps = {name: sum(run.outcome.facts["inner_steps"] for run in runs) for name, runs in played.items()}
    assert steps["adaptive"] < steps["dice"] / 2


def test_what_a_run_took_is_what_its_log_says(played: dict[str, list[Played]]) -> None:
    """SPEC 1.3, 1.8: the planned state is looked at first, the last one too; one entry a step."""
    for run in played["adaptive"]:
        totals = run.totals()
        assert [entry["signals"]["count"] for entry in run.log] == totals[:-1]
        assert run.outcome.facts["inner_steps"] == len(run.log) == len(totals) - 1
        assert run.units["inner"] == pytest.approx(len(totals) * 4 * 0.05 + len(run.log) * 0.105)
        assert run.units["outer"] == 2.0 * run.outcome.facts["planner_calls"]
        assert all({"state", "action", "feedback", "level", "inner_left", "outer_left"} <= e.keys() for e in run.log)


def test_feedback_is_in_its_range_and_has_the_sign_of_the_progress(played: dict[str, list[Played]]) -> None:
    for run in [*played["adaptive"], *played["dice"]]:
        task, totals = run.task, run.totals()
        if run.events("action_refused") or len(run.events("plan_created")) > 1:
            continue  # then steps and states are not one to one
        for entry, (was, now) in zip(run.log, pairwise(totals), strict=True):
            assert -1 <= entry["feedback"] <= 1
            gained = task.distance(was) - task.distance(now)
            assert entry["feedback"] * gained > 0 or abs(gained) < 1e-9 > abs(entry["feedback"])


def test_the_actions_of_a_run_have_a_kind_and_a_reason(played: dict[str, list[Played]]) -> None:
    kinds: Counter[str] = Counter()
    for run in [*played["adaptive"], *played["dice"]]:
        for entry in run.log:
            kind, _, rest = entry["action"].partition(": ")
            kinds[kind] += 1
            assert rest.endswith(")") or len(entry["action"]) == 500
    assert {"broaden", "narrow", "rephrase"} <= kinds.keys()


# The planner


def test_the_plan_is_the_words_of_the_need_that_the_collection_has(library: Remembering) -> None:
    task = Band(collection=library, need="stop a server on a zzgluph signal")
    plan = task.planned()
    assert plan.keywords == ["stop", "server", "signal"]
    assert task.prepare().note == "words of the need that the collection does not have: zzgluph"
    assert "- not in the collection: zzgluph" in task.render(task.observe(plan))
    for word, others in plan.alternatives.items():
        assert word in plan.keywords
        assert 0 < len(others) <= 2
        assert not {*others} & {*plan.keywords}
        assert all(library.frequency(other) > 0 for other in others)
        assert others == [w for w in library.related(word, [], 2) if w not in plan.keywords]


# Steps of the policy in a run


@pytest.mark.parametrize(("start", "totals"), [(0.0, [3, 6, 12]), (3.0, [3, 48, 12, 24])])
def test_the_level_of_the_ladder_scales_the_steps_and_the_policy_bisects(
    own: Embedded, start: float, totals: list[int]
) -> None:
    """SPEC 1.4, 1.5: four words are dropped at once, then half of them, then half of that half come back."""
    run = play(band(own), Adaptive(ladder=ProportionalLadder(start=start)), planned(*WORDS))
    assert run.totals()[: len(totals)] == totals
    assert run.outcome.status == "completed"
    whys = [entry["action"].rpartition("(")[2] for entry in run.log]
    assert (whys[1:3] == ["middle of too little and too much)"] * 2) == (start == 3.0)


def test_a_state_in_the_range_is_stable_at_once(own: Embedded) -> None:
    run = play(band(own), Adaptive(), planned("elder"))
    assert (run.outcome.status, run.outcome.reason, run.log) == ("completed", "stable", [])
    assert run.units == {"inner": pytest.approx(4 * 0.05), "outer": 4.0}


def test_stable_means_as_many_states_as_asked_for(own: Embedded) -> None:
    """SPEC 1.7: one state in the range is not two; no policy has anything to mend in it, so the walk ends met."""
    run = play(band(own), Adaptive(stable_for=2), planned("elder"))
    assert (run.totals(), run.outcome.status, run.outcome.reason) == ([24], "completed", "threshold_reached")


def test_an_action_that_leads_back_is_refused_and_three_of_them_end_the_run_by_name(own: Embedded) -> None:
    """SPEC 1.4: it is an error of the policy, not a step."""
    back = {"action": {"kind": "broaden", "query": {"keywords": ["holly", " holly "]}, "why": "again"}}
    run = play(band(own), Adaptive(), {**planned("holly"), "policy": Saying({"decide": [back]})})
    assert (run.outcome.status, run.outcome.reason) == ("failed", "phase_error")
    assert [event.event for event in run.journal.events].count("action_refused") == 3
    assert run.visited() == [Query(keywords=["holly"]).key()]


def test_the_own_policy_does_not_repeat_what_was_refused(own: Embedded) -> None:
    task = band(own)
    state = task.observe(Plan(keywords=["grove", "holly"]))
    policy = task.policies()[0]
    memory = policy.initialize(state)
    asked = [policy.decide(state, [], memory, 0.0)]
    assert asked[0] is not None
    memory = policy.adapt(memory, state, asked[0], state, -1.0)
    asked.append(policy.decide(state, [], memory, 0.0))
    assert asked[1] is None or asked[1].query.key() != asked[0].query.key()


# Conformance and kills


def test_it_conforms_to_what_tasks_promise(own: Embedded) -> None:
    check_task(band(own))


@pytest.mark.parametrize("loop", [Adaptive(), Baseline()], ids=["adaptive", "baseline"])
def test_killed_at_any_step_it_resumes_to_the_same_end(own: Embedded, loop: Any) -> None:
    check_loop(loop, band(own), kills=6)
