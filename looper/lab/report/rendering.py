"""Templates: everything is escaped, and what would hide or turn round text is shown as such (SAFETY P18)."""

import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from looper.console.screen import plain
from looper.lab.report.comparison import Comparison
from looper.lab.report.plots import DARK, LIGHT
from looper.lab.report.tables import Table

__all__ = ["Markup", "rendered", "shaded"]
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~$!&])")


def rendered(template: str, **known: Any) -> str:
    """A page; a template that ends in .md.j2 is escaped for Markdown, every other one for HTML."""
    environment = _markdown() if template.endswith(".md.j2") else _html()
    return environment.get_template(template).render(light=LIGHT, dark=DARK, **known)


def _html() -> Environment:
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, finalize=_harmless,
    )  # fmt: skip


def _harmless(value: Any) -> Any:
    if isinstance(value, Markup):
        return value
    return plain(value) if isinstance(value, str) else value


def _markdown() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=False, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["md"] = markdown_text
    environment.filters["code"] = lambda value: " ".join(plain(str(value)).split())
    return environment


def markdown_text(value: Any) -> str:
    """One line in which no sign of Markdown acts."""
    return _MARKDOWN.sub(r"\\\1", " ".join(plain(str(value)).split()))


def shaded(comparison: Comparison, table: Table) -> Markup:
    """The grid of tasks and designs, each cell as dark as its value is high; the numbers say the same."""
    values = {(row["task"], row["design"]): row for row in comparison.grid.to_dict("records")}
    top = float(comparison.grid["mean"].max()) or 1.0
    lines = ["<thead><tr>"]
    lines += [f'<th scope="col"{" class=n" if kind else ""}>{_safe(head)}</th>' for head, kind in table.heads]
    lines.append("</tr></thead><tbody>")
    for row in table.rows:
        lines.append(f'<tr><th scope="row">{_safe(row[0])}</th>')
        for design, text in zip(comparison.designs, row[1:], strict=True):
            one = values.get((row[0], design))
            share = max(0.0, min(1.0, float(one["mean"]) / top)) if one else 0.0
            best = " best" if one and one["best"] else ""
            lines.append(f'<td class="n cell{best}" style="--v: {share:.2f}">{_safe(text)}</td>')
        lines.append("</tr>")
    body = "\n".join(lines)
    label = escape(table.caption)
    shown = f'<p class="caption">{label}</p><div class="scroll" tabindex="0" role="region" aria-label="{label}">'
    return Markup(f'{shown}<table aria-label="{label}">{body}</tbody></table></div>')


def _safe(text: str) -> str:
    return str(escape(plain(text)))
