"""The rounds of a cabal (document 002; SPEC 4): which steps there are, who acts, and what each of them receives."""

import re
from typing import Any

import pytest
from cabal_players import (
    PRODUCTS,
    TEAM,
    TOLD,
    Paper,
    Played,
    charter,
    concern,
    inspect_all,
    inspection,
    messages,
    plan_all,
    play,
    script,
    text_of,
    version,
    work,
    write_all,
)  # fmt: skip
from pydantic import ValidationError
from reflex_players import play as reflex

import looper.loops.cabal as design
from looper.errors import InvalidAnswer
from looper.journal import Journal
from looper.loops.cabal import Cabal
from looper.loops.cabal.board.answers import ALTERNATIVES, ANSWERS
from looper.loops.cabal.board.rights import ACTORS, STEPS
from looper.loops.cabal.rounds import STEP_NAMES

OWN = {"o1": "p1", "o2": "p2", "o3": "p3"}


def steps(run: Played, number: int) -> list[str]:
    """Steps of a round in which somebody was asked, in order, each once."""
    found = [name.split()[2] for name in run.cast.names if name.split()[0] == str(number)]
    return list(dict.fromkeys(found))


def asked(run: Played, step: str, number: int) -> list[str]:
    return sorted(name.split()[1] for name in run.cast.names if name.split()[0::2] == [str(number), step])


# Steps and their conditions


def test_the_first_round_has_nothing_to_reflect_on_and_bootstrap_is_round_0() -> None:
    run = play()
    assert run.end == ("completed", "all_accepted")
    assert steps(run, 0) == ["bootstrap"]
    assert steps(run, 1) == ["assign", "compose", "peer_review", "inspect", "present"]


def test_a_later_round_has_all_steps_with_their_actors_in_the_order_of_the_document() -> None:
    run = play(script(r1_watchdog_inspect=lambda c: inspect_all(c, p1=[6])))
    assert run.end == ("completed", "all_accepted")
    assert steps(run, 2) == ["reflect", "assign", "compose", "peer_review", "inspect", "present"]
    assert "bootstrap" not in steps(run, 2)
    assert asked(run, "reflect", 2) == ["o1", "o2", "o3"]
    assert [asked(run, one, 2) for one in ("assign", "inspect", "present")] == [["chair"], ["watchdog"], ["envoy"]]
    assert asked(run, "compose", 2) == ["o1"], "only p1 was left"
    assert asked(run, "peer_review", 2) == ["o2", "o3"], "nobody reviews its own work"
    for heard in run.cast.asked:
        step = next(step for step, name in STEP_NAMES.items() if name == heard.question.step)
        assert heard.question.role == ACTORS[step]


def test_the_journal_goes_the_way_that_the_diagram_shows() -> None:
    drawn = re.search(r"\[ (Reflect.*?) \]\*", str(design.__doc__))
    assert drawn is not None
    words = {"Reflect": "reflect", "Plan & Assign": "assign", "Write": "compose", "Peer Review": "peer_review",
             "Inspect": "inspect", "acceptance": "gate", "Presentation": "present"}  # fmt: skip
    wanted = [words[part.strip()] for part in drawn[1].split("-->")]
    run = play(script(r1_watchdog_inspect=lambda c: inspect_all(c, p1=[6])))
    told = [event.step for event in run.journal.events if event.key.startswith("iteration.2/")]
    told = told[: told.index("inspect")] + told[told.index("inspect") :]
    first = [step for step in dict.fromkeys(told[: told.index("inspect")]) if step in wanted and step != "gate"]
    after = [step for step in dict.fromkeys(told[told.index("inspect") :]) if step in wanted]
    assert first + after == wanted, "the checks of the draft, which the watchdog reads, are run before it is asked"
    steps_before = [event.step for event in run.journal.events if not event.key.startswith("iteration.")]
    assert steps_before[:2] == ["prepare", "bootstrap"]


def test_without_assignments_nobody_writes_and_nothing_is_reviewed_or_inspected_but_the_round_is_told() -> None:
    run = play(script(r1_chair_assign={}))
    assert steps(run, 1) == ["assign", "present"]
    assert run.after(1).sessions[0].round == 1
    assert steps(run, 2)[0] == "assign", "still nothing to reflect on"


def test_assignments_of_which_nothing_comes_make_no_work_to_review() -> None:
    run = play(script(r1_o1_compose={"versions": []}, r1_o2_compose={"versions": []}, r1_o3_compose={"versions": []}))
    assert steps(run, 1) == ["assign", "compose", "present"]


def test_the_chairs_own_version_is_no_work_for_reviewers() -> None:
    run = play(script(r1_chair_assign={"versions": [version("p4", "We begin.")]}))
    assert steps(run, 1) == ["assign", "present"]
    assert run.after(1).number("p4") == 1


def test_a_remark_is_reason_enough_to_reflect_and_only_for_whom_it_is_meant() -> None:
    note = {"remarks": [{"target": "agent", "agent": "o2", "text": "Think of tax."}]}
    run = play(script(r1_chair_assign=note, r2_chair_assign={}))
    assert asked(run, "reflect", 2) == ["o2"]
    assert "Think of tax." in run.cast.prompt("2 o2 reflect")


def test_every_round_is_told_and_every_round_has_its_entry() -> None:
    run = play(script({"inspect": lambda c: inspect_all(c, p1=[6])}), max_rounds=2, stagnant=5)
    assert [one.round for one in run.board.sessions] == [1, 2]
    assert [one.round for one in run.board.entries] == [0, 1, 2]
    assert [entry["presentation"]["round"] for entry in run.rounds] == [1, 2]


# Steps x Mechanisms

COLUMNS = {
    "products": {"products", "create", "update", "reparent", "mark"}, "versions": {"versions"}, "collabs": {"collabs"},
    "remarks": {"remarks"}, "assignments": {"assignments"}, "flags": {"inspections"}, "log": {"messages"},
}  # fmt: skip
"""Fields of answers by column of the table."""
TABLE = {
    "bootstrap": "create - - - - - -", "reflect": "read read create create - - -",
    "plan": "create create read create create - -", "write": "read create create create consume - -",
    "review": "read read create create - - -", "inspect": "read read create create - create -",
    "present": "read read read read - - create",
}  # fmt: skip
CELLS = [(step, column, cell) for step, row in TABLE.items() for column, cell in zip(COLUMNS, row.split(), strict=True)]


@pytest.fixture(scope="module")
def full() -> Played:
    """Two rounds in which every mechanism is used wherever the table has it."""
    kids = [*PRODUCTS, {"key": "old", "title": "Old idea", "type": "content", "owner": "tech", "done": ["It is."]}]
    plan = {
        "create": [{"key": "faq", "title": "Questions", "type": "content", "owner": "o2", "done": ["It answers."]}],
        "update": [{"product": "p2", "title": "Prices"}], "reparent": [{"product": "p2", "parent": "p3"}],
        "mark": [{"product": "p4", "status": "rejected", "reason": "out of scope"}],
        "versions": [version("p5", "The second round.")],
        "assignments": [work("p1", "o1", address=["c1"]), work("faq", "o2", attached=["p1"])],
        "remarks": [{"target": "team", "text": "Be brief, all."}],
    }  # fmt: skip
    told = {"collabs": [concern("p1", 4, "Name the day.")], "remarks": [{"target": "user", "text": "We need a logo."}]}
    return play(
        script(
            r0_chair_bootstrap=charter(products=kids),
            r1_watchdog_inspect=lambda c: inspect_all(c, p1=[9]),
            r2_o2_reflect={"assessment": "Fine.", "collabs": [concern("p1", 5, "Say more.")],
                           "remarks": [{"target": "self", "text": "Ask the bank."}]},
            r2_chair_assign=plan,
            r2_o2_compose=lambda c: write_all(c) | {"collabs": [concern("p3", 3, "Link it.")],
                                                    "remarks": [{"target": "team", "text": "Written, all."}]},
            r2_o3_peer_review=told,
            r2_watchdog_inspect=lambda c: inspect_all(c, p1=[8]) | {"remarks": [{"target": "agent", "agent": "chair",
                                                                                 "text": "p1 is weak."}]},
        ),
        max_rounds=2,
    )  # fmt: skip


def made(run: Played, step: str, column: str) -> bool:
    """Whether something of the column came of the step, on the board."""
    board = run.board
    by_step = {
        "collabs": lambda: any(one.step == step and one.round in (1, 2) for one in board.collabs),
        "remarks": lambda: any(one.step == step for one in board.remarks),
        "flags": lambda: any(one.step == step and one.blocking for one in board.collabs),
        "assignments": lambda: any(one.round == 2 for one in board.assignments),
        "log": lambda: [one.round for one in board.sessions] == [1, 2],
    }
    if column in by_step:
        return by_step[column]()
    authors = {"plan": "chair", "write": "o1"}
    if column == "versions":
        return any(one.author == authors[step] for one in board.versions)
    kinds = {one.kind for one in board.happenings if one.round == (0 if step == "bootstrap" else 2)}
    return kinds >= ({"created"} if step == "bootstrap" else {"created", "changed", "moved", "marked"})


READ = {
    ("reflect", "products"): "Your product p1", ("reflect", "versions"): text_of("p1", 1),
    ("plan", "collabs"): "Say more.", ("write", "products"): "Assigned to you: p1",
    ("review", "products"): "New work: p1", ("review", "versions"): text_of("p1", 2),
    ("inspect", "products"): "To inspect: p1", ("inspect", "versions"): text_of("p1", 2),
    ("present", "products"): "p6 Questions", ("present", "versions"): "written: p1 v2 a text on p1",
    ("present", "collabs"): "Name the day.", ("present", "remarks"): "We need a logo.",
}  # fmt: skip
READERS = {"reflect": "o1", "plan": "chair", "write": "o1", "review": "o3", "inspect": "watchdog", "present": "envoy"}


@pytest.mark.parametrize(("step", "column", "cell"), CELLS)
def test_every_cell_of_the_table_is_what_the_loop_does(full: Played, step: str, column: str, cell: str) -> None:
    """What has no field in the step's answer cannot be done in it: shown by the type."""
    output: Any = ANSWERS[step].model_fields["final_output"].annotation
    fields = set(output.__args__[0].model_fields)
    # The watchdog's findings are its collabs.
    fields |= {"collabs"} if "inspections" in fields else set()
    if cell == "create":
        assert fields & COLUMNS[column]
        assert made(full, step, column)
        return
    assert not fields & COLUMNS[column]
    if cell == "read":
        assert READ[step, column] in full.cast.prompt(f"2 {READERS[step]} {STEP_NAMES[step]}")
    if cell == "consume":
        assert [one.product for one in full.board.versions if one.round == 2 and one.author != "chair"] == ["p1", "p6"]
        assert "Write p1." in full.cast.prompt("2 o1 compose")


def test_only_the_chair_can_halt_and_everybody_but_the_chair_at_bootstrap_can_ask_for_context() -> None:
    for step in STEPS:
        known = [name for name in ALTERNATIVES if name in ANSWERS[step].model_fields]
        assert ("halt" in known) == (ACTORS[step] == "chair")
        assert ("request_context" in known) == (step != "bootstrap")


# What each role receives (document 002), and what it does not


def test_operatives_reflect_on_mission_tree_own_products_feedback_and_remarks_to_them() -> None:
    run = play(
        script(
            r1_o3_peer_review={"collabs": [concern("p1", 7, "The headline is dull.")],
                               "remarks": [{"target": "agent", "agent": "o1", "text": "Call me."},
                                           {"target": "self", "text": "My own secret."}]},
            r1_watchdog_inspect=lambda c: inspect_all(c, p1=[6]),
        ),
        max_rounds=2,
    )  # fmt: skip
    prompt = run.cast.prompt("2 o1 reflect")
    for text in (
        "Mission: Launch the thing",
        "Sell it",
        "p2 Price list",
        text_of("p1", 1),
        "v1, round 1, o1",
        "The headline is dull.",
        "p1 lacks 6",
        "o3: note: Call me.",
        "writes plainly",
        "texts (marketing)",
    ):
        assert text in prompt, text  # fmt: skip
    assert text_of("p2", 1) not in prompt, "the content of others only on request"
    secrets = [heard.name for heard in run.cast.asked if "My own secret." in heard.prompt]
    assert secrets == ["2 o3 reflect", "2 o3 peer_review"], "a note to oneself is nobody else's"
    assert "My own secret." not in str([h.context for h in run.cast.asked if " o3 " not in h.name])


def test_the_chair_plans_from_reflections_feedback_by_importance_and_what_is_missing() -> None:
    run = play(
        script(
            r1_watchdog_inspect=lambda c: inspect_all(c, p1=[5, 9]),
            r1_o2_peer_review={"collabs": [concern("p1", 7, "Too loud.")]},
            r2_o1_reflect={"assessment": "I am blocked by the printer."},
        ),
        Paper(rows={"a.completeness.zebra": ("fail", "zebra")}), max_rounds=2,
    )  # fmt: skip
    prompt = run.cast.prompt("2 chair assign")
    assert "o1: I am blocked by the printer." in prompt
    places = [prompt.index(text) for text in ("p1 lacks 9", "Too loud.", "p1 lacks 5")]
    assert places == sorted(places)
    assert "not met: It is short." in prompt
    assert "the verdict is blocked" in prompt
    assert "The accepted document does not meet" in prompt
    assert "no zebra" in prompt, "failed rules of the task's gate reach who plans"


def test_the_writer_has_directive_history_feedback_attached_products_and_its_own_notes() -> None:
    note = {"collabs": [], "remarks": [{"target": "self", "text": "Use short words."}]}
    directive = work("p1", "o1", address=["c1"], attached=["p2"], why="The launch is near.", context="Ask Ivo.",
                     done=["The greeting is there."])  # fmt: skip
    run = play(
        script(r1_o1_peer_review=note, r1_watchdog_inspect=lambda c: inspect_all(c, p1=[4, 9]),
               r2_chair_assign={"assignments": [directive]}, r2_o1_reflect={"assessment": "ok", "resolutions": [
                   {"collab": "c2", "outcome": "accepted", "reason": "true"}]}),
        max_rounds=2,
    )  # fmt: skip
    prompt = run.cast.prompt("2 o1 compose")
    for text in (
        "Write p1.",
        "The launch is near.",
        "Ask Ivo.",
        "The greeting is there.",
        "It greets.",
        "v1, round 1",
        text_of("p1", 1),
        "For context: p2",
        text_of("p2", 1),
        "o1: note: Use short words.",
        "Launch the",
    ):
        assert text in prompt, text  # fmt: skip
    assert run.cast.context("2 o1 compose")["address"]["p1"] == [
        "- c1 concern 4/10 by watchdog on v1 [It is short.]: p1 lacks 4",
        "- c2 concern 9/10 by watchdog on v1, accepted by the owner [It is short.]: p1 lacks 9",
    ]
    assert prompt.index("To be addressed in p1") < prompt.rindex("p1 lacks 9")
    assert text_of("p3", 1) not in prompt


def test_a_reviewer_sees_new_work_of_others_at_most_five_and_its_own_for_comparison() -> None:
    more = [{"title": f"Page {n}", "type": "content", "owner": ["copy", "price"][n % 2], "done": ["It is."]}
            for n in range(9)]  # fmt: skip
    run = play(script(r0_chair_bootstrap=charter(products=[*PRODUCTS, *more])))
    owner = {one.id: one.owner for one in run.board.products}
    for who in OWN:
        seen = run.cast.context(f"1 {who} peer_review")["new"]
        assert 0 < len(seen) <= 5
        assert who not in {owner[one] for one in seen}
    assert set(run.cast.context("1 o3 peer_review")["own"]) == {"p3"}
    few = play(script(r0_chair_bootstrap=charter(products=[*PRODUCTS, *more])), reviewed=2)
    assert all(len(few.cast.context(f"1 {who} peer_review")["new"]) == 2 for who in OWN)


def test_the_watchdog_has_checklists_contents_and_what_code_found() -> None:
    run = play(script(), Paper(rows={"a.completeness.zebra": ("fail", "zebra")}), max_rounds=1)
    prompt = run.cast.prompt("1 watchdog inspect")
    for text in (
        "To inspect: p1",
        "1. It is short.",
        "2. It greets.",
        text_of("p3", 1),
        "score 0.0, not passed",
        "a.completeness.zebra: no zebra",
    ):
        assert text in prompt, text  # fmt: skip
    assert set(run.cast.context("1 watchdog inspect")["items"]) == {"p1", "p2", "p3"}


def test_the_envoy_has_all_that_came_of_the_round() -> None:
    told = {"collabs": [], "remarks": [{"target": "user", "text": "Send the logo."}]}
    run = play(script(r1_o1_peer_review=told, r1_watchdog_inspect=lambda c: inspect_all(c, p1=[9])), max_rounds=1)
    prompt = run.cast.prompt("1 envoy present")
    for text in (
        "assigned: p1 to o1",
        "written: p2 v1",
        "Accepted: p3, p2. Blocked: p1.",
        "p1 v1: blocked, gravest",
        "p1 lacks 9",
        "For the user: ",
        "o1: Send the logo.",
    ):
        assert text in prompt, text  # fmt: skip
    assert run.board.sessions[0].accepted == ("p3", "p2")


def test_a_reason_for_a_refusal_is_in_the_authors_next_prompt_and_in_nobody_elses() -> None:
    run = play(script(r1_o1_compose=lambda c: {"versions": [version("p2", "Not mine.")]}), max_rounds=2)
    reason = "p2 is not assigned to you in this round; write p1 only."
    assert [one.reason for one in run.board.rejections] == [reason]
    assert reason in run.cast.prompt("1 o1 peer_review")
    assert {heard.name.split()[1] for heard in run.cast.asked if reason in heard.prompt} == {"o1"}


def test_a_refusal_is_not_forgotten_in_a_round_in_which_its_author_was_not_asked() -> None:
    bad = {"inspections": [inspection("p1", 1), inspection("p2", 1), inspection("p3", 1)]}
    run = play(script(r1_watchdog_inspect=bad, r2_chair_assign={}), max_rounds=3)
    assert "watchdog" not in {name.split()[1] for name in run.cast.names if name.startswith("2 ")}
    assert "Checklist items 2 are missing" in run.cast.prompt("3 watchdog inspect")


# Context requests


def test_what_was_asked_for_is_in_the_next_prompt_of_the_same_step() -> None:
    run = play(script(
        r1_watchdog_inspect=lambda c: inspect_all(c, p1=[6]), r2_o1_reflect={"request_context": ["p2", "p3"]},
        r2_o1_reflect_2={"assessment": "Now I know."}, r2_envoy_present={"request_context": ["p1"]},
        r2_envoy_present_2=TOLD,
    ))  # fmt: skip
    assert text_of("p2", 1) not in run.cast.prompt("2 o1 reflect")
    assert text_of("p2", 1) in run.cast.prompt("2 o1 reflect 2")
    assert list(run.cast.context("2 o1 reflect 2")["shown"]) == ["p2", "p3"]
    assert run.cast.context("2 o1 reflect 2")["requests_left"] == 2
    assert run.cast.context("2 chair assign")["shown"] == {}
    assert run.cast.context("2 o1 compose")["shown"] == {}, "another step begins afresh"
    assert "You asked to see p1" in run.cast.prompt("2 envoy present 2")
    assert [(one.author, one.products) for one in run.board.requests] == [("o1", ("p2", "p3")), ("envoy", ("p1",))]


@pytest.mark.parametrize("step", ["reflect", "assign", "compose", "peer_review", "inspect", "present"])
def test_a_fourth_request_is_refused_and_the_step_goes_on(step: str) -> None:
    who = {"assign": "chair", "inspect": "watchdog", "present": "envoy"}.get(step, "o1")
    names = {f"2 {who} {step}" + (f" {n}" if n > 1 else ""): {"request_context": ["p2"]} for n in range(1, 9)}
    plot = script(r1_watchdog_inspect=lambda c: inspect_all(c, p1=[6], p3=[6]))
    plot.said |= names
    run = play(plot, max_rounds=3)
    tries = [name for name in run.cast.names if name.startswith(f"2 {who} {step}")]
    assert len(tries) == 4
    assert "You cannot ask for more context" in run.cast.prompt(tries[3])
    assert "You cannot ask for more context" not in run.cast.prompt(tries[2])
    assert [one.operation for one in run.after(2).rejections if one.author == who] == ["context of p2"]
    assert run.after(2).sessions[-1].round == (2 if step != "present" else 1)
    assert run.end == ("completed", "all_accepted")


def test_requests_for_what_is_not_there_end_too() -> None:
    run = play(script(r1_chair_assign={"request_context": ["p99"]}, r1_chair_assign_2={"request_context": ["p98"]},
                      r1_chair_assign_3={"request_context": ["p97"]}, r1_chair_assign_4={"request_context": ["p96"]},
                      r1_chair_assign_5={"request_context": ["p95"]}))  # fmt: skip
    assert "There is no product p99; use one of p1, p2, p3, p4." in run.cast.prompt("1 chair assign 2")
    assert "1 chair assign 5" not in run.cast.names, "three requests and a last answer, granted or not (SPEC 4.2)"


def test_no_more_than_five_products_are_asked_for_at_once() -> None:
    with pytest.raises(ValidationError, match="at most 5"):
        ANSWERS["reflect"].model_validate({"request_context": [f"p{n}" for n in range(6)]})


def test_members_side_by_side_ask_each_for_themselves() -> None:
    run = play(script(r1_o1_compose={"request_context": ["p2"]}, r1_o1_compose_2=write_all,
                      r1_o2_compose={"request_context": ["p1", "p3"]}, r1_o2_compose_2=write_all))  # fmt: skip
    assert list(run.cast.context("1 o1 compose 2")["shown"]) == ["p2"]
    assert list(run.cast.context("1 o2 compose 2")["shown"]) == ["p1", "p3"]
    assert [one.author for one in run.board.requests] == ["o1", "o2"]
    assert run.end == ("completed", "all_accepted")


# Halt


@pytest.mark.parametrize(("name", "key", "again"), [
    ("0 chair bootstrap", "halt.1", charter()), ("1 chair assign", "iteration.1/halt.1", plan_all),
])  # fmt: skip
def test_a_halt_pauses_and_the_same_step_runs_again_with_question_and_answer(name: str, key: str, again: Any) -> None:
    plot = script()
    plot.said |= {name: {"halt": "Which country?"}, f"{name} 2": again}
    journal = Journal()
    first = play(plot, journal=journal)
    assert first.end == ("paused", "halt")
    assert first.outcome.facts["waiting"]["key"] == key
    assert "Which country?" in first.outcome.facts["waiting"]["prompt"]
    assert first.cast.names[-2:] == [name, f"{name.split()[0]} user halt"]
    assert first.board.halts[-1].question == "Which country?"
    plot.answers = {key: "Spain, of course."}
    second = play(plot, journal=journal)
    assert second.cast.names[:2] == [f"{name.split()[0]} user halt", f"{name} 2"]
    assert "Which country?" in second.cast.prompt(f"{name} 2")
    assert "Spain, of course." in second.cast.prompt(f"{name} 2")
    assert second.end == ("completed", "all_accepted")
    assert second.outcome.facts["halts"] == 1
    assert "Spain, of course." in second.cast.prompt("1 o1 compose"), "everybody knows what the user said"


def test_questions_without_end_in_plan_are_answered_by_the_rule_and_the_round_goes_on() -> None:
    plot = script(answers={f"iteration.1/halt.{n}": f"answer {n}" for n in range(1, 9)})
    plot.said |= {"1 chair assign" + (f" {n}" if n > 1 else ""): {"halt": f"Why {n}?"} for n in range(1, 9)}
    run = play(plot)
    assert [name for name in run.cast.names if name == "1 user halt" or name.startswith("1 user halt ")] == [
        "1 user halt", "1 user halt 2", "1 user halt 3"]  # fmt: skip
    assert "No further question is possible" in run.cast.prompt("1 chair assign 4")
    assert "No further question is possible" not in run.cast.prompt("1 chair assign 3")
    assert "1 chair assign 5" not in run.cast.names
    refused = run.after(1).rejections[-1]
    assert (refused.author, refused.operation) == ("chair", "halt")
    assert refused.reason in run.cast.prompt("2 chair assign")
    assert run.end == ("completed", "all_accepted"), "the next round was planned"


def test_questions_without_end_at_bootstrap_fail_by_name() -> None:
    plot = script(answers={f"halt.{n}": "no" for n in range(1, 9)}, r0_chair_bootstrap={"halt": "Why?"})
    plot.usual["bootstrap"] = {"halt": "Why?"}
    run = play(plot)
    assert run.end == ("failed", "phase_error")
    assert run.outcome.facts["halts"] == 4


def test_a_team_of_which_nobody_could_be_seated_fails_by_name() -> None:
    nobody = [dict(TEAM[0], key="chair", name="Chair")]
    run = play(script(r0_chair_bootstrap=charter(team=nobody)))
    assert run.end == ("failed", "phase_error")
    assert "no operative" in run.outcome.facts["detail"]


# What is judged, and what is left


def test_the_document_is_judged_as_it_is_handed_over() -> None:
    run = play()
    files = Cabal().files(run.notes("board_updated")[-1])
    assert files["document.md"] == run.outcome.artifact, "what is returned was evaluated (SPEC 0.3)"
    assert set(files) == {"document.md", "products/p1-landing-page.md", "products/p2-price-list.md",
                          "products/p3-server-plan.md"}  # fmt: skip
    assert files["products/p1-landing-page.md"] == text_of("p1", 1) + "\n"


def test_the_document_has_contents_links_and_the_change_log_with_every_round() -> None:
    cites = {"versions": [version("p1", "All about p1: see [[p:p2]] by [[a:o2]] and [[v:p1:1]].")]}
    run = play(script(r1_o1_compose=cites, r1_chair_assign=lambda c: plan_all(c) | {
        "versions": [version("p4", "We began.")]}))  # fmt: skip
    text = Cabal().files(run.notes("board_updated")[-1])["document.md"]
    assert "- [Landing page](#landing-page)" in text
    assert "see [Price list](#price-list) by Ivo and [Landing page, version 1](#landing-page)" in text
    assert "We began." in text.partition("## Change Log")[2]
    assert "### Round 0" in text
    assert "Accepted: Server plan (p3); Price list (p2); Landing page (p1)" in text.partition("### Round 1")[2]


def test_without_an_accepted_product_there_are_no_files_and_the_draft_passes_no_gate() -> None:
    run = play(script({"inspect": lambda c: inspect_all(c, p1=[9], p2=[9], p3=[9])}), max_rounds=1)
    assert Cabal().files(run.notes("board_updated")[-1]) == {}
    assert (run.outcome.score, run.outcome.passed) == (1.0, False), "only what is accepted meets the gate"
    assert text_of("p1", 1) in run.outcome.artifact


def test_criteria_and_holdout_are_about_the_joined_document_and_nobody_sees_the_holdout() -> None:
    run = play(None, Paper(hidden="zebra-4711"))
    assert run.outcome.passed
    assert run.outcome.facts["holdout"]["passed"] is False
    assert not any("zebra-4711" in heard.prompt or "zebra-4711" in str(heard.context) for heard in run.cast.asked)
    bare = play(None, Paper(hidden="Contents"), artifact="bare")
    assert bare.outcome.facts["holdout"]["passed"] is False, "bare is texts alone"
    assert bare.outcome.artifact == "\n\n".join(text_of(one, 1) for one in OWN.values())


def test_the_best_document_is_handed_over_not_the_last() -> None:
    """In round 2 p1 loses the words that the gate wants, and p3 is never accepted."""
    worse = {"versions": [version("p1", "Nothing of interest.")]}
    plot = script({"inspect": lambda c: inspect_all(c, p3=[6])}, r2_chair_assign={"assignments": [work("p1", "o1")]},
                  r2_o1_compose=worse)  # fmt: skip
    run = play(plot, max_rounds=2)
    scores = [told["score"] for told in run.notes("evaluation_done")]
    assert (max(scores), scores[-1]) == (1.0, 0.5)
    assert run.end == ("stopped", "round_limit")
    assert (run.outcome.score, run.outcome.passed) == (1.0, True)
    assert text_of("p1", 1) in run.outcome.artifact
    assert "Nothing of interest." not in run.outcome.artifact


def test_reflex_on_the_same_task_gives_facts_that_compare() -> None:
    task = Paper(texts=["All about p1.", "All about p1 and about p2."])
    mine, other = play(None, task), reflex(task)
    assert (mine.outcome.score, mine.outcome.passed) == (other.outcome.score, other.outcome.passed) == (1.0, True)
    assert {"status", "reason", "artifact", "score", "passed"} <= set(other.outcome.model_dump())
    assert mine.outcome.facts["holdout"].keys() == other.outcome.facts["holdout"].keys()


def test_an_answer_that_was_given_up_ends_the_run_by_name_with_its_facts() -> None:
    def given_up(_context: dict[str, Any]) -> Any:
        raise InvalidAnswer("no answer", "phase_error")

    run = play(script(r1_o2_compose=given_up))
    assert run.end == ("failed", "phase_error")
    assert run.outcome.facts["deliverables"] == 3


def test_messages_of_strangers_are_left_out_of_the_session_log() -> None:
    run = play(script(r1_envoy_present={"messages": [*messages("A", "B", "C"), {"member": "zoe", "text": "Hi"}]}))
    assert [one.text for one in run.board.sessions[0].messages] == ["A", "B", "C"]
