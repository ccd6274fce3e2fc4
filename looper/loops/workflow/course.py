"""The execution loop: next task, attempt, diagnosis, and the final verification (document 001, Phases 3 and 4)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from looper.errors import BudgetExceeded, Paused, PhaseError
from looper.loops.workflow.answers import Clarified, Diagnosis, Planned, TaskPlan
from looper.loops.workflow.attempt import Done, Trying
from looper.loops.workflow.diagnosis import Bounds
from looper.loops.workflow.ground import Ground, Looked, put, resolved
from looper.loops.workflow.marks import Found, Thresholds
from looper.loops.workflow.planning import Occasion, Refused, Why, planned
from looper.loops.workflow.tree import Attempt, Node, Ruling, Tasks
from looper.loops.workflow.verification import against, verdict
from looper.run import Run
from looper.tasks.environment import Task
from looper.types import Outcome

if TYPE_CHECKING:
    from looper.loops.workflow import Workflow


class Course:
    """One run: the tree of tasks, the state of the last finished one, and what was decided."""

    def __init__(self, design: "Workflow", task: Task, run: Run):
        self.design, self.run = design, run
        self.ground, self.tasks = Ground(task), Tasks()
        self.bounds = Bounds(design.max_replan_depth, design.max_pivots, design.max_attempts, design.min_attempts)
        self.looked: Looked | None = None
        self.head = ""
        """The last commit."""
        self.pivots = self.fouls = self.attempts = self.plans = self.verifications = 0
        self.advice = self.refused = ""
        self.blockers: list[str] = []
        self.planning = Node(id="0", planned=Planned(key="plan", title="the plan itself", criteria=["it is approved"]))
        """What failed plans are diagnosed as."""

    def go(self) -> Outcome:
        task = self.ground.task
        self.looked = self.ground.look(self.run, self.run.do("observe", task.observe, None))
        self.run.consider(task.render(self.looked.state), self.looked.verdict)
        if end := self.plan("goal"):
            return end
        while True:
            node = self.tasks.ready()
            end = self.work(node) if node else self.verify()
            if end:
                return end

    # Planning

    def plan(self, why: Why, parent: Node | None = None, gaps: Sequence[str] = ()) -> Outcome | None:
        """New tasks, below a parent or at the top; an end if no plan can be had."""
        looked = self.known
        while True:
            self.run.phase("planning")
            groups = self.ground.groups(looked)
            if parent:
                _, open_ = self.split(parent)
                groups = [group for group in groups if set(group.checks) & set(open_)] or groups
            occasion = Occasion(
                why, looked, groups, self.tasks.summary(), parent, gaps, self.advice, self.all_answers()
            )  # fmt: skip
            try:
                plan = planned(self.design, self.run, occasion)
            except Refused as refused:
                if end := self.refused_plan(refused):
                    return end
                if parent and self.planning.rulings[-1].verdict == "PIVOT":
                    self.tasks.drop(f"replaced by a fresh plan: {self.advice}"[:300])
                    why, parent = "pivot", None
                continue
            self.advice = ""
            self.add(plan, parent)
            return None

    def split(self, node: Node) -> tuple[list[str], list[str]]:
        """Checks of a task that pass now, and those that do not."""
        found, _ = resolved(node.planned.checks, self.known.checks)
        passed = [name for name, finding in found.items() if finding.passed]
        return passed, [name for name in found if name not in passed]

    def all_answers(self) -> list[dict[str, str]]:
        """Each once: subtasks have those of their parents too."""
        every = [answer for node in (self.planning, *self.tasks.nodes.values()) for answer in node.answers]
        return [answer for number, answer in enumerate(every) if answer not in every[:number]]

    def refused_plan(self, refused: Refused) -> Outcome | None:
        """No plan was approved: a diagnosis, never a silent end (SPEC 3.8)."""
        number = len(self.planning.attempts) + 1
        ended = "rejected" if refused.score < self.design.rejection else "fixes_used"
        self.planning.attempts.append(Attempt(number=number, ended=ended, reason=str(refused)))
        ruling, said = self.diagnosed(self.planning)
        self.advice = ruling.advice or ruling.reason
        if ruling.verdict == "IMPOSSIBLE":
            return self.impossible(ruling, said)
        if ruling.verdict == "CLARIFY":
            self.clarify(self.planning, said)
        elif ruling.verdict == "PIVOT":
            self.pivots += 1
        elif ruling.verdict == "REPLAN":
            self.planning.depth += 1
        return None

    def add(self, plan: TaskPlan, parent: Node | None) -> None:
        self.plans += 1
        self.tasks.add(plan.tasks, parent)
        self.told("planned", parent)

    # Execution

    def work(self, node: Node) -> Outcome | None:
        """One task: done already, or attempted, and what follows from it."""
        self.run.phase("execution")
        if self.met(node):
            node.note = "its checks pass already"
            self.finish(node, self.known)
            return None
        self.tasks.move(node, "in_progress")
        self.told("attempt", node)
        done = Trying(self.design, self.run, self.ground, node, self.known, self.fouls).go()
        self.attempts += 1
        self.fouls += sum(any(one["foul"] for one in cycle.violations) for cycle in done.attempt.cycles)
        node.attempts.append(done.attempt)
        if done.attempt.ended == "approved":
            self.finish(node, done.looked)
            return None
        return self.failed(node, done)

    def met(self, node: Node) -> bool:
        passed, open_ = self.split(node)
        _, gone = resolved(node.planned.checks, self.known.checks)
        return bool(passed) and not open_ and not gone and not node.attempts

    def finish(self, node: Node, looked: Looked) -> None:
        """The workspace's commit of a finished task names it (SPEC 3.7)."""
        changed = self.ground.files(looked.state) != self.ground.files(self.known.state) or looked is not self.known
        if changed:
            self.head = self.ground.commit(self.run, looked.state, f"{node.id} {node.title}", self.head)
            node.commit = self.head
        self.looked = looked
        self.tasks.move(node, "completed")
        self.told("completed", node)

    def failed(self, node: Node, done: Done) -> Outcome | None:
        """Rolled back, diagnosed, and what the diagnosis says (document 001, Supervisor Diagnosis)."""
        self.tasks.move(node, "failed")
        self.looked = self.ground.back(self.known, done.looked)
        self.told("rolled_back" if self.ground.rolls_back else "failed", node)
        if done.level == "abort":
            detail = (
                f"task {node.id}: {', '.join(self.foul_names())}: {self.fouls} attempts to get past the rules; stopped."
            )
            return self.run.outcome("failed", "rejected", detail=detail, **self.facts())
        ruling, said = self.diagnosed(node)
        return self.follow(node, ruling, said)

    def foul_names(self) -> list[str]:
        """Every way in which somebody tried to get past the rules."""
        cycles = [cycle for node in self.tasks.nodes.values() for one in node.attempts for cycle in one.cycles]
        return sorted({one["name"] for cycle in cycles for one in cycle.violations if one["foul"]})

    def diagnosed(self, node: Node) -> tuple[Ruling, Diagnosis]:
        """The supervisor's verdict on a failed task and what code makes of it, both on record (SPEC 3.4)."""
        self.run.phase("diagnosis")
        parent = self.tasks.nodes.get(node.parent)
        said = put(
                self.run, "supervisor", Diagnosis, "diagnose", planned=node.planned, id=node.id,
            parent=parent.planned if parent else None, attempts=[one.model_dump() for one in node.attempts],
            counts=self.tasks.counts(), depth=node.depth, pivots=self.pivots, answers=node.answers,
            rulings=[one.model_dump() for one in node.rulings],
        )  # fmt: skip
        asked = sum(one.verdict == "CLARIFY" for one in node.rulings)
        ruling = self.bounds.ruling(
            said, attempts=len(node.attempts), depth=node.depth, pivots=self.pivots, asked=asked
        )  # fmt: skip
        node.rulings.append(ruling)
        self.run.note("diagnosed", task=node.id, title=node.title, **ruling.model_dump())
        return ruling, said

    def follow(self, node: Node, ruling: Ruling, said: Diagnosis) -> Outcome | None:
        self.advice = (ruling.advice or ruling.reason) if ruling.verdict in ("REPLAN", "PIVOT") else ""
        if ruling.verdict == "IMPOSSIBLE":
            return self.impossible(ruling, said)
        if ruling.verdict == "PIVOT":
            self.pivots += 1
            self.tasks.drop(f"replaced by a fresh plan: {ruling.reason}"[:300])
            return self.plan("pivot")
        if ruling.verdict == "REPLAN":
            self.tasks.move(node, "blocked")
            return self.plan("replan", node)
        if ruling.verdict == "CLARIFY":
            self.clarify(node, said)
        self.tasks.move(node, "pending")
        self.told("again", node)
        return None

    def clarify(self, node: Node, said: Diagnosis) -> None:
        """A person is asked; the answer is in the next prompts of the task (SPEC 3.4)."""
        self.told("clarify", node)
        try:
            word = self.asked(node, said)
        except Paused as end:
            if end.reason == "questions":
                end.reason = "clarify"
            end.facts.update(question=said.question, choices=list(said.choices), refused=self.refused)
            raise
        chosen = picked(word.text, said.choices)
        node.answers.append({"question": said.question, "answer": chosen})

    def asked(self, node: Node, said: Diagnosis) -> Clarified:
        """The person's word; a number that is none of the choices is asked about again."""
        self.refused = ""
        while True:
            word = self.run.ask(
                "user", Clarified, step="clarify", task=node.title, question=said.question, choices=said.choices,
                reason=said.reason, refused=self.refused,
            )  # fmt: skip
            if not said.choices or not word.text.isdecimal() or 1 <= int(word.text) <= len(said.choices):
                return word
            self.refused = f"{word.text} is none of the choices; give a number from 1 to {len(said.choices)}, or words."

    def impossible(self, ruling: Ruling, said: Diagnosis) -> Outcome:
        self.blockers = said.blockers or [ruling.reason]
        self.told("impossible", None)
        detail = f"impossible: {ruling.reason} Blockers: {'; '.join(self.blockers)}"
        return self.run.outcome("failed", "impossible", detail=detail, **self.facts())

    # Verification

    def verify(self) -> Outcome | None:
        """The goal, on evidence: the whole suite run by code; the supervisor can only find more gaps (SPEC 3.6)."""
        looked, score, gaps = self.verified()
        if score >= self.design.approval:
            self.run.consider(self.ground.task.render(looked.state), looked.verdict, final=True)
            return self.run.outcome("completed", "verified", **self.facts())
        if self.verifications >= self.design.max_verifications or not self.run.affords("tasks", "verify"):
            detail = f"the goal was not verified: {'; '.join(gaps)}"
            return self.run.outcome("failed", "rejected", detail=detail, **self.facts())
        self.run.keep("verify", "supervisor")
        return self.plan("gaps", gaps=gaps)

    def verified(self) -> tuple[Looked, int, list[str]]:
        """What is verified, its score, and the gaps."""
        self.run.phase("verification")
        self.verifications += 1
        turn = self.run.scope("iteration")
        looked = self.ground.look(turn, self.ground.fresh(self.known.state))
        self.looked = looked
        found = against(self.tasks, looked)
        word = verdict(turn, self.ground, self.tasks, looked, found, self.all_answers())
        score = min(word.score, Thresholds(approve=self.design.approval).cap if found else 100)
        gaps = [*(f"{one.name}: {one.text}" for one in found), *word.gaps]
        if score < self.design.approval and not gaps:
            gaps = [word.reason or "the supervisor does not approve"]
        turn.note("verified", score=score, said=word.score, gaps=gaps, gate=looked.verdict.passed)
        return looked, score, gaps

    def wrapped_up(self, end: BudgetExceeded) -> Outcome:
        """The budget is used up: what was kept pays for a last verification, on what evidence there is (SPEC 0.5)."""
        facts: dict[str, Any] = {"detail": str(end)}
        if self.run.ledger.budget.on_limit == "wrap_up" and self.looked is not None:
            found = [*against(self.tasks, self.looked), Found(name="ended_early", text=str(end))]
            facts["gaps"] = [f"{one.name}: {one.text}" for one in found]
            try:
                facts["gaps"] += verdict(self.run, self.ground, self.tasks, self.looked, found, self.all_answers()).gaps
            except BudgetExceeded as short:  # more than was kept: the end has its name and its facts all the same
                facts["detail"] = f"{end} {short}"
        return self.run.outcome("stopped", end.reason, **facts, **self.facts())

    # Records

    @property
    def known(self) -> Looked:
        """The state of the last finished task."""
        if self.looked is None:
            raise PhaseError("the workflow has not looked at its task yet.")
        return self.looked

    def told(self, what: str, node: Node | None) -> None:
        """The tree as it stands, for run.json, the console and MLflow."""
        self.run.note("tasks_updated", what=what, task=node.id if node else "", tasks=self.tasks.summary())

    def facts(self) -> dict[str, Any]:
        """What a comparison needs, however the run ends."""
        return {
            "tasks": self.tasks.summary(), "attempts": self.attempts, "plans": self.plans, "pivots": self.pivots,
            "verifications": self.verifications, "fouls": self.fouls, "blockers": self.blockers, "commit": self.head,
        }  # fmt: skip


def picked(text: str, choices: Sequence[str]) -> str:
    """The choice that a person named by its number or its words; else their own words."""
    text = text.strip()
    if text.isdecimal() and 1 <= int(text) <= len(choices):
        return choices[int(text) - 1]
    return next((choice for choice in choices if choice.strip().lower() == text.lower()), text)
