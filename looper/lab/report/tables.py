"""The tables of a report, as texts for people: the same rows for HTML and Markdown."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from looper.lab.data.frame import Frame
from looper.lab.report.comparison import Comparison
from looper.lab.report.words import NAMED, UNITS, number, signed

LONGEST = 500
"""Rows of a table on a page; the CSV has all."""


@dataclass(frozen=True)
class Table:
    """Heads with their kind (`n`: a number, `wide`: prose) and rows of texts; the first cell names the row."""

    caption: str
    heads: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[str]]


def differences(comparison: Comparison) -> Table:
    unit = UNITS[comparison.value]
    heads = (
        "design", "verdict", "pairs", "tasks", "mean", "baseline", "difference", "95 % interval", "p (Holm)",
        "detectable",
    )  # fmt: skip
    rows = [
        [
            str(row["design"]), row["verdict"], str(row["n"]), str(row["clusters"]), number(row["mean"], unit=unit),
            number(row["baseline_mean"], unit=unit), signed(row["difference"], unit=unit), interval(row, unit),
            number(row["p_holm"], 4), number(row["minimum_detectable"], unit=unit),
        ]
        for row in comparison.table.to_dict("records")
    ]  # fmt: skip
    kinds = [(head, "" if head in ("design", "verdict") else "n") for head in heads]
    return Table(f"{NAMED[comparison.value].capitalize()} against {comparison.baseline}", kinds, rows)


def interval(row: Any, unit: str = "") -> str:
    told = [signed(row[end], unit=unit) for end in ("low", "high")]
    return "none" if math.isnan(row["low"]) else " to ".join(told)


def tests(comparison: Comparison) -> Table:
    """How each difference was tested, and what is to be said against it."""
    rows = [
        [str(row["design"]), number(row["p"], 4), row["test"], row["method"], row["note"]]
        for row in comparison.table.to_dict("records")
    ]  # fmt: skip
    heads = [("design", ""), ("p alone", "n"), ("test", "wide"), ("interval", "wide"), ("note", "wide")]
    return Table("How it was tested", heads, rows)


def arms(comparison: Comparison) -> Table:
    """What each design is and how its runs ended."""
    rows = []
    for design in comparison.designs:
        own = comparison.runs[comparison.runs["design"] == design]
        ends = own["status"].value_counts()
        reasons = ", ".join(f"{reason} {count}" for reason, count in own["reason"].value_counts().items())
        means = [number(own[name].mean()) for name in ("score", "gate_score", "holdout")]
        rows.append(
            [
                design,
                str(len(own)),
                str(int(own["passed"].sum())),
                str(int(ends.get("completed", 0))),
                *means,
                number(own["seconds"].mean(), 1),
                reasons,
            ]
        )
    heads = [
        ("design", ""),
        ("runs", "n"),
        ("gate met", "n"),
        ("completed", "n"),
        ("mean score", "n"),
        ("mean gate score", "n"),
        ("mean holdout", "n"),
        ("seconds", "n"),
        ("ended by", "wide"),
    ]
    return Table("Designs and how their runs ended", heads, rows)


def costs(comparison: Comparison) -> Table:
    """Means and medians, and the ratio to the baseline."""
    first: dict[Any, Any] = comparison.table.iloc[0].to_dict()
    rows = []
    for account in comparison.accounts:
        own = {"mean": first[f"baseline_{account}_mean"], "median": first[f"baseline_{account}_median"]}
        unit = UNITS[account]
        means = (number(own["mean"], unit=unit), number(own["median"], unit=unit))
        rows.append([unit, comparison.baseline, *means, "1"])
        rows += [
            [
                unit, str(row["design"]), number(row[f"{account}_mean"], unit=unit),
                number(row[f"{account}_median"], unit=unit),
                times(row[f"{account}_ratio"]),
            ]
            for row in comparison.table.to_dict("records")
        ]  # fmt: skip
    heads = [("account", ""), ("design", ""), ("mean", "n"), ("median", "n"), ("times the baseline", "n")]
    return Table("Cost of a run", heads, rows)


def times(ratio: float) -> str:
    """Nothing is a multiple of no cost."""
    return number(ratio, 2) if math.isfinite(ratio) else "-"


def fronts(comparison: Comparison) -> Table:
    rows = [
        [
            UNITS[account], str(row["design"]), number(row["cost"], unit=UNITS[account]), number(row["score"]),
            "yes" if row["on_front"] else "no", f"{row['share']:.0%}",
        ]
        for account, points in comparison.fronts.items()
        for row in points.to_dict("records")
    ]  # fmt: skip
    heads = [
        ("account", ""),
        ("design", ""),
        ("mean cost", "n"),
        ("mean score", "n"),
        ("on the front", ""),
        ("share of samples", "n"),
    ]
    return Table("Membership of the Pareto front", heads, rows)


def roles(comparison: Comparison) -> Table | None:
    """What each role is worth, where designs were run with a role ablated."""
    if comparison.roles is None:
        return None
    rows = [
        [
            str(row["design"]), str(row["role"]), row["how"], row["verdict"], str(row["n"]), str(row["tasks"]),
            number(row["full"]), number(row["ablated"]), signed(row["difference"]), interval(row),
            number(row["p_holm"], 4), number(row["cost_full"], 2), number(row["cost_ablated"], 2),
            signed(row["worth_per_unit"], 4), signed(row["worth_per_usd"], 2), row["note"],
        ]
        for row in comparison.roles.to_dict("records")
    ]  # fmt: skip
    names = (
        "design", "role", "how", "with the role", "pairs", "tasks", "full", "ablated", "difference", "95 % interval",
        "p (Holm)", "units full", "units ablated", "worth per unit", "worth per USD", "note",
    )  # fmt: skip
    kinds = {"design": "", "role": "", "how": "", "with the role": "", "note": "wide"}
    return Table(
        f"What each role is worth: {NAMED[comparison.value]} of the whole design minus that without the role, which is "
        "left out, shuffled, or played by an oracle", [(name, kinds.get(name, "n")) for name in names], rows,
    )  # fmt: skip


def gates(comparison: Comparison) -> Table | None:
    if comparison.gates is None:
        return None
    rows = [
        [
            str(row["design"]), str(row["n"]), str(row["without_holdout"]),
            *(text for kind, of in (("accept", "accepted"), ("reject", "rejected")) for text in _rate(row, kind, of)),
        ]
        for row in comparison.gates.to_dict("records")
    ]  # fmt: skip
    heads = [
        ("design", ""),
        ("runs", "n"),
        ("without hidden checks", "n"),
        ("accepted", "n"),
        ("of these wrong", "n"),
        ("rejected", "n"),
        ("of these right", "n"),
    ]
    return Table(
        "The gate's verdicts against the hidden checks (Wilson intervals, runs taken as independent)", heads, rows
    )


def after(comparison: Comparison) -> Table | None:
    """What was spent after the first state that the hidden checks call right (SPEC 6.3)."""
    if comparison.after is None:
        return None
    accounts = [name for name in comparison.accounts if f"after_{name}" in comparison.after]
    rows = [
        [
            str(row["design"]),
            str(row["n"]),
            str(row["ever"]),
            str(row["lost"]),
            *(_later(row, name) for name in accounts),
        ]
        for row in comparison.after.to_dict("records")
    ]
    heads = ["runs looked at", "right at some time", "of these handed over wrong", *(UNITS[name] for name in accounts)]
    return Table(
        "Spent after the first state that the hidden checks call right: mean over the runs that had one, and the share "
        "of all that these spent", [("design", ""), *((head, "n") for head in heads)], rows,
    )  # fmt: skip


def _later(row: Any, account: str) -> str:
    later, share = row[f"after_{account}"], row[f"after_{account}_share"]
    if math.isnan(later):
        return "none"
    return number(later, unit=UNITS[account]) + ("" if math.isnan(share) else f" ({share:.0%})".replace("%", " %"))


def _rate(row: Any, kind: str, of: str) -> tuple[str, str]:
    count, low, high = row[f"false_{kind}s"], row[f"false_{kind}_low"], row[f"false_{kind}_high"]
    share = row[f"false_{kind}_rate"]
    told = "-" if math.isnan(share) else f"{count} ({share:.0%}, {low:.0%} to {high:.0%})"
    return str(row[of]), told


def refused(comparison: Comparison) -> Table:
    columns = ("run", "label", "task", "seed", "reason")
    rows = [[str(row[name]) for name in columns] for row in comparison.refused.head(LONGEST).to_dict("records")]
    more = f"; the first {LONGEST}, refused.csv has all" if len(comparison.refused) > LONGEST else ""
    return Table(
        f"Refused runs{more}", [("run", ""), ("design", ""), ("task", ""), ("seed", "n"), ("reason", "wide")], rows
    )


def refusals(comparison: Comparison) -> Table:
    """Reasons with how many runs each has cost, by design."""
    counts = comparison.refused.groupby(["label", "reason"], sort=False).size().sort_values(ascending=False)
    told: list[tuple[Any, Any]] = list(counts.items())
    rows = [[str(label), str(count), str(reason)] for (label, reason), count in told[:LONGEST]]
    return Table("Why runs were refused", [("design", ""), ("runs", "n"), ("reason", "wide")], rows)


def published(frame: Frame) -> Table:
    rows = [
        [
            f"{row['letter']}: {row['label']}",
            f"{row['accuracy']:.3f}",
            f"{row['usd']:.2f}",
            str(row["note"]),
            str(row["source"]),
        ]
        for row in frame.to_dict("records")
    ]
    heads = [("agent", ""), ("accuracy", "n"), ("USD", "n"), ("note", "wide"), ("source", "wide")]
    return Table("Published points (other models and prices)", heads, rows)


def by_task(comparison: Comparison) -> Table:
    """Means by task and design; the best of a row is marked with a star."""
    cells = {(row["task"], row["design"]): row for row in comparison.grid.to_dict("records")}
    rows = []
    for task in dict.fromkeys(comparison.grid["task"]):
        found = [cells.get((task, design)) for design in comparison.designs]
        rows.append([str(task), *(_cell(one) for one in found)])
    heads = [("task", ""), *((design, "n") for design in comparison.designs)]
    best = "lowest" if comparison.costs else "highest"
    return Table(f"Mean {NAMED[comparison.value]} by task; a star marks the {best} of a row", heads, rows)


def _cell(one: Any) -> str:
    return "-" if one is None else f"{number(one['mean'])}{' *' if one['best'] else ''}"
