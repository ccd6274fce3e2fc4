"""A piece of data with the lines of its values."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import yaml

from looper.checks.reading.loaders import load, load_one
from looper.checks.reading.parts import Piece
from looper.checks.reading.unreadable import Unreadable

Problems = list[tuple[int, str]]
"""Lines of the artifact (0: none) and what is to be fixed there."""
Found = tuple[Problems, str, str | None]
"""Problems, what ran, and what it said if that is not the problems."""
_Safe: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def problem(piece: Piece, error: Unreadable) -> tuple[int, str]:
    """What is said of a piece that cannot be read."""
    text = f"{error} ({piece.remark})" if piece.remark else str(error)
    return (piece.at(error.line) if error.line else piece.line, text)


class Document:
    """A value and where its parts stand."""

    def __init__(self, piece: Piece, language: str, value: Any, place: int = 0):
        self.piece, self.language, self.value, self.place = piece, language, value, place

    def line(self, path: Sequence[Any]) -> int:
        """The line of the value at `path` or of the nearest one above it; the key's line where there is a key."""
        if self.language in ("ini", "env", "toml"):
            return self._named(path)
        nodes = _nodes(self.piece.text)
        node = nodes[self.place] if self.place < len(nodes) else None
        line = node.start_mark.line + 1 if node is not None else 1
        for step in path:
            found = _below(node, step)
            if found is None:
                break
            line, node = found
        return self.piece.at(line)

    def _named(self, path: Sequence[Any]) -> int:
        """The first line that sets the last key of the path; formats of lines have no nodes."""
        keys = [str(key) for key in path if isinstance(key, str)]
        name = re.escape(keys[-1]) if keys else "$^"
        found = re.search(rf"(?m)^\s*(?:export\s+)?[\[\"']*(?:[\w.]+\.)?{name}[\]\"']*\s*(?:=|$)", self.piece.text)
        return self.piece.at(self.piece.text.count("\n", 0, found.start()) + 1) if found else self.piece.line


def _below(node: Any, step: Any) -> tuple[int, Any] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == str(step):
                return key.start_mark.line + 1, value
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step].start_mark.line + 1, node.value[step]
    return None


@lru_cache(maxsize=2)
def _nodes(text: str) -> list[Any]:
    """The trees of a text that was read already (so it is bounded); JSON is YAML but for tabs and odd escapes."""
    try:
        return list(yaml.compose_all(text, Loader=_Safe))
    except yaml.YAMLError:
        return []


def documents(pieces: Sequence[Piece], language: str, *, stream: bool = False) -> tuple[list[Document], Problems]:
    """The pieces that can be read, and what is wrong with the others; YAML of several documents only as a `stream`."""
    found: list[Document] = []
    problems: Problems = []
    for piece in pieces:
        try:
            values = load(piece.text, language) if language == "yaml" and stream else [load_one(piece.text, language)]
            found += [Document(piece, language, value, place) for place, value in enumerate(values)]
        except Unreadable as error:
            problems.append(problem(piece, error))
    return found, problems
