"""Reflex: quality-gated generation (document 003).

confirm --> PLAN --> PRODUCE || PREPARE --> EVALUATE --failed--> CRITIQUE --> REFINE --+
             ^                                 | passed A: phase B, PREPARE, EVALUATE  |
             |                                 | passed B, or a stop --> end           |
             +-------------------------------- next iteration -------------------------+
"""

from typing import Annotated, Any, ClassVar

from pydantic import Field, PositiveInt
from pydantic.dataclasses import dataclass

from looper.criteria import Evaluation
from looper.errors import BudgetExceeded, Interruption, PhaseError, StopRequested
from looper.loops.look import look
from looper.loops.progress import Progress
from looper.run import Run
from looper.tasks.contracts import Confirmation, Critique, Written, by_rules
from looper.tasks.environment import Task
from looper.types import STRICT, Outcome


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Reflex:
    """Six phases, an artifact, rules in two phases."""

    max_iterations: PositiveInt = 4
    """Cycles at most (document 003)."""
    min_gain: Annotated[float, Field(ge=0, le=1)] = 0.02
    """Gain of the score below which an iteration counts as stagnant (document 003)."""
    stagnant: PositiveInt = 2
    """Stagnant evaluations in a row, without blockers, that end the run (document 003)."""
    blocked: PositiveInt = 3
    """The same with the same blockers (SPEC 2.4)."""
    confirmation: bool = True
    """Whether criteria, thresholds and iteration limit must be confirmed before anything is spent (SPEC 2.9)."""
    name: ClassVar[str] = "reflex"
    roles: ClassVar[dict[str, str]] = {
        "owner": "confirms the criteria before the first iteration",
        "planner": "plans each iteration in 3 to 5 steps",
        "producer": "writes the first artifact",
        "preparer": "turns rules in words into checks",
        "critic": "turns failed rules into exact instructions",
        "refiner": "changes the artifact where the critique says so",
    }
    events: ClassVar[dict[str, str]] = {
        "plan": "plan_created",
        "prepare_checks": "checks_prepared",
        "gate": "evaluation_done",
        "critique": "critique_done",
    }

    def run(self, task: Task, run: Run) -> Outcome:
        cycle = Cycle(self, task, run)
        try:
            return cycle.go()
        except BudgetExceeded as end:
            if run.ledger.budget.on_limit == "ask":
                end.facts.update(cycle.facts())
                raise
            return run.outcome("stopped", end.reason, detail=str(end), **cycle.facts())
        except Interruption as end:
            end.facts.update(cycle.facts())
            raise


class Cycle:
    """One run: the artifact's state, the phase of the gate, the iterations."""

    def __init__(self, design: Reflex, task: Task, run: Run):
        self.design, self.task, self.run = design, task, run
        self.written = task if isinstance(task, Written) else None
        self.phases = [phase.name for phase in task.criteria.phases]
        self.phase = self.phases[0]
        self.limit = design.max_iterations
        self.progress = Progress(task.criteria, design.min_gain, design.stagnant, design.blocked)
        self.state: Any = None
        self.signals: list[Any] = []
        self.prepared: dict[str, Any] = {}
        self.critique: Critique | None = None
        self.history: list[dict[str, Any]] = []

    def go(self) -> Outcome:
        if self.design.confirmation:
            self.confirm()
        for number in range(1, self.limit + 1):
            turn = self.run.scope("iteration")
            self.run.phase(self.phase)
            plan = self.plan(turn)
            if self.state is None:
                self.begin(turn, plan)
            verdict, stop = self.evaluate(turn)
            if stop is None and number == self.limit:
                stop = "iteration_limit"
            if stop is None:
                self.improve(turn, verdict)
            self.advance(turn, number, plan, verdict)
            if stop is not None:
                return self.end(stop)
        raise AssertionError("the last iteration ends the run")

    def confirm(self) -> None:
        """The setup, confirmed or edited by whoever owns the task (SPEC 2.9)."""
        criteria = self.task.criteria
        word = self.run.ask(
            "owner", Confirmation, step="confirm", rules=[rule.model_dump() for rule in criteria.rules],
            thresholds={phase.name: phase.threshold for phase in criteria.phases}, max_iterations=self.limit,
        )  # fmt: skip
        if word.decision == "no":
            raise StopRequested("the setup was not confirmed.")
        self.limit = word.max_iterations or self.limit
        amend = getattr(self.task, "amend", None)
        if word.decision == "edit" and (word.thresholds or word.leave_out):
            if amend is None:
                raise PhaseError("the rules of this task cannot be edited; confirm them with yes, or stop.")
            amend(word)
            self.progress.criteria = self.task.criteria

    # The six phases

    def plan(self, turn: Run) -> Any:
        """PLAN, given the failures of the last evaluation."""
        failures = self.progress.failures(self.state, self.task)
        return turn.ask(
            "planner", self.task.answer("plan"), step="plan", **turn.brief, failures=failures,
            critique=self.critique, iteration=len(self.history) + 1,
        )  # fmt: skip

    def begin(self, turn: Run, plan: Any) -> None:
        """PRODUCE beside PREPARE: both depend on the plan only."""
        self.state, _ = turn.parallel(
            produce=lambda branch: self.produce(branch, plan), prepare=lambda branch: self.prepare(branch)
        )
        self.enter(self.phase)
        turn.note("artifact_created", text=self.task.render(self.state))

    def produce(self, turn: Run, plan: Any) -> Any:
        if self.written is None:
            return turn.do("observe", self.task.observe, plan)
        draft: Any = turn.ask("producer", self.task.answer("produce"), step="produce", **turn.brief, plan=plan)
        return turn.do("observe", self.task.observe, draft)

    def prepare(self, turn: Run) -> None:
        """PREPARE: checks for the active rules that have none; vacuous ones are sent back once (SPEC 2.6)."""
        rules = list(self.written.unprepared(self.phase)) if self.written else []
        if not rules or self.written is None:
            turn.note("checks_prepared", phase=self.phase, rules=[], vacuous=[])
            return
        kind, vacuous = self.task.answer("prepare_checks"), list[str]()
        prepared: Any = None
        for _attempt in range(2):
            prepared = turn.ask(
                "preparer", kind, step="prepare_checks", **turn.brief, rules=rules, vacuous=vacuous, refused=prepared
            )
            vacuous = turn.do("vacuous", self.written.vacuous, prepared)
            if not vacuous:
                break
        self.prepared[self.phase] = prepared
        if vacuous:
            turn.note("checks_replaced", phase=self.phase, rules=vacuous, by="judge")

    def enter(self, phase: str) -> None:
        """The state with the rules and the checks of a phase."""
        if self.written is not None:
            self.state = self.written.enter(self.state, phase)
            for prepared in self.prepared.values():
                self.state = self.written.equip(self.state, prepared)

    def evaluate(self, turn: Run) -> tuple[Evaluation, str | None]:
        """EVALUATE, and again with the rules of the next phase when this one is passed; why to stop, if at all."""
        while True:
            self.state, self.signals = look(self.task, turn, self.state)
            verdict = turn.do("gate", self.task.evaluate, self.state)
            self.run.consider(self.task.render(self.state), verdict)
            last = self.phase == self.phases[-1]
            stop = self.progress.take(self.phase, verdict, last=last)
            if not verdict.passed or last:
                return verdict, stop
            self.switch(turn)

    def switch(self, turn: Run) -> None:
        """The next phase on the same artifact (SPEC 2.2)."""
        before, self.phase = self.phase, self.phases[self.phases.index(self.phase) + 1]
        turn.note("phase_switched", before=before, phase=self.phase)
        self.run.phase(self.phase)
        self.prepare(turn)
        self.enter(self.phase)

    def improve(self, turn: Run, verdict: Evaluation) -> None:
        """CRITIQUE of the failed rules, and REFINE of what it names."""
        notes = self.progress.notes(self.state, self.task)
        self.critique = self.criticise(turn, verdict, notes)
        before = self.state
        change: Any = turn.ask(
            "refiner", self.task.answer("act"), step="act", **turn.brief, state=self.state, signals=self.signals,
            history=self.history, critique=self.critique,
        )  # fmt: skip
        if not getattr(change, "done", False):
            self.state = turn.do("apply", self.task.apply, before, change, quantity=self.task.quantity(change))
        found = self.written.changes(before, self.state, self.critique) if self.written else None
        more = found.model_dump() if found else {}
        turn.note("refinement_done", text=self.task.render(self.state), **more)

    def criticise(self, turn: Run, verdict: Evaluation, notes: dict[str, str]) -> Critique:
        """The critic's issues, each of a rule that failed; without a critic's seat in this task, by the rules alone."""
        context = {"evaluation": verdict, "notes": notes, "regressions": self.progress.regressions}
        if self.written is None:
            critique = by_rules(**context)
            turn.note("critique_done", **critique.model_dump(mode="json"))
            return critique
        refused = ""
        for _attempt in range(2):
            critique = turn.ask(
                "critic", Critique, step="critique", **turn.brief, state=self.state, **context, refused=refused
            )
            strange = [issue.rule for issue in critique.issues if issue.rule not in verdict.failed]
            if not strange:
                return critique
            refused = f"{', '.join(strange)}: these rules did not fail, or do not exist"
        raise PhaseError(f"critic: {refused}, twice.")

    def advance(self, turn: Run, number: int, plan: Any, verdict: Evaluation) -> None:
        entry = {
            "step": number, "phase": self.phase, "plan": str(plan)[:200], "score": verdict.score,
            "action": str(self.critique.issues[0].fix if self.critique else "")[:500],
            "result": f"{verdict.passed_rules} of {verdict.total_rules} rules pass",
            "stagnation_count": self.progress.stagnant, "blocked": self.progress.blocked,
            "regressions": self.progress.regressions,
        }  # fmt: skip
        self.history.append(turn.note("iteration_advanced", **entry))

    def end(self, stop: str) -> Outcome:
        status = "completed" if stop in ("threshold_reached", "no_major_issues") else "stopped"
        return self.run.outcome(status, stop, **self.facts())

    def facts(self) -> dict[str, Any]:
        """What a comparison needs, however the run ends."""
        return {"iterations": len(self.history), "phase": self.phase, "log": self.history}
