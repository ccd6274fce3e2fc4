"""What every role may see of a repair task, and the gate as rules."""

from collections.abc import Sequence

from pydantic import BaseModel

from looper.criteria import Criteria, Phase, Rule
from looper.tasks.repair.problem import Cases, Script, Tests


class Brief(BaseModel):
    """What every role may see of the task: program, visible tests and what they say of it. Never the hidden tests."""

    goal: str
    original: str
    numbered: str
    """The program with line numbers."""
    kinds: str
    """Kinds of edit that a plan can name."""
    tests: str
    results: str
    warning: str = ""


def numbered(source: str) -> str:
    return "\n".join(f"{number:4} {line}" for number, line in enumerate(source.splitlines(), 1))


def rule(test: str) -> str:
    return f"a.correctness.{test}"


def gate(tests: Sequence[str]) -> Criteria:
    """Every visible test must pass; the score is the share that does."""
    rules = [Rule(id=rule(test), description=f"{test} passes", check="run the test") for test in tests]
    return Criteria(rules=rules, phases=[Phase(name="A", threshold=1.0)])


def shown(tests: Tests, limit: int = 12_000) -> str:
    """The visible tests as text for prompts."""
    if isinstance(tests, Cases):
        calls = [f"{tests.function}({', '.join(map(repr, case.args))})" for case in tests.cases]
        text = "\n".join(
            f"{call} should return {case.expected!r}" for call, case in zip(calls, tests.cases, strict=True)
        )
    else:
        text = tests.text if isinstance(tests, Script) else tests.command
    return text if len(text) <= limit else text[:limit] + "\n... (cut)"
