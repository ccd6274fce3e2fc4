"""One attempt at a task: CODER --> TESTER --> FIX LOOP (document 001, Phase 3; SPEC 3.2, 3.3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from looper.loops.workflow.answers import Tested
from looper.loops.workflow.examination import Change, Examination
from looper.loops.workflow.ground import Ground, Looked, put
from looper.loops.workflow.marks import Found, Mark, at_least, escalation
from looper.loops.workflow.tree import Attempt, Cycle, Level, Node
from looper.run import Run

if TYPE_CHECKING:
    from looper.loops.workflow import Workflow

ENDS = {"clarify": "needs_clarification", "done": "gave_up"}
"""How an attempt ends after an answer of the coder that is no change."""


@dataclass
class Done:
    """What an attempt came to."""

    attempt: Attempt
    looked: Looked
    """The state it led to; accepted only if it ended as `approved`."""
    level: Level = "none"


class Trying:
    """One execution of a task, from the state of the last finished one."""

    def __init__(self, design: "Workflow", run: Run, ground: Ground, node: Node, start: Looked, fouls: int):
        self.design, self.run, self.ground, self.node, self.start = design, run, ground, node, start
        self.examination = Examination(design, run, ground, node, start)
        self.looked, self.fouls = start, fouls
        self.cycles: list[Cycle] = []
        self.mark: Mark | None = None
        self.level: Level = node_level(node)

    def go(self) -> Done:
        """Implementation, then fixes while the score says revise and there are cycles left."""
        for number in range(self.design.max_fix_cycles + 1):
            turn = self.run.scope("iteration")
            if ended := self.cycle(turn, number):
                return self.done(*ended)
        return self.done("fixes_used", f"{self.design.max_fix_cycles} fixes did not do")

    def done(self, ended: Any, reason: str) -> Done:
        attempt = Attempt(number=len(self.node.attempts) + 1, cycles=self.cycles, ended=ended, reason=reason)
        return Done(attempt, self.looked, self.level)

    def cycle(self, turn: Run, number: int) -> tuple[str, str] | None:
        """One change and its tests; how and why the attempt ends, None to go on with a fix."""
        change = self.code(turn, number)
        ended = self.ended(change)
        if ended and not any(one.foul for one in change.earlier):
            return ended
        if change.became == "changed":
            word, looked = self.examination.test(turn, change, self.ground.look(turn, change.state))
        else:  # the same files give the same results
            word, looked = Tested(status="failed"), self.looked.model_copy(update={"state": change.state})
        mark = self.examination.judge(turn, change, looked, word)
        foul = any(one.foul for one in mark.violations)
        self.fouls += foul or any(one.foul for one in change.earlier)
        if not foul:  # whoever tampers with the rules is not rewarded with what came of it
            self.run.consider(self.ground.task.render(looked.state), looked.verdict)
        self.record(turn, number, change, mark, word)
        self.looked, self.mark = looked, mark
        if word.status == "blocked":
            return "blocked", word.reason or "the tester cannot run the tests"
        if mark.verdict == "approve":
            return "approved", ""
        if mark.verdict == "reject" or self.level == "abort":
            return "rejected", "; ".join(f"{one.name}: {one.text}" for one in mark.violations)
        return ended

    def ended(self, change: Change) -> tuple[str, str] | None:
        """How the attempt ends with an answer that is no change; nothing to do is believed if the checks pass."""
        wanted = self.examination.wanted(self.looked.checks)
        if (
            change.became == "done"
            and not self.cycles
            and wanted
            and all(finding.passed for finding in wanted.values())
        ):
            return "approved", ""
        return (ENDS[change.became], str(change.answer)) if change.became in ENDS else None

    # Coder

    def code(self, turn: Run, number: int) -> Change:
        """The coder's change; an edit that does not apply, or a wish to see files, is answered and asked again."""
        before = state = self.looked.state
        seen = list[Found]()
        looks = resends = 0
        while True:
            answer: Any = put(
                turn, "coder", self.ground.task.answer(self.ground.step), self.ground.step, **self.asked(state, number)
            )
            after, became = self.applied(turn, state, answer)
            found = self.ground.violations(after) if became != "done" else []
            state = after
            if became == "asked" and looks < self.design.max_looks:
                looks += 1
            elif became == "refused" and resends < self.design.max_resends:
                resends += 1
            else:
                return Change(answer, before, state, became, [*found, *self.idle(became, after)], seen)
            seen += found

    def applied(self, turn: Run, state: Any, answer: Any) -> tuple[Any, str]:
        """The state after the answer, and what became of it."""
        if getattr(answer, "done", False):
            return state, "done"
        task = self.ground.task
        after = turn.do("apply", task.apply, state, answer, quantity=task.quantity(answer))
        return after, self.ground.became(state, after)

    def asked(self, state: Any, number: int) -> dict[str, Any]:
        """All that the coder may see: the task, what was tried, what the tests and reviewers said (SPEC 0.4)."""
        node, planned = self.node, self.node.planned
        words = " ".join([planned.title, planned.description, *planned.criteria])
        looked = self.looked.model_copy(update={"state": state})
        level = self.level if at_least(self.level, "correct") else "none"
        return {
            "state": state, "signals": self.looked.signals,
            "planned": planned, "number": number, "attempts": [one.model_dump() for one in node.attempts],
            "cycles": [one.model_dump() for one in self.cycles], "escalation": level,
            "rulings": [one.model_dump() for one in node.rulings], "answers": node.answers,
            "history": history(node.attempts, self.cycles), "refused": refusal(self.ground, state, self.looked.state),
            **self.ground.desk(looked, words, self.at_hand()),
        }  # fmt: skip

    def at_hand(self) -> list[str]:
        """Names of the checks that this attempt is about: the task's, those that came up in it, and regressions."""
        checks = self.looked.checks
        return [
            *self.examination.wanted(checks),
            *self.examination.own_tests(checks),
            *self.examination.regressions(self.looked),
        ]

    def idle(self, became: str, after: Any) -> list[Found]:
        """An answer that is no change, after all that was sent back."""
        said = str(getattr(after, "last", ""))[:500]
        known = {
            "asked": Found(name="asks_without_end", text=f"files were asked for {self.design.max_looks + 1} times"),
            "refused": Found(name="edit_does_not_apply", text=said),
            "nothing": Found(name="nothing_changed", text="the change leaves everything as it was"),
        }
        foul = any(one.foul for one in self.ground.violations(after))
        return [known[became]] if became in known and not foul else []

    def record(self, turn: Run, number: int, change: Change, mark: Mark, word: Tested) -> None:
        earlier = [*self.node.attempts, Attempt(number=0, cycles=self.cycles, ended="fixes_used")]
        seen = mark.model_copy(update={"violations": [*mark.violations, *change.earlier]})
        names = list(dict.fromkeys(one.name for one in seen.violations))
        self.level = escalation(seen, earlier, self.fouls, self.design.max_fouls)
        cycle = Cycle(
            number=number, approach=str(change.answer)[:500], files=self.ground.files(change.state), score=mark.score,
            failed=mark.failed, regressions=mark.regressions[:20],
            violations=[one.model_dump() for one in seen.violations], problems=mark.remarks, level=self.level,
        )  # fmt: skip
        self.cycles.append(cycle)
        entry = {
            "step": number, "task": self.node.id, "attempt": len(self.node.attempts) + 1, "score": mark.score / 100,
            "action": cycle.approach, "result": outcome_of(mark), "level": self.level, "tester": word.status,
            "violations": names, "regressions": mark.regressions[:20],
        }  # fmt: skip
        turn.note("iteration_advanced", **entry)


def node_level(node: Node) -> Level:
    """The level at which the task's last attempt ended: it is in the next prompt."""
    cycles = [cycle for attempt in node.attempts for cycle in attempt.cycles]
    return cycles[-1].level if cycles else "none"


def refusal(ground: Ground, state: Any, looked: Any) -> str:
    """Why the answer before was not taken, for the prompt; empty if there was none in this cycle."""
    if state is looked or ground.became(looked, state) not in ("refused", "asked", "nothing"):
        return ""
    return str(getattr(state, "last", ""))[:2000]


def history(attempts: Sequence[Attempt], cycles: Sequence[Cycle]) -> list[dict[str, Any]]:
    """All changes of a task so far, for roles and policies that read them as steps."""
    every = [cycle for attempt in attempts for cycle in attempt.cycles] + list(cycles)
    return [
        {"step": number, "action": cycle.approach, "score": cycle.score / 100, "result": f"score {cycle.score}"}
        for number, cycle in enumerate(every, 1)
    ]


def outcome_of(mark: Mark) -> str:
    parts = [f"score {mark.score}: {mark.verdict}"]
    parts += [f"{len(mark.failed)} checks of the task fail"] if mark.failed else []
    parts += [", ".join(one.name for one in mark.violations)] if mark.violations else []
    return "; ".join(parts)
