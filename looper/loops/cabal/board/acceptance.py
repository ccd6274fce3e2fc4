"""What code decides and no role can: verdicts, acceptance, re-opening, the end of a mission (SPEC 4.3-4.8)."""

from collections.abc import Iterable
from itertools import pairwise

from looper.loops.cabal.board.citations import superseded
from looper.loops.cabal.board.entities import FLAG, Collab, Inspection, Product, Status, Verdict
from looper.loops.cabal.board.table import Board, move, told

REVISE = 5
"""Importance of a finding from which a version needs a revision (SPEC 4.3)."""


def verdict_of(importances: Iterable[int]) -> Verdict:
    """By the gravest finding: any >= 8 blocked, any 5-7 needs_revision, else approved (SPEC 4.3)."""
    worst = max(importances, default=0)
    return "blocked" if worst >= FLAG else "needs_revision" if worst >= REVISE else "approved"


def flags(board: Board, product: str) -> list[Collab]:
    """What stands against acceptance: important feedback that is open, or accepted and not yet dealt with."""
    return [one for one in board.collabs if one.product == product and one.blocking and one.stands]


def open_feedback(board: Board, product: str) -> list[Collab]:
    """Feedback on which something is left to do; praise needs nothing."""
    return [one for one in board.collabs if one.product == product and one.stands and one.kind != "endorsement"]


def deliverable(board: Board, product: Product) -> bool:
    """Whether the mission needs it: a content, decision or collection of an operative that was not dropped.

    Orchestration and what the chair owns (Change Log, roadmap) are meta products.
    """
    return product.type != "orchestration" and product.owner != "chair" and product.status != "rejected"


def shortfalls(board: Board, product: Product) -> list[str]:
    """What is missing for acceptance, in words; empty: it is accepted after the next Inspect (SPEC 4.4)."""
    number = board.number(product.id)
    if not number:
        return ["there is no version"]
    found = board.inspection(product.id)
    missing = _inspected(product, found) if found else [f"version {number} is not inspected"]
    missing += [f"{one.id} ({one.importance}) is open" for one in flags(board, product.id)]
    below = [one for one in board.children(product.id) if deliverable(board, one) and one.status != "accepted"]
    missing += [f"{one.id} below it is not accepted" for one in below]
    return missing + [f"it cites version {one.number} of {one.id}, superseded" for one in superseded(board, product.id)]


def _inspected(product: Product, found: Inspection) -> list[str]:
    met = {check.item: check.met for check in found.checks}
    missing = [f"not met: {item}" for item in product.done if not met.get(item, False)]
    return missing + ([] if found.verdict == "approved" else [f"the verdict is {found.verdict}"])


def accept(board: Board) -> Board:
    """Accept what fulfils all conditions, children before parents, and block what a flag or a verdict blocks.

    After Inspect; harmless at any other time, because the conditions are the same.
    """
    for _, product in reversed(list(board.walk())):
        if product.status == "reviewed" and not shortfalls(board, product):
            board = told(move(board, product.id, "accepted"), "accepted", product.id)
        elif product.status in ("written", "reviewed") and blocked(board, product.id):
            why = ", ".join(one.id for one in flags(board, product.id)) or "by the verdict"
            board = told(move(board, product.id, "blocked"), "blocked", product.id, why)
    return board


def blocked(board: Board, product: str) -> bool:
    """Whether a flag or the verdict on the latest version stands in the way."""
    found = board.inspection(product)
    return bool(flags(board, product)) or (found is not None and found.verdict == "blocked")


def reopen(board: Board) -> Board:
    """Take acceptance back where its conditions do not hold any more, up the tree. Part of every operation."""
    while True:
        fallen = [one for one in board.products if one.status == "accepted" and shortfalls(board, one)]
        if not fallen:
            return board
        for one in fallen:
            board = told(move(board, one.id, "reviewed"), "reopened", one.id, "; ".join(shortfalls(board, one))[:200])


def release(board: Board, product: str) -> Board:
    """A product whose last flag was lifted is not blocked any more, unless the verdict or the chair says so."""
    one = board.product(product)
    if one is None or one.status != "blocked" or one.reason or blocked(board, product):
        return board
    return move(board, product, resting(board, product))


def resting(board: Board, product: str) -> Status:
    """The status of a product that nobody works on."""
    if not board.number(product):
        return "pending"
    if blocked(board, product):
        return "blocked"
    return "reviewed" if board.inspection(product) else "written"


# The end of a mission (SPEC 4.8)


def deliverables(board: Board) -> list[Product]:
    """In tree order."""
    return [one for _, one in board.walk() if deliverable(board, one)]


def all_accepted(board: Board) -> bool:
    """Whether there are deliverables and every one is accepted."""
    found = deliverables(board)
    return bool(found) and all(one.status == "accepted" for one in found)


def open_importance(board: Board) -> int:
    """The sum over what stands open on products that were not dropped."""
    living = [one.id for one in board.products if one.status != "rejected"]
    return sum(one.importance for product in living for one in open_feedback(board, product))


def stagnant(board: Board, rounds: int = 2) -> bool:
    """No acceptance and no falling open importance in each of the last rounds (SPEC 4.8); after `close_round`."""
    tallies = [one for one in board.tallies if one.round][-rounds - 1 :]
    if len(tallies) <= rounds:
        return False
    return all(
        after.accepted == 0 and after.open_importance >= before.open_importance for before, after in pairwise(tallies)
    )
