"""The commands compare and report: what recorded runs say of the designs, and one run as a page (SPEC 6.2, 6.3)."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from looper.commands.request import Request
from looper.commands.shelf import pick
from looper.console.blocks import columns
from looper.console.screen import brief, plain
from looper.errors import ConfigError
from looper.folder import Outputs

PAGE = "report.html"


def compare(request: Request) -> int:
    """Compare designs, print the verdict, write the report."""
    if {"--json", "--csv"} <= request.flags:
        raise ConfigError("compare: give --json or --csv, not both.")
    source, told = source_of(request)
    if not request.as_json:
        request.screen.warn(f"comparing {told}")
    from looper.lab.report import compared, write
    from looper.lab.report.pages import as_json

    given = request.settings
    comparison = compared(
        source, baseline=given.get("baseline"), value=given.get("value", "score"), margin=_margin(given.get("margin")),
        designs=_designs(given.get("designs")), rivals="--no-rivals" not in request.flags,
    )  # fmt: skip
    folder = Path(given["report"]) if "report" in given else request.outputs.root / "reports" / _named(told, given)
    files = write(comparison, folder)
    if request.as_json:
        request.screen.say(as_json(comparison, files[0]))
    elif "--csv" in request.flags:
        request.screen.say(comparison.table.to_csv(index=False).rstrip("\n"))
    else:
        request.screen.say("\n".join(plain(line) for line in lines_of(comparison, files[0])))
    return 0


def source_of(request: Request) -> tuple[Any, str]:
    """What to read, and the same in words: an MLflow store, what is named, or the newest sweep."""
    uri = request.settings.get("tracking.uri")
    if uri is not None or "experiment" in request.settings or "filter" in request.settings:
        return _store(request, uri)
    if request.words:
        places = [_place(request.outputs, word) for word in request.words]
        return places, ", ".join(brief(place, 300) for place in places)
    newest = _newest(request.outputs.root)
    what = "runs in" if newest == request.outputs.root else "newest sweep,"
    return newest, f"the {what} {brief(newest, 300)}"


def _store(request: Request, uri: str | None) -> tuple[Any, str]:
    from looper.lab.data import Store

    where = uri or f"sqlite:///{(request.outputs.root / 'mlflow.db').resolve()}"
    experiment, chosen = request.settings.get("experiment", "looper"), request.settings.get("filter")
    sweeps: Sequence[str | None] = request.words or [None]
    stores = [Store(uri=where, experiment=experiment, sweep=sweep, filter=chosen) for sweep in sweeps]
    named = f", {', '.join(request.words)}" if request.words else ""
    return stores, f"the experiment {experiment} in {where}{named}"


def _place(outputs: Outputs, word: str) -> Path:
    """A folder, the sweep or the run of this name. Raises ConfigError."""
    for path in (outputs.root / "sweeps" / word, Path(word)):
        if path.is_dir():
            return path
    return pick(outputs, word).path


def _newest(root: Path) -> Path:
    """The sweep whose runs were written last; all runs if there is no sweep. Raises ConfigError without any run."""
    found = sorted(root.glob("sweeps/*/*/history.jsonl"), key=lambda file: file.stat().st_mtime_ns)
    if found:
        return found[-1].parent.parent
    if any(root.glob("*/history.jsonl")):
        return root
    raise ConfigError(
        f"compare: there is no run below {root}/ yet; a sweep makes some: python -m looper -m +task=dial "
        "loop=adaptive,baseline,once seed=0,1,2"
    )


def _margin(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        margin = float(text)
    except ValueError:
        margin = -1.0
    if not 0 <= margin < float("inf"):
        raise ConfigError(f"margin={text}: a number from 0 on is needed, in units of the value, e.g. margin=0.05.")
    return margin


def _designs(text: str | None) -> list[str] | None:
    """Labels, separated by semicolons where one has a comma in it."""
    if text is None:
        return None
    return [name.strip() for name in text.split(";" if ";" in text else ",") if name.strip()]


def _named(told: str, given: dict[str, str]) -> str:
    """A folder's name: the same question goes to the same place."""
    words = [
        told,
        *(f"{key}={given[key]}" for key in sorted(given) if key in ("baseline", "value", "margin", "designs")),
    ]
    name = "".join(c if c.isalnum() else "-" for c in Path(told).name).strip("-")[:40]
    return f"{name or 'compare'}-{hashlib.blake2b(' '.join(words).encode(), digest_size=3).hexdigest()}"


def lines_of(comparison: Any, report: Path) -> list[str]:
    """For the terminal: the table, the verdict in words, what was not shown, where the report is."""
    from looper.lab.report.brief import brief_table
    from looper.lab.report.labels import displayed
    from looper.lab.report.words import conclusions, limits, rivals_told, setting

    comparison = displayed(comparison)
    facts = setting(comparison)
    shown = brief_table(comparison)
    lines = [
        f"{name.lower()}: {brief(facts[name], 300)}"
        for name in ("Question", "Runs", "Cells", "Models", "Label")
        if name in facts
    ]
    lines += ["", *columns([head for head, _ in shown.heads], [list(row) for row in shown.rows]), ""]
    lines += [f"- {line}" for line in conclusions(comparison)]
    lines += roles_of(comparison)
    lines += ["", "not shown:", *(f"- {line}" for line in limits(comparison))]
    lines += [f"- note: {line}" for line in comparison.notes]
    if rivals := rivals_told(comparison):
        lines += ["", "to add the rivals that are missing (--no-rivals: do not say so):", f"  {rivals}"]
    if len(comparison.refused):
        lines += ["", f"refused: {len(comparison.refused)} runs", *_refusals(comparison)]
    return [*lines, "", f"report: {report}"]


def roles_of(comparison: Any) -> list[str]:
    """What each role is worth, where roles were ablated."""
    from looper.lab.report.tables import roles

    table = roles(comparison)
    if table is None:
        return []
    return ["", "what each role is worth (whole design minus ablated):", "",
            *columns([head for head, _ in table.heads], [list(row) for row in table.rows])]  # fmt: skip


def _refusals(comparison: Any) -> list[str]:
    """Up to five reasons, the most frequent first."""
    counts = comparison.refused["reason"].value_counts()
    told = [f"  {count} x {brief(reason, 300)}" for reason, count in list(counts.items())[:5]]
    return [*told, "  ... see the report"] if len(counts) > 5 else told


def report(request: Request) -> int:
    """One run as a page; its path."""
    from looper.console.story import Story
    from looper.lab.report.single import write_run

    story = Story.of(pick(request.outputs, request.name))
    file = story.folder.path / PAGE
    write_run(story, file)
    request.screen.say(str(file))
    return 0
