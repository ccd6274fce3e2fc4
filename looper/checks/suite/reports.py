"""What a run of a project's tests found, whatever ran them: one result per test, not an exit code (issue 5, Tester)."""

from typing import Literal

from pydantic import BaseModel

Outcome = Literal["passed", "failed", "error", "skipped"]


class TestResult(BaseModel):
    """One test."""

    __test__ = False  # pytest would collect a class of this name

    id: str
    """`tests/test_store.py::test_add[2]`, or `class::name` of a JUnit report: the same in every run."""
    outcome: Outcome
    text: str = ""
    """What went wrong, one line without addresses and times; empty if it passed."""
    at: str = ""
    """`file:line` where it went wrong, inside the project; empty if it is not known."""


class Broken(BaseModel):
    """A file of tests that could not be collected."""

    file: str
    text: str
    at: str = ""


class FileCoverage(BaseModel):
    """Statement coverage of one file."""

    share: float
    """0 to 1."""
    missing: list[int] = []
    """Lines that no test ran, the first 200."""


class SuiteReport(BaseModel):
    """What the tests said. Equal inputs give equal reports: durations are left out."""

    tests: list[TestResult] = []
    broken: list[Broken] = []
    problem: str = ""
    """Why there is no verdict of the run as a whole (a time-out, no report, no tests); empty if there is one."""
    ran: str = ""
    """What ran, with its version."""
    exit_code: int | None = None
    output_sha256: str = ""
    excerpt: str = ""
    """The last lines of what was printed, for a person and for the coder; at most 2,000 characters."""
    coverage: dict[str, FileCoverage] | None = None
    """By file of the project that was asked about; None if coverage was not asked for or could not be had."""

    def outcomes(self) -> dict[str, Outcome]:
        """Outcome by id."""
        return {test.id: test.outcome for test in self.tests}
