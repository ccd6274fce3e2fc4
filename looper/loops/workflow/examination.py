"""What became of a change: the tester's word, and the score that code computes (document 001; SPEC 3.2, 3.3)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from looper.criteria import Finding
from looper.loops.workflow.answers import Review, Tested
from looper.loops.workflow.ground import Ground, Looked, put, resolved, stands_for
from looper.loops.workflow.marks import Found, Mark, Thresholds, counted, lowered, marked
from looper.loops.workflow.tree import Node
from looper.run import Run

if TYPE_CHECKING:
    from looper.loops.workflow import Workflow


@dataclass
class Change:
    """A coder's answer and what it led to."""

    answer: Any
    before: Any
    state: Any
    became: str
    violations: list[Found] = field(default_factory=list)
    earlier: list[Found] = field(default_factory=list)
    """Of answers before it that were refused and changed nothing: on record, and no fault of this change."""


class Examination:
    """The task's checks on a change, against the state in which the attempt began."""

    def __init__(self, design: "Workflow", run: Run, ground: Ground, node: Node, start: Looked):
        self.run, self.ground, self.node, self.start = run, ground, node, start
        self.thresholds = Thresholds(approve=design.approval, reject=design.rejection)

    def test(self, turn: Run, change: Change, looked: Looked) -> tuple[Tested, Looked]:
        """The tester's word on the results that code has computed; tests that it adds are run at once."""
        wrong = list[Found]()
        word = Tested(status="failed")
        for _ask in range(2):
            word = put(
                turn, "tester", Tested, "test", planned=self.node.planned,
                checks=self.told(self.wanted(looked.checks)), failing=self.told(failing(looked.checks)),
                passed=sum(finding.passed for finding in looked.checks.values()), total=len(looked.checks),
                regressions=self.regressions(looked), files=self.ground.files(looked.state), change=str(change.answer),
                wrong=wrong, answers=self.node.answers, evidence=self.ground.evidence(looked.state),
            )  # fmt: skip
            wrong = counted(word, looked.checks, self.wanted(looked.checks) | self.own_tests(looked.checks))
            if not wrong:
                break
        change.violations += wrong
        return self.added(turn, looked, word) if word.add else (word, looked)

    def added(self, turn: Run, looked: Looked, word: Tested) -> tuple[Tested, Looked]:
        """The tester's own tests are run at once; those that did not run are named, for they prove nothing."""
        extended = self.ground.extend(turn, looked.state, word.add)
        after = looked if extended is None else self.ground.look(turn, extended)
        idle = [test.name for test in word.add if not any(test.name in check for check in after.checks)]
        told = [f"the tester's own tests did not run: {', '.join(idle)}"] if idle else []
        return word.model_copy(update={"problems": [*word.problems, *told]}), after

    def wanted(self, checks: Mapping[str, Finding]) -> dict[str, Finding]:
        """The checks of the task. One that is gone from the results has not passed (a deleted test proves nothing)."""
        found, gone = resolved(self.node.planned.checks, checks)
        known, _ = resolved(self.node.planned.checks, self.start.checks)
        lost = [name for name in known if not any(stands_for(name, check) for check in found)]
        return {**found, **{name: Finding(passed=False, note="did not run") for name in (*gone, *lost)}}

    def regressions(self, looked: Looked) -> list[str]:
        passed = {name for name, finding in self.start.checks.items() if finding.passed}
        return sorted(name for name in passed if name not in looked.checks or not looked.checks[name].passed)

    def told(self, checks: Mapping[str, Finding]) -> dict[str, str]:
        return {name: "passed" if finding.passed else finding.note or "failed" for name, finding in checks.items()}

    # Score

    def judge(self, turn: Run, change: Change, looked: Looked, word: Tested) -> Mark:
        """Computed by code; a tester or a reviewer can lower it, nobody can raise it (SPEC 0.1)."""
        own = {name: finding for name, finding in self.own_tests(looked.checks).items() if not finding.passed}
        wanted = self.wanted(looked.checks) | own
        found = [*change.violations, *self.claims(change, looked)]
        if not looked.checks:
            found.append(Found(name="no_tests_run", text="no check gave a result"))
        regressions = self.regressions(looked)
        mark = marked(wanted, regressions, found, self.thresholds)
        if word.status == "failed" and mark.verdict == "approve":
            said = word.problems or [word.reason or "the tester does not pass it"]
            mark = lowered(mark, min(60, self.thresholds.cap), said, self.thresholds)
        mark = mark.model_copy(update={"remarks": word.problems})
        if not self.wanted(looked.checks) and mark.verdict == "approve":
            mark = self.reviewed(turn, change, looked, mark)
        return mark

    def own_tests(self, checks: Mapping[str, Finding]) -> dict[str, Finding]:
        """Tests that came up in this attempt, the coder's and the tester's: failing they count, passing they do not."""
        return {name: finding for name, finding in checks.items() if name not in self.start.checks}

    def claims(self, change: Change, looked: Looked) -> list[Found]:
        """A claim of passing tests counts for nothing, and a false one is named (SPEC 3.2)."""
        wanted = self.told({name: f for name, f in self.wanted(looked.checks).items() if not f.passed})
        if getattr(change.answer, "claims_pass", None) and (wanted or self.regressions(looked)):
            return [Found(name="claimed_pass", text=f"the tests were said to pass; {len(wanted) or 'some'} do not")]
        return []

    def reviewed(self, turn: Run, change: Change, looked: Looked, mark: Mark) -> Mark:
        """A task that no test can tell is done is read by the supervisor: weaker evidence, and only a veto."""
        word = put(
                turn, "supervisor", Review, "review_work", planned=self.node.planned,
            change=str(change.answer), files=self.ground.files(looked.state),
            answers=self.node.answers, evidence=self.ground.evidence(looked.state),
        )  # fmt: skip
        mark = mark.model_copy(update={"remarks": [*mark.remarks, *word.issues]})
        return lowered(mark, word.score, word.issues, self.thresholds)


def failing(checks: Mapping[str, Finding]) -> dict[str, Finding]:
    return {name: finding for name, finding in checks.items() if not finding.passed}
