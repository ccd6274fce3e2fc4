"""The board: all that a cabal knows, and the few moves that every operation is made of.

A board is never changed: an operation `(board, author, op) -> Board` gives another one. What a role may not do is not
done; it is appended to `rejections` with a reason that tells the author what to do instead.
"""

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from looper.loops.cabal.board.entities import (
    Assignment,
    Collab,
    Entity,
    Inspection,
    Kind,
    Member,
    Product,
    Remark,
    Role,
    Status,
    Step,
    Version,
)
from looper.loops.cabal.board.records import (
    Entry,
    Halt,
    Happening,
    Overrides,
    Rejection,
    Request,
    Session,
    Tally,
    Thought,
)
from looper.loops.cabal.board.rights import Mechanism, refusal

TRANSITIONS: dict[Status, tuple[Status, ...]] = {
    "pending": ("assigned", "written", "blocked", "rejected"),
    "assigned": ("written", "pending", "reviewed", "blocked", "rejected"),
    "written": ("assigned", "written", "reviewed", "pending", "blocked", "rejected"),
    "reviewed": ("assigned", "written", "accepted", "pending", "blocked", "rejected"),
    "accepted": ("assigned", "written", "reviewed", "pending", "blocked", "rejected"),
    "blocked": ("assigned", "written", "reviewed", "pending", "rejected"),
    "rejected": ("pending",),
}
"""Only what was reviewed is accepted; what the chair rejected comes back by the chair's word alone."""


class Board(Entity):
    """Mission, team, product tree and everything said about it. Plain data."""

    seats: int = 12
    """Operatives at most."""
    round: int = 0
    step: Step = "bootstrap"
    mission: str = ""
    objectives: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    members: tuple[Member, ...] = ()
    products: tuple[Product, ...] = ()
    versions: tuple[Version, ...] = ()
    collabs: tuple[Collab, ...] = ()
    remarks: tuple[Remark, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    inspections: tuple[Inspection, ...] = ()
    thoughts: tuple[Thought, ...] = ()
    halts: tuple[Halt, ...] = ()
    requests: tuple[Request, ...] = ()
    sessions: tuple[Session, ...] = ()
    happenings: tuple[Happening, ...] = ()
    entries: tuple[Entry, ...] = ()
    """The part of the Change Log that code writes."""
    tallies: tuple[Tally, ...] = ()
    rejections: tuple[Rejection, ...] = ()
    pending: Overrides | None = None
    """Overrides that wait for the next round."""
    log: str = ""
    """Id of the Change Log's product."""
    keys: dict[str, str] = Field(default={})
    """Temporary keys of the answer at hand: key to product id."""

    def member(self, ref: str) -> Member | None:
        """By id, else by the chair's key or the name, whatever their case."""
        exact = next((one for one in self.members if one.id == ref), None)
        low = ref.casefold()
        return exact or next((one for one in self.members if low and low in _names(one)), None)

    def product(self, ref: str) -> Product | None:
        """By id, else by a temporary key of this answer."""
        known = {one.id: one for one in self.products}
        return known.get(ref) or known.get(self.keys.get(ref, ""))

    def collab(self, ref: str) -> Collab | None:
        return next((one for one in self.collabs if one.id == ref), None)

    def history(self, product: str) -> list[Version]:
        """Versions of a product, oldest first."""
        return [one for one in self.versions if one.product == product]

    def latest(self, product: str) -> Version | None:
        return next((one for one in reversed(self.versions) if one.product == product), None)

    def number(self, product: str) -> int:
        """Number of the latest version, 0 without one."""
        latest = self.latest(product)
        return latest.number if latest else 0

    def inspection(self, product: str) -> Inspection | None:
        """The latest inspection of the latest version."""
        number = self.number(product)
        found = (one for one in reversed(self.inspections) if one.product == product and one.version == number)
        return next(found, None)

    def assignment(self, product: str) -> Assignment | None:
        """Who has it in this round."""
        found = (one for one in self.assignments if one.product == product and one.round == self.round)
        return next(found, None)

    def children(self, product: str) -> list[Product]:
        return [one for one in self.products if one.parent == product]

    def operatives(self) -> list[Member]:
        return [one for one in self.members if one.role == "operative"]

    def walk(self, parent: str = "", depth: int = 0) -> Iterator[tuple[int, Product]]:
        """The tree with depths, a product before its children."""
        for one in self.children(parent):
            yield depth, one
            yield from self.walk(one.id, depth + 1)


def _names(member: Member) -> tuple[str, str]:
    return member.key.casefold(), member.name.casefold()


def open_board(seats: int = 12) -> Board:
    """A board on which nothing is said yet, at the step `bootstrap` of round 0; `seats`: operatives at most."""
    staff: tuple[Role, ...] = ("chair", "watchdog", "envoy")
    return Board(seats=seats, members=tuple(Member(id=role, role=role, name=role.capitalize()) for role in staff))


def put(board: Board, field: str, *items: Any) -> Board:
    """The board with more of something."""
    return board.model_copy(update={field: (*getattr(board, field), *items)})


def swap(board: Board, field: str, item: Any) -> Board:
    """The board with the thing of the same id replaced."""
    return board.model_copy(update={field: tuple(item if one.id == item.id else one for one in getattr(board, field))})


def told(board: Board, kind: Kind, product: str, text: str = "") -> Board:
    """The board with a line for the Change Log."""
    return put(board, "happenings", Happening(round=board.round, kind=kind, product=product, text=text))


def move(board: Board, product: str, status: Status, *, reason: str = "") -> Board:
    """A product in another status. Raises ValueError for a transition that code must never make."""
    one = board.product(product)
    if one is None or status not in TRANSITIONS[one.status]:
        raise ValueError(f"{product}: {one.status if one else 'unknown'} cannot become {status}")
    return swap(board, "products", one.model_copy(update={"status": status, "reason": reason}))


def reject(board: Board, author: str, operation: str, reason: str) -> Board:
    """The board as it was, and the word why."""
    said = Rejection(round=board.round, step=board.step, author=author, operation=operation, reason=reason)
    return put(board, "rejections", said)


def forbidden(board: Board, author: str, mechanism: Mechanism) -> str:
    """Why the author may not do this now; empty if it may. Raises KeyError for an author who is no member."""
    member = next((one for one in board.members if one.id == author), None)
    if member is None:
        raise KeyError(author)
    return refusal(mechanism, board.step, member.role)


def unknown(board: Board, ref: str) -> str:
    """The reason for a product that does not exist."""
    ids = [one.id for one in board.products]
    known = ", ".join(ids[:12]) + (f" ... {ids[-1]}" if len(ids) > 12 else "")
    return f"There is no product {ref or '(empty)'}; use one of {known or '(none yet)'}."


def rejections_of(board: Board, author: str, *, rounds: int = 1) -> list[Rejection]:
    """What was refused to an author in this round and the ones before, for the next prompt."""
    return [one for one in board.rejections if one.author == author and one.round > board.round - 1 - rounds]
