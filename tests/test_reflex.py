"""The reflex design, sentence by sentence of SPEC 2 and document 003: real runs on a page with scripted roles."""

import json
import time
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer, says
from players import Dying, Killed
from reflex_players import BYE, HELLO, NAME, history, page, play, settings, start

from looper.agents.parse import Unparsable, Words, answer
from looper.budget import Budget, Price
from looper.console.blocks import Block
from looper.console.story import Story
from looper.console.summary import final_summary
from looper.folder import Folder
from looper.journal import Event, Journal, read
from looper.launch import launch
from looper.loops import reflex
from looper.loops.reflex import Reflex
from looper.parts import build
from looper.state import fold
from looper.tasks.contracts import Critique, Draft, Steps
from looper.tasks.dial import Dial
from looper.testing import check_loop

GOOD = ["nothing", "hello Ann", "hello Ann bye"]
"""Fails in A, passes A and fails in B, passes B."""
STEPS = {
    "plan_created": "PLAN", "artifact_created": "PRODUCE", "checks_prepared": "PREPARE", "evaluation_done": "EVALUATE",
    "critique_done": "CRITIQUE", "refinement_done": "REFINE", "phase_switched": "phase B",
    "iteration_advanced": "next iteration", "completed": "end", "stopped": "end",
}  # fmt: skip
ARROWS = {
    ("PLAN", "PREPARE"), ("PREPARE", "PRODUCE"), ("PRODUCE", "EVALUATE"), ("PLAN", "EVALUATE"),
    ("EVALUATE", "CRITIQUE"), ("CRITIQUE", "REFINE"), ("REFINE", "next iteration"), ("next iteration", "PLAN"),
    ("EVALUATE", "phase B"), ("phase B", "PREPARE"), ("PREPARE", "EVALUATE"), ("EVALUATE", "next iteration"),
    ("next iteration", "end"),
}  # fmt: skip
"""The diagram in the module's docstring, as what is done after what; a run ends after its last iteration was told."""


def walked(events: list[Event]) -> list[str]:
    return [STEPS[event.event] for event in events if event.event in STEPS]


def test_the_journal_goes_the_ways_of_the_diagram_and_no_others(tmp_path: Path) -> None:
    start(tmp_path / "r", {"texts": GOOD})
    seen = set(pairwise(walked(history(tmp_path / "r"))))
    assert seen == ARROWS
    drawn = str(reflex.__doc__)
    assert all(name in drawn for name in set(STEPS.values())), "the diagram names every step"


def test_produce_comes_once_and_prepare_once_a_phase() -> None:
    run = play(page(*GOOD))
    assert run.outcome.reason == "threshold_reached"
    assert [q.step for q in run.hall.asked] == ["plan", "produce", "critique", "act", "plan", "critique", "act", "plan"]
    assert [(e["phase"], e["given"]) for e in run.events("checks_prepared")] == [
        ("A", [HELLO, NAME]), ("B", [HELLO, NAME, BYE]),
    ]  # fmt: skip


def test_the_last_iteration_ends_at_its_evaluation() -> None:
    run = play(page("nothing"), max_iterations=2, blocked=9)
    assert (run.outcome.status, run.outcome.reason) == ("stopped", "iteration_limit")
    assert [len(run.events(name)) for name in ("evaluation_done", "refinement_done")] == [2, 1]
    assert len(play(page("nothing"), max_iterations=1).hall.heard("act")) == 0


def test_b_judges_the_same_artifact_in_the_same_iteration_with_all_rules() -> None:
    run = play(page("hello Ann", "hello Ann bye"))
    looks = [event for event in run.journal.events if event.event == "evaluation_done"]
    assert [(e.iteration, e.phase, e.payload["total_rules"]) for e in looks] == [(1, "A", 2), (1, "B", 3), (2, "B", 3)]
    assert [e["text"] for e in run.events("artifact_created") + run.events("refinement_done")] == [
        "hello Ann", "hello Ann bye",
    ]  # fmt: skip


def test_a_run_that_was_in_b_stays_in_b() -> None:
    run = play(page("hello Ann", "nothing", "hello Ann bye"))
    assert [v["phase"] for v in run.events("evaluation_done")] == ["A", "B", "B", "B"]
    assert run.outcome.reason == "threshold_reached"


def test_produce_and_prepare_take_no_longer_than_the_longer_one() -> None:
    rows = {HELLO: ("fail", "")}
    task = page("hello", rows=rows, words=[{HELLO: "hello"}], slow={"produce": 0.5, "prepare_checks": 0.45})
    began = time.monotonic()
    run = play(task)
    seconds = time.monotonic() - began
    assert run.outcome.reason == "threshold_reached"
    assert 0.5 <= seconds < 0.8, "side by side: one after the other it would be 0.95"


# Every stop reason, by a real run in a folder

ENDS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "threshold_reached": ({"texts": GOOD}, {}, "completed"),
    "no_major_issues": ({"texts": ["hello bye"], "thresholds": {"A": 0.5, "B": 0.9}}, {}, "completed"),
    "stagnation": ({"texts": ["hello"], "thresholds": {"A": 0.9, "B": 0.9}}, {}, "stopped"),
    "iteration_limit": ({"texts": ["nothing"]}, {"loop": {"max_iterations": 3}}, "stopped"),
    "budget_exhausted": ({"texts": ["nothing"]}, {"budget": {"outer": 5.0}}, "stopped"),
    "time_limit": ({"texts": ["nothing"], "slow": {"critique": 0.2}}, {"budget": {"seconds": 0.15}}, "stopped"),
    "phase_error": ({"texts": GOOD, "said": {"iteration.1/critique.1": "invalid"}}, {}, "failed"),
}
PRICES = {step: {"_target_": "looper.budget.Price", "outer": 2.0} for step in ("plan", "produce", "critique", "act")}


@pytest.mark.parametrize("reason", ENDS)
def test_every_reason_is_the_end_of_a_real_run(reason: str, tmp_path: Path) -> None:
    task, more, status = ENDS[reason]
    more = {**more, "budget": {"prices": PRICES, **more.get("budget", {})}}
    outcome = start(tmp_path / "r", task, **more)
    state = json.loads((tmp_path / "r/run.json").read_text())
    assert (outcome.status, outcome.reason) == (status, reason)
    assert (state["status"], state["stop"]) == (status, {"passed": outcome.passed, "reason": reason})
    assert history(tmp_path / "r")[-1].event == status
    assert outcome.passed == (reason == "threshold_reached")
    assert not (tmp_path / "current.json").exists()


def test_stagnation_with_blockers_says_so() -> None:
    run = play(page("nothing"))
    assert (run.outcome.reason, run.outcome.facts["blocked"]) == ("stagnation", True)
    assert run.events("iteration_advanced")[-1]["blocked"] is True
    lax = play(page("hello", thresholds={"A": 0.9, "B": 0.9}))
    assert (lax.outcome.reason, lax.outcome.facts["blocked"], len(lax.scores)) == ("stagnation", False, 3)


def asks_for_a_stop(path: Path, when: str) -> Any:
    def listener(event: Event) -> None:
        if event.event == when:
            Folder(path).stop_file().write_text("enough")

    return listener


def test_a_user_can_stop_it(tmp_path: Path) -> None:
    path = tmp_path / "r"
    outcome = start(path, {"texts": GOOD}, listeners=[asks_for_a_stop(path, "critique_done")])
    assert (outcome.status, outcome.reason, outcome.score) == ("stopped", "user_stop", 0.0)
    assert outcome.artifact == "nothing", "the best that was evaluated, not what nobody has seen"


def test_a_gate_that_is_met_comes_before_a_wish_to_stop_and_before_the_time_limit(tmp_path: Path) -> None:
    path = tmp_path / "r"
    outcome = start(path, {"texts": ["hello Ann bye"]}, listeners=[asks_for_a_stop(path, "phase_switched")])
    assert outcome.reason == "user_stop", "it came before the evaluation"
    path = tmp_path / "s"
    told: list[int] = []

    def listener(event: Event) -> None:
        if event.event == "evaluation_done" and event.phase == "B":
            told.append(1)
            asks_for_a_stop(path, "evaluation_done")(event)
            time.sleep(1.1)  # the time is up too

    texts = ["hello Ann bye"]
    outcome = start(path, {"texts": texts}, listeners=[listener], budget={"seconds": 1.0})
    assert told
    assert (outcome.status, outcome.reason) == ("completed", "threshold_reached")
    assert history(path)[-2].event == "iteration_advanced"


def test_a_wish_to_stop_comes_before_stagnation(tmp_path: Path) -> None:
    path = tmp_path / "r"

    def listener(event: Event) -> None:
        if event.event == "evaluation_done" and event.iteration == 4:
            Folder(path).stop_file().write_text("")

    assert start(path, {"texts": ["nothing"]}, listeners=[listener]).reason == "user_stop"
    assert play(page("nothing")).outcome.reason == "stagnation", "which comes before the iteration limit of 4"


def test_nobody_refines_what_nobody_can_pay_to_evaluate() -> None:
    prices = {step: Price(outer=2.0) for step in ("plan", "produce", "critique", "act")}
    run = play(page("nothing"), budget=Budget(inner=None, outer=9.0, prices=prices))
    assert run.outcome.reason == "budget_exhausted"
    assert [q.step for q in run.hall.asked] == ["plan", "produce"], "critique, act and plan would be 6, 5 are left"
    enough = play(page(*GOOD), budget=Budget(inner=None, outer=10.0, prices=prices))
    assert len(enough.scores) == 3


def test_a_budget_that_asks_pauses_and_goes_on_with_more(tmp_path: Path) -> None:
    path, budget = tmp_path / "r", {"prices": PRICES, "outer": 5.0, "on_limit": "ask"}
    outcome = start(path, {"texts": GOOD}, budget=budget)
    assert (outcome.status, outcome.reason) == ("paused", "confirm")
    assert start(path, {"texts": GOOD}, budget=budget | {"outer": 50.0}).reason == "threshold_reached"


# Best so far (SPEC 0.3)


def test_the_best_artifact_is_returned_not_the_last_one() -> None:
    run = play(page("nothing", "Ann", "nothing"), max_iterations=3, blocked=9)
    assert run.scores == pytest.approx([0, 1 / 3, 0])
    assert (run.outcome.artifact, run.outcome.score) == ("Ann", pytest.approx(1 / 3))


def test_a_pass_in_a_is_not_the_gate() -> None:
    run = play(page("hello Ann", "nothing"), max_iterations=2)
    assert run.scores == pytest.approx([1.0, 0.6, 0.0])
    assert (run.outcome.passed, run.outcome.score) == (False, pytest.approx(0.6)), "the score in B belongs to it"


def test_a_run_that_ends_before_b_is_evaluated_has_not_met_the_gate(tmp_path: Path) -> None:
    path = tmp_path / "r"
    outcome = start(path, {"texts": ["hello Ann"]}, listeners=[asks_for_a_stop(path, "phase_switched")])
    assert (outcome.reason, outcome.passed, outcome.score) == ("user_stop", False, 1.0)
    assert outcome.artifact == "hello Ann"


# Feedback arrives (SPEC 0.4)


def test_failures_come_with_their_notes_into_the_next_plan() -> None:
    run = play(page("Ann", "hello Ann bye"))
    first, second = run.hall.heard("plan")
    assert first["failures"] == []
    assert second["failures"] == [f"{HELLO}: no hello in Ann"], "of the artifact that was evaluated"


def test_the_critique_comes_into_the_change_and_the_failures_into_the_critique() -> None:
    issue = {"rule": HELLO, "problem": "nobody is greeted", "fix": "greet on the page", "sections": ["page"]}
    run = play(page(*GOOD, said={"iteration.1/critique.1": {"issues": [issue]}}))
    assert run.hall.heard("act")[0]["critique"].issues[0].fix == "greet on the page"
    heard = run.hall.heard("critique")[0]
    assert heard["notes"] == {HELLO: "no hello in nothing", NAME: "no Ann in nothing"}
    assert heard["evaluation"].failed == [HELLO, NAME]


def test_what_was_done_comes_into_the_next_change_with_what_it_led_to() -> None:
    run = play(page("nothing", "Ann", "hello Ann bye"))
    (entry,) = run.hall.heard("act")[1]["history"]
    assert entry["score"] == 0.0
    assert entry["action"].startswith(f"{HELLO}: meet the rule")
    assert entry["result"] == "3 characters", "of the change, not of the evaluation before it"


def test_the_last_entry_claims_no_change_that_was_not_made() -> None:
    log = play(page(*GOOD)).events("iteration_advanced")
    assert [entry["action"] != "" for entry in log] == [True, True, False]
    assert log[-1]["result"] == "3 of 3 rules pass"


def test_a_regression_is_listed_and_the_critique_names_it() -> None:
    quiet = {"issues": [{"rule": HELLO, "problem": "p", "fix": "f"}]}
    task = page("Ann", "nothing", "hello Ann bye", said={"iteration.2/critique.1": quiet})
    run = play(task)
    assert [entry["regressions"] for entry in run.events("iteration_advanced")] == [[], [NAME], []]
    assert run.hall.heard("critique")[1]["regressions"] == [NAME]
    issues = run.hall.heard("act")[1]["critique"].issues
    assert [issue.rule for issue in issues] == [HELLO, NAME], "the critic forgot it, the code does not"
    assert issues[1].problem.startswith("passed before")
    assert run.events("critique_done")[-1]["issues"][1]["rule"] == NAME


def test_a_critique_of_rules_that_did_not_fail_goes_back_once() -> None:
    strange = {"issues": [{"rule": "a.style.invented", "problem": "p", "fix": "f"}]}
    run = play(page(*GOOD, said={"iteration.1/critique.1": strange}))
    assert run.outcome.reason == "threshold_reached"
    assert [heard["refused"] for heard in run.hall.heard("critique")][:2] == [
        "", "a.style.invented: these rules did not fail, or do not exist",
    ]  # fmt: skip
    said = {"iteration.1/critique.1": strange, "iteration.1/critique.2": strange}
    outcome = play(page(*GOOD, said=said)).outcome
    assert (outcome.status, outcome.reason) == ("failed", "phase_error")
    assert "a.style.invented" in outcome.facts["detail"]


# PREPARE (SPEC 2.6)

ROWS = {HELLO: ("fail", ""), BYE: ("fail", "")}


def test_rules_in_words_are_prepared_a_phase_at_a_time() -> None:
    run = play(page("hello bye", rows=ROWS, words=[{HELLO: "hello"}], said={
        "iteration.1/prepare_checks.1": {"words": {BYE: "bye"}},
    }))  # fmt: skip
    assert run.outcome.reason == "threshold_reached"
    assert [[rule.id for rule in heard["rules"]] for heard in run.hall.heard("prepare_checks")] == [[HELLO], [BYE]]


def test_an_empty_check_is_prepared_again_once_and_then_replaced_and_reported() -> None:
    rows = {HELLO: ("fail", ""), NAME: ("warn", "")}
    again = play(page("hello Ann", rows=rows, words=[{HELLO: "", NAME: "Ann"}, {HELLO: "hello", NAME: "Ann"}]))
    second = again.hall.heard("prepare_checks")[1]
    assert (second["vacuous"], second["missing"], second["refused"].words[HELLO]) == ([HELLO], [], "")
    assert again.outcome.passed
    assert again.events("checks_replaced") == []
    never = play(page("hello Ann", rows=rows, words=[{HELLO: "", "a.style.strange": "x"}]), max_iterations=1)
    assert len(never.hall.heard("prepare_checks")) == 2
    assert never.hall.heard("prepare_checks")[1]["missing"] == [NAME]
    (told,) = never.events("checks_replaced")
    assert told == {"phase": "A", "rules": [HELLO, NAME], "by": "judge", "dropped": ["a.style.strange"]}


# Changes are measured (SPEC 2.7)


def test_what_changed_beside_the_critique_is_reported() -> None:
    run = play(page(*GOOD))
    assert [(e["changed"], e["unnamed"]) for e in run.events("refinement_done")] == [(["page"], ["page"])] * 2


# Contracts (SPEC 0.10)

ISSUE = '{"rule": "a.style.x", "problem": "p", "fix": "f"}'


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Critique, f'{{"issues": [{", ".join([ISSUE] * 6)}]}}'),
        (Critique, '{"issues": []}'),
        (Critique, "The page is fine as it is."),
        (Draft, '{"text": ""}'),
        (Draft, '{"text": " \\n "}'),
        (Draft, ""),
        (Steps, '{"steps": []}'),
        (Steps, f'{{"steps": [{", ".join(["1"] * 3)}]}}'),
        (Steps, '{"steps": ["a", "b", "c", "d", "e", "f"]}'),
        (Steps, '{"steps": ["a", " "]}'),
    ],
)
def test_an_answer_that_breaks_its_contract_is_refused(kind: Any, text: str) -> None:
    with pytest.raises(Unparsable):
        answer(Words(text=text), kind)


def served(path: Path, *said: Any, **task: Any) -> tuple[Any, list[Any]]:
    """A run whose critic is a model behind a server that says this."""
    with ModelServer(*(says(text) for text in said)) as server:
        model = {"model": "openai/test", "base_url": server.url, "price": {"input": 1.0, "output": 2.0}}
        parts = build(settings(path.parent, {"texts": GOOD, **task}, agents={"critic": model}), ["reflex_players"])
        outcome = launch(parts, path, sync=False)
        return outcome, list(server.requests)


def test_a_model_that_breaks_a_contract_is_told_once(tmp_path: Path) -> None:
    issue = {"rule": HELLO, "problem": "p", "fix": "greet"}
    good, six = json.dumps({"issues": [issue]}), json.dumps({"issues": [issue] * 6})
    later = json.dumps({"issues": [issue | {"rule": BYE}]})
    outcome, requests = served(tmp_path / "r", six, good, later)
    assert (outcome.reason, len(requests)) == ("threshold_reached", 3)
    assert "at most 5" in json.dumps(requests[1]), "the complaint is in the second request"
    outcome, requests = served(tmp_path / "s", six, "The page is nice. Score 1.0, passed.")
    assert (outcome.status, outcome.reason, len(requests)) == ("failed", "phase_error", 2)


# The setup (SPEC 2.9)


def test_the_setup_is_confirmed_before_anything_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "r"
    outcome = start(path, {"texts": GOOD}, confirm=None)
    assert (outcome.status, outcome.reason) == ("paused", "confirm")
    assert not [event for event in history(path) if event.event == "plan_created"]
    no = start(path, {"texts": GOOD}, confirm=None, answers={"confirm.1": "no"})
    assert (no.status, no.reason) == ("stopped", "user_stop")


def test_an_edited_setup_holds_also_after_a_resume_and_is_in_run_json(tmp_path: Path) -> None:
    path, task = tmp_path / "r", {"texts": ["nothing", "Ann", "Ann"], "said": {}}
    word = json.dumps({"thresholds": {"A": 0.5}, "leave_out": [HELLO], "max_iterations": 2})
    start(path, task, confirm=None)

    def dies(event: Event) -> None:
        if event.event == "iteration_advanced":
            raise Killed

    with pytest.raises(Killed):
        start(path, task, confirm=None, answers={"confirm.1": word}, listeners=[dies])
    outcome = start(path, task, confirm=None)
    state = json.loads((path / "run.json").read_text())
    assert state["max_iterations"] == 2
    assert [rule["id"] for rule in state["criteria"]["rules"]] == [NAME, BYE]
    assert [phase["threshold"] for phase in state["criteria"]["phases"]] == [0.5, 0.9]
    assert (outcome.reason, outcome.facts["iterations"]) == ("iteration_limit", 2)
    looks = [event.payload for event in history(path) if event.event == "evaluation_done"]
    assert [(look["phase"], look["total_rules"]) for look in looks] == [("A", 1), ("A", 1), ("B", 2)]


def test_roles_see_the_rules_as_they_were_edited() -> None:
    task = page("Ann bye", said={"confirm.1": {"decision": "edit", "leave_out": [HELLO]}})
    for _again in range(2):
        run = play(task, confirmation=True)
        assert run.outcome.reason == "threshold_reached"
        assert [heard["rules"] for heard in run.hall.heard("plan")] == [f"{NAME} {BYE}"]


def test_a_task_whose_rules_are_fixed_refuses_the_edit_by_name() -> None:
    class Fixed(type(page("x"))):
        amend = None

    said = {"confirm.1": {"decision": "edit", "leave_out": [HELLO]}}
    outcome = play(Fixed(texts=["x"], said=said), confirmation=True).outcome
    assert (outcome.status, outcome.reason) == ("failed", "phase_error")
    assert "cannot be edited" in outcome.facts["detail"]


# Durability (SPEC 0.9, 2.10; SAFETY P2, P5)


def test_the_design_conforms_on_tasks_of_both_kinds() -> None:
    check_loop(Reflex(confirmation=False), Dial(), kills=99)
    check_loop(Reflex(), page(*GOOD), kills=99)


def finished(events: list[Event]) -> list[tuple[str, str, Any]]:
    return sorted((e.key, e.inputs, json.dumps(e.payload)) for e in events if e.key)


TALE: dict[str, Any] = {
    "texts": ["nothing", "hello", "hello Ann bye"],
    "rows": {HELLO: ("fail", ""), NAME: ("warn", "Ann"), BYE: ("fail", "")},
    "words": [{HELLO: ""}, {HELLO: "hello"}],
    "said": {
        "iteration.2/prepare_checks.1": {"words": {BYE: "bye"}},
        "confirm.1": {"decision": "edit", "max_iterations": 3},
    },
}
"""Prepared twice, failed, refined, switched to B, refined."""


def test_a_run_killed_before_and_after_each_line_comes_to_the_same_end(tmp_path: Path) -> None:
    whole = Journal()
    end = play(_tale(), whole, confirmation=True).outcome
    assert end.reason == "threshold_reached"
    for after in (False, True):
        for at in range(1, len(whole.events) + 1):
            path = tmp_path / f"{at}{after}" / "history.jsonl"
            dying = Dying(path, at=at, after=after)
            with pytest.raises(Killed):
                play(_tale(), dying, confirmation=True)
            dying.close()
            journal = Journal(path, sync=False)
            assert play(_tale(), journal, confirmation=True).outcome == end, f"killed at {at}"
            assert finished(journal.events) == finished(whole.events), f"killed at {at}"
            journal.close()


def _tale() -> Any:
    fields = dict(TALE)
    return page(*fields.pop("texts"), **fields)


def test_run_json_is_a_function_of_every_prefix_of_the_history(tmp_path: Path) -> None:
    path = tmp_path / "r"
    written: dict[int, bytes] = {}

    def keeps(event: Event) -> None:
        known = read(path / "history.jsonl").events[: event.seq]  # side by side another line may follow already
        written[event.seq] = json.dumps(fold(known, path)).encode()

    start(path, TALE, listeners=[keeps])
    lines = (path / "history.jsonl").read_bytes().splitlines(keepends=True)
    whole = (path / "run.json").read_bytes()
    assert len(written) == len(lines)
    for number, before in written.items():
        copy = tmp_path / f"p{number}"
        copy.mkdir()
        (copy / "history.jsonl").write_bytes(b"".join(lines[:number]))
        assert json.dumps(fold(read(copy / "history.jsonl").events, copy)).encode() == before
    (path / "run.json").unlink()
    journal = Journal(path / "history.jsonl", run_id="r", sync=False)
    Folder(path).save(journal)
    journal.close()
    assert (path / "run.json").read_bytes() == whole


def test_run_json_has_the_fields_of_document_003_during_and_after_a_run(tmp_path: Path) -> None:
    path = tmp_path / "r"
    seen: list[tuple[str, str, Any]] = []

    def keeps(event: Event) -> None:
        state = fold(read(path / "history.jsonl").events[: event.seq], path)
        seen.append((event.event, state["current_step"], state))

    start(path, {**TALE, "said": {"iteration.2/prepare_checks.1": {"words": {BYE: "bye"}}}}, listeners=[keeps])
    steps = [step for _, step, _ in seen if step]
    assert set(steps) == {"PLAN", "PRODUCE", "PREPARE", "EVALUATE", "CRITIQUE", "REFINE"}
    state = json.loads((path / "run.json").read_text())
    assert state["plan"] == ["write", "read"]
    assert state["prepared_checks"] == {"words": {BYE: "bye"}}
    assert (state["evaluation"]["passed"], state["last_score"], state["phase"], state["iteration"]) == (
        True,
        1.0,
        "B",
        3,
    )
    assert state["critique"]["issues"][0]["rule"]
    assert (state["stagnation_count"], state["max_iterations"], state["design"]) == (0, 4, "reflex")
    assert "hello Ann bye" not in json.dumps(state), "the artifact is never in run.json"
    assert (path / "artifact.md").read_text() == "hello Ann bye"
    during = next(found for event, _, found in seen if event == "critique_done")
    assert (during["status"], during["last_score"], during["plan"]) == ("running", 0.0, ["write", "read"])


# What people see (SPEC 2.12)


def told(path: Path, task: dict[str, Any], **more: Any) -> list[str]:
    block = Block(path, 4)
    lines: list[str] = []
    start(path, task, listeners=[lambda event: lines.extend(block.take(event))], **more)
    return lines


def test_each_iteration_has_its_block_and_its_score_belongs_to_its_artifact(tmp_path: Path) -> None:
    lines = told(tmp_path / "r", {"texts": GOOD})
    heads = [line for line in lines if line.startswith("──")]
    assert heads == [
        "── Iteration 1/4 | Phase A | Score: 0.00 | FAIL ──", "── Iteration 2/4 | Phase A | Score: 1.00 | PASS ──",
        "── Iteration 2/4 | Phase B | Score: 0.60 | FAIL ──", "── Iteration 3/4 | Phase B | Score: 1.00 | PASS ──",
    ]  # fmt: skip
    hashes = [line for line in lines if line.startswith("Hash:")]
    assert hashes[0] == f"Hash: {sha256(b'nothing').hexdigest()[:8]}", "sha256 of `nothing`, not of what replaced it"
    assert hashes[1] == hashes[2] != hashes[3]
    changes = [line for line in lines if line.startswith("Changed")]
    assert changes == ["Changed: initial generation", *(
        "Changed: page", "Changed without being named by the critique: page", "Changed: nothing", "Changed: page",
        "Changed without being named by the critique: page",
    )]  # fmt: skip
    assert "Plan: write; read" in lines
    assert f"  {HELLO}: meet the rule {HELLO}" in lines


def test_the_artifact_that_passed_a_is_shown_once_in_full(tmp_path: Path) -> None:
    text = "hello Ann\n" + "\n".join(f"line {n}" for n in range(200))
    lines = told(tmp_path / "r", {"texts": [text, text + "\nbye"]})
    assert lines.count(text) == 1


def test_the_final_summary_tells_the_distance_to_success(tmp_path: Path) -> None:
    start(tmp_path / "r", {"texts": ["nothing", "Ann"]}, loop={"max_iterations": 2})
    lines = final_summary(Story.of(Folder(tmp_path / "r")))
    assert {"iteration: 2/2", "phase: A", "final_score: 0.33 (gate not met)", "stop_reason: iteration_limit"} <= set(
        lines
    )
    at = lines.index("distance to success:")
    assert lines[at + 1] == "  threshold 0.60, final score 0.33, gap 0.27"
    assert lines[at + 2 : at + 4] == [f"  failed rules that block: 1 ({HELLO})", "  rules passed: 1/2"]
    assert "  Ann" in lines, "the artifact in full"


def test_a_regression_is_in_the_block_and_an_agreed_limit_in_its_head(tmp_path: Path) -> None:
    said = {"confirm.1": {"decision": "edit", "max_iterations": 3}}
    path = tmp_path / "r"
    start(path, {"texts": ["Ann", "nothing", "hello"]}, confirm=None)
    block = Block(path, 4)
    lines: list[str] = []
    answers = {"confirm.1": json.dumps(said["confirm.1"])}
    listeners = [lambda event: lines.extend(block.take(event))]
    start(path, {"texts": ["Ann", "nothing", "hello"]}, confirm=None, answers=answers, listeners=listeners)
    assert f"Regressions: {NAME}" in lines
    assert lines[0].startswith("── Iteration 1/3 ")
