"""The press text can be printed as it stands: its length, the day, the branches, the address, no list."""

import re
import sys
import tempfile
from pathlib import Path

READING = "@launch_brief/reading.py"
folder = tempfile.mkdtemp()
Path(folder, "reading.py").write_text(READING, encoding="utf-8")
sys.path.append(folder)

from reading import note, plain, read, words

LEAST, MOST = 120, 180
BRANCHES = ("Central", "Northgate", "Quayside")
text = read().section("Press text")
count = words(text)
problems = [] if LEAST <= count <= MOST else [f"Press text has {count} words, not {LEAST} to {MOST}"]
problems += [f"Press text does not name {name}" for name in BRANCHES if not re.search(rf"\b{name}\b", text)]
problems += [] if "mendery.harbourfield.example" in text else ["Press text does not give the address"]
QUOTATION = r"[\"\u201c\u00ab]\w[^\"\u201c\u201d\u00bb]{20,}[\"\u201d\u00bb]"
problems += [] if re.search(QUOTATION, text) else ["Press text has no quotation"]
lists = re.search(r"^\s*(?:[-*+]|\d+[.)])\s|^\s*\|", text, re.MULTILINE)
problems += ["Press text has a list or a table, which no paper prints"] if lists else []
asides = re.search(r"\[[^\]]*\](?!\()|<(?!https?:)[^>]+>|\bword count\b", plain(text), re.IGNORECASE)
problems += [f"Press text has something that is not to be printed: {asides[0][:40]}"] if asides else []
verdict(*note(problems))
