"""One title, no level left out, no empty or repeated heading among sisters."""

import sys
import tempfile
from pathlib import Path

READING = "@launch_brief/reading.py"
folder = tempfile.mkdtemp()
Path(folder, "reading.py").write_text(READING, encoding="utf-8")
sys.path.append(folder)

from reading import note, read, same

heads = read().headings
tops = [head for head in heads if head.level == 1]
problems = [] if len(tops) == 1 else [f"there are {len(tops)} headings of level 1, not one"]
problems += [] if heads[:1] == tops[:1] else ["the first heading is not the title"]
path: list[str] = []
seen: set[tuple[str, ...]] = set()
for before, head in zip([None, *heads], heads, strict=False):
    if before and head.level > before.level + 1:
        problems.append(f"line {head.line + 1}: {head.title!r} jumps from level {before.level} to {head.level}")
    if not head.title:
        problems.append(f"line {head.line + 1}: a heading without text")
    path = [*path[: head.level - 1], same(head.title)]
    if tuple(path) in seen:
        problems.append(f"line {head.line + 1}: {head.title!r} is there twice in one section")
    seen.add(tuple(path))
verdict(*note(problems))
