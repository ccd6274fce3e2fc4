"""Parts of the workflow without a run: the tree, scores, bounds on verdicts, what is wrong with a plan, policies."""

import itertools
import random
from typing import Any

import pytest
from pydantic import ValidationError
from workflow_players import ABC, TESTS, A, B, C, Desktop, Shelf, plan, says, todo

from looper.criteria import Evaluation, Finding
from looper.errors import PhaseError
from looper.loops.workflow import Workflow, policies
from looper.loops.workflow.answers import Diagnosis, Group, Review, TaskPlan, Verified
from looper.loops.workflow.answers import Tested as Report
from looper.loops.workflow.course import picked
from looper.loops.workflow.diagnosis import MOST_QUESTIONS, Bounds
from looper.loops.workflow.ground import Ground, Looked, resolved
from looper.loops.workflow.marks import (
    CAP,
    FOUL,
    LEVELS,
    Found,
    Mark,
    Thresholds,
    at_least,
    counted,
    escalation,
    lowered,
    marked,
)  # fmt: skip
from looper.loops.workflow.planning import fewest, problems, uncovered
from looper.loops.workflow.tree import MOVES, Attempt, Cycle, Node, Tasks, cycle_in, place
from looper.tasks.dial import Dial
from looper.types import Question

# Task states (document 001, State Transitions)

DRAWN = {
    ("pending", "in_progress"), ("in_progress", "completed"), ("in_progress", "failed"), ("failed", "pending"),
    ("failed", "blocked"),
}  # fmt: skip
"""The arrows of the document."""


@pytest.mark.parametrize(("before", "after"), list(itertools.product(MOVES, MOVES)))
def test_a_state_goes_where_the_table_lets_it_and_nowhere_else(before: Any, after: Any) -> None:
    tasks = Tasks()
    (node,) = tasks.add([A])
    node.state = before
    if after in MOVES[before]:
        tasks.move(node, after)
        assert node.state == after
        return
    with pytest.raises(PhaseError, match=f"task 1: {before} does not become {after}"):
        tasks.move(node, after)
    assert node.state == before


def test_all_arrows_of_the_document_are_there_and_the_end_is_the_end() -> None:
    allowed = {(before, after) for before, several in MOVES.items() for after in several}
    assert allowed >= DRAWN
    assert MOVES["completed"] == ()
    assert ("pending", "failed") not in allowed
    assert ("blocked", "pending") not in allowed


def started(*keys: str) -> Tasks:
    tasks = Tasks()
    tasks.add([todo(key) for key in keys])
    return tasks


def done(tasks: Tasks, *ids: str) -> None:
    for one in ids:
        tasks.move(tasks.nodes[one], "in_progress")
        tasks.move(tasks.nodes[one], "completed")


def split(tasks: Tasks, parent: str, *keys: str) -> list[Node]:
    node = tasks.nodes[parent]
    for state in ("in_progress", "failed", "blocked"):
        tasks.move(node, state)
    return tasks.add([todo(key) for key in keys], node)


def test_a_parent_completes_with_the_last_of_its_subtasks_and_so_does_its_own_parent() -> None:
    tasks = started("x", "y")
    split(tasks, "1", "p", "q")
    split(tasks, "1.2", "r", "s")
    done(tasks, "1.1", "1.2.1")
    assert [tasks.nodes[one].state for one in ("1", "1.2")] == ["blocked", "blocked"]
    done(tasks, "1.2.2")
    assert [tasks.nodes[one].state for one in ("1", "1.2", "2")] == ["completed", "completed", "pending"]


def test_depth_is_counted_along_a_branch() -> None:
    tasks = started("x", "y")
    split(tasks, "1", "p", "q")
    split(tasks, "1.1", "r")
    split(tasks, "2", "t")
    assert {one: node.depth for one, node in tasks.nodes.items()} == {
        "1": 0, "2": 0, "1.1": 1, "1.2": 1, "1.1.1": 2, "2.1": 1,
    }  # fmt: skip


def test_a_task_is_ready_when_all_before_it_are_completed() -> None:
    tasks = Tasks()
    tasks.add([todo("last", after=["first", "second"]), todo("first"), todo("second", after=["first"])])
    order = []
    while node := tasks.ready():
        order.append(node.planned.key)
        done(tasks, node.id)
    assert order == ["first", "second", "last"]


def test_dependents_of_a_parent_wait_for_its_subtasks_and_those_for_its_predecessors() -> None:
    tasks = Tasks()
    tasks.add([todo("x"), todo("y", after=["x"])])
    split(tasks, "1", "p", "q")
    assert tasks.ready() is tasks.nodes["1.1"]
    done(tasks, "1.1", "1.2")
    assert tasks.ready() is tasks.nodes["2"], "its predecessor was completed by its subtasks"
    waiting = Tasks()
    waiting.add([todo("x"), todo("y", after=["x"])])
    child = Node(id="2.1", planned=todo("early"), parent="2", depth=1)
    waiting.nodes["2"].state, waiting.nodes["2.1"] = "blocked", child
    assert waiting.ready() is waiting.nodes["1"]
    waiting.nodes["1"].state = "in_progress"
    assert waiting.ready() is None, "a part of a task waits for what the task waits for"


def test_subtasks_come_before_later_tasks_and_2_10_behind_2_9() -> None:
    tasks = started("x", "y")
    split(tasks, "1", "p", "q")
    assert tasks.ready() is tasks.nodes["1.1"]
    assert sorted(["2.10", "2.9", "2", "10", "2.9.1"], key=place) == ["2", "2.9", "2.9.1", "2.10", "10"]


def test_numbers_go_on_after_a_pivot_and_what_is_finished_stays() -> None:
    tasks = started("x", "y", "z")
    done(tasks, "1")
    tasks.move(tasks.nodes["2"], "in_progress")
    tasks.drop("another way")
    assert [(node.state, node.note) for node in tasks.nodes.values()] == [
        ("completed", ""), ("blocked", "another way"), ("blocked", "another way"),
    ]  # fmt: skip
    new = tasks.add([todo("x"), todo("w", after=["x"])])
    assert [(node.id, node.after) for node in new] == [("4", []), ("5", ["4"])]
    assert tasks.ready() is new[0]


def test_counts_and_open_tasks() -> None:
    tasks = started("x", "y", "z")
    done(tasks, "1")
    split(tasks, "2", "p")
    assert tasks.counts() == {"pending": 2, "in_progress": 0, "completed": 1, "failed": 0, "blocked": 1}
    assert [node.id for node in tasks.open()] == ["3", "2.1"]


def test_a_subtask_knows_what_a_person_said_of_its_parent() -> None:
    tasks = started("x")
    tasks.nodes["1"].answers.append({"question": "which?", "answer": "this"})
    (child, _) = split(tasks, "1", "p", "q")
    assert child.answers == [{"question": "which?", "answer": "this"}]
    child.answers.append({"question": "more?", "answer": "no"})
    assert len(tasks.nodes["1"].answers) == 1


def test_a_summary_tells_what_people_want_to_know() -> None:
    tasks = started("x")
    node = tasks.nodes["1"]
    cycles = [Cycle(number=0, approach="w", score=50), Cycle(number=1, approach="v", score=60)]
    node.attempts.append(Attempt(number=1, cycles=cycles, ended="fixes_used"))
    (row,) = tasks.summary()
    assert (row["id"], row["title"], row["state"], row["attempts"], row["fixes"], row["score"]) == (
        "1", "do x", "pending", 1, 1, 60,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("after", "circle"),
    [
        ({"x": [], "y": ["x"], "z": ["x", "y"]}, []),
        ({"x": ["x"]}, ["x"]),
        ({"x": ["y"], "y": ["x"], "z": []}, ["x", "y"]),
        ({"x": ["z"], "y": ["x"], "z": ["y"]}, ["x", "y", "z"]),
    ],
)
def test_tasks_that_wait_for_each_other_are_found(after: dict[str, list[str]], circle: list[str]) -> None:
    assert cycle_in([todo(key, after=names) for key, names in after.items()]) == circle


# Scores (SPEC 3.3)

YES, NO = Finding(passed=True), Finding(passed=False, note="no")
TWO = Thresholds()


@pytest.mark.parametrize(
    ("score", "verdict"),
    [(100, "approve"), (70, "approve"), (69, "revise"), (50, "revise"), (49, "reject"), (0, "reject")],
)  # fmt: skip
def test_thresholds_hold_at_their_borders(score: int, verdict: str) -> None:
    assert TWO.verdict(score) == verdict


@pytest.mark.parametrize(("passed", "score"), [(0, 50), (1, 62), (2, 69), (3, 69), (4, 100)])
def test_a_score_is_half_for_the_share_of_checks_that_pass_and_never_approves_one_that_fails(
    passed: int, score: int
) -> None:
    wanted = {f"t{number}": YES if number < passed else NO for number in range(4)}
    mark = marked(wanted, [], [], TWO)
    assert (mark.score, mark.verdict) == (score, "approve" if passed == 4 else "revise")
    assert list(mark.failed) == [f"t{number}" for number in range(passed, 4)]


@pytest.mark.parametrize("name", ["claimed_file_missing", "no_tests_run", "counts_do_not_add_up", "anything"])
def test_what_code_finds_caps_the_score(name: str) -> None:
    mark = marked({"t": YES}, [], [Found(name=name, text="x")], TWO)
    assert (mark.score, mark.verdict, mark.violations[0].name) == (CAP, "revise", name)
    assert CAP == 69


def test_a_regression_caps_the_score_and_is_named() -> None:
    mark = marked({"t": YES}, ["u"], [], TWO)
    assert (mark.score, mark.verdict, mark.regressions) == (69, "revise", ["u"])
    assert [one.name for one in mark.violations] == ["regressions"]
    many = marked({}, [f"u{number}" for number in range(10)], [], TWO)
    assert many.violations[0].text.endswith("u7 and 2 more")


def test_a_foul_is_rejected_however_good_the_work_is() -> None:
    mark = marked({"t": YES}, [], [Found(name="tests_deleted", text="x", foul=True)], TWO)
    assert (mark.score, mark.verdict, FOUL) == (49, "reject", 49)


@pytest.mark.parametrize("approve", [1, 30, 50, 60, 69])
def test_another_approval_threshold_does_not_let_through_what_code_found(approve: int) -> None:
    """Numbers are settings (SPEC 0); a violation closes the gate under each of them (SPEC 0.1)."""
    lax = Thresholds(approve=approve, reject=min(50, approve))
    assert marked({"t": NO}, [], [], lax).verdict != "approve"
    assert marked({"t": YES}, [], [Found(name="x", text="x")], lax).verdict != "approve"
    assert marked({"t": YES}, ["u"], [], lax).verdict != "approve"


@pytest.mark.parametrize("reject", [0, 30, 49])
def test_another_rejection_threshold_does_not_let_a_foul_be_revised(reject: int) -> None:
    lax = Thresholds(approve=70, reject=reject)
    assert marked({"t": YES}, [], [Found(name="x", text="x", foul=True)], lax).verdict == "reject"


def test_a_word_lowers_and_never_raises() -> None:
    good = marked({"t": YES}, [], [], TWO)
    bad = marked({"t": NO}, [], [], TWO)
    assert lowered(bad, 100, [], TWO) == bad
    assert lowered(good, 100, ["lovely"], TWO) == good
    revised = lowered(good, 60, ["name it better"], TWO)
    assert (revised.score, revised.verdict) == (60, "revise")
    assert [(one.name, one.text) for one in revised.violations] == [("reviewed", "name it better")]
    assert lowered(good, 40, [], TWO).verdict == "reject"
    assert lowered(good, 75, ["a trifle"], TWO).violations == []


@pytest.mark.parametrize(
    ("word", "names"),
    [
        (Report(status="failed", passed=1, failed=1), []),
        (Report(status="failed"), []),
        (Report(status="failed", passed=2), ["counts_do_not_add_up"]),
        (Report(status="failed", failed=0), ["counts_do_not_add_up"]),
        (Report(status="passed"), ["reported_pass"]),
        (Report(status="passed", passed=2, failed=0), ["counts_do_not_add_up", "reported_pass"]),
        (Report(status="passed", passed=1, failed=1), []),
        (Report(status="blocked", passed=9), []),
    ],
)
def test_counts_that_do_not_add_up_are_found(word: Report, names: list[str]) -> None:
    assert [one.name for one in counted(word, {"t": YES, "u": NO})] == names


# Escalation levels (SPEC 3.3)


def cycle(score: int = 50, failed: str = "t", *violations: str) -> Cycle:
    named = [{"name": name, "text": "x", "foul": False} for name in violations]
    return Cycle(number=0, approach="w", score=score, failed={failed: "no"} if failed else {}, violations=named)


def level(mark: Mark, *cycles: Cycle, fouls: int = 0) -> str:
    return escalation(mark, [Attempt(number=0, cycles=list(cycles), ended="fixes_used")], fouls, 3)


def test_each_level_of_the_document_is_reached() -> None:
    good, bad = marked({"t": YES}, [], [], TWO), marked({"t": NO}, [], [], TWO)
    foul = marked({"t": YES}, [], [Found(name="x", text="x", foul=True)], TWO)
    missing = marked({"t": YES}, [], [Found(name="claimed_file_missing", text="x")], TWO)
    assert level(good) == "none"
    assert level(good.model_copy(update={"remarks": ["a trifle"]})) == "remind"
    assert level(bad) == "correct"
    assert level(bad, cycle()) == "correct", "one cycle without progress may happen"
    assert level(bad, cycle(), cycle()) == "refocus"
    assert level(bad, cycle(40), cycle(40)) == "correct", "the score rises"
    assert level(bad, cycle(failed="u"), cycle(failed="u")) == "correct", "another check fails"
    assert level(missing, cycle(69, "", "claimed_file_missing")) == "refocus", "the same mistake again"
    assert level(missing, cycle(69, "", "other")) == "correct"
    assert level(foul, fouls=2) == "critical"
    assert level(foul, fouls=3) == "abort"


def test_levels_are_in_order() -> None:
    assert LEVELS == ("none", "remind", "correct", "refocus", "critical", "abort")
    assert [name for name in LEVELS if at_least(name, "correct")] == ["correct", "refocus", "critical", "abort"]


# Verdicts and their bounds (SPEC 3.4)

BOUNDS = Bounds(max_depth=3, max_pivots=3, max_attempts=3, min_attempts=2)
VERDICTS = ("RETRY", "REPLAN", "PIVOT", "IMPOSSIBLE", "CLARIFY")


@pytest.mark.parametrize(
    ("said", "attempts", "depth", "pivots", "done"),
    [
        ("RETRY", 1, 0, 0, "RETRY"),
        ("RETRY", 2, 3, 3, "RETRY"),
        ("RETRY", 3, 0, 0, "REPLAN"),
        ("RETRY", 3, 2, 0, "REPLAN"),
        ("RETRY", 3, 3, 0, "PIVOT"),
        ("RETRY", 3, 3, 2, "PIVOT"),
        ("RETRY", 3, 3, 3, "IMPOSSIBLE"),
        ("REPLAN", 1, 2, 0, "REPLAN"),
        ("REPLAN", 1, 3, 0, "PIVOT"),
        ("REPLAN", 1, 3, 3, "IMPOSSIBLE"),
        ("PIVOT", 1, 0, 2, "PIVOT"),
        ("PIVOT", 1, 0, 3, "IMPOSSIBLE"),
        ("IMPOSSIBLE", 1, 3, 3, "RETRY"),
        ("IMPOSSIBLE", 2, 0, 0, "IMPOSSIBLE"),
        ("CLARIFY", 1, 3, 3, "CLARIFY"),
    ],
)
def test_verdicts_are_bounded_by_code(said: Any, attempts: int, depth: int, pivots: int, done: str) -> None:
    ruling = BOUNDS.ruling(says(said, question="which?", advice="a"), attempts=attempts, depth=depth, pivots=pivots)
    assert (ruling.said, ruling.verdict, ruling.reason, ruling.advice) == (said, done, "because", "a")
    assert bool(ruling.clamps) == (said != done), "what was clamped is said, and only that"


def test_clamps_chain_in_every_order_and_each_is_said() -> None:
    strict = Bounds(max_depth=0, max_pivots=0, max_attempts=1, min_attempts=2)
    asked = MOST_QUESTIONS
    ruling = strict.ruling(says("CLARIFY", question="which?"), attempts=1, depth=0, pivots=0, asked=asked)
    assert [clamp.split(":")[0] for clamp in ruling.clamps] == [
        "CLARIFY -> RETRY", "RETRY -> REPLAN", "REPLAN -> PIVOT", "PIVOT -> IMPOSSIBLE",
    ]  # fmt: skip
    ruling = strict.ruling(says("IMPOSSIBLE"), attempts=1, depth=0, pivots=0)
    assert [clamp.split(":")[0] for clamp in ruling.clamps] == [
        "IMPOSSIBLE -> RETRY", "RETRY -> REPLAN", "REPLAN -> PIVOT", "PIVOT -> IMPOSSIBLE",
    ]  # fmt: skip


def test_whatever_is_said_what_is_done_is_allowed() -> None:
    for said, attempts, depth, pivots, asked in itertools.product(VERDICTS, range(1, 5), range(5), range(5), range(5)):
        given = says(said, question="which?")
        done = BOUNDS.ruling(given, attempts=attempts, depth=depth, pivots=pivots, asked=asked).verdict
        assert done != "RETRY" or attempts < 3
        assert done != "REPLAN" or depth < 3
        assert done != "PIVOT" or pivots < 3
        assert done != "CLARIFY" or asked < 3
        assert done != "IMPOSSIBLE" or attempts >= 2 or pivots >= 3


def test_a_question_needs_words_and_there_are_three_for_a_task() -> None:
    nothing = BOUNDS.ruling(says("CLARIFY", question=" "), attempts=1, depth=0, pivots=0)
    assert (nothing.verdict, nothing.clamps) == ("RETRY", ["CLARIFY -> RETRY: no question was given"])
    again = BOUNDS.ruling(says("CLARIFY"), attempts=1, depth=0, pivots=0, asked=1)
    assert again.clamps == ["CLARIFY -> RETRY: no question was given"], "one answer is not too many"
    fourth = BOUNDS.ruling(says("CLARIFY", question="which?"), attempts=1, depth=0, pivots=0, asked=3)
    assert fourth.clamps == ["CLARIFY -> RETRY: 3 questions were asked already"]


@pytest.mark.parametrize(
    ("text", "chosen"), [("2", "two"), (" TWO ", "two"), ("3", "3"), ("0", "0"), ("neither", "neither"), ("one", "one")]
)
def test_a_choice_is_taken_by_number_or_words(text: str, chosen: str) -> None:
    assert picked(text, ["one", "two"]) == chosen


# Plans (SPEC 3.1)

CHECKS = dict.fromkeys(TESTS, NO)


def names(given: TaskPlan, why: Any = "goal", **settings: Any) -> list[str]:
    return [one.name for one in problems(Workflow(**settings), given, why, CHECKS)]


@pytest.mark.parametrize(
    ("given", "name"),
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
def test_what_is_wrong_with_a_plan_has_a_name(given: TaskPlan, name: str) -> None:
    assert names(given) == [name]


@pytest.mark.parametrize("number", [3, 8])
def test_three_to_eight_tasks_are_a_plan(number: int) -> None:
    assert names(plan(*(todo(f"k{one}") for one in range(number)))) == []


def test_a_check_may_be_named_by_its_file_or_folder() -> None:
    assert names(plan(todo("a", "t/a.py"), todo("b", "t/"), todo("c", "t"))) == []
    assert names(plan(todo("a", "t/a"), B, C)) == [], "a name without its ending is a beginning too"
    assert names(plan(todo("a", "t/a.py::o"), B, C)) == ["unknown_check"]
    found, unknown = resolved(["t/a.py", "t/x.py"], CHECKS)
    assert (list(found), unknown) == (["t/a.py::ok"], ["t/x.py"])


def test_a_replan_has_two_tasks_at_least_and_a_gap_one() -> None:
    assert [fewest(Workflow(), why) for why in ("goal", "pivot", "replan", "gaps")] == [3, 3, 2, 1]
    assert names(plan(A), "replan") == ["number_of_tasks"]
    assert names(plan(A, B), "replan") == names(plan(A), "gaps") == []
    with pytest.raises(ValidationError, match="min_tasks is above max_tasks"):
        Workflow(max_tasks=2)


def test_failing_checks_that_are_in_no_task_are_told() -> None:
    groups = [Group(name="t", checks=list(TESTS))]
    assert uncovered(plan(A, B), groups) == ["t/c.py::ok"]
    assert uncovered(plan(A, todo("r", "t")), groups) == []


# Offline policies: a diagnosis by failure signature


def attempt(ended: Any = "fixes_used", *cycles: Cycle, reason: str = "") -> dict[str, Any]:
    return Attempt(number=1, cycles=list(cycles), ended=ended, reason=reason).model_dump()


def note(text: str, *failed: str, score: int = 50, foul: bool = False) -> Cycle:
    fouls = [{"name": "tests_changed", "text": "x", "foul": True}] if foul else []
    return Cycle(number=0, approach="w", score=score, failed=dict.fromkeys(failed or ("t",), text), violations=fouls)


MODULE = note("ModuleNotFoundError: No module named 'ldap3'")


@pytest.mark.parametrize(
    ("attempts", "verdict"),
    [
        ([attempt("needs_clarification", reason="which one?")], "CLARIFY"),
        ([attempt("fixes_used", MODULE)], "RETRY"),
        ([attempt("fixes_used", MODULE)] * 2, "IMPOSSIBLE"),
        ([attempt("blocked", note("x"))], "RETRY"),
        ([attempt("blocked", note("x"))] * 2, "IMPOSSIBLE"),
        ([attempt("gave_up", note("x"))], "RETRY"),
        ([attempt("gave_up", note("x"))] * 2, "PIVOT"),
        ([attempt("rejected", reason="number_of_tasks")], "RETRY"),
        ([attempt("rejected", reason="number_of_tasks")] * 2, "PIVOT"),
        ([attempt("rejected", note("x", foul=True))], "RETRY"),
        ([attempt("rejected", note("x", foul=True))] * 2, "PIVOT"),
        ([attempt("fixes_used", note("x"))], "RETRY"),
        ([attempt("fixes_used", note("x")), attempt("fixes_used", note("y"))], "RETRY"),
        ([attempt("fixes_used", note("x")), attempt("fixes_used", note("x", score=60))], "RETRY"),
        ([attempt("fixes_used", note("x", "t", "u"))] * 2, "REPLAN"),
        ([attempt("fixes_used", note("x"))] * 2, "PIVOT"),
    ],
)
def test_each_signature_leads_to_its_verdict(attempts: list[dict[str, Any]], verdict: str) -> None:
    word = policies.diagnose(attempts=attempts, planned=A)
    assert word.verdict == verdict
    assert word.reason
    assert bool(word.blockers) == (verdict == "IMPOSSIBLE")
    assert bool(word.question) == (verdict == "CLARIFY")


def test_what_is_missing_is_named_as_the_blocker() -> None:
    word = policies.diagnose(attempts=[attempt("fixes_used", MODULE)] * 2, planned=A)
    assert word.blockers == ["ldap3"]
    for text in ("sh: foo: command not found", "Name could not be resolved", "Permission denied: '/etc'"):
        word = policies.diagnose(attempts=[attempt("fixes_used", note(text))] * 2, planned=A)
        assert word.verdict == "IMPOSSIBLE"


def test_a_policy_plans_a_task_for_each_group_and_checks_all_together_at_the_end() -> None:
    made = policies.tasks(
        why="goal", groups=[Group(name="t/a.py", checks=["t/a.py::ok"])], parent=None, gaps=[], fewest=3, most=8
    )
    assert [task.checks for task in made.tasks] == [["t/a.py::ok"]] * 3
    assert [len(task.after) for task in made.tasks] == [0, 1, 2]
    assert names(made) == []


@pytest.mark.parametrize(("groups", "tasks"), [(3, 3), (8, 8), (11, 8)])
def test_a_policys_plan_holds_every_group_within_the_limits(groups: int, tasks: int) -> None:
    given = [Group(name=f"g{one}", checks=[f"g{one}::t"]) for one in range(groups)]
    made = policies.tasks(why="goal", groups=given, parent=None, gaps=[], fewest=3, most=8)
    assert len(made.tasks) == tasks
    assert uncovered(made, given) == []


def test_a_policys_plan_covers_a_group_of_many_checks() -> None:
    given = [Group(name="t/a.py", checks=[f"t/a.py::{number}" for number in range(200)])]
    made = policies.tasks(why="goal", groups=given, parent=None, gaps=[], fewest=3, most=8)
    assert uncovered(made, given) == [], "or its own review refuses it, every time"


def test_a_policy_splits_a_task_by_its_checks() -> None:
    group = Group(name="t/a.py", checks=["t/a.py::1", "t/a.py::2", "t/a.py::3"])
    made = policies.tasks(why="replan", groups=[group], parent={"id": "1"}, gaps=[], fewest=2, most=8)
    assert [task.checks for task in made.tasks] == [["t/a.py::1"], ["t/a.py::2"], ["t/a.py::3"]]


def test_policies_review_and_test_and_verify_by_what_code_found() -> None:
    assert policies.review_plan(found=[], uncovered=[]).score == 100
    missed = policies.review_plan(found=[], uncovered=["t"])
    assert (missed.score, missed.issues) == (60, ["no task is about t"])
    assert policies.review_work() == Review(score=70)
    nothing: dict[str, Any] = {"regressions": [], "checks": {}, "failing": {}}
    assert policies.test(**nothing, passed=0, total=0).status == "blocked"
    open_ = {"checks": {"t": "no"}, "failing": {"t": "no"}, "regressions": []}
    assert policies.test(**open_, passed=1, total=2) == Report(status="failed", passed=1, failed=1, problems=["t: no"])
    assert policies.test(**nothing, passed=2, total=2).status == "passed"
    others = {"checks": {"t": "passed"}, "failing": {"u": "no"}, "regressions": []}
    assert policies.test(**others, passed=1, total=2).status == "passed", "u belongs to a task to come"
    worse = {"checks": {"t": "passed"}, "failing": {"u": "no"}, "regressions": ["u"]}
    assert policies.test(**worse, passed=1, total=2).status == "failed"
    assert policies.verify(found=[], failing={}).score == 100
    assert policies.verify(found=[Found(name="x", text="x")], failing={"t": "no"}) == Verified(
        score=0, gaps=["t: no"], reason="the whole suite, as run by code"
    )


def test_every_step_of_the_design_has_a_policy_but_those_of_people() -> None:
    tasks = (*Workflow.people, "coder")  # a person's, and the task's own
    steps = {step for role, several in Workflow.steps.items() if role not in tasks for step in several}
    assert set(policies.BY_STEP) == steps
    assert all(Workflow().policy(step) for step in steps)
    assert Workflow().policy("clarify") is None


# Simulations


def question(step: str, **context: Any) -> Question:
    return Question(role="r", step=step, key=f"{step}.1", context=context, returns=Diagnosis)


def test_a_simulation_says_what_the_policy_says_or_a_mistake() -> None:
    dice = random.Random(1)
    groups = [Group(name="t", checks=["t"])]
    asked = question("tasks", why="goal", groups=groups, parent=None, gaps=[], fewest=3, most=8)
    assert policies.played(asked, 1.0, dice) == policies.tasks(**asked.context)
    wrong = policies.played(asked, 0.0, dice)
    assert isinstance(wrong, TaskPlan)
    assert len(wrong.tasks) == 2
    assert cycle_in(wrong.tasks) == []
    counts = question("test", checks={}, failing={}, regressions=[], passed=2, total=2)
    assert policies.played(counts, 0.0, dice) == Report(status="passed", passed=3, failed=0)
    reviews = {policies.played(question("review_work"), 0.0, dice).score for _ in range(50)}
    assert len(reviews) > 10
    verdicts = [policies.played(question("diagnose", attempts=[attempt("fixes_used", MODULE)], planned=A), 0.0, dice)
                for _ in range(50)]  # fmt: skip
    assert {word.verdict for word in verdicts if isinstance(word, Diagnosis)} == set(VERDICTS) - {"CLARIFY"}


def test_a_simulated_person_takes_a_choice_and_the_coder_is_the_tasks_own() -> None:
    dice = random.Random(1)
    said = {policies.played(question("clarify", choices=["x", "y"]), 1.0, dice).text for _ in range(20)}
    assert said == {"x", "y"}
    assert policies.played(question("clarify", choices=[]), 1.0, dice).text
    assert policies.played(question("code"), 1.0, dice) is None


# A task as the workflow sees it


def test_looked_keeps_the_state_it_was_given() -> None:
    """The coder is told of a refusal by the identity of states: a copy would be one that nobody wrote."""
    state = object()
    verdict = Evaluation(phase="A", score=1, threshold=1, passed=True, failed=[], blockers=[], warnings=[],
                         passed_rules=0, total_rules=0)  # fmt: skip
    looked = Looked(state=state, signals=[], verdict=verdict, checks={})
    assert looked.state is state
    assert looked.model_copy(update={"checks": {}}).state is state


def test_a_rollback_puts_a_workspace_back_and_goes_on_from_the_better_state_elsewhere() -> None:
    def looked(state: Any, score: float) -> Looked:
        verdict = Evaluation(
            phase="A", score=score, threshold=1, passed=False, failed=[], blockers=[], warnings=[], passed_rules=0,
            total_rules=0,
        )  # fmt: skip
        return Looked(state=state, signals=[], verdict=verdict, checks={})

    before, after = looked(Desktop(changed={"a.py": "ok"}), 0.2), looked(Desktop(shown=["b.py"]), 0.9)
    back = Ground(Shelf()).back(before, after)
    assert (back.state, back.verdict) == (Desktop(changed={"a.py": "ok"}, shown=["b.py"]), before.verdict)
    assert Ground(Dial()).back(before, after) is after
    assert Ground(Dial()).back(after, before) is after


def test_the_numbers_of_the_document_are_the_defaults() -> None:
    design = Workflow()
    assert (design.max_fix_cycles, design.max_plan_revisions, design.max_replan_depth, design.approval) == (3, 3, 3, 70)
    assert (design.min_tasks, design.max_tasks, design.rejection, design.max_pivots) == (3, 8, 50, 3)
    assert (design.min_attempts, design.max_attempts) == (2, 3)
    assert len(ABC.tasks) == 3
