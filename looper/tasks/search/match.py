"""A query in SQLite's own words: a MATCH expression in which nothing of the user's is syntax, and conditions."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from looper.errors import ConfigError
from looper.tasks.search.query import Query
from looper.tasks.search.tokens import spells
from looper.tasks.search.words import clean

CONDITIONS = {"shortest": " AND documents.length >= ?", "longest": " AND documents.length <= ?"}
BELOW = " AND (documents.module = ? OR substr(documents.module, 1, length(?) + 1) = ? || '.')"
FIELD = " AND EXISTS (SELECT 1 FROM fields WHERE fields.number = documents.number AND name = ? AND value = ?)"


@dataclass(frozen=True)
class Match:
    """What to ask of the index; an empty expression matches nothing."""

    expression: str
    where: str = ""
    values: tuple[str | int, ...] = ()
    note: str = ""


def match(query: Query, filters: Collection[str], kinds: Collection[str], widest: int) -> Match:
    """Raises ConfigError for a filter that is not known, a value that does not fit and a query that is too wide."""
    groups = {word: [word, *query.alternatives.get(word, [])] for word in query.keywords}
    width = sum(len(group) for group in groups.values()) + len(query.exclusions)
    if width > widest:
        raise ConfigError(f"A query of {width} words is too wide for this collection; use at most {widest}.")
    where, values = conditions(query.filters, filters, kinds)
    silent = [word for word, group in groups.items() if not expression(group)]
    if silent:
        return Match("", note=f"No letter or digit in {silent[0][:40]!r}: it occurs nowhere.")
    held = " AND ".join(f"({expression(group)})" for group in groups.values())
    without = expression(query.exclusions)
    return Match(f"({held}) NOT ({without})" if held and without else held, where, values)


def expression(words: Iterable[str]) -> str:
    """Any of the words, each a phrase of its parts; those without a letter or digit occur nowhere and are left out."""
    return " OR ".join('"' + clean(word).replace('"', '""') + '"' for word in words if spells(word))


def conditions(
    wanted: dict[str, str | int], known: Collection[str], kinds: Collection[str]
) -> tuple[str, tuple[str | int, ...]]:
    where, values = "", ()
    for name, value in sorted(wanted.items()):
        if name not in known:
            raise ConfigError(f"filter {name[:40]!r} is not one of this collection's: {', '.join(sorted(known))}.")
        more, held = condition(name, value, kinds)
        where, values = where + more, values + held
    return where, values


def condition(name: str, value: str | int, kinds: Collection[str]) -> tuple[str, tuple[str | int, ...]]:
    if name in CONDITIONS:
        return CONDITIONS[name], (whole(name, value),)
    text = clean(str(value))
    if name == "module":
        return BELOW, (text, text, text)
    if name == "kind":
        return among(text, kinds)
    return FIELD, (name, text)


def whole(name: str, value: str | int) -> int:
    text = str(value)
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise ConfigError(f"filter {name}={text[:40]!r} is not a number of characters; use a whole number from 0.")
    return int(text)


def among(text: str, kinds: Collection[str]) -> tuple[str, tuple[str, ...]]:
    wanted = [kind.strip() for kind in text.split(",")]
    if strange := [kind for kind in wanted if kind not in kinds]:
        raise ConfigError(f"filter kind={strange[0][:40]!r} does not occur here; the kinds are {', '.join(kinds)}.")
    return f" AND documents.kind IN ({', '.join('?' * len(wanted))})", tuple(wanted)
