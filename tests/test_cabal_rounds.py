"""The course of a mission: overrides, halts, context requests, rounds, session log, Change Log (SPEC 4)."""

from typing import Any

import pytest
from cabal_boards import (
    KIT,
    LOG,
    PAGE,
    PRICE,
    assigned,
    at,
    done,
    founded,
    inspected,
    product,
    refused,
    version,
    written,
)

from looper.loops.cabal.board.acceptance import accept, all_accepted
from looper.loops.cabal.board.answers import ANSWERS, Alternatives, Assignments, Told
from looper.loops.cabal.board.feedback import remark
from looper.loops.cabal.board.mission import answer_halt, finish, halt, override, present, request, requests_left
from looper.loops.cabal.board.operations import (
    Mark,
    NewRemark,
    Override,
)
from looper.loops.cabal.board.rounds import begin_round, close_round, enter, new_work, reflecting, take, writing
from looper.loops.cabal.board.table import open_board, rejections_of, unknown
from looper.loops.cabal.board.tree import mark
from looper.loops.cabal.board.writing import write

# Mission


def test_overrides_take_effect_in_the_next_round() -> None:
    op = Override.model_validate(
        {"mission": "Sell", "constraints": [], "members": [{"member": "o2", "area": "law"}, {"member": "chair"}]}
    )
    before = at(founded(), "plan")
    board = override(before, "chair", op)
    assert (board.mission, board.members) == (before.mission, before.members)
    assert "chair is no operative" in board.rejections[-1].reason
    board = override(board, "chair", Override(objectives=["Win"]))
    after = begin_round(board)
    assert (after.mission, after.objectives, after.constraints) == ("Sell", ("Win",), ())
    assert [(one.area, one.responsibility) for one in after.operatives()][1] == ("law", "prices and margins")
    assert after.pending is None


def test_a_halt_waits_for_its_answer() -> None:
    board = halt(at(founded(), "plan"), "chair", "Which market?")
    assert board.halts[0].answer == ""
    assert answer_halt(board, "Norway").halts[0].answer == "Norway"
    assert "no question" in refused(board, halt(board, "chair", "  "))
    with pytest.raises(ValueError, match="no question waits"):
        answer_halt(answer_halt(board, "Norway"), "Sweden")


def test_context_is_requested_three_times_a_step_for_five_products() -> None:
    board = at(founded(product("Fifth", "o1"), product("Sixth", "o1")), "reflect")
    assert "ask for 1 to 5" in refused(board, request(board, "o1", ["p1", "p2", "p3", "p4", "p5", "p6"]))
    assert "ask for 1 to 5" in refused(board, request(board, "o1", []))
    assert "no product p9" in refused(board, request(board, "o1", ["p9"]))
    for left in (3, 2, 1):
        assert requests_left(board, "o1") == left
        board = request(board, "o1", ["p1", "p2"])
    assert "final output now" in refused(board, request(board, "o1", ["p1"]))
    assert requests_left(board, "o2") == 3
    assert requests_left(begin_round(board), "o1") == 3


def test_done_is_taken_only_when_the_deliverables_are_accepted() -> None:
    board = at(founded(), "plan")
    assert "Not accepted yet: p1, p2, p3" in refused(board, finish(board, "chair"))
    board = done(done(done(board, PAGE), PRICE, "Ten.", "o2"), KIT)
    assert finish(at(board, "plan"), "chair").rejections == board.rejections


def test_done_without_deliverables_is_not_done() -> None:
    board = at(founded(), "plan")
    for one in (KIT, PAGE, PRICE):
        board = mark(board, "chair", Mark(product=one, status="rejected", reason="not needed"))
    assert "there is no deliverable" in refused(board, finish(board, "chair"))


# Rounds


def test_the_session_log_takes_facts_from_the_board() -> None:
    board = at(done(founded(), PAGE), "present")
    messages = [{"member": one, "text": "Hello."} for one in ("o1", "o2", "ghost")]
    op = Told.model_validate({"messages": messages, "accepted": [PAGE, PRICE], "blocked": [KIT]})
    board = present(board, "envoy", op)
    told = board.sessions[0]
    assert ([one.member for one in told.messages], told.accepted, told.blocked) == (["o1", "o2"], (PAGE,), ())
    assert [one.operation for one in board.rejections] == [
        "message of ghost", "accepted of the session log", "blocked of the session log",
    ]  # fmt: skip
    assert "told already" in refused(board, present(board, "envoy", op))


def test_steps_come_in_their_order_and_bootstrap_only_in_round_0() -> None:
    board = at(founded(), "plan")
    for step in ("bootstrap", "reflect"):
        with pytest.raises(ValueError, match=r"step|after"):
            enter(board, step)
    with pytest.raises(ValueError, match="has no step"):
        enter(open_board(), "plan")
    assert enter(founded(), "present").step == "present"
    with pytest.raises(ValueError, match="is closed"):
        close_round(close_round(board))


def test_who_has_something_to_do_follows_from_the_board() -> None:
    board = at(founded(), "reflect")
    assert reflecting(board) == []
    assert reflecting(remark(board, "o1", NewRemark(target="team", text="t"))) == ["o2", "o3"]
    board = assigned(assigned(board, PAGE), PRICE, "o2")
    assert writing(board) == {"o1": [PAGE], "o2": [PRICE]}
    assert new_work(board) == []
    board = write(at(board, "write"), "o1", version(PAGE, "Text."))
    assert (writing(board), new_work(board)) == ({"o2": [PRICE]}, [PAGE])
    assert reflecting(begin_round(board)) == ["o1"]
    assert new_work(write(at(founded(), "plan"), "chair", version(LOG, "We begin."))) == [], (
        "meta products are not new work"
    )


def test_the_change_log_has_an_entry_for_every_round() -> None:
    board = close_round(founded())
    assert board.entries[0].lines == (
        "Created: Launch kit (p1), for o1; Landing page (p2), for o1; Price list (p3), for o2; Change Log (p4), by the "
        "rules",
    )
    board = close_round(begin_round(board))
    assert board.entries[1].lines == ("Nothing changed.",)
    board = close_round(done(inspected(written(begin_round(board), PRICE, "Ten.", "o2"), PRICE, 9), PAGE))
    lines = " | ".join(board.entries[2].lines)
    for part in ("Assigned:", "Written: Price list (p3), v1 a new text", "Reviewed: Price list (p3), blocked"):
        assert part in lines


def test_a_rejection_says_who_when_what_and_why_and_reaches_its_author() -> None:
    board = at(assigned(founded(), PAGE), "write")
    board = write(board, "o1", version(PRICE, "Text."))
    one = board.rejections[0]
    assert (one.round, one.step, one.author, one.operation) == (1, "write", "o1", "version of p3")
    assert rejections_of(board, "o1") == [one]
    assert rejections_of(begin_round(board), "o1") == [one]
    assert rejections_of(begin_round(begin_round(board)), "o1") == []
    assert rejections_of(board, "o2") == []
    assert unknown(founded(), "").startswith("There is no product (empty)")


def answer(step: str, **final: Any) -> Alternatives:
    return ANSWERS[step].model_validate({"final_output": final})


def test_whole_answers_are_taken_from_bootstrap_to_presentation() -> None:
    member = {"key": "copy", "name": "Mara", "persona": "p", "responsibility": "r", "area": "a"}
    page = {"key": "page", "title": "Page", "type": "content", "owner": "copy", "done": ["It is complete."]}
    other = member | {"key": "price", "name": "Ivo"}
    board = take(open_board(), "chair", answer("bootstrap", mission="m", objectives=["o"], team=[member, other],
                                               products=[page]))  # fmt: skip
    board = at(board, "reflect")
    issue = {"product": "p1", "importance": 5, "text": "Name the price."}
    note = {"target": "team", "text": "I begin."}
    board = take(board, "o2", answer("reflect", assessment="Nothing yet.", collabs=[issue], remarks=[note]))
    yes = {"collab": "c1", "outcome": "accepted", "reason": "yes"}
    board = take(board, "o1", answer("reflect", assessment="Ready.", resolutions=[yes]))
    board = enter(board, "plan")
    assert take(board, "chair", Assignments(halt="Which market?")).halts[0].question == "Which market?"
    assert take(board, "chair", Assignments(request_context=["p1"])).requests[0].products == ("p1",)
    task = {"assignee": "o1", "product": "p1", "objective": "Write it."}
    log = {"product": "p2", "content": "We begin.", "summary": "s"}
    more = {"overrides": {"mission": "new"}, "versions": [log], "done": True}
    board = take(board, "chair", answer("plan", assignments=[task], remarks=[note], **more))
    board = enter(board, "write")
    text = {"product": "p1", "content": "Ten.", "summary": "s", "answers": [yes | {"outcome": "addressed"}]}
    board = take(board, "o1", answer("write", versions=[text], remarks=[note]))
    board = take(enter(board, "review"), "o2", answer("review", collabs=[issue | {"text": "Good."}], remarks=[note]))
    seen = {"product": "p1", "checklist": [{"item": 1, "met": True, "note": "seen"}], "verdict": "blocked"}
    board = accept(take(enter(board, "inspect"), "watchdog", answer("inspect", inspections=[seen], remarks=[note])))
    told = [{"member": "o1", "text": "Done."}] * 3
    board = take(enter(board, "present"), "envoy", answer("present", messages=told, accepted=["p1"]))
    assert [one.operation for one in board.rejections] == ["done"], "what was not accepted yet was not done"
    assert [len(found) for found in (board.versions, board.collabs, board.remarks, board.thoughts)] == [2, 2, 5, 2]
    assert (board.sessions[0].accepted, board.pending is None) == (("p1",), False)
    assert all_accepted(board)
