"""Kind `pattern`: how often a regular expression matches. The time limit is the process's, from outside."""

import re
from collections.abc import Sequence

from looper.checks.kinds import Pattern
from looper.checks.reading.document import Found, Problems
from looper.checks.reading.parse import PYTHON
from looper.checks.reading.parts import Artifact, Piece


def read(check: Pattern, artifact: Artifact, pieces: Sequence[Piece]) -> Found:
    name = f"re of {PYTHON}, with a time limit from outside"
    try:
        pattern = re.compile(check.pattern, re.MULTILINE | (re.IGNORECASE if check.ignore_case else 0))
    except (re.error, OverflowError, RecursionError) as error:
        return [(0, f"the check's own pattern is not valid: {error}")], name, None
    lines: list[int] = []
    for piece in pieces:
        lines += matching(pattern, piece)
    return problems(check, lines), name, "\n".join(map(str, lines))


def matching(pattern: re.Pattern[str], piece: Piece) -> list[int]:
    """Lines of the matches that are not empty: an empty one is there in any text."""
    found: list[int] = []
    line, at = 1, 0
    for match in pattern.finditer(piece.text):
        if match.end() > match.start():
            line += piece.text.count("\n", at, match.start())
            at = match.start()
            found.append(piece.at(line))
    return found


def problems(check: Pattern, lines: list[int]) -> Problems:
    what = check.wanted or f"the pattern {check.pattern}"
    if len(lines) < check.min:
        fewest = "" if check.min == 1 else f" {check.min} times, not {len(lines)}"
        return [(0, f"{what} must be there{fewest}")]
    if check.max is not None and len(lines) > check.max:
        rule = "must not be there" if check.max == 0 else f"may be there {check.max} times, not {len(lines)}"
        return [(line, f"{what} {rule}") for line in lines[check.max :]]
    return []
