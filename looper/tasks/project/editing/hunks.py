"""Unified diffs of one file: read, placed by their content, applied. Nothing is guessed."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile

from looper.tasks.project.editing.texts import shown, similar, split_lines

HEADER = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
NOTHING = "/dev/null"
NO_END = "\\ No newline at end of file"
IGNORED = ("index ", "diff --git ")
FOREIGN = (
    "old mode ",
    "new mode ",
    "similarity ",
    "dissimilarity ",
    "rename ",
    "copy ",
    "Binary files ",
    "GIT binary ",
)


class Misfit(Exception):
    """Why a change does not apply, for whoever made it; never leaves the package's own functions."""


@dataclass(frozen=True)
class Hunk:
    """Some lines in place of others; lines with their ends."""

    name: str
    """For messages."""
    start: int
    """Stated first line, from 1; 0 if there is no old line."""
    counts: tuple[int, int]
    """Stated numbers of old and of new lines."""
    old: list[str]
    new: list[str]


@dataclass(frozen=True)
class FileDiff:
    """What a diff says of one file; names as they stand in its header, empty without one."""

    hunks: list[Hunk]
    old: str = ""
    new: str = ""
    created: bool = False
    removed: bool = False


def read_diff(text: str) -> FileDiff:
    """A diff of one file. Counts in its hunks' headers are not relied on. Raises Misfit."""
    lines = text.removesuffix("\n").split("\n")
    starts = [at for at, line in enumerate(lines) if line.startswith("@@")]
    head = _header([line.rstrip("\r") for line in lines[: starts[0] if starts else len(lines)]])
    if not starts and not (head.created or head.removed):
        raise Misfit("the diff has no hunk; begin each with @@ -a,b +c,d @@")
    bounds = pairwise([*starts, len(lines)])
    hunks = [_hunk(number, lines[start:end]) for number, (start, end) in enumerate(bounds, 1)]
    return FileDiff(hunks, head.old, head.new, head.created, head.removed)


def _header(lines: Sequence[str]) -> FileDiff:
    names: dict[str, str] = {}
    modes: set[str] = set()
    for number, line in enumerate(lines, 1):
        key, _, rest = line.partition(" ")
        if key in ("---", "+++") and rest:
            if key in names:
                raise Misfit("the diff is of more than one file; give one edit for each file")
            names[key] = rest
        elif line.startswith(("new file mode ", "deleted file mode ")):
            modes.add(key)
        elif line.startswith(FOREIGN):
            raise Misfit(f"a diff can change text only, not: {shown(line)}")
        elif line.strip() and not line.startswith(IGNORED):
            raise Misfit(f"line {number} of the diff is neither a header nor a hunk: {shown(line)}")
    old, new = names.get("---", ""), names.get("+++", "")
    return FileDiff([], old, new, "new" in modes or old == NOTHING, "deleted" in modes or new == NOTHING)


def _hunk(number: int, lines: Sequence[str]) -> Hunk:
    found = HEADER.match(lines[0])
    if not found:
        raise Misfit(f"hunk {number} does not begin with @@ -a,b +c,d @@: {shown(lines[0])}")
    start, old_count, _, new_count = (int(group) if group else 1 for group in found.groups())
    name = f"hunk {number} ({shown(lines[0])})"
    entries = _entries(name, _body(lines[1:], old_count))
    if not entries:
        raise Misfit(f"{name} has no line")
    old, new = ([text for mark, text in entries if mark != other] for other in ("+", "-"))
    return Hunk(name, start, (old_count, new_count), old, new)


def _body(lines: Sequence[str], stated: int) -> Sequence[str]:
    """The hunk's lines without blank ones behind it that its header does not count."""
    old = sum(not line.startswith(("+", "\\")) for line in lines)
    blank = len(list(takewhile(_blank, reversed(lines))))
    body = lines[: len(lines) - max(0, min(blank, old - stated))]
    next_file = len(body) > 1 and body[-2].startswith("--- ") and body[-1].startswith("+++ ") and old > stated
    if next_file or any(line.startswith("diff --git ") for line in body):
        raise Misfit("the diff is of more than one file; give one edit for each file")
    return body


def _blank(line: str) -> bool:
    return line in ("", "\r")


def _entries(name: str, body: Sequence[str]) -> list[tuple[str, str]]:
    """Lines with their marks; an empty one is context whose leading space was lost on the way."""
    entries: list[tuple[str, str]] = []
    for line in body:
        mark, text = (" ", line) if _blank(line) else (line[0], line[1:])
        if mark == "\\" and entries:
            entries[-1] = (entries[-1][0], entries[-1][1].removesuffix("\n"))
        elif mark in ("-", "+", " "):
            entries.append((mark, f"{text}\n"))
        else:
            raise Misfit(f"{name}: a line begins with none of ' ', '+' and '-': {shown(line)}")
    return entries


def apply_hunks(text: str, hunks: Sequence[Hunk], *, exact: bool = False) -> str:
    """The text with the hunks applied, in order. Raises Misfit.

    Each hunk goes where its old lines are, to the letter; of several such places to the one nearest to the stated line.
    `exact`: only to the stated line, and with true counts, as in a patch that a program has written.
    """
    lines, done, at = split_lines(text), [], 0
    for hunk in hunks:
        place = _stated(lines, hunk, at) if exact else _place(lines, hunk, at)
        done += [*lines[at:place], *hunk.new]
        at = place + len(hunk.old)
    done += lines[at:]
    if any(not line.endswith("\n") for line in done[:-1]):
        raise Misfit(f"`{NO_END}` may stand below the last line of the file only")
    return "".join(done)


def _place(lines: Sequence[str], hunk: Hunk, least: int) -> int:
    if not hunk.old:
        if lines:
            raise Misfit(f"{hunk.name} has neither context nor removed lines, so its place is not known; add context")
        return 0
    places = _occurrences(lines, hunk.old, least)
    if not places:
        raise Misfit(_mismatch(lines, hunk, least))
    distance = min(abs(place + 1 - hunk.start) for place in places)
    nearest = [place for place in places if abs(place + 1 - hunk.start) == distance]
    if len(nearest) > 1:
        numbers = " and ".join(str(place + 1) for place in nearest)
        raise Misfit(f"{hunk.name} fits at lines {numbers} alike; add context lines or the right line number")
    return nearest[0]


def _stated(lines: Sequence[str], hunk: Hunk, least: int) -> int:
    if hunk.counts != (len(hunk.old), len(hunk.new)):
        raise Misfit(f"{hunk.name} does not have as many lines as its header says")
    place = hunk.start - 1 if hunk.old else hunk.start
    if place < least or place > len(lines) or lines[place : place + len(hunk.old)] != hunk.old:
        raise Misfit(f"{hunk.name} does not fit where it says")
    return place


def _occurrences(lines: Sequence[str], old: Sequence[str], least: int) -> list[int]:
    ends = range(least, len(lines) - len(old) + 1)
    return [at for at in ends if lines[at] == old[0] and lines[at : at + len(old)] == old]


def _mismatch(lines: Sequence[str], hunk: Hunk, least: int) -> str:
    """Why a hunk fits nowhere: the first line that differs, where most of the lines before it agree."""
    if least and _occurrences(lines, hunk.old, 0):
        return f"{hunk.name} overlaps the hunk before it or belongs before that; give hunks in the order of the file"
    agreeing = {
        at: _agreement(lines[at : at + len(hunk.old)], hunk.old) for at in range(len(lines)) if lines[at] == hunk.old[0]
    }
    stated = max(0, hunk.start - 1)
    start = max(agreeing, key=lambda at: (agreeing[at], -abs(at - stated)), default=stated)
    at = start + agreeing.get(start, 0)
    wanted = hunk.old[at - start]
    if at >= len(lines):
        return f"{hunk.name}: {shown(wanted)} should be at line {at + 1}, but the file has {len(lines)} lines" + _near(
            wanted, lines
        )
    if wanted.rstrip("\n") == lines[at].rstrip("\n"):
        ends = "has no line end" if wanted.endswith("\n") else "ends with a line end"
        return f"{hunk.name}: line {at + 1}, {shown(wanted)}, {ends} in the file; say so with `{NO_END}` or its absence"
    return f"{hunk.name}: line {at + 1} should be {shown(wanted)} but is {shown(lines[at])}" + _near(wanted, lines)


def _agreement(lines: Sequence[str], old: Sequence[str]) -> int:
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(lines, old, strict=False))))


def _near(wanted: str, lines: Sequence[str]) -> str:
    hint = similar(wanted, lines)
    return f"; {hint}" if hint else ""
