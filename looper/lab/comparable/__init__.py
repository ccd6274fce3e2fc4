"""Which runs may be compared: the others are refused, each with its reason (SPEC 6.2).

Intention to treat: a design that broke down (`failed`, `phase_error`) has earned its 0, and so has one that handed over
nothing. A run that never began, waits, or was ended by a person says nothing about its design and is no data.
"""

from dataclasses import dataclass, field

import pandas as pd

from looper.errors import ConfigError
from looper.lab.comparable import common, footing, refusing
from looper.lab.comparable.footing import SCORES
from looper.lab.comparable.sieve import REFUSED, Sieve

__all__ = ["REFUSED", "SCORES", "Comparable", "comparable"]


@dataclass(frozen=True)
class Comparable:
    """What may be compared, and what may not."""

    runs: pd.DataFrame
    """Every arm (`label`) on the same tasks and seeds, scores on one footing; `reported` is the gate's own score."""
    refused: pd.DataFrame
    """Columns run, task, label, seed, reason."""
    notes: list[str] = field(default_factory=list)
    """What a reader of the comparison must know, a sentence each."""


def comparable(runs: pd.DataFrame, value: str = "score") -> Comparable:
    """The runs that may be compared by `value` (`score`, `gate_score`, `holdout`, or the name of an account).

    Raises ConfigError if no run is left.
    """
    sieve = Sieve(runs.assign(reported=runs["gate_score"]))
    checks = (refusing.recorded, refusing.replaced, refusing.ended, refusing.same_task, refusing.same_prices)
    for step in (*checks, refusing.same_version):
        step(sieve)
    refusing.same_checks(sieve, value)
    refusing.once_each(sieve)
    footing.broken_down(sieve)
    footing.measured(sieve)
    footing.one_footing(sieve, value)
    if value in SCORES:
        lost = {"holdout": "its task has no hidden checks; compare by value=gate_score", "score": "it has no score"}
        sieve.refuse(sieve.runs[value].isna(), lambda run: lost.get(value, "its gate gave no score"))
    common.in_common(sieve)
    common.told(sieve)
    if sieve.runs.empty:
        first = sieve.refused[0]["reason"] if sieve.refused else "there is none"
        raise ConfigError(f"compare: none of {len(runs)} runs can be compared; the first was refused because {first}.")
    return Comparable(sieve.runs.reset_index(drop=True), sieve.table(), sieve.notes)
