"""What the guide says of names, parameters and defaults is true of the library (read, not run)."""

import ast
import contextlib
import doctest
import re
from pathlib import Path

REQUIRED = "required"
PARAMETERS = {
    "Backoff": {"attempts": "4", "first": "0.5", "factor": "2.0", "longest": "30.0", "jitter": "0.0", "seed": "None"},
    "Retry": {
        "on": "(ConnectionError, TimeoutError)", "never": "()", "backoff": "None", "within": "None",
        "before_sleep": "None", "clock": "None",
    },
    "RateLimit": {"rate": REQUIRED, "per": "1.0", "burst": "1", "clock": "None"},
    "Breaker": {"failures": "5", "rest": "30.0", "on": "(Exception,)", "clock": "None"},
    "FakeClock": {"start": "0.0"},
}  # fmt: skip
MEMBERS = {
    "Backoff": {*PARAMETERS["Backoff"], "delays", "constant"},
    "Retry": {*PARAMETERS["Retry"], "call"},
    "RateLimit": {*PARAMETERS["RateLimit"], "speed", "available", "acquire", "try_acquire"} - {"rate", "per"},
    "Breaker": {*PARAMETERS["Breaker"], "state", "call"},
    "Clock": {"now", "sleep"},
    "FakeClock": {"now", "sleep", "advance", "slept", "time"},
    "GaveUp": {"attempts", "elapsed", "last"},
    "Refused": {"retry_after"},
    "Open": {"retry_after"},
}
METHODS = {
    "acquire": {"tokens", "timeout"}, "try_acquire": {"tokens"}, "constant": {"seconds", "attempts"}, "delays": set(),
}  # fmt: skip
text = Path("artifact.md").read_text(encoding="utf-8")


def blocks() -> list[str]:
    return [
        block[2] for block in re.finditer(r"^(`{3,}|~{3,}) *python\b[^\n]*\n(.*?)^\1", text, re.MULTILINE | re.DOTALL)
    ]


def in_code(source: str) -> list[str]:
    found = []
    try:
        tree = ast.parse(source)
    except SyntaxError:  # another rule sees that
        return []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "steady":
            found += [f"steady has no {alias.name}" for alias in node.names if alias.name not in MEMBERS]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found += strange(node.value.id, node.attr)
        elif isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            known = PARAMETERS.get(name, METHODS.get(name))
            given = [word.arg for word in node.keywords if word.arg]
            found += [f"{name} has no parameter {arg}" for arg in given if known is not None and arg not in known]
    return found


def strange(owner: str, member: str) -> list[str]:
    if owner == "steady":
        known = {*MEMBERS, "__version__", "__all__", "py"}
        return [] if member in known else [f"steady has no {member}"]
    return [f"{owner} has no {member}"] if owner in MEMBERS and member not in MEMBERS[owner] | {"__init__"} else []


def in_words() -> list[str]:
    return [wrong for owner, member in re.findall(r"`(\w+)\.(\w+)", text) for wrong in strange(owner, member)]


def in_tables() -> list[str]:
    """The tables of the reference: every parameter with its default, no other."""
    reference = text.partition("\n## Reference")[2]
    found = []
    for name, wanted in PARAMETERS.items():
        part = re.search(rf"^### `?{name}`?\s*$(.*?)(?=^#{{2,3}} |\Z)", reference, re.MULTILINE | re.DOTALL)
        rows = [line.strip().strip("|").split("|") for line in part[1].splitlines() if "|" in line] if part else []
        told = {row[0].strip(" `"): row[1].strip(" `") for row in rows[2:] if len(row) > 1}
        if not told:
            found.append(f"Reference has no table of the parameters of {name}")
            continue
        found += [f"{name} has no parameter {one}" for one in told if one not in wanted]
        found += [f"the default of {name}.{one} is {value}, not {told.get(one, 'left out')}"
                  for one, value in wanted.items() if told.get(one) != value]  # fmt: skip
    return found


def sources() -> list[str]:
    found = []
    for block in blocks():
        with contextlib.suppress(ValueError):  # prompts that do not line up: another rule sees that
            found += [example.source for example in doctest.DocTestParser().get_examples(block)]
    return found


problems = [problem for source in sources() for problem in in_code(source)] + in_words() + in_tables()
verdict(not problems, "; ".join(dict.fromkeys(problems[:5])))
