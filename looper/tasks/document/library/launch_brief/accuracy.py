"""The launch is on its day wherever it is spoken of, and never on the day that was given up."""

import re
import sys
import tempfile
from pathlib import Path

READING = "@launch_brief/reading.py"
folder = tempfile.mkdtemp()
Path(folder, "reading.py").write_text(READING, encoding="utf-8")
sys.path.append(folder)

from reading import DAY, days, note, read, told

LAUNCH = "17 September"
GIVEN_UP = r"\b0?8(?:th)?(?: of)? Sep(?:t|tember)?\b|\bSep(?:t|tember)?\.? 0?8(?:th)?\b|\b2026-09-08\b|\b0?8[./]0?9[./](?:20)?26\b"
brief = read()
problems = [
    f"{name} does not give the day of the launch with its year"
    for name in ("Timeline", "Press text")
    if not re.search(rf"\b{LAUNCH},? 2026\b", brief.section(name))
]
problems += [f"it gives the launch a day that was given up: {wrong[0]}" for wrong in re.finditer(GIVEN_UP, brief.text)]
SPOKEN = (
    r"\b(?:launches|(?:will|to) launch|launch(?: day)?\s+(?:is|will be|takes place|happens|falls))\s+(?:on\s+)?"
    rf"(?:\w+day,?\s+)?(?:the\s+)?({DAY})"
)
for spoken in re.finditer(SPOKEN, brief.text, re.IGNORECASE):
    problems += [f"the launch is not on {told(day)}" for day, _ in days(spoken[1]) if told(day) != LAUNCH]
verdict(*note(problems))
