"""Each operation that changes something raises exactly one domain event, and no event is raised by nobody."""

import re
from pathlib import Path

text = Path("artifact.md").read_text(encoding="utf-8")
block = re.search(r"^(`{3,}|~{3,}) *ya?ml openapi\.yaml *\n(.*?)^\1", text, re.MULTILINE | re.DOTALL)
notes = re.search(r"^## Domain events\b(.*?)^#{1,2} ", text, re.MULTILINE | re.DOTALL)
NAME = re.compile(r"[A-Z]\w+")
METHOD = re.compile(r"^    (get|put|post|patch|delete):\s*$")
ID = re.compile(r"^      operationId:\s*[\"']?(\w+)")


def operations(specification: str) -> tuple[set[str], set[str]]:
    """Operation ids that change something, and all of them."""
    changing, known, method = set(), set(), ""
    for line in specification.splitlines():
        if found := METHOD.match(line):
            method = found[1]
        elif found := ID.match(line):
            known.add(found[1])
            if method != "get":
                changing.add(found[1])
    return changing, known


if block is None or notes is None:
    verdict(False, "there is no section Domain events of level 2, or no block `yaml openapi.yaml`")
else:
    changing, known = operations(block[2])
    rows = [line for line in notes[1].splitlines() if line.startswith("|")][2:]
    raised = [word for row in rows for word in re.findall(r"`(\w+)`", row) if word in known or word[:1].islower()]
    names = [row.strip("| ").split("|")[0].strip(" `*") for row in rows]
    found = [f"no event is raised by {one}" for one in sorted(changing - set(raised))]
    found += [f"{one} is no operation that changes anything" for one in sorted((set(raised) & known) - changing)]
    found += [f"the event {name!r} is not a name in PascalCase" for name in names if not NAME.fullmatch(name)]
    if not rows or not changing:
        found.insert(0, "there is no table of events, or no operation")
    verdict(not found, "; ".join(found[:5]))
