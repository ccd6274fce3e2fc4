"""A comparison's table for a terminal."""

from collections.abc import Iterator, Sequence
from typing import Any

from looper.lab.report.comparison import Comparison
from looper.lab.report.tables import Table
from looper.lab.report.words import number, signed

HEADS = ("design", "verdict", "pairs", "tasks", "mean", "difference", "95 % interval", "p Holm", "detectable")


def brief_table(comparison: Comparison) -> Table:
    """The verdict's numbers, and the cost on the accounts that were spent from."""
    accounts = comparison.accounts[:2]
    rows = [_baseline(comparison, accounts), *_others(comparison, accounts)]
    return Table("", [(head, "") for head in (*HEADS, *accounts)], rows)


def _baseline(comparison: Comparison, accounts: Sequence[str]) -> list[str]:
    first: dict[Any, Any] = comparison.table.iloc[0].to_dict()
    known = comparison.runs[comparison.runs["design"] == comparison.baseline]
    counts = (str(len(known)), str(known["task"].nunique()), number(first["baseline_mean"]))
    spent = (number(first[f"baseline_{account}_mean"], 2) for account in accounts)
    return [comparison.baseline, "(baseline)", *counts, "", "", "", "", *spent]


def _others(comparison: Comparison, accounts: Sequence[str]) -> Iterator[list[str]]:
    for row in comparison.table.to_dict("records"):
        yield [
            str(row["design"]), row["verdict"], str(row["n"]), str(row["clusters"]), number(row["mean"]),
            signed(row["difference"]), f"{signed(row['low'])} to {signed(row['high'])}", number(row["p_holm"], 4),
            number(row["minimum_detectable"]), *(number(row[f"{account}_mean"], 2) for account in accounts),
        ]  # fmt: skip
