"""What changed between two texts, by section (SPEC 2.7). Linear in the length of the text, whatever it holds."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

HEADING = re.compile(r"^#{1,6}\s+(\S.*)$")
FENCE = re.compile(r"^ {0,3}(```+|~~~+)(.*)$")
DEFINITION = re.compile(r"^(?:async\s+)?(?:def|class)\s+(\w+)")
TABLE = re.compile(r"^\[{1,2}([^\[\]]+)\]{1,2}\s*$")
KEY = re.compile(r"^([A-Za-z_][\w.\-/]*)\s*[:=](?!=)")
TOP = "(top)"
"""What stands before the first section."""


def sections(text: str) -> dict[str, str]:
    """The text by its headings, or by its definitions and keys if it is no prose. Equal names are numbered."""
    lines = text.splitlines()
    headings, keys = (list(_named(lines, name_of)) for name_of in (_heading, _key))
    marks = keys if _is_data(lines, _count(headings), _count(keys)) else headings
    found: dict[str, str] = {}
    times: dict[str, int] = {}
    begins = [number for number, name in enumerate(marks) if name]
    for begin, end in pairwise([0, *begins, len(lines)]):
        if begin == end:
            continue
        name = marks[begin] or TOP
        if marks[begin]:
            times[name] = times.get(name, 0) + 1
            name = name if times[name] == 1 else f"{name} ({times[name]})"
        part = "\n".join(lines[begin:end])
        found[name] = f"{found[name]}\n{part}" if name in found else part
    return {name: part.strip() for name, part in found.items()} or {TOP: ""}


def changed(before: str, after: str) -> list[str]:
    """Names of the sections that were added, removed or altered, in the order of the newer text."""
    old, new = sections(before), sections(after)
    names = [name for name in new if old.get(name) != new[name]]
    return names + [name for name in old if name not in new]


def unnamed(names: Sequence[str], said: Sequence[str]) -> list[str]:
    """Those of the changed sections that the critique's words do not mention."""
    words = " ".join(said).lower()
    return [name for name in names if name != TOP and not _mentioned(name, words)]


def _mentioned(name: str, words: str) -> bool:
    bare = re.sub(r" \(\d+\)$", "", name).lower()
    return re.search(rf"(?<!\w){re.escape(bare)}(?!\w)", words) is not None


def _is_data(lines: Sequence[str], headings: int, keys: int) -> bool:
    """Whether `#` begins a comment here: keys are as frequent, or most of what is not indented."""
    flush = sum(bool(line) and not line[0].isspace() and line[0] != "#" for line in lines)
    return keys >= max(1, min(headings, flush / 2))


def _count(marks: Sequence[str | None]) -> int:
    return sum(mark is not None for mark in marks)


def _heading(line: str) -> str | None:
    found = HEADING.match(line) if line.startswith("#") else None
    return found[1].rstrip().rstrip("#").rstrip() or None if found else None


def _key(line: str) -> str | None:
    if not line or line[0] in "# \t-":
        return None
    if line[0] == "[":
        found = TABLE.match(line)
    else:
        found = (DEFINITION.match(line) if line[0] in "acd" else None) or KEY.match(line)
    return found[1].strip() or None if found else None


def _named(lines: Sequence[str], name_of: Callable[[str], str | None]) -> Iterator[str | None]:
    """By line the section that begins there; none begins within a fenced block."""
    fence = ""
    for line in lines:
        mark = FENCE.match(line) if "```" in line or "~~~" in line else None
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not mark[2].strip():
            fence = ""
        yield None if fence or mark else name_of(line)
