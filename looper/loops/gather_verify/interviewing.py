"""INTERVIEW: the ideal state, until it is complete enough, and its confirmation (SPEC 5.3)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from looper.checks.bench import Bench
from looper.checks.examine import vacuous
from looper.errors import StopRequested
from looper.loops.gather_verify.answers import Confirmed, IdealState, Way
from looper.loops.gather_verify.completeness import Completeness, completeness
from looper.loops.gather_verify.gathering import Gathered, Told, answered, present, subject
from looper.loops.gather_verify.questions import ranked
from looper.run import Run

if TYPE_CHECKING:
    from looper.loops.gather_verify import GatherVerify


class Interviewed(BaseModel):
    """The ideal state and how complete it is."""

    ideal: IdealState
    complete: Completeness
    rounds: int
    shortfall: bool
    """Whether it stayed below what is enough, and the run goes on all the same."""
    answers: list[Told]
    """What the user was asked meanwhile."""
    unused: list[str] = []
    """Ids in the answers file that no question had."""


def interview(design: "GatherVerify", task: Any, run: Run, gathered: Gathered) -> Interviewed:
    """Rounds of questions; each names what is missing. Raises StopRequested if the user does not want to go on."""
    about = {**subject(task, run), "objective": task.goal, "domain": gathered.domain, "gathered": gathered.model_dump()}
    about["threshold"] = task.criteria.phases[-1].threshold
    rules = [rule.id for rule in task.criteria.rules]
    ideal, told = IdealState(), list[Told]()
    found = completeness(ideal, rules, design.completeness, design.shares)
    for number in range(1, design.max_rounds + 1):
        turn = run.scope("round")
        ideal = turn.ask(
            "interviewer", IdealState, step="ideal", **about, previous=ideal if number > 1 else None,
            missing=found.missing if number > 1 else [], round=number,
            answers=[one.model_dump() for one in (*gathered.answers, *told)],
        )  # fmt: skip
        empty: list[str] = turn.do("vacuous", says_nothing, ideal, design.bench)
        ideal = without(ideal, empty)
        found = completeness(ideal, rules, design.completeness, design.shares)
        turn.note("completeness", round=number, says_nothing=empty, **found.model_dump())
        if found.reaches(design.complete):
            return Interviewed(ideal=ideal, complete=found, rounds=number, shortfall=False, answers=told)
        if number < design.max_rounds:  # nobody would read an answer of the last round
            known = {one.id for one in (*gathered.answers, *told)}
            open_ = [one for one in ranked(ideal.questions) if one.id not in known]
            told += answered(design, turn, open_, about)
    go_on(run, ideal, found)
    return Interviewed(ideal=ideal, complete=found, rounds=design.max_rounds, shortfall=True, answers=told)


def go_on(run: Run, ideal: IdealState, found: Completeness) -> None:
    """A person decides, where there is one; else the shortfall is in the summary (SPEC 5.3)."""
    there = run.note("shortfall", person=present(run), **found.model_dump())["person"]
    if there and not run.ask("user", Confirmed, step="shortfall", ideal=ideal, **found.model_dump()).met:
        raise StopRequested(f"the ideal state stayed at {found.score:.2f}, and the user does not go on with it.")


def says_nothing(ideal: IdealState, bench: Bench) -> list[str]:
    """Ids of criteria whose check passes on an empty result, and so verifies nothing."""
    return [one.id for one in ideal.criteria if one.verify.check is not None and vacuous(one.verify.check, bench)]


def without(ideal: IdealState, ids: Sequence[str]) -> IdealState:
    """The ideal state without these ways to verify."""
    criteria = [one.model_copy(update={"verify": Way()}) if one.id in ids else one for one in ideal.criteria]
    return ideal.model_copy(update={"criteria": criteria})
