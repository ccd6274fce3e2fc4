"""A faulty program and its tests, as plain data: what every loader makes and every examiner takes."""

from typing import Any, Literal

from pydantic import BaseModel


class Case(BaseModel):
    """One call and the value it should return; plain JSON values."""

    id: str
    args: list[Any]
    expected: Any


class Cases(BaseModel):
    """Tests as data: call `function` with `args`, compare outside the process that ran it."""

    kind: Literal["cases"] = "cases"
    function: str
    cases: list[Case]


class Script(BaseModel):
    """Tests as Python source that sees the program's top-level names.

    Either `test_*` functions (and methods of `Test*` classes), or, with `entry`, a function `check(candidate)` that is
    given the program's function of that name (HumanEval's form), or bare top-level asserts. Each assert is one test.
    """

    kind: Literal["script"] = "script"
    text: str
    entry: str | None = None


class Command(BaseModel):
    """The user's own test command, run in a copy of their folder; `pytest ...` reports test by test, anything else
    by its exit code alone (which is weaker evidence and is labelled so)."""

    kind: Literal["command"] = "command"
    command: str
    folder: str
    """Folder that is copied and in which the command runs."""
    program: str
    """Path of the program inside that folder."""


Tests = Cases | Script | Command


class Problem(BaseModel):
    """What there is to repair. `hidden` is the holdout: nothing but the end of a run may look at it (SPEC 0.6)."""

    name: str
    goal: str
    """One sentence for people and prompts: what the program is meant to do."""
    module: str
    """Name under which tests may import the program, e.g. `gcd` or `python_programs.gcd`."""
    source: str
    tests: Tests
    hidden: Cases | Script | None = None
    support: dict[str, str] = {}
    """Other modules that program or tests need: relative path -> source."""
    origin: str = ""
    """Where it comes from, shown wherever the result is shown; `synthetic: ...` for planted faults."""


class TestResult(BaseModel):
    """What one test said of one candidate."""

    id: str
    passed: bool
    distance: float = 1.0
    """How far the output was from the expected one: 0 equal, 1 nothing in common or no output."""
    error: str = ""
    """One line: exception type and text, `timeout`, `steps`, `memory`, `no verdict`; empty if passed."""
    lines: list[int] = []
    """Lines of the program that this test ran; only when tracing was asked for."""


class Report(BaseModel):
    """What the tests said of one candidate. No verdict is a fail."""

    results: list[TestResult] = []
    error: str = ""
    """Why there are no results at all (does not compile, import failed, worker lost), else empty."""
    seconds: float = 0.0
    values: list[Any] = []
    """Values returned on generated inputs, when asked for (see Examiner.values)."""

    @property
    def passed(self) -> int:
        return sum(result.passed for result in self.results)

    @property
    def share(self) -> float:
        """Share of tests passed, 0 to 1; 0 without a verdict."""
        return self.passed / len(self.results) if self.results else 0.0

    @property
    def distance(self) -> float:
        """Mean distance over all tests, 0 to 1; 1 without a verdict."""
        return sum(r.distance for r in self.results) / len(self.results) if self.results else 1.0
