"""The visible gate: a complete program that can be loaded and gives what the docstring's examples say.

The program runs in a box of its own and is called from outside: it never meets an expected value (SAFETY P12).
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from looper.checks.sandbox import Sandbox, Worker
from looper.criteria import Criteria, Finding, Phase, Rule
from looper.tasks.code.program import lacks
from looper.tasks.repair.examine.channel import BOOT
from looper.tasks.repair.examine.codec import encode
from looper.tasks.repair.examine.commands import room
from looper.tasks.repair.examine.isolated import Isolated, server_spec
from looper.tasks.repair.examine.setting import setting
from looper.tasks.repair.examine.verdicts import case_result
from looper.tasks.repair.problem import Case, Cases, Problem

COMPLETE, LOADS = "a.correctness.complete", "a.correctness.loads"
STEPS = 20_000_000
"""Loop iterations and calls for one example; some seconds of Python, so that the wall clock ends a run first."""


def called(function: str, case: Case) -> str:
    return f"{function}({', '.join(map(repr, case.args))})"


def told(function: str, case: Case) -> str:
    return f"{called(function, case)} gives {case.expected!r}"


def rule_of(case: Case) -> str:
    return f"a.correctness.{case.id}"


@dataclass(frozen=True)
class Visible:
    """The visible checks of one problem."""

    function: str
    cases: Sequence[Case]
    sandbox: Sandbox
    seconds: float
    """Wall clock for loading, and again for all examples together."""
    memory_mb: int

    def criteria(self) -> Criteria:
        """Every rule has to be met; the score is the share of examples."""
        weight = (
            0.0 if self.cases else 2.0
        )  # they block always; the score is the share of examples, where there are some
        rules = [
            Rule(id=COMPLETE, description=f"it is Python that defines a complete {self.function}", weight=weight),
            Rule(id=LOADS, description="it can be loaded", weight=weight),
            *(Rule(id=rule_of(case), description=told(self.function, case)[:400]) for case in self.cases),
        ]
        return Criteria(rules=rules, phases=[Phase(name="A", threshold=1.0)])

    def findings(self, program: str) -> dict[str, Finding]:
        """What the checks say of a program, by rule; each failure is named."""
        rules = [rule.id for rule in self.criteria().rules]
        if problem := lacks(program, self.function):
            return {rule: Finding(passed=False, note=problem) for rule in rules}
        self.sandbox.require(untrusted=True)
        with self.isolated().candidate(program) as candidate:
            error = candidate.load(program, STEPS, trace=False)
            found = {COMPLETE: Finding(passed=True), LOADS: Finding(passed=not error, note=error)}
            for case in self.cases:
                if error:
                    found[rule_of(case)] = Finding(passed=False, note=f"it cannot be loaded: {error}")
                    continue
                said = candidate.call({"call": self.function, "args": [encode(value) for value in case.args]})
                result = case_result(case.id, case.expected, said)
                found[rule_of(case)] = Finding(passed=result.passed, note=result.error)
        return found

    def isolated(self) -> Isolated:
        tests = Cases(function=self.function, cases=[])
        empty = Problem(name=self.function, goal="", module="solution", source="", tests=tests)
        return Isolated(self.start, server_spec(setting(empty, tests, self.seconds, self.memory_mb)), STEPS)

    def start(self, _program: str) -> Worker:
        limits = room(self.sandbox.limits, self.memory_mb)
        return self.sandbox.start([sys.executable, "-I", "-S", "-c", BOOT], limits=limits)
