"""The gate of a document: its rules as the owner wants them, and the checks that verify each of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from looper.checks.bench import Bench
from looper.checks.examine import examine, vacuous
from looper.checks.kinds import CHECK, Check, Judge
from looper.criteria import Criteria, Evaluation, Phase, Rule
from looper.errors import ConfigError
from looper.tasks.contracts import Confirmation, Proposal
from looper.tasks.document.probes import together
from looper.tasks.document.rules import Template, edited, typed
from looper.tasks.document.states import Artifact, Prepared


class Gate:
    """Rules and checks of one task."""

    def __init__(self, template: Template, checks: Mapping[str, Sequence[Mapping[str, Any]]], bench: Bench):
        """`template` with the task's own rows, `checks` of the task in place of those of the rows."""
        self.template = template
        self.configured = self.criteria = template.criteria()
        self.bench = bench
        own = {rule: typed(rule, rows) for rule, rows in checks.items()}
        if strange := sorted(own.keys() - {rule.id for rule in self.criteria.rules}):
            raise ConfigError(f"task.checks.{strange[0]}: there is no rule of this id.")
        self._given: dict[str, list[Check]] = {**template.checks(), **own}
        self.known = dict(self._given)
        self._says_nothing: dict[str, bool] = {}

    def adopt(self, proposal: Proposal | None, checks: Mapping[str, Sequence[Check]]) -> None:
        """The rules of a proposal, with checks of theirs, in place of none; None: as configured."""
        self.known = {**self._given, **{rule: list(own) for rule, own in checks.items()}}
        rows = [rule.model_dump() for rule in proposal.rules] if proposal else []
        self.configured = self.criteria = self.template.extended(rows).criteria()

    def amend(self, word: Confirmation) -> None:
        """The configured rules and thresholds with the changes of a word, in place of those of an earlier one."""
        self.criteria = edited(self.configured, word)

    def checks(self, state: Artifact) -> dict[str, list[Check]]:
        """The checks of every rule that is active in the state's phase; without any, a judge decides."""
        return {
            rule.id: self.known.get(rule.id) or state.prepared.get(rule.id) or [asked_of_a_judge(rule)]
            for rule in self.criteria.active(state.phase)
        }

    def judged(self) -> list[str]:
        """Rules that a judge may be asked about: those without checks, and those whose checks ask one."""
        return [
            rule.id
            for rule in self.criteria.rules
            if rule.id not in self.known or any(isinstance(check, Judge) for check in self.known[rule.id])
        ]

    def unprepared(self, phase: str) -> list[Rule]:
        return [rule for rule in self.criteria.active(phase) if rule.id not in self.known and rule.phase == phase]

    def vacuous(self, prepared: Prepared) -> list[str]:
        """Rules with a check that says nothing of an artifact, or that no rule is waiting for."""
        waiting = {rule.id for rule in self.criteria.rules if rule.id not in self.known}
        return sorted({each.rule for each in prepared.checks if each.rule not in waiting or self._empty(each.check)})

    def _empty(self, check: Check) -> bool:
        """Whether a check passes on nothing at all; it is tried once."""
        key = CHECK.dump_json(check).decode()
        if key not in self._says_nothing:
            self._says_nothing[key] = vacuous(check, self.bench)
        return self._says_nothing[key]

    def equipped(self, state: Artifact, prepared: Prepared) -> Artifact:
        """The state with those of the prepared checks that say something."""
        useless = set(self.vacuous(prepared))
        rows: dict[str, list[Check]] = {}
        for each in prepared.checks:
            if each.rule not in useless:
                rows.setdefault(each.rule, []).append(each.check)
        return state.model_copy(update={"prepared": {**state.prepared, **rows}})

    def hidden(self, checks: Mapping[str, Sequence[Mapping[str, Any]]], artifact: str) -> Evaluation:
        """The verdict of checks that nobody sees, each of the same weight."""
        rules = [Rule(id=name, weight=1.0) for name in checks]
        found = {
            name: together([examine(check, artifact, self.bench) for check in typed(f"holdout_checks.{name}", rows)])
            for name, rows in checks.items()
        }
        return Criteria(rules=rules, phases=[Phase(name="A", threshold=1.0)]).evaluate(found)


def asked_of_a_judge(rule: Rule) -> Judge:
    """The check of a rule that has none."""
    words = f"{rule.description} {rule.check}".strip() or rule.id
    return Judge(kind="judge", question=words[:2000])
