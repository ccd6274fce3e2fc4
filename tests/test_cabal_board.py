"""The board of a cabal, rule by rule of SPEC 4: bootstrap, tree, assignments, versions."""

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
    said,
    state,
    version,
    written,
)

from looper.loops.cabal.board.answers import Assignments, Charter, Planned
from looper.loops.cabal.board.entities import Status
from looper.loops.cabal.board.mission import charter
from looper.loops.cabal.board.operations import (
    Mark,
    Reparent,
    UpdateProduct,
)
from looper.loops.cabal.board.rounds import begin_round, close_round, enter, take, writing
from looper.loops.cabal.board.table import TRANSITIONS, Board, move, open_board
from looper.loops.cabal.board.tree import create, mark, reparent, update
from looper.loops.cabal.board.writing import write


def plan(**more: object) -> Assignments:
    return Assignments(final_output=Planned.model_validate(more))


# Bootstrap


def test_ids_are_given_by_code_and_keys_of_one_answer_are_resolved() -> None:
    board = founded()
    assert [(one.id, one.title, one.owner, one.parent) for one in board.products] == [
        ("p1", "Launch kit", "o1", ""), ("p2", "Landing page", "o1", "p1"), ("p3", "Price list", "o2", "p1"),
        ("p4", "Change Log", "chair", ""),
    ]  # fmt: skip
    assert [one.id for one in board.members] == ["chair", "watchdog", "envoy", "o1", "o2", "o3"]
    assert not board.rejections


def test_a_child_may_come_before_its_parent_in_an_answer() -> None:
    board = create(founded(), "chair", [product("B", "o1", parent="a"), product("A", "o1", key="a")])
    assert [(one.title, one.parent) for one in board.products[-2:]] == [("A", ""), ("B", "p5")]


def test_keys_that_name_each_other_as_parents_are_rejected() -> None:
    before = founded()
    after = create(before, "chair", [product("A", "o1", key="a", parent="b"), product("B", "o1", key="b", parent="a")])
    assert after.products == before.products
    assert [one.reason for one in after.rejections] == [
        "There is no parent b; name an id, or the key of a product that is created with it.",
        "There is no parent a; name an id, or the key of a product that is created with it.",
    ]


def test_a_board_survives_json_unchanged() -> None:
    board = close_round(done(said(founded(), "o2", PAGE), PAGE, "See [[p:p3]]."))
    assert Board.model_validate_json(board.model_dump_json()) == board


def test_the_change_log_is_made_by_code_or_is_the_chairs_own() -> None:
    assert (state(founded(), LOG).title, founded().log) == ("Change Log", LOG)
    board = founded(product("change Log", "chair"))
    assert (board.log, len(board.products), state(board, "p4").type) == ("p4", 4, "orchestration")


def test_a_team_larger_than_the_seats_is_cut() -> None:
    team = [{"key": f"k{i}", "name": f"n{i}", "persona": "p", "responsibility": "r", "area": "a"} for i in range(3)]
    op = {"mission": "m", "objectives": ["o"], "team": team, "products": [product("A", "k0"), product("B", "k2")]}
    board = charter(open_board(seats=2), "chair", Charter.model_validate(op))
    assert [one.id for one in board.operatives()] == ["o1", "o2"]
    assert [one.operation for one in board.rejections] == ["member n2", "create B"]


def test_two_members_of_one_name_are_one_too_many() -> None:
    team = [{"key": f"k{i}", "name": "Ann", "persona": "p", "responsibility": "r", "area": "a"} for i in range(2)]
    op = {"mission": "m", "objectives": ["o"], "team": team, "products": [product("A", "k0")]}
    board = charter(open_board(), "chair", Charter.model_validate(op))
    assert "choose another" in board.rejections[0].reason


# The tree


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"owner": "watchdog"}, "watchdog cannot own"),
        ({"owner": "o9"}, "o9 cannot own"),
        ({"owner": ""}, "(nobody) cannot own"),
        ({"parent": "p9"}, "There is no parent p9"),
        ({"title": "price LIST"}, "There is a product of this title, p3"),
        ({"key": "p2"}, "The key p2 is the id"),
    ],
)
def test_a_product_that_cannot_be_created(more: dict[str, str], reason: str) -> None:
    board = at(founded(), "plan")
    assert reason in refused(board, create(board, "chair", [product(**({"title": "New", "owner": "o1"} | more))]))


def test_two_products_with_one_key_are_both_rejected() -> None:
    board = create(founded(), "chair", [product("A", "o1", key="x"), product("B", "o1", key="x")])
    assert len(board.products) == 4
    assert len(board.rejections) == 2


@pytest.mark.parametrize(("of", "to"), [(KIT, PAGE), (KIT, KIT), (PAGE, PAGE)])
def test_the_tree_has_no_cycles(of: str, to: str) -> None:
    board = at(founded(), "plan")
    assert "choose a parent outside" in refused(board, reparent(board, "chair", Reparent(product=of, parent=to)))


def test_a_product_moves_with_what_is_below_it() -> None:
    board = reparent(at(founded(), "plan"), "chair", Reparent(product=PAGE, parent=PRICE))
    assert [(depth, one.id) for depth, one in board.walk()] == [(0, KIT), (1, PRICE), (2, PAGE), (0, LOG)]
    assert state(reparent(board, "chair", Reparent(product=PAGE)), PAGE).parent == ""


def test_unknown_places_and_moves_to_the_same_place_are_rejected() -> None:
    board = at(founded(), "plan")
    assert "no product p9" in refused(board, reparent(board, "chair", Reparent(product="p9")))
    assert "no product p9" in refused(board, reparent(board, "chair", Reparent(product=PAGE, parent="p9")))
    assert "is there already" in refused(board, reparent(board, "chair", Reparent(product=PAGE, parent=KIT)))


def test_nothing_goes_below_a_rejected_product() -> None:
    board = mark(at(founded(), "plan"), "chair", Mark(product=KIT, status="rejected", reason="not needed"))
    assert "choose another parent" in refused(board, create(board, "chair", [product("New", "o1", parent=KIT)]))
    board = reparent(board, "chair", Reparent(product=PAGE))
    assert "choose another parent" in refused(board, reparent(board, "chair", Reparent(product=PAGE, parent=KIT)))


@pytest.mark.parametrize("status", ["assigned", "written", "reviewed", "accepted"])
def test_the_chair_cannot_mark_what_code_decides(status: Status) -> None:
    board = at(founded(), "plan")
    assert "set by code" in refused(board, mark(board, "chair", Mark(product=PAGE, status=status, reason="r")))


def test_marks_have_a_reason_and_can_be_taken_back() -> None:
    board = mark(at(founded(), "plan"), "chair", Mark(product=PAGE, status="rejected", reason="not needed"))
    assert (state(board, PAGE).status, state(board, PAGE).reason) == ("rejected", "not needed")
    assert "already" in refused(board, mark(board, "chair", Mark(product=PAGE, status="rejected", reason="r")))
    assert "pending first" in refused(board, mark(board, "chair", Mark(product=PAGE, status="blocked", reason="r")))
    board = mark(board, "chair", Mark(product=PAGE, status="pending", reason="needed after all"))
    assert (state(board, PAGE).status, state(board, PAGE).reason) == ("pending", "")


def test_a_rejected_product_does_not_come_back_beside_its_successor() -> None:
    board = mark(at(founded(), "plan"), "chair", Mark(product=PAGE, status="rejected", reason="not needed"))
    board = create(board, "chair", [product("Landing page", "o1")])
    again = mark(board, "chair", Mark(product=PAGE, status="pending", reason="r"))
    assert "of this title, p5" in refused(board, again)


@pytest.mark.parametrize(
    ("op", "reason"),
    [
        ({"product": "p9", "title": "X"}, "no product p9"),
        ({"product": PAGE}, "Nothing would change"),
        ({"product": PAGE, "title": "Price list"}, "There is a product of this title"),
        ({"product": PAGE, "owner": "envoy"}, "cannot own"),
        ({"product": PAGE, "owner": "chair"}, "work of the team"),
        ({"product": LOG, "title": "Log"}, "stays as it is"),
    ],
)
def test_an_update_that_cannot_be(op: dict[str, str], reason: str) -> None:
    board = at(founded(), "plan")
    assert reason in refused(board, update(board, "chair", UpdateProduct.model_validate(op)))


def test_an_update_changes_what_it_names() -> None:
    op = UpdateProduct(product=PAGE, title="Home", owner="o3", done=["It is short."])
    one = state(update(at(founded(), "plan"), "chair", op), PAGE)
    assert (one.title, one.owner, one.done, one.parent) == ("Home", "o3", ("It is short.",), KIT)


def test_the_change_log_is_neither_marked_nor_moved() -> None:
    board = at(founded(), "plan")
    assert "stays" in refused(board, mark(board, "chair", Mark(product=LOG, status="rejected", reason="r")))
    assert "stays" in refused(board, reparent(board, "chair", Reparent(product=LOG, parent=KIT)))


def test_statuses_change_along_the_transitions_only() -> None:
    board = founded()
    for before, allowed in TRANSITIONS.items():
        one = state(board, PAGE).model_copy(update={"status": before})
        start = board.model_copy(update={"products": (one,)})
        for after in TRANSITIONS:
            if after in allowed:
                assert state(move(start, PAGE, after), PAGE).status == after
            else:
                with pytest.raises(ValueError, match="cannot become"):
                    move(start, PAGE, after)
    assert TRANSITIONS["rejected"] == ("pending",)
    assert [one for one, after in TRANSITIONS.items() if "accepted" in after] == ["reviewed"]


# Assignments


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"assignee": "chair"}, "chair is no operative; assign work to one of o1, o2, o3."),
        ({"assignee": "watchdog"}, "is no operative"),
        ({"assignee": "o9"}, "is no operative"),
        ({"product": "p9"}, "There is no product p9; use one of p1, p2, p3, p4, p5."),
        ({"product": "p5"}, "the chair's own"),
        ({"attached": [KIT, PRICE, "p4", "p5"]}, "attach at most 3"),
        ({"attached": ["p8"]}, "no product p8"),
        ({"address": ["c1"]}, "no unresolved feedback on p2"),
        ({"address": ["c2"]}, "c2: no unresolved feedback on p2"),
    ],
)
def test_an_assignment_that_cannot_be(more: dict[str, object], reason: str) -> None:
    board = said(at(founded(product("Fifth", "o3")), "reflect"), "o1", PRICE)
    board = enter(board, "plan")
    op = {"assignee": "o1", "product": PAGE, "objective": "Write it."} | more
    after = take(board, "chair", plan(assignments=[op]))
    assert reason in refused(board, after)


def test_one_product_has_one_assignee_per_round() -> None:
    board = assigned(founded(), PAGE)
    assert "one assignee per round" in refused(board, assigned(board, PAGE, "o2"))
    board = assigned(begin_round(close_round(board)), PAGE, "o2")
    assert [(one.id, one.round, one.assignee) for one in board.assignments] == [("a1", 1, "o1"), ("a2", 2, "o2")]


def test_a_directive_is_kept_whole() -> None:
    more = {"done": ["A headline."], "why": "It sells.", "context": "For shops.", "attached": [PRICE, KIT, PRICE]}
    one = assigned(founded(), PAGE, **more).assignments[0]
    assert (one.objective, one.done, one.why, one.context) == ("Write it.", ("A headline.",), "It sells.", "For shops.")
    assert one.attached == (PRICE, KIT)


def test_a_product_created_in_the_same_plan_can_be_assigned_by_its_key() -> None:
    op = {
        "create": [product("Film", "o3", key="film", parent=KIT)],
        "assignments": [{"assignee": "o3", "product": "film", "objective": "Shoot it.", "attached": ["film"]}],
    }
    board = take(at(founded(), "plan"), "chair", plan(**op))
    assert (board.assignments[0].product, board.assignments[0].attached) == ("p5", ("p5",))
    assert not board.rejections


def test_keys_are_forgotten_with_their_answer() -> None:
    board = take(at(founded(), "plan"), "chair", plan(create=[product("Film", "o3", key="film")]))
    board = take(board, "chair", plan(mark=[Mark(product="film", status="blocked", reason="r")]))
    assert "no product film" in board.rejections[-1].reason


def test_rejected_products_are_not_assigned() -> None:
    board = mark(at(founded(), "plan"), "chair", Mark(product=PAGE, status="rejected", reason="r"))
    assert "pending first" in refused(board, assigned(board, PAGE))


def test_an_assignment_without_a_version_lapses() -> None:
    board = begin_round(close_round(assigned(founded(), PAGE)))
    assert state(board, PAGE).status == "pending"
    board = begin_round(close_round(assigned(inspected(written(board, PAGE), PAGE), KIT)))
    assert state(board, KIT).status == "pending"
    board = begin_round(close_round(assigned(board, PAGE)))
    assert state(board, PAGE).status == "reviewed"


# Versions


def test_versions_are_numbered_per_product() -> None:
    board = written(written(written(founded(), PAGE, "One."), PRICE, "Ten.", "o2"), PAGE, "Two.")
    assert [(one.product, one.number) for one in board.versions] == [(PAGE, 1), (PRICE, 1), (PAGE, 2)]
    assert state(board, PAGE).status == "written"


@pytest.mark.parametrize(
    ("who", "ref", "reason"),
    [
        ("o2", PAGE, "p2 is not assigned to you in this round; write nothing only."),
        ("o1", PRICE, "p3 is not assigned to you in this round; write p2 only."),
        ("o1", "p9", "no product p9"),
    ],
)
def test_versions_are_for_assigned_products_only(who: str, ref: str, reason: str) -> None:
    board = at(assigned(founded(), PAGE), "write")
    assert reason in refused(board, write(board, who, version(ref, "Text.")))


def test_there_is_one_version_per_assignment() -> None:
    board = written(founded(), PAGE)
    assert "one version per assignment" in refused(board, write(board, "o1", version(PAGE, "More.")))


def test_an_assignment_is_for_its_round_only() -> None:
    board = at(begin_round(close_round(assigned(founded(), PAGE))), "write")
    assert "not assigned to you" in refused(board, write(board, "o1", version(PAGE, "Text.")))


def test_work_on_a_product_that_was_rejected_meanwhile_is_rejected() -> None:
    board = mark(assigned(founded(), PAGE), "chair", Mark(product=PAGE, status="rejected", reason="r"))
    board = at(board, "write")
    assert "leave it" in refused(board, write(board, "o1", version(PAGE, "Text.")))
    assert writing(board) == {}


def test_the_chair_writes_its_own_products_only() -> None:
    board = at(founded(), "plan")
    assert board.versions == ()
    assert "belongs to o1" in refused(board, write(board, "chair", version(PAGE, "Text.")))
    assert write(board, "chair", version(LOG, "We begin.")).number(LOG) == 1


@pytest.mark.parametrize("content", ["", "  \n\t\n", "Some text.", "  Some\n\ntext. \n"])
def test_empty_and_unchanged_contents_are_rejected(content: str) -> None:
    board = at(assigned(written(founded(), PAGE), PAGE), "write")
    assert "content is" in refused(board, write(board, "o1", version(PAGE, content)))


def test_citations_that_lead_nowhere_reject_the_version_with_the_list() -> None:
    board = at(assigned(written(founded(), PRICE, "Ten.", "o2"), PAGE), "write")
    lost = "[[p:p9]] [[v:p3:2]] [[v:p3]] [[v:p3:0]] [[v:p2:2]] [[a:o9]] [[c:c1]] [[p:]] [[v:p9:1]]"
    reason = refused(board, write(board, "o1", version(PAGE, f"[[p:p3]] {lost} [[p:p9]]")))
    assert reason == f"These citations lead nowhere: {lost.replace(' ', ', ')}; cite what is on the board, or leave " \
        "them out."  # fmt: skip


def test_citations_of_all_kinds_resolve() -> None:
    board = said(at(written(founded(), PRICE, "Ten.", "o2"), "review"), "o1", PRICE)
    text = "[[p:p3]] [[ v:p3:1 ]] [[a:o2]] [[a:a1]] [[a:watchdog]] [[c:c1]] [[v:p2:1]] [[other]] `[[p:p9]]`"
    board = written(board, PAGE, f"{text}\n\n```\n[[p:p8]]\n```\n\n[[p:p1]]")
    assert board.number(PAGE) == 1
