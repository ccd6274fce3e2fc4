"""Which products a reviewer sees: what hangs together with its own work, then what is of its domain (SPEC 4.6)."""

import re
from collections.abc import Sequence

from looper.loops.cabal.board.citations import cites
from looper.loops.cabal.board.entities import Member, Product
from looper.loops.cabal.board.rounds import new_work
from looper.loops.cabal.board.table import Board

MOST_REVIEWED = 5
"""Products per reviewer (SPEC 4.6)."""
_WORDS = re.compile(r"[^\W_]{3,}")
_COMMON = frozenset(
    {"and", "are", "for", "from", "has", "have", "its", "not", "one", "that", "the", "this", "who", "with"}
)
"""Words of every domain."""


def to_review(board: Board, reviewer: str, most: int = MOST_REVIEWED) -> list[str]:
    """New work of others, the most relevant first.

    Among equally relevant products each reviewer begins at another place of the tree, so that all are seen by somebody.
    """
    fresh = [one for one in new_work(board) if not _own(board, reviewer, one)]
    who = board.member(reviewer)
    if who is None or not fresh:
        return []
    seats = [one.id for one in board.operatives()]
    offset = seats.index(who.id) * most if who.id in seats else 0
    owned = [one.id for one in board.products if one.owner == who.id]
    domain, near = _domain(who), _neighbours(board, owned)

    def rank(product: str) -> tuple[int, int, int]:
        place = (fresh.index(product) - offset) % len(fresh)
        return -near.get(product, 0), -len(domain & _about(board, product)), place

    return sorted(fresh, key=rank)[:most]


def _own(board: Board, reviewer: str, product: str) -> bool:
    one, latest = board.product(product), board.latest(product)
    return one is None or one.owner == reviewer or (latest is not None and latest.author == reviewer)


def _neighbours(board: Board, owned: Sequence[str]) -> dict[str, int]:
    """By product how closely it hangs together with what the reviewer owns: 2 a citation, 1 the tree; added up."""
    found: dict[str, int] = {}
    known = {one.id: one for one in board.products}
    for one in board.products:
        cited = set(cites(board, one.id))
        for mine in owned:
            linked = 2 * (mine in cited or one.id in cites(board, mine)) + _beside(one, known[mine])
            found[one.id] = found.get(one.id, 0) + linked
    return found


def _beside(one: Product, other: Product) -> int:
    """Parent, child, or below the same parent; the root joins nobody."""
    return int(one.parent == other.id or other.parent == one.id or (one.parent == other.parent != ""))


def _domain(member: Member) -> set[str]:
    return _words(f"{member.persona} {member.responsibility} {member.area}")


def _about(board: Board, product: str) -> set[str]:
    one, latest = board.product(product), board.latest(product)
    text = " ".join((one.title, *one.done)) if one else ""
    return _words(f"{text} {latest.content if latest else ''}")


def _words(text: str) -> set[str]:
    return set(_WORDS.findall(text.casefold())) - _COMMON
