"""Feedback, its resolution by owners and versions, remarks (SPEC 4.2, 4.5)."""

import pytest
from cabal_boards import (
    LOG,
    PAGE,
    PRICE,
    assigned,
    at,
    concern,
    founded,
    refused,
    said,
    state,
    version,
    written,
)

from looper.loops.cabal.board.feedback import collaborate, remark, remarks_for, resolve
from looper.loops.cabal.board.operations import (
    FeedbackAnswer,
    Mark,
    NewRemark,
    Resolution,
)
from looper.loops.cabal.board.rounds import begin_round, enter
from looper.loops.cabal.board.table import Board
from looper.loops.cabal.board.tree import mark
from looper.loops.cabal.board.writing import to_address, write


def answers(*said: tuple[str, str]) -> list[FeedbackAnswer]:
    return [FeedbackAnswer.model_validate({"collab": c, "outcome": o, "reason": "because"}) for c, o in said]


def resolved(board: Board, who: str, collab: str, outcome: str = "accepted") -> Board:
    return resolve(board, who, Resolution.model_validate({"collab": collab, "outcome": outcome, "reason": "because"}))


# Feedback


def test_feedback_is_open_until_the_owner_decides() -> None:
    board = said(at(founded(), "reflect"), "o2", PAGE)
    one = board.collabs[0]
    assert (one.id, one.state, one.version, one.round, one.step) == ("c1", "open", 0, 1, "reflect")
    for outcome in ("accepted", "deferred", "rejected"):
        after = resolved(board, "o1", "c1", outcome)
        assert (after.collabs[0].state, after.collabs[0].reason) == (outcome, "because")
        assert "already" in refused(after, resolved(after, "o1", "c1"))


@pytest.mark.parametrize("who", ["o2", "o3"])
def test_nobody_but_the_owner_resolves_feedback(who: str) -> None:
    board = said(at(founded(), "reflect"), "o2", PAGE)
    assert "only its owner resolves it" in refused(board, resolved(board, who, "c1"))
    assert "only its owner resolves it" in refused(enter(board, "plan"), resolved(enter(board, "plan"), "chair", "c1"))


def test_the_chair_resolves_feedback_on_its_own_products() -> None:
    board = enter(said(at(founded(), "reflect"), "o2", LOG), "plan")
    assert resolved(board, "chair", "c1", "rejected").collabs[0].state == "rejected"


def test_unknown_ids_in_feedback_are_rejected() -> None:
    board = at(founded(), "reflect")
    assert "no product p9" in refused(board, said(board, "o1", "p9"))
    assert "no feedback c9" in refused(board, resolved(board, "o1", "c9"))


def test_duplicate_feedback_is_rejected_as_a_duplicate() -> None:
    board = said(at(founded(), "reflect"), "o2", PAGE, text="Too long")
    again = said(board, "o2", PAGE, 9, text=" too  LONG ")
    assert "A duplicate of your c1 (open)" in refused(board, again)
    assert len(said(board, "o3", PAGE, text="Too long").collabs) == 2
    assert len(said(board, "o2", PRICE, text="Too long").collabs) == 2
    rejected = resolved(board, "o1", "c1", "rejected")
    assert "A duplicate of your c1 (rejected)" in refused(rejected, said(rejected, "o2", PAGE, text="Too long"))


def test_feedback_that_holds_again_after_it_was_addressed_is_no_duplicate() -> None:
    board = said(at(written(founded(), PAGE), "review"), "o2", PAGE, 8)
    board = written(board, PAGE, "Better.", answers=answers(("c1", "addressed")))
    assert len(said(at(board, "review"), "o2", PAGE, 8).collabs) == 2


def test_reviewers_speak_about_written_work_of_others() -> None:
    board = at(written(founded(), PAGE), "review")
    assert "no version" in refused(board, said(board, "o1", PRICE))
    assert "your own work" in refused(board, said(board, "o1", PAGE))
    reviewed = said(board, "o2", PAGE)
    assert state(reviewed, PAGE).status == "reviewed"
    other = at(written(founded(), PAGE, by="o3"), "review")
    assert "your own work" in refused(other, said(other, "o3", PAGE))


def test_rejected_products_get_no_feedback() -> None:
    board = mark(at(founded(), "plan"), "chair", Mark(product=PAGE, status="rejected", reason="r"))
    board = at(board, "write")
    assert "out of the mission" in refused(board, said(board, "o2", PAGE))


# Feedback to be addressed


def marked() -> Board:
    """c1 is named by the chair, c2 accepted by the owner, c3 a flag, c4 is none of these, c5 praise; all on p2."""
    board = at(founded(), "reflect")
    for number, importance in enumerate((5, 5, 8, 7), 1):
        board = said(board, "o2", PAGE, importance, text=f"issue {number}")
    board = collaborate(board, "o2", concern(PAGE, 10, "Splendid.", kind="endorsement"))
    return at(assigned(resolved(board, "o1", "c2"), PAGE, address=["c1"]), "write")


def test_what_must_be_addressed_is_named_promised_or_a_flag() -> None:
    assert [one.id for one in to_address(marked(), PAGE)] == ["c1", "c2", "c3"]


@pytest.mark.parametrize("left", ["c1", "c2", "c3"])
def test_a_version_that_leaves_feedback_unanswered_is_rejected(left: str) -> None:
    board = marked()
    given = answers(*((one, "addressed") for one in ("c1", "c2", "c3") if one != left))
    reason = refused(board, write(board, "o1", version(PAGE, "Text.", answers=given)))
    assert reason.startswith(f"{left} must be addressed")


def test_answers_of_the_owner_resolve_the_feedback() -> None:
    given = answers(("c1", "deferred"), ("c2", "addressed"), ("c3", "rejected"))
    board = write(marked(), "o1", version(PAGE, "Text.", answers=given))
    assert [(one.state, one.addressed) for one in board.collabs[:3]] == [
        ("deferred", 0),
        ("accepted", 1),
        ("rejected", 0),
    ]
    assert [one.collab for one in board.versions[0].answers] == ["c1", "c2", "c3"]
    assert not board.rejections


def test_answers_of_another_assignee_wait_for_the_owner() -> None:
    board = said(at(founded(), "reflect"), "o2", PAGE, 8)
    board = written(board, PAGE, by="o3", answers=answers(("c1", "addressed")))
    assert (board.collabs[0].state, board.collabs[0].addressed) == ("open", 0)
    assert board.versions[0].answers[0].outcome == "addressed"
    board = resolved(at(board, "reflect"), "o1", "c1")
    assert board.collabs[0].stands, "accepted, and nothing was written since"


def test_an_answer_to_something_else_is_rejected_and_the_version_stays() -> None:
    board = at(assigned(founded(), PAGE), "write")
    board = write(board, "o1", version(PAGE, "Text.", answers=answers(("c9", "addressed"))))
    assert (board.number(PAGE), board.rejections[-1].operation) == (1, "answer to c9")


def test_an_answer_is_given_once() -> None:
    board = marked()
    given = answers(*((one, "addressed") for one in ("c1", "c2", "c3", "c3")))
    assert "c3: answered twice" in refused(board, write(board, "o1", version(PAGE, "Text.", answers=given)))


# Remarks


def test_remarks_reach_those_they_are_for() -> None:
    board = at(founded(), "reflect")
    for op in (
        NewRemark(target="self", text="to me"),
        NewRemark(target="team", text="to all", kind="blocker"),
        NewRemark(target="agent", agent="o2", text="to Ivo"),
        NewRemark(target="user", text="to you", kind="question"),
    ):
        board = remark(board, "o1", op)
    assert [one.id for one in board.remarks] == ["r1", "r2", "r3", "r4"]
    read = {who: [one.text for one in remarks_for(board, who)] for who in ("o1", "o2", "o3", "chair", "user")}
    assert read == {
        "o1": ["to me"], "o2": ["to all", "to Ivo"], "o3": ["to all"], "chair": ["to all"], "user": ["to you"],
    }  # fmt: skip
    later = begin_round(begin_round(board))
    assert [one.text for one in remarks_for(later, "o1")] == ["to me"], "notes to oneself stay"
    assert remarks_for(later, "o2") == []


def test_a_remark_to_nobody_is_rejected() -> None:
    board = at(founded(), "reflect")
    for agent in ("", "o9"):
        assert "name one of chair" in refused(
            board, remark(board, "o1", NewRemark(target="agent", agent=agent, text="t"))
        )
