"""The rounds of a mission: who is asked when, answers applied in a fixed order, and when it ends (SPEC 4)."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, StringConstraints

from looper.criteria import Evaluation
from looper.errors import BudgetExceeded, Paused
from looper.loops.cabal import briefing
from looper.loops.cabal.board.acceptance import accept, all_accepted, deliverables, stagnant
from looper.loops.cabal.board.answers import ANSWERS, Alternatives, Drafts, Written
from looper.loops.cabal.board.entities import Step
from looper.loops.cabal.board.mission import MOST_REQUESTS, answer_halt, requests_left
from looper.loops.cabal.board.relevance import to_review
from looper.loops.cabal.board.rights import ACTORS
from looper.loops.cabal.board.rounds import begin_round, close_round, enter, new_work, reflecting, take, writing
from looper.loops.cabal.board.table import Board, open_board, reject
from looper.loops.cabal.party import Party
from looper.loops.cabal.policies import DRAFT
from looper.loops.cabal.truth import Truth
from looper.run import Run
from looper.tasks.contracts import written
from looper.tasks.environment import Task
from looper.types import Outcome

if TYPE_CHECKING:
    from looper.loops.cabal import Cabal

STEP_NAMES: dict[Step, str] = {
    "bootstrap": "bootstrap", "reflect": "reflect", "plan": "assign", "write": "compose", "review": "peer_review",
    "inspect": "inspect", "present": "present",
}  # fmt: skip
"""What each step of a round is called where steps of all designs are named: in prices, prompts and journals."""
ROOM = 10_000
"""Characters of what the checks say of one state."""
Context = Callable[[str], dict[str, Any]]


class Answered(BaseModel, extra="forbid"):
    """The user's answer to a halt."""

    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4000)]


class Mission:
    """One run: the board, and the truth that the task knows about what is on it."""

    def __init__(self, design: "Cabal", task: Task, run: Run):
        self.design, self.task, self.run = design, task, run
        self.board = open_board(design.max_operatives)
        self.truth = Truth(task, design.artifact)
        self.party = None if written(task) else Party(task, design.changes)
        self.verdict: Evaluation | None = None
        self.failures: list[str] = []
        """Rules that what is accepted does not meet, for the chair."""
        self.turn = run
        self.done = False
        """Whether the chair closed the mission in this round, with all deliverables accepted."""
        self.last: dict[str, int] = {}
        """The round in which each member was asked last."""

    def go(self) -> Outcome:
        self.chaired(self.run, "bootstrap")
        if not self.board.operatives():
            return self.end("failed", "phase_error", "the chair named no operative that could be seated.")
        self.board = close_round(self.board)
        self.told()
        for _number in range(self.design.max_rounds):
            if stop := self.round(self.run.scope("iteration")):
                return self.end("completed" if stop == "all_accepted" else "stopped", stop)
        return self.end("stopped", "round_limit")

    def round(self, turn: Run) -> str | None:
        """One round; why the mission ends after it, or None."""
        self.run.keep("present", "envoy")  # every round that was begun is told (SPEC 4.9)
        self.turn = turn
        self.board = begin_round(self.board)
        self.reflect(turn)
        self.chaired(turn, "plan")
        self.compose(turn)
        if new_work(self.board):
            self.review(turn)
            self.inspect(turn)
        # In the same round, by code (SPEC 4.4); a lifted flag needs no new inspection. The Change Log that is judged is
        # the one that is handed over.
        self.board = close_round(accept(self.board))
        self.judge(turn)
        self.present(turn)
        self.advance(turn)
        return self.over()

    def present(self, turn: Run) -> None:
        """The envoy tells the user about the round."""
        self.enter("present")
        about = self.briefed(briefing.for_present)
        more = {
            "failures": briefing.fitting(self.failures, ROOM),
            "rounds_left": self.design.max_rounds - self.board.round,
        }
        answers = self.asked(turn, self.board, "envoy", "present", lambda who: {**about(who), **more})
        self.apply("envoy", answers)

    def cut_short(self) -> None:
        """A round that the budget ends is closed, and told from what was kept for it (SPEC 4.9, 0.5)."""
        whole = self.board
        if whole.round and (not whole.tallies or whole.tallies[-1].round != whole.round):
            self.board = close_round(accept(whole))
            try:
                self.judge(self.turn)
                if self.run.ledger.budget.on_limit == "wrap_up":
                    self.present(self.turn)
            except BudgetExceeded:  # what cannot be judged any more is not handed over
                self.board = self.board if self.board.step == "present" else whole
        self.told()

    # The steps

    def reflect(self, turn: Run) -> None:
        """Operatives with something to reflect on, side by side."""
        self.enter("reflect")
        self.side_by_side(turn, "reflect", reflecting(self.board), self.briefed(briefing.for_reflect))

    def chaired(self, turn: Run, step: Step) -> None:
        """Bootstrap or Plan & Assign; halted it waits for the user, and then the same step runs again (SPEC 4.7)."""
        self.enter(step)
        for number in range(self.design.max_halts + 1):
            more = self.briefed(briefing.for_assign)("chair") if step == "plan" else {}
            more |= {
                "failures": briefing.fitting(self.failures, ROOM), "seats": self.design.max_operatives,
                "last_call": number == self.design.max_halts,
                "rounds_left": self.design.max_rounds - self.board.round,
                "parts": self.design.operatives if self.party else 1,
            }  # fmt: skip
            answers = self.asked(turn, self.board, "chair", step, lambda _who, more=more: more)
            self.apply("chair", answers)
            self.done = closed(answers[-1]) and all_accepted(self.board)
            waits = self.board.halts and not self.board.halts[-1].answer
            if not waits:
                return
            self.halted(turn, last=number == self.design.max_halts)

    def halted(self, turn: Run, last: bool) -> None:
        """The user's answer goes on the board; a question too many is answered by the rule."""
        question = self.board.halts[-1]
        if last:
            rule = f"No more questions in this step, {self.design.max_halts} were asked; go on without an answer."
            self.board = answer_halt(reject(self.board, "chair", "halt", rule), "(not asked: too many questions)")
            return
        self.told()
        try:
            word = turn.ask("user", Answered, step="halt", question=question.question, round=question.round)
        except Paused as end:
            if end.reason == "questions":
                end.reason = "halt"
            raise
        self.board = answer_halt(self.board, word.text)

    def compose(self, turn: Run) -> None:
        """Assigned operatives write, side by side; only if there are assignments."""
        work = writing(self.board)
        if not work:
            return
        self.enter("write")
        if self.party:
            self.search(turn, self.party, work)
        else:
            self.side_by_side(turn, "write", list(work), self.about(briefing.for_compose, work))

    def search(self, turn: Run, party: Party, work: Mapping[str, Sequence[str]]) -> None:
        """Each operative works on its parts, side by side; where it stands is a version like any other."""
        board = self.board
        found = turn.each(list(work), lambda run, who: [party.work(run, board, who, one) for one in work[who]])
        for who in work:
            self.apply(who, [Written(final_output=Drafts(versions=found[who]))])

    def review(self, turn: Run) -> None:
        """Operatives review new work of others, at most so many products each (SPEC 4.6)."""
        self.enter("review")
        seen = {one.id: to_review(self.board, one.id, self.design.reviewed) for one in self.board.operatives()}
        seen = {who: products for who, products in seen.items() if products}
        self.side_by_side(turn, "review", list(seen), self.about(briefing.for_review, seen))

    def inspect(self, turn: Run) -> None:
        """The watchdog on new work; more than can be read at once in batches, side by side."""
        self.enter("inspect")
        evidence = {"verdicts": self.evidence(turn, new_work(self.board))}
        batches = briefing.batches(self.board, new_work(self.board), self.design.prompt_characters * 3 // 4)
        if len(batches) == 1:
            self.apply("watchdog", self.inspected(turn, batches[0], evidence))
            return
        known = {f"batch-{number}": batch for number, batch in enumerate(batches, 1)}
        found = turn.each(list(known), lambda run, name: self.inspected(run, known[name], evidence))
        for name in known:
            self.apply("watchdog", found[name])

    def inspected(self, run: Run, products: Sequence[str], evidence: Mapping[str, Any]) -> list[Alternatives]:
        about = self.about(briefing.for_inspect, {"watchdog": products})
        return self.asked(run, self.board, "watchdog", "inspect", lambda who: {**about(who), **evidence})

    def evidence(self, turn: Run, fresh: Sequence[str]) -> dict[str, dict[str, Any]]:
        """What code can tell the watchdog of each new product: the task's checks on it, or on the whole draft."""
        if self.party:
            found = self.party.verdicts()
            return {one: told_of(found[one], found[one].failed) for one in fresh if one in found}
        draft = self.truth.of_draft(turn, self.board)
        if draft:  # evaluated, so it may be the best so far (SPEC 0.3); the gate is met by what is accepted alone
            self.run.consider(draft.artifact, draft.verdict.model_copy(update={"passed": False}))
        return {DRAFT: told_of(draft.verdict, draft.failures)} if draft else {}

    def judge(self, turn: Run) -> None:
        """The task's own gate on what is accepted so far, run by code."""
        if self.party:
            return self.judge_parts(self.party)
        found = self.truth.of_accepted(turn, self.board)
        if found is not None:
            self.verdict, self.failures = found.verdict, found.failures
            self.run.consider(found.artifact, found.verdict)
        return None

    def judge_parts(self, party: Party) -> None:
        """The best of all parts is what would be handed over."""
        for place in party.places.values():
            if place.verdict:
                self.run.consider(self.task.render(place.state), place.verdict)
                if place.verdict.better_than(self.verdict):
                    self.verdict, self.failures = place.verdict, list(place.verdict.failed)

    # Asking

    def side_by_side(self, turn: Run, step: Step, members: Sequence[str], context: Context) -> None:
        """All answers are given on the same board, and applied in the order of the team."""
        board = self.board
        found = turn.each(list(members), lambda run, who: self.asked(run, board, who, step, context))
        for who in members:
            self.apply(who, found[who])

    def asked(self, turn: Run, board: Board, who: str, step: Step, context: Context) -> list[Alternatives]:
        """The answers of one member in one step: requests for context, and the last one, which is final (SPEC 4.2)."""
        answers: list[Alternatives] = []
        while True:
            left = min(requests_left(board, who), MOST_REQUESTS - len(answers))  # a refused request counts too
            common = briefing.common(board, who, self.design.prompt_characters, self.last.get(who, 0))
            known = {**common, **context(who), "requests_left": left}
            answer: Any = turn.ask(
                ACTORS[step], ANSWERS[step], step=STEP_NAMES[step], **{**turn.brief, **known}
            )  # fmt: skip
            answers.append(answer)
            if not getattr(answer, "request_context", None):
                return answers
            board = take(board, who, answer)
            if not left:
                return answers

    def apply(self, who: str, answers: Sequence[Alternatives]) -> None:
        self.last[who] = self.board.round
        for answer in answers:
            self.board = take(self.board, who, answer)

    def enter(self, step: Step) -> None:
        self.board = enter(self.board, step)
        self.run.phase(STEP_NAMES[step])

    def briefed(self, what: Callable[[Board, str, int], dict[str, Any]]) -> Context:
        board = self.board
        return lambda who: what(board, who, self.design.prompt_characters)

    def about(
        self, what: Callable[[Board, str, int, Sequence[str]], dict[str, Any]], products: Mapping[str, Sequence[str]]
    ) -> Context:
        board = self.board
        return lambda who: what(board, who, self.design.prompt_characters, products[who])

    # Ends

    def over(self) -> str | None:
        """Why the mission is over after this round (SPEC 4.8); completed needs the task's own gate too (SPEC 0.2)."""
        met = self.verdict is None or self.verdict.passed
        if all_accepted(self.board) and met:
            return "all_accepted"
        if self.done and all_accepted(self.board):
            return "no_new_plan"
        if stagnant(self.board, self.design.stagnant):
            return "stagnation"
        return None

    def advance(self, turn: Run) -> None:
        """The round as histories and people read it, and the board as it stands."""
        states = [one.status for one in deliverables(self.board)]
        session = self.board.sessions[-1] if self.board.sessions else None
        entry = {
            "step": self.board.round, "score": self.verdict.score if self.verdict else None,
            "accepted": states.count("accepted"), "deliverables": len(states),
            "open_importance": self.board.tallies[-1].open_importance, "flags": self.open_flags(),
            "result": f"{states.count('accepted')} of {len(states)} deliverables accepted",
            "presentation": session.model_dump() if session and session.round == self.board.round else None,
        }  # fmt: skip
        turn.note("iteration_advanced", **entry)
        self.told()

    def open_flags(self) -> int:
        dropped = {one.id for one in self.board.products if one.status == "rejected"}
        return sum(one.blocking and one.stands and one.product not in dropped for one in self.board.collabs)

    def told(self) -> None:
        self.run.keep("board_updated")  # it costs nothing: the board is told also when the time is up
        self.run.note("board_updated", board=self.board.model_dump(mode="json"))

    def end(self, status: str, reason: str, detail: str = "") -> Outcome:
        more = {"detail": detail} if detail else {}
        return self.run.outcome(status, reason, **more, **self.facts())

    def facts(self) -> dict[str, Any]:
        """What a comparison needs, however the run ends."""
        found = deliverables(self.board)
        return {
            "rounds": self.board.round, "deliverables": len(found),
            "accepted": sum(one.status == "accepted" for one in found), "versions": len(self.board.versions),
            "collabs": len(self.board.collabs), "flags": self.open_flags(), "rejections": len(self.board.rejections),
            "halts": len(self.board.halts),
        }  # fmt: skip


def closed(answer: Any) -> bool:
    """Whether the chair says that the mission is accomplished."""
    return bool(getattr(answer.final_output, "done", False))


def told_of(verdict: Evaluation, failures: Sequence[str]) -> dict[str, Any]:
    """A verdict as a role reads it."""
    return {
        "passed": verdict.passed, "score": verdict.score, "failures": briefing.fitting(failures, ROOM),
        "blockers": verdict.blockers,
    }  # fmt: skip
