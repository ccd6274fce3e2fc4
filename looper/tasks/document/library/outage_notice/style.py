"""Days, times, figures and sentences as the house language wants them throughout."""

import re
from pathlib import Path

LONGEST = 30
MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
WRONG = {
    r"\b\d{4}-\d\d-\d\d\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b": "a day is written 17 November 2026",
    rf"\b(?:{MONTHS})\s+\d{{1,2}}\b(?!:)": "a day is written 17 November",
    rf"\b\d{{1,2}}(?:st|nd|rd|th)\s+(?:of\s+)?(?:{MONTHS})\b": "a day is written 17 November",
    rf"\b\d{{1,2}}\s+(?!(?:{MONTHS})\b)(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b": "months are written out",
    r"\b\d{1,2}(?::\d{2})?\s?[ap]\.?m\b": "a time has 24 hours",
    r"\b\d{1,2}:\d{2}\b(?!(?: and \d\d:\d\d| to \d\d:\d\d)? UTC)": "a time is followed by UTC",
    r"(?<![\d,])[1-9]\d{3}(?![\d,])(?<!2026)": "thousands have a comma",
    r"(?<!\[)!(?!\[)": "an exclamation mark",
    r"\b(?!UTC\b|CSV\b|FAQ\b|PDF\b)[A-Z]{3,}\b": "capitals for emphasis, or a short form that nobody explained",
    r"\b(?:TODO|TBD|XXX)\b": "a left-over mark of a draft",
    r"^#{1,6} .*[.:;,]$": "a heading ends with a punctuation mark",
}

text = re.sub(r"\]\([^)]*\)|<[^>]*>", " ", Path("artifact.md").read_text(encoding="utf-8"))
problems = [] if re.search(r"\w", text) else ["there is no text"]
for pattern, why in WRONG.items():
    for wrong in re.finditer(pattern, text, re.MULTILINE):
        problems.append(f"{' '.join(wrong[0].split())[:40]!r}: {why}")
body = "\n".join(line for line in text.split("\n") if not line.startswith("#"))
for sentence in re.split(r"(?<=[.?])\s+(?=\W*[A-Z])|\n\s*\n|\n(?=\s*(?:\d+[.)]|[-*]) )", body):
    count = len(re.findall(r"[^\W_]+(?:['\u2019:.,@/-]+[^\W_]+)*", sentence))
    if count > LONGEST:
        problems.append(f"a sentence of {count} words: {' '.join(sentence.split())[:50]!r}")
verdict(not problems, "; ".join(list(dict.fromkeys(problems))[:5]))
