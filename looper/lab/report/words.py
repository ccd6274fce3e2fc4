"""A comparison in sentences: what was shown, how sure that is, and what was not shown."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from looper.lab.data.frame import Frame
from looper.lab.report.comparison import Comparison
from looper.lab.report.rivals import command

UNITS = {
    "score": "", "holdout": "", "gate_score": "", "outer": "outer units", "inner": "inner units", "usd": "USD",
    "tokens": "tokens", "calls": "model calls", "seconds": "seconds",
}  # fmt: skip
NAMED = {
    "score": "score", "holdout": "holdout score", "gate_score": "gate score", "outer": "cost in outer units",
    "inner": "cost in inner units", "usd": "cost in USD", "tokens": "tokens", "calls": "model calls",
    "seconds": "working time in seconds",
}  # fmt: skip
FEW = 5
"""Tasks below which nothing is decided (as in `statistics`)."""
Row = Mapping[Any, Any]


def number(value: Any, digits: int = 3, unit: str = "") -> str:
    """A number for people; a dash for what is not known. Less than a dollar (unit USD) has 3 significant digits."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, float) and math.isinf(value):
        return "infinite"
    if unit == "USD" and 0 < abs(value) < 1:
        return f"{value:.3g}"
    if 0 < abs(value) < 10**-digits:  # else the price of a small model would be nothing
        return f"{value:.2g}"
    return f"{value:,.{digits}f}" if abs(value) < 1000 else f"{value:,.0f}"


def signed(value: Any, digits: int = 3, unit: str = "") -> str:
    text = number(value, digits, unit)
    return f"+{text}" if isinstance(value, float) and value > 0 and text not in ("-", "infinite") else text


def chance(p: Any) -> str:
    """A p value: `p = 0.012`, `p < 0.001`."""
    if isinstance(p, float) and math.isnan(p):
        return "p unknown"
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def counted(count: int, noun: str) -> str:
    """`1 task`, `2 tasks`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def quantity(comparison: Comparison, value: float) -> str:
    """A value with its unit."""
    unit = UNITS[comparison.value]
    return f"{number(value, unit=unit)} {unit}" if unit else f"{value:.3g}"


def sentence(comparison: Comparison, row: Row) -> str:
    """What one design's row says, in one or two sentences."""
    design, baseline, what = row["design"], comparison.baseline, NAMED[comparison.value]
    difference = quantity(comparison, abs(row["difference"]))
    unit = UNITS[comparison.value]
    sure = f"{ends(row, unit)}, {chance(row['p_holm'])} after Holm"
    if row["verdict"] in ("better", "worse"):
        higher = "higher" if row["difference"] > 0 else "lower"
        return f"{design} is {row['verdict']} than {baseline}: its {what} is {higher} by {difference} ({sure})."
    margin = quantity(comparison, comparison.margin)
    if row["verdict"] == "equivalent":
        told = f"{design} and {baseline} are equivalent within {margin}: the {what} differs by {difference} ({sure})."
        return f"{told} {_note(row)}".strip()
    told = (
        f"Undecided: whether {design} differs from {baseline} in {what} was not shown, nor that the two are equal "
        f"within {margin}"
    )
    told = f"{told} (difference {signed(row['difference'], unit=unit)}, {sure})."
    return f"{told}{_could(comparison, row)} {_note(row)}".strip()


def _could(comparison: Comparison, row: Row) -> str:
    """What these runs would have found; empty where that is not known."""
    least = row["minimum_detectable"]
    if not isinstance(least, float) or not math.isfinite(least):
        return ""
    found = "would have been found with a probability of 80 %."
    if not comparison.costs and least > 1:
        return f" No difference that a score can have {found}"
    return f" A true difference of {quantity(comparison, least)} {found}"


def ends(row: Row, unit: str = "") -> str:
    """The interval in words, or why there is none."""
    if math.isnan(row["low"]) or math.isnan(row["high"]):
        return f"no interval ({row['method']})"
    return f"95 % interval {signed(row['low'], unit=unit)} to {signed(row['high'], unit=unit)}"


def _note(row: Row) -> str:
    note = str(row.get("note") or "")
    return f"Note: {note}." if note else ""


def dearness(comparison: Comparison, row: Row) -> str:
    """What the design costs against the baseline, on each account that either spent on."""
    told = []
    for account in comparison.accounts:
        own, other = row[f"{account}_mean"], row[f"baseline_{account}_mean"]
        ratio = row[f"{account}_ratio"]
        times = f", {ratio:.1f} times" if isinstance(ratio, float) and math.isfinite(ratio) else ""
        unit = UNITS[account]
        told.append(f"{number(own, unit=unit)} against {number(other, unit=unit)} {unit}{times}")
    return "; ".join(told)


def conclusions(comparison: Comparison) -> list[str]:
    """A sentence for each design, the clearest first."""
    order = {"better": 0, "worse": 1, "equivalent": 2, "undecided": 3}
    rows = sorted(comparison.table.to_dict("records"), key=lambda row: order[row["verdict"]])
    return [f"{sentence(comparison, row)} Cost of a run: {dearness(comparison, row) or 'nothing'}." for row in rows]


def limits(comparison: Comparison) -> list[str]:
    """What was not shown."""
    return list(_limits(comparison))


def _limits(comparison: Comparison) -> Iterator[str]:
    runs = comparison.runs
    tasks, seeds = runs["task"].nunique(), runs.groupby("task")["seed"].nunique()
    if tasks < FEW:
        are = "is" if tasks == 1 else "are"
        yield f"{counted(tasks, 'task')} {are} too few: no verdict is given below {FEW}, whatever the numbers are."
    else:
        yield f"Tasks are what generalises, not runs: this holds for tasks like these {tasks}, not for others."
    if seeds.max() == 1:
        yield "Every cell was run with one seed: how much a design varies by itself was not measured."
    if set(runs["model"]) <= {"offline", "none"}:
        filled = "No model took part: roles were filled by the tasks' own policies"
        yield f"{filled}; nothing is shown of a model in these seats."
    yield from _about_truth(comparison)
    if len(comparison.designs) > 2:
        others = "designs among each other are in pairs.csv, corrected for all pairs"
        yield f"The verdicts are against {comparison.baseline}; {others}."
    undecided = comparison.table[comparison.table["verdict"] == "undecided"]["design"]
    if len(undecided):
        yield f"Undecided is not equal: for {_and(list(undecided))} neither a difference nor its absence was shown."
    equal = comparison.table[comparison.table["verdict"] == "equivalent"]["design"]
    if len(equal) > 1:
        alone = "each was tested at 5 % for itself, unlike the differences, which Holm corrects"
        yield f"{len(equal)} designs are called equivalent: {alone}."
    if comparison.lost:
        yield f"Not compared at all: {_and(comparison.lost)}. Every run was refused; see there."
    if comparison.missing:
        without = "Without them it is not known whether a design beats what is cheap and simple."
        yield f"Trivial rivals were not run: {_and(comparison.missing)}. {without}"


def _about_truth(comparison: Comparison) -> Iterator[str]:
    runs = comparison.runs
    if comparison.costs:
        return
    hidden = runs.groupby("task")["holdout"].count() > 0
    if comparison.value == "gate_score":
        yield "These are scores of the gate, whose results the loops see; whether it is right is another question."
    elif not hidden.any():
        yield "No task has hidden checks: the scores are those of the gate that the loops see; overfitting can meet it."
    elif not hidden.all():
        yield f"{int((~hidden).sum())} of {len(hidden)} tasks have no hidden checks: there the score is the gate's own."


def _and(names: Sequence[str]) -> str:
    names = list(names)
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def setting(comparison: Comparison) -> dict[str, str]:
    """What was compared: a line of facts each."""
    runs = comparison.runs
    cells = len(runs.drop_duplicates(["task", "seed"]))
    found = {
        "Question": f"How do the designs differ from {comparison.baseline} in {NAMED[comparison.value]}?",
        "Designs": ", ".join(comparison.designs),
        "Runs": f"{len(runs)} compared of {comparison.read} read, {len(comparison.refused)} refused",
        "Cells": f"{cells} (task and seed) on {counted(runs['task'].nunique(), 'task')}",
        "Seeds": ", ".join(str(seed) for seed in sorted(set(runs["seed"]))),
        "Models": ", ".join(dict.fromkeys(map(str, runs["model"]))),
        "Answers": _fillers(runs),
        "Margin": f"{quantity(comparison, comparison.margin)}: a difference within it does not matter",
        "Made by": f"looper {', '.join(sorted(set(runs['version'])))}",
    }
    kinds = sorted(set(runs["synthetic"]) - {""})
    told = [f"{kind}: {_and(list(dict.fromkeys(runs.loc[runs['synthetic'] == kind, 'design'])))}" for kind in kinds]
    return {**found, "Label": "; ".join(told)} if told else found


def _fillers(runs: Frame) -> str:
    """Who answered, over all runs."""
    names: dict[str, int] = {}
    for told in runs["fillers"]:
        for part in str(told).split(", "):
            name, _, count = part.rpartition(" ")
            if count.isdigit():
                names[name] = names.get(name, 0) + int(count)
    return (
        ", ".join(f"{name} {count}" for name, count in sorted(names.items(), key=lambda one: -one[1]))
        or "nobody: code alone"
    )


def rivals_told(comparison: Comparison) -> str:
    """How to add the trivial rivals; empty if they are there, or nobody asked."""
    return command(comparison.runs, comparison.missing) if comparison.missing else ""
