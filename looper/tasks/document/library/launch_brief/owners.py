"""Each step belongs to the person who has the role on its day."""

import sys
import tempfile
from pathlib import Path

READING = "@launch_brief/reading.py"
folder = tempfile.mkdtemp()
Path(folder, "reading.py").write_text(READING, encoding="utf-8")
sys.path.append(folder)

from reading import note, read, rows

OWNERS = {
    "T1": "Tomas Okafor", "T2": "Yusuf Demir", "T3": "Ruth Calloway", "T4": "Ines Duarte", "T5": "Lena Brandt",
    "T6": "Ruth Calloway", "T7": "Lena Brandt", "T8": "Ines Duarte", "T9": "Petra Holm", "T10": "Yusuf Demir",
}  # fmt: skip
found = {row["code"]: row["owner"] for row in rows(read().section("Timeline"), "code", "date", "step", "owner")}
problems = [f"{code} is not {wanted}'s" for code, wanted in OWNERS.items() if found.get(code) != wanted]
verdict(*note(problems))
