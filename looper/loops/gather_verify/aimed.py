"""The task as the ideal state wants it: the same task with the rules of the ideal state in its gate.

An inner design sees nothing else of the outer loop, but for the brief, which has what was gathered and the gaps.
"""

from collections.abc import Callable
from typing import Any

from looper.checks.bench import Bench
from looper.checks.examine import examine
from looper.checks.kinds import CHECK
from looper.criteria import Criteria, Evaluation, Finding, Rule
from looper.decoding import returns_of
from looper.loops.gather_verify.rules import Added, Aim
from looper.tasks.contracts import Confirmation
from looper.tasks.environment import Task

REVISED = "outer.revised"
SENT_BACK = "the result that was sent back has been changed"


class Aimed:
    """Delegates to the task; its gate has the added rules too."""

    def __init__(self, task: Task, bench: Bench):
        self.given, self.bench = task, bench
        self.aim = Aim()
        self.previous = ""
        """The result of the round before, where the work goes on."""
        self.sent_back = ""
        """What a reader or the user found in it, where no rule of the gate does: the same result is not good enough."""
        self._seen: dict[tuple[str, str], Finding] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.given, name)

    @property
    def criteria(self) -> Criteria:
        criteria = self.aim.over(self.given.criteria)
        if not self.sent_back:
            return criteria
        phase = criteria.phases[0].name
        rule = Rule(id=f"{phase.lower()}.{REVISED}", description=SENT_BACK, phase=phase, weight=0.0)
        return Criteria(rules=[*criteria.rules, rule], phases=criteria.phases)

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

    @property
    def observe(self) -> Callable[[Any], Any]:
        """A plan as the task sees it; without one the world as it is, which has the result of the round before."""
        begun: Callable[[Any], Any] = self.given.observe
        if not self.previous:
            return begun

        def go_on(plan: Any) -> Any:
            return self.given.parse(self.previous) if plan is None else begun(plan)

        go_on.__annotations__ = {"return": returns_of(begun)}
        return go_on

    def evaluate(self, state: Any) -> Evaluation:
        """The task's verdict and that of the added rules, as one."""
        own = self.given.evaluate(state)
        if self.aim == Aim() and not self.sent_back:
            return own
        found: dict[str, Finding | bool] = {
            rule.id: rule.id not in own.failed for rule in self.given.criteria.active(own.phase)
        }
        found |= {one.rule.id: self.found(one, self.given.render(state)) for one in self.added}
        found |= {rule: not self.same(state) for rule in self.revised}
        return self.criteria.evaluate(found, own.phase)

    @property
    def revised(self) -> list[str]:
        """The rule that the result sent back has to change, while there is one."""
        return [rule.id for rule in self.criteria.rules if rule.id.endswith(f".{REVISED}")] if self.sent_back else []

    def same(self, state: Any) -> bool:
        return self.given.render(state) == self.previous

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
        failed |= {rule: self.sent_back[:400] for rule in self.revised if self.same(state)}
        return {**(dict(told(state)) if told else {}), **failed}
