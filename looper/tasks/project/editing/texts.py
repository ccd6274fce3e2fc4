"""Text of a file as lines: git's lines, the file's own line end, and what to show of a line that is not there."""

import difflib
import heapq
from collections.abc import Sequence
from itertools import pairwise

SHOWN = 160
"""Characters of a line that a message shows."""
COMPARED = 200
"""Characters of a line that are compared when a similar one is looked for: the effort grows with their square."""
CANDIDATES = 50
"""Lines that are compared in full: those with the most pairs of characters in common with the one looked for."""


def split_lines(text: str) -> list[str]:
    """Lines with their ends, split at line feeds alone, as git does; only the last can be without one."""
    *ended, last = text.split("\n")
    return [f"{line}\n" for line in ended] + ([last] if last else [])


def line_end(text: str) -> str:
    """`\\r\\n` or `\\n` if every line ends so; empty for a text of mixed ends or of none."""
    feeds, pairs = text.count("\n"), text.count("\r\n")
    if not feeds or 0 < pairs < feeds:
        return ""
    return "\r\n" if pairs else "\n"


def with_end(given: str, end: str) -> str:
    """What was given with this line end throughout; as it is if there is none to follow."""
    return given.replace("\r\n", "\n").replace("\n", end) if end else given


def unusable(text: str) -> str:
    """Why this cannot be the text of a file; empty if it can."""
    if "\0" in text:
        return "the text holds a NUL character; only text files can be written"
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"the text holds a lone surrogate at character {error.start + 1}; give whole characters"
    return ""


def shown(line: str) -> str:
    """The line for a message, to the letter but for characters that cannot be seen, and cut."""
    bare = line.rstrip("\r\n")
    cut = bare if len(bare) <= SHOWN else f"{bare[:SHOWN]}..."
    return "`" + "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut) + "`"


def similar(wanted: str, lines: Sequence[str]) -> str:
    """A phrase on the line that is most like the one wanted; empty if none is."""
    bare = [line.rstrip("\r\n")[:COMPARED] for line in lines]
    wanted = wanted.rstrip("\r\n")[:COMPARED]
    if not wanted.strip():
        return ""
    if wanted in bare:
        return f"it is at line {bare.index(wanted) + 1}"
    for number, line in enumerate(bare, 1):
        if line.strip() == wanted.strip():
            return f"line {number} differs from it only in white space: {shown(line)}"
    pairs = _pairs(wanted)
    candidates = heapq.nlargest(CANDIDATES, dict.fromkeys(bare), key=lambda line: len(pairs & _pairs(line)))
    near = difflib.get_close_matches(wanted, candidates, n=1)
    return f"nearest to it is line {bare.index(near[0]) + 1}: {shown(near[0])}" if near else ""


def _pairs(line: str) -> set[tuple[str, str]]:
    return set(pairwise(line))
