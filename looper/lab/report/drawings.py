"""All plots of a comparison, by name: `forest`, `anytime-ACCOUNT`, `front-ACCOUNT`, `published`."""

from looper.lab.data.frame import Frame
from looper.lab.report import plots
from looper.lab.report.comparison import Comparison
from looper.lab.report.words import NAMED, UNITS

FAMILY = "looper.tasks.code.humaneval"
"""The task whose runs may stand beside published points."""


def drawings(comparison: Comparison) -> dict[str, str]:
    """SVG for a page."""
    designs, what = comparison.designs, NAMED[comparison.value]
    found = {"forest": plots.forest(comparison.table, comparison.baseline, what, comparison.margin)}
    for account, frame in comparison.curves.items():
        found[f"anytime-{account}"] = plots.curves(frame, designs, account, UNITS[account])
    for account, points in comparison.fronts.items():
        found[f"front-{account}"] = plots.front(points, designs, account, UNITS[account], "score")
    reference = published_points(comparison)
    if reference is not None:
        problems = int(reference["problems"].iloc[0])
        found["published"] = plots.published(_of_all(comparison, problems), designs, reference, problems)
    return found


def _of_all(comparison: Comparison, problems: int) -> Frame:
    """Own designs as published ones are told: USD for all problems together."""
    own = (
        comparison.runs.groupby("design", sort=False).agg(usd=("usd", "mean"), score=("holdout", "mean")).reset_index()
    )
    return own.assign(usd=own["usd"] * problems)


def published_points(comparison: Comparison) -> Frame | None:
    """Published points, if all runs are of the benchmark that they are of."""
    targets = {str(known.get("task._target_", "")) for known in comparison.runs["settings"]}
    if not all(target.startswith(FAMILY) for target in targets) or comparison.runs["holdout"].isna().any():
        return None
    from looper.lab.report.reference import reference

    points = reference().sort_values("usd", ignore_index=True)
    return points.assign(letter=[chr(ord("A") + place) for place in range(len(points))])
