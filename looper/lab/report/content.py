"""What a page of a comparison says, for HTML and Markdown alike: sentences, tables, plots."""

from collections.abc import Iterator, Mapping
from typing import Any

from markupsafe import Markup

from looper.lab.data.frame import Frame
from looper.lab.report import tables, words
from looper.lab.report.comparison import Comparison
from looper.lab.report.drawings import published_points

PUBLISHED = (
    "Grey with a letter: published, see the table. Coloured: the runs of this report, mean USD of a run times the "
    "number of problems."
)

AFTER_CORRECT = (
    "Spending after the first correct state is not known: hidden checks were run on the results alone; with "
    "holdout=all they are run, once a run is over, on every state that it evaluated."
)


def content(comparison: Comparison, svg: Mapping[str, str]) -> dict[str, Any]:
    """By the names of the templates."""
    reference = published_points(comparison)
    return {
        "baseline": comparison.baseline, "setting": words.setting(comparison),
        "conclusions": words.conclusions(comparison),
        "limits": words.limits(comparison), "rivals": words.rivals_told(comparison), "notes": comparison.notes,
        "refused_count": len(comparison.refused), "after_correct": AFTER_CORRECT if comparison.after is None else "",
        "how": how(comparison),
        "tables": _tables(comparison, reference), "plots": _plots(svg), "published_note": PUBLISHED, "files": list(svg),
    }  # fmt: skip


def _tables(comparison: Comparison, reference: Frame | None) -> dict[str, Any]:
    named = (
        "arms",
        "differences",
        "roles",
        "tests",
        "costs",
        "fronts",
        "gates",
        "after",
        "refused",
        "refusals",
        "by_task",
    )
    found = {name: getattr(tables, name)(comparison) for name in named}
    return found | {"published": None if reference is None else tables.published(reference)}


def _plots(svg: Mapping[str, str]) -> dict[str, Any]:
    published = Markup(svg["published"]) if "published" in svg else ""
    kinds = {"anytime": list(_figures(svg, "anytime-")), "fronts": list(_figures(svg, "front-"))}
    return {"forest": Markup(svg["forest"]), "published": published, **kinds}


def _figures(svg: Mapping[str, str], kind: str) -> Iterator[dict[str, Any]]:
    for name, text in svg.items():
        if name.startswith(kind):
            yield {"svg": Markup(text), "caption": f"By {words.UNITS[name.removeprefix(kind)]}."}


def how(comparison: Comparison) -> list[str]:
    """The method, for who wants to do it again."""
    margin = words.quantity(comparison, comparison.margin)
    return [
        "Pairs: runs of two designs on the same task with the same seed. All designs are compared on the same cells; "
        "what not all have is refused above.",
        "Score: the hidden checks where a task has them, else the gate. A design that broke down or handed over "
        "nothing has 0 (intention to treat); a run that never began, waits, or was ended by a person is no data.",
        "Gate scores of different phases are put on the rules of the last phase, where a rule that was never checked "
        "counts as failed.",
        "Intervals and tests take the task as the unit: runs of one task are alike.",
        "p (Holm): corrected for all rows of its table. Better or worse: below 0.05 and the interval beyond 0. "
        f"Equivalent: the 90 % interval lies within the margin of {margin}. Undecided: neither.",
        "Detectable: the true difference that would have been found with a probability of 80 %, at the spread seen.",
        "Of several runs of one cell the first counts.",
        "The same data gives the same report: all resampling is seeded.",
    ]
