"""What a run's page says of the loop around its design, and of the run that it is a fork of."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from looper.console.outer import decision_line, interviewed_lines
from looper.console.story import Story
from looper.console.summary import paid
from looper.lab.report.tables import Table
from looper.lab.report.words import number
from looper.loops.gather_verify.layers import SCORED
from looper.loops.gather_verify.output import cut, domain

ACCOUNTS = ("outer", "inner", "usd", "tokens", "calls")
COUNTED = ("tokens", "calls")
"""Accounts without digits after the point."""


@dataclass(frozen=True)
class Rounds:
    """The course of an outer loop (document 000)."""

    phases: list[str]
    """In order, each time that it was entered."""
    lines: list[str]
    """What was gathered and agreed, and what the user decided."""
    tables: list[Table] = field(default_factory=list)


def rounds(story: Story) -> Rounds | None:
    """None without an outer loop, and before its first phase."""
    told = story.state.get("outer_loop")
    if not told:
        return None
    phases = [name.lower().replace("_", " ") for name in told["path"] if name != "INITIALIZED"]
    tables = [verdicts(told["verdicts"]), gaps(told["verdicts"])]
    return Rounds(phases, list(_lines(told)), [table for table in tables if table.rows])


def _lines(told: Mapping[str, Any]) -> Iterator[str]:
    yield f"Returns to the inner loop ({told['inner']}) because of gaps: {told['loops']} of at most {told['max_loops']}"
    if told["gathered"]:
        yield f"Domain: {domain(told['gathered'])}"
    if told["interviewed"]:
        yield from (line[:1].upper() + line[1:] for line in interviewed_lines(told["interviewed"]))
    if told["relaxed"]:
        yield f"Relaxed: {', '.join(told['relaxed'])}"
    for one in told["decisions"]:
        told_so = decision_line(one)
        yield told_so[:1].upper() + told_so[1:]


def verdicts(found: list[Mapping[str, Any]]) -> Table:
    """Each verification: outcome, score and layers, and why."""
    rows = [
        [
            str(place), one["outcome"].lower().replace("_", " "), cut(one["score"]),
            *(_layer(one["layers"].get(layer)) for layer in SCORED), str(len(one["gaps"])), one["why"],
        ]
        for place, one in enumerate(found, 1)
    ]  # fmt: skip
    heads = [("verification", ""), ("outcome", ""), *((head, "n") for head in ("score", *SCORED, "gaps")),
             ("why", "wide")]  # fmt: skip
    return Table("Verdicts of the outer loop; an unknown layer's weight is with the others", heads, rows)


def _layer(value: float | None) -> str:
    return "unknown" if value is None else cut(value)


def gaps(found: list[Mapping[str, Any]]) -> Table:
    """What each verification found to be missing."""
    rows = [
        [str(place), gap["criterion"], gap["severity"], gap["layer"], gap["problem"]]
        for place, one in enumerate(found, 1) for gap in one["gaps"]
    ]  # fmt: skip
    heads = [("verification", ""), ("criterion", ""), ("severity", ""), ("layer", ""), ("problem", "wide")]
    return Table("Gaps that each verification found", heads, rows)


def inherited(story: Story) -> Table | None:
    """What a fork shares with its parent and what it has paid itself (SPEC 6.5); None for another run."""
    forked = story.state["setup"].get("forked")
    if not forked:
        return None
    sides = {"shared with the parent": forked["inherited"], "paid by this run": paid(story.state),
             "together": story.state["spent"]}  # fmt: skip
    rows = [
        [name, *(number(of.get(account, 0.0), 0 if account in COUNTED else 3) for account in ACCOUNTS)]
        for name, of in sides.items()
    ]  # fmt: skip
    caption = f"A fork of {forked['parent']} at {forked['at']}: {forked['steps']} steps are its parent's"
    return Table(caption, [("", ""), *((account, "n") for account in ACCOUNTS)], rows)
