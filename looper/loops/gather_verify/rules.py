"""One rule set: the ideal state's criteria and anti-criteria beside the rules of the task (SPEC 5.4).

must = fail, should = warn, nice = info. A criterion that names a rule of the task is that rule; one with a typed check
becomes a rule of the gate; what only a reader or the user can tell is verified in VERIFY alone.
"""

import re
from collections.abc import Sequence

from pydantic import BaseModel

from looper.checks.kinds import Check
from looper.criteria import WEIGHTS, Criteria, Rule, Severity
from looper.errors import PhaseError
from looper.loops.gather_verify.answers import AntiCriterion, Criterion, IdealState, Way
from looper.loops.gather_verify.answers import Severity as Wanted
from looper.tasks.contracts import Proposal, ProposedRule

AS: dict[Wanted, Severity] = {"must": "fail", "should": "warn", "nice": "info"}
NAMES: dict[str, Wanted] = {"fail": "must", "warn": "should", "info": "nice"}
_ORDER = ("info", "warn", "fail")


class Added(BaseModel, frozen=True):
    """A rule that the ideal state adds to the gate, with the check that verifies it."""

    rule: Rule
    check: Check
    criterion: str
    """Id in the ideal state."""
    anti: bool = False


class Aim(BaseModel):
    """What the ideal state asks of a gate."""

    added: list[Added] = []
    raised: dict[str, Severity] = {}
    """By rule of the task: the severity that the ideal state gives it, where it is stricter."""
    relaxed: list[str] = []
    """Rules that the user has made nice to have."""
    left_out: list[str] = []
    """Rules that the user has left out, of the task and added ones."""

    def over(self, given: Criteria) -> Criteria:
        """The task's criteria with these rules."""
        rules = [self._changed(rule) for rule in given.rules]
        rules += [self._changed(one.rule) for one in self.added if one.rule.id not in self.left_out]
        return Criteria(rules=rules, phases=given.phases)

    def _changed(self, rule: Rule) -> Rule:
        wanted: Severity = "info" if rule.id in self.relaxed else self.raised.get(rule.id, rule.severity)
        if wanted == rule.severity:
            return rule
        weight = WEIGHTS[wanted] if wanted == "info" else max(rule.weight, WEIGHTS[wanted])
        return rule.model_copy(update={"severity": wanted, "weight": weight})

    def rule_of(self, each: Criterion | AntiCriterion) -> str | None:
        """The id in the gate of a criterion or anti-criterion; None if it is verified in VERIFY alone."""
        way = each.detect if isinstance(each, AntiCriterion) else each.verify
        own = next((one.rule.id for one in self.added if one.criterion == each.id), None)
        return own or way.rule or None


def aim(ideal: IdealState, given: Criteria) -> Aim:
    """The rules that an ideal state adds to a gate, and those that it makes stricter; it never makes one milder."""
    phase = given.phases[0].name
    known = {rule.id: rule for rule in given.rules}
    added = [_added(one, phase) for one in ideal.criteria if one.verify.check is not None]
    added += [_never(one, phase) for one in ideal.anti_criteria if one.detect.check is not None]
    wanted: list[tuple[str, Severity]] = [(one.verify.rule, AS[one.severity]) for one in ideal.criteria]
    never: list[tuple[str, Severity]] = [(one.detect.rule, "fail") for one in ideal.anti_criteria]
    raised: dict[str, Severity] = {}
    for name, how in (*wanted, *never):
        if name in known and _stricter(how, raised.get(name, known[name].severity)):
            raised[name] = how
    return Aim(added=added, raised=raised)


def _added(one: Criterion, phase: str) -> Added:
    rule = Rule(
        id=f"{phase.lower()}.ideal.{one.id}", description=one.description, severity=AS[one.severity], phase=phase
    )
    assert one.verify.check is not None
    return Added(rule=rule, check=one.verify.check, criterion=one.id)


def _never(one: AntiCriterion, phase: str) -> Added:
    """A veto: it blocks when it has happened, and adds nothing to the score when it has not (SPEC 5.5)."""
    rule = Rule(id=f"{phase.lower()}.never.{one.id}", description=f"not: {one.description}", phase=phase, weight=0.0)
    assert one.detect.check is not None
    return Added(rule=rule, check=one.detect.check, criterion=one.id, anti=True)


def _stricter(wanted: str, now: str) -> bool:
    return _ORDER.index(wanted) > _ORDER.index(now)


def proposal(ideal: IdealState) -> tuple[IdealState, Proposal, dict[str, list[Check]]]:
    """For a task without rules: the criteria as its rules, what verifies them, and the ideal state that names them.

    Criteria that only the user can confirm are no rules of a gate. Raises PhaseError if nothing is left.
    """
    made = {
        one.id: f"a.quality.{re.sub(r'[^a-z0-9]+', '-', one.id)}" for one in ideal.criteria if not one.verify.person
    }
    if not any(one.severity == "must" and one.id in made for one in ideal.criteria):
        raise PhaseError(
            "the task has no rules, and the ideal state has no criterion that must hold: nothing to aim at."
        )
    own = [one for one in ideal.criteria if one.id in made]
    rules = [
        ProposedRule(
            id=made[one.id], description=one.description or one.id, severity=AS[one.severity],
            check=one.verify.judge or one.description or one.id,
        )
        for one in own
    ]  # fmt: skip
    checks = {made[one.id]: [one.verify.check] for one in own if one.verify.check is not None}
    named = [
        one.model_copy(update={"verify": Way(rule=made[one.id])}) if one.id in made else one for one in ideal.criteria
    ]
    return ideal.model_copy(update={"criteria": named}), Proposal.model_construct(rules=rules), checks


def rows(rules: Sequence[Rule]) -> list[dict[str, str]]:
    """Rules of a task as the interviewer reads them."""
    return [
        {"id": rule.id, "severity": NAMES[rule.severity], "description": rule.description or rule.check or rule.id}
        for rule in rules
    ]
