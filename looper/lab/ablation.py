"""What each role of a design is worth: runs with the whole design against runs with one role ablated.

from looper.lab.ablation import worth
worth(runs_of("outputs/sweeps/roles"))
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from looper.agents.ablated import SETTING, Ablation
from looper.errors import ConfigError
from looper.lab.comparable import comparable
from looper.lab.data.frame import Frame
from looper.lab.data.variants import arms_of
from looper.lab.statistics import interval, pairs
from looper.lab.statistics.comparing import Terms, table
from looper.lab.statistics.frames import labels, numbers

COLUMNS = (
    "design", "role", "how", "n", "tasks", "full", "ablated", "difference", "low", "high", "p_holm", "cost_full",
    "cost_ablated", "worth_per_unit", "usd_full", "usd_ablated", "worth_per_usd", "verdict", "note",
)  # fmt: skip
"""Columns of `worth`. Costs are means of a run: outer units, and US dollars."""
FREE = 1e-9
"""A difference in cost up to this one is none."""


def worthwhile(runs: Frame) -> bool:
    """Whether any design was run both whole and with a role ablated."""
    return next(_sides(_parted(runs)), None) is not None


def worth(
    runs: Frame, *, value: str = "score", margin: float = 0.05, alpha: float = 0.05, seed: int = 0
) -> pd.DataFrame:
    """A row for each design and ablation: full minus ablated on the same tasks and seeds, with Holm across the rows.

    runs: of `looper.lab.data.runs_of`, or those of a comparison. worth_per_unit: the difference for each outer unit
    that the role costs, NaN where it was not shown to cost any, which `note` then says; worth_per_usd likewise.
    verdict: better where the full design is. Arms are those of `compare` without the ablation, so that other swept
    settings stay apart.
    Raises ConfigError if no run of a design was ablated, or none was not.
    """
    if "reported" not in runs:
        runs = comparable(runs, value).runs
    runs = _parted(runs)
    sides = list(_sides(runs))
    if not sides:
        raise ConfigError(
            "No design was run both whole and with a role ablated on the same tasks and seeds; sweep "
            "ablate=null,critic,critic:shuffled,critic:oracle."
        )
    designs = [(arm, _side(arm, text)) for arm, text in sides]
    told = table(runs, designs, Terms(value, margin, alpha, seed, lower_is_better=False))
    rows = [_row(arm, text, runs, row) for (arm, text), row in zip(sides, told.to_dict("records"), strict=True)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _parted(runs: Frame) -> Frame:
    """The runs by arm and ablation, `design` naming both."""
    runs = runs.assign(arm=_arms(runs), ablate=[_setting(known) for known in runs["settings"]])
    return runs.assign(design=[_side(arm, text) for arm, text in zip(runs["arm"], runs["ablate"], strict=True)])


def _setting(settings: Mapping[str, str]) -> str:
    """What was ablated; empty: nothing."""
    text = settings.get(SETTING, "null")
    return "" if text == "null" else text


def _arms(runs: Frame) -> pd.Series:
    """The label of each run as if nothing had been ablated."""
    kept = [{key: value for key, value in known.items() if not _of_ablation(key, value)} for known in runs["settings"]]
    return arms_of(runs.assign(settings=kept, design=runs["loop"] if "loop" in runs else runs["design"]))


def _of_ablation(key: str, value: str) -> bool:
    """What an ablation writes into the settings, and the empty settings of roles that it writes into."""
    return key.rsplit(".", 1)[-1] == SETTING or (key.partition(".")[0] == "agents" and value == "{}")


def _side(arm: str, text: str) -> str:
    return f"{arm} / {text}" if text else arm


def _sides(runs: Frame) -> Iterator[tuple[str, str]]:
    """Each arm that was run whole with each of its ablations, in order of appearance."""
    there = dict.fromkeys(zip(runs["arm"], runs["ablate"], strict=True))
    for arm, text in there:
        if text and (arm, "") in there:
            yield arm, text


def _row(arm: str, text: str, runs: Frame, told: Mapping[Any, Any]) -> dict[str, Any]:
    ablation = Ablation.of(text)
    role = f"{ablation.role}.{ablation.step}" if ablation.step else ablation.role
    costs = {f"{name}_{side}": told[f"{of}{account}_mean"] for name, account in (("cost", "outer"), ("usd", "usd"))
             for side, of in (("full", ""), ("ablated", "baseline_"))}  # fmt: skip
    per_unit, why = _per(told["difference"], runs, arm, text, "outer", "outer units")
    per_usd, _ = _per(told["difference"], runs, arm, text, "usd", "USD")
    return {
        "design": arm, "role": role, "how": ablation.how, "n": told["n"], "tasks": told["clusters"],
        "full": told["mean"], "ablated": told["baseline_mean"],
        **{name: told[name] for name in ("difference", "low", "high", "p_holm", "verdict")},
        **costs, "worth_per_unit": per_unit, "worth_per_usd": per_usd,
        "note": "; ".join(part for part in (why, told["note"]) if part),
    }  # fmt: skip


def _per(difference: float, runs: Frame, arm: str, text: str, account: str, unit: str) -> tuple[float, str]:
    """The difference for each unit that the role costs; NaN with the reason where it was not shown to cost any."""
    if runs[account].isna().any():
        return math.nan, f"no worth per unit: {unit} are not known"
    paired = pairs(runs, arm, _side(arm, text), account)
    values = numbers(paired, "difference")
    ends = interval(values, labels(paired, "task"), bound=None)
    if ends.mean <= FREE:
        less = "costs none" if ends.mean >= -FREE else f"saves {-ends.mean:.3g}"
        return math.nan, f"no worth per unit: the role {less} of the {unit} of a run"
    exact = len(values) > 1 and float(np.ptp(values)) <= FREE
    if not exact and not (ends.trusted and ends.low > 0):
        told = f"{ends.mean:+.3g}, {ends.low:+.3g} to {ends.high:+.3g}" if ends.trusted else ends.method
        return math.nan, f"no worth per unit: that the role costs {unit} was not shown ({told})"
    return difference / ends.mean, ""
