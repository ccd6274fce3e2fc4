"""What each role is told in each step (document 002, Receives), within the limits of a prompt."""

from collections.abc import Iterable, Sequence
from typing import Any

from looper.loops.cabal.board.acceptance import flags, open_feedback, shortfalls
from looper.loops.cabal.board.entities import Collab, Member
from looper.loops.cabal.board.feedback import remarks_for
from looper.loops.cabal.board.mission import became, requests_left
from looper.loops.cabal.board.rendering import card, cut, feedback_line, overview
from looper.loops.cabal.board.table import Board, rejections_of
from looper.loops.cabal.board.writing import to_address

MOST_LINES = 40
"""Lines of feedback, reflections or happenings in one prompt; the gravest first."""


def member_of(board: Board, who: str) -> Member:
    found = board.member(who)
    if found is None:
        raise KeyError(who)
    return found


def common(board: Board, who: str, room: int, last: int) -> dict[str, Any]:
    """What everybody is told: the board, who they are, what was said to them, what was refused to them.

    `last`: the round in which they were asked last; nothing since then is left out.
    """
    me, rounds = member_of(board, who), max(1, board.round - last)
    mine = [one for one in board.requests if (one.round, one.step, one.author) == (board.round, board.step, who)]
    asked = dict.fromkeys(product for one in mine for product in one.products)
    return {
        "member": me.model_dump(), "board": overview(board, viewer=who),
        "remarks": fitting((f"{one.author}: {one.kind}: {one.text}" for one in remarks_for(board, who, rounds=rounds)),
                           room // 6),
        "rejected": fitting((f"{one.operation}: {one.reason}" for one in rejections_of(board, who, rounds=rounds)),
                            room // 6),
        "requests_left": requests_left(board, who), "shown": cards(board, asked, room // 3),
        "halts": [one.model_dump() | {"answer": cut(one.answer, room // 12)} for one in board.halts if one.answer],
    }  # fmt: skip


def cards(board: Board, products: Iterable[str], room: int) -> dict[str, str]:
    """Products in full, each cut at an equal share of the room."""
    found = list(products)
    share = room // max(1, len(found))
    return {one: card(board, one, share) for one in found}


def fitting(lines: Iterable[str], room: int) -> list[str]:
    """The last lines, at most MOST_LINES, each cut at an equal share of the room."""
    found = list(lines)[-MOST_LINES:]
    return [cut(one, room // len(found)) for one in found]


def owned(board: Board, who: str) -> list[str]:
    return [one.id for one in board.products if one.owner == who and one.status != "rejected"]


def for_reflect(board: Board, who: str, room: int) -> dict[str, Any]:
    return {"own": cards(board, owned(board, who), room // 2)}


def for_assign(board: Board, who: str, room: int) -> dict[str, Any]:
    """Reflections, open feedback by importance, and what each product still lacks."""
    thoughts = [f"{one.author}: {one.text}" for one in board.thoughts if one.round == board.round]
    living = [one for one in board.products if one.status not in ("accepted", "rejected") and one.id != board.log]
    share = room // (4 * max(1, len(living)))
    missing = {one.id: cut("; ".join(shortfalls(board, one)), share) for one in living}
    return {
        "reflections": [cut(one, room // (4 * max(1, len(thoughts)))) for one in thoughts],
        "feedback": lines(
            said for one in board.products if one.status != "rejected" for said in open_feedback(board, one.id)
        ),
        "products": [
            {"id": one.id, "title": one.title, "owner": one.owner, "status": one.status, "type": one.type,
             "open": [said.id for said in open_feedback(board, one.id)]}
            for one in board.products if one.id != board.log
        ],
        "missing": {product: what for product, what in missing.items() if what},
        "own": cards(board, owned(board, who), room // 4),
    }  # fmt: skip


def for_compose(board: Board, who: str, room: int, products: Sequence[str]) -> dict[str, Any]:
    """The directives, the products, the feedback that must be answered, and what the chair attached."""
    mine = [one for one in board.assignments if one.round == board.round and one.assignee == who]
    attached = dict.fromkeys(one for a in mine for one in a.attached if one not in products)
    return {
        "assigned": cards(board, products, room * 3 // 4), "attached": cards(board, attached, room // 4),
        "latest": {one: said.content if (said := board.latest(one)) else "" for one in products},
        "address": {one: shares(to_address(board, one), room // (4 * len(products))) for one in products},
    }  # fmt: skip


def shares(collabs: Sequence[Collab], room: int) -> list[str]:
    """Every piece of feedback, for each has to be answered; each within an equal share of the room."""
    return [cut(feedback_line(one), max(200, room // len(collabs))) for one in collabs]


def for_review(board: Board, who: str, room: int, products: Sequence[str]) -> dict[str, Any]:
    return {"new": cards(board, products, room // 2), "own": cards(board, owned(board, who), room // 4)}


def for_inspect(board: Board, who: str, room: int, products: Sequence[str]) -> dict[str, Any]:
    counts = {one: len(found.done) for one in products if (found := board.product(one))}
    return {"new": cards(board, products, room * 3 // 4), "items": counts}


def batches(board: Board, products: Sequence[str], room: int) -> list[list[str]]:
    """Products in groups whose cards have room whole, each group as large as it can be; at least one, maybe empty."""
    found: list[list[str]] = [[]]
    left = room
    for one in products:
        size = len(card(board, one))
        if found[-1] and size > left:
            found.append([])
            left = room
        found[-1].append(one)
        left -= size
    return found


def for_present(board: Board, who: str, room: int) -> dict[str, Any]:
    """All that came of the round."""
    here = [one for one in board.happenings if one.round == board.round]
    said = [one for one in board.collabs if one.round == board.round]
    return {
        "happenings": [f"{one.kind}: {one.product} {one.text}".strip() for one in here][:MOST_LINES],
        "accepted": became(board, "accepted"), "blocked": became(board, "blocked"),
        "inspections": [
            f"{one.product} v{one.version}: {one.verdict}, gravest finding {one.worst}"
            for one in board.inspections if one.round == board.round
        ],
        "collabs": lines(said), "flags": lines(one for p in board.products for one in flags(board, p.id)),
        "to_user": fitting((f"{one.author}: {one.text}" for one in remarks_for(board, "user")), room // 6),
    }  # fmt: skip


def lines(collabs: Iterable[Collab]) -> list[str]:
    """Feedback on one line each, the gravest first."""
    found = sorted(collabs, key=lambda one: -one.importance)
    return [f"{one.product}: {cut(feedback_line(one), 600)}" for one in found[:MOST_LINES]]
