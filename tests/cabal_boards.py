"""Boards of a small cabal, brought to where a test begins: three operatives, a kit with two products below it."""

from typing import Any

from looper.loops.cabal.board.acceptance import accept
from looper.loops.cabal.board.answers import Charter
from looper.loops.cabal.board.entities import Product, Step
from looper.loops.cabal.board.feedback import collaborate, inspect
from looper.loops.cabal.board.mission import charter
from looper.loops.cabal.board.operations import (
    NewAssignment,
    NewCollab,
    NewInspection,
    NewMember,
    NewProduct,
    NewVersion,
)
from looper.loops.cabal.board.rights import STEPS
from looper.loops.cabal.board.rounds import begin_round, close_round, enter
from looper.loops.cabal.board.table import Board, open_board
from looper.loops.cabal.board.writing import assign, write

KIT, PAGE, PRICE, LOG = "p1", "p2", "p3", "p4"
TEAM = [
    NewMember(key="copy", name="Mara", persona="writes plainly", responsibility="all texts", area="marketing"),
    NewMember(key="price", name="Ivo", persona="counts", responsibility="prices and margins", area="finance"),
    NewMember(key="tech", name="Ada", persona="builds", responsibility="the server", area="software engineering"),
]


def product(title: str, owner: str, **more: Any) -> NewProduct:
    return NewProduct(**({"title": title, "owner": owner, "type": "content", "done": ["It is complete."]} | more))


def founded(*extra: NewProduct) -> Board:
    """After bootstrap: p1 the kit of o1, below it p2 of o1 and p3 of o2; the Change Log is the last one."""
    products = [
        product("Landing page", "copy", key="page", parent="kit", done=["It has a headline.", "It names the price."]),
        product("Launch kit", "copy", key="kit", type="collection"),
        product("Price list", "price", parent="kit", type="decision"),
        *extra,
    ]
    op = Charter(mission="Launch the thing", objectives=["Sell it"], team=TEAM, products=[products[1], products[0],
                 *products[2:]])  # fmt: skip
    return charter(open_board(), "chair", op)


def at(board: Board, step: Step) -> Board:
    """The board at a step: of this round if that is still to come, else of the next one."""
    if step == "bootstrap":
        return board
    if board.round == 0 or STEPS.index(step) < STEPS.index(board.step):
        board = board if board.tallies and board.tallies[-1].round == board.round else close_round(board)
        board = begin_round(board)
    return enter(board, step)


def assigned(board: Board, product: str, to: str = "o1", **more: Any) -> Board:
    op = NewAssignment(**({"assignee": to, "product": product, "objective": "Write it."} | more))
    return assign(at(board, "plan"), "chair", op)


def version(product: str, content: str, **more: Any) -> NewVersion:
    return NewVersion(**({"product": product, "content": content, "summary": "a new text"} | more))


def written(board: Board, product: str, content: str = "Some text.", by: str = "o1", **more: Any) -> Board:
    """Assigned and written, in the step `write`."""
    board = at(board, "plan") if board.step != "plan" else board
    return write(at(assigned(board, product, by), "write"), by, version(product, content, **more))


def concern(product: str, importance: int = 6, text: str = "It is too long.", **more: Any) -> NewCollab:
    return NewCollab(**({"product": product, "importance": importance, "text": text} | more))


def said(board: Board, author: str, product: str, importance: int = 6, **more: Any) -> Board:
    return collaborate(board, author, concern(product, importance, **more))


def inspection(board: Board, product: str, *findings: int, met: bool = True, **more: Any) -> NewInspection:
    """A whole checklist, and findings of these importances."""
    items = len(state(board, product).done)
    given = {
        "product": product, "checklist": [{"item": i + 1, "met": met, "note": "seen"} for i in range(items)],
        "findings": [{"criterion": "1", "importance": f, "text": f"finding {f}"} for f in findings],
        "verdict": "approved",
    }  # fmt: skip
    return NewInspection.model_validate(given | more)


def inspected(board: Board, product: str, *findings: int, **more: Any) -> Board:
    board = at(board, "inspect")
    return inspect(board, "watchdog", inspection(board, product, *findings, **more))


def done(board: Board, product: str, content: str = "Some text.", by: str = "o1", **more: Any) -> Board:
    """Written, inspected without findings, and accepted where nothing else is in the way."""
    return accept(inspected(written(board, product, content, by, **more), product))


def state(board: Board, product: str) -> Product:
    found = board.product(product)
    assert found is not None
    return found


def refused(before: Board, after: Board) -> str:
    """The one reason that was added; nothing else may have changed."""
    assert len(after.rejections) == len(before.rejections) + 1, after.rejections
    assert after.model_copy(update={"rejections": before.rejections}) == before
    return after.rejections[-1].reason
