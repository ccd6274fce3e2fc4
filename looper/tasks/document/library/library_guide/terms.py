"""Names of code stand in code marks, and one thing has one name."""

import re
from pathlib import Path

CODE = r"\b(?:FakeClock|GaveUp|RateLimit|retry_after|before_sleep|try_acquire|__cause__)\b"
OTHERS = {
    r"\b(?:coin|credit|permit)s?\b": "token",
    r"\b(?:ms|millisecond|msec)s?\b": "seconds",
    r"\bcircuit[ -]breakers?\b(?!\s*\()": "breaker",
    r"\b(?:pause|nap)s?\b": "delay or wait",
}
text = Path("artifact.md").read_text(encoding="utf-8")
lines = re.sub(
    r"^(`{3,}|~{3,}).*?^\1\s*$", lambda block: "\n" * block[0].count("\n"), text, flags=re.MULTILINE | re.DOTALL
)
problems = [] if re.search(r"\w", lines) else ["there is no text"]
for number, line in enumerate(lines.split("\n"), 1):
    prose = re.sub(r"`[^`]*`|\]\([^)]*\)", " ", line)
    if not line.startswith("#") and (bare := re.search(CODE, prose)):
        problems.append(f"line {number}: {bare[0]} stands outside code marks")
    for pattern, name in OTHERS.items():
        if other := re.search(pattern, prose, re.IGNORECASE):
            problems.append(f"line {number}: {other[0]!r} is elsewhere called {name}")
    if "!" in prose.replace("![", ""):
        problems.append(f"line {number}: an exclamation mark")
verdict(not problems, "; ".join(problems[:5]))
