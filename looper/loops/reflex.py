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
from looper.errors import BudgetExceeded, Interruption, PhaseError
from looper.loops.ablation import NoCritique, Spared
from looper.loops.confirm import confirm, note, propose
from looper.loops.look import look, steps
from looper.loops.prepare import prepare
from looper.loops.progress import Progress
from looper.run import Run
from looper.tasks.contracts import Critique, by_rules, with_regressions, written
from looper.tasks.environment import Task
from looper.types import STRICT, Outcome

MET = ("threshold_reached", "no_major_issues")
"""Reasons of a run that is completed; they come before every other one (SPEC 2.4)."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Reflex(Spared):
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
        "assessor": "writes the criteria of a task that has none",
        "owner": "confirms the criteria before the first iteration",
        "planner": "plans each iteration in 3 to 5 steps",
        "producer": "writes the first artifact",
        "preparer": "turns rules in words into checks",
        "critic": "turns failed rules into exact instructions",
        "refiner": "changes the artifact where the critique says so",
    }
    steps: ClassVar[dict[str, tuple[str, ...]]] = {
        "assessor": ("criteria",), "owner": ("confirm",), "planner": ("plan",), "producer": ("produce",),
        "preparer": ("prepare_checks",), "critic": ("critique",), "refiner": ("act",),
    }  # fmt: skip
    """What each role is asked, for the announcement of who will answer."""
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
        self.written = written(task)
        self.phases = [phase.name for phase in task.criteria.phases]
        self.phase = self.phases[0]
        self.limit = design.max_iterations
        self.progress = Progress(task.criteria, design.min_gain, design.stagnant, design.blocked)
        self.state: Any = None
        self.signals: list[Any] = []
        self.history: list[dict[str, Any]] = []

    def go(self) -> Outcome:
        proposed = propose(self.task, self.run)
        if self.design.confirmation:
            self.limit = confirm(self.task, self.run, self.limit)
        elif proposed:
            note(self.task, self.run, self.limit)
        self.progress.criteria = self.task.criteria
        self.run.keep("iteration_advanced")  # it costs nothing: an iteration is told also when the time is up
        for number in range(1, self.limit + 1):
            if stop := self.iteration(self.run.scope("iteration"), number):
                return self.end(stop)
        raise AssertionError("the last iteration ends the run")

    def iteration(self, turn: Run, number: int) -> str | None:
        """One cycle; why the run ends after it, or None."""
        self.run.phase(self.phase)
        plan = self.plan(turn, number)
        if self.state is None:
            self.begin(turn, plan)
        verdict, stop = self.evaluate(turn)
        if stop in MET:
            self.run.stage.check = lambda: None  # whoever asks now for a stop comes too late: the gate is met
        if stop is None and number == self.limit:
            stop = "iteration_limit"
        stop = stop or self.unaffordable(turn)
        critique = None if stop else self.improve(turn, verdict)
        self.advance(turn, number, plan, verdict, critique)
        return stop

    # The six phases

    def plan(self, turn: Run, number: int) -> Any:
        """PLAN, given the failures of the last evaluation."""
        return turn.ask(
            "planner", self.task.answer("plan"), step="plan", **turn.brief, failures=self.progress.failures(),
            regressions=self.progress.regressions, iteration=number,
        )  # fmt: skip

    def begin(self, turn: Run, plan: Any) -> None:
        """PRODUCE beside PREPARE: both depend on the plan only."""
        self.state, prepared = turn.parallel(produce=lambda branch: self.produce(branch, plan), prepare=self.prepare)
        self.enter(turn, prepared)
        turn.note("artifact_created", text=self.task.render(self.state))

    def produce(self, turn: Run, plan: Any) -> Any:
        if self.written is None:
            return turn.do("observe", self.task.observe, plan)
        draft: Any = turn.ask("producer", self.task.answer("produce"), step="produce", **turn.brief, plan=plan)
        return turn.do("observe", self.task.observe, draft)

    def prepare(self, turn: Run) -> Any:
        """PREPARE: checks for the rules of the phase that have none."""
        if self.written is not None:
            return prepare(self.task, self.written, turn, self.phase)
        turn.note("checks_prepared", phase=self.phase, checks=[])
        return None

    def enter(self, turn: Run, prepared: Any) -> None:
        """The state with the rules of the phase, and the checks that were prepared for them."""
        if self.written is not None:
            self.state = self.written.enter(self.state, self.phase)
            if prepared is not None:
                self.state = turn.do("equip", self.written.equip, self.state, prepared)

    def evaluate(self, turn: Run) -> tuple[Evaluation, str | None]:
        """EVALUATE, and again with the rules of the next phase when this one is passed; why to stop, if at all."""
        while True:
            self.state, self.signals = look(self.task, turn, self.state)
            verdict = turn.do("gate", self.task.evaluate, self.state)
            last = self.phase == self.phases[-1]
            self.consider(verdict, last)
            stop = self.progress.take(self.phase, verdict, self.notes(), last=last)
            if not verdict.passed or last:
                return verdict, stop
            self.switch(turn)

    def consider(self, verdict: Evaluation, last: bool) -> None:
        """Best so far: a later phase outranks an earlier one, and the gate is met in the last one only (SPEC 0.3)."""
        best = self.run.best
        if best and best.evaluation.phase != verdict.phase:
            self.run.stage.best = None
        met = verdict.passed and last
        self.run.consider(self.task.render(self.state), verdict.model_copy(update={"passed": met}))

    def notes(self) -> dict[str, str]:
        """What the checks said of each rule, where the task tells."""
        told = getattr(self.task, "notes", None)
        return dict(told(self.state)) if told else {}

    def switch(self, turn: Run) -> None:
        """The next phase on the same artifact (SPEC 2.2)."""
        before, self.phase = self.phase, self.phases[self.phases.index(self.phase) + 1]
        turn.note("phase_switched", before=before, phase=self.phase)
        self.run.phase(self.phase)
        self.enter(turn, self.prepare(turn))

    def unaffordable(self, turn: Run) -> str | None:
        """Why there can be no REFINE, because nobody could pay to evaluate it (SPEC 2.1)."""
        asked = {"act": "refiner", "plan": "planner"} | ({"critique": "critic"} if self.written else {})
        agents = {step: self.run.stage.cast.agent(role, step, self.task) for step, role in asked.items()}
        paid = [step for step, agent in agents.items() if _filler(agent) != "policy"]
        if turn.affords(*paid, *steps(self.task, self.state)):
            return None
        return "budget_exhausted" if turn.affords() else "time_limit"

    def improve(self, turn: Run, verdict: Evaluation) -> Critique:
        """CRITIQUE of the failed rules, and REFINE of what it names."""
        critique = self.criticise(turn, verdict)
        told = critique if critique.issues else None
        before = self.state
        change: Any = turn.ask(
            "refiner", self.task.answer("act"), step="act", **turn.brief, state=self.state, signals=self.signals,
            history=list(self.history), critique=told,
        )  # fmt: skip
        if not getattr(change, "done", False):
            self.state = turn.do("apply", self.task.apply, before, change, quantity=self.task.quantity(change))
        found = self.written.changes(before, self.state, critique) if self.written else None
        more = found.model_dump() if found else {}
        if found and not told:
            more["unnamed"] = []  # nobody named anything
        turn.note("refinement_done", text=self.task.render(self.state), **more)
        return critique

    def criticise(self, turn: Run, verdict: Evaluation) -> Critique:
        """Issues of failed rules, regressions among them; without a critic's seat in this task, by the rules alone."""
        notes, regressions = self.notes(), self.progress.regressions
        if self.written is None:
            critique = by_rules(evaluation=verdict, notes=notes, regressions=regressions)
            turn.note("critique_done", **critique.model_dump(mode="json"))
            return critique
        said = self.asked(turn, verdict, notes)
        if self.critic in (
            "left out",
            "shuffled",
        ):  # what code knows must not stand in for what the critic was kept from saying
            return said
        critique = with_regressions(said, regressions, notes)
        if critique != said:
            turn.note("critique_done", **critique.model_dump(mode="json"))
        return critique

    @property
    def critic(self) -> str:
        """How the critic is ablated: `left out`, `shuffled`, `oracle`, or not at all."""
        return str(getattr(self.run.stage.cast.agent("critic", "critique", self.task), "ablated", ""))

    def asked(self, turn: Run, verdict: Evaluation, notes: dict[str, str]) -> Critique:
        """The critic's answer, sent back once if it names a rule that did not fail; a shuffled one names any."""
        refused = ""
        kind = NoCritique if self.critic == "left out" else Critique
        for _attempt in range(2):
            critique = turn.ask(
                "critic", kind, step="critique", **turn.brief, state=self.state, evaluation=verdict, notes=notes,
                regressions=self.progress.regressions, refused=refused,
            )  # fmt: skip
            strange = [issue.rule for issue in critique.issues if issue.rule not in verdict.failed]
            if not strange or self.critic == "shuffled":
                return critique
            refused = f"{', '.join(strange)}: these rules did not fail, or do not exist"
        raise PhaseError(f"critic: {refused}, twice.")

    def advance(self, turn: Run, number: int, plan: Any, verdict: Evaluation, critique: Critique | None) -> None:
        """The iteration as histories and people read it; `critique` is what was done about this evaluation."""
        passed = f"{verdict.passed_rules} of {verdict.total_rules} rules pass"
        done = " / ".join(f"{issue.rule}: {issue.fix}" for issue in critique.issues) if critique else ""
        entry = {
            "step": number, "phase": self.phase, "plan": str(plan)[:200], "score": verdict.score, "rules": passed,
            "action": done[:500], "result": self.task.describe(self.state)[:500] if critique else passed,
            "stagnation_count": self.progress.stagnant, "blocked": self.progress.blocked,
            "regressions": self.progress.regressions,
        }  # fmt: skip
        self.history.append(turn.note("iteration_advanced", **entry))

    def end(self, stop: str) -> Outcome:
        return self.run.outcome("completed" if stop in MET else "stopped", stop, **self.facts())

    def facts(self) -> dict[str, Any]:
        """What a comparison needs, however the run ends."""
        return {
            "iterations": len(self.history), "phase": self.phase, "blocked": self.progress.blocked,
            "stagnation_count": self.progress.stagnant, "log": self.history,
        }  # fmt: skip


def _filler(agent: Any) -> str:
    """The kind of who fills a role, also behind shuffled answers."""
    return getattr(agent, "behind", "") or getattr(agent, "kind", "model")
