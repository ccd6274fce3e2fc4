"""Whatever roles say in whatever order: the board never raises, and what must hold of it holds."""

from collections.abc import Callable
from typing import Any, get_args

from cabal_boards import at, founded, product
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from looper.loops.cabal.board.acceptance import accept, shortfalls
from looper.loops.cabal.board.answers import Told
from looper.loops.cabal.board.entities import CollabKind, RemarkKind, Status, Step, Target
from looper.loops.cabal.board.feedback import collaborate, inspect, remark, resolve
from looper.loops.cabal.board.joined import joined
from looper.loops.cabal.board.mission import finish, halt, override, present, reflect, request
from looper.loops.cabal.board.operations import (
    FeedbackAnswer,
    Mark,
    NewAssignment,
    NewCollab,
    NewInspection,
    NewRemark,
    NewVersion,
    Override,
    Reparent,
    Resolution,
    UpdateProduct,
)
from looper.loops.cabal.board.relevance import to_review
from looper.loops.cabal.board.rendering import LIMIT, overview
from looper.loops.cabal.board.rights import ACTORS, STEPS
from looper.loops.cabal.board.rounds import begin_round, close_round, enter
from looper.loops.cabal.board.table import Board
from looper.loops.cabal.board.tree import create, mark, reparent, update
from looper.loops.cabal.board.writing import assign, to_address, write

Act = Callable[[Board], Board]
MEMBERS = ("o1", "o2", "o3", "chair", "watchdog", "envoy")
who = st.sampled_from(MEMBERS)
author = st.sampled_from([*MEMBERS, *("right",) * 8])
"""A member, or whoever acts in the step."""
ref = st.sampled_from(["p1", "p2", "p3", "p4", "p5", "p6", "p99", "", "x"])
collab = st.sampled_from(["c1", "c2", "c3", "c4", "c99", ""])
words = st.sampled_from(["Some text.", "Other text.", "As [[v:p3:1]] and [[p:p2]].", "[[c:c1]]", "[[p:p99]]", " "])
reason = st.sampled_from(["because", "it is so"])


def actor(board: Board, drawn: str) -> str:
    role = ACTORS[board.step]
    if drawn != "right":
        return drawn
    return f"o{len(board.versions) % 3 + 1}" if role == "operative" else role


def good_plan(board: Board, _author: str, op: UpdateProduct | Reparent | Mark) -> Board:
    """A change of the tree at a moment at which the chair may make it."""
    while board.step != "plan":
        board = step_on(board)
    done: dict[type, Callable[..., Board]] = {UpdateProduct: update, Reparent: reparent, Mark: mark}
    return done[type(op)](board, "chair", op)


def act(operation: Callable[[Board, str, Any], Board], op: type, **fields: Any) -> st.SearchStrategy[Act]:
    return said(operation, st.builds(op, **fields))


def said(operation: Callable[[Board, str, Any], Board], values: st.SearchStrategy[Any]) -> st.SearchStrategy[Act]:
    pairs = st.tuples(author, values)
    return pairs.map(lambda pair: lambda board: operation(board, actor(board, pair[0]), pair[1]))


def whole(board: Board, author: str, op: tuple[str, list[int], bool]) -> Board:
    """An inspection that fits the checklist, so that products get accepted now and then."""
    found = board.product(op[0])
    items = len(found.done) if found else 1
    data = {
        "product": op[0], "verdict": "approved",
        "checklist": [{"item": n + 1, "met": op[2], "note": "seen"} for n in range(items)],
        "findings": [{"criterion": "1", "importance": n, "text": f"finding {n}"} for n in op[1]],
    }  # fmt: skip
    return inspect(board, author, NewInspection.model_validate(data))


def step_on(board: Board) -> Board:
    """To the next step; after the last one acceptance, the end of the round and the next round."""
    place = STEPS.index(board.step)
    if board.round and place < len(STEPS) - 1:
        return enter(board, STEPS[place + 1])
    return begin_round(close_round(accept(board)))


def right(board: Board, author: str, ref: str) -> Board:
    """The assignee of a product writes and answers all, whoever was drawn."""
    found = board.assignment(ref)
    answers = [FeedbackAnswer(collab=one.id, outcome="addressed", reason="done") for one in to_address(board, ref)]
    content = f"Text {len(board.versions)}, see [[v:p3:{max(1, board.number('p3'))}]]."
    op = NewVersion(product=ref, content=content if board.number("p3") else "Text.", summary="s", answers=answers)
    return write(board, found.assignee if found else author, op)


def good_round(board: Board, author: str, op: tuple[list[str], list[int]]) -> Board:
    """A round in which some products are assigned, written and inspected as they should be."""
    refs, findings = op
    while board.step != "plan":
        board = step_on(board)
    board = finish(board, "chair")
    for one in refs:
        board = assign(board, "chair", NewAssignment(assignee="o1", product=one, objective="Write it."))
    board = step_on(board)
    for one in refs:
        board = right(board, author, one)
    board = step_on(step_on(board))
    for one in refs:
        board = whole(board, "watchdog", (one, findings, True))
    return accept(board)


FOUND = st.sampled_from([[], [], [3], [6], [9]])
NEW = st.builds(
    product, st.sampled_from(["New", "Other", "More"]), st.sampled_from(["o1", "o2", "chair", "nobody"]),
    key=st.sampled_from(["", "x", "y"]), parent=ref,
)  # fmt: skip
ACTS: st.SearchStrategy[Act] = st.one_of(
    st.just(step_on),
    st.just(accept),
    act(update, UpdateProduct, product=ref, title=st.sampled_from(["", "New", "Page"]), owner=who | st.just(""),
        done=st.sampled_from([[], ["It rhymes."]])),
    act(reparent, Reparent, product=ref, parent=ref),
    act(mark, Mark, product=ref, status=st.sampled_from(get_args(Status)), reason=reason),
    act(assign, NewAssignment, assignee=who, product=ref, objective=reason, attached=st.lists(ref, max_size=5),
        address=st.lists(collab, max_size=2)),
    act(write, NewVersion, product=ref, content=words, summary=reason, answers=st.lists(st.fixed_dictionaries(
        {"collab": collab, "outcome": st.sampled_from(["addressed", "deferred", "rejected"]), "reason": reason}),
        max_size=2)),
    act(collaborate, NewCollab, product=ref, kind=st.sampled_from(get_args(CollabKind)),
        importance=st.integers(1, 10), text=reason, criterion=st.sampled_from(["", "1", "accuracy", "9"])),
    act(resolve, Resolution, collab=collab, outcome=st.sampled_from(["accepted", "deferred", "rejected"]),
        reason=reason),
    act(remark, NewRemark, target=st.sampled_from(get_args(Target)), agent=who | st.just(""),
        kind=st.sampled_from(get_args(RemarkKind)), text=reason),
    said(whole, st.tuples(ref, st.lists(st.integers(1, 10), max_size=2), st.booleans())),
    said(good_plan, st.one_of(
        st.builds(UpdateProduct, product=ref, owner=who, done=st.sampled_from([[], ["It rhymes."]])),
        st.builds(Reparent, product=ref, parent=ref),
        st.builds(Mark, product=ref, status=st.sampled_from(["pending", "blocked", "rejected"]), reason=reason),
    )),
    said(create, st.lists(NEW, max_size=3)),
    said(right, ref), said(good_round, st.tuples(st.lists(ref, min_size=1, max_size=3), FOUND)), said(halt, reason),
    said(request, st.lists(ref, max_size=6)), said(reflect, reason),
    act(override, Override, mission=st.sampled_from(["", "Another one"]),
        members=st.lists(st.fixed_dictionaries({"member": who, "area": reason}), max_size=2)),
    said(present, st.just(Told.model_validate({"messages": [{"member": "o1", "text": "Hello."}] * 3}))),
    who.map(lambda one: lambda board: finish(board, one)),
)  # fmt: skip


def check(before: Board, after: Board) -> None:
    """What holds of every board, and of every step from one to the next."""
    ids = [one.id for one in after.products]
    for field in ("products", "collabs", "remarks", "assignments", "members"):
        names = [one.id for one in getattr(after, field)]
        assert len(names) == len(set(names))
    assert sorted(one.id for _, one in after.walk()) == sorted(ids), "a tree: everything hangs together, once"
    assert {one.status for one in after.products} <= set(get_args(Status))
    for one in after.products:
        assert [v.number for v in after.history(one.id)] == list(range(1, after.number(one.id) + 1))
        assert one.status != "accepted" or not shortfalls(after, one)
        assert one.status in ("pending", "assigned", "blocked", "rejected") or after.number(one.id)
    roles = {one.id: one.role for one in after.members}
    assert {roles[one.owner] for one in after.products} <= {"operative", "chair"}
    assert {roles[one.author] for one in after.versions} <= {"operative", "chair"}
    here = [(one.round, one.product) for one in after.assignments]
    assert len(here) == len(set(here)), "one assignee per product and round"
    assert after.versions[: len(before.versions)] == before.versions, "versions never change"
    assert after.rejections[: len(before.rejections)] == before.rejections
    assert all(one.reason.endswith(".") and len(one.reason) > 20 for one in after.rejections)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(STEPS), st.lists(ACTS, min_size=30, max_size=80))
def test_random_operations_never_raise_and_never_break_the_board(step: Step, acts: list[Act]) -> None:
    board = at(founded(), step)
    for one in acts:
        before, board = board, one(board)
        check(before, board)
    assert Board.model_validate_json(board.model_dump_json()) == board
    assert len(overview(board)) < LIMIT
    assert joined(board).startswith("# ")
    assert all(len(to_review(board, one.id)) <= 5 for one in board.operatives())
