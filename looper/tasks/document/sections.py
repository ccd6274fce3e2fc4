"""What changed between two texts, by section (SPEC 2.7)."""

import re
from collections.abc import Callable, Sequence

HEADING = re.compile(r"^(#{1,6})\s+(.+?)\s*#*\s*$")
FENCE = re.compile(r"^\s*(```+|~~~+)\s*(.*)$")
KEY = re.compile(r"^(?:(?:async\s+)?def|class)\s+(\w+)|^([A-Za-z_][\w\-/{}]*)\s*:")
TOP = "(top)"


def sections(text: str) -> dict[str, str]:
    """The text by its headings; where there are none, by top-level definitions or keys. Equal names are numbered."""
    named = _cut(text, _heading) or _cut(text, _key)
    return named or {TOP: text}


def changed(before: str, after: str) -> list[str]:
    """Names of the sections that were added, removed or altered, in the order of the newer text."""
    old, new = sections(before), sections(after)
    names = [name for name in new if old.get(name) != new[name]]
    return names + [name for name in old if name not in new]


def unnamed(names: Sequence[str], said: Sequence[str]) -> list[str]:
    """Those of the changed sections that the critique's words do not mention."""
    words = " ".join(said).lower()
    return [name for name in names if name != TOP and _bare(name) not in words]


def _bare(name: str) -> str:
    return re.sub(r"\s+\(\d+\)$", "", name).lower()


def _heading(line: str) -> str | None:
    found = HEADING.match(line)
    return found[2] if found else None


def _key(line: str) -> str | None:
    found = KEY.match(line)
    return (found[1] or found[2]) if found else None


def _cut(text: str, name_of: Callable[[str], str | None]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    current, fence = TOP, ""
    for line in text.splitlines():
        mark = FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        name = None if fence or mark else name_of(line)
        if name:
            current = name
            number = 2
            while current in found:
                current, number = f"{name} ({number})", number + 1
        found.setdefault(current, []).append(line)
    if set(found) <= {TOP}:
        return {}
    return {name: "\n".join(lines).strip() for name, lines in found.items()}
