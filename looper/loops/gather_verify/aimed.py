"""The task as the ideal state wants it: the same task with the rules of the ideal state in its gate.

An inner design sees nothing else of the outer loop, but for the brief, which has what was gathered and the gaps.
"""

from collections.abc import Callable
from typing import Any

from looper.checks.bench import Bench
from looper.checks.examine import examine
from looper.checks.kinds import CHECK
from looper.criteria import Criteria, Evaluation, Finding
from looper.loops.gather_verify.rules import Added, Aim
from looper.tasks.contracts import Confirmation
from looper.tasks.environment import Task


class Aimed:
    """Delegates to the task; its gate has the added rules too."""

    def __init__(self, task: Task, bench: Bench):
        self.given, self.bench = task, bench
        self.aim = Aim()
        self._seen: dict[tuple[str, str], Finding] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.given, name)

    @property
    def criteria(self) -> Criteria:
        return self.aim.over(self.given.criteria)

    @property
    def added(self) -> list[Added]:
        """The added rules that were not left out."""
        return [one for one in self.aim.added if one.rule.id not in self.aim.left_out]

    @property
    def adopt(self) -> None:
        """An inner design makes no criteria of its own: the ideal state is what is wanted."""
        return None

    @property
    def amend(self) -> Callable[[Confirmation], None] | None:
        """Edits by the user; None where the rules of the task cannot be edited."""
        own: Callable[[Confirmation], None] | None = getattr(self.given, "amend", None)

        def amended(word: Confirmation) -> None:
            ours = {one.rule.id for one in self.aim.added}
            self.aim = self.aim.model_copy(update={"left_out": list(word.leave_out)})
            assert own is not None
            own(word.model_copy(update={"leave_out": [rule for rule in word.leave_out if rule not in ours]}))

        return amended if own else None

    def evaluate(self, state: Any) -> Evaluation:
        """The task's verdict and that of the added rules, as one."""
        own = self.given.evaluate(state)
        if self.aim == Aim():
            return own
        found: dict[str, Finding | bool] = {
            rule.id: rule.id not in own.failed for rule in self.given.criteria.active(own.phase)
        }
        found |= {one.rule.id: self.found(one, self.given.render(state)) for one in self.added}
        return self.criteria.evaluate(found, own.phase)

    def found(self, one: Added, text: str) -> Finding:
        """What an added rule's check says of a text; the same text is examined once."""
        key = (CHECK.dump_json(one.check).decode(), text)
        if key not in self._seen:
            self._seen[key] = examine(one.check, text, self.bench)
        return self._seen[key]

    def forget(self) -> None:
        """From here on every check runs afresh."""
        self._seen.clear()

    def notes(self, state: Any) -> dict[str, str]:
        """What the checks said of the rules that failed, the added ones too."""
        told = getattr(self.given, "notes", None)
        text = self.given.render(state)
        own = {one.rule.id: self.found(one, text) for one in self.added}
        failed = {rule: finding.note for rule, finding in own.items() if not finding.passed}
        return {**(dict(told(state)) if told else {}), **failed}
