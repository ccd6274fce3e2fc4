"""One run of the outer loop: its phases in order, what each came to, and the decision after a verification."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from looper.budget import Amounts, total
from looper.episodes import Appended, Episode
from looper.errors import BudgetExceeded, Paused
from looper.loops.confirm import confirm, note
from looper.loops.gather_verify.aimed import Aimed
from looper.loops.gather_verify.answers import Criterion, IdealState
from looper.loops.gather_verify.deciding import decide, empty_handed, escalate
from looper.loops.gather_verify.examining import Tried, examined, settled
from looper.loops.gather_verify.gathering import Gathered, gather, unused
from looper.loops.gather_verify.interviewing import Interviewed, interview
from looper.loops.gather_verify.layers import Evidence
from looper.loops.gather_verify.machine import Machine, Phase
from looper.loops.gather_verify.rules import aim, proposal
from looper.loops.gather_verify.telling import episode, facts, told
from looper.loops.gather_verify.verification import Examined, now
from looper.loops.look import decides, step
from looper.run import Run
from looper.stage import Best, rounds_of
from looper.tasks.environment import AskedProbe, Task
from looper.types import Outcome

if TYPE_CHECKING:
    from looper.loops.gather_verify import GatherVerify


TOLD = "outer_updated"
"""Event that tells where the outer loop stands."""
ROUND = (Phase.INNER_LOOP, Phase.VERIFY)
"""Phases that come again after gaps."""
CLOSE = "verification"
"""Name under which the ledger keeps what VERIFY costs beside its reader."""


@dataclass
class Course:
    """The state of one run."""

    design: "GatherVerify"
    given: Task
    run: Run
    gathered: Gathered | None = None
    interviewed: Interviewed | None = None
    tries: list[Tried] = field(default_factory=list)
    inner: list[Outcome] = field(default_factory=list)
    decisions: list[dict[str, Any]] = field(default_factory=list)
    ended: tuple[str, str] | None = None
    """Status and reason where it ends without being verified."""
    taken: Tried | None = None
    """What the user was shown and has accepted as it is."""

    def __post_init__(self) -> None:
        self.tells = 0
        self.machine = Machine(self.design.max_loops)
        self.aimed = Aimed(self.given, self.design.bench)
        self.run.stage.task = self.aimed
        self.check: Callable[[], None] = self.run.stage.check
        self.loop: Any = self.design.inner

    @property
    def ideal(self) -> IdealState:
        return self.interviewed.ideal if self.interviewed else IdealState()

    def named(self, criterion: Criterion) -> str:
        """What gate, judge and user call a criterion alike: the id of its rule where the gate has one."""
        return self.aimed.aim.rule_of(criterion) or criterion.id

    @property
    def task(self) -> Any:
        """The task as the ideal state wants it."""
        return self.aimed

    @property
    def rounds(self) -> int:
        """What the inner design may do at most in one round of this loop, whatever it counts."""
        return rounds_of(self.loop) or self.design.max_loops + 1

    def go(self) -> Outcome:
        self.keep()
        self.enter(Phase.GATHER)
        self.gathered = gather(self.design, self.aimed, self.run.scope("gather"))
        self.leave(Phase.GATHER)
        self.enter(Phase.INTERVIEW)
        self.interview(self.run.scope("interview"))
        self.leave(Phase.INTERVIEW)
        while True:
            self.enter(Phase.INNER_LOOP)
            self.work()
            self.leave(Phase.INNER_LOOP)
            self.enter(Phase.VERIFY)
            again = self.verify(self.run.scope("verify"))
            self.leave(Phase.VERIFY)
            if not again:
                return self.close()

    def keep(self) -> None:
        """Set aside what VERIFY will cost, its reader and what measures the gate. Raises BudgetExceeded."""
        budget, cast = self.run.ledger.budget, self.run.stage.cast
        bills = list[Amounts]()
        for probe in (one for one in self.aimed.probes() if decides(one)):
            agent = cast.agent(probe.role, probe.step, self.aimed) if isinstance(probe, AskedProbe) else None
            bills.append(budget.price(step(probe), by_policy=getattr(agent, "kind", "model") == "policy"))
        if getattr(cast.agent("verifier", "assess", self.aimed), "kind", "model") == "policy":
            bills.append(budget.price("assess", by_policy=True))
        else:
            self.run.keep("assess", "verifier")
        self.run.ledger.keep(CLOSE, total(bills))

    def release(self) -> None:
        """Give up what was set aside for VERIFY."""
        for name in (CLOSE, "assess"):
            self.run.ledger.release(name)

    # Phases

    def enter(self, phase: Phase) -> None:
        """The next phase; an illegal one raises."""
        self.machine.to(phase)
        self.run.phase(phase.value)
        self.run.stage.closing = phase in (Phase.VERIFY, Phase.LEARN, Phase.COMPLETED)
        self.tell()

    def leave(self, phase: Phase) -> None:
        """The end of a phase. Raises Paused where the user wanted to stop here."""
        self.tell()
        if self.design.until == phase.value.lower() and not self.paused_here():
            done = f"{phase.value} is done, as until={self.design.until} asked; go on with: looper resume RUN"
            raise Paused(f"{done} (or resume RUN until=...).", "until")

    def paused_here(self) -> bool:
        """Whether the run has paused at the end of this round before: until=... then means that of a later one."""
        journal = self.run.stage.journal
        marks = [number for number, event in enumerate(journal.events) if event.event == TOLD]
        later = journal.events[marks[self.tells - 1] + 1 :] if self.machine.phase in ROUND else []
        return any(event.event == "paused" and journal.payload(event)["reason"] == "until" for event in later)

    def tell(self) -> None:
        """Where the outer loop stands, for run.json and for people."""
        self.tells += 1
        self.run.note(TOLD, **told(self))

    def interview(self, turn: Run) -> None:
        """INTERVIEW, and the rule set that comes of it, confirmed."""
        adopt = getattr(self.given, "adopt", None)
        if adopt is not None:
            adopt(None)  # as configured, whatever an earlier run of this process was told
        assert self.gathered is not None
        self.interviewed = interview(self.design, self.aimed, turn, self.gathered)
        if self.design.answers:
            known = [one.id for one in (*self.gathered.answers, *self.interviewed.answers)]
            left = turn.do("unused_answers", unused, self.design.answers, known)
            self.interviewed = self.interviewed.model_copy(update={"unused": left})
        if adopt is not None and not self.given.criteria.rules:
            ideal, proposed, checks = proposal(self.ideal)
            adopt(proposed, checks)
            turn.stage.brief = dict(turn.do("prepare", self.given.prepare))
            self.interviewed = self.interviewed.model_copy(update={"ideal": ideal})
        self.aimed.aim = aim(self.ideal, self.given.criteria)
        if not self.design.confirmation:
            note(self.task, turn, self.rounds)
            return
        agreed = confirm(self.task, turn, self.rounds)
        self.loop = self.design.confirmed(self.loop, agreed)

    def work(self) -> None:
        """INNER_LOOP: the inner design, with what was gathered and the gaps in every prompt."""
        stage = self.run.stage
        stage.brief = {**{k: v for k, v in stage.brief.items() if k != "outer"}, "outer": self.briefing()}
        self.aimed.previous, self.aimed.sent_back = self.sent_back()
        stage.before, stage.best = stage.iteration, None
        self.inner.append(self.worked())
        stage.check = self.check  # an inner design that met its gate takes no more stops; the outer loop does

    def sent_back(self) -> tuple[str, str]:
        """The result of the round before, and what of it must change although no rule of the gate says so."""
        if not self.tries:
            return "", ""
        rules = {rule.id for rule in self.aimed.criteria.rules}
        gaps = [gap for gap in self.tries[-1].verdict.gaps if gap.severity == "must" and gap.criterion not in rules]
        return self.tries[-1].artifact, "; ".join(f"{gap.criterion}: {gap.problem}" for gap in gaps)

    def worked(self) -> Outcome:
        """What the inner design came to; what it has kept for its own close and not used is free again."""
        ledger, mine = self.run.ledger, set(self.run.ledger.kept)
        try:
            return self.loop.run(self.aimed, self.run.scope("inner"))
        except BudgetExceeded as end:
            if ledger.budget.on_limit == "ask":
                raise
            return self.run.outcome("stopped", end.reason, detail=str(end))
        finally:
            for name in set(ledger.kept) - mine:
                ledger.release(name)

    def briefing(self) -> dict[str, Any]:
        """What inner roles see besides their task."""
        assert self.gathered is not None
        answers = [*self.gathered.answers, *(self.interviewed.answers if self.interviewed else [])]
        last = self.tries[-1] if self.tries else None
        return {
            "objective": self.ideal.objective, "domain": self.gathered.domain, "exits": self.ideal.exits,
            "answers": [one.model_dump(include={"question", "answer", "by"}) for one in answers],
            "wanted": [f"{one.severity}: {one.description}" for one in self.ideal.criteria if not one.verify.rule],
            "never": [one.description for one in self.ideal.anti_criteria],
            "episodes": [one.lesson for one in self.gathered.episodes],
            "gaps": [one.model_dump() for one in last.verdict.gaps] if last else [],
            "previous": last.artifact if last else "", "round": len(self.inner) + 1,
        }  # fmt: skip

    def verify(self, turn: Run) -> bool:
        """VERIFY; whether the inner loop runs again."""
        self.run.ledger.release(CLOSE)
        self.aimed.sent_back = ""
        artifact = self.inner[-1].artifact
        known = [one for one in self.tries if one.artifact == artifact]
        if artifact is not None and not known:
            self.tries.append(examined(self, turn, str(artifact)))
        elif known:
            self.tries.append(self.again(turn, known[-1]))
        if not self.tries:
            return escalate(self, turn, *empty_handed(self))
        return decide(self, turn, stuck=bool(known) or artifact is None)

    def again(self, turn: Run, tried: Tried) -> Tried:
        """The same evidence judged by the rules as they are now."""
        active = self.aimed.criteria.active(tried.evaluation.phase)
        passed = {rule.id: rule.id not in tried.evaluation.failed for rule in active}
        evaluation = self.aimed.criteria.evaluate(passed, tried.evaluation.phase)
        code = Examined(self.aimed, self.ideal, self.design.bench, tried.artifact)
        measured: list[Evidence] = turn.do("metrics", code.metrics, evaluation)
        kept = [one for one in tried.evidence if one.criterion not in {new.criterion for new in measured}]
        return settled(self, turn, tried.artifact, evaluation, [*kept, *measured])

    # The end

    def close(self) -> Outcome:
        """LEARN, and the outcome: the best artifact that was verified (SPEC 0.3)."""
        self.enter(Phase.LEARN)
        outcome = self.outcome()
        if self.design.learn and self.run.stage.episodes is not None:
            self.run.scope("learn").do("learn", self.appended, episode(self, outcome))
        self.leave(Phase.LEARN)
        if outcome.status == "completed":
            self.enter(Phase.COMPLETED)
        return outcome

    def appended(self, about: dict[str, Any]) -> Appended:
        """The episode in the store, with the time; done again after a kill it is still one."""
        return self.run.stage.episodes.append(Episode(at=now(), **about))

    def best(self) -> Tried | None:
        """The one that the user or the verification took, else the best by verdict."""
        if self.taken or not self.tries:
            return self.taken
        order = {"VERIFIED": 2, "GAPS_IDENTIFIED": 1, "CRITICAL_FAILURE": 0}
        return max(self.tries, key=lambda one: (order[one.verdict.outcome], one.verdict.score, one.evaluation.score))

    def hand_over(self) -> None:
        """Of what was verified the best, in place of what the inner loop under way has (SPEC 0.3)."""
        if best := self.best():
            self.run.stage.best = Best(best.artifact, best.evaluation)

    def outcome(self) -> Outcome:
        self.run.stage.best = None
        self.hand_over()
        if self.ended:
            return self.run.outcome(*self.ended, detail=self.decisions[-1]["why"], **facts(self))
        return self.run.outcome("completed", "verified", **facts(self))
