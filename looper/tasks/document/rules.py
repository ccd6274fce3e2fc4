"""Criteria templates: shorthand rows become full rules, each with the typed checks that verify it (document 003)."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field, ValidationError
from pydantic.dataclasses import dataclass

from looper.checks.kinds import CHECK, Check
from looper.criteria import Criteria, Phase, Rule
from looper.errors import ConfigError
from looper.tasks.contracts import Confirmation
from looper.tasks.document.library import source
from looper.types import STRICT

CATEGORIES = ("correctness", "completeness", "style", "performance", "security", "quality")
"""Second part of a rule's id (SPEC 2.8)."""
FILES = ("tests", "code")
"""Fields of a check that may name a file with @."""
INSERTED = re.compile(r'^([A-Z_]+) = "(@[\w./-]+)"$', re.MULTILINE)
"""A constant of such a file that is another file's text."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Template:
    """A named set of rules with its thresholds."""

    name: str
    """How people call it."""
    rules: list[dict[str, Any]]
    """Rows: id, description, and where they differ severity (fail), weight, phase (from the id), check, checks."""
    thresholds: dict[str, float] = Field(default_factory=lambda: {"A": 0.8, "B": 0.9})
    """By phase, in order; document 003's fallback."""

    def extended(self, rows: Sequence[Mapping[str, Any]]) -> "Template":
        """With a task's own rows; one with the id of a row that is there replaces it."""
        own = {str(row.get("id")): dict(row) for row in rows}
        kept = [own.pop(str(row.get("id")), row) for row in self.rules]
        return dataclasses.replace(self, rules=[*kept, *own.values()])

    def criteria(self) -> Criteria:
        """Full rules and phases. Raises ConfigError for a row that cannot be one."""
        rules = [normalised(row) for row in self.rules]
        ids = [rule.id for rule in rules]
        if not self.thresholds:
            raise ConfigError(f"criteria {self.name}: there is no threshold; give one.")
        if double := sorted({name for name in ids if ids.count(name) > 1}):
            raise ConfigError(f"criteria {self.name}: the rule {double[0]} is there twice.")
        for rule in rules:
            if rule.phase not in self.thresholds:
                raise ConfigError(f"criteria {self.name}: {rule.id} is in phase {rule.phase}, which has no threshold.")
        return Criteria(rules=rules, phases=_phases(self.name, self.thresholds))

    def checks(self) -> dict[str, list[Check]]:
        """The typed checks that the rows bring, by rule."""
        return {row["id"]: typed(row["id"], row["checks"]) for row in self.rules if row.get("checks")}


def _phases(name: str, thresholds: Mapping[str, float]) -> list[Phase]:
    try:
        return [Phase(name=phase, threshold=threshold) for phase, threshold in thresholds.items()]
    except ValidationError as error:
        raise ConfigError(f"criteria {name}: a threshold lies between 0 and 1: {dict(thresholds)}.") from error


def normalised(row: Mapping[str, Any]) -> Rule:
    """The full rule of a shorthand row: phase from the id, weight from the severity (document 003, Rule Format)."""
    name = str(row.get("id", ""))
    parts = name.split(".")
    if len(parts) < 3 or parts[1] not in CATEGORIES or not all(parts):
        raise ConfigError(f"rule {name!r}: an id is PHASE.CATEGORY.NAME, with a category of {', '.join(CATEGORIES)}.")
    known = {key: value for key, value in row.items() if key != "checks"}
    try:
        rule = Rule.model_validate({"phase": parts[0].upper(), **known})
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(f"rule {name}: {'.'.join(map(str, first['loc']))}: {first['msg']}.") from error
    if rule.phase != parts[0].upper():
        raise ConfigError(f"rule {name}: its id says phase {parts[0].upper()}, not {rule.phase}; change one of them.")
    if rule.weight < 0 or (rule.severity == "info" and rule.weight > 0):
        raise ConfigError(f"rule {name}: a weight is 0 or more, and that of an info rule is 0, not {rule.weight:g}.")
    return rule


def typed(name: str, rows: Any) -> list[Check]:
    """Checks from plain data, files read. Raises ConfigError that names the rule and the field."""
    if not isinstance(rows, Sequence) or not all(isinstance(row, Mapping) for row in rows):
        raise ConfigError(f"checks of {name}: a list of checks is needed, each with its `kind`.")
    try:
        return [CHECK.validate_python(_read(row)) for row in rows]
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(f"checks of {name}: {'.'.join(map(str, first['loc']))}: {first['msg']}.") from error


def _read(row: Mapping[str, Any]) -> dict[str, Any]:
    """A check whose tests or code are a file (`@NAME/FILE`) with the file's text."""
    return {key: _text(value) if key in FILES and isinstance(value, str) else value for key, value in row.items()}


def _text(value: str) -> str:
    """What a field says. In a file, `NAME = "@NAME/FILE"` stands for that file's text: the sandbox holds the artifact
    alone. What stands in the configuration itself names no other file.
    """
    if not value.startswith("@"):
        return value
    return INSERTED.sub(lambda found: f"{found[1]} = {source(found[2])!r}", source(value))


def edited(criteria: Criteria, word: Confirmation) -> Criteria:
    """Criteria with other thresholds and without some rules. Raises ConfigError for what there is not."""
    ids, phases = {rule.id for rule in criteria.rules}, {phase.name for phase in criteria.phases}
    if strange := sorted({*word.leave_out} - ids) or sorted(word.thresholds.keys() - phases):
        raise ConfigError(f"the confirmation names {strange[0]}, which is no rule or phase of this task.")
    left = [rule for rule in criteria.rules if rule.id not in word.leave_out]
    if not left:
        raise ConfigError("the confirmation leaves out every rule; leave at least one.")
    phases_as_wanted = [Phase(name=p.name, threshold=word.thresholds.get(p.name, p.threshold)) for p in criteria.phases]
    return Criteria(rules=left, phases=phases_as_wanted)
