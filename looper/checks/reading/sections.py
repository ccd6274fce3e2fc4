"""Kind `sections`: headings with enough text below them."""

import re
from collections.abc import Sequence
from itertools import pairwise

from looper.checks.kinds import Sections
from looper.checks.reading.document import Found, Problems
from looper.checks.reading.outline import NAME, Outline, outline, same
from looper.checks.reading.parts import Artifact, Piece

_WORD = re.compile(r"[^\W_]+(?:['\u2019\-.][^\W_]+)*")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


def read(check: Sections, artifact: Artifact, pieces: Sequence[Piece]) -> Found:
    problems: Problems = []
    places: list[tuple[int, str]] = []
    for title, words in check.sections.items():
        found = [counted for piece in pieces for counted in counts(piece, title)]
        if not found:
            problems.append((0, f"the section {title.lstrip('# ')!r} is missing"))
            continue
        line, count = max(found, key=lambda one: one[1])
        places.append((line, title))
        if count < words:
            problems.append((line, f"the section {title!r} has {count} words and needs {words}"))
    return problems + (disorder(places) if check.ordered else []), NAME, None


def counts(piece: Piece, title: str) -> list[tuple[int, int]]:
    """Line and number of words of each section of that title."""
    found = outline(piece.text)
    heads = found.headings
    answer = []
    for place, head in enumerate(heads):
        if same(head.title) == same(title):
            end = next((other.line for other in heads[place + 1 :] if other.level <= head.level), len(found.lines) + 1)
            answer.append((piece.at(head.line), words_between(found, head.line, end - 1)))
    return answer


def words_between(found: Outline, first: int, last: int) -> int:
    """Words in the lines after `first` up to `last`, without code, headings and comments."""
    skipped = {head.line for head in found.headings}
    for fence in found.fences:
        if first < fence.line <= last:
            skipped.update(range(fence.line, fence.end))
    text = "\n".join(found.lines[number - 1] for number in range(first + 1, last + 1) if number not in skipped)
    return len(_WORD.findall(_COMMENT.sub("", text)))


def disorder(places: list[tuple[int, str]]) -> Problems:
    for before, after in pairwise(places):
        if after[0] < before[0]:
            return [(after[0], f"the section {after[1]!r} must come after {before[1]!r}")]
    return []
