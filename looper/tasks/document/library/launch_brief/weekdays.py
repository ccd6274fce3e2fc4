"""Where a weekday stands beside a day, it is the right one."""

import re
import sys
import tempfile
from pathlib import Path

READING = "@launch_brief/reading.py"
folder = tempfile.mkdtemp()
Path(folder, "reading.py").write_text(READING, encoding="utf-8")
sys.path.append(folder)

from reading import WEEKDAYS, days, note, read, told

text = read().text
problems = [] if days(text) else ["there is no day"]
for day, place in days(text):
    before = re.search(r"\b(\w+day)\b[\s,|]*(?:the\s+)?$", text[max(0, place - 20) : place])
    name = before[1].capitalize() if before else ""
    if name in WEEKDAYS and name != WEEKDAYS[day.weekday()]:
        problems.append(f"{told(day)} is no {name}")
verdict(*note(problems))
