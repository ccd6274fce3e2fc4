"""Each step has the day that follows from the calendar, the launch day and the closed days."""

import sys
import tempfile
from pathlib import Path

READING = "@launch_brief/reading.py"
folder = tempfile.mkdtemp()
Path(folder, "reading.py").write_text(READING, encoding="utf-8")
sys.path.append(folder)

from reading import days, note, read, rows, told

DAYS = {
    "T1": "20 August", "T2": "31 August", "T3": "28 August", "T4": "3 September", "T5": "10 September",
    "T6": "14 September", "T7": "17 September", "T8": "30 September", "T9": "15 October", "T10": "2 November",
}  # fmt: skip
found = {row["code"]: days(row["date"]) for row in rows(read().section("Timeline"), "code", "date", "step", "owner")}
problems = [
    f"{code} is not on {wanted}" for code, wanted in DAYS.items()
    if [told(day) for day, _ in found.get(code, [])] != [wanted]
]  # fmt: skip
verdict(*note(problems))
