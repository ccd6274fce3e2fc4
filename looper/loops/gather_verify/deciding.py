"""After a verification: another round, or the user decides (SPEC 5.6)."""

from dataclasses import replace
from typing import TYPE_CHECKING

from looper.budget import Amounts
from looper.errors import BudgetExceeded, Paused
from looper.loops.confirm import note
from looper.loops.gather_verify.answers import Escalation
from looper.loops.gather_verify.machine import Phase
from looper.loops.gather_verify.telling import facts
from looper.run import Run

if TYPE_CHECKING:
    from looper.loops.gather_verify.course import Course

NOTHING, STUCK, SHORT = ("failed", "rejected"), ("stopped", "stagnation"), ("stopped", "budget_exhausted")
"""Ends by cause: no result that is worth another round, the same one again, no units left."""


def decide(course: "Course", turn: Run, *, stuck: bool) -> bool:
    """Whether the inner loop runs again: gaps, rounds left, and money left to verify once more (SPEC 5.6)."""
    ruling = course.tries[-1].verdict
    if ruling.outcome == "VERIFIED":
        return False
    if ruling.outcome == "CRITICAL_FAILURE":
        return escalate(course, turn, ruling.why, NOTHING)
    if stuck and course.inner[-1].artifact is None:
        return escalate(course, turn, *empty_handed(course))
    if stuck:
        return escalate(course, turn, f"The inner loop handed over the same result again. {ruling.why}", STUCK)
    if Phase.INNER_LOOP not in course.machine.allowed:
        used = f"All {course.machine.loops} rounds back are used. {ruling.why}"
        return escalate(course, turn, used, ("stopped", "round_limit"))
    if not course.run.affords():
        return escalate(course, turn, f"The time is up. {ruling.why}", ("stopped", "time_limit"))
    if short := unaffordable(course, turn):
        return escalate(course, turn, f"There is no budget for another round: {short}", SHORT)
    return True


def unaffordable(course: "Course", turn: Run) -> str:
    """Why another round could not be verified, or nothing: as it was when first asked, whatever the caps are now."""
    try:
        course.keep()
        short = ""
    except BudgetExceeded as end:
        short = str(end)
    told = str(turn.note("another_round", short=short)["short"])
    if told:
        course.release()
    return told


def empty_handed(course: "Course") -> tuple[str, tuple[str, str]]:
    """Why an inner loop handed over nothing that could be verified, and how the run ends where nobody is asked."""
    last = course.inner[-1]
    told = str(last.facts.get("detail") or last.reason)
    end = NOTHING if last.status == "completed" else (last.status, last.reason)
    return f"The inner loop handed over nothing that could be verified: {told}", end


def escalate(course: "Course", turn: Run, why: str, end: tuple[str, str]) -> bool:
    """The user decides: accept, relax a criterion, add budget, or stop (SPEC 5.6); `end`: where nobody is asked."""
    refused = ""
    while True:
        word = user_word(course, turn, why, refused)
        course.decisions.append({**word.model_dump(exclude_defaults=True), "why": why, "by": course.design.escalation})
        if word.decision in ("accept", "stop"):
            asked = ("stopped", "user_stop") if course.design.escalation == "ask" else end
            course.ended = ("stopped", "accepted") if word.decision == "accept" else asked
            if word.decision == "accept" and course.design.escalation == "ask" and course.tries:
                course.taken = course.tries[-1]
            return False
        if word.decision == "budget":
            return granted(course, turn, word)
        refused = relax(course, turn, word.criterion)
        if refused:
            course.decisions[-1]["refused"] = refused
        else:
            return decide(course, turn, stuck=False)


def user_word(course: "Course", turn: Run, why: str, refused: str) -> Escalation:
    """The user's decision, or what the configuration says in their place."""
    if course.design.escalation != "ask":
        return Escalation(decision=course.design.escalation)
    last = course.tries[-1] if course.tries else None
    course.tell()
    try:
        return turn.ask(
            "user", Escalation, step="escalate", why=why, refused=refused, goal=course.given.goal,
            score=last.verdict.score if last else None, gaps=last.verdict.gaps if last else [],
            can_relax=relaxable(course), artifact=last.artifact if last else "",
        )  # fmt: skip
    except Paused as end:
        reason = "escalate" if end.reason == "questions" else end.reason
        waits = f"{refused + ' ' if refused else ''}The result is not good enough, and the user decides: {why}"
        raise Paused(waits, reason, **{**end.facts, **facts(course)}) from end


def relaxable(course: "Course") -> list[str]:
    """Criteria that stand in the way and may become nice to have; never an anti-criterion."""
    if not course.tries:
        return []
    anti = {one.criterion for one in course.tries[-1].evidence if one.anti}
    return sorted({one.criterion for one in course.tries[-1].verdict.gaps if one.severity != "nice"} - anti)


def granted(course: "Course", turn: Run, word: Escalation) -> bool:
    """More rounds and units; what was granted is in the journal, so a resumed run has it too."""
    more: Amounts = {name: units for name, units in (("inner", word.inner), ("outer", word.outer)) if units}
    course.run.ledger.grant(more)
    course.machine.grant(word.loops)
    if short := unaffordable(course, turn):
        return escalate(course, turn, f"It is not enough for another round: {short}", SHORT)
    return True


def relax(course: "Course", turn: Run, criterion: str) -> str:
    """Make a criterion nice to have and judge the same evidence again; why not, if it cannot be done."""
    last = course.tries[-1] if course.tries else None
    if last is None or criterion not in relaxable(course):
        return f"`{criterion}` cannot be relaxed; these can: {', '.join(relaxable(course)) or 'none'}."
    course.aimed.aim = course.aimed.aim.model_copy(update={"relaxed": [*course.aimed.aim.relaxed, criterion]})
    course.tries[-1] = last = replace(course.again(turn, last), before=(*last.before, last.verdict))
    note(course.task, turn, course.rounds)
    turn.note("outer_verified", **last.verdict.model_dump(mode="json"), relaxed=criterion, gate=last.evaluation.score)
    return ""
