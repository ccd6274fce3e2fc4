"""Runs that are left, and those that were taken out, each with its reason."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

REFUSED = ("run", "task", "label", "seed", "reason")
"""Columns of the table of refused runs."""
Row = Mapping[Any, Any]


class Sieve:
    """The runs that are left, and why others are not."""

    def __init__(self, runs: pd.DataFrame):
        self.runs: Any = runs  # Any: what pandas' types say of an index is too wide to be of use
        self.refused: list[dict[str, Any]] = []
        self.notes: list[str] = []

    def refuse(self, wrong: Any, reason: Callable[[Row], str]) -> int:
        """Take out the rows where `wrong` is true; how many they were."""
        rows = self.runs[wrong].to_dict("records")
        for row in rows:
            told = {name: row[name] for name in REFUSED if name != "reason"}
            self.refused.append({**told, "reason": reason(row)})
        self.runs = self.runs[~wrong]
        return len(rows)

    def table(self) -> pd.DataFrame:
        return pd.DataFrame(self.refused, columns=list(REFUSED))

    def odd(self, by: list[str], column: str) -> dict[int, Any]:
        """Of each group the rows that differ from most of it, with a row of those that do not.

        Most: the value that the most arms share, then the most runs, then the newest.
        """
        found: dict[int, Any] = {}
        for _, group in self.runs.groupby(by, sort=False):
            if group[column].nunique() < 2:
                continue
            ranks = group.groupby(column).agg(arms=("label", "nunique"), runs=("run", "size"), last=("started", "max"))
            kept = ranks.sort_values(["arms", "runs", "last"]).index[-1]
            model = group[group[column] == kept].iloc[0]
            found |= {int(number): model for number in group.index[group[column] != kept]}
        return found

    def differ(self, by: list[str], column: str, reason: Callable[[Any, Any], str]) -> None:
        """Refuse the rows that differ from most of their group, with the reason; an empty one keeps the row."""
        told = {number: reason(self.runs.loc[number], model) for number, model in self.odd(by, column).items()}
        told = {number: words for number, words in told.items() if words}
        reasons = {self.runs.loc[number, "run"]: words for number, words in told.items()}
        self.refuse(self.runs.index.isin(list(told)), lambda run: reasons[run["run"]])
