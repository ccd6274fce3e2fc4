"""What members say of products and to one another: collabs and their resolution, remarks, inspections (SPEC 4.2)."""

from looper.loops.cabal.board.acceptance import release, reopen, verdict_of
from looper.loops.cabal.board.entities import FLAG, Check, Collab, Inspection, Product, Remark
from looper.loops.cabal.board.operations import Finding, NewCollab, NewInspection, NewRemark, Resolution
from looper.loops.cabal.board.table import Board, forbidden, move, put, reject, swap, told, unknown

GENERAL = ("accuracy", "consistency", "integration")
"""Criteria of the watchdog beside the checklist (document 002, Inspect: accuracy and consistency, integration)."""


def collaborate(board: Board, author: str, op: NewCollab) -> Board:
    """Feedback on a product; in review, on the work of others only."""
    name = f"{op.kind} on {op.product}"
    product = board.product(op.product)
    why = forbidden(board, author, "collab") or (unknown(board, op.product) if product is None else "")
    if not why and product:
        why = _not_now(board, author, product, op) or _again(board, author, product.id, op.text)
    if why or product is None:
        return reject(board, author, name, why)
    flagging = board.step == "inspect" and op.importance >= FLAG
    if flagging and (why := forbidden(board, author, "flag")):
        return reject(board, author, name, why)
    collab = Collab(
        id=f"c{len(board.collabs) + 1}", product=product.id, version=board.number(product.id), author=author,
        round=board.round, step=board.step, kind=op.kind, importance=op.importance, text=op.text,
        criterion=criterion(product, op.criterion),
    )  # fmt: skip
    return reopen(_reviewed(put(board, "collabs", collab), product.id))


def _not_now(board: Board, author: str, product: Product, op: NewCollab) -> str:
    """Why the step does not take this feedback."""
    if product.status == "rejected":
        return f"{product.id} is rejected and out of the mission; leave it."
    if board.step == "inspect" and not criterion(product, op.criterion):
        return _name_a_criterion(product, op.criterion)
    if board.step != "review":
        return ""
    latest = board.latest(product.id)
    if latest is None:
        return f"{product.id} has no version; there is nothing to review."
    if author in (latest.author, product.owner):
        return f"{product.id} is your own work; review the work of others."
    return ""


def _again(board: Board, author: str, product: str, text: str) -> str:
    """Why the same words of the same author are a duplicate; not, if they were dealt with and yet hold again."""
    words = text.casefold().split()
    for one in reversed(board.collabs):
        if (one.author, one.product) == (author, product) and one.text.casefold().split() == words:
            if one.addressed and board.number(product) >= one.addressed > one.version:
                return ""
            return f"A duplicate of your {one.id} ({one.state}); say something new, or nothing."
    return ""


def _reviewed(board: Board, product: str) -> Board:
    """A written product on which a peer has spoken in review is reviewed."""
    one = board.product(product)
    if board.step != "review" or one is None or one.status != "written":
        return board
    return told(move(board, product, "reviewed"), "reviewed", product, "by peers")


def resolve(board: Board, author: str, op: Resolution) -> Board:
    """Open feedback is accepted, deferred or rejected by the owner of the product, and by nobody else."""
    name = f"{op.outcome} {op.collab}"
    if why := forbidden(board, author, "resolve"):
        return reject(board, author, name, why)
    one = board.collab(op.collab)
    if one is None:
        return reject(board, author, name, f"There is no feedback {op.collab or '(empty)'}; use an id such as c1.")
    product = board.product(one.product)
    if product is None or product.owner != author:
        owner = product.owner if product else "nobody"
        return reject(board, author, name, f"{one.id} is on {one.product} of {owner}; only its owner resolves it.")
    if one.state != "open":
        return reject(board, author, name, f"{one.id} is {one.state} already; answer it in a version if it is left.")
    board = swap(board, "collabs", one.model_copy(update={"state": op.outcome, "reason": op.reason}))
    return release(board, one.product)


def remark(board: Board, author: str, op: NewRemark) -> Board:
    """A note to oneself, the team, one agent or the user."""
    name = f"{op.kind} to {op.agent or op.target}"
    if why := forbidden(board, author, "remark"):
        return reject(board, author, name, why)
    who = board.member(op.agent)
    if op.target == "agent" and who is None:
        ids = ", ".join(one.id for one in board.members)
        return reject(board, author, name, f"There is no member {op.agent or '(empty)'}; name one of {ids}.")
    said = Remark(
        id=f"r{len(board.remarks) + 1}", author=author, round=board.round, step=board.step, target=op.target,
        agent=who.id if op.target == "agent" and who else "", kind=op.kind, text=op.text,
    )  # fmt: skip
    return put(board, "remarks", said)


def remarks_for(board: Board, member: str, *, rounds: int = 1) -> list[Remark]:
    """What a member is to read: to itself from every round, to it and the team from this round and the last ones.

    `member` may be `user`.
    """
    fresh = [one for one in board.remarks if one.round >= board.round - rounds]
    to_it = [one for one in fresh if one.target == member or one.agent == member]
    to_all = [one for one in fresh if one.target == "team" and member not in ("user", one.author)]
    own = [one for one in board.remarks if one.target == "self" and one.author == member]
    return sorted(to_it + to_all + own, key=lambda one: int(one.id[1:]))


# Inspection


def criterion(product: Product, said: str) -> str:
    """What a finding is measured by: the text of a checklist item (by number or text), or a general criterion."""
    said = " ".join(said.split()).casefold()
    if said.isascii() and said.isdigit():
        return product.done[int(said) - 1] if 0 < int(said) <= len(product.done) else ""
    found = next((item for item in product.done if item.casefold() == said), "")
    return found or (said if said in GENERAL else "")


def _name_a_criterion(product: Product, said: str) -> str:
    items = f"a number from 1 to {len(product.done)}, or " if product.done else ""
    return f"The criterion {said or '(empty)'} of {product.id} is none; name {items}{', '.join(GENERAL)}."


def inspect(board: Board, author: str, op: NewInspection) -> Board:
    """A checklist and findings on the latest version; the verdict is computed, the recommendation is kept beside it.

    Findings are filed as feedback also where the inspection as a whole is rejected.
    """
    name = f"inspection of {op.product}"
    product = board.product(op.product)
    why = forbidden(board, author, "inspection") or (unknown(board, op.product) if product is None else "")
    if not why and product:
        why = _uninspectable(board, product)
    if why or product is None:
        return reject(board, author, name, why)
    for one in op.findings:
        board = collaborate(board, author, _as_collab(product, one))
    if why := _incomplete(product, op):
        return reject(board, author, name, why)
    return _record(board, product, op)


def _as_collab(product: Product, one: Finding) -> NewCollab:
    return NewCollab(
        product=product.id, kind="concern", importance=one.importance, text=one.text, criterion=one.criterion
    )


def _uninspectable(board: Board, product: Product) -> str:
    if product.status == "rejected":
        return f"{product.id} is rejected and out of the mission; leave it."
    return "" if board.number(product.id) else f"{product.id} has no version; there is nothing to inspect."


def _incomplete(product: Product, op: NewInspection) -> str:
    """What keeps a verdict from being computed."""
    items = [one.item for one in op.checklist]
    missing = [str(number) for number in range(1, len(product.done) + 1) if number not in items]
    wrong = [str(item) for item in sorted(set(items)) if item > len(product.done) or items.count(item) > 1]
    strange = [one.criterion or "(empty)" for one in op.findings if not criterion(product, one.criterion)]
    if missing:
        return f"Checklist items {', '.join(missing)} are missing; give each with a note."
    if wrong:
        return f"Checklist items {', '.join(wrong)} are unknown or given twice; give 1 to {len(product.done)} once."
    return _name_a_criterion(product, strange[0]) if strange else ""


def _record(board: Board, product: Product, op: NewInspection) -> Board:
    checks = tuple(
        Check(item=product.done[one.item - 1], met=one.met, note=one.note)
        for one in sorted(op.checklist, key=lambda one: one.item)
    )
    worst = max((one.importance for one in op.findings), default=0)
    found = Inspection(
        product=product.id, version=board.number(product.id), round=board.round, checks=checks, worst=worst,
        verdict=verdict_of([worst]), said=op.verdict,
    )  # fmt: skip
    board = put(board, "inspections", found)
    one = board.product(product.id)
    if one and not one.reason and one.status in ("written", "blocked"):
        board = move(board, one.id, "reviewed")
    return reopen(told(board, "reviewed", product.id, found.verdict))
