"""One opening paragraph says whom the notice is for, what was lost and when, and sorry; sorry is said nowhere else."""

import re
from pathlib import Path

MOST = 80
WHOM = r"\b312\b|\b9,?400\b|\ball\s+(?:our\s+|\w+\s+)?customers\b|\bevery\s+(?:customer|account)\b"
SORRY = r"\b(?:sorry|apolog\w+)\b"
NEEDED = {
    r"\b17\s+November\s+2026\b": "the day with its year",
    r"\b1,?284\b|\bsubmissions\b": "what was lost",
    WHOM: "whom the notice is for",
    SORRY: "sorry",
}

text = Path("artifact.md").read_text(encoding="utf-8")
title, _, rest = text.strip().partition("\n")
opening = re.split(r"^#{1,6} ", rest, maxsplit=1, flags=re.MULTILINE)[0].strip()
problems = [] if title.startswith("# ") else ["the text does not begin with its title"]
paragraphs = [part for part in re.split(r"\n\s*\n", opening) if part.strip()]
if len(paragraphs) != 1:
    problems.append(f"there are {len(paragraphs)} paragraphs between the title and the first section, not one")
if (count := len(opening.split())) > MOST:
    problems.append(f"the opening has {count} words, more than {MOST}")
problems += [
    f"the opening does not say: {what}"
    for pattern, what in NEEDED.items()
    if not re.search(pattern, opening, re.IGNORECASE)
]
if (times := len(re.findall(SORRY, text, re.IGNORECASE))) > 1:
    problems.append(f"sorry is said {times} times, not once")
verdict(not problems, "; ".join(problems[:5]))
