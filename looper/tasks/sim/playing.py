"""Who plays the roles of a simulation: drafts, changes, critiques and verdicts, thrown by the planted odds."""

import random
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from looper.criteria import Evaluation
from looper.errors import ConfigError
from looper.tasks.contracts import MOST_ISSUES, Critique, Draft, Issue, by_rules
from looper.tasks.sim.states import Change, Decision, Handed, Judgement, NewPlan, Piece, Plan, Unprepared, WorkOn
from looper.tasks.sim.truth import code_for, code_for_both, meets

if TYPE_CHECKING:
    from looper.tasks.sim.task import Sim


class Player:
    """A role of a skill, with its dice."""

    def __init__(self, task: "Sim", skill: float, dice: random.Random):
        self.task, self.skill, self.dice = task, skill, dice

    def answer(self, step: str, context: Mapping[str, Any]) -> BaseModel:
        """The answer to a kind of question. Raises ConfigError for one that a simulation does not know."""
        known: dict[str, Callable[[Mapping[str, Any]], BaseModel]] = {
            "plan": self.plan, "replan": lambda seen: NewPlan(plan=self.plan(seen)),
            "evaluate": lambda seen: Handed(text=seen["state"].last), "produce": self.produce,
            "act": self.act, "write": self.act, "critique": self.critique, "judge": self.judge,
            "decide": self.decide, "prepare_checks": lambda _: Unprepared(),
        }  # fmt: skip
        if step not in known:
            raise ConfigError(f"sim: nobody plays `{step}`; give a model or a person for it.")
        return known[step](context)

    # Writers

    def plan(self, context: Mapping[str, Any]) -> Plan:
        useful = self.luck(self.task.truth.planning)
        step = "meet every rule" if useful else "do what does not help"
        return Plan(steps=[f"{step} (simulated)"], draft=self.draft(useful, context), useful=useful)

    def produce(self, context: Mapping[str, Any]) -> Draft:
        return Draft(text=self.draft(getattr(context.get("plan"), "useful", True), context))

    def draft(self, useful: bool, context: Mapping[str, Any]) -> str:
        """A code for every rule; of a result that was sent back only what its gaps name is written anew."""
        left = 1.0 if useful else self.task.truth.misled
        before = (context.get("outer") or {}).get("previous")
        if before:
            change = self.act({"state": self.task.parse(before), "outer": context["outer"]})
            return rendered({**self.task.parse(before).parts, **change.codes})
        return rendered({rule: self.code(rule, left * odds.satisfy) for rule, odds in self.task.odds.items()})

    def act(self, context: Mapping[str, Any]) -> Change:
        """A change of what is there; rules that were named are worked on, others change by luck or by mistake."""
        state: Piece = context.get("state") or self.task.observe(None)
        named = named_in(context, self.task.odds)
        codes = {rule: code for rule in self.task.odds if (code := self.changed(rule, state, named))}
        return Change(codes=codes, why=f"{', '.join(sorted(named)) or 'all'}: {len(codes)} codes written (simulated)")

    def changed(self, rule: str, state: Piece, named: Collection[str]) -> str | None:
        """The new code of a rule, None where it stays as it is. A repair that fails writes another bad one."""
        odds, code = self.task.odds[rule], state.parts.get(rule)
        if hidden_twin(rule) in named:
            if self.luck(odds.repair):
                return code_for_both(self.task.instance, rule, self.task.truth, self.dice)
            if rule in named and not meets(self.task.instance, rule, code):
                return code_for(self.task.instance, rule, False, self.dice)
        if code is None:
            return self.code(rule, odds.satisfy) if rule in named or not named else None
        if meets(self.task.instance, rule, code):
            broken = self.dice.random() < odds.damage
            return code_for(self.task.instance, rule, False, self.dice) if broken else None
        if rule in named:
            return self.code(rule, odds.repair)
        mended = self.luck(odds.unnamed)
        return code_for(self.task.instance, rule, True, self.dice) if mended else None

    def code(self, rule: str, probability: float) -> str:
        return code_for(self.task.instance, rule, self.luck(probability), self.dice)

    def luck(self, probability: float) -> bool:
        """Whether the good thing happens, to somebody of this skill."""
        return self.dice.random() < self.skill * probability

    # Readers

    def critique(self, context: Mapping[str, Any]) -> Critique:
        """The failed rules that the critic sees, at least one; now and then a rule that did not fail."""
        verdict: Evaluation = context["evaluation"]
        seen = [rule for rule in verdict.failed if self.luck(1 - self.task.truth.miss)]
        seen = seen or [self.dice.choice(verdict.failed)]
        kept = verdict.model_copy(update={"failed": seen})
        issues = by_rules(evaluation=kept, notes=context["notes"], regressions=context["regressions"]).issues
        met = [rule.id for rule in self.task.criteria.active(verdict.phase) if rule.id not in verdict.failed]
        if self.dice.random() < self.task.truth.wrong and met:
            issue = Issue(rule=self.dice.choice(met), problem="it seems not to be met", fix="meet it")
            issues = [*issues[: MOST_ISSUES - 1], issue]
        return Critique(issues=issues)

    def judge(self, context: Mapping[str, Any]) -> Judgement:
        """The truth, but for the planted errors."""
        truth, planted = meets(self.task.instance, context["rule"], context["code"]), self.task.truth
        right = self.luck(1 - (planted.false_reject if truth else planted.false_accept))
        return Judgement(met=truth == right, reason="judged by dice (simulated)")

    def decide(self, context: Mapping[str, Any]) -> Decision:
        """What the policy says; without skill any failed rule."""
        said = self.task.policies()[0].decide(**{k: context[k] for k in ("state", "signals", "memory", "level")})
        if said is None or self.dice.random() < self.skill:
            return Decision(action=said)
        return Decision(action=WorkOn(rule=self.dice.choice(self.task.evaluate(context["state"]).failed)))


def named_in(context: Mapping[str, Any], rules: Collection[str]) -> set[str]:
    """The rules that somebody named as what to work on: a critique, a plan's task, a policy, feedback on a board, the
    gaps of an outer loop. Gaps name hidden twins too.
    """
    said = [context[key] for key in ("critique", "planned", "rule", "address") if context.get(key)]
    texts = [one.model_dump_json() if isinstance(one, BaseModel) else str(one) for one in said]
    gaps = {str(gap["criterion"]) for gap in (context.get("outer") or {}).get("gaps", [])}
    found = {rule for rule in rules if rule in gaps or any(rule in text for text in texts)}
    return found | {hidden_twin(rule) for rule in rules if hidden_twin(rule) in gaps}


def hidden_twin(rule: str) -> str:
    """The criterion that stands for what the gate does not say of a rule."""
    return f"hidden.{rule}"


def rendered(parts: Mapping[str, str]) -> str:
    """The artifact as text: a line for each rule."""
    return "\n".join(f"{rule}: {code}" for rule, code in parts.items())
