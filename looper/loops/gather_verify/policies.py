"""The design's own deterministic fillers: what code can say without a model, from the task's rules and the budget.

They ask nothing and judge nothing: what only a reader could tell stays unknown, and the verdict says so.
"""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, TypeAdapter

from looper.checks.kinds import CHECK
from looper.loops.gather_verify.answers import (
    Analysis,
    Answered,
    AntiCriterion,
    Asked,
    Assessment,
    Classified,
    Confirmed,
    Criterion,
    CurrentState,
    Escalation,
    IdealState,
    Judged,
    Metric,
    Severity,
    Way,
)  # fmt: skip
from looper.types import Question

PROGRAM = re.compile(r"^[ \t]*(?:(?:async +)?def +\w+ *\(|class +\w+ *[:(])", re.MULTILINE)
"""A line that begins a function or a class in Python."""
SOME = 12
"""Lines of each list at most."""
OWN = ("nothing-handed-over", "a-secret-in-it")
"""Ids of the anti-criteria that hold for every task."""
EMPTY = {"kind": "pattern", "pattern": r"\S", "min": 1}
SECRET = {"kind": "secrets"}


def classify(*, guess: Mapping[str, Any], material: Mapping[str, Any], **_: Any) -> Classified:
    """Coding if a program is part of the material; else the guess itself: without a model there is no better one."""
    programs = [name for name, text in material.items() if PROGRAM.search(str(text))]
    if programs:
        return Classified(domain="coding", reason=f"`{programs[0]}` of its material is a program")
    return Classified(domain=guess["domain"], reason="by its words alone")


def research(
    *, material: Mapping[str, Any], rules: Sequence[Mapping[str, str]], episodes: Sequence[Any], **_: Any
) -> CurrentState:
    """What the task itself says, and what earlier runs came to."""
    unknowns = [] if rules else ["the task has no rules: what is good enough is not said"]
    return CurrentState(
        exists=[f"{name}: {value}"[:300] for name, value in material.items() if str(value).strip()][:SOME],
        constraints=[f"{row['id']}: {row['description']}"[:300] for row in rules if row["severity"] == "must"][:SOME],
        patterns=[str(_of(one, "lesson"))[:300] for one in episodes][:SOME],
        dependencies=[], unknowns=unknowns,
    )  # fmt: skip


def _of(one: Any, name: str) -> Any:
    return one[name] if isinstance(one, Mapping) else getattr(one, name)


def analyse(*, research: CurrentState, rules: Sequence[Mapping[str, str]], **_: Any) -> Analysis:
    """The window without a guess about what the user might know: nothing is asked."""
    hidden = [f"earlier: {line}" for line in research.patterns]
    return Analysis(open=research.constraints, blind=[], hidden=hidden[:SOME], unknown=research.unknowns, questions=[])


def ideal(*, objective: str, rules: Sequence[Mapping[str, str]], threshold: float, **_: Any) -> IdealState:
    """The task's rules as criteria, each verified by its rule; never an empty result, never a secret."""
    ids = _slugs([row["id"] for row in rules[:40]])
    criteria = [
        Criterion(
            id=name, description=_words(row["description"]), severity=severity(row["severity"]),
            verify=Way(rule=row["id"]),
        )
        for name, row in zip(ids, rules, strict=False)
    ]  # fmt: skip
    return IdealState(
        objective=_words(objective), criteria=criteria,
        anti_criteria=[
            AntiCriterion(id=OWN[0], description="the result is empty", detect=_checked(EMPTY)),
            AntiCriterion(id=OWN[1], description="the result holds a secret", detect=_checked(SECRET)),
        ],
        metrics=[Metric(name="gate score", target=f">= {threshold:g}", unit="share of the weight", measure="score")],
        exits=["the verification says VERIFIED", "the budget or the rounds are used up: the user decides"],
    )  # fmt: skip


def severity(name: str) -> Severity:
    """The severity of this name. Raises ValidationError."""
    return TypeAdapter[Severity](Severity).validate_python(name)


def _checked(row: Mapping[str, Any]) -> Way:
    return Way(check=CHECK.validate_python(row))


def _slugs(names: Sequence[str]) -> list[str]:
    """An id for each name; names that differ in signs alone, as parametrised tests do, are numbered."""
    found: list[str] = []
    for name in names:
        slug, number = _slug(name), 1
        while slug in found or slug in OWN:
            number += 1
            slug = f"{_slug(name)[:75]}.{number}"
        found.append(slug)
    return found


def _slug(name: str) -> str:
    words = "".join(char if char.isascii() and char.isalnum() else "-" for char in name.lower()).split("-")
    return "-".join(word for word in words if word)[:80].strip("-") or "rule"


def _words(text: str) -> str:
    """At least three words, as a description needs; a shorter one is said in full."""
    return text[:500] if len(text.split()) >= 3 else f"this must hold: {text}"[:500]


def answer(*, question: Asked | Mapping[str, Any], **_: Any) -> Answered:
    """The stated default, else the first choice. Whoever seats a policy here wants no person to be asked."""
    asked = Asked.model_validate(question, from_attributes=True)
    return Answered(text=asked.default or next(iter(asked.choices), "decide yourself"))


def assess(*, criteria: Sequence[Mapping[str, Any]], **_: Any) -> Assessment:
    """Code is no reader: every verdict is unknown."""
    rows = [Judged(id=row["id"], verdict="unknown", reason="nobody has read the result") for row in criteria]
    return Assessment(verdicts=rows)


def shortfall(**_: Any) -> Confirmed:
    """Go on; the shortfall is in the summary."""
    return Confirmed(met=True)


def confirm_result(**_: Any) -> Confirmed:
    """Code cannot speak for the user: what is critical stays unconfirmed, which is a gap."""
    return Confirmed(met=False)


def escalate(**_: Any) -> Escalation:
    return Escalation(decision="stop")


BY_STEP: dict[str, Callable[..., Any]] = {
    "classify": classify, "research": research, "analyse": analyse, "ideal": ideal, "assess": assess,
    "answer": answer, "shortfall": shortfall, "confirm_result": confirm_result, "escalate": escalate,
}  # fmt: skip


def played(question: Question, skill: float, dice: random.Random) -> BaseModel | None:
    """A simulation of the design's roles: with probability `skill` as the policy, else a mistake of that role."""
    context = question.context
    if question.step == "assess":
        return Assessment(
            verdicts=[_read(row, context["measured"], dice.random() < skill) for row in context["criteria"]]
        )
    if question.step == "confirm_result":
        return Confirmed(met=dice.random() < skill or bool(context["measured"]))
    fn = BY_STEP.get(question.step)
    value = fn(**context) if fn else None
    if isinstance(value, IdealState) and dice.random() >= skill:
        return value.model_copy(update={"metrics": [], "exits": value.exits[:1]})  # an interview with gaps in it
    return value


def _read(row: Mapping[str, Any], measured: Mapping[str, bool], right: bool) -> Judged:
    truth = measured.get(row["id"], True)
    verdict = "met" if truth == right else "not_met"
    return Judged(id=row["id"], verdict=verdict, reason=f"a simulated reader of it, {'right' if right else 'wrong'}")
