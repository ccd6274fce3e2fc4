"""Check script: the examples in the module's docstring, run in a process of its own, give what the docstring says."""

import ast
import doctest
import json
import secrets
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

FILE = Path("rota.py")
CHILD = """
import json, sys
request = json.loads(sys.stdin.read())
import rota
space = dict(vars(rota))
for source in request["sources"]:
    exec(compile(source, "<example>", "single"), space)
    print(request["mark"], flush=True)
"""
verdict: Callable[[bool, str], None] = globals()["verdict"]


def wrong(source: str) -> str:
    """What keeps the example from being one; empty if nothing does."""
    try:
        said = ast.get_docstring(ast.parse(source)) or ""
        examples = doctest.DocTestParser().get_examples(said)
    except (SyntaxError, ValueError) as error:
        return f"the module or its example cannot be read: {error}"
    text = "".join(example.source for example in examples)
    missing = [name for name in ("rotation", "override") if f"{name}(" not in text]
    if missing:
        return f"the example in the module's docstring never calls {' and '.join(missing)}"
    if not any(example.want for example in examples):
        return "the example in the module's docstring shows no answer"
    return differing(examples, outputs([example.source for example in examples]))


def outputs(sources: list[str]) -> list[str]:
    """What each example prints; fewer if the process ended before its last one."""
    mark = secrets.token_hex(16)
    done = subprocess.run(
        [sys.executable, "-c", CHILD], input=json.dumps({"sources": sources, "mark": mark}).encode(),
        capture_output=True, timeout=15, check=False,
    )  # fmt: skip
    return done.stdout.decode("utf-8", "replace").split(f"{mark}\n")[:-1]


def differing(examples: list[doctest.Example], found: list[str]) -> str:
    """The first example that did not print what its docstring says."""
    for number, example in enumerate(examples):
        if number >= len(found):
            return f"the example fails at: {example.source.strip()[:100]}"
        if found[number].strip() != example.want.strip():
            return f"the example gives {found[number].strip()[:80]!r}, not {example.want.strip()[:80]!r}"
    return ""


problem = wrong(FILE.read_text(encoding="utf-8"))
verdict(not problem, problem)
