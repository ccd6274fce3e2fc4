"""A cabal's board while it runs and in a status: rounds as they were presented, product tree, open flags (SPEC 4.9).

Works on the board as the journal tells it and on its short form in run.json, so that no design is loaded for it.
"""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from looper.console.screen import brief, plain
from looper.journal import Event, load_payload
from looper.state import glimpse

MARKS = {
    "accepted": "✓", "reviewed": "●", "written": "○", "assigned": "▶", "pending": "·", "blocked": "■", "rejected": "✗",
}  # fmt: skip
WIDE = 110
"""Characters of a line of running text."""
DEEPEST = 6
"""Levels by which the tree is indented at most."""


@dataclass
class Rounds:
    """What is said of a cabal's rounds, gathered from its events; nothing of the other designs."""

    folder: Path
    limit: int | None = None
    """Rounds at most."""
    advanced: Mapping[str, Any] | None = None
    """The round that is over, until the board is told that it left."""
    seen: bool = False

    def take(self, event: Event) -> list[str] | None:
        """Lines that are due; None for an event that is not a cabal's."""
        if event.event == "iteration_advanced":
            entry = load_payload(self.folder, event)
            self.advanced = entry if isinstance(entry, dict) and "presentation" in entry else None
            return [] if self.advanced else None
        if event.event == "board_updated":
            self.seen = True
            return self._told(load_payload(self.folder, event)["board"])
        return [] if self.seen and event.event == "evaluation_done" else None  # the round says it, drafts aside

    def _told(self, board: Mapping[str, Any]) -> list[str]:
        if board["halts"] and not board["halts"][-1]["answer"]:
            return halt_lines(board["halts"][-1])
        entry, self.advanced = self.advanced, None
        if entry:
            return round_lines(entry, board, self.limit)
        return [] if board["round"] else bootstrap_lines(board)


def halt_lines(halt: Mapping[str, Any]) -> list[str]:
    """What the chair asks the user."""
    head = f"── Halt in {when(halt)} | the chair asks ──"
    return [head, *wrapped(halt["question"], "  ")]


def when(halt: Mapping[str, Any]) -> str:
    """At which step of which round."""
    return "bootstrap" if not halt["round"] else f"round {halt['round']}, {halt['step']}"


def bootstrap_lines(board: Mapping[str, Any]) -> list[str]:
    """Mission, team and first products."""
    team = [one for one in board["members"] if one["role"] == "operative"]
    head = f"── Bootstrap | {counted(len(team), 'operative')} | {counted(len(board['products']), 'product')} ──"
    names = [f"  {one['id']} {brief(one['name'], 40)}: {brief(one['responsibility'], 80)}" for one in team]
    known = glimpse(board)
    return [head, *wrapped(f"mission: {board['mission']}"), "team:", *names, "products:", *tree_lines(known)]


def round_lines(entry: Mapping[str, Any], board: Mapping[str, Any], limit: int | None = None) -> list[str]:
    """A round as the envoy told it, what came of it, and the products as they stand."""
    known = glimpse(board)
    head = [f"Round {entry['step']}{f'/{limit}' if limit else ''}"]
    head += [f"Score: {entry['score']:.2f}"] if isinstance(entry.get("score"), int | float) else []
    head += [
        f"{entry['accepted']} of {entry['deliverables']} accepted", f"open importance {entry['open_importance']}",
        counted(entry["flags"], "flag"),
    ]  # fmt: skip
    told = session_lines(entry["presentation"], known) if entry["presentation"] else ["  The envoy told nothing."]
    return [f"── {' | '.join(head)} ──", *told, *flag_lines(known), "products:", *tree_lines(known)]


def session_lines(session: Mapping[str, Any], known: Mapping[str, Any]) -> list[str]:
    """The envoy's messages as lines of a chat, findings, what was accepted or blocked, open questions (SPEC 4.9)."""
    lines: list[str] = []
    for one in session["messages"]:
        lines += wrapped(f"{named(known['team'], one['member'])}: {one['text']}", "  ")
    titles: dict[str, str] = {one["id"]: f"{one['id']} {brief(one['title'], 60)}" for one in known["products"]}
    for word in ("accepted", "blocked"):
        if found := session[word]:
            lines += wrapped(f"{word}: {', '.join(titles[one] for one in found)}")
    lines += itemised("key findings", session["findings"])
    return [*lines, *itemised("open questions", session["questions"])]


def itemised(name: str, items: Iterable[str]) -> list[str]:
    """A heading and a paragraph per item; nothing without items."""
    found = [line for one in items for line in wrapped(f"- {one}", "  ")]
    return [f"{name}:", *found] if found else []


def flag_lines(known: Mapping[str, Any]) -> list[str]:
    """What blocks acceptance, the gravest first."""
    found = [(flag, one) for one in known["products"] for flag in one["flags"] if one["status"] != "rejected"]
    found.sort(key=lambda pair: -pair[0]["importance"])
    told = [
        f"{flag['id']} on {one['id']} {brief(one['title'], 60)} ({flag['importance']}/10, "
        f"{named(known['team'], flag['author'])}): {brief(flag['text'], 200)}"
        for flag, one in found
    ]
    return itemised("open flags", told)


def tree_lines(known: Mapping[str, Any]) -> list[str]:
    """A line per product, children below their parents, with state, version, type, owner and flags."""
    products: Sequence[Mapping[str, Any]] = known["products"]
    depths: dict[str, int] = {}
    for one in products:  # parents come first
        depths[one["id"]] = depths[one["parent"]] + 1 if one["parent"] else 0
    names = [f"{MARKS.get(one['status'], '?')} {'  ' * min(depths[one['id']], DEEPEST)}{one['id']} "
             f"{brief(one['title'], 60)}" for one in products]  # fmt: skip
    width = max(map(len, names), default=0)
    told = zip(names, products, strict=True)
    return [f"  {name:{width}}  {one['status']:8}  {_facts(one, known['team'])}" for name, one in told]


def _facts(one: Mapping[str, Any], team: Mapping[str, str]) -> str:
    parts = [f"v{one['version']}" if one["version"] else "no version", one["type"], named(team, one["owner"])]
    flags = ", ".join(flag["id"] for flag in one["flags"])
    return ", ".join([*parts, *([f"flags {flags}"] if flags else [])])


def board_shown(state: Mapping[str, Any]) -> list[str]:
    """The tree and the open flags of run.json, where the design has a board."""
    known = state.get("board")
    if not known:
        return []
    when = f"after round {known['round']}" if known["round"] else "after bootstrap"
    return [f"board {when}:", *tree_lines(known), *flag_lines(known)]


def named(team: Mapping[str, str], who: str) -> str:
    """A member for people."""
    return brief(team.get(who, who), 40)


def counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def wrapped(text: str, indent: str = "") -> list[str]:
    """Running text on lines of bounded width, the later ones further in."""
    words = " ".join(plain(text).split())
    return textwrap.wrap(words, WIDE, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False)
