"""The trivial rivals, which belong to every comparison of designs unless switched off (SPEC 6.4)."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from looper.budget import CAPS
from looper.errors import ConfigError
from looper.loops.draw import CASCADE, RIVALS, TRIVIAL


@dataclass(frozen=True)
class Kind:
    """A combination of parts that the sweep has cells of."""

    around: frozenset[str]
    """Its overrides that choose a part, but for the design."""
    budget: Mapping[str, Any]
    agents: Mapping[str, Any]
    ablated: bool = False


def wanted(setting: object) -> bool:
    """Whether the setting `rivals` asks for them. Raises ConfigError for anything but yes and no."""
    word = str(setting).lower()
    if word not in ("yes", "no", "true", "false"):
        raise ConfigError(f"rivals={setting}: yes adds the trivial rivals to a sweep over designs, no leaves them out.")
    return word in ("yes", "true")


def missing(axes: Mapping[str, Sequence[str]], kinds: Sequence[Kind]) -> list[str]:
    """The rivals that a sweep with these values of its keys lacks; none if it does not compare designs.

    A cascade takes two models: it is wanted where `agents.cheap.model` and `agents.dear.model` are set.
    """
    designs = {text.partition("=")[2] for text in axes.get("loop", ())}
    if len(designs) < 2 or designs <= set(RIVALS):
        return []
    two = any(all((kind.agents.get(stage) or {}).get("model") for stage in ("cheap", "dear")) for kind in kinds)
    return [name for name in (*TRIVIAL, *([CASCADE] if two else [])) if name not in designs]


def cells(axes: Mapping[str, Sequence[str]], names: Sequence[str], kinds: Sequence[Kind]) -> list[list[str]]:
    """Each rival wherever the designs are run. What is set of a design, or ablated, is not theirs.

    Of budgets that were not typed a rival has the largest that the designs have in its place: none is starved.
    """
    kept = {key: values for key, values in axes.items() if not _of_designs(key)}
    typed = {key.lstrip("+") for key in kept}
    whole = ["ablate=null"] if any(kind.ablated for kind in kinds) else []
    found = []
    for cell in itertools.product(*kept.values()):
        there = [kind.budget for kind in kinds if kind.around <= set(cell)]
        same = [text for cap, text in _largest(there) if not {"budget", f"budget.{cap}"} & typed]
        found += [[*cell, *same, *whole, f"loop={name}"] for name in names]
    return found


def _of_designs(key: str) -> bool:
    return key.lstrip("+~") in ("loop", "ablate") or key.lstrip("+~").startswith("loop.")


def _largest(budgets: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """The caps in which budgets differ, each with the override that gives the largest; 0 seconds are no limit."""
    for cap in CAPS:
        values = {None if cap == "seconds" and not budget.get(cap) else budget.get(cap) for budget in budgets}
        given = [value for value in values if value is not None]
        if len(values) > 1:
            yield cap, f"budget.{cap}={max(given) if len(given) == len(values) else 'null'}"
