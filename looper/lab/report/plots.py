"""Plots as SVG texts that stand in a page: they take its colours, dark or light, and need nothing from elsewhere.

Series differ by colour, marker and line, so that no reader depends on colour (palette after Okabe and Ito 2008).
"""

import contextlib
import io
import re
import textwrap
from collections.abc import Sequence
from typing import Any

import pandas as pd

from looper.console.screen import plain
from looper.lab.data.frame import Frame

INK, FAINT = "#0a0b0c", "#0d0e0f"
"""Stand for the page's text and line colours while matplotlib draws."""
LIGHT = ("#0072b2", "#c04f00", "#007a5a", "#a6487f", "#9a6700", "#5b5fc7", "#6b6b6b", "#8c2d19")
DARK = ("#56b4e9", "#ff9a52", "#2fd3a0", "#e79cc8", "#f0c040", "#b9a6ff", "#b0b0b0", "#f2846b")
"""Colours of the series, at least 3:1 against white and against near black."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", (0, (6, 2)), (0, (2, 2)), (0, (8, 2, 2, 2)), (0, (1, 1)))
"""Three cycles of different length: no two of the first 56 series are alike."""

SPACES = 'xmlns:xlink="http://www.w3.org/1999/xlink" xmlns="http://www.w3.org/2000/svg"'
"""Names, not addresses: nothing is fetched from there."""
WIDTH = 6.0
"""Inches; a page shows it at most at natural size, so that its words stay readable."""
STYLE: Any = {
    "svg.fonttype": "none", "svg.hashsalt": "looper", "font.size": 12, "font.family": "sans-serif", "text.color": INK,
    "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK, "axes.edgecolor": FAINT, "axes.spines.top": False,
    "axes.spines.right": False, "grid.color": FAINT, "grid.linewidth": 0.5, "grid.alpha": 0.5, "legend.frameon": False,
    "axes.unicode_minus": False, "lines.linewidth": 2,
}  # fmt: skip


def placeholder(place: int) -> str:
    """The colour of a series while matplotlib draws."""
    return f"#00a0{place % len(LIGHT):02x}"


class Drawing:
    """One figure in looper's style: `with Drawing(...) as drawing: drawing.axes...; return drawing.svg()`."""

    def __init__(self, name: str, title: str, height: float):
        self.name, self.title, self.height = name, title, height
        self._style = contextlib.ExitStack()

    def __enter__(self) -> "Drawing":
        import matplotlib
        from matplotlib.figure import Figure

        with contextlib.ExitStack() as style:
            style.enter_context(matplotlib.rc_context(STYLE))
            self.figure = Figure(figsize=(WIDTH, self.height), layout="constrained")
            self.axes = self.figure.add_subplot()
            self.axes.grid(axis="x")
            self.axes.set_axisbelow(True)
            self.axes.locator_params(axis="x", nbins=6)
            self._style = style.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._style.close()

    def svg(self) -> str:
        """The drawing as SVG for a page."""
        text = io.StringIO()
        self.figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        return page_svg(text.getvalue(), self.name, self.title)


def page_svg(text: str, name: str, title: str) -> str:
    """Matplotlib's SVG without what is not ours: head, metadata, fixed size and colours, names that others use too."""
    from markupsafe import escape

    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)  # matplotlib repeats every text in a comment
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'(url\(#|href="#)', rf"\1{name}-", text)
    text = re.sub(r"font: (\S+) [^;\"]*", r"font: \1 sans-serif", text)
    text = text.replace(INK, "currentColor").replace(FAINT, "var(--line)")
    text = re.sub(r"#00a0([0-9a-f]{2})", lambda found: f"var(--s{int(found[1], 16)})", text)
    said = str(escape(plain(title)))
    head = re.match(r"<svg[^>]*>", text)
    assert head is not None
    box = re.search(r'viewBox="[^"]*"', head[0])
    assert box is not None
    return f'<svg {box[0]} role="img" aria-label="{said}" {SPACES}><title>{said}</title>{text[head.end() :]}'


def file_svg(svg: str) -> str:
    """The same as a file that stands alone: black on white, with fixed colours."""
    for place, colour in enumerate(LIGHT):
        svg = svg.replace(f"var(--s{place})", colour)
    svg = svg.replace("currentColor", "#1a1a1a").replace("var(--line)", "#8a8a8a")
    return svg.replace("<svg ", '<svg style="background:#ffffff" ', 1)


def wrapped(label: str, width: int = 24) -> str:
    """A label as lines in which nothing acts: `$` would begin a formula, and some characters turn text round."""
    return "\n".join(textwrap.wrap(plain(label).replace("$", r"\$"), width)) or " "


def forest(table: Frame, baseline: str, what: str, margin: float) -> str:
    """Each design's difference from the baseline with its interval, the margin as a band."""
    with Drawing(
        "forest", f"Forest plot: difference in {what} from {baseline} with 95 % intervals", 1.3 + 0.5 * len(table)
    ) as drawing:
        axes = drawing.axes
        axes.axvspan(-margin, margin, color=FAINT, alpha=0.18, linewidth=0)
        axes.axvline(0, color=INK, linewidth=1)
        for place, row in enumerate(table.to_dict("records")):
            colour = placeholder(place + 1)
            if pd.notna(row["low"]) and pd.notna(row["high"]):
                axes.plot([row["low"], row["high"]], [place, place], color=colour, linewidth=2.5, solid_capstyle="butt")
            axes.plot([row["difference"]], [place], MARKERS[(place + 1) % len(MARKERS)], color=colour, markersize=8)
            axes.annotate(
                row["verdict"], (row["difference"], place), (0, 9), textcoords="offset points", ha="center", fontsize=10
            )
        axes.set_yticks(range(len(table)), [wrapped(str(name)) for name in table["design"]])
        axes.set_ylim(len(table) - 0.5, -0.75)
        axes.set_xlabel(f"difference in {what} from {wrapped(baseline, 60)}")
        return drawing.svg()


def curves(frame: Frame, designs: Sequence[str], account: str, unit: str) -> str:
    """Best score so far against what was spent, mean over runs with its band."""
    with Drawing(
        f"anytime-{account}", f"Anytime curve: best gate score so far against {unit} spent", 3.6 + 0.22 * len(designs)
    ) as drawing:
        axes = drawing.axes
        for place, design in enumerate(designs):
            own = frame[frame["design"] == design]
            colour = placeholder(place)
            shape = {"linestyle": LINES[place % len(LINES)], "marker": MARKERS[place % len(MARKERS)], "markersize": 6}
            axes.plot(
                own["spent"], own["mean"], color=colour, label=wrapped(design, 60), drawstyle="steps-post",
                markevery=max(1, len(own) // 6), **shape,
            )  # fmt: skip
            if own["low"].notna().all():
                axes.fill_between(
                    own["spent"], own["low"], own["high"], color=colour, alpha=0.14, linewidth=0, step="post"
                )
        axes.set_ylim(-0.02, 1.04)
        axes.set_xlim(left=0)
        axes.set_xlabel(f"{unit} spent")
        axes.set_ylabel("best gate score so far")
        _legend(drawing)
        return drawing.svg()


def _legend(drawing: Drawing) -> None:
    drawing.figure.legend(loc="outside lower left", ncols=1, handlelength=4)


def front(points: Frame, designs: Sequence[str], account: str, unit: str, what: str) -> str:
    """Mean cost and score of each design; those on the front joined by a line."""
    with Drawing(
        f"front-{account}", f"Pareto front: {what} against mean {unit} of a run", 3.6 + 0.22 * len(designs)
    ) as drawing:
        axes = drawing.axes
        on = points[points["on_front"]].sort_values("cost")
        axes.plot(on["cost"], on["score"], color=INK, linewidth=1, alpha=0.6, drawstyle="steps-post", zorder=1)
        shares = dict(zip(points["design"], points["share"], strict=True))
        for place, design in enumerate(designs):
            own = points[points["design"] == design]
            label = wrapped(f"{design}: on the front in {shares.get(design, 0):.0%} of samples", 70)
            axes.plot(
                own["cost"],
                own["score"],
                MARKERS[place % len(MARKERS)],
                color=placeholder(place),
                markersize=9,
                label=label,
                linestyle="none",
            )
        axes.margins(x=0.08, y=0.12)
        axes.set_xlim(left=min(0.0, axes.get_xlim()[0]))
        axes.set_xlabel(f"mean {unit} of a run")
        axes.set_ylabel(f"mean {what}")
        _legend(drawing)
        return drawing.svg()


def published(points: Frame, designs: Sequence[str], reference: Frame, problems: int) -> str:
    """Own points beside published ones: `points` has design, usd (of all problems), score."""
    with Drawing(
        "published", "Own designs beside published agents: accuracy against USD", 4.6 + 0.22 * len(designs)
    ) as drawing:
        axes = drawing.axes
        axes.plot(
            reference["usd"],
            reference["accuracy"],
            "o",
            color=FAINT,
            markersize=5,
            label="published elsewhere, other models and prices",
        )
        for row in reference.to_dict("records"):
            axes.annotate(row["letter"], (row["usd"], row["accuracy"]), (4, 3), textcoords="offset points", fontsize=9)
        for place, design in enumerate(designs):
            own = points[points["design"] == design]
            axes.plot(
                own["usd"],
                own["score"],
                MARKERS[place % len(MARKERS)],
                color=placeholder(place),
                markersize=9,
                linestyle="none",
                label=wrapped(design, 60),
            )
        positive = [*points["usd"], *reference["usd"]]
        if min(positive) > 0:
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(lambda value, _place: f"{value:g}")
        axes.set_xlabel(f"USD for {problems} problems")
        axes.set_ylabel("accuracy (hidden tests)")
        _legend(drawing)
        return drawing.svg()


def spending(steps: Frame, account: str, unit: str, threshold: float | None) -> str:
    """One run: the score of every evaluated state, and the best so far, over what was spent."""
    with Drawing(f"run-{account}", f"Score over {unit} spent", 3.6) as drawing:
        axes: Any = drawing.axes
        axes.plot(
            steps[account],
            steps["score"],
            "o",
            color=placeholder(0),
            markersize=6,
            label="score of an evaluated state",
            linestyle="none",
        )
        axes.plot(
            steps[account], steps["score"].cummax(), color=placeholder(1), drawstyle="steps-post", label="best so far"
        )
        if threshold is not None:
            axes.axhline(threshold, color=INK, linewidth=1, linestyle=(0, (4, 3)), label=f"threshold {threshold:g}")
        axes.set_ylim(-0.02, 1.06)
        axes.set_xlim(left=0)
        axes.set_xlabel(f"{unit} spent")
        axes.set_ylabel("gate score")
        _legend(drawing)
        return drawing.svg()
