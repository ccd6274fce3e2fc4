"""What a mission leaves: accepted products as files, and one document that joins them (issue 6, item 4)."""

import re
from collections.abc import Mapping
from typing import Any

from looper.loops.cabal.board.joined import accepted, apart, joined
from looper.loops.cabal.board.table import Board

FOLDER = "products"
DOCUMENT = "document.md"
_STRANGE = re.compile(r"[^a-z0-9]+")


def board_of(told: Mapping[str, Any]) -> Board:
    """The board that an event `board_updated` tells."""
    return Board.model_validate(told["board"])


def files(told: Mapping[str, Any]) -> dict[str, str]:
    """Text by file name: each accepted product by itself, and the joined document; nothing without any."""
    board = board_of(told)
    found = accepted(board)
    if not found:
        return {}
    names = {one.id: f"{one.id}-{named(one.title)}.md" for _, one in found}
    texts = {one: said.content for one in names if (said := board.latest(one))}
    products = {f"{FOLDER}/{names[one]}": f"{apart(board, text, names)}\n" for one, text in texts.items()}
    return {**products, DOCUMENT: joined(board)}


def named(title: str) -> str:
    """A title as a part of a file name."""
    return _STRANGE.sub("-", title.lower()).strip("-")[:60] or "product"
