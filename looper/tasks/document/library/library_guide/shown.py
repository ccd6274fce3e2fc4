"""Every code block of Python is a session with prompts, and each public name of the library is used in one."""

import doctest
import re
from pathlib import Path

PUBLIC = ("Backoff", "Breaker", "Clock", "FakeClock", "GaveUp", "Open", "RateLimit", "Refused", "Retry")
text = Path("artifact.md").read_text(encoding="utf-8")
problems, source = [], ""
for block in re.finditer(r"^(`{3,}|~{3,}) *python\b[^\n]*\n(.*?)^\1", text, re.MULTILINE | re.DOTALL):
    line = text.count("\n", 0, block.start()) + 1
    try:
        examples = doctest.DocTestParser().get_examples(block[2])
    except ValueError as error:
        problems.append(f"line {line}: no session that can be read ({error})")
        continue
    if not examples:
        problems.append(f"line {line}: the block is no session with prompts")
    source += "".join(example.source for example in examples)
problems += [f"{name} is in no session" for name in PUBLIC if not re.search(rf"\b{name}\b", source)]
verdict(not problems, "; ".join(problems[:5]))
