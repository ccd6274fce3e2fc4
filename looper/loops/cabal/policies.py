"""Deterministic fillers of the cabal's own: a chair that hands out parts, a watchdog that reads the checks, an envoy.

No model is called; nobody here can write a text. On documents somebody else must hold the operatives' seats.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from looper.loops.cabal.board.answers import (
    Assignments,
    Bootstrap,
    Charter,
    Drafts,
    Inspected,
    Inspections,
    Planned,
    Presentation,
    Reflected,
    Reflection,
    Reviewed,
    Reviews,
    Told,
    Written,
)  # fmt: skip
from looper.loops.cabal.board.operations import (
    CheckedItem,
    FeedbackAnswer,
    Finding,
    Mark,
    NewAssignment,
    NewInspection,
    NewMember,
    NewMessage,
    NewProduct,
    NewVersion,
)  # fmt: skip
from looper.tasks.contracts import Draft
from looper.types import Question

DONE = "all checks of the task pass"
DRAFT = "everything written so far"
"""What the checks are run on where the parts cannot be judged by themselves."""
GRAVE, SLIGHT = 8, 5
"""Importance of a failed rule that blocks, and of one that warns."""


def bootstrap(*, goal: str, parts: int, seats: int, **_: Any) -> Bootstrap:
    """As many operatives as there are parts, one product each; a single text has one writer and two reviewers."""
    count = max(1, min(parts, seats))
    team = [
        NewMember(
            key=f"m{number}", name=f"Operative {number}", persona="works on one part", responsibility=f"part {number}",
            area="the task at hand",
        )
        for number in range(1, max(count, min(3, seats)) + 1)
    ]  # fmt: skip
    products = [
        NewProduct(key=f"part-{n}", title=f"Part {n} of {count}", type="content", owner=f"m{n}", done=[DONE])
        for n in range(1, count + 1)
    ]
    charter = Charter(mission=goal[:400], objectives=[DONE], team=team, products=products)
    return Bootstrap(final_output=charter)


def reflect(*, own: Mapping[str, str], **_: Any) -> Reflection:
    return Reflection(final_output=Reflected(assessment=f"Works on {', '.join(own) or 'nothing'}."))


def assign(*, products: Sequence[Mapping[str, Any]], failures: Sequence[str], **_: Any) -> Assignments:
    """Every open part to its owner; once a part is accepted the others are dropped, and the mission is done.

    What was accepted while the task's own gate is not met goes back to its owner.
    """
    accepted = [one for one in products if one["status"] == "accepted" and not failures]
    left = [one for one in products if one["status"] != "rejected" and one not in accepted]
    if accepted:
        marks = [Mark(product=one["id"], status="rejected", reason="another part reached the goal") for one in left]
        return Assignments(final_output=Planned(mark=marks, done=True))
    tasks = [
        NewAssignment(assignee=one["owner"], product=one["id"], objective="Bring this part further.", done=[DONE],
                      address=one["open"])
        for one in left
    ]  # fmt: skip
    return Assignments(final_output=Planned(assignments=tasks))


def peer_review(**_: Any) -> Reviews:
    """Nothing that code could add to what the checks say."""
    return Reviews(final_output=Reviewed(collabs=[]))


def inspect(*, items: Mapping[str, int], verdicts: Mapping[str, Mapping[str, Any]], **_: Any) -> Inspections:
    """What the checks say of each new product, in the form of an inspection."""
    draft = verdicts.get(DRAFT)
    found = [_inspected(product, count, verdicts.get(product, draft)) for product, count in items.items()]
    return Inspections(final_output=Inspected(inspections=found))


def _inspected(product: str, count: int, verdict: Mapping[str, Any] | None) -> NewInspection:
    met = bool(verdict and verdict["passed"])
    failures: list[str] = list(verdict["failures"]) if verdict else ["no check gave a result"]
    note = "as run by code" if met else (failures or ["the score is below the threshold"])[0][:400]
    blockers: list[str] = list(verdict["blockers"]) if verdict else []
    findings = [
        Finding(criterion="1", importance=GRAVE if line.partition(":")[0] in blockers else SLIGHT, text=line[:4000])
        for line in ([] if met else failures[:10])
    ]
    checklist = [CheckedItem(item=number, met=met, note=note) for number in range(1, count + 1)]
    said = "approved" if met else "needs_revision"
    return NewInspection(product=product, checklist=checklist, findings=findings, verdict=said)


def present(
    *, happenings: Sequence[str], inspections: Sequence[str], accepted: Sequence[str], **_: Any
) -> Presentation:
    """Three plain messages from what is on the board."""
    texts = {
        "chair": "; ".join(happenings)[:600] or "Nothing happened in this round.",
        "watchdog": "; ".join(inspections)[:600] or "There was nothing to inspect.",
        "envoy": f"Accepted in this round: {', '.join(accepted) or 'nothing'}.",
    }
    messages = [NewMessage(member=who, text=text) for who, text in texts.items()]
    return Presentation(final_output=Told(messages=messages))


BY_STEP: dict[str, Callable[..., Any]] = {
    "bootstrap": bootstrap, "reflect": reflect, "assign": assign, "peer_review": peer_review, "inspect": inspect,
    "present": present,
}  # fmt: skip


# Simulations


def played(question: Question, skill: float, dice: random.Random) -> BaseModel | None:
    """A role of the design played with a given skill; None for questions of the task's own."""
    if question.step == "halt":
        return question.returns(text="Decide it yourselves.")
    if question.step == "compose":
        return _composed(question, skill, dice)
    fn = BY_STEP.get(question.step)
    if fn is None:
        return None
    value = fn(**question.context)
    return value if dice.random() < skill else _mistaken(value)


def _composed(question: Question, skill: float, dice: random.Random) -> Written:
    """The task's own simulated writer, on each product that is assigned."""
    latest: Mapping[str, str] = question.context["latest"]
    versions = [_version(question, product, text, skill, dice) for product, text in latest.items()]
    return Written(final_output=Drafts(versions=[one for one in versions if one is not None]))


def _version(question: Question, product: str, text: str, skill: float, dice: random.Random) -> NewVersion | None:
    task = question.task
    if text:
        state = task.apply(task.observe(Draft(text=text)), _asked(question, "act", skill, dice, text))
        content = task.render(state)
    else:
        content = _asked(question, "produce", skill, dice, "").text
    if content.split() == text.split():
        return None
    answers = [
        FeedbackAnswer(collab=line.removeprefix("- ").partition(" ")[0], outcome="addressed", reason="simulated")
        for line in question.context["address"].get(product, [])
    ]
    return NewVersion(product=product, content=content, summary="simulated: written", answers=answers)


def _asked(question: Question, step: str, skill: float, dice: random.Random, text: str) -> Any:
    state = question.task.parse(text) if text else None
    context = {**question.context, "state": state}
    asked = question.model_copy(update={"step": step, "returns": question.task.answer(step), "context": context})
    return question.task.simulate(asked, skill, dice)


def _mistaken(value: Any) -> BaseModel:
    """A watchdog that sees the opposite; a chair that forgets the last assignment."""
    output = value.final_output
    if isinstance(output, Inspected):
        turned = [
            one.model_copy(update={
                "checklist": [item.model_copy(update={"met": not item.met}) for item in one.checklist], "findings": [],
            })
            for one in output.inspections
        ]  # fmt: skip
        return value.model_copy(update={"final_output": output.model_copy(update={"inspections": turned})})
    if isinstance(output, Planned) and len(output.assignments) > 1:
        fewer = output.model_copy(update={"assignments": output.assignments[:-1]})
        return value.model_copy(update={"final_output": fewer})
    return value
