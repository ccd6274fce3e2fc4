"""Who works on what, and what comes of it: assignments and versions (SPEC 4.5)."""

import re
from collections.abc import Iterable

from looper.loops.cabal.board.acceptance import reopen, resting
from looper.loops.cabal.board.citations import unresolved
from looper.loops.cabal.board.entities import Answer, Assignment, Collab, Product, Version
from looper.loops.cabal.board.operations import NewAssignment, NewVersion
from looper.loops.cabal.board.table import Board, forbidden, move, put, reject, swap, told, unknown

MOST_ATTACHED = 3
"""Products that an assignee is shown at most (SPEC 4.2)."""

LEFT_OUT = re.compile(r"\[\.\.\. \d+ characters left out \.\.\.\]")
"""What stands in a prompt where a text was too long for it; in a product it means that a part was lost."""


def assign(board: Board, author: str, op: NewAssignment) -> Board:
    """A directive; one product has one assignee per round."""
    name = f"assign {op.product} to {op.assignee}"
    why = forbidden(board, author, "assignment") or _unassignable(board, op)
    product, who = board.product(op.product), board.member(op.assignee)
    if why or product is None or who is None:
        return reject(board, author, name, why)
    assignment = Assignment(
        id=f"a{len(board.assignments) + 1}", round=board.round, product=product.id, assignee=who.id,
        objective=op.objective, done=tuple(op.done), why=op.why, context=op.context,
        attached=tuple(_ids(board, op.attached)), address=tuple(dict.fromkeys(op.address)),
    )  # fmt: skip
    board = put(board, "assignments", assignment)
    return told(reopen(move(board, product.id, "assigned")), "assigned", product.id, f"to {who.id}")


def _ids(board: Board, refs: Iterable[str]) -> list[str]:
    found = [board.product(ref) for ref in refs]
    return list(dict.fromkeys(one.id for one in found if one))


def _unassignable(board: Board, op: NewAssignment) -> str:
    who, product = board.member(op.assignee), board.product(op.product)
    if who is None or who.role != "operative":
        ids = ", ".join(one.id for one in board.operatives())
        return f"{op.assignee or '(nobody)'} is no operative; assign work to one of {ids}."
    if product is None:
        return unknown(board, op.product)
    return _not_free(board, product) or _wrong_context(board, product, op)


def _not_free(board: Board, product: Product) -> str:
    if product.owner == "chair":
        return f"{product.id} is the chair's own; write a version of it yourself, or give it to an operative first."
    if taken := board.assignment(product.id):
        return f"{product.id} is assigned to {taken.assignee} in this round; one product has one assignee per round."
    if product.status == "rejected":
        return f"{product.id} is rejected; mark it pending first."
    return ""


def _wrong_context(board: Board, product: Product, op: NewAssignment) -> str:
    if lost := [ref for ref in op.attached if board.product(ref) is None]:
        return unknown(board, lost[0])
    if len(_ids(board, op.attached)) > MOST_ATTACHED:
        return f"{len(op.attached)} products are attached; attach at most {MOST_ATTACHED}, the most important ones."
    left = [one.id for one in board.collabs if one.product == product.id and _addressable(one)]
    if lost := [ref for ref in op.address if ref not in left]:
        known = ", ".join(left[:12]) or "none"
        return f"{', '.join(lost[:5])}: no unresolved feedback on {product.id}; what can be addressed: {known}."
    return ""


def _addressable(one: Collab) -> bool:
    return one.kind != "endorsement" and (one.stands or one.state == "deferred")


def to_address(board: Board, product: str) -> list[Collab]:
    """Feedback that the next version must answer: named by the chair, accepted by the owner, or an open flag."""
    assignment = board.assignment(product)
    named = assignment.address if assignment else ()
    about = [one for one in board.collabs if one.product == product and _addressable(one)]
    return [one for one in about if one.id in named or one.state == "accepted" or (one.blocking and one.stands)]


def write(board: Board, author: str, op: NewVersion) -> Board:
    """A version: of an assigned product by its assignee, or of an own product by the chair."""
    name = f"version of {op.product}"
    product = board.product(op.product)
    why = forbidden(board, author, "version") or _unwritable(board, author, product, op.product)
    if not why and product:
        why = _bad_content(board, product, op.content) or _unanswered(board, product, op)
    if why or product is None:
        return reject(board, author, name, why)
    board, answers = _answers(board, author, product, op)
    version = Version(
        product=product.id, number=board.number(product.id) + 1, author=author, round=board.round,
        content=op.content.strip("\n"), summary=op.summary, answers=answers,
    )  # fmt: skip
    board = _settle(put(board, "versions", version), version)
    board = told(move(board, product.id, "written"), "written", product.id, f"v{version.number} {op.summary}")
    return reopen(board)


def _unwritable(board: Board, author: str, product: Product | None, ref: str) -> str:
    if product is None:
        return unknown(board, ref)
    if product.status == "rejected":
        return f"{product.id} is rejected; leave it."
    if author == "chair":
        return "" if product.owner == "chair" else f"{product.id} belongs to {product.owner}; assign it instead."
    assignment = board.assignment(product.id)
    if assignment is None or assignment.assignee != author:
        yours = [one.product for one in board.assignments if one.round == board.round and one.assignee == author]
        return f"{product.id} is not assigned to you in this round; write {', '.join(yours) or 'nothing'} only."
    if product.status != "assigned":
        return f"{product.id} is {product.status}; there is one version per assignment, wait for the next one."
    return ""


def _bad_content(board: Board, product: Product, content: str) -> str:
    if not content.strip():
        return "The content is empty; give the whole text of the product."
    latest = board.latest(product.id)
    if latest and latest.content.split() == content.split():
        return f"The content is that of version {latest.number}; change it, or leave the version out."
    if (marks := LEFT_OUT.findall(content)) and not (latest and set(marks) <= set(LEFT_OUT.findall(latest.content))):
        return f"The content says `{marks[0]}`: give the whole text; ask for context if you were not shown all of it."
    if lost := unresolved(board, content, product.id):
        return f"These citations lead nowhere: {', '.join(lost[:20])}; cite what is on the board, or leave them out."
    return ""


def _unanswered(board: Board, product: Product, op: NewVersion) -> str:
    answered = [one.collab for one in op.answers]
    if twice := sorted({one for one in answered if answered.count(one) > 1}):
        return f"{', '.join(twice)}: answered twice; give one answer each."
    missing = [one.id for one in to_address(board, product.id) if one.id not in answered]
    if missing:
        return f"{', '.join(missing)} must be addressed; answer each with addressed, deferred or rejected and a reason."
    return ""


def _answers(board: Board, author: str, product: Product, op: NewVersion) -> tuple[Board, tuple[Answer, ...]]:
    """Those answers that are about feedback on this product; the others are rejected, not the version."""
    left = {one.id for one in board.collabs if one.product == product.id and _addressable(one)}
    answers = tuple(Answer(**one.model_dump()) for one in op.answers if one.collab in left)
    for one in op.answers:
        if one.collab not in left:
            why = f"It is no unresolved feedback on {product.id}; leave the answer out."
            board = reject(board, author, f"answer to {one.collab}", why)
    return board, answers


def _settle(board: Board, version: Version) -> Board:
    """Feedback after a version: the owner's answers decide; another assignee's wait for the owner."""
    product = board.product(version.product)
    for answer in version.answers:
        one = board.collab(answer.collab)
        if one is None or product is None:
            continue
        owner = version.author == product.owner
        if answer.outcome == "addressed" and (owner or one.state == "accepted"):
            reason = answer.reason if owner else one.reason
            change = {"state": "accepted", "reason": reason, "addressed": version.number}
        elif owner:
            change = {"state": answer.outcome, "reason": answer.reason}
        else:
            continue
        board = swap(board, "collabs", one.model_copy(update=change))
    return board


def lapse(board: Board) -> Board:
    """Assigned products of which nothing came go back to where they were."""
    for one in board.products:
        if one.status == "assigned":
            board = move(board, one.id, resting(board, one.id))
    return board
