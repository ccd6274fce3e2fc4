"""All layers of the verification on one artifact (SPEC 5.5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from looper.criteria import Evaluation
from looper.loops.gather_verify.answers import Assessment, Confirmed, Criterion
from looper.loops.gather_verify.layers import Evidence, Verdict, relaxed, verdict
from looper.loops.gather_verify.verification import Examined, assessed, confirmed, to_judge
from looper.loops.look import look
from looper.run import Run

if TYPE_CHECKING:
    from looper.loops.gather_verify.course import Course


@dataclass
class Tried:
    """What an inner loop handed over, and what its verification found."""

    artifact: str
    evaluation: Evaluation
    evidence: list[Evidence]
    verdict: Verdict
    before: tuple[Verdict, ...] = ()
    """On the same result, by the rules as they were before the user relaxed one."""


def examined(course: "Course", turn: Run, artifact: str) -> Tried:
    """All layers on one artifact: fresh checks, rules of thumb, a reader, and the user where it is critical."""
    course.aimed.forget()
    state: Any = turn.do("recall_state", course.aimed.parse, artifact)
    state, signals = look(course.task, turn, state, needed=True)
    evaluation = turn.do("gate", course.aimed.evaluate, state)
    code = Examined(course.aimed, course.ideal, course.design.bench, artifact)
    found = turn.do("evidence", code.gate, evaluation, signals)
    found += turn.do("rules_of_thumb", code.thumb, getattr(course.given, "language", ""))
    found += turn.do("metrics", code.metrics, evaluation)
    found += read(course, turn, artifact, found)
    tried = settled(course, turn, artifact, evaluation, found)
    evidence = [one.model_dump(mode="json") for one in tried.evidence]
    turn.note("outer_verified", **tried.verdict.model_dump(mode="json"), evidence=evidence, gate=evaluation.score)
    return tried


def settled(course: "Course", turn: Run, artifact: str, evaluation: Evaluation, evidence: Sequence[Evidence]) -> Tried:
    """The verdict on this evidence; the user is asked about what is critical once everything else is verified."""
    found = softened(course, evidence)
    left = to_confirm(course, found)
    theirs = {course.named(one) for one in left}
    ruling = ruled(course, [one for one in found if one.met is not None or one.criterion not in theirs], evaluation)
    if ruling.outcome == "VERIFIED":
        found += asked(course, turn, artifact, ruling, left)
    return Tried(artifact, evaluation, found, ruled(course, found, evaluation))


def softened(course: "Course", evidence: Sequence[Evidence]) -> list[Evidence]:
    """The evidence with what the user has relaxed, in this round or before, as nice to have."""
    found = list(evidence)
    for name in {one.criterion for one in found} & set(course.aimed.aim.relaxed):
        found = relaxed(found, name)
    return found


def to_confirm(course: "Course", found: Sequence[Evidence]) -> list[Criterion]:
    """Critical criteria that the user has not said a word on yet, and has neither relaxed nor left out."""
    aim = course.aimed.aim
    done = {one.criterion for one in found if one.ran_by == "person"} | {*aim.relaxed, *aim.left_out}
    return [
        one for one in course.ideal.criteria if (one.critical or one.verify.person) and course.named(one) not in done
    ]


def ruled(course: "Course", evidence: list[Evidence], evaluation: Evaluation) -> Verdict:
    return verdict(evidence, course.design.layers, course.design.thresholds, gate_passed=evaluation.passed)


def read(course: "Course", turn: Run, artifact: str, found: list[Evidence]) -> list[Evidence]:
    """The semantic layer."""
    rows = to_judge(course.ideal, course.aimed)
    measured = {one.criterion: one.met for one in found}
    said = turn.ask(
        "verifier", Assessment, step="assess", goal=course.given.goal, objective=course.ideal.objective,
        criteria=rows, measured=measured, artifact=artifact,
    )  # fmt: skip
    kind = getattr(turn.stage.cast.agent("verifier", "assess", course.aimed), "kind", "model")
    by = turn.note("assessed_by", kind=kind)["kind"]  # a later resume may have another reader
    return turn.do("assessed", assessed, said, rows, artifact, by)


def asked(course: "Course", turn: Run, artifact: str, ruling: Verdict, left: Sequence[Criterion]) -> list[Evidence]:
    """The user's word on each of these."""
    found = list[Evidence]()
    for one in left:
        word = turn.ask(
            "user", Confirmed, step="confirm_result", criterion=one.model_dump(mode="json"), artifact=artifact,
            score=ruling.score, measured=not ruling.gaps,
        )  # fmt: skip
        found.append(turn.do("confirmed", confirmed, one, course.named(one), word.met, artifact))
    return found
