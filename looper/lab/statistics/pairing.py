"""Two designs side by side: the same task, the same seed."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from looper.errors import ConfigError
from looper.lab.statistics.frames import distinct, labels, needed, numbers, rows

SHOWN = 3
"""How many missing runs an error names; the rest are counted."""
Cell = tuple[Any, Any]
"""Task and seed."""


def listed(cells: Iterable[Cell]) -> str:
    """`a seed 0, a seed 1, b seed 0 and 4 more`."""
    names = [f"{task} seed {seed}" for task, seed in sorted(cells, key=str)]
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def arm(runs: pd.DataFrame, design: str, value: str) -> dict[Cell, float]:
    """`value` of the design's runs by task and seed; each cell must be there once, with a number."""
    own = rows(runs, runs["design"] == design)
    if own.empty:
        known = ", ".join(sorted(map(str, distinct(runs, "design"))))
        raise ConfigError(f"There is no run of the design {design}; there are runs of {known}.")
    cells = list(zip(labels(own, "task"), labels(own, "seed"), strict=True))
    found = dict(zip(cells, map(float, numbers(own, value)), strict=True))
    if len(found) < len(cells):
        twice = {cell for cell in found if cells.count(cell) > 1}
        raise ConfigError(f"The design {design} has more than one run of {listed(twice)}; keep one of each.")
    unknown = [cell for cell, number in found.items() if np.isnan(number)]
    if unknown:
        raise ConfigError(f"The runs of the design {design} have no {value} on {listed(unknown)}; leave these out.")
    return found


def pairs(runs: pd.DataFrame, a: str, b: str, value: str = "score") -> pd.DataFrame:
    """The runs of designs `a` and `b` on the same task and seed: task, seed, a, b and the difference a - b.

    Raises ConfigError where a design, a cell or a value is missing: an unpaired run is not left out in silence.
    """
    needed(runs, ("task", "design", "seed", value))
    left, right = arm(runs, a, value), arm(runs, b, value)
    for design, missing in ((b, left.keys() - right.keys()), (a, right.keys() - left.keys())):
        if missing:
            raise ConfigError(
                f"The design {design} has no run of {listed(missing)}, so {a} and {b} cannot be paired; run these or "
                "leave the other's out."
            )
    table = pd.DataFrame(
        [(task, seed, left[task, seed], right[task, seed]) for task, seed in left], columns=["task", "seed", "a", "b"]
    )
    return table.assign(difference=table["a"] - table["b"]).sort_values(["task", "seed"], ignore_index=True)
