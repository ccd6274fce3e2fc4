"""The cells (task and seed) that all arms have in common, and what must be known of the runs that are left."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from looper.budget import CAPS
from looper.lab.comparable.sieve import Row, Sieve

SHARE = 0.5
"""An arm that would cost all others more than this share of their common cells is left out itself."""
SHOWN = 3
"""Names that a sentence lists at most."""


def in_common(sieve: Sieve) -> None:
    """The tasks and seeds that every arm was run on; an arm that shares too little with the others is left out."""
    cells = {label: set(_cells(own)) for label, own in sieve.runs.groupby("label", sort=False)}
    while len(cells) > 1:
        common = set.intersection(*cells.values())
        smallest = min(cells, key=lambda label: (len(cells[label]), str(label)))
        others = set.intersection(*(own for label, own in cells.items() if label != smallest))
        if common and (len(cells) == 2 or len(common) >= SHARE * len(others)):
            break
        del cells[smallest]
        shared = f"it shares {len(common)} of the {len(others)} cells (task and seed) that the others have in common"
        count = sieve.refuse(sieve.runs["label"] == smallest, lambda run, why=shared: why)
        sieve.notes.append(f"{smallest} was left out ({count} runs): {shared}.")
    if cells:
        _reduce(sieve, {str(label): own for label, own in cells.items()})


def _reduce(sieve: Sieve, cells: dict[str, set[tuple[Any, Any]]]) -> None:
    common = set.intersection(*cells.values())
    apart = pd.Series([cell not in common for cell in _cells(sieve.runs)], index=sieve.runs.index, dtype=bool)

    def why(run: Row) -> str:
        missing = sorted(label for label, own in cells.items() if (run["task"], run["seed"]) not in own)
        more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
        return f"there is no comparable run of {', '.join(missing[:SHOWN])}{more} on this task and seed"

    before = len(set(_cells(sieve.runs)))
    if sieve.refuse(apart, why):
        sieve.notes.append(
            f"Compared on the {len(common)} of {before} cells (task and seed) that all designs have in common."
        )


def _cells(runs: pd.DataFrame) -> list[tuple[Any, Any]]:
    return list(zip(runs["task"], runs["seed"], strict=True))


def told(sieve: Sieve) -> None:
    """What is no reason to refuse and must be known."""
    runs = sieve.runs
    by_roles = runs[~runs["checks_by"].isin(("code", "unknown")) & runs["holdout"].isna()]
    if len(by_roles):
        who = ", ".join(sorted(set(by_roles["checks_by"])))
        sieve.notes.append(
            f"In {len(by_roles)} run(s) roles wrote checks of their own gate ({who}) and there are no hidden checks: "
            "their scores are their own judgement in part."
        )
    for kind in sorted(set(runs["synthetic"]) - {""}):
        count = int((runs["synthetic"] == kind).sum())
        sieve.notes.append(f"{count} run(s) rest on a {kind}: they say nothing about a model at work today.")
    if forks := int((runs["forked"] != "").sum()):
        sieve.notes.append(f"{forks} run(s) are forks: they share their first steps with the run that they come from.")
    if learnt := sum(map(_recalls, runs["outer_loop"], runs["settings"])):
        sieve.notes.append(
            f"{learnt} run(s) were shown what earlier runs had learnt: they are not independent; give outer.recall=0."
        )
    caps = {label: _caps(own) for label, own in runs.groupby("label", sort=False)}
    if len(set(caps.values())) > 1:
        each = "; ".join(f"{label}: {words}" for label, words in caps.items())
        sieve.notes.append(f"Budgets are not equal: {each}.")


def _recalls(outer: str, settings: Mapping[str, str]) -> bool:
    """Whether the outer loop of a run is shown earlier episodes."""
    return outer != "none" and settings.get("outer.recall") not in ("0", "null", None)


def _caps(runs: pd.DataFrame) -> str:
    """The budgets of these runs in words."""
    found = [
        ", ".join(f"{cap} {own[f'budget.{cap}']}" for cap in CAPS if own.get(f"budget.{cap}", "null") != "null")
        or "no cap"
        for own in runs["settings"]
    ]
    return " or ".join(sorted(set(found)))
