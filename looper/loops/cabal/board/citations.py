"""Citations in contents: `[[p:id]]`, `[[v:id:n]]`, `[[a:id]]` (a member or an assignment), `[[c:id]]` (SPEC 4.5).

What stands in code (fenced or between backticks) is not a citation.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from looper.loops.cabal.board.table import Board

_PARTS = re.compile(
    r"(?P<fence>^ {0,3}(?P<mark>`{3,}|~{3,})[^\n]*(?:\n(?! {0,3}(?P=mark)[`~]*[ \t]*$)[^\n]*)*"
    r"(?:\n {0,3}(?P=mark)[`~]*[ \t]*$)?)"
    r"|(?P<code>(?<!`)(?P<ticks>`+)(?!`)[^\n]*?(?<!`)(?P=ticks)(?!`))"
    r"|\[\[[ \t]*(?P<kind>[pvac])[ \t]*:(?P<rest>[^\[\]\n]*)\]\]",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Citation:
    """One reference."""

    kind: str
    """p, v, a or c."""
    id: str
    number: int = 0
    """Of the version; 0 where none is named, or what is named is no number."""
    text: str = ""
    """As it was written."""


@lru_cache(maxsize=1_000)
def citations(content: str) -> tuple[Citation, ...]:
    """All references of a content, in order. Kept: reviewers are chosen by them again and again."""
    return tuple(cited(found) for found in _found(content))


def replaced(content: str, by: Callable[[Citation], str]) -> str:
    """The content with every citation as `by` shows it."""
    return _PARTS.sub(lambda found: by(cited(found)) if found["kind"] else found[0], content)


def _found(content: str) -> Iterator[re.Match[str]]:
    return (found for found in _PARTS.finditer(content) if found["kind"])


def cited(found: re.Match[str]) -> Citation:
    ref, _, number = found["rest"].strip().partition(":")
    if found["kind"] != "v":
        return Citation(found["kind"], found["rest"].strip(), 0, found[0])
    digits = number.strip()
    return Citation("v", ref.strip(), int(digits) if re.fullmatch(r"[0-9]{1,6}", digits) else 0, found[0])


def unresolved(board: Board, content: str, writing: str = "") -> list[str]:
    """Citations that lead nowhere; a version of the product `writing` may cite itself, whose number is the next one."""
    return list(dict.fromkeys(one.text for one in citations(content) if not _resolves(board, one, writing)))


def _resolves(board: Board, one: Citation, writing: str) -> bool:
    if one.kind == "a":
        return any(one.id == known.id for known in (*board.members, *board.assignments))
    if one.kind == "c":
        return board.collab(one.id) is not None
    if all(one.id != known.id for known in board.products):
        return False
    return one.kind == "p" or 1 <= one.number <= board.number(one.id) + (one.id == writing)


def cites(board: Board, product: str) -> list[str]:
    """Ids of other products that the latest version refers to."""
    latest = board.latest(product)
    found = [one.id for one in citations(latest.content) if one.kind in "pv"] if latest else []
    return [one for one in dict.fromkeys(found) if one != product]


def superseded(board: Board, product: str) -> list[Citation]:
    """Versions of other products that the latest version cites and that are not the latest any more."""
    latest = board.latest(product)
    found = citations(latest.content) if latest else ()
    old = (one for one in found if one.kind == "v" and one.id != product and one.number < board.number(one.id))
    return list({(one.id, one.number): one for one in old}.values())
