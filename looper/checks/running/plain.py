"""Python values as JSON and back, for calls between two processes of which one is hostile; standard library only.

Plain values travel whole and arrive as built-in types. Anything else stays where it is: the side that has it gives it a
number, and the other side gets what its own `live` makes of that number.
"""

from __future__ import annotations

import collections
import datetime
import decimal
import fractions
import math
import pathlib
import uuid
from collections.abc import Callable
from typing import Any

MAX_DEPTH = 60
MAX_PARTS = 200_000
MAX_BITS = 1_000_000


class Unreadable(ValueError):
    """What was received is no encoded value."""


class TooLarge(ValueError):
    """The value has too many parts or is nested too deeply to be handed over."""


TEXTS: dict[str, tuple[type[Any], Callable[[Any], str], Callable[[str], Any]]] = {
    "b": (bytes, bytes.hex, bytes.fromhex),
    "ba": (bytearray, bytearray.hex, bytearray.fromhex),
    "m": (decimal.Decimal, str, decimal.Decimal),
    "q": (fractions.Fraction, str, fractions.Fraction),
    "c": (complex, str, complex),
    "dt": (datetime.datetime, datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    "da": (datetime.date, datetime.date.isoformat, datetime.date.fromisoformat),
    "ti": (datetime.time, datetime.time.isoformat, datetime.time.fromisoformat),
    "u": (uuid.UUID, str, uuid.UUID),
    "p": (pathlib.PosixPath, str, pathlib.Path),
}
"""Types that travel as text; compared by exact type."""
LISTS: dict[str, tuple[type[Any], Callable[[list[Any]], Any]]] = {
    "t": (tuple, tuple),
    "s": (set, set),
    "z": (frozenset, frozenset),
    "dq": (collections.deque, collections.deque),
    "r": (range, lambda parts: range(*parts)),
    "td": (datetime.timedelta, lambda parts: datetime.timedelta(*parts)),
}
DICTS = (dict, collections.OrderedDict, collections.defaultdict, collections.Counter)
NAMED = "nt"


class Encoder:
    """One value to JSON-able data; `live` numbers what cannot travel."""

    def __init__(self, live: Callable[[Any], Any]):
        self.live, self.parts = live, 0

    def encode(self, value: Any, depth: int = 0) -> Any:
        self.parts += 1
        if self.parts > MAX_PARTS or depth > MAX_DEPTH:
            raise TooLarge("the value is too large to be handed over")
        if value is None or value is True or value is False:
            return value
        if isinstance(value, (str, int, float)):
            return scalar(value)
        return self.compound(value, depth + 1)

    def compound(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind is list:
            return self.items(value, depth)
        if kind in DICTS:
            return {"d": [[self.encode(k, depth), self.encode(v, depth)] for k, v in value.items()]}
        for tag, (type_, write, _) in TEXTS.items():
            if kind is type_:
                return {tag: write(value)}
        for tag, (type_, _) in LISTS.items():
            if kind is type_:
                return {tag: self.items(parts_of(value), depth)}
        fields = getattr(kind, "_fields", None)
        if isinstance(value, tuple) and isinstance(fields, tuple):
            return {NAMED: [kind.__name__, list(fields), self.items(value, depth)]}
        return {"live": self.live(value)}

    def items(self, values: Any, depth: int) -> list[Any]:
        return [self.encode(value, depth) for value in values]


def parts_of(value: Any) -> Any:
    if isinstance(value, range):
        return [value.start, value.stop, value.step]
    return [value.days, value.seconds, value.microseconds] if isinstance(value, datetime.timedelta) else value


def scalar(value: Any) -> Any:
    """Numbers and text; subclasses (an IntEnum) count as their built-in base."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float):
        number = float.__float__(value)
        return number if math.isfinite(number) else {"f": repr(number)}
    number = int.__int__(value)
    if number.bit_length() > MAX_BITS:
        raise TooLarge(f"a number of {number.bit_length()} bits")
    return number if number.bit_length() <= 256 else {"n": hex(number)}


class Decoder:
    """Encoded data to values of built-in types; raises Unreadable for anything that `Encoder` does not write."""

    def __init__(self, live: Callable[[Any], Any]):
        self.live, self.parts = live, 0

    def decode(self, data: Any, depth: int = 0) -> Any:
        self.parts += 1
        if self.parts > MAX_PARTS or depth > MAX_DEPTH:
            raise Unreadable("too large")
        if data is None or isinstance(data, (bool, int, float, str)):
            return data
        if isinstance(data, list):
            return [self.decode(item, depth + 1) for item in data]
        if not isinstance(data, dict) or len(data) != 1:
            raise Unreadable("no encoded value")
        ((tag, content),) = data.items()
        try:
            return self.tagged(tag, content, depth + 1)
        except (TypeError, ValueError, ArithmeticError, KeyError, AttributeError) as error:
            raise Unreadable(f"bad content for {tag!r}") from error

    def tagged(self, tag: str, content: Any, depth: int) -> Any:
        if tag == "live":
            return self.live(content)
        if tag == "d":
            return {self.decode(key, depth): self.decode(value, depth) for key, value in content}
        if tag in LISTS:
            return LISTS[tag][1]([self.decode(item, depth) for item in content])
        if tag == NAMED:
            name, fields, values = content
            return collections.namedtuple(name, fields)(*[self.decode(item, depth) for item in values])
        if not isinstance(content, str) or len(content) > MAX_BITS:
            raise Unreadable("text was expected")
        if tag in ("f", "n"):
            return float(content) if tag == "f" else int(content, 16)
        return TEXTS[tag][2](content)
