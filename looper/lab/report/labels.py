"""Names under which designs are shown: what rests on a simulation or a recording says so wherever it stands."""

import dataclasses
from collections.abc import Mapping

from looper.lab.data.frame import Frame
from looper.lab.report.comparison import Comparison


def shown_names(comparison: Comparison) -> dict[str, str]:
    """`random_walk [simulation]` for a design of which any run has answers of that kind."""
    names = {}
    for design in comparison.designs:
        kinds = sorted(set(comparison.runs.loc[comparison.runs["design"] == design, "synthetic"]) - {""})
        names[design] = f"{design} [{', '.join(kinds)}]" if kinds else design
    return names


def displayed(comparison: Comparison) -> Comparison:
    """The comparison with these names in every frame, for people; files for programs keep the plain ones."""
    names = shown_names(comparison)
    if all(name == shown for name, shown in names.items()):
        return comparison
    return dataclasses.replace(
        comparison, baseline=names[comparison.baseline],
        **{name: _renamed(getattr(comparison, name), names) for name in ("runs", "table", "pairs", "history", "grid")},
        gates=None if comparison.gates is None else _renamed(comparison.gates, names),
        after=None if comparison.after is None else _renamed(comparison.after, names),
        curves={account: _renamed(frame, names) for account, frame in comparison.curves.items()},
        fronts={account: _renamed(frame, names) for account, frame in comparison.fronts.items()},
    )  # fmt: skip


def _renamed(frame: Frame, names: Mapping[str, str]) -> Frame:
    columns = [column for column in ("design", "baseline") if column in frame]
    return frame.assign(**{column: frame[column].replace(dict(names)) for column in columns})
