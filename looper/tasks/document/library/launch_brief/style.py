"""One way to write days, names and marks throughout. The title may be a sentence: a team's is its mission."""

import re
import sys
import tempfile
from pathlib import Path

READING = "@launch_brief/reading.py"
folder = tempfile.mkdtemp()
Path(folder, "reading.py").write_text(READING, encoding="utf-8")
sys.path.append(folder)

from reading import MONTHS, note, read

WRONG = {
    r"\b\d{4}-\d\d-\d\d\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b": "a day is written 3 May 2026",
    rf"\b(?:{'|'.join(MONTHS)})\s+\d{{1,2}}(?:st|nd|rd|th)?\b(?!\d|:|\.\d|,\d)": "a day is written 3 May 2026",
    rf"\b\d{{1,2}}(?:st|nd|rd|th)\s+(?:of\s+)?(?:{'|'.join(MONTHS)})\b": "a day is written 3 May 2026",
    r"\b(?:TODO|FIXME|TBD|TBC|XXX|lorem ipsum)\b": "a left-over mark of a draft",
    r"(?<![\w#/@-])(?:MENDERY|mendery)\b(?!\.harbourfield)": "the name is Mendery",
    r"(?<![\[<])!(?!\[)": "an exclamation mark",
}
brief = read()
problems = [] if re.search(r"\w", brief.text) else ["there is no text"]
for number, line in enumerate(brief.lines, 1):
    for pattern, why in WRONG.items():
        if wrong := re.search(pattern, line):
            problems.append(f"line {number}: {wrong[0]!r}: {why}")
problems += [
    f"line {head.line + 1}: a heading that ends with a punctuation mark"
    for head in brief.headings
    if head.level > 1 and head.title.endswith((".", ":", ";", ","))
]
verdict(*note(problems))
