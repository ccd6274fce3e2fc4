"""At least five risks, each with what is done about it and with one person who does it."""

import sys
import tempfile
from pathlib import Path

READING = "@launch_brief/reading.py"
folder = tempfile.mkdtemp()
Path(folder, "reading.py").write_text(READING, encoding="utf-8")
sys.path.append(folder)

from reading import note, read, rows, words

TEAM = ("Lena Brandt", "Tomas Okafor", "Ines Duarte", "Yusuf Demir", "Ruth Calloway", "Petra Holm", "Margit Solheim")
found = rows(read().section("Risks"), "risk", "mitigation", "owner")
problems = [] if found else ["Risks has no table with the columns Risk, Mitigation and Owner"]
problems += [] if len(found) >= 5 else [f"Risks has {len(found)} rows and needs 5"]
for row in found:
    name = f"the risk {row['risk'][:40]!r}"
    problems += [] if words(row["risk"]) >= 3 else [f"{name} is not said"]
    problems += [] if words(row["mitigation"]) >= 5 else [f"{name} has no mitigation of at least 5 words"]
    problems += [] if row["owner"] in TEAM else [f"the owner of {name} is not one person of the project"]
texts = [row["mitigation"].casefold() for row in found]
problems += ["two risks have the same mitigation"] if len(set(texts)) < len(texts) else []
verdict(*note(problems))
