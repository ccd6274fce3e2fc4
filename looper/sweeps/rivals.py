"""The trivial rivals at the same budget, which belong to every comparison of designs unless switched off (SPEC 6.4)."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from looper.errors import ConfigError
from looper.loops.draw import CASCADE, RIVALS, TRIVIAL

CAPS = ("inner", "outer", "usd", "tokens", "calls", "seconds")


def wanted(setting: object) -> bool:
    """Whether the setting `rivals` asks for them. Raises ConfigError for anything but yes and no."""
    word = str(setting).lower()
    if word not in ("yes", "no", "true", "false"):
        raise ConfigError(f"rivals={setting}: yes adds the trivial rivals to a sweep over designs, no leaves them out.")
    return word in ("yes", "true")


def missing(axes: Mapping[str, Sequence[str]], configs: Iterable[Mapping[str, Any]]) -> list[str]:
    """The rivals that a sweep with these values of its keys lacks; none if it does not compare designs.

    A cascade takes two models: it is wanted where `agents.cheap.model` and `agents.dear.model` are set.
    """
    designs = {text.partition("=")[2] for text in axes.get("loop", ())}
    if len(designs) < 2 or designs <= set(RIVALS):
        return []
    agents = [config.get("agents") or {} for config in configs]
    two = any(all((each.get(stage) or {}).get("model") for stage in ("cheap", "dear")) for each in agents)
    return [name for name in (*TRIVIAL, *([CASCADE] if two else [])) if name not in designs]


def cells(
    axes: Mapping[str, Sequence[str]], names: Sequence[str], configs: Iterable[Mapping[str, Any]]
) -> list[list[str]]:
    """Each rival wherever the designs are run. What is set of a design, or ablated, is not theirs.

    `configs` are settings of the designs: of budgets that were not typed, a rival has the largest, none is starved.
    """
    kept = {key: values for key, values in axes.items() if not _of_designs(key)}
    same = [f"budget.{cap}={value}" for cap, value in _largest([config.get("budget") or {} for config in configs])
            if not {"budget", f"budget.{cap}"} & {key.lstrip("+") for key in kept}]  # fmt: skip
    return [[*cell, *same, f"loop={name}"] for cell in itertools.product(*kept.values()) for name in names]


def _of_designs(key: str) -> bool:
    return key.lstrip("+~") in ("loop", "ablate") or key.lstrip("+~").startswith("loop.")


def _largest(budgets: Sequence[Mapping[str, Any]]) -> Iterable[tuple[str, Any]]:
    """The caps in which budgets differ."""
    for cap in CAPS:
        values = {budget.get(cap) for budget in budgets}
        given = [value for value in values if value is not None]
        if len(values) > 1:
            yield cap, max(given) if len(given) == len(values) else "null"
