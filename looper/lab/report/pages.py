"""A comparison as one HTML page without a server, as Markdown, as CSV files, and as JSON."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from looper.errors import ConfigError, Paused
from looper.journal import write_whole
from looper.lab.data.frame import Frame
from looper.lab.report import plots, words
from looper.lab.report.comparison import Comparison
from looper.lab.report.content import content
from looper.lab.report.drawings import drawings
from looper.lab.report.labels import displayed
from looper.lab.report.rendering import rendered, shaded

TITLE = "Comparison of loop designs"
HIDDEN = ("settings", "trouble", "where")
"""Columns that runs.csv does not have; `where` is a path of the machine that it was made on."""


def page(comparison: Comparison, title: str = TITLE) -> str:
    """The HTML page, in UTF-8. What comes from runs is data: it is escaped."""
    shown = displayed(comparison)
    return _html(shown, drawings(shown), title)


def _html(shown: Comparison, svg: Mapping[str, str], title: str) -> str:
    told = content(shown, svg)
    return rendered("compare.html.j2", title=title, grid_html=shaded(shown, told["tables"]["by_task"]), **told)


def markdown_of(comparison: Comparison, title: str = TITLE) -> str:
    """The same as Markdown; its plots are the files that `write` puts beside it."""
    shown = displayed(comparison)
    return _markdown(shown, drawings(shown), title)


def _markdown(shown: Comparison, svg: Mapping[str, str], title: str) -> str:
    return rendered("compare.md.j2", title=title, **content(shown, svg))


def write(comparison: Comparison, folder: Path, title: str = TITLE) -> list[Path]:
    """Write report.html, report.md, the CSV files and the plots; their paths. Raises ConfigError if it cannot."""
    shown = displayed(comparison)
    svg = drawings(shown)
    texts = {"report.html": _html(shown, svg, title)}
    texts["report.md"] = _markdown(shown, svg, title)
    texts |= {f"{name}.csv": frame.to_csv(index=False) for name, frame in frames(comparison).items()}
    texts |= {f"plots/{name}.svg": plots.file_svg(text) for name, text in svg.items()}
    try:
        for name, text in texts.items():
            write_whole(folder / name, text.encode("utf-8", "replace"))
    except Paused as error:
        raise ConfigError(f"report={folder}: cannot be written; give another folder, or make room there.") from error
    return [folder / name for name in texts]


def frames(comparison: Comparison) -> dict[str, Frame]:
    """What the CSV files hold, by name."""
    found = {"differences": comparison.table, "pairs": comparison.pairs, "tasks": comparison.grid}
    found["runs"] = comparison.runs.drop(columns=[name for name in HIDDEN if name in comparison.runs])
    found["refused"] = comparison.refused
    found |= {f"anytime-{account}": frame for account, frame in comparison.curves.items()}
    found |= {f"front-{account}": frame for account, frame in comparison.fronts.items()}
    parts = {"gates": comparison.gates, "after_correct": comparison.after, "roles": comparison.roles}
    return found | {name: frame for name, frame in parts.items() if frame is not None}


def as_json(comparison: Comparison, report: Path | None = None) -> str:
    """The comparison for a program; the keys and their order stay."""
    known = {
        "baseline": comparison.baseline, "value": comparison.value, "margin": comparison.margin,
        "runs": len(comparison.runs), "tasks": int(comparison.runs["task"].nunique()),
        "seeds": sorted({int(seed) for seed in comparison.runs["seed"]}),
        "synthetic": sorted(set(comparison.runs["synthetic"]) - {""}),
        "designs": comparison.table.to_dict("records"),
        "roles": [] if comparison.roles is None else comparison.roles.to_dict("records"),
        "conclusions": words.conclusions(comparison),
        "limits": words.limits(comparison), "notes": comparison.notes, "refused": comparison.refused.to_dict("records"),
        "missing_rivals": list(comparison.missing), "add_rivals": words.rivals_told(comparison),
        "report": None if report is None else str(report),
    }  # fmt: skip
    return json.dumps(_plain(known), indent=2)


def _plain(value: Any) -> Any:
    """JSON has no NaN and no infinity; nine digits are stable."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        return round(value, 9) if abs(value) < float("inf") else None
    return value
