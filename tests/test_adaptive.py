"""Document 004's adaptive mode, sentence by sentence (SPEC 1.2 to 1.8)."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from dial_runs import break_off
from dial_runs import play as launched
from dial_walks import Nudge, dial
from players import Seating, money, play, prices
from pydantic import ValidationError

from looper.budget import Budget, BudgetTracker, ControlBudget, Ledger, Price
from looper.build import instantiate
from looper.criteria import Evaluation
from looper.errors import BudgetExceeded
from looper.folder import Folder
from looper.journal import Journal
from looper.loops.adaptive import Adaptive, ProportionalLadder, StrategySelector
from looper.tasks.dial import BandProbe, Dial, Note, Setting
from looper.tasks.environment import FailureType
from looper.types import Outcome, Question, Reply, Signal

CONF = Path(__file__).parents[1] / "conf"


def walked(task: Any, loop: Adaptive | None = None, **how: Any) -> tuple[Outcome, Journal]:
    journal = Journal()
    return play(loop or Adaptive(), task, journal, events=Adaptive.events, **how), journal


def steps(journal: Journal, *names: str) -> list[str]:
    return [event.step for event in journal.events if event.key and (not names or event.step in names)]


def positions(outcome: Outcome) -> list[str]:
    return [entry["state"].split()[1] for entry in outcome.facts["log"]]


# The order of steps


def test_the_steps_come_in_the_order_of_the_document() -> None:
    outcome, journal = walked(dial(Nudge(lambda state, level: 5.0)))
    turn = ["affords", "probe", "gate"]
    assert steps(journal) == [
        "prepare", "plan", "observe",
        *turn, "affords", "decide", "affords", "apply", "iteration_advanced",
        *turn, "evaluate", "gate",
    ]  # fmt: skip
    assert outcome.status == "completed"
    assert [event.event for event in journal.events if event.step == "plan"] == ["plan_created"]


def test_the_planned_state_is_observed_and_probed_before_anything_changes_it() -> None:
    outcome, journal = walked(dial(Nudge(lambda *_: 1.0), low=-0.5, high=0.5))
    assert steps(journal, "observe", "probe", "decide", "apply") == ["observe", "probe"]
    assert (outcome.status, outcome.reason, outcome.facts["inner_steps"]) == ("completed", "stable", 0)


def test_the_inner_loop_makes_no_model_call() -> None:
    cast = Seating()
    walked(Dial(), cast=cast)
    assert {question.role for question in cast.asked if question.step == "decide"} == {"policy"}
    assert [question.step for question in cast.asked if question.role == "planner"] == ["plan", "evaluate"]


# Prices


def test_the_numbers_of_the_document_are_the_defaults() -> None:
    budget = instantiate(yaml.safe_load((CONF / "budget/default.yaml").read_text()), "budget")
    design = instantiate(yaml.safe_load((CONF / "loop/adaptive.yaml").read_text()), "loop")
    assert (budget.inner, budget.outer, design.max_steps, design.stable_for) == (20.0, 6.0, 50, 1)
    assert design == Adaptive()
    assert {name: budget.price(name) for name in ("plan", "replan", "evaluate", "probe", "decide")} == {
        "plan": {"outer": 2.0}, "replan": {"outer": 2.0}, "evaluate": {"outer": 2.0},
        "probe": {"inner": 0.05}, "decide": {"inner": 0.1},
    }  # fmt: skip


def test_every_step_is_charged_its_price() -> None:
    _, journal = walked(dial(Nudge(lambda *_: 1.0)))
    paid = {event.step: event.cost for event in journal.events if event.cost}
    names = ("plan", "evaluate", "probe", "decide", "apply")
    assert paid == {name: prices()[name].amounts() for name in names}
    inner = sum(event.cost.get("inner", 0.0) for event in journal.events)
    assert inner == pytest.approx(6 * 0.05 + 5 * (0.1 + 0.005))


def test_each_probe_costs_its_own() -> None:
    class Two(Dial):
        def probes(self) -> list[BandProbe]:
            other = BandProbe(self)
            other.name = "again"
            return [BandProbe(self), other]

    _, journal = walked(Two(low=-1, high=1))
    assert [event.cost for event in journal.events if event.step == "probe"] == [{"inner": 0.05}] * 2


# The last state


def test_the_state_after_the_last_step_is_tested_for_stability_too() -> None:
    outcome, _ = walked(dial(Nudge(lambda *_: 1.0)), Adaptive(max_steps=5))
    assert (outcome.status, outcome.reason, outcome.facts["inner_steps"]) == ("completed", "stable", 5)


def test_no_step_is_taken_whose_state_could_not_be_tested() -> None:
    one_round = 0.05 + 0.1 + 0.005
    outcome, journal = walked(dial(Nudge(lambda *_: 5.0)), budget=money(inner=one_round + 0.04, outer=4.0))
    assert "apply" not in steps(journal)
    assert (outcome.status, outcome.reason) == ("stopped", "budget_exhausted")
    outcome, journal = walked(dial(Nudge(lambda *_: 5.0)), budget=money(inner=one_round + 0.05))
    assert (outcome.status, outcome.reason) == ("completed", "stable")


def test_the_inner_loop_ends_after_its_steps() -> None:
    outcome, _ = walked(dial(Nudge(lambda *_: 0.001)), budget=money(inner=None, outer=4.0))
    assert (outcome.status, outcome.reason, outcome.facts["inner_steps"]) == ("stopped", "iteration_limit", 50)


# Replan


def test_a_replan_resets_the_inner_budget_and_walks_from_the_new_plan() -> None:
    task = dial(Nudge(lambda *_: 0.01), replans=[4.49])
    outcome, journal = walked(task, budget=money(inner=1.0))
    log = outcome.facts["log"]
    assert (outcome.status, outcome.reason) == ("completed", "stable")
    assert log[-1]["inner_left"] == pytest.approx(1.0 - 0.05 - 0.1 - 0.005)
    assert log[-1]["state"].startswith("position 4.49 ")
    assert sum(event.cost.get("inner", 0.0) for event in journal.events) > 1.0, "both plans are in the run's sum"
    assert outcome.facts["planner_calls"] == 3
    assert log[-1]["outer_left"] == 0.0


def test_a_replan_is_asked_only_if_evaluate_can_still_be_paid_after_it() -> None:
    for outer, planned in ((6.0, ["plan", "replan", "evaluate"]), (5.9, ["plan", "evaluate"])):
        task = dial(Nudge(lambda *_: None), replans=[9.0])
        outcome, journal = walked(task, budget=money(outer=outer))
        assert steps(journal, "plan", "replan", "evaluate") == planned, outer
        assert outcome.status == "stopped"


def test_what_closes_the_run_is_kept_from_the_start() -> None:
    outcome, journal = walked(dial(), budget=money(outer=3.9))
    assert (outcome.status, outcome.reason) == ("stopped", "budget_exhausted")
    assert "observe" not in steps(journal), "a plan that could never be concluded is not begun"


def test_a_null_replan_ends_with_the_best_state() -> None:
    def nearer_then_away(state: Setting, _level: float) -> float | None:
        return {0.0: 4.0, 4.0: -8.0}.get(state.position)

    class Near(Dial):
        """The score of a state is how near it is."""

        def evaluate(self, state: Setting) -> Evaluation:
            verdict = super().evaluate(state)
            return verdict.model_copy(update={"score": verdict.score or 1 / (1 + abs(state.position - 5))})

    task = dial(Nudge(nearer_then_away))
    near = type("Own", (type(task), Near), {})(low=4.5, high=5.5, gain=1.0)
    cast = Seating()
    outcome, journal = walked(near, cast=cast)
    shown = {asked.step: asked.context["state"].position for asked in cast.asked if "state" in asked.context}
    assert (shown["replan"], shown["evaluate"]) == (-4.0, 4.0), "from where it stands, and the best to conclude on"
    assert (outcome.status, outcome.reason) == ("stopped", "no_new_plan")
    assert (outcome.artifact, outcome.score, outcome.passed) == ("4.0", 0.5, False)
    assert outcome.facts["planner_calls"] == 3, "the question that found no plan was asked and paid as well"
    assert steps(journal, "plan", "replan", "evaluate") == ["plan", "replan", "evaluate"]


def test_at_the_limit_wrap_up_evaluates_the_best_state_and_hard_does_not() -> None:
    for on_limit, last in (("wrap_up", ["plan", "evaluate"]), ("hard", ["plan"])):
        budget = money(inner=0.5, outer=4.0, on_limit=on_limit)
        outcome, journal = walked(dial(Nudge(lambda *_: 1.0)), budget=budget)
        assert steps(journal, "plan", "evaluate") == last
        assert (outcome.status, outcome.reason) == ("stopped", "budget_exhausted")
        assert outcome.facts["log"], "the log is in the result however the run ends"


def test_a_run_out_of_time_is_still_concluded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ledger, "elapsed", lambda ledger: 99.0 if ledger.spent.get("inner", 0.0) > 0.4 else 0.0)
    outcome, journal = walked(dial(Nudge(lambda *_: 1.0)), budget=money(seconds=10.0))
    assert (outcome.status, outcome.reason) == ("stopped", "time_limit")
    assert [event.event for event in journal.events[-2:]] == ["step_done", "evaluation_done"]
    assert steps(journal)[-2:] == ["evaluate", "gate"]
    assert outcome.facts["planner_calls"] == 2


# Visited states, bounds, errors of the policy


def test_an_action_that_leads_back_is_not_taken() -> None:
    there_and_back = Nudge(lambda state, level: 1.0 if state.position == 0 else -1.0)
    outcome, journal = walked(dial(there_and_back), Adaptive(max_mistakes=2))
    assert positions(outcome) == ["0"], "one step was taken, none of the ways back"
    refused = [event for event in journal.events if event.event == "action_refused"]
    assert len(refused) == 2
    assert (outcome.status, outcome.reason) == ("failed", "phase_error")


def test_an_action_that_changes_nothing_is_an_error_of_the_policy_and_no_step() -> None:
    lazy = Nudge(lambda *_: 0.0)
    outcome, journal = walked(dial(lazy))
    assert (outcome.status, outcome.reason) == ("failed", "phase_error")
    assert "nudge" in outcome.facts["detail"]
    assert "3 actions in a row" in outcome.facts["detail"]
    assert "iteration_advanced" not in steps(journal)
    assert lazy.met == [(-1.0, 0.0)] * 2, "it was told after each but the last"


def test_a_policy_that_mends_itself_goes_on() -> None:
    told: list[int] = []

    def second_thought(state: Setting, _level: float) -> float:
        told.append(1)
        return 0.0 if len(told) % 2 else 1.0

    outcome, _ = walked(dial(Nudge(second_thought)))
    assert (outcome.status, outcome.facts["inner_steps"]) == ("completed", 5)


def test_a_refused_action_is_told_to_whoever_decides_next() -> None:
    cast = Seating()
    walked(dial(Nudge(lambda *_: 0.0)), cast=cast)
    told = [question.context["refused"] for question in cast.asked if question.step == "decide"]
    assert told[0] == ""
    assert "changed nothing" in told[1]


def test_between_two_bounds_the_policy_bisects() -> None:
    outcome, _ = walked(Dial(low=3.0, high=3.02, gain=1.0))
    assert outcome.status == "completed"
    seen = [float(place) for place in positions(outcome)]
    below, above = None, None
    for place, after in zip(seen, [*seen[1:], float(outcome.artifact)], strict=True):
        below = place if place < 3.0 and (below is None or place > below) else below
        above = place if place > 3.02 and (above is None or place < above) else above
        if below is not None and above is not None:
            assert after == pytest.approx((below + above) / 2, abs=1e-4)
    assert below is not None
    assert above is not None


# The ladder


def test_the_ladder_has_the_documents_numbers() -> None:
    ladder = ProportionalLadder()
    assert (ladder.start, ladder.gain_up, ladder.gain_down) == (0.0, 0.5, 0.5)
    assert ladder.update(1.0, 1.0) == 1.5
    assert ladder.update(1.0, -0.5) == 0.75
    assert ladder.update(2.9, 1.0) == 3.0
    assert ladder.update(0.1, -1.0) == 0.0
    assert ladder.update(0.0, 50.0) == 0.5, "feedback counts as 1 at most"


@pytest.mark.parametrize("setting", [{"start": 3.1}, {"start": -0.1}, {"gain_up": -1}, {"gain_down": 4}])
def test_a_ladder_outside_its_range_is_refused(setting: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        ProportionalLadder(**setting)


def test_the_level_scales_the_step_of_the_policy() -> None:
    def length(ladder: ProportionalLadder) -> list[float]:
        outcome, _ = walked(Dial(low=20, high=22, gain=1.0), Adaptive(ladder=ladder))
        seen = [float(place) for place in positions(outcome)]
        return [b - a for a, b in pairwise(seen)][:4]

    flat = length(ProportionalLadder(gain_up=0, gain_down=0))
    assert flat == [1.0] * 4
    rising = length(ProportionalLadder(gain_up=3, gain_down=0))
    assert rising == sorted(rising)
    assert rising[-1] > 1.2


def test_the_log_holds_the_level_that_the_feedback_led_to() -> None:
    outcome, _ = walked(dial(Nudge(lambda *_: 1.0)))
    level = 0.0
    for entry in outcome.facts["log"]:
        level = ProportionalLadder().update(level, entry["feedback"])
        assert entry["level"] == pytest.approx(level)
    assert level > 0


# Stable for


def test_stable_means_so_many_consecutive_states() -> None:
    wide = {"low": 1.5, "high": 4.5}
    for stable_for, at in ((1, "2.0"), (2, "3.0"), (3, "4.0")):
        outcome, _ = walked(dial(Nudge(lambda *_: 1.0), **wide), Adaptive(stable_for=stable_for))
        assert (outcome.status, outcome.reason, outcome.artifact) == ("completed", "stable", at)


def test_a_state_that_does_not_pass_starts_the_count_anew() -> None:
    path = {0.0: 5.0, 5.0: 4.0, 9.0: -4.1, 4.9: 0.2}
    outcome, _ = walked(dial(Nudge(lambda state, _: path[round(state.position, 3)])), Adaptive(stable_for=2))
    assert (outcome.reason, positions(outcome)) == ("stable", ["0", "5", "9", "4.9"])


def test_one_state_looked_at_twice_is_not_two_stable_states() -> None:
    outcome, _ = walked(dial(Nudge(lambda state, _: 5.0 if state.position == 0 else 0.0)), Adaptive(stable_for=2))
    assert (outcome.status, outcome.reason) == ("failed", "phase_error")


def test_a_gate_that_is_met_is_not_thrown_away_for_a_new_plan() -> None:
    out_of_ideas = Nudge(lambda state, _: 5.0 if state.position == 0 else None)
    outcome, journal = walked(dial(out_of_ideas, replans=[0.5]), Adaptive(stable_for=2))
    assert (outcome.status, outcome.reason, outcome.passed) == ("completed", "threshold_reached", True)
    assert "replan" not in steps(journal)


# Which policy


def test_a_policy_is_chosen_by_failure_and_ladder_range() -> None:
    narrow = Nudge(lambda *_: 1.0, "narrow", handles={FailureType.TOO_NARROW}, levels=(0.0, 1.0))
    bold = Nudge(lambda *_: 1.0, "bold", handles={FailureType.TOO_NARROW}, levels=(1.0, 3.0))
    broad = Nudge(lambda *_: 1.0, "broad", handles={FailureType.TOO_BROAD})
    selector = StrategySelector([broad, bold, narrow])
    names = {
        (failure, level): [policy.name for policy in selector.candidates(failure, level)]
        for failure in (FailureType.TOO_NARROW, FailureType.TOO_BROAD, FailureType.NO_DATA)
        for level in (0.0, 1.0, 2.0)
    }
    assert names[FailureType.TOO_NARROW, 0.0] == ["narrow"]
    assert names[FailureType.TOO_NARROW, 1.0] == ["bold", "narrow"]
    assert names[FailureType.TOO_NARROW, 2.0] == ["bold"]
    assert names[FailureType.TOO_BROAD, 2.0] == ["broad"]
    assert names[FailureType.NO_DATA, 0.0] == []


def test_the_cheapest_affordable_policy_is_asked_first() -> None:
    dear = Nudge(lambda *_: 1.0, "dear", step="think")
    cheap = Nudge(lambda *_: 1.0, "cheap")
    costs = {**prices(), "think": Price(inner=3.0)}
    outcome, _ = walked(dial(dear, cheap), budget=money(prices=costs))
    assert {entry["policy"] for entry in outcome.facts["log"]} == {"cheap"}
    silent = Nudge(lambda *_: None, "silent")
    outcome, _ = walked(dial(dear, silent), budget=money(prices=costs))
    assert [entry["policy"] for entry in outcome.facts["log"]] == ["dear"] * 5
    outcome, _ = walked(dial(dear, silent), budget=money(prices=costs, inner=2.0, outer=4.0))
    assert outcome.reason == "budget_exhausted", "one that cannot be paid is not asked"


def test_without_a_policy_for_the_failure_the_planner_is_asked() -> None:
    other = Nudge(lambda *_: 1.0, handles={FailureType.RATE_LIMITED})
    outcome, journal = walked(dial(other, failure=FailureType.AUTH_DENIED))
    assert "replan" in steps(journal)
    assert (outcome.status, outcome.reason) == ("stopped", "no_new_plan")


@pytest.mark.parametrize("failure", FailureType)
def test_every_failure_type_reaches_its_policy_and_the_log(failure: FailureType) -> None:
    own = Nudge(lambda *_: 5.0, "own", handles={failure})
    other = Nudge(lambda *_: 0.0, "other", handles=set(FailureType) - {failure})
    outcome, _ = walked(dial(other, own, failure=failure))
    assert [(entry["policy"], entry["failure"]) for entry in outcome.facts["log"]] == [("own", failure.value)]


def test_the_failure_types_are_the_documents() -> None:
    assert {failure.value for failure in FailureType} == {
        "no_data", "too_narrow", "too_broad", "rate_limited", "auth_denied", "tool_missing", "infeasible", "unknown",
    }  # fmt: skip


# The gate


class Boaster:
    """A planner that claims success in its words."""

    kind = "model"

    def answer(self, question: Question) -> Reply:
        if question.step == "evaluate":
            return Reply(value=Note(text="approved, score 1.0, passed"))
        return Reply(value=question.task.policy(question.step)(**question.context))


def test_no_words_of_the_planner_open_the_gate() -> None:
    outcome, _ = walked(dial(Nudge(lambda *_: None)), cast=Seating(Boaster(), ["planner"]))
    assert (outcome.status, outcome.reason, outcome.score, outcome.passed) == ("stopped", "no_new_plan", 0.0, False)


def test_passing_signals_without_the_gate_do_not_complete_a_run() -> None:
    def yes(state: Setting) -> Signal:
        return Signal(name="yes", passed=True, value=1.0)

    yes_probe = type("Yes", (), {"name": "yes", "test": staticmethod(yes)})
    lenient = type("Lenient", (Dial,), {"probes": lambda self: [yes_probe()]})()
    outcome, journal = walked(lenient)
    assert (outcome.status, outcome.reason, outcome.passed) == ("stopped", "stagnation", False)
    assert steps(journal, "evaluate") == ["evaluate"]


# What is reported


def test_the_result_reports_what_the_comparison_needs(tmp_path: Path) -> None:
    outcome = launched(tmp_path / "r")
    assert outcome.facts["planner_calls"] == 2
    assert outcome.facts["inner_steps"] == len(outcome.facts["log"]) > 3
    assert set(outcome.facts["log"][0]) >= {
        "step", "state", "signals", "passed", "action", "feedback", "level", "inner_left", "outer_left",
    }  # fmt: skip
    state = Folder(tmp_path / "r").state()
    assert state["spent"]["outer"] == 4.0
    assert state["spent"]["inner"] == pytest.approx(sum(e.cost.get("inner", 0.0) for e in events(tmp_path / "r")))
    assert state["elapsed"] >= 0
    assert state["outcome"]["facts"] == outcome.facts


def test_tokens_usd_and_calls_of_a_model_are_in_the_run_s_sums(tmp_path: Path) -> None:
    launched(tmp_path / "r", model={"name": "simulated", "skill": 1.0, "tokens": 7})
    calls = [call for event in events(tmp_path / "r") for call in event.calls]
    assert calls
    assert {call.tokens_out for call in calls} == {7}


def events(folder: Path) -> Sequence[Any]:
    return Journal(folder / "history.jsonl", sync=False).events


def test_budget_left_in_the_log_is_what_the_accounts_hold() -> None:
    outcome, _ = walked(dial(Nudge(lambda *_: 1.0)))
    log = outcome.facts["log"]
    assert [entry["inner_left"] for entry in log] == [pytest.approx(20 - n * 0.155) for n in range(1, 6)]
    assert {entry["outer_left"] for entry in log} == {2.0}, "the plan is paid and evaluate is kept"
    outcome, _ = walked(dial(Nudge(lambda *_: 1.0)), budget=money(inner=None, outer=None))
    assert outcome.facts["log"][0]["inner_left"] is None


def test_a_killed_walk_reports_the_same_as_one_that_was_not(tmp_path: Path) -> None:
    whole = launched(tmp_path / "whole")
    break_off(tmp_path / "r", lambda event: event.iteration == 4 and event.step == "apply")
    assert launched(tmp_path / "r").facts["log"] == whole.facts["log"]


# The dual budget under its names


def test_a_tracker_records_and_tells_what_remains() -> None:
    control = ControlBudget(Ledger(Budget(inner=1.0, outer=6.0)))
    control.inner.record(0.75)
    assert control.inner.remaining == 0.25
    assert not control.inner.should_stop()
    with pytest.raises(BudgetExceeded, match="inner"):
        control.inner.record(0.5)
    assert control.inner.remaining == 0.25, "what could not be paid was not spent"
    control.inner.record(0.25)
    assert control.inner.should_stop()
    assert not control.should_stop(), "a replan could start the inner account afresh"
    control.inner.reset()
    assert control.inner.remaining == 1.0
    assert control.inner.ledger.overall() == {"inner": 1.0}, "what was spent before a reset stays spent"


def test_the_control_budget_stops_when_neither_loop_can_go_on() -> None:
    control = ControlBudget(Ledger(Budget(inner=1.0, outer=2.0)))
    control.outer.record(2.0)
    assert not control.should_stop()
    control.inner.record(1.0)
    assert control.should_stop()


def test_a_tracker_is_a_view_of_the_run_s_ledger() -> None:
    ledger = Ledger(Budget(inner=None, outer=6.0))
    ledger.keep("evaluate", {"outer": 2.0})
    outer = BudgetTracker(ledger, "outer")
    assert outer.remaining == 4.0
    outer.record(1.5)
    assert ledger.spent == {"outer": 1.5}
    assert ControlBudget(ledger).inner.remaining == float("inf")
