"""Criteria templates: shorthand rows become full rules, each with the typed checks that verify it (document 003)."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field, ValidationError
from pydantic.dataclasses import dataclass

from looper.checks.kinds import CHECK, Check
from looper.criteria import Criteria, Phase, Rule
from looper.errors import ConfigError
from looper.types import STRICT

CATEGORIES = ("correctness", "completeness", "style", "performance", "security", "quality")
"""Second part of a rule's id (SPEC 2.8)."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Template:
    """A named set of rules with its thresholds."""

    name: str
    """How people call it."""
    rules: list[dict[str, Any]]
    """Rows: id, description, and where they differ severity (fail), weight, phase (from the id), check, checks."""
    thresholds: dict[str, float] = Field(default_factory=lambda: {"A": 0.8, "B": 0.9})
    """By phase, in order; document 003's fallback."""

    def criteria(self) -> Criteria:
        """Full rules and phases. Raises ConfigError for a row that cannot be one."""
        rules = [normalised(row) for row in self.rules]
        ids = [rule.id for rule in rules]
        if double := sorted({name for name in ids if ids.count(name) > 1}):
            raise ConfigError(f"criteria {self.name}: the rule {double[0]} is there twice.")
        for rule in rules:
            if rule.phase not in self.thresholds:
                raise ConfigError(f"criteria {self.name}: {rule.id} is in phase {rule.phase}, which has no threshold.")
        return Criteria(rules=rules, phases=[Phase(name=n, threshold=t) for n, t in self.thresholds.items()])

    def checks(self) -> dict[str, list[Check]]:
        """The typed checks that the template brings, by rule."""
        return {row["id"]: typed(row["id"], row["checks"]) for row in self.rules if row.get("checks")}


def normalised(row: Mapping[str, Any]) -> Rule:
    """The full rule of a shorthand row: phase from the id, weight from the severity (document 003, Rule Format)."""
    name = str(row.get("id", ""))
    parts = name.split(".")
    if len(parts) < 3 or parts[1] not in CATEGORIES:
        raise ConfigError(f"rule {name!r}: an id is PHASE.CATEGORY.NAME, with a category of {', '.join(CATEGORIES)}.")
    known = {key: value for key, value in row.items() if key != "checks"}
    try:
        return Rule.model_validate({"phase": parts[0].upper(), **known})
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(f"rule {name}: {'.'.join(map(str, first['loc']))}: {first['msg']}.") from error


def typed(name: str, rows: Any) -> list[Check]:
    """Checks from plain data. Raises ConfigError that names the rule and the field."""
    try:
        return [CHECK.validate_python(dict(row)) for row in rows]
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(f"checks of {name}: {'.'.join(map(str, first['loc']))}: {first['msg']}.") from error
