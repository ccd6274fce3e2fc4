"""repair: a faulty program and its tests (SPEC 7.2).

State = the program and what its tests say; probes = share of tests that pass, distance of outputs, whether a plausible
patch has rivals yet; actions = typed edits of the syntax tree or a free rewrite; holdout = hidden tests.
"""

import difflib
import random
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any

from pydantic import BaseModel, Field
from pydantic.dataclasses import dataclass

from looper.checks.sandbox import Sandbox
from looper.criteria import Criteria, Evaluation
from looper.errors import ConfigError, PhaseError, SandboxUnavailable
from looper.tasks.environment import FailureType, ProbePolicy
from looper.tasks.repair.attempts import FREE, Attempts, Refusal, replaced
from looper.tasks.repair.brief import Brief, gate, numbered, rule, shown
from looper.tasks.repair.edits import KINDS
from looper.tasks.repair.examine.examiner import Examiner
from looper.tasks.repair.fillers import Fillers
from looper.tasks.repair.inputs import calls
from looper.tasks.repair.localise import suspicion
from looper.tasks.repair.probes import ChoiceProbe, DistanceProbe, TestsProbe
from looper.tasks.repair.problem import Cases, Command, Problem, Report, Script, Tests
from looper.tasks.repair.search import (
    CLIMBS,
    FIRST_SHARE,
    Climb,
    FixedOrder,
    Memory,
    digest,
    left,
    one_edit,
)  # fmt: skip
from looper.tasks.repair.states import (
    Batch,
    Choice,
    Coded,
    Decision,
    Move,
    Plan,
    Program,
    Replan,
    Variant,
    errors,
    judged,
)
from looper.tasks.repair.workshop import Workshop
from looper.types import STRICT, Question, Signal

PATIENCE, PATIENT_STEPS = 4, 4_000_000
"""How much longer the hidden tests may take than the visible ones, and steps for each of them."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Repair:
    """Base of all repair tasks; the subclasses in `kinds.py` say where the program comes from."""

    sandbox: Sandbox
    """What contains the execution of candidates."""
    seed: Annotated[int, Field(ge=0)] = 0
    """0: the candidates in their own order; above: that order stirred a little, so that seeds show what is luck."""
    jobs: Annotated[int, Field(ge=0, le=64)] = 0
    """Candidates executed at a time; 0: one for each core."""
    seconds: Annotated[float, Field(gt=0, le=3600)] = 5.0
    """Wall clock for all tests of one candidate."""
    memory_mb: Annotated[int, Field(ge=64, le=16384)] = 512
    """Memory of one candidate."""
    step_limit: Annotated[int, Field(ge=0)] = 0
    """Loop iterations and calls per test; 0: twenty times what the faulty program takes."""
    alternatives: Annotated[int, Field(ge=0, le=2000)] = 64
    """Candidates tried after the first plausible patch, to have rivals to choose from: first ones often overfit."""
    python: str | None = None
    """Interpreter for the user's own test command; default: the one that runs looper."""
    prompts: dict[str, dict[str, str]] = Field(default_factory=dict)
    """Prompt templates by step, for models in a role."""

    @cached_property
    def box(self) -> Sandbox:
        """The sandbox; a task whose answers lie on this machine hides them in it."""
        return self.sandbox

    def load(self) -> Problem:
        """The problem; raises ConfigError if it cannot be had."""
        raise NotImplementedError

    @cached_property
    def problem(self) -> Problem:
        return self.load()

    @property
    def goal(self) -> str:
        return self.problem.goal

    @property
    def alias(self) -> str:
        return f"repair-{self.problem.name}"

    @property
    def origin(self) -> str:
        return self.problem.origin

    @cached_property
    def examiner(self) -> Examiner:
        return self._examiner(self.problem, self.problem.tests)

    def _examiner(self, problem: Problem, tests: Tests, *, patient: bool = False) -> Examiner:
        """`patient`: the limits are loose, because this one verdict must not hang on the faulty program's pace."""
        return Examiner(
            problem, self.box, tests=tests, jobs=self.jobs, memory_mb=self.memory_mb, python=self.python,
            seconds=self.seconds * (PATIENCE if patient else 1),
            step_limit=self.step_limit or (PATIENT_STEPS if patient else 0),
        )  # fmt: skip

    def close(self) -> None:
        """End the workers."""
        if "examiner" in self.__dict__:
            self.examiner.close()

    # The problem as it is

    @cached_property
    def first(self) -> Report:
        """What the visible tests say of the faulty program, with the lines each of them ran."""
        self.box.require(untrusted=False)
        report = self.examiner.examine([self.problem.source], trace=True)[0]
        if not report.results:
            raise ConfigError(
                f"the tests of {self.problem.name} give no verdict at all: {report.error or 'no test was found'}. "
                "Check the test command and that it can run from the project's folder."
            )
        if report.share == 1:
            count = len(report.results)
            raise ConfigError(f"{self.problem.name}: all {count} tests pass already; there is nothing to repair.")
        return report

    @property
    def criteria(self) -> Criteria:
        return gate([result.id for result in self.first.results])

    def prepare(self) -> Brief:
        results = [f"{r.id}: {'passed' if r.passed else r.error or 'wrong result'}" for r in self.first.results]
        reached = any(r.lines for r in self.first.results)
        warning = "" if self.first.passed else "no visible test passes, so suspicion cannot be told from innocence"
        if not reached and isinstance(self.problem.tests, Command) and not self.first.passed:
            warning = "the tests fail without running a line of the program that could be traced: check task.tests"
        return Brief(
            goal=self.goal, original=self.problem.source, numbered=numbered(self.problem.source),
            kinds="\n".join(f"{kind}: {text}" for kind, text in KINDS.items()), tests=shown(self.problem.tests),
            results="\n".join(results[:60]), warning=warning,
        )  # fmt: skip

    def answer(self, step: str) -> type[BaseModel]:
        return {"plan": Plan, "replan": Replan, "evaluate": Choice, "decide": Decision, "act": Move,
                "code": Coded}[step]  # fmt: skip

    # The environment

    def observe(self, plan: Plan | None) -> Program:
        source = self.problem.source
        plan = self._sensible(plan or Plan())
        report = self.first
        blamed = suspicion(source, report)
        for rank, line in enumerate(plan.lines):
            blamed[line] = max(blamed.get(line, 0.0), 1.0 - rank / (2 * len(plan.lines)))
        fields: dict[str, Any] = judged(source, report)
        return Program(**fields, suspicion=blamed, errors=errors(report)[:40], plan=plan, last="observed")

    def _sensible(self, plan: Plan) -> Plan:
        """A plan without lines and kinds that do not exist; they come from outside."""
        families = {kind.split(".")[0] for kind in KINDS}
        last = self.problem.source.count("\n") + 1
        lines = [line for line in dict.fromkeys(plan.lines) if 1 <= line <= last]
        kinds = [kind for kind in dict.fromkeys(plan.kinds) if kind in KINDS or kind in families]
        return plan.model_copy(update={"lines": lines, "kinds": kinds})

    def probes(self) -> list[Any]:
        return [TestsProbe(), DistanceProbe(), ChoiceProbe(self.alternatives)]

    def classify(self, state: Program, signals: Sequence[Signal]) -> FailureType:
        if not any(state.suspicion.values()):
            return FailureType.NO_DATA
        tried = state.cursors.get(digest(self.problem.source), 0)
        remaining = left(state, self.problem.source, self.seed)
        if state.plausible and remaining:
            return FailureType.UNKNOWN
        climbs = state.frontier and Climb(self.problem.source, self.seed).decide(state, signals, Memory(), 0.0)
        rate = CLIMBS if state.frontier and state.frontier[0].share > self.first.share else 1
        climbed = state.explored - tried
        if remaining and (tried < FIRST_SHARE or rate * (tried - FIRST_SHARE) < climbed or not climbs):
            return FailureType.UNKNOWN
        return FailureType.TOO_NARROW if climbs else FailureType.INFEASIBLE

    def policies(self) -> list[ProbePolicy]:
        return [FixedOrder(self.problem.source, self.seed), Climb(self.problem.source, self.seed)]

    def quantity(self, action: Batch | Move) -> float:
        if isinstance(action, Coded) and action.search:
            return self.quantity(action.search)
        return float(len(action.edits) + len(action.rewrites)) if isinstance(action, Batch) else 1.0

    def apply(self, state: Program, action: Batch | Move) -> Program:
        if isinstance(action, Coded) and action.search:
            return self.apply(state, action.search)
        if isinstance(action, Move):
            return self._moved(state, action)
        return Attempts(self, state, action).outcome()

    def _moved(self, state: Program, move: Move) -> Program:
        """The program as the move leaves it, better or worse; a passage that is not there is said, not guessed."""
        changed = replaced(state.source, move)
        if isinstance(changed, Refusal):
            return state.model_copy(update={"last": changed.why})
        typed = self.typed(changed)
        report = self.examine([(changed, typed)])[0]
        fields = judged(changed, report)
        last = f"passes {report.passed} of {len(report.results)}" + (f": {report.error}" if report.error else "")
        if not typed:
            last += f" (evidence: tests and program {self._apartness()})"
        variant = Variant(source=changed, share=report.share, distance=report.distance, path=[str(move)],
                          kinds=[] if typed else [FREE])  # fmt: skip
        plausible = [*state.plausible, variant] if report.results and report.share == 1 else state.plausible
        return state.model_copy(update={**fields, "explored": state.explored + 1, "last": last, "plausible": plausible})

    def _apartness(self) -> str:
        """How far the verdict on a program that a model wrote can be trusted (SAFETY P12)."""
        return "in separate processes" if self.examiner.evidence == "separate processes" else "in one process"

    def typed(self, changed: str) -> bool:
        """Whether a program is, to the letter, the original or an edit that looper itself would make of it.

        An edit of a program that a model wrote is as little to be trusted as that program.
        """
        return changed == self.problem.source or changed in one_edit(self.problem.source)

    def trusts(self, state: Program, base: str) -> bool:
        """Whether nothing but typed edits led from the original to this program."""
        return base == self.problem.source or any(v.source == base and FREE not in v.kinds for v in state.frontier)

    def examine(self, programs: Sequence[tuple[str, bool]], trace: bool = False) -> list[Report]:
        """Reports on (source, typed) pairs: typed edits side by side in the workers, others in a box of their own."""
        trusted = iter(self.examiner.examine([source for source, typed in programs if typed], trace=trace))
        if not all(typed for _, typed in programs):
            self.box.require(untrusted=True)
        return [next(trusted) if typed else self.examiner.examine_untrusted(source) for source, typed in programs]

    def feedback(self, before: Program, after: Program) -> float:
        gain = (after.share - before.share) + 0.5 * (before.distance - after.distance)
        return max(-1.0, min(1.0, gain))

    def key(self, state: Program) -> str:
        return f"{digest(state.source)}/{state.explored}/{digest(repr(sorted(state.cursors.items())))}"

    def evaluate(self, state: Program) -> Evaluation:
        return self.criteria.evaluate({rule(test): passed for test, passed in state.results.items()})

    def conclude(self, state: Program, answer: Choice) -> Program:
        if not state.plausible:
            return state
        chosen = state.plausible[min(answer.candidate, len(state.plausible) - 1)]
        return state.model_copy(update={"source": chosen.source, "results": {r.id: True for r in self.first.results}})

    def describe(self, state: Program) -> str:
        return state.last

    def render(self, state: Program) -> str:
        return state.source

    def parse(self, text: str) -> Program:
        report = self.examine([(text, text == self.problem.source)])[0]
        fields: dict[str, Any] = judged(text, report)
        return Program(**fields, last="recalled")

    def holdout(self, artifact: str) -> Evaluation | None:
        """The hidden tests' verdict on the final program (SPEC 0.6); None where there are none."""
        if self.problem.hidden is None:
            return None
        report = self._hidden(artifact, self.problem.hidden)
        found = {rule(r.id): r.passed for r in report.results}
        return gate([r.id for r in report.results] or ["no verdict"]).evaluate(found)

    def _hidden(self, artifact: str, tests: Tests) -> Report:
        """Boxed where that is possible; else only what is no more to be feared than the user's own program."""
        with self._examiner(self.problem, tests, patient=True) as examiner:
            try:
                return examiner.examine_untrusted(artifact)
            except SandboxUnavailable as error:
                if self.typed(artifact):
                    return examiner.examine([artifact])[0]
                raise PhaseError(f"the hidden tests were not run: {error}") from error

    def files(self, artifact: str) -> Mapping[str, str]:
        """The result as a unified diff, and the whole program."""
        name = f"{self.problem.module.rpartition('.')[2]}.py"
        path = self.problem.tests.program if isinstance(self.problem.tests, Command) else name
        lines = difflib.unified_diff(
            self.problem.source.splitlines(keepends=True), artifact.splitlines(keepends=True), f"a/{path}", f"b/{path}"
        )
        return {"patch.diff": "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
                                      for line in lines), "program.py": artifact}  # fmt: skip

    @property
    def workshop(self) -> Workshop:
        """What the workflow needs besides."""
        return Workshop(self)

    # Deterministic fillers of the roles

    def policy(self, step: str) -> Callable[..., Any] | None:
        return Fillers(self).of(step)

    def simulate(self, question: Question, skill: float, dice: random.Random) -> BaseModel:
        return Fillers(self).simulate(question, skill, dice)

    @property
    def function(self) -> str:
        """Name of the function that the tests call with plain values, else empty."""
        tests = self.problem.tests
        if isinstance(tests, Cases):
            return tests.function
        return tests.entry or "" if isinstance(tests, Script) and calls(tests, tests.entry or "") else ""
