"""Every step of the calendar is in the table once, with a day and a person, in order of time."""

import re
import sys
import tempfile
from pathlib import Path

READING = "@launch_brief/reading.py"
folder = tempfile.mkdtemp()
Path(folder, "reading.py").write_text(READING, encoding="utf-8")
sys.path.append(folder)

from reading import days, note, read, rows

CODES = [f"T{number}" for number in range(1, 11)]
TEAM = ("Lena Brandt", "Tomas Okafor", "Ines Duarte", "Yusuf Demir", "Ruth Calloway", "Petra Holm")
found = rows(read().section("Timeline"), "code", "date", "step", "owner")
codes = [row["code"] for row in found]
problems = [] if found else ["Timeline has no table with the columns Code, Date, Step and Owner"]
problems += [f"{code} is there {codes.count(code)} times" for code in CODES if codes.count(code) != 1]
problems += [f"{code or 'a row without a code'} is no step of the calendar" for code in codes if code not in CODES]
for row in found:
    problems += [] if len(days(row["date"])) == 1 else [f"the date of {row['code']} is no single day such as 3 May"]
    problems += [] if row["owner"] in TEAM else [f"the owner of {row['code']} is not one person of the project"]
    problems += [] if re.search(r"[A-Za-z]{3}", row["step"]) else [f"{row['code']} does not say what is done"]
order = [days(row["date"])[0][0] for row in found if days(row["date"])]
problems += [] if order == sorted(order) else ["the rows of Timeline are not in order of time"]
verdict(*note(problems))
