"""What the workflow needs of a task, taken from what the task offers: workspaces offer more than others (SPEC 0.7).

A task may have a `workshop` for this design, an object with all or some of:

    coding           name of the step by which the coder is asked; default `act`
    results(state)   every check by name with its finding; default: the rules of its gate
    groups(state)    failing checks that belong together; default: each failing rule by itself
    desk(state, words, checks)   what the coder is shown besides the brief
    became, last, violations (fields of its states)   what became of the coder's answer
    fresh(state)             the state without the results of its tests
    evidence(state)          what testers and reviewers see, such as the change as a diff
    extended(state, tests)   the state with the tester's own tests
    back(start, state)       the state after a rollback; default: the better of the two
    commit(state, message, parent) -> str, at(commit)   the workspace's commits
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

from looper.criteria import Evaluation, Finding
from looper.loops.look import look
from looper.loops.workflow.answers import AddedTest, Group
from looper.loops.workflow.marks import Found
from looper.run import Run
from looper.tasks.environment import Task

Answer = TypeVar("Answer", bound=BaseModel)
SEPARATORS = ("::", "[", "/", ".")
"""What may follow the name of a group of checks: `tests/test_store.py` stands for all tests in it."""


class Looked(BaseModel, arbitrary_types_allowed=True):
    """A state with what is known of it."""

    state: Any
    signals: list[Any]
    verdict: Evaluation
    checks: dict[str, Finding]


class Ground:
    """A task as the workflow sees it."""

    def __init__(self, task: Task):
        self.task = task
        self.own = getattr(task, "workshop", None)
        self.step: str = getattr(self.own, "coding", "act")
        self.rolls_back = hasattr(self.own, "back")

    def look(self, run: Run, state: Any) -> Looked:
        """Tests and probes on a state, run by code, and the gate's verdict."""
        state, signals = look(self.task, run, state)
        verdict = run.do("gate", self.task.evaluate, state)
        return Looked(state=state, signals=signals, verdict=verdict, checks=self.checks(state, verdict))

    def fresh(self, state: Any) -> Any:
        """The state without what is known of it, so that everything is run again."""
        own = getattr(self.own, "fresh", None)
        return own(state) if own else state

    def checks(self, state: Any, verdict: Evaluation) -> dict[str, Finding]:
        own: Any = getattr(self.own, "results", None)
        if own is not None:
            return dict(own(state))
        told = getattr(self.task, "notes", None)
        notes = dict(told(state)) if told else {}
        return {
            rule.id: Finding(passed=rule.id not in verdict.failed, note=notes.get(rule.id, ""))
            for rule in self.task.criteria.active(verdict.phase)
        }

    def groups(self, looked: Looked) -> list[Group]:
        own = getattr(self.own, "groups", None)
        if own:
            return [Group.model_validate(group) for group in own(looked.state)]
        failing = {name: finding for name, finding in looked.checks.items() if not finding.passed}
        return [Group(name=name, checks=[name], note=finding.note) for name, finding in failing.items()]

    def desk(self, looked: Looked, words: str, checks: Sequence[str]) -> dict[str, Any]:
        """What the coder is shown besides the brief."""
        own = getattr(self.own, "desk", None)
        return dict(own(looked.state, words, list(checks))) if own else {}

    def became(self, before: Any, after: Any) -> str:
        """changed, nothing, refused, asked or clarify."""
        told = getattr(after, "became", None)
        if isinstance(told, str):
            return told
        return "nothing" if self.task.key(before) == self.task.key(after) else "changed"

    def violations(self, state: Any) -> list[Found]:
        return [Found.model_validate(one, from_attributes=True) for one in getattr(state, "violations", [])]

    def files(self, state: Any) -> list[str]:
        """Files that differ from the task as it was given; none where there are no files."""
        return sorted(getattr(state, "changed", {}) or {})

    def evidence(self, state: Any) -> dict[str, Any]:
        """What testers and reviewers see of a state besides the results of its checks; nothing by default."""
        own = getattr(self.own, "evidence", None)
        return dict(own(state)) if own else {}

    def extend(self, run: Run, state: Any, tests: Sequence[AddedTest]) -> Any:
        """The state with the tester's tests, None where the task takes none."""
        own = getattr(self.own, "extended", None)
        return run.do("add_tests", own, state, {test.name: test.text for test in tests}) if own else None

    def back(self, start: Looked, end: Looked) -> Looked:
        """A rejected attempt is rolled back; what a search has tried is not forgotten.

        Where there is no workspace there is nothing to roll back: the work goes on from the better of the two.
        """
        own = getattr(self.own, "back", None)
        if own is None:
            return start if start.verdict.better_than(end.verdict) else end
        return start.model_copy(update={"state": own(start.state, end.state)})

    def commit(self, run: Run, state: Any, message: str, parent: str) -> str:
        """The commit of a finished task; empty where there is no workspace."""
        own = getattr(self.own, "commit", None)
        if own is None:
            return ""
        made = run.do("commit", own, state, message, parent)
        self.at(made)
        return made

    def at(self, commit: str) -> None:
        """The workspace stands at a commit of the journal, also after a kill in the middle of a checkout."""
        own = getattr(self.own, "at", None)
        if own:
            own(commit)


def put(run: Run, role: str, returns: type[Answer], step: str, **own: Any) -> Answer:
    """A question with all that the task's brief holds; of equal names the question's own value is meant."""
    return run.ask(role, returns, step=step, **{**run.brief, **own})


def resolved(names: Sequence[str], checks: Mapping[str, Finding]) -> tuple[dict[str, Finding], list[str]]:
    """The findings that these names stand for, and names that stand for none."""
    found: dict[str, Finding] = {}
    unknown: list[str] = []
    for name in names:
        own = {check: finding for check, finding in checks.items() if stands_for(name, check)}
        found.update(own)
        if not own:
            unknown.append(name)
    return found, unknown


def stands_for(name: str, check: str) -> bool:
    return check == name or any(check.startswith(f"{name.rstrip('/')}{mark}") for mark in SEPARATORS)
