"""Each row of the invariants names operations and a problem code that the specification has."""

import re
from pathlib import Path

LEAST = 8
text = Path("artifact.md").read_text(encoding="utf-8")
block = re.search(r"^(`{3,}|~{3,}) *ya?ml openapi\.yaml *\n(.*?)^\1", text, re.MULTILINE | re.DOTALL)
notes = re.search(r"^## Invariants\b(.*?)^#{1,2} ", text, re.MULTILINE | re.DOTALL)


def problems(rows: list[str], specification: str) -> list[str]:
    operations = set(re.findall(r"\boperationId:\s*[\"']?(\w+)", specification))
    found = []
    for number, row in enumerate(rows, 1):
        name = f"INV-{number}"
        answer = re.search(r"\b(4\d\d)\b\W+([a-z][a-z0-9_-]+)`", row)
        named = [word for word in re.findall(r"`(\w+)`", row) if not answer or word != answer[2]]
        if not re.search(rf"\b{name}\b", row):
            found.append(f"row {number} of the invariants is not {name}")
        if not answer:
            found.append(f"{name} has no answer of the form: 409 `course_full`")
        elif not re.search(rf"(?<![\w-]){re.escape(answer[2])}(?![\w-])", specification):
            found.append(f"{name}: the code {answer[2]} is not in the specification")
        found += [f"{name}: there is no operation {word}" for word in named if word not in operations]
        if not named:
            found.append(f"{name} names no operation id in code marks")
    return found


if block is None or notes is None:
    verdict(False, "there is no section Invariants of level 2, or no block `yaml openapi.yaml`")
else:
    rows = [line for line in notes[1].splitlines() if line.lstrip("| ").startswith(("INV-", "`INV-", "**INV-"))]
    found = problems(rows, block[2])
    if len(rows) < LEAST:
        found.insert(0, f"{len(rows)} invariants are too few for the rules of the domain; {LEAST} or more")
    verdict(not found, "; ".join(found[:5]))
