"""The product tree and who changes it: the chair, in bootstrap and in plan (SPEC 4.5)."""

from collections.abc import Iterable, Sequence

from looper.loops.cabal.board.acceptance import reopen
from looper.loops.cabal.board.entities import Member, Product
from looper.loops.cabal.board.operations import Mark, NewProduct, Reparent, UpdateProduct
from looper.loops.cabal.board.rights import Mechanism
from looper.loops.cabal.board.table import Board, forbidden, move, put, reject, swap, told, unknown

MARKS = ("pending", "blocked", "rejected")
"""What the chair can set; the other statuses follow from what is done."""
CHANGE_LOG = "change log"


def create(board: Board, author: str, ops: Sequence[NewProduct]) -> Board:
    """Several products at once, in any order: their keys name one another as parents."""
    if why := forbidden(board, author, "create"):
        return reject(board, author, _listed(ops), why)
    waiting, keys = list(ops), [one.key for one in ops if one.key]
    twice = {key for key in keys if keys.count(key) > 1}
    while (place := _next(board, waiting)) is not None:
        board = _create(board, author, waiting.pop(place), twice)
    for one in waiting:
        why = f"There is no parent {one.parent}; name an id, or the key of a product that is created with it."
        board = reject(board, author, f"create {one.title}", why)
    return reopen(board)


def _next(board: Board, waiting: Sequence[NewProduct]) -> int | None:
    """Place of the first product whose parent is there."""
    ready = (place for place, one in enumerate(waiting) if not one.parent or board.product(one.parent))
    return next(ready, None)


def _listed(ops: Sequence[NewProduct]) -> str:
    return f"create {', '.join(one.title for one in ops[:5])}"


def _create(board: Board, author: str, op: NewProduct, twice: Iterable[str]) -> Board:
    owner = board.member(op.owner)
    why = _wrong_owner(board, owner, op.owner) or _taken(board, op.title) or _wrong_key(board, op.key, twice)
    above = board.product(op.parent)
    if above and above.status == "rejected":
        why = why or f"{above.id} is rejected; choose another parent, or mark it pending first."
    if why or owner is None:
        return reject(board, author, f"create {op.title}", why)
    product = Product(
        id=f"p{len(board.products) + 1}", title=op.title, type=op.type, owner=owner.id,
        parent=above.id if above else "", done=tuple(dict.fromkeys(op.done)),
    )  # fmt: skip
    if op.key:
        board = board.model_copy(update={"keys": board.keys | {op.key: product.id}})
    return told(put(board, "products", product), "created", product.id, f"for {owner.id}")


def _wrong_owner(board: Board, owner: Member | None, ref: str) -> str:
    if owner is None or owner.role not in ("chair", "operative"):
        ids = ", ".join(one.id for one in board.operatives())
        return f"{ref or '(nobody)'} cannot own a product; choose one of {ids}, or chair."
    return ""


def _taken(board: Board, title: str, but: str = "") -> str:
    same = (one for one in board.products if one.title.casefold() == title.casefold() and one.status != "rejected")
    found = next((one for one in same if one.id != but), None)
    return f"There is a product of this title, {found.id}; work on that one or choose another title." if found else ""


def _wrong_key(board: Board, key: str, twice: Iterable[str]) -> str:
    if key in twice:
        return f"Two products have the key {key}; give each its own."
    if key and any(key == one.id for one in board.products):
        return f"The key {key} is the id of a product; choose another key."
    return ""


def start_log(board: Board) -> Board:
    """The board with a Change Log: the chair's product of that title, or one that code makes."""
    found = (one for one in board.products if one.title.casefold() == CHANGE_LOG and one.owner == "chair")
    log = next(found, None)
    if log is None:
        done = ("It has an entry for every round.",)
        log = Product(
            id=f"p{len(board.products) + 1}", title="Change Log", type="orchestration", owner="chair", done=done
        )
        board = told(put(board, "products", log), "created", log.id, "by the rules")
    log = log.model_copy(update={"type": "orchestration"})
    return swap(board, "products", log).model_copy(update={"log": log.id})


def _found(board: Board, author: str, mechanism: Mechanism, ref: str) -> tuple[Product | None, str]:
    """A product that the author may change in the tree, or the reason why not."""
    if why := forbidden(board, author, mechanism):
        return None, why
    product = board.product(ref)
    if product is None:
        return None, unknown(board, ref)
    if product.id == board.log:
        return None, f"{ref} is the Change Log and stays as it is; write into it by a version."
    return product, ""


def update(board: Board, author: str, op: UpdateProduct) -> Board:
    """Another title, owner or checklist. A new checklist has to be inspected."""
    name = f"update {op.product}"
    product, why = _found(board, author, "tree", op.product)
    if product is None:
        return reject(board, author, name, why)
    title = " ".join(op.title.split())
    owner = board.member(op.owner)
    if op.owner:
        why = _wrong_owner(board, owner, op.owner)
        if not why and op.owner == "chair" and product.owner != "chair":
            why = f"{product.id} is work of the team; mark it rejected if it is not needed any more."
    why = why or (_taken(board, title, product.id) if title else "")
    if why:
        return reject(board, author, name, why)
    changed = product.model_copy(
        update={
            "title": title or product.title, "owner": owner.id if op.owner and owner else product.owner,
            "done": tuple(dict.fromkeys(op.done)) or product.done,
        }
    )  # fmt: skip
    if changed == product:
        return reject(board, author, name, "Nothing would change; give a new title, owner or checklist.")
    return reopen(told(swap(board, "products", changed), "changed", product.id))


def reparent(board: Board, author: str, op: Reparent) -> Board:
    """Another place in the tree."""
    name = f"move {op.product} below {op.parent or 'the root'}"
    product, why = _found(board, author, "tree", op.product)
    if product is None:
        return reject(board, author, name, why)
    above = board.product(op.parent)
    if op.parent and above is None:
        return reject(board, author, name, unknown(board, op.parent))
    target = above.id if above else ""
    if target == product.parent:
        return reject(board, author, name, f"{product.id} is there already; leave it out.")
    if target in (product.id, *_below(board, product.id)):
        return reject(board, author, name, f"{target} is {product.id} or below it; choose a parent outside.")
    if above and above.status == "rejected":
        return reject(board, author, name, f"{target} is rejected; choose another parent, or mark it pending first.")
    moved = swap(board, "products", product.model_copy(update={"parent": target}))
    return reopen(told(moved, "moved", product.id, f"below {target}" if target else "to the root"))


def _below(board: Board, product: str) -> list[str]:
    return [one.id for _, one in board.walk(product)]


def mark(board: Board, author: str, op: Mark) -> Board:
    """A status by the chair's word, with a reason."""
    name = f"mark {op.product} {op.status}"
    product, why = _found(board, author, "tree", op.product)
    if product is None:
        return reject(board, author, name, why)
    if op.status not in MARKS:
        why = f"{op.status} is set by code from what was done; you can mark a product {', '.join(MARKS)}."
        return reject(board, author, name, why)
    if product.status == op.status:
        return reject(board, author, name, f"{product.id} is {op.status} already; leave it out.")
    if product.status == "rejected" and op.status != "pending":
        return reject(board, author, name, f"{product.id} is rejected; mark it pending first.")
    if op.status == "pending" and (why := _taken(board, product.title, product.id)):
        return reject(board, author, name, why)
    reason = "" if op.status == "pending" else op.reason
    board = move(board, product.id, op.status, reason=reason)
    return reopen(told(board, "marked", product.id, f"{op.status}: {op.reason}"))
