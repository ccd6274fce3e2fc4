"""The course of a round: its steps and their conditions, what its end records, answers taken in (SPEC 4.1)."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from looper.loops.cabal.board.acceptance import open_feedback, open_importance
from looper.loops.cabal.board.answers import (
    Alternatives,
    Charter,
    Drafts,
    Inspected,
    Planned,
    Reflected,
    Reviewed,
    Told,
)
from looper.loops.cabal.board.entities import Kind, Step
from looper.loops.cabal.board.feedback import collaborate, inspect, remark, remarks_for, resolve
from looper.loops.cabal.board.mission import (
    apply_overrides,
    became,
    charter,
    finish,
    halt,
    override,
    present,
    reflect,
    request,
)
from looper.loops.cabal.board.records import Entry, Tally
from looper.loops.cabal.board.rights import STEPS
from looper.loops.cabal.board.table import Board, put
from looper.loops.cabal.board.tree import create, mark, reparent, update
from looper.loops.cabal.board.writing import assign, lapse, write

Op = TypeVar("Op")
ENTRY: dict[Kind, str] = {
    "created": "Created", "changed": "Changed", "moved": "Moved", "marked": "Marked by the chair",
    "assigned": "Assigned", "written": "Written", "reviewed": "Reviewed", "accepted": "Accepted",
    "blocked": "Blocked", "reopened": "Opened again",
}  # fmt: skip


def begin_round(board: Board) -> Board:
    """The next round at its first step: overrides take effect, assignments without a version lapse."""
    board = lapse(apply_overrides(board))
    return board.model_copy(update={"round": board.round + 1, "step": "reflect", "keys": {}})


def enter(board: Board, step: Step) -> Board:
    """The board at another step of its round. Raises ValueError for a step that the round does not have."""
    if (step == "bootstrap") != (board.round == 0) and step != "present":
        raise ValueError(f"round {board.round} has no step {step}")
    if STEPS.index(step) < STEPS.index(board.step):
        raise ValueError(f"{step} does not come after {board.step}")
    return board.model_copy(update={"step": step, "keys": {}})


def close_round(board: Board) -> Board:
    """The end of a round: its entry in the Change Log, and its figures for the test of stagnation. Once per round."""
    if board.tallies and board.tallies[-1].round == board.round:
        raise ValueError(f"round {board.round} is closed")
    board = put(board, "entries", Entry(round=board.round, lines=_lines(board)))
    tally = Tally(round=board.round, accepted=len(became(board, "accepted")), open_importance=open_importance(board))
    return put(board, "tallies", tally)


def _lines(board: Board) -> tuple[str, ...]:
    """What became of the products in this round, a line per kind."""
    titles = {one.id: one.title for one in board.products}
    here = [one for one in board.happenings if one.round == board.round]
    lines: list[str] = []
    for kind, word in ENTRY.items():
        parts = [f"{titles[one.product]} ({one.product})" + (f", {one.text}" if one.text else "")
                 for one in here if one.kind == kind]  # fmt: skip
        if parts:
            lines.append(f"{word}: {'; '.join(dict.fromkeys(parts))}")
    return tuple(lines) or ("Nothing changed.",)


# Conditions of the steps


def reflecting(board: Board) -> list[str]:
    """Operatives with something to reflect on: own work, feedback left on own products, a remark to read."""
    return [one.id for one in board.operatives() if _concerned(board, one.id)]


def _concerned(board: Board, member: str) -> bool:
    owned = [one.id for one in board.products if one.owner == member and one.status != "rejected"]
    has = any(board.number(one) or open_feedback(board, one) for one in owned)
    return has or bool(remarks_for(board, member))


def writing(board: Board) -> dict[str, list[str]]:
    """Products to write in this round, by assignee in the order of the team; empty: no Write."""
    here = [one for one in board.assignments if one.round == board.round]
    left = {one.id for one in board.products if one.status == "assigned"}
    by = {who.id: [a.product for a in here if a.assignee == who.id and a.product in left] for who in board.operatives()}
    return {who: products for who, products in by.items() if products}


def new_work(board: Board) -> list[str]:
    """Products with a version of this round, in tree order; empty: neither Peer Review nor Inspect."""
    fresh = {one.product for one in board.versions if one.round == board.round}
    meta = {one.id for one in board.products if one.type == "orchestration" or one.status == "rejected"}
    return [one.id for _, one in board.walk() if one.id in fresh - meta]


# Whole answers


def take(board: Board, author: str, answer: Alternatives) -> Board:
    """All that an answer asks for, in a fixed order. Never raises for what a role said."""
    board = board.model_copy(update={"keys": {}})
    said: Any = answer
    if getattr(said, "halt", ""):
        return halt(board, author, said.halt)
    if getattr(said, "request_context", None):
        return request(board, author, said.request_context)
    return _TAKEN[type(said.final_output)](board, author, said.final_output)


def _each(board: Board, author: str, items: Iterable[Op], operation: Callable[[Board, str, Op], Board]) -> Board:
    for one in items:
        board = operation(board, author, one)
    return board


def _reflected(board: Board, author: str, op: Reflected) -> Board:
    board = reflect(board, author, op.assessment)
    board = _each(board, author, op.resolutions, resolve)
    return _spoken(board, author, op)


def _planned(board: Board, author: str, op: Planned) -> Board:
    if op.create:
        board = create(board, author, op.create)
    board = _each(board, author, op.update, update)
    board = _each(board, author, op.reparent, reparent)
    board = _each(board, author, op.mark, mark)
    board = _each(board, author, op.resolutions, resolve)
    board = _each(board, author, op.versions, write)
    board = _each(board, author, op.assignments, assign)
    board = _each(board, author, op.remarks, remark)
    if op.overrides is not None:
        board = override(board, author, op.overrides)
    return finish(board, author) if op.done else board


def _drafts(board: Board, author: str, op: Drafts) -> Board:
    return _spoken(_each(board, author, op.versions, write), author, op)


def _inspected(board: Board, author: str, op: Inspected) -> Board:
    return _each(_each(board, author, op.inspections, inspect), author, op.remarks, remark)


def _spoken(board: Board, author: str, op: Reflected | Drafts | Reviewed) -> Board:
    return _each(_each(board, author, op.collabs, collaborate), author, op.remarks, remark)


_TAKEN: dict[type, Any] = {
    Charter: charter, Reflected: _reflected, Planned: _planned, Drafts: _drafts, Reviewed: _spoken,
    Inspected: _inspected, Told: present,
}  # fmt: skip
