"""Plain Python values as JSON and back, with nothing executable on the reading side (SAFETY P12).

Runs on both sides of the sandbox, so it imports the standard library only. The reader takes every byte as hostile: it
builds values of an allow-list of built-in types and of nothing else, up to a depth and a number of parts.
"""

from __future__ import annotations

import collections
import collections.abc
import decimal
import fractions
import itertools
import math
from typing import Any

MAX_DEPTH = 60
MAX_PARTS = 200_000
MAX_ITEMS = 10_000
"""Most values taken from a generator before it counts as endless."""
MAX_BITS = 1_000_000


class Unreadable(ValueError):
    """What was received is not an encoded plain value."""


class TooLarge(ValueError):
    """The value has too many parts or is nested too deeply to be handed over."""


class Opaque:
    """Stands for a value that is not plain data; equal to nothing but itself."""

    def __init__(self, kind: str):
        self.kind = kind

    def __repr__(self) -> str:
        return f"<{self.kind}: not plain data>"


LAZY = (
    collections.abc.Iterator,
    range,
    collections.deque,
    collections.abc.KeysView,
    collections.abc.ValuesView,
    collections.abc.ItemsView,
)


class Encoder:
    """One value to JSON-able data; counts its parts."""

    def __init__(self) -> None:
        self.parts = 0
        self.opaque = ""
        """Type name of the first part that was not plain data, empty if all was."""

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
        if isinstance(value, list):
            return self.items(value, depth)
        for kind, tag in ((tuple, "t"), (set, "s"), (frozenset, "z")):
            if isinstance(value, kind):
                return {tag: self.items(value, depth)}
        if isinstance(value, dict):
            return {"d": [[self.encode(k, depth), self.encode(v, depth)] for k, v in value.items()]}
        if isinstance(value, LAZY):
            return {"g": self.taken(value, depth)}
        return self.rare(value, depth)

    def rare(self, value: Any, depth: int) -> Any:
        if isinstance(value, (bytes, bytearray)):
            return {"b": bytes(value).hex()}
        if isinstance(value, complex):
            return {"c": [scalar(value.real), scalar(value.imag)]}
        if isinstance(value, decimal.Decimal):
            return {"m": str(value)}
        if isinstance(value, fractions.Fraction):
            return {"q": [scalar(value.numerator), scalar(value.denominator)]}
        plain = getattr(value, "tolist", None)  # numpy's arrays and scalars
        if plain is not None and type(value).__module__.partition(".")[0] == "numpy":
            return self.encode(plain(), depth)
        self.opaque = self.opaque or type(value).__name__
        return {"o": type(value).__name__[:80]}

    def items(self, values: Any, depth: int) -> list[Any]:
        return [self.encode(value, depth) for value in values]

    def taken(self, values: Any, depth: int) -> list[Any]:
        taken = list(itertools.islice(values, MAX_ITEMS + 1))
        if len(taken) > MAX_ITEMS:
            raise TooLarge(f"more than {MAX_ITEMS} values came out of a generator")
        return self.items(taken, depth)


def scalar(value: Any) -> Any:
    """Numbers and text; subclasses (an IntEnum) count as their built-in base."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float):
        number = float.__float__(value)
        return number if math.isfinite(number) else {"f": repr(number)}
    number = int.__int__(value)
    bits = number.bit_length()
    if bits > MAX_BITS:
        raise TooLarge(f"a number of {bits} bits")
    return number if bits <= 256 else {"n": hex(number)}


def encode(value: Any) -> Any:
    """`value` as JSON-able data; what is not plain becomes `{"o": type name}`. Raises TooLarge."""
    return Encoder().encode(value)


class Decoder:
    """Encoded data to values of built-in types; `lazy` gives an iterator where one was encoded, else a list."""

    def __init__(self, lazy: bool = False):
        self.parts = 0
        self.lazy = lazy
        self.opaque = ""
        """Type name of the first part that was not plain data, empty if all was."""

    def decode(self, data: Any, depth: int = 0) -> Any:
        self.parts += 1
        if self.parts > MAX_PARTS or depth > MAX_DEPTH:
            raise Unreadable("too large")
        if data is None or isinstance(data, (bool, int, float, str)):
            return data
        if isinstance(data, list):
            return [self.decode(item, depth + 1) for item in data]
        if not isinstance(data, dict) or len(data) != 1:
            raise Unreadable("not an encoded value")
        ((tag, content),) = data.items()
        try:
            return self.tagged(tag, content, depth + 1)
        except (TypeError, ValueError, ArithmeticError, KeyError) as error:
            raise Unreadable(f"bad content for {tag!r}") from error

    def tagged(self, tag: str, content: Any, depth: int) -> Any:
        if tag in COLLECTIONS:
            return COLLECTIONS[tag](self.listed(content, depth))
        if tag == "d":
            return {self.decode(k, depth): self.decode(v, depth) for k, v in self.pairs(content)}
        if tag == "g":
            values = self.listed(content, depth)
            return iter(values) if self.lazy else values
        if tag in ("c", "q"):
            one, two = self.listed(content, depth)
            return complex(one, two) if tag == "c" else fractions.Fraction(one, two)
        if tag == "o":
            self.opaque = self.opaque or self.text(content)
        return TEXTS[tag](self.text(content))

    def listed(self, content: Any, depth: int) -> list[Any]:
        if not isinstance(content, list):
            raise Unreadable("a list was expected")
        return [self.decode(item, depth) for item in content]

    @staticmethod
    def pairs(content: Any) -> list[Any]:
        if not isinstance(content, list) or any(not isinstance(p, list) or len(p) != 2 for p in content):
            raise Unreadable("pairs were expected")
        return content

    @staticmethod
    def text(content: Any) -> str:
        if not isinstance(content, str):
            raise Unreadable("text was expected")
        return content


def whole(text: str) -> int:
    """A number of any size from hexadecimal text (decimal text would be refused above 4,300 digits)."""
    if len(text) > MAX_BITS // 4 + 4:
        raise Unreadable("a number too large")
    return int(text, 16)


COLLECTIONS: dict[str, Any] = {"t": tuple, "s": set, "z": frozenset}
TEXTS: dict[str, Any] = {"b": bytes.fromhex, "f": float, "n": whole, "m": decimal.Decimal, "o": Opaque}


def decode(data: Any, *, lazy: bool = False) -> Any:
    """The value that was encoded; raises Unreadable for anything that `encode` does not write."""
    return Decoder(lazy).decode(data)
