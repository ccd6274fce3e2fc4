"""At least six questions as headings, each with an answer."""

import sys
import tempfile
from pathlib import Path

READING = "@launch_brief/reading.py"
folder = tempfile.mkdtemp()
Path(folder, "reading.py").write_text(READING, encoding="utf-8")
sys.path.append(folder)

from reading import headings, note, read, same, words

section = read().section("FAQ")
lines = section.split("\n")
asked = [head for head in headings(lines) if head.title.endswith("?")]
problems = [] if len(asked) >= 6 else [f"FAQ has {len(asked)} questions as headings and needs 6"]
ends = [head.line for head in headings(lines)] + [len(lines)]
for head in asked:
    answer = "\n".join(lines[head.line + 1 : min(end for end in ends if end > head.line)])
    problems += [] if words(answer) >= 8 else [f"{head.title[:60]!r} has no answer of at least 8 words"]
titles = [same(head.title) for head in asked]
problems += ["a question is asked twice"] if len(set(titles)) < len(titles) else []
verdict(*note(problems))
