"""The workflow, sentence by sentence of SPEC 3 and document 001: runs on a small workspace with scripted roles."""

import random
from itertools import pairwise
from typing import Any

import pytest
from workflow_players import (
    ABC,
    FREE,
    GOOD,
    TESTS,
    A,
    B,
    C,
    Desktop,
    Played,
    Script,
    Shelf,
    Troupe,
    Violation,
    Write,
    honest,
    plan,
    play,
    says,
    todo,
    writes,
)  # fmt: skip

from looper.agents.policy import Policy
from looper.agents.simulated import Player, Simulated
from looper.budget import Budget, Ledger, Price
from looper.errors import StopRequested
from looper.execution import execute
from looper.journal import Journal
from looper.loops import workflow
from looper.loops.workflow import Workflow, policies
from looper.loops.workflow.answers import AddedTest, Review, Verified
from looper.loops.workflow.answers import Tested as Report
from looper.run import Run
from looper.stage import Stage
from looper.tasks.dial import Dial
from looper.testing import check_loop
from looper.types import TERMINAL, Question


def wrong(number: int, path: str = "a.py") -> Write:
    """A change that does not make the test pass; another one for each number."""
    return writes(path, f"no {number}")


def several(*first: Any) -> dict[str, list[Any]]:
    """The coder's answers to task a, then its right one; the others are right at once."""
    return GOOD | {"a": [*first, writes("a.py")]}


NEVER = GOOD | {"a": [wrong(number) for number in range(60)]}
"""Task a is never done."""


# A run without trouble


def test_the_steps_come_in_the_order_of_the_document() -> None:
    run = play()
    assert run.end == ("completed", "verified")
    assert run.steps == ["tasks", "review_plan", *["code", "test"] * 3, "verify"]
    assert run.states == {"1": "completed", "2": "completed", "3": "completed"}
    assert (run.outcome.passed, run.outcome.score) == (True, 1.0)
    assert run.outcome.artifact == run.task.render(Desktop(changed={"a.py": "ok", "b.py": "ok", "c.py": "ok"}))


def test_only_ready_tasks_run_in_the_order_of_their_dependencies() -> None:
    tasks = plan(
        todo("a", "t/a.py::ok", after=["c"]), todo("b", "t/b.py::ok", after=["a", "c"]), todo("c", "t/c.py::ok")
    )
    run = play(Script(plans=[tasks]))
    assert [context["planned"]["key"] for context in run.troupe.heard("code")] == ["c", "a", "b"]
    assert run.task.messages == ["3 do c", "1 do a", "2 do b"]


def test_a_task_whose_checks_pass_already_is_not_coded() -> None:
    run = play(Script(code=GOOD | {"a": [Write(texts={"a.py": "ok", "b.py": "ok"})]}))
    assert [context["planned"]["key"] for context in run.troupe.heard("code")] == ["a", "c"]
    assert run.states["2"] == "completed"
    assert run.task.messages == ["1 do a", "3 do c"], "nothing changed, so there is nothing to commit"


def test_a_task_of_which_a_check_is_gone_is_not_done_already() -> None:
    """A deleted test proves nothing, also before an attempt."""
    tests = {"t/a.py::ok": ("a.py", "ok"), "t/b.py::ok": ("b.py", "ok"), "t/b.py::more": ("b.py", "more")}
    tasks = plan(todo("a", "t/a.py::ok"), todo("b", "t/b.py::ok", "t/b.py::more", after=["a"]), todo("c", after=["b"]))
    given = {"a.py": "", "b.py": "ok", "c.py": ""}
    code = {"a": [writes("a.py", "ok SKIP t/b.py::more")], "b": [writes("b.py", "ok more")], "c": [writes("c.py")]}
    run = play(Script(plans=[tasks], code=code), Shelf(given=given, tests=tests))
    assert run.troupe.coder("b"), "one of its checks did not run"


# Plans (SPEC 3.1)


@pytest.mark.parametrize(
    ("bad", "name"),
    [
        (plan(A, B), "number_of_tasks"),
        (plan(*(todo(f"k{number}") for number in range(9))), "number_of_tasks"),
        (plan(A, B, C, A), "key_used_twice"),
        (plan(A, B, todo("c", after=["d"])), "unknown_dependency"),
        (plan(A, B, todo("c", after=["c"])), "unknown_dependency"),
        (plan(A, todo("b", after=["c"]), todo("c", after=["b"])), "dependency_cycle"),
        (plan(A, B, todo("c", "t/d.py::ok")), "unknown_check"),
    ],
)
def test_a_bad_plan_goes_back_by_name_though_the_reviewer_approves(bad: Any, name: str) -> None:
    run = play(Script(plans=[bad, ABC], reviews=[Review(score=100)]))
    assert run.end == ("completed", "verified")
    first, second = run.notes("plan_reviewed")
    assert (first["score"], second["score"]) == (69, 100)
    assert first["issues"][0].startswith(f"{name}: ")
    assert run.troupe.heard("tasks")[1]["feedback"] == first["issues"]


def test_three_revisions_and_then_a_diagnosis() -> None:
    script = Script(reviews=[Review(score=60, issues=["more"])], diagnoses=[says("IMPOSSIBLE", blockers=["time"])])
    run = play(script)
    assert run.steps[:9] == [*["tasks", "review_plan"] * 4, "diagnose"]
    assert [asked["revision"] for asked in run.troupe.heard("tasks")][:5] == [0, 1, 2, 3, 0]
    assert run.rulings == [("IMPOSSIBLE", "RETRY"), ("IMPOSSIBLE", "IMPOSSIBLE")], "the plan has two attempts, too"
    assert run.end == ("failed", "impossible")
    assert run.outcome.facts["blockers"] == ["time"]


@pytest.mark.parametrize(("score", "after"), [(49, "diagnose"), (50, "tasks"), (69, "tasks"), (70, "code")])
def test_the_score_of_a_plan_decides_at_its_borders(score: int, after: str) -> None:
    script = Script(reviews=[Review(score=score, issues=["x"]), Review(score=100)], diagnoses=[says("RETRY")])
    run = play(script)
    assert run.steps[2] == after
    assert run.end == ("completed", "verified")


def test_a_supervisor_who_never_approves_a_plan_ends_by_name() -> None:
    run = play(Script(reviews=[Review(score=60)], diagnoses=[says("RETRY")]))
    assert run.end == ("failed", "impossible")
    assert run.rulings == [("RETRY", verdict) for verdict in
        ["RETRY", "RETRY", "REPLAN", "REPLAN", "REPLAN", "PIVOT", "PIVOT", "PIVOT", "IMPOSSIBLE"]]  # fmt: skip


def test_without_review_code_still_checks_the_plan() -> None:
    run = play(Script(plans=[plan(A, B), ABC]), review_plan=False)
    assert run.steps[:3] == ["tasks", "tasks", "code"]
    assert run.end == ("completed", "verified")


def test_no_threshold_lets_a_plan_through_that_code_refuses() -> None:
    run = play(Script(plans=[plan(A, B, todo("c", "t/c.py::ok", after=["d"])), ABC]), approval=60)
    assert run.steps[:4] == ["tasks", "review_plan", "tasks", "review_plan"]
    assert run.end == ("completed", "verified")


# Attempts (SPEC 3.2)


def test_a_fix_follows_a_failing_test_and_the_tests_run_after_each() -> None:
    run = play(Script(code=several(wrong(1), wrong(2))))
    assert run.end == ("completed", "verified")
    assert run.steps[2:8] == ["code", "test"] * 3
    assert [(one["step"], one["score"]) for one in run.iterations("1")] == [(0, 0.5), (1, 0.5), (2, 1.0)]
    assert run.rulings == []
    gates = [event.key for event in run.journal.events if event.step == "gate"]
    assert [f"iteration.{number}/gate.1" in gates for number in range(1, 7)] == [True] * 6


def test_three_fixes_and_then_a_diagnosis() -> None:
    run = play(Script(code=several(*map(wrong, range(4))), diagnoses=[says("RETRY")]))
    assert run.steps[2:11] == [*["code", "test"] * 4, "diagnose"]
    (ruled,) = run.notes("diagnosed")
    assert (ruled["task"], ruled["verdict"]) == ("1", "RETRY")
    assert run.troupe.heard("diagnose")[0]["attempts"][0]["ended"] == "fixes_used"
    assert run.end == ("completed", "verified")


def test_a_claim_of_passing_tests_counts_for_nothing_and_a_false_one_is_named() -> None:
    run = play(Script(code=several(writes("a.py", "no", claims_pass=True))))
    first, second = run.iterations("1")
    assert (first["score"], first["violations"]) == (0.5, ["claimed_pass"])
    assert second["score"] == 1.0
    honest = play(Script(code=GOOD | {"a": [writes("a.py", claims_pass=True)]}))
    assert honest.iterations("1")[0]["violations"] == []
    modest = play(Script(code=GOOD | {"a": [writes("a.py", claims_pass=False)]}))
    assert modest.iterations("1")[0]["score"] == 1.0


def test_a_claimed_file_that_is_missing_caps_the_score() -> None:
    run = play(Script(code=several(writes("a.py", "ok 1", files=["new.py"]))))
    first, second = run.iterations("1")
    assert (first["score"], first["violations"]) == (0.69, ["claimed_file_missing"])
    assert second["score"] == 1.0


def test_a_regression_caps_the_score_and_is_named() -> None:
    code = GOOD | {"b": [Write(texts={"b.py": "ok", "a.py": "gone"}), Write(texts={"b.py": "ok", "a.py": "ok"})]}
    first, second = play(Script(code=code)).iterations("2")
    assert (first["score"], first["violations"], first["regressions"]) == (0.69, ["regressions"], ["t/a.py::ok"])
    assert second["score"] == 1.0


def test_a_test_that_vanishes_has_not_passed() -> None:
    run = play(Script(code=several(writes("a.py", "SKIP t/a.py::ok"))))
    assert [one["score"] for one in run.iterations("1")] == [0.5, 1.0]
    gone = run.troupe.heard("test")[0]["checks"]
    assert gone == {"t/a.py::ok": "did not run"}
    other = play(Script(code=GOOD | {"b": [writes("b.py", "ok SKIP t/a.py::ok"), writes("b.py")]}))
    assert other.iterations("2")[0]["regressions"] == ["t/a.py::ok"]


def test_a_file_of_tests_that_could_not_be_read_is_mended_by_tests_that_pass() -> None:
    """As given the file is one failing check; once it can be read, its tests stand for it."""
    task = Shelf(given={"a.py": "BROKEN", "b.py": "", "c.py": ""})
    run = play(Script(plans=[plan(todo("a", "t/a.py"), B, C)]), task)
    assert [one["score"] for one in run.iterations("1")] == [1.0]
    assert run.end == ("completed", "verified")


def test_a_file_of_tests_that_cannot_be_read_any_more_has_not_passed() -> None:
    run = play(Script(code=several(writes("a.py", "ok BROKEN"))))
    assert [one["score"] for one in run.iterations("1")] == [0.5, 1.0]


def test_no_tests_run_is_a_violation() -> None:
    script = Script(by={"test": lambda context: Report(status="passed")}, diagnoses=[says("IMPOSSIBLE")])
    run = play(script, Shelf(silent=True, gate=[]), max_fix_cycles=0)
    assert "unknown_check" in str(run.notes("plan_reviewed")[0]), "and no check is known by name"
    free = plan(todo("a"), todo("b"), todo("c"))
    script = Script(plans=[free], by=script.by, diagnoses=[says("IMPOSSIBLE")])
    run = play(script, Shelf(silent=True, gate=[]), max_fix_cycles=0)
    assert run.iterations("1")[0]["violations"] == ["no_tests_run"]
    assert run.iterations("1")[0]["score"] == 0.69
    assert run.end == ("failed", "impossible")


# Testers and reviewers


def test_counts_that_do_not_add_up_are_asked_for_again_once() -> None:
    told: list[dict[str, Any]] = []

    def once(context: dict[str, Any]) -> Report | None:
        told.append(context)
        return Report(status="passed", passed=9, failed=0) if not context["wrong"] else None

    run = play(Script(by={"test": once}))
    assert run.end == ("completed", "verified")
    assert run.steps[2:5] == ["code", "test", "test"]
    assert all(one["violations"] == [] for one in run.notes("iteration_advanced")), "the second report was right"
    stubborn = play(Script(by={"test": lambda context: Report(status="failed", passed=9)},
                           diagnoses=[says("IMPOSSIBLE")]), max_fix_cycles=0)  # fmt: skip
    assert stubborn.steps[2:6] == ["code", "test", "test", "diagnose"]
    assert stubborn.iterations("1")[0]["violations"] == ["counts_do_not_add_up"]
    assert stubborn.iterations("1")[0]["score"] == 0.69


def test_a_tester_lowers_and_never_raises() -> None:
    liar = play(Script(code=several(wrong(1)), said={"iteration.1/test.1": Report(status="passed"),
                                                     "iteration.1/test.2": Report(status="passed")}))  # fmt: skip
    assert [one["score"] for one in liar.iterations("1")] == [0.5, 1.0]
    assert liar.iterations("1")[0]["violations"] == ["reported_pass"]
    strict = Script(by={"test": lambda context: Report(status="failed", problems=["no docstring"])},
                    diagnoses=[says("IMPOSSIBLE")])  # fmt: skip
    run = play(strict, max_fix_cycles=1)
    assert [one["score"] for one in run.iterations("1")][:1] == [0.6]
    assert run.task.commits == [], "all checks pass, and the tester does not pass it"


def test_a_tester_who_passes_a_task_says_nothing_of_the_tasks_to_come() -> None:
    run = play(Script(by={"test": lambda context: Report(status="passed")}))
    assert [one["violations"] for one in run.notes("iteration_advanced")] == [[], [], []]
    assert run.end == ("completed", "verified")


def test_the_designs_own_tester_passes_a_task_while_others_are_still_open() -> None:
    run = play(Script(by={"test": lambda context: policies.test(**context)}))
    assert [one["score"] for one in run.notes("iteration_advanced")] == [1.0, 1.0, 1.0]
    assert run.end == ("completed", "verified")


def test_a_tester_who_does_not_pass_it_is_heard_under_any_threshold() -> None:
    strict = Script(by={"test": lambda context: Report(status="failed", problems=["no docstring"])},
                    diagnoses=[says("IMPOSSIBLE")])  # fmt: skip
    assert play(strict, max_fix_cycles=0, approval=55).task.commits == []


def test_a_tester_who_is_blocked_leads_to_a_diagnosis_without_fixes() -> None:
    blocked = {"iteration.1/test.1": Report(status="blocked", reason="no database", problems=["start one"])}
    run = play(Script(said=blocked, diagnoses=[says("RETRY")]))
    assert run.steps[2:5] == ["code", "test", "diagnose"]
    (attempt,) = run.troupe.heard("diagnose")[0]["attempts"]
    assert (attempt["ended"], attempt["reason"]) == ("blocked", "no database")
    assert run.end == ("completed", "verified")


def test_a_coder_who_asks_what_is_wanted_leads_to_a_diagnosis_without_fixes_or_tests() -> None:
    run = play(Script(code=several(Write(needs_clarification="which word?")), diagnoses=[says("RETRY")]))
    assert run.steps[2:5] == ["code", "diagnose", "code"]
    (attempt,) = run.troupe.heard("diagnose")[0]["attempts"]
    assert (attempt["ended"], attempt["reason"], attempt["cycles"]) == ("needs_clarification", "which word?", [])


def test_a_coder_who_gives_up_leads_to_a_diagnosis() -> None:
    run = play(Script(code=several(wrong(1), Write(done=True, why="no idea")), diagnoses=[says("RETRY")]))
    (attempt,) = run.troupe.heard("diagnose")[0]["attempts"]
    assert (attempt["ended"], attempt["reason"], len(attempt["cycles"])) == ("gave_up", "no idea", 1)


def test_a_coder_who_says_done_after_a_rollback_has_not_done_it() -> None:
    blocked = {"iteration.1/test.1": Report(status="blocked", reason="no database")}
    code = GOOD | {"a": [Write(texts={"a.py": "ok"}), Write(done=True)]}
    run = play(Script(code=code, said=blocked, diagnoses=[says("RETRY"), says("IMPOSSIBLE")]))
    assert run.end == ("failed", "impossible"), "it was rolled back, so they do not pass"


def test_a_coder_who_says_done_does_not_get_past_what_code_or_the_tester_found() -> None:
    breaks = GOOD | {"b": [Write(texts={"b.py": "ok", "a.py": "gone"}), Write(done=True)]}
    run = play(Script(code=breaks, diagnoses=[says("IMPOSSIBLE")]))
    assert run.iterations("2")[0]["regressions"] == ["t/a.py::ok"]
    assert run.task.messages == ["1 do a"]
    assert run.troupe.heard("diagnose")[0]["attempts"][0]["ended"] == "gave_up"
    strict = {"iteration.1/test.1": Report(status="failed", passed=1, failed=2, problems=["no docstring"])}
    code = GOOD | {"a": [writes("a.py"), Write(done=True)]}
    run = play(Script(code=code, said=strict, diagnoses=[says("IMPOSSIBLE")]))
    assert run.notes("diagnosed"), "the tester did not pass it"


def test_tests_that_a_tester_adds_are_run_at_once_and_have_to_pass() -> None:
    def adds(context: dict[str, Any]) -> Report | None:
        add = [AddedTest(name="test_more.py", text="a.py: more")] if context["total"] == len(TESTS) else []
        return honest(context).model_copy(update={"add": add})

    run = play(Script(code=GOOD | {"a": [writes("a.py"), writes("a.py", "ok more")]}, by={"test": adds}))
    first, second = run.iterations("1")
    assert (first["score"], second["score"]) == (0.69, 1.0), "one of two checks passes, then both"
    assert run.troupe.coder("a")[1]["cycles"][0]["failed"] == {"own/test_more.py::more": "no more in a.py"}
    assert [event.step for event in run.journal.events].count("add_tests") == 1
    assert run.task.commits[0][3] == {"a.py": "ok more"}


WORDS = plan(todo("a"), todo("b", "t/b.py::ok"), todo("c", "t/a.py::ok", "t/c.py::ok"))
"""Task a has no checks."""


@pytest.mark.parametrize(("score", "then"), [(70, "approved"), (69, "fix"), (50, "fix"), (49, "diagnose")])
def test_a_task_without_checks_is_read_by_the_supervisor_at_the_borders(score: int, then: str) -> None:
    word = {"iteration.1/review_work.1": Review(score=score, issues=["shorter"])}
    code = {"a": [writes("a.py"), writes("a.py", "ok 2")], "b": GOOD["b"], "c": GOOD["c"]}
    run = play(Script(plans=[WORDS], code=code, said=word, diagnoses=[says("RETRY")]))
    assert run.end == ("completed", "verified")
    assert run.steps[2:5] == ["code", "test", "review_work"]
    assert run.iterations("1")[0]["score"] == score / 100
    asked = [one.key for one in run.troupe.asked if one.context.get("planned", {}).get("key") == "a"]
    if then == "approved":
        assert asked[-1] == "iteration.1/review_work.1"
    elif then == "fix":
        assert run.steps[5] == "code"
        assert run.notes("diagnosed") == []
    else:
        assert run.steps[5] == "diagnose", "no fix, a diagnosis"
        assert run.troupe.heard("diagnose")[0]["attempts"][0]["ended"] == "rejected"


def test_a_reviewer_does_not_raise_what_code_has_capped() -> None:
    word = {"iteration.1/review_work.1": Review(score=100)}
    code = {"a": [writes("a.py", files=["new.py"]), writes("a.py", "ok 2")], "b": GOOD["b"], "c": GOOD["c"]}
    run = play(Script(plans=[WORDS], code=code, said=word))
    assert run.iterations("1")[0]["score"] == 0.69
    assert run.iterations("1")[0]["violations"] == ["claimed_file_missing"]


def test_a_test_that_came_up_with_the_change_does_not_stand_for_the_review() -> None:
    """A task without checks, and a coder who brings a test that always passes."""

    class Own(Shelf):
        def results(self, state: Desktop) -> Any:
            own = {"t/mine.py::fine": super().results(Desktop(changed={"a.py": "ok"}))["t/a.py::ok"]}
            return super().results(state) | (own if "mine.py" in state.changed else {})

    code = {"a": [Write(texts={"a.py": "ok", "mine.py": "fine"})], "b": GOOD["b"], "c": GOOD["c"]}
    run = play(Script(plans=[WORDS], code=code), Own())
    assert run.end == ("completed", "verified")
    assert run.troupe.heard("review_work"), "the supervisor reads it all the same"


# What the coder says beside changes


def test_a_coder_may_look_three_times_before_a_change() -> None:
    look = Write(look_at=["b.py"])
    run = play(Script(code=GOOD | {"a": [[look, look, look, writes("a.py")]]}))
    assert run.steps[2:7] == ["code"] * 4 + ["test"]
    assert run.troupe.heard("code")[1]["files"] == {"b.py": "the text of b.py"}
    assert run.end == ("completed", "verified")
    endless = play(Script(code=several([look] * 9)))
    assert endless.steps[2:8] == [*["code"] * 5, "test"], "four times, and then a fix of its own"
    first, second = endless.iterations("1")
    assert (first["violations"], first["tester"], second["score"]) == (["asks_without_end"], "failed", 1.0)


def test_an_edit_that_does_not_apply_is_sent_back_twice_with_the_reason() -> None:
    bad = writes("a.py", "nofit")
    run = play(Script(code=GOOD | {"a": [[bad, bad, writes("a.py")]]}))
    assert [asked["refused"] for asked in run.troupe.coder("a")] == [
        "", "refused: the passage was not found", "refused: the passage was not found",
    ]  # fmt: skip
    assert run.iterations("1")[0]["violations"] == []
    stubborn = play(Script(code=several([bad] * 9)))
    assert stubborn.iterations("1")[0]["violations"] == ["edit_does_not_apply"]
    assert len(stubborn.troupe.coder("a")) == 4
    assert stubborn.troupe.coder("a")[3]["cycles"][0]["violations"][0]["text"] == "refused: the passage was not found"


def test_a_change_that_changes_nothing_is_named_and_not_tested_again() -> None:
    run = play(Script(code=several(wrong(1), wrong(1))))
    assert [one["violations"] for one in run.iterations("1")] == [[], ["nothing_changed"], []]
    assert run.steps[2:7] == ["code", "test", "code", "code", "test"]


# Fouls and escalation (SPEC 3.3)

CHEAT = writes("a.py", "CHEAT")


def test_a_foul_is_rejected_and_diagnosed_without_further_fixes() -> None:
    run = play(Script(code=several(CHEAT), diagnoses=[says("RETRY")]), max_resends=0)
    assert run.steps[2:5] == ["code", "diagnose", "code"]
    assert run.iterations("1")[0]["violations"] == ["tests_changed"]
    assert run.iterations("1")[0]["score"] == 0.49
    assert run.iterations("1")[0]["level"] == "critical"
    assert run.outcome.facts["fouls"] == 1


def test_a_foul_that_was_refused_counts_though_a_clean_change_follows() -> None:
    """It changed nothing, so the change is marked as it is; the attempt to get past the rules is on record."""
    run = play(Script(code=several([CHEAT, writes("a.py")])))
    (entry,) = run.iterations("1")
    assert (entry["violations"], entry["level"]) == (["tests_changed"], "critical")
    assert run.outcome.facts["fouls"] == 1


@pytest.mark.parametrize("way_out", [Write(done=True), Write(needs_clarification="which?")])
def test_a_foul_counts_though_the_coder_then_gives_up_or_asks(way_out: Write) -> None:
    run = play(Script(code=several([CHEAT, way_out]), diagnoses=[says("RETRY")]))
    assert run.outcome.facts["fouls"] == 1
    assert "tests_changed" in str(run.notes("iteration_advanced")), "and it is named in the journal"


def test_the_third_foul_ends_the_run_and_is_named() -> None:
    run = play(Script(code=GOOD | {"a": [CHEAT]}, diagnoses=[says("RETRY")]), max_resends=0)
    assert run.end == ("failed", "rejected")
    assert [one["level"] for one in run.iterations("1")] == ["critical", "critical", "abort"]
    detail = run.outcome.facts["detail"]
    assert "task 1" in detail
    assert "tests_changed" in detail
    assert run.outcome.facts["fouls"] == 3
    assert run.states["1"] == "failed"


def test_what_came_of_a_foul_is_not_the_best_state() -> None:
    class Lax(Shelf):
        def apply(self, state: Desktop, action: Write) -> Desktop:
            after = super().apply(state, action.model_copy(update={"texts": {"a.py": "ok", "b.py": "ok"}}))
            return after.model_copy(update={"violations": [Violation(name="tests_changed", text="x", foul=True)]})

    run = play(Script(diagnoses=[says("RETRY")]), Lax())
    assert run.end == ("failed", "rejected")
    assert (run.outcome.score, run.outcome.artifact) == (0.0, "[]")


def test_each_level_is_reached_in_a_run() -> None:
    remark = {"iteration.1/test.1": Report(status="passed", passed=1, failed=2, problems=["a trifle"])}
    assert play(Script(said=remark)).iterations("1")[0]["level"] == "remind"
    assert play().iterations("1")[0]["level"] == "none"
    run = play(Script(code=several(*map(wrong, range(3)))))
    assert [one["level"] for one in run.iterations("1")] == ["correct", "correct", "refocus", "none"]


# Diagnosis (SPEC 3.4)


def test_retry_begins_again_from_the_state_before_the_attempt() -> None:
    run = play(Script(code=several(*map(wrong, range(4))), diagnoses=[says("RETRY")]))
    assert run.rulings == [("RETRY", "RETRY")]
    fifth = run.troupe.coder("a")[4]
    assert fifth["state"]["changed"] == {}
    assert (len(fifth["attempts"]), fifth["cycles"], fifth["number"]) == (1, [], 0)
    told = [(one["what"], one["task"]) for one in run.notes("tasks_updated")]
    assert told[:5] == [("planned", ""), ("attempt", "1"), ("rolled_back", "1"), ("again", "1"), ("attempt", "1")]


def test_a_failed_attempt_is_rolled_back_and_what_was_shown_is_kept() -> None:
    first = [Write(look_at=["c.py"]), wrong(1)]
    code = GOOD | {"b": [first, *[wrong(number, "b.py") for number in range(2, 5)], writes("b.py")]}
    run = play(Script(code=code, diagnoses=[says("RETRY")]))
    before, after = run.troupe.coder("b")[0]["state"], run.troupe.coder("b")[5]["state"]
    assert after["changed"] == before["changed"] == {"a.py": "ok"}
    assert (before["shown"], after["shown"]) == ([], ["c.py"])
    assert [texts for _, _, _, texts in run.task.commits] == [
        {"a.py": "ok"}, {"a.py": "ok", "b.py": "ok"}, {"a.py": "ok", "b.py": "ok", "c.py": "ok"},
    ]  # fmt: skip


SUB = plan(todo("p", "t/a.py::ok"), todo("q", after=["p"]))
"""Subtasks of a."""
SUBCODE = {"p": [writes("a.py")], "q": [writes("q.py")]}


def test_replan_puts_subtasks_in_place_of_a_task_which_completes_with_them() -> None:
    tasks = plan(A, todo("b", "t/b.py::ok", after=["a"]), C)
    run = play(Script(plans=[tasks, SUB], code=NEVER | SUBCODE, diagnoses=[says("REPLAN")]))
    assert run.end == ("completed", "verified")
    order = list(dict.fromkeys(context["planned"]["key"] for context in run.troupe.heard("code")))
    assert order == ["a", "p", "q", "b", "c"], "b waits for the parts of a"
    states = [{row["id"]: row["state"] for row in one["tasks"]} for one in run.notes("tasks_updated")]
    planned = next(one for one in states if "1.1" in one)
    assert (planned["1"], planned["1.1"], planned["2"]) == ("blocked", "pending", "pending")
    assert run.states == dict.fromkeys(["1", "1.1", "1.2", "2", "3"], "completed")
    assert run.task.messages == ["1.1 do p", "1.2 do q", "2 do b", "3 do c"]
    asked = run.troupe.heard("tasks")[1]
    assert (asked["why"], asked["parent"]["id"], asked["fewest"]) == ("replan", "1", 2)
    assert run.steps.count("review_plan") == 1, "subtasks are reviewed by code alone"


def test_replan_depth_is_counted_by_branch_and_the_fourth_is_a_pivot() -> None:
    halves = [plan(todo(f"x{n}", "t/a.py::ok"), todo(f"y{n}", after=[f"x{n}"])) for n in range(1, 4)]
    code = NEVER | {f"x{n}": [wrong(one) for one in range(60)] for n in range(1, 4)}
    diagnoses = [says("REPLAN")] * 4 + [says("IMPOSSIBLE")]
    run = play(Script(plans=[ABC, *halves, ABC], code=code, diagnoses=diagnoses), max_fix_cycles=0)
    assert run.rulings[:4] == [("REPLAN", "REPLAN")] * 3 + [("REPLAN", "PIVOT")]
    assert [one["depth"] for one in run.troupe.heard("diagnose")][:5] == [0, 1, 2, 3, 0]
    assert "the branch is 3 levels deep" in run.notes("diagnosed")[3]["clamps"][0]
    other = Script(plans=[ABC, SUB, plan(todo("r", "t/b.py::ok"), todo("s"))],
                   code=NEVER | SUBCODE | {"b": [wrong(n, "b.py") for n in range(60)], "r": [writes("b.py")],
                                           "s": [writes("s.py")]}, diagnoses=[says("REPLAN")])  # fmt: skip
    two = play(other, max_fix_cycles=0, max_replan_depth=1)
    assert two.rulings == [("REPLAN", "REPLAN")] * 2, "each branch has a depth of its own"
    assert two.end == ("completed", "verified")


def test_pivot_keeps_what_is_finished_and_plans_the_rest_anew() -> None:
    fresh = plan(todo("x", "t/b.py::ok"), todo("y", "t/c.py::ok"), todo("z", "t/a.py::ok"))
    code = {"a": GOOD["a"], "b": [wrong(n, "b.py") for n in range(60)], "x": GOOD["b"], "y": GOOD["c"], "z": []}
    run = play(Script(plans=[ABC, fresh], code=code, diagnoses=[says("PIVOT", reason="wrong way")]))
    assert run.end == ("completed", "verified")
    assert run.states == {
        "1": "completed", "2": "blocked", "3": "blocked", "4": "completed", "5": "completed", "6": "completed",
    }  # fmt: skip
    assert run.outcome.facts["pivots"] == 1
    assert run.troupe.heard("tasks")[1]["why"] == "pivot"
    assert run.task.messages[0] == "1 do a"
    assert run.task.commits[1][3] == {"a.py": "ok", "b.py": "ok"}, "on top of what was finished"
    assert run.steps.count("review_plan") == 2


def test_a_pivot_drops_subtasks_too() -> None:
    run = play(Script(plans=[ABC, SUB, ABC], code=NEVER | {"p": [wrong(n) for n in range(60)]},
                      diagnoses=[says("REPLAN"), says("PIVOT"), says("IMPOSSIBLE")]), max_fix_cycles=0)  # fmt: skip
    assert {one: run.states[one] for one in ("1", "1.1", "1.2", "2", "3")} == dict.fromkeys(
        ["1", "1.1", "1.2", "2", "3"], "blocked"
    )


def test_a_pivot_out_of_a_refused_replan_is_a_pivot() -> None:
    """The planner cannot split the task, the supervisor says PIVOT: a fresh plan, not the same subtasks again."""
    fresh = plan(todo("x", "t/a.py::ok"), todo("y", "t/b.py::ok"), todo("z", "t/c.py::ok"))
    code = NEVER | {"x": GOOD["a"], "y": GOOD["b"], "z": GOOD["c"]}
    script = Script(plans=[ABC, *[plan(todo("p"))] * 4, fresh], code=code, diagnoses=[says("REPLAN"), says("PIVOT")])
    run = play(script, max_fix_cycles=0)
    assert [asked["why"] for asked in run.troupe.heard("tasks")] == ["goal", *["replan"] * 4, "pivot"]
    assert run.outcome.facts["pivots"] == 1
    assert [run.states[one] for one in ("1", "2", "3")] == ["blocked"] * 3


def test_more_than_three_pivots_are_impossible() -> None:
    run = play(Script(code=NEVER, diagnoses=[says("PIVOT")]), max_fix_cycles=0)
    assert run.rulings == [("PIVOT", "PIVOT")] * 3 + [("PIVOT", "IMPOSSIBLE")]
    assert run.end == ("failed", "impossible")
    assert run.outcome.facts["pivots"] == 3


def test_impossible_needs_two_attempts_and_names_its_blockers() -> None:
    run = play(Script(code=NEVER, diagnoses=[says("IMPOSSIBLE", reason="no key", blockers=["an API key"])]),
               max_fix_cycles=0)  # fmt: skip
    assert run.rulings == [("IMPOSSIBLE", "RETRY"), ("IMPOSSIBLE", "IMPOSSIBLE")]
    assert run.end == ("failed", "impossible")
    assert run.outcome.facts["blockers"] == ["an API key"]
    assert "an API key" in run.outcome.facts["detail"]
    assert "no key" in run.outcome.facts["detail"]
    assert run.notes("diagnosed")[0]["clamps"] == ["IMPOSSIBLE -> RETRY: 1 of at least 2 attempts were made"]


def test_a_supervisor_who_only_says_retry_comes_to_an_end_by_name() -> None:
    plans = [ABC, *[plan(todo(f"x{n}", "t/a.py::ok"), todo(f"y{n}", after=[f"x{n}"])) for n in range(20)]]

    class Endless(dict[str, Any]):
        def __missing__(self, key: str) -> list[Any]:
            return [wrong(n) for n in range(60)]

    run = play(Script(plans=plans, code=Endless(), diagnoses=[says("RETRY")],
                      by={"tasks": lambda context: ABC if context["why"] != "replan" else None}),
               max_fix_cycles=0)  # fmt: skip
    assert run.end == ("failed", "impossible")
    assert {verdict for _, verdict in run.rulings} == {"RETRY", "REPLAN", "PIVOT", "IMPOSSIBLE"}
    for said, ruled in zip(run.notes("diagnosed"), run.rulings, strict=True):
        assert bool(said["clamps"]) == (ruled[0] != ruled[1])


# Clarification

ASK = says("CLARIFY", question="Which word?", choices=["ok", "no"])
ASKS = GOOD | {"a": [Write(needs_clarification="which word?"), writes("a.py")]}


def test_clarify_pauses_and_goes_on_with_the_answer() -> None:
    journal, task = Journal(), Shelf()
    first = play(Script(code=ASKS, diagnoses=[ASK]), task, journal)
    assert first.end == ("paused", "clarify")
    assert first.outcome.facts["waiting"]["key"] == "clarify.1"
    assert "Which word?" in first.outcome.facts["waiting"]["prompt"]
    assert first.states["1"] == "failed"
    again = play(Script(code=ASKS, diagnoses=[ASK]), task, journal)
    assert again.end == ("paused", "clarify"), "it goes on waiting"
    second = play(Script(code=ASKS, diagnoses=[ASK], answers={"clarify.1": "2"}), task, journal)
    assert second.end == ("completed", "verified")
    assert second.steps[0] == "clarify", "nothing before it is asked again"
    assert second.troupe.coder("a")[0]["answers"] == [{"question": "Which word?", "answer": "no"}]


def test_a_fourth_question_is_not_asked() -> None:
    answers = {f"clarify.{number}": "ok" for number in range(1, 9)}
    code = GOOD | {"a": [Write(needs_clarification="which?")] * 4 + [writes("a.py")]}
    run = play(Script(code=code, diagnoses=[ASK], answers=answers), max_attempts=9)
    assert run.rulings == [("CLARIFY", "CLARIFY")] * 3 + [("CLARIFY", "RETRY")]
    assert run.steps.count("clarify") == 3
    assert run.end == ("completed", "verified")


def test_questions_of_a_parent_do_not_count_as_those_of_its_subtasks() -> None:
    """Three questions about one task: a part of it is another one."""
    answers = {f"clarify.{number}": "ok" for number in range(1, 9)}
    asks = Write(needs_clarification="which?")
    code = GOOD | {"a": [asks], "p": [asks, writes("a.py")], "q": [writes("q.py")]}
    run = play(Script(plans=[ABC, SUB], code=code, answers=answers, diagnoses=[ASK, ASK, ASK, says("REPLAN"), ASK]),
               max_attempts=9)  # fmt: skip
    assert run.rulings[-1] == ("CLARIFY", "CLARIFY")


def test_a_plan_can_be_clarified_too() -> None:
    script = Script(reviews=[Review(score=40), Review(score=100)], diagnoses=[ASK])
    journal = Journal()
    assert play(script, journal=journal).end == ("paused", "clarify")
    script.answers = {"clarify.1": "OK"}
    run = play(script, journal=journal)
    assert run.end == ("completed", "verified")
    assert run.troupe.heard("tasks")[0]["answers"] == [{"question": "Which word?", "answer": "ok"}]


# Final verification (SPEC 3.6)

GAP = plan(todo("g"))


def gaps(until: int, score: int = 60) -> Any:
    """A supervisor who finds a gap while there are fewer tasks than this."""
    return lambda context: Verified(score=score, gaps=["no help text"]) if len(context["tasks"]) < until else None


def test_gaps_go_back_to_the_planner() -> None:
    code = GOOD | {"g": [writes("g.py")]}
    run = play(Script(plans=[ABC, GAP], code=code, by={"verify": gaps(4)}))
    assert run.end == ("completed", "verified")
    asked = run.troupe.heard("tasks")[1]
    assert (asked["why"], asked["gaps"], asked["fewest"]) == ("gaps", ["no help text"], 1)
    assert run.states["4"] == "completed"
    assert [note["score"] for note in run.notes("verified")] == [60, 100]
    assert run.outcome.facts["verifications"] == 2


@pytest.mark.parametrize(("score", "end"), [(69, "rejected"), (70, "verified")])
def test_verification_approves_at_its_border(score: int, end: str) -> None:
    run = play(Script(by={"verify": lambda context: Verified(score=score)}), max_verifications=1)
    assert run.end[1] == end


def test_a_gate_that_is_not_met_is_not_verified_whatever_the_supervisor_says() -> None:
    tests = {**Shelf().tests, "t/d.py::ok": ("d.py", "ok")}
    run = play(Script(reviews=[Review(score=100)], by={"verify": lambda context: Verified(score=100)}),
               Shelf(tests=tests), max_verifications=1)  # fmt: skip
    assert run.end == ("failed", "rejected")
    (note,) = run.notes("verified")
    assert (note["score"], note["said"], note["gate"]) == (69, 100, False)
    assert note["gaps"] == ["gate_not_met: t/d.py::ok"]


@pytest.mark.parametrize("approval", [50, 69])
def test_no_threshold_verifies_a_goal_whose_gate_is_not_met(approval: int) -> None:
    tests = {**Shelf().tests, "t/d.py::ok": ("d.py", "ok")}
    run = play(Script(reviews=[Review(score=100)], by={"verify": lambda context: Verified(score=100)}),
               Shelf(tests=tests), max_verifications=1, approval=approval)  # fmt: skip
    assert run.end == ("failed", "rejected")


def test_verifications_come_to_an_end_by_name() -> None:
    run = play(Script(plans=[ABC, GAP], code=GOOD | {"g": [writes("g.py", str(n)) for n in range(9)]},
                      by={"verify": gaps(99)}))  # fmt: skip
    assert run.end == ("failed", "rejected")
    assert run.outcome.facts["verifications"] == 4
    assert run.outcome.facts["detail"] == "the goal was not verified: no help text"
    assert len(run.troupe.heard("tasks")) == 4


def test_a_verified_result_is_the_one_that_is_returned() -> None:
    run = play()
    assert run.outcome.artifact == run.task.render(Desktop(changed={"a.py": "ok", "b.py": "ok", "c.py": "ok"}))
    assert run.outcome.facts["commit"] == run.task.commits[-1][0]


def test_the_artifact_of_a_verified_run_is_the_one_that_was_verified() -> None:
    """A later task adds to a state that met the gate already: of equally good states the last one counts."""
    run = play(Script(plans=[ABC, GAP], code=GOOD | {"g": [writes("g.py")]}, by={"verify": gaps(4)}))
    assert "g.py" in run.outcome.artifact


# Commits (SPEC 3.7)


def test_one_commit_for_each_finished_task_on_top_of_the_last_one() -> None:
    run = play(Script(code=several(*map(wrong, range(4))), diagnoses=[says("RETRY")]))
    made = run.task.commits
    assert [message for _, message, _, _ in made] == ["1 do a", "2 do b", "3 do c"]
    assert [parent for _, _, parent, _ in made] == ["", made[0][0], made[1][0]]
    assert run.task.stood == [commit for commit, *_ in made]
    rows = {row["id"]: row["commit"] for row in run.outcome.facts["tasks"]}
    assert list(rows.values()) == run.task.stood


# Budget and time (SPEC 0.5, 3.8)


def prices(**steps: float) -> dict[str, Price]:
    return {step: Price(outer=units) for step, units in steps.items()}


CODED = prices(code=1.0, tasks=1.0, verify=2.0)


def test_a_budget_that_runs_out_is_wrapped_up_by_a_last_verification() -> None:
    run = play(budget=Budget(inner=None, outer=5.0, prices=CODED))
    assert run.end == ("stopped", "budget_exhausted")
    assert run.steps == ["tasks", "review_plan", "code", "test", "code", "test", "verify"], "5 = 1 + 1 + 1 + 2"
    assert [one["name"] for one in run.troupe.heard("verify")[0]["found"]] == [
        "gate_not_met", "open_tasks", "ended_early",
    ]  # fmt: skip
    assert any(gap.startswith("open_tasks: 3 do c") for gap in run.outcome.facts["gaps"])
    assert (run.outcome.score, run.outcome.passed) == (pytest.approx(2 / 3), False)
    assert "b.py" in run.outcome.artifact, "the best state"
    assert run.states["3"] == "in_progress"
    assert run.ledger.spent["outer"] == 5.0


def test_a_good_word_at_the_end_of_a_budget_verifies_nothing() -> None:
    run = play(Script(by={"verify": lambda context: Verified(score=100)}),
               budget=Budget(inner=None, outer=5.0, prices=CODED))  # fmt: skip
    assert run.end == ("stopped", "budget_exhausted")
    assert run.outcome.passed is False


def test_a_hard_budget_ends_at_once_with_the_tree() -> None:
    run = play(budget=Budget(inner=None, outer=5.0, prices=CODED, on_limit="hard"))
    assert run.end == ("stopped", "budget_exhausted")
    assert "verify" not in run.steps
    assert run.states["1"] == "completed"
    assert run.outcome.score == pytest.approx(2 / 3)


def test_a_budget_that_asks_pauses_and_goes_on_with_more() -> None:
    journal, task = Journal(), Shelf()
    first = play(task=task, journal=journal, budget=Budget(inner=None, outer=5.0, prices=CODED, on_limit="ask"))
    assert first.end == ("paused", "confirm")
    assert first.states["1"] == "completed"
    more = play(task=task, journal=journal, budget=Budget(inner=None, outer=9.0, prices=CODED, on_limit="ask"))
    assert more.end == ("completed", "verified")
    assert more.steps[0] == "code"


def test_without_budget_for_more_tasks_gaps_end_the_run_by_name() -> None:
    run = play(Script(by={"verify": gaps(4)}), budget=Budget(inner=None, outer=7.0, prices=CODED))
    assert run.end == ("failed", "rejected")
    assert run.steps[-1] == "verify"


def test_the_last_verification_is_kept_for_again_after_gaps() -> None:
    """1 + 3 + 2, then 1 for the plan of the gaps; 2 of the 3 that are left belong to the verification."""
    script = Script(plans=[ABC, GAP], code=GOOD | {"g": [wrong(n, "g.py") for n in range(60)]},
                    by={"verify": gaps(4), "test": lambda context: None if context["planned"].key != "g" else
                        Report(status="failed")})  # fmt: skip
    run = play(script, budget=Budget(inner=None, outer=10.0, prices=CODED))
    assert run.end == ("stopped", "budget_exhausted")
    assert run.steps[-1] == "verify"
    assert "ended_early" in str(run.outcome.facts["gaps"])
    assert run.states["4"] == "in_progress"


def test_what_a_last_verification_may_cost_in_tokens_is_kept_too() -> None:
    run = play(budget=Budget(inner=None, outer=None, tokens=65.0), metered=True)
    assert run.end == ("stopped", "budget_exhausted")
    assert run.steps == ["tasks", "review_plan", "code", "test", "code", "verify"], "10 tokens each, and 65 are there"
    assert run.ledger.spent["tokens"] == 60.0


def test_a_budget_too_small_for_the_verification_ends_by_name() -> None:
    run = play(budget=Budget(inner=None, outer=1.0, prices=CODED))
    assert run.end == ("stopped", "budget_exhausted")
    assert run.steps == []


class Slow(Shelf):
    """A workspace whose time is up once task 2 is changed."""

    ledger: Ledger | None = None

    def apply(self, state: Desktop, action: Write) -> Desktop:
        if "b.py" in action.texts and self.ledger:
            self.ledger._before += 100.0
        return super().apply(state, action)


def timed(seconds: float, script: Script | None = None, task: Slow | None = None) -> Played:
    task, journal, troupe = task or Slow(), Journal(), Troupe(script or Script())
    task.ledger = Ledger(Budget(inner=None, outer=None, seconds=seconds))
    outcome = execute(Workflow(), Run(Stage(task, troupe, journal, task.ledger, events=Workflow.events)))
    return Played(outcome, journal, troupe, task, task.ledger)


def test_a_time_limit_ends_with_a_last_verification_of_what_there_is() -> None:
    run = timed(50.0)
    assert run.end == ("stopped", "time_limit")
    assert run.steps[-1] == "verify"
    assert (run.states["1"], run.states["2"]) == ("completed", "in_progress")
    assert run.outcome.score == pytest.approx(1 / 3)


def test_a_time_limit_after_gaps_ends_with_the_tree_too() -> None:
    class Late(Slow):
        def apply(self, state: Desktop, action: Write) -> Desktop:
            if "g.py" in action.texts and self.ledger:
                self.ledger._before += 100.0
            return Shelf.apply(self, state, action)

    script = Script(plans=[ABC, GAP], code=GOOD | {"g": [writes("g.py")]}, by={"verify": gaps(4)})
    run = timed(50.0, script, Late())
    assert run.end == ("stopped", "time_limit")
    assert run.steps[-1] == "verify"
    assert run.states["4"] == "in_progress"


def test_a_time_limit_of_zero_is_none() -> None:
    """Document 001: timeLimit, 0 = unlimited (SPEC 3.8)."""
    assert timed(0.0).end == ("completed", "verified")


def test_a_person_can_stop_it_and_sees_the_tree() -> None:
    journal = Journal()

    def check() -> None:
        if any(event.step == "commit" for event in journal.events):
            raise StopRequested("enough")

    run = play(journal=journal, check=check)
    assert run.end == ("stopped", "user_stop")
    assert (run.states["1"], run.states["2"]) == ("completed", "pending")
    assert run.outcome.score == pytest.approx(1 / 3)


# Tasks that are no workspaces (SPEC 0.7)


def test_it_conforms_on_the_smallest_task() -> None:
    check_loop(Workflow(), Dial(), kills=6)


def test_a_plain_task_has_its_rules_as_checks_and_no_commits() -> None:
    class Everybody:
        def agent(self, role: str, step: str, task: Any) -> Any:
            return self

        kind = "policy"

        def answer(self, question: Question) -> Any:
            return Policy(Workflow()).answer(question)

    journal = Journal()
    stage = Stage(Dial(low=3.0, high=5.0), Everybody(), journal, Ledger(FREE), events=Workflow.events)
    outcome = execute(Workflow(), Run(stage))
    assert (outcome.status, outcome.reason) == ("completed", "verified")
    assert outcome.facts["commit"] == ""
    (made,) = [event.payload for event in journal.events if event.event == "plan_created"]
    assert made["tasks"][0]["checks"] == ["a.correctness.band"]
    assert not [event for event in journal.events if event.step in ("commit", "add_tests", "hand_over")]


# Simulations


@pytest.mark.parametrize("skill", [0.0, 0.3, 0.6, 0.9, 1.0])
def test_a_simulated_run_of_any_skill_ends_by_name(skill: float) -> None:
    class Played(Shelf):
        def simulate(self, question: Question, skill: float, dice: random.Random) -> Write:
            text = "ok" if dice.random() < skill else f"no {dice.random()}"
            return Write(
                texts={f"{name}.py": text for name in "abc" if f"t/{name}.py::ok" in question.context["wanted"]}
            )

    class Simulation:
        def agent(self, role: str, step: str, task: Any) -> Any:
            return Player(Simulated(skill=skill), Workflow())

    ends = set()
    for seed in range(4):
        stage = Stage(Played(), Simulation(), Journal(), Ledger(FREE), seed=seed, events=Workflow.events)
        outcome = execute(Workflow(), Run(stage))
        assert outcome.status in TERMINAL
        assert (outcome.status, outcome.reason) in {
            ("completed", "verified"), ("failed", "impossible"), ("failed", "rejected"),
        }  # fmt: skip
        assert outcome.status != "completed" or outcome.passed
        ends.add(outcome.reason)
    assert skill < 1.0 or ends == {"verified"}


# The diagram

PLACES = {
    "tasks": "PLANNING", "plan_reviewed": "PLAN REVIEW", "code": "CODER", "test": "TESTER", "commit": "commit",
    "diagnose": "DIAGNOSIS", "verify": "FINAL VERIFICATION", "clarify": "a person", "end": "end",
}  # fmt: skip
ARROWS = {
    ("PLANNING", "PLAN REVIEW"), ("PLAN REVIEW", "PLANNING"), ("PLAN REVIEW", "CODER"), ("PLAN REVIEW", "DIAGNOSIS"),
    ("CODER", "TESTER"), ("CODER", "CODER"), ("CODER", "DIAGNOSIS"), ("TESTER", "CODER"), ("TESTER", "commit"),
    ("TESTER", "DIAGNOSIS"), ("commit", "CODER"), ("commit", "FINAL VERIFICATION"), ("DIAGNOSIS", "CODER"),
    ("DIAGNOSIS", "PLANNING"), ("DIAGNOSIS", "a person"), ("a person", "CODER"), ("DIAGNOSIS", "end"),
    ("FINAL VERIFICATION", "PLANNING"), ("FINAL VERIFICATION", "end"),
}  # fmt: skip
"""The diagram in the module's docstring, as what is done after what; CODER to CODER is a change that was sent back."""


def walked(run: Played) -> list[str]:
    steps = [event.step for event in run.journal.events if event.key]
    return [PLACES[step] for step in [*steps, "end"] if step in PLACES]


def test_the_journal_goes_the_ways_of_the_diagram_and_no_others() -> None:
    asks = GOOD | {"a": [[Write(look_at=["b.py"]), Write(needs_clarification="which?")], writes("a.py")]}
    runs = [
        play(),
        play(Script(reviews=[Review(score=60), Review(score=40), Review(score=100)], diagnoses=[says("RETRY")])),
        play(Script(plans=[ABC, SUB], code=NEVER | SUBCODE, diagnoses=[says("RETRY"), says("REPLAN")])),
        play(Script(code=NEVER, diagnoses=[says("IMPOSSIBLE")])),
        play(Script(code=NEVER, diagnoses=[says("PIVOT")])),
        play(Script(code=asks, diagnoses=[ASK], answers={"clarify.1": "ok"})),
        play(Script(plans=[ABC, GAP], code=GOOD | {"g": [writes("g.py")]}, by={"verify": gaps(4)})),
    ]
    seen = {arrow for run in runs for arrow in pairwise(walked(run))}
    assert seen == ARROWS
    assert all(name in str(workflow.__doc__) for name in set(PLACES.values()) - {"end"})


def test_the_phases_on_record_are_those_of_the_document() -> None:
    run = play(Script(code=several(*map(wrong, range(4))), diagnoses=[says("RETRY")]))
    by_step = {(event.step, event.phase) for event in run.journal.events if event.step in (*PLACES, "review_plan")}
    assert by_step == {
        ("tasks", "planning"), ("review_plan", "planning"), ("plan_reviewed", "planning"), ("code", "execution"),
        ("test", "execution"), ("commit", "execution"), ("diagnose", "diagnosis"), ("verify", "verification"),
    }  # fmt: skip


def test_what_is_said_and_what_is_done_are_both_on_record() -> None:
    run = play(Script(code=NEVER, diagnoses=[says("IMPOSSIBLE", advice="stop")]), max_fix_cycles=0)
    first = run.notes("diagnosed")[0]
    assert {key: first[key] for key in ("task", "title", "verdict", "said", "reason", "advice")} == {
        "task": "1", "title": "do a", "verdict": "RETRY", "said": "IMPOSSIBLE", "reason": "because", "advice": "stop",
    }  # fmt: skip
