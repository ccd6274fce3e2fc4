"""Links lead to headings of the brief or to web addresses, and sections are linked at least three times."""

import re
import sys
import tempfile
from pathlib import Path

READING = "@launch_brief/reading.py"
folder = tempfile.mkdtemp()
Path(folder, "reading.py").write_text(READING, encoding="utf-8")
sys.path.append(folder)

from urllib.parse import unquote

from reading import note, read

LEAST = 3
brief = read()
anchors: dict[str, int] = {}
known = set()
for head in brief.whole:
    anchor = re.sub(r"[^\w\- ]", "", head.title.lower()).replace(" ", "-")
    anchors[anchor] = count = anchors.get(anchor, -1) + 1
    known.add(f"{anchor}-{count}" if count else anchor)
known.update(re.findall(r"<a\b[^<>]*\b(?:id|name)=[\"']([^\"'<>]+)", brief.text))
LINK = re.compile(r"\[([^\[\]]*)\]\(<?([^()\s>]*)>?\)")
links = [(text, unquote(target)) for text, target in LINK.findall(brief.text)]
problems = [f"the link to {target or 'nothing'!r} has no text" for text, target in links if not text.strip()]
for _, target in links:
    inner = target.startswith("#")
    if (inner and target[1:] not in known) or not (inner or target.startswith(("https://", "http://", "mailto:"))):
        problems.append(f"the link {target[:60]!r} leads to nothing in this document")
labels = {label.casefold() for label in re.findall(r"^ {0,3}\[([^\]\n]+)\]:", brief.text, re.MULTILINE)}
used = re.findall(r"\]\[([^\]\n]+)\]", brief.text)
problems += [f"the link label {label!r} is not defined" for label in used if label.casefold() not in labels]
inner = [target for _, target in LINK.findall(brief.without("Contents")) if target.startswith("#")]
problems += [] if len(inner) >= LEAST else [f"sections are linked {len(inner)} times and should be {LEAST} times"]
verdict(*note(problems))
