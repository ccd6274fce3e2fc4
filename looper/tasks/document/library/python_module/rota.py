"""On-call rotas: who is on call, from when until when.

Times are naive datetimes of whole seconds, and a shift is half-open: it holds from its start up to, but not at, its
end. Nothing is ever changed in place.

>>> from datetime import datetime, timedelta
>>> day = datetime(2026, 3, 2, 8)
>>> week = rotation(["ana", "bo"], day, day + timedelta(days=4), parse_duration("2d"))
>>> on_call(override(week, [Shift("cy", day, day + timedelta(hours=6))]), day)
'cy'
"""

import logging
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from typing import Any

logger = logging.getLogger(__name__)

LONGEST = timedelta(weeks=52)
MOST_TURNS = 100_000
MOST_CHARACTERS = 1_000_000

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,39}")
_DURATION = re.compile(r"(?:([0-9]{1,9})w)?(?:([0-9]{1,9})d)?(?:([0-9]{1,9})h)?(?:([0-9]{1,9})m)?")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(?::[0-9]{2})?")


class RotaError(ValueError):
    """A value that no rota can be made of; `line` is the line of a loaded text, if there is one."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message if line is None else f"line {line}: {message}")
        self.line = line


@dataclass(frozen=True)
class Shift:
    """One person's time on call, from `start` up to `end`. Raises RotaError."""

    person: str
    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        """Refuse what is no shift."""
        _check_name(self.person)
        _check_window(self.start, self.end)


def parse_duration(text: str) -> timedelta:
    """Read a time span such as `1w2d12h30m`, up to 52 weeks. Raises RotaError."""
    match = _DURATION.fullmatch(text.strip(" ")) if isinstance(text, str) else None
    if match is None or match[0] == "":
        raise RotaError(f"{_shown(text)} is no duration such as 1w2d12h30m")
    weeks, days, hours, minutes = (int(number or 0) for number in match.groups())
    try:
        span = timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes)
    except OverflowError as error:
        raise RotaError(f"{_shown(text)} is longer than 52 weeks") from error
    if not timedelta(0) < span <= LONGEST:
        raise RotaError(f"{_shown(text)} is not between one minute and 52 weeks")
    return span


def rotation(people: Iterable[str], start: datetime, end: datetime, turn: timedelta) -> list[Shift]:
    """Let people take turns from `start` to `end`; the last turn is cut at the end. Raises RotaError."""
    names = _names(people)
    _check_window(start, end)
    if not isinstance(turn, timedelta) or turn <= timedelta(0) or turn.microseconds:
        raise RotaError(f"a turn of {_shown(turn)} is not a positive number of whole seconds")
    turns = -((start - end) // turn)
    if turns > MOST_TURNS:
        raise RotaError(f"{turns} turns are more than {MOST_TURNS}")
    starts = [start + number * turn for number in range(turns)]
    pairs = zip(starts, [*starts[1:], end], strict=True)
    return _merged([Shift(names[number % len(names)], *pair) for number, pair in enumerate(pairs)])


def override(shifts: Iterable[Shift], extra: Iterable[Shift]) -> list[Shift]:
    """Give the time of each extra shift to its person; later ones win over earlier ones. Raises RotaError."""
    result = _ordered(shifts)
    for new in _shifts(extra):
        losers = sorted({old.person for old in _touched(result, new) if old.person != new.person})
        for person in losers:
            logger.info("%s takes over from %s between %s and %s", new.person, person, new.start, new.end)
        rest = [piece for old in result for piece in _without(old, new)]
        result = sorted([*rest, new], key=_by_start)
    return _merged(result)


def on_call(shifts: Iterable[Shift], at: datetime) -> str | None:
    """Say who is on call at a moment, or None. Raises RotaError."""
    _check_time(at)
    rota = _ordered(shifts)
    place = bisect_right(rota, at, key=_by_start) - 1
    return rota[place].person if place >= 0 and at < rota[place].end else None


def gaps(shifts: Iterable[Shift], start: datetime, end: datetime) -> list[tuple[datetime, datetime]]:
    """Find the times between `start` and `end` at which nobody is on call. Raises RotaError."""
    _check_window(start, end)
    found: list[tuple[datetime, datetime]] = []
    covered = start
    for shift in _ordered(shifts):
        if shift.start >= end:
            break
        if shift.start > covered:
            found.append((covered, shift.start))
        covered = max(covered, shift.end)
    if covered < end:
        found.append((covered, end))
    return found


def hours(shifts: Iterable[Shift]) -> dict[str, Fraction]:
    """Sum the hours of each person, exactly; the most first, then by name. Raises RotaError."""
    sums: dict[str, timedelta] = {}
    for shift in _ordered(shifts):
        sums[shift.person] = sums.get(shift.person, timedelta(0)) + (shift.end - shift.start)
    ranked = sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    return {name: Fraction(span // timedelta(seconds=1), 3600) for name, span in ranked}


def dump(shifts: Iterable[Shift]) -> str:
    """Write a rota as text, one line for each shift. Raises RotaError."""
    lines = [f"{shift.start.isoformat()} {shift.end.isoformat()} {shift.person}" for shift in _merged(_ordered(shifts))]
    return "".join(f"{line}\n" for line in lines)


def load(text: str) -> list[Shift]:
    """Read what `dump` writes; empty lines and comments are skipped. Raises RotaError with the line."""
    if not isinstance(text, str) or len(text) > MOST_CHARACTERS:
        raise RotaError(f"a rota is a text of at most {MOST_CHARACTERS} characters")
    numbered = sorted(_rows(text), key=lambda row: row[1].start)
    for (first, before), (second, after) in pairwise(numbered):
        if after.start < before.end:
            raise RotaError("overlaps with another shift", max(first, second))
    logger.info("%d shifts read", len(numbered))
    return _merged([shift for _, shift in numbered])


def _rows(text: str) -> Iterator[tuple[int, Shift]]:
    for number, line in enumerate(text.split("\n"), 1):
        fields = re.split(r"[ \t]+", line.removesuffix("\r").strip(" \t"))
        if fields == [""] or fields[0].startswith("#"):
            continue
        try:
            if len(fields) != 3:
                raise RotaError(f"{len(fields)} fields in place of start, end and person")
            yield number, Shift(fields[2], _time(fields[0]), _time(fields[1]))
        except RotaError as error:
            raise RotaError(str(error), number) from error


def _time(text: str) -> datetime:
    if not _TIME.fullmatch(text):
        raise RotaError(f"{_shown(text)} is no time such as 2026-03-02T08:00:00")
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise RotaError(f"{_shown(text)} is on no calendar") from error


def _ordered(shifts: Iterable[Shift]) -> list[Shift]:
    rota = sorted(_shifts(shifts), key=_by_start)
    for before, after in pairwise(rota):
        if after.start < before.end:
            raise RotaError(f"{before.person} and {after.person} are both on call at {after.start.isoformat()}")
    return rota


def _merged(rota: list[Shift]) -> list[Shift]:
    result: list[Shift] = []
    for shift in rota:
        if result and result[-1].person == shift.person and result[-1].end == shift.start:
            shift = Shift(shift.person, result.pop().start, shift.end)
        result.append(shift)
    return result


def _touched(rota: list[Shift], new: Shift) -> list[Shift]:
    return [old for old in rota if old.start < new.end and new.start < old.end]


def _without(old: Shift, new: Shift) -> list[Shift]:
    if old.end <= new.start or new.end <= old.start:
        return [old]
    before = [Shift(old.person, old.start, new.start)] if old.start < new.start else []
    after = [Shift(old.person, new.end, old.end)] if new.end < old.end else []
    return before + after


def _by_start(shift: Shift) -> datetime:
    return shift.start


def _shifts(values: Any) -> list[Shift]:
    items = _items(values, "shifts")
    for item in items:
        if not isinstance(item, Shift):
            raise RotaError(f"{_shown(item)} is no shift")
    return items


def _names(people: Any) -> list[str]:
    names = _items(people, "names")
    for name in names:
        _check_name(name)
    if not names or len(set(names)) < len(names):
        raise RotaError("a rotation needs at least one name, and each only once")
    return names


def _items(values: Any, what: str) -> list[Any]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise RotaError(f"{_shown(values)} is no list of {what}")
    return list(values)


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise RotaError(f"{_shown(name)} is no name of 1 to 40 letters, digits and . _ - that begins with a letter")


def _check_time(value: Any) -> None:
    if not isinstance(value, datetime) or value.tzinfo is not None or value.microsecond:
        raise RotaError(f"{_shown(value)} is no datetime of whole seconds without a time zone")


def _check_window(start: Any, end: Any) -> None:
    _check_time(start)
    _check_time(end)
    if start >= end:
        raise RotaError(f"{start.isoformat()} is not before {end.isoformat()}")


def _shown(value: Any) -> str:
    """Show a value in a message, in one line and cut."""
    text = repr(value[:80]) if isinstance(value, str) else f"a value of type {type(value).__name__}"
    return text if len(text) <= 90 else f"{text[:87]}..."
