"""What code decides: verdicts, acceptance, re-opening, the end of a mission (SPEC 4.3, 4.4, 4.8)."""

import pytest
from cabal_boards import (
    KIT,
    LOG,
    PAGE,
    PRICE,
    assigned,
    at,
    concern,
    done,
    founded,
    inspected,
    inspection,
    product,
    refused,
    said,
    state,
    version,
    written,
)

from looper.loops.cabal.board.acceptance import (
    accept,
    all_accepted,
    deliverables,
    open_importance,
    shortfalls,
    stagnant,
    verdict_of,
)
from looper.loops.cabal.board.feedback import collaborate, inspect, resolve
from looper.loops.cabal.board.operations import FeedbackAnswer, Mark, NewInspection, Reparent, Resolution, UpdateProduct
from looper.loops.cabal.board.rounds import begin_round, close_round
from looper.loops.cabal.board.table import Board
from looper.loops.cabal.board.tree import create, mark, reparent, update
from looper.loops.cabal.board.writing import write


def lifted(board: Board, collab: str, who: str = "o1") -> Board:
    return resolve(at(board, "reflect"), who, Resolution(collab=collab, outcome="rejected", reason="it is not so"))


def addressed(collab: str) -> list[FeedbackAnswer]:
    return [FeedbackAnswer(collab=collab, outcome="addressed", reason="done")]


@pytest.mark.parametrize(
    ("findings", "verdict"),
    [
        ([], "approved"), ([1], "approved"), ([4, 4], "approved"), ([5], "needs_revision"), ([1, 7], "needs_revision"),
        ([8], "blocked"), ([10, 1], "blocked"),
    ],
)  # fmt: skip
def test_the_verdict_follows_from_the_findings(findings: list[int], verdict: str) -> None:
    assert verdict_of(findings) == verdict
    board = inspected(written(founded(), PAGE), PAGE, *findings)
    assert board.inspections[0].verdict == verdict


@pytest.mark.parametrize("word", ["approved", "needs_revision", "blocked"])
@pytest.mark.parametrize("findings", [[], [6], [9]])
def test_the_watchdogs_own_word_is_kept_and_decides_nothing(word: str, findings: list[int]) -> None:
    board = accept(inspected(written(founded(), PAGE), PAGE, *findings, verdict=word))
    one = board.inspections[0]
    assert (one.said, one.verdict) == (word, verdict_of(findings))
    assert (state(board, PAGE).status == "accepted") == (not findings)


def test_findings_become_feedback_that_names_its_criterion() -> None:
    board = inspected(written(founded(), PAGE), PAGE, 3, 9)
    assert [(one.author, one.criterion, one.importance, one.kind) for one in board.collabs] == [
        ("watchdog", "It has a headline.", 3, "concern"), ("watchdog", "It has a headline.", 9, "concern"),
    ]  # fmt: skip
    for said_, kept in (("2", "It names the price."), ("it names the PRICE.", "It names the price."),
                        ("Integration", "integration")):  # fmt: skip
        findings = [{"criterion": said_, "importance": 2, "text": "t"}]
        after = inspected(written(founded(), PAGE), PAGE, findings=findings)
        assert after.collabs[0].criterion == kept


@pytest.mark.parametrize("criterion", ["", "0", "3", "beauty", "²"])
def test_a_finding_without_a_criterion_leaves_no_inspection(criterion: str) -> None:
    board = at(written(founded(), PAGE), "inspect")
    findings = [
        {"criterion": criterion, "importance": 9, "text": "bad"},
        {"criterion": "1", "importance": 8, "text": "x"},
    ]
    after = inspect(board, "watchdog", inspection(board, PAGE, findings=findings))
    assert after.inspections == ()
    assert [one.text for one in after.collabs] == ["x"], "what can be measured is kept"
    assert all("name a number from 1 to 2" in one.reason for one in after.rejections)
    assert state(accept(after), PAGE).status != "accepted"


def test_feedback_of_the_watchdog_names_a_criterion_too() -> None:
    board = at(written(founded(), PAGE), "inspect")
    assert "name a number" in refused(board, collaborate(board, "watchdog", concern(PAGE)))


@pytest.mark.parametrize(
    ("items", "reason"),
    [([1], "items 2 are missing"), ([], "items 1, 2 are missing"), ([1, 2, 3], "items 3 are unknown"),
     ([1, 2, 2], "items 2 are unknown or given twice")],
)  # fmt: skip
def test_an_inspection_has_every_item_once(items: list[int], reason: str) -> None:
    board = at(written(founded(), PAGE), "inspect")
    checklist = [{"item": item, "met": True, "note": "seen"} for item in items]
    assert reason in refused(board, inspect(board, "watchdog", inspection(board, PAGE, checklist=checklist)))


def test_an_inspection_without_notes_is_no_answer() -> None:
    with pytest.raises(ValueError, match="note"):
        NewInspection.model_validate({"product": PAGE, "checklist": [{"item": 1, "met": True}], "verdict": "approved"})


def test_only_what_has_a_version_is_inspected() -> None:
    board = at(founded(), "inspect")
    assert "nothing to inspect" in refused(board, inspected(board, PAGE))
    op = NewInspection(product="p9", checklist=[], verdict="approved")
    assert "no product p9" in refused(board, inspect(board, "watchdog", op))
    gone = mark(at(written(founded(), PAGE), "plan"), "chair", Mark(product=PAGE, status="rejected", reason="r"))
    gone = at(gone, "inspect")
    assert "out of the mission" in refused(gone, inspected(gone, PAGE))


# Acceptance


def test_a_product_that_fulfils_everything_is_accepted_in_the_same_round() -> None:
    board = done(founded(), PAGE)
    assert (state(board, PAGE).status, board.round) == ("accepted", 1)


def test_without_an_inspection_nothing_is_accepted() -> None:
    board = said(at(written(founded(), PAGE), "review"), "o2", PAGE, 2)
    assert state(accept(board), PAGE).status == "reviewed"
    assert shortfalls(board, state(board, PAGE)) == ["version 1 is not inspected"]
    assert shortfalls(board, state(board, PRICE)) == ["there is no version"]


def test_an_inspection_of_an_older_version_does_not_count() -> None:
    board = said(at(written(inspected(written(founded(), PAGE), PAGE), PAGE, "New."), "review"), "o2", PAGE, 1)
    assert state(accept(board), PAGE).status == "reviewed"


def test_every_checklist_item_must_be_met() -> None:
    board = accept(inspected(written(founded(), PAGE), PAGE, met=False))
    assert state(board, PAGE).status == "reviewed"
    assert shortfalls(board, state(board, PAGE)) == ["not met: It has a headline.", "not met: It names the price."]


def test_a_needed_revision_is_not_accepted_and_not_blocked() -> None:
    assert state(accept(inspected(written(founded(), PAGE), PAGE, 5)), PAGE).status == "reviewed"


def test_a_blocked_verdict_blocks() -> None:
    board = accept(inspected(written(founded(), PAGE), PAGE, 8))
    assert state(board, PAGE).status == "blocked"


def test_an_open_flag_of_a_peer_blocks_acceptance_until_the_owner_decides() -> None:
    board = said(at(written(founded(), PAGE), "review"), "o2", PAGE, 8)
    board = accept(inspected(board, PAGE))
    assert state(board, PAGE).status == "blocked"
    board = lifted(begin_round(close_round(board)), "c1")
    assert state(board, PAGE).status == "reviewed"
    assert state(accept(board), PAGE).status == "accepted"


@pytest.mark.parametrize(("importance", "kind", "status"), [(7, "concern", "accepted"), (10, "endorsement", "accepted"),
                                                            (8, "question", "blocked")])  # fmt: skip
def test_what_is_no_flag_does_not_block(importance: int, kind: str, status: str) -> None:
    board = at(written(founded(), PAGE), "review")
    board = collaborate(board, "o2", concern(PAGE, importance, kind=kind))
    assert state(accept(inspected(board, PAGE)), PAGE).status == status


def test_a_promise_does_not_lift_a_flag_and_a_version_that_keeps_it_does() -> None:
    board = said(at(written(founded(), PAGE), "review"), "o2", PAGE, 9)
    board = begin_round(close_round(accept(inspected(board, PAGE))))
    board = resolve(board, "o1", Resolution(collab="c1", outcome="accepted", reason="yes"))
    assert state(accept(board), PAGE).status == "blocked"
    board = done(board, PAGE, "Better.", answers=addressed("c1"))
    assert state(board, PAGE).status == "accepted"


def test_a_lifted_flag_does_not_lift_the_verdict() -> None:
    board = accept(inspected(written(founded(), PAGE), PAGE, 9))
    board = lifted(begin_round(close_round(board)), "c1")
    assert state(accept(board), PAGE).status == "blocked"


def test_children_come_before_parents() -> None:
    board = done(founded(), KIT)
    assert shortfalls(board, state(board, KIT)) == [
        f"{PAGE} below it is not accepted",
        f"{PRICE} below it is not accepted",
    ]
    board = done(done(board, PAGE), PRICE, "Ten.", "o2")
    assert [state(board, one).status for one in (KIT, PAGE, PRICE)] == ["accepted"] * 3


def test_dropped_and_meta_children_keep_no_parent_waiting() -> None:
    board = create(at(founded(), "plan"), "chair", [product("Roadmap", "chair", parent=KIT)])
    for one in (PAGE, PRICE):
        board = mark(board, "chair", Mark(product=one, status="rejected", reason="not needed"))
    assert state(done(board, KIT), KIT).status == "accepted"


def test_a_chairs_mark_holds_acceptance_until_it_is_taken_back() -> None:
    board = mark(at(done(founded(), PAGE), "plan"), "chair", Mark(product=PAGE, status="blocked", reason="law"))
    board = accept(inspected(board, PAGE))
    assert (state(board, PAGE).status, state(board, PAGE).reason) == ("blocked", "law")


def test_a_lifted_flag_does_not_lift_the_chairs_mark() -> None:
    board = said(at(written(founded(), PAGE), "review"), "o2", PAGE, 8)
    board = accept(inspected(board, PAGE))
    board = mark(at(board, "plan"), "chair", Mark(product=PAGE, status="pending", reason="again"))
    board = mark(board, "chair", Mark(product=PAGE, status="blocked", reason="law"))
    assert state(lifted(begin_round(close_round(board)), "c1"), PAGE).status == "blocked"


# Accepted is not for ever


def test_an_accepted_product_that_cites_a_superseded_version_is_reopened() -> None:
    board = done(done(founded(), PRICE, "Ten.", "o2"), PAGE, "It costs ten [[v:p3:1]].")
    assert state(board, PAGE).status == "accepted"
    board = written(board, PRICE, "Eleven.", "o2")
    assert state(board, PAGE).status == "reviewed"
    assert shortfalls(board, state(board, PAGE)) == ["it cites version 1 of p3, superseded"]
    assert state(accept(inspected(board, PAGE)), PAGE).status == "reviewed", "the same text is not accepted again"
    board = done(board, PAGE, "It costs eleven [[v:p3:2]].")
    assert state(board, PAGE).status == "accepted"


def test_a_citation_of_a_product_or_of_an_own_version_is_never_superseded() -> None:
    board = done(done(founded(), PRICE, "Ten.", "o2"), PAGE, "As in [[p:p3]].")
    board = done(board, PAGE, "As in [[p:p3]], unlike [[v:p2:1]].")
    board = written(board, PRICE, "Eleven.", "o2")
    assert state(board, PAGE).status == "accepted"


def whole() -> Board:
    """Kit, page and price list are accepted."""
    return done(done(done(founded(), PAGE), PRICE, "Ten.", "o2"), KIT)


def test_what_is_reopened_reopens_what_is_above_it() -> None:
    board = said(at(whole(), "reflect"), "o2", PAGE, 8)
    assert [state(board, one).status for one in (KIT, PAGE, PRICE)] == ["reviewed", "reviewed", "accepted"]
    assert [one.product for one in board.happenings if one.kind == "reopened"] == [PAGE, KIT]


def test_a_new_child_a_new_checklist_and_a_new_assignment_reopen() -> None:
    board = at(whole(), "plan")
    assert state(create(board, "chair", [product("More", "o3", parent=KIT)]), KIT).status == "reviewed"
    changed = update(board, "chair", UpdateProduct(product=PAGE, done=["It rhymes."]))
    assert [state(changed, one).status for one in (KIT, PAGE)] == ["reviewed", "reviewed"]
    assert [state(assigned(board, PAGE), one).status for one in (KIT, PAGE)] == ["reviewed", "assigned"]


def test_an_unfinished_product_that_moves_below_an_accepted_one_reopens_it() -> None:
    board = create(at(whole(), "plan"), "chair", [product("More", "o3")])
    assert state(board, KIT).status == "accepted"
    assert state(reparent(board, "chair", Reparent(product="p5", parent=KIT)), KIT).status == "reviewed"


def test_a_finding_that_is_said_again_counts_for_the_verdict() -> None:
    board = lifted(begin_round(close_round(inspected(written(founded(), PAGE), PAGE, 9))), "c1")
    board = accept(inspected(board, PAGE, 9))
    assert "duplicate" in board.rejections[-1].reason
    assert (board.inspections[-1].verdict, state(board, PAGE).status) == ("blocked", "blocked")


def test_a_second_inspection_replaces_the_first() -> None:
    board = inspected(at(done(founded(), PAGE), "plan"), PAGE, 6)
    assert state(board, PAGE).status == "reviewed"


# The end of a mission


def test_a_mission_is_accomplished_when_all_deliverables_are_accepted() -> None:
    assert all_accepted(whole())
    assert not all_accepted(done(founded(), PAGE))


def test_orchestration_and_the_chairs_products_are_no_deliverables() -> None:
    board = founded(product("Agenda", "o1", type="orchestration"), product("Roadmap", "chair"))
    assert [one.id for one in deliverables(board)] == [KIT, PAGE, PRICE]
    assert LOG not in [one.id for one in deliverables(founded())]


def test_no_deliverable_is_not_all_accepted() -> None:
    board = at(founded(), "plan")
    for one in (KIT, PAGE, PRICE):
        board = mark(board, "chair", Mark(product=one, status="rejected", reason="not needed"))
    assert not all_accepted(board)


def test_open_importance_counts_what_is_left_to_do() -> None:
    board = at(founded(), "reflect")
    board = said(said(board, "o2", PAGE, 6), "o3", PRICE, 4)
    board = collaborate(board, "o2", concern(PAGE, 10, "Splendid.", kind="endorsement"))
    assert open_importance(board) == 10
    assert open_importance(lifted(board, "c1")) == 4
    promised = resolve(board, "o1", Resolution(collab="c1", outcome="accepted", reason="yes"))
    assert open_importance(promised) == 10
    gone = mark(at(board, "plan"), "chair", Mark(product=PRICE, status="rejected", reason="r"))
    assert open_importance(gone) == 6


def rounds(*accepted_and_open: tuple[int, int]) -> Board:
    board = founded()
    tallies = [{"round": n, "accepted": a, "open_importance": o} for n, (a, o) in enumerate(accepted_and_open)]
    return Board.model_validate(board.model_dump() | {"tallies": tallies})


@pytest.mark.parametrize(
    ("tallies", "expected"),
    [
        ([(0, 0), (0, 5)], False),
        ([(0, 0), (0, 5), (0, 5)], False),
        ([(0, 0), (0, 5), (0, 5), (0, 5)], True),
        ([(0, 0), (0, 5), (0, 6), (0, 6)], True),
        ([(0, 0), (0, 5), (0, 4)], False),
        ([(0, 0), (0, 5), (1, 9)], False),
        ([(0, 0), (1, 5), (0, 9)], False),
        ([(0, 9), (1, 5), (0, 5), (0, 5)], True),
        ([(0, 9), (0, 8), (0, 8), (0, 9)], True),
    ],
)
def test_stagnation_is_two_rounds_without_acceptance_and_without_less_open(
    tallies: list[tuple[int, int]], expected: bool
) -> None:
    assert stagnant(rounds(*tallies)) is expected


def test_rounds_are_tallied_by_code() -> None:
    board = close_round(done(said(at(founded(), "reflect"), "o2", PRICE, 6), PAGE))
    assert board.tallies[-1].model_dump() == {"round": 1, "accepted": 1, "open_importance": 6}
    again = write(at(assigned(board, PAGE), "write"), "o1", version(PAGE, "Newer."))
    assert close_round(again).tallies[-1].accepted == 0
