"""Kinds `command` and `script`: a program looks at the artifact as a file in the sandbox."""

import ast
import json
import secrets
import sys
from dataclasses import replace

from looper.checks.bench import Bench
from looper.checks.evidence import Problem, Seen
from looper.checks.kinds import Command, Script
from looper.checks.running.selected import text_of_part
from looper.checks.running.verdicts import verdict_in
from looper.checks.sandbox import Result

_RUNNING = {"exec", "eval", "__import__", "breakpoint"}
_LOADING = {"importlib", "runpy", "imp", "pickle", "marshal", "shelve", "code", "codeop", "ctypes", "gc", "inspect"}
"""Modules by which a script could run the artifact where the verdict is made."""
_BOX = "from looper.checks.running.script_box import main; main()"
WEAK = ("strength", "weaker: the program's own exit code")


def run_command(check: Command, artifact: str, bench: Bench, *, blank: bool) -> Seen:
    """Passed if the program exits with 0; what it is worth is the program's own matter, and the evidence says so."""
    text, missing = text_of_part(check, artifact, bench, blank=blank)
    if missing:
        return missing
    bench.sandbox.require(untrusted=True)
    argv = [word.replace("{file}", check.file) for word in check.argv]
    limits = replace(bench.limits(), seconds=check.seconds)
    result = bench.sandbox.run(argv, files={check.file: text}, limits=limits)
    problems = [] if result.ended == "exited" and result.exit_code == 0 else [Problem(0, _failed(argv, result))]
    return Seen(problems, f"command {' '.join(argv)}", result.exit_code, _output(result), (WEAK,))


def _failed(argv: list[str], result: Result) -> str:
    how = f"exit code {result.exit_code}" if result.ended == "exited" else f"ended: {result.ended}"
    said = (result.stderr.strip() or result.stdout.strip()).decode("utf-8", "replace").splitlines()
    return f"the command {argv[0]!r} failed ({how}){': ' + said[-1] if said else ''}"


def _output(result: Result) -> bytes:
    return result.stdout + result.stderr


def run_script(check: Script, artifact: str, bench: Bench, *, blank: bool) -> Seen:
    """Passed if the script ran to its end and called `verdict` once, with True. Exit code 0 is no evidence."""
    ran = "Python script of the check"
    refused = unfit(check.code)
    if refused:
        return Seen([Problem(0, f"the check's own script is refused: {refused}")], ran)
    text, missing = text_of_part(check, artifact, bench, blank=blank)
    if missing:
        return missing
    bench.sandbox.require(untrusted=True)
    nonce = secrets.token_hex(16)
    limits = replace(bench.limits(), seconds=check.seconds)
    result = bench.sandbox.run(
        [sys.executable, "-S", "-c", _BOX], files={check.file: text}, limits=limits,
        stdin=json.dumps({"code": check.code, "nonce": nonce}).encode(),
    )  # fmt: skip
    passed, note = verdict_in(result, nonce)
    problems = [] if passed else [Problem(0, note)]
    return Seen(problems, ran, result.exit_code, result.stderr)


def unfit(code: str) -> str:
    """Why a script cannot be trusted with a verdict: it would run the artifact in its own process, or is no Python."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"it is no valid Python ({error})"
    for node in ast.walk(tree):
        name = getattr(node, "id", "") if isinstance(node, ast.Name) else getattr(node, "attr", "")
        if name in _RUNNING:
            return f"it uses {name}, line {getattr(node, 'lineno', 0)}; start a child process instead"
        for module in imported(node):
            if module.partition(".")[0] in _LOADING:
                return f"it imports {module}, line {getattr(node, 'lineno', 0)}; start a child process instead"
    if not any(isinstance(node, ast.Name) and node.id == "verdict" for node in ast.walk(tree)):
        return "it never calls verdict(passed, note)"
    return ""


def imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []
