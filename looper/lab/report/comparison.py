"""Everything a report of a comparison shows, computed once: frames, no words."""

import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from looper.errors import ConfigError
from looper.lab import statistics
from looper.lab.ablation import worth, worthwhile
from looper.lab.comparable import comparable
from looper.lab.data import Source, histories_of, runs_of
from looper.lab.data.frame import Frame
from looper.lab.report.rivals import TRIVIAL, missing

ACCOUNTS = ("outer", "inner", "usd", "tokens", "calls")
"""What a run costs; a report shows those on which anything was spent."""
VALUES = ("score", "holdout", "gate_score", *(f"cost:{account}" for account in (*ACCOUNTS, "seconds")))
"""What can be compared."""
MARGIN = 0.05
"""Margin of equivalence: of a score, or as a share of the baseline's mean cost."""
POINTS = 61
"""Points of an anytime curve."""


@dataclass(frozen=True)
class Comparison:
    """Designs on the same tasks and seeds. In all frames `design` is the arm: with outer loop and swept settings."""

    runs: Frame
    refused: Frame
    notes: list[str]
    baseline: str
    value: str
    """A column of `runs`."""
    margin: float
    table: Frame
    """`statistics.compare`: each design against the baseline."""
    pairs: Frame
    """`statistics.all_pairs`."""
    history: Frame
    curves: dict[str, Frame] = field(default_factory=dict)
    """`statistics.anytime` by account."""
    fronts: dict[str, Frame] = field(default_factory=dict)
    """`statistics.pareto_share` by account."""
    gates: Frame | None = None
    """`statistics.gate_truth`; None where no task has hidden checks."""
    after: Frame | None = None
    """`statistics.after_correct`; None where hidden checks looked at results alone."""
    grid: Frame = field(default_factory=pd.DataFrame)
    """`statistics.per_task`."""
    roles: Frame | None = None
    """`looper.lab.ablation.worth`; None where no role was ablated, or costs are compared."""
    missing: tuple[str, ...] = ()
    """Trivial rivals that were not run (SPEC 6.4)."""
    lost: tuple[str, ...] = ()
    """Designs that were run, of which no run can be compared."""
    read: int = 0
    """Runs that were read, refused ones included."""

    @property
    def costs(self) -> bool:
        """Whether lower is better."""
        return self.value in (*ACCOUNTS, "seconds")

    @property
    def designs(self) -> list[str]:
        """The baseline first."""
        return [self.baseline, *(name for name in self.table["design"])]

    @property
    def accounts(self) -> list[str]:
        """On which anything was spent."""
        return [account for account in ACCOUNTS if self.runs[account].fillna(0).sum() > 0]


def compared(
    source: Source, *, baseline: str | None = None, value: str = "score", margin: float | None = None,
    designs: Sequence[str] | None = None, rivals: bool = True, seed: int = 0,
) -> Comparison:  # fmt: skip
    """Compare the designs of these runs. Raises ConfigError if nothing is left to compare.

    baseline: a label, e.g. `baseline` or `adaptive under gather_verify`. value: one of VALUES. margin: of equivalence,
    in units of the value; None: 0.05, or 5 % of the baseline's mean cost. designs: labels to keep, None for all.
    """
    column = column_of(value)
    known = runs_of(source)
    chosen = known if designs is None else _chosen(known, designs)
    allowed = comparable(chosen, column)
    runs: Frame = allowed.runs.assign(loop=allowed.runs["design"], design=allowed.runs["label"])
    first = _baseline(runs, baseline)
    told = margin if margin is not None else _margin(runs, first, column)
    cost = column not in ("score", "holdout", "gate_score")
    history = _history(runs)
    terms: Any = {"value": column, "margin": told, "seed": seed, "lower_is_better": cost, "bound": _cap(runs, column)}
    return Comparison(
        runs=runs, refused=allowed.refused, notes=allowed.notes, baseline=first, value=column, margin=told,
        read=len(chosen),
        table=statistics.compare(runs, first, **terms), pairs=statistics.all_pairs(runs, **terms),
        history=history, curves=_curves(history, runs, seed), fronts=_fronts(runs, seed),
        gates=statistics.gate_truth(runs) if runs["holdout"].notna().any() else None,
        after=statistics.after_correct(runs),
        grid=_grid(runs, column, cost), roles=None if cost else _roles(runs, column, told, seed),
        missing=missing(chosen) if rivals else (),
        lost=tuple(sorted(set(chosen["label"]) - set(runs["label"]))),
    )  # fmt: skip


def column_of(value: str) -> str:
    """The column behind `score` or `cost:usd`. Raises ConfigError for another one."""
    if value not in VALUES:
        near = difflib.get_close_matches(value, [*VALUES, *ACCOUNTS], 1, 0.5)
        hint = f"did you mean `{near[0] if near[0] in VALUES else f'cost:{near[0]}'}`?" if near else ""
        raise ConfigError(
            f"value={value}: there is no such value; {hint + ' ' if hint else ''}there are: {', '.join(VALUES)}."
        )
    return value.removeprefix("cost:")


def _chosen(runs: Frame, designs: Sequence[str]) -> Frame:
    for name in designs:
        _known(name, list(runs["label"].unique()), "designs")
    return runs[runs["label"].isin(list(designs))]


def _known(name: str, labels: list[str], where: str) -> str:
    if name in labels:
        return name
    near = difflib.get_close_matches(name, labels, 1)
    hint = f"did you mean `{near[0]}`?" if near else f"there are: {'; '.join(sorted(labels))}."
    raise ConfigError(f"{where}={name}: no run that can be compared is of this design; {hint}")


def _baseline(runs: Frame, name: str | None) -> str:
    """The one that was named; else the design `baseline`, a trivial rival, or the cheapest."""
    labels = list(dict.fromkeys(runs["label"]))
    if len(labels) < 2:
        raise ConfigError(
            f"compare: only {labels[0]} can be compared, and it takes two; run another design on the same tasks and "
            "seeds (`looper compare --json` lists what was refused, where there are more)."
        )
    if name is not None:
        return _known(name, labels, "baseline")
    for wanted in ("baseline", *TRIVIAL):
        if wanted in labels:
            return wanted
    costs = runs.groupby("label", sort=False)[["outer", "inner"]].mean()
    return str(costs.sort_values(["outer", "inner"]).index[0])


def _cap(runs: Frame, column: str) -> float | None:
    """The highest cap of this account that runs had; None if one had none. Replans refill the inner units."""
    if column not in ACCOUNTS or column == "inner":
        return None
    caps = [settings.get(f"budget.{column}") for settings in runs["settings"]]
    return None if any(cap in (None, "null", "None") for cap in caps) else max(float(cap) for cap in caps)


def _margin(runs: Frame, baseline: str, column: str) -> float:
    if column in ("score", "holdout", "gate_score"):
        return MARGIN
    return MARGIN * float(runs.loc[runs["label"] == baseline, column].mean())


def _grid(runs: Frame, column: str, cost: bool) -> Frame:
    """Means by task and design; `best` is the lowest cost or the highest score."""
    grid: Frame = statistics.per_task(runs, column)
    if not cost:
        return grid
    return grid.assign(best=grid["mean"] <= grid.groupby("task")["mean"].transform("min") + 1e-12)


def _roles(runs: Frame, column: str, margin: float, seed: int) -> Frame | None:
    return worth(runs, value=column, margin=margin, seed=seed) if worthwhile(runs) else None


def _history(runs: Frame) -> Frame:
    """Evaluated steps of these runs; a design that broke down keeps what it reached on the way."""
    return histories_of(runs)


def _curves(history: Frame, runs: Frame, seed: int) -> dict[str, Frame]:
    if not len(history):
        return {}
    spent = [account for account in ACCOUNTS if history[account].fillna(0).max() > 0]
    return {account: statistics.anytime(history, account, points=POINTS, runs=runs, seed=seed) for account in spent}


def _fronts(runs: Frame, seed: int) -> dict[str, Frame]:
    usable = runs.dropna(subset=["score"])
    found = {}
    for account in ACCOUNTS:
        spent = usable[account].fillna(0)
        if math.isclose(float(spent.sum()), 0.0) or usable["label"].nunique() < 2:
            continue
        found[account] = statistics.pareto_share(usable.assign(**{account: spent}), account, seed=seed)
    return found
