"""Runs every session of the guide, in the order of the file, against the library, and compares what it shows.

The library and the sessions run in a child process; what they show is compared here. Whoever writes a session can print
what he likes, so a session that fakes what the child says gains nothing; one that replaces the library is refused.
"""

import ast
import doctest
import json
import re
import subprocess
import sys
from pathlib import Path

LEAST = 30
PUBLIC = {"steady", "Backoff", "Breaker", "Clock", "FakeClock", "GaveUp", "Open", "RateLimit", "Refused", "Retry"}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
CHILD = """
import contextlib, io, json, os, sys, traceback, types
request = json.load(sys.stdin)
channel = os.dup(1)
os.dup2(2, 1)
module = sys.modules["steady"] = types.ModuleType("steady")
exec(compile(request["library"], "steady.py", "exec"), module.__dict__)
space = {"__name__": "__main__"}
said = []
for source in request["sources"]:
    shown, error = io.StringIO(), None
    with contextlib.redirect_stdout(shown):
        try:
            exec(compile(source, "<guide>", "single"), space)
        except Exception as raised:
            error = "".join(traceback.format_exception_only(raised))
    said.append([shown.getvalue(), error])
os.write(channel, json.dumps(said).encode())
"""
LIBRARY = "@library_guide/steady.py"


def sessions(text: str) -> list[tuple[int, doctest.Example]]:
    """Line of the guide and example, of every block of Python."""
    found = []
    for block in re.finditer(r"^(`{3,}|~{3,}) *python\b[^\n]*\n(.*?)^\1", text, re.MULTILINE | re.DOTALL):
        first = text.count("\n", 0, block.start(2)) + 1
        found += [(first + one.lineno, one) for one in doctest.DocTestParser().get_examples(block[2])]
    return found


def shown_by(examples: list[tuple[int, doctest.Example]]) -> list[list[str | None]]:
    """What each example prints and raises. Raises for a child that does not end in order: that is no verdict."""
    request = {"library": LIBRARY, "sources": [one.source for _, one in examples]}
    child = subprocess.run(
        [sys.executable, "-I", "-S", "-c", CHILD], input=json.dumps(request), capture_output=True, text=True,
        timeout=15, check=True,
    )  # fmt: skip
    return json.loads(child.stdout)


def differs(example: doctest.Example, shown: str, error: str | None) -> str:
    same = doctest.OutputChecker().check_output
    if example.exc_msg is not None:
        right = error is not None and same(example.exc_msg, error, FLAGS)
        return "" if right else f"raises {(error or 'nothing').strip()}, not {example.exc_msg.strip()}"
    if error is not None:
        return f"raises {error.strip()}"
    return "" if same(example.want, shown, FLAGS) else f"shows {shown.strip()!r}, not {example.want.strip()!r}"


def replaced(source: str) -> list[str]:
    """Names of the library, and attributes of it, that a session sets or defines anew."""
    found = []
    try:
        tree = ast.parse(source)
    except SyntaxError:  # the child will say so
        return []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            found.append(node.id if isinstance(node, ast.Name) else ast.unparse(node.value))
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.append(node.name)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("setattr", "delattr"):
            found.append(ast.unparse(node.args[0]) if node.args else "")
    return [name for name in found if name.partition(".")[0] in PUBLIC]


def main() -> None:
    examples = sessions(Path("artifact.md").read_text(encoding="utf-8"))
    problems = [] if len(examples) >= LEAST else [f"{len(examples)} examples in sessions; {LEAST} or more"]
    problems += [f"line {line}: replaces {name}" for line, one in examples for name in replaced(one.source)]
    for (line, example), (shown, error) in zip(examples, shown_by(examples), strict=True):
        if wrong := differs(example, shown, error):
            problems.append(f"line {line}: {example.source.strip().splitlines()[0][:60]} {wrong[:160]}")
    verdict(not problems, "; ".join(problems[:5]))


main()
