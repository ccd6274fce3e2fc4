"""The notice is for one audience throughout: owners who lost submissions, or all customers."""

import re
from pathlib import Path

ALL = r"\b9,?400\b|\ball\s+(?:of\s+)?(?:our\s+|\w+\s+)?customers\b|\bevery\s+(?:customer|account)\b"
LOST = r"\b312\b"
DOUBT = (
    r"\b(?:if|whether|in case)\s+(?:you|your\s+(?:account|form)s?)\s+(?:\w+\s+){0,2}(?:lost|affected|concerned)\b"
    r"|\bmay\s+have\s+lost\b"
)
NOT_THERE = (
    r"\bnot\s+there\b|\bno\s+such\s+page\b|\b(?:does|do)\s+not\s+(?:have|see|find)\b"
    r"|\bwithout\s+(?:the|this|that)\s+page\b|\bonly\s+(?:there\s+)?(?:in|for)\s+(?:the\s+)?(?:312|accounts)\b"
)
IDLE = (
    r"\bneeds?\s+(?:not\s+do\s+anything|(?:to\s+)?do\s+nothing)\b|\bnothing\s+(?:for\s+you\s+|left\s+)?to\s+do\b"
    r"|\b(?:does|do)\s+not\s+(?:have|need)\s+to\s+do\s+anything\b|\bno\s+need\s+to\s+do\s+anything\b"
)

text = Path("artifact.md").read_text(encoding="utf-8")
_, _, rest = text.strip().partition("\n")
opening = re.split(r"^#{1,6} ", rest, maxsplit=1, flags=re.MULTILINE)[0]
problems = []
if re.search(ALL, opening, re.IGNORECASE):
    first = text.partition("\n## What you can do")[0]
    told = re.search(NOT_THERE, first, re.IGNORECASE)
    problems += [] if told else ["customers are not told how to see whether they lost anything"]
    idle = re.search(IDLE, text, re.IGNORECASE)
    problems += [] if idle else ["those who lost nothing are not told that they need not do anything"]
elif re.search(LOST, opening):
    doubt = re.search(DOUBT, text, re.IGNORECASE)
    problems += [f"owners who lost submissions read: {doubt[0]}"] if doubt else []
    spoken = re.search(r"\byou(?:rs?)?\b", opening, re.IGNORECASE)
    problems += [] if spoken else ["the opening does not speak to the owners"]
else:
    problems.append("the opening does not say whom the notice is for")
verdict(not problems, "; ".join(problems))
