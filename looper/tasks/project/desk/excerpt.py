"""A part of a file that is too long to be shown in full: the lines that matter, and which ones they are."""

import re
from collections.abc import Iterable, Sequence

LINE = re.compile(r"[^\n]*\n|[^\n]+")
"""A line as test runners count them."""
REMARK = 160
"""Characters that telling which lines are shown may take."""
PASSAGES = 6
"""Passages of an excerpt at most."""


def excerpt(text: str, around: Sequence[int], room: int) -> str:
    """The lines around these line numbers, as many as have room, and a remark on which of how many they are.

    Lines are counted from 1; numbers outside the file are moved into it; without any it is the beginning. The lines
    themselves are left as they are, so that a passage can be quoted from them.
    """
    lines = LINE.findall(text) or [""]
    places = list(dict.fromkeys(min(max(line, 1), len(lines)) for line in around))[:PASSAGES] or [1]
    shown = _chosen(lines, places, room - REMARK)
    if not shown:
        cut = lines[places[0] - 1][: max(room - REMARK, 0)]
        return f"[excerpt of {len(lines):,} lines: the first {len(cut):,} characters of line {places[0]}]\n{cut}\n"
    passages = _runs(shown)
    said = ", ".join(_span(first, last) for first, last in passages)
    parts = [f"[excerpt: lines {said} of {len(lines):,}; the rest is not shown]\n"]
    for first, last in passages:
        passage = "".join(lines[first - 1 : last])
        parts.append((f"[line {first}]\n" if len(passages) > 1 else "") + passage + "\n" * (not passage.endswith("\n")))
    return "".join(parts)


def _chosen(lines: Sequence[str], places: Sequence[int], room: int) -> list[int]:
    """Line numbers that have room: the places, then what is around them, ever farther away on all sides at once."""
    left = room - len(places) * len("[line 100000]\n")
    chosen: set[int] = set()
    open_ends = [(place, step) for place in places for step in (1, -1)]
    ends = {(place, step): place for place, step in open_ends}
    while open_ends:
        for end in list(open_ends):
            line = ends[end]
            if not 1 <= line <= len(lines) or (line not in chosen and len(lines[line - 1]) > left):
                open_ends.remove(end)
                continue
            if line not in chosen:
                chosen.add(line)
                left -= len(lines[line - 1])
            ends[end] = line + end[1]
    return sorted(chosen)


def _runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"
