"""Stand-ins for a program's functions: the tests call them, another process runs them (SAFETY P12).

Runs inside the sandbox of the tests; standard library only. Only plain values come back, built of built-in types.
"""

from __future__ import annotations

import builtins
from typing import Any

from .codec import Decoder, Encoder
from .instrument import StepsExceeded, TimeExceeded

NOT_PLAIN = "is not plain data"
"""Part of the message of a test that needs live objects."""


class NotPlain(Exception):
    """A value that cannot be handed between the two processes."""


class Proxies:
    """The calls of one candidate's functions."""

    def __init__(self, relay: Any, exceptions: dict[str, type[BaseException]], lines: set[int]):
        self.relay, self.exceptions, self.lines = relay, exceptions, lines

    def function(self, name: str) -> Any:
        def stand_in(*args: Any, **kwargs: Any) -> Any:
            return self.call(name, args, kwargs)

        stand_in.__name__ = stand_in.__qualname__ = name
        return stand_in

    def call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        encoder = Encoder()
        given = [encoder.encode(value) for value in args]
        named = {key: encoder.encode(value) for key, value in kwargs.items()}
        if encoder.opaque:
            raise NotPlain(f"an argument of type {encoder.opaque} {NOT_PLAIN}")
        self.relay.send({"call": name, "args": given, "kwargs": named, "back": any(map(changeable, args))})
        said = self.relay.receive() or {}
        self.lines.update(line for line in said.get("l") or [] if type(line) is int)
        if "e" in said or "v" not in said:
            raise self.error(said)
        self.copy_back(args, said.get("a"))
        decoder = Decoder(lazy=True)
        value = decoder.decode(said["v"])
        if decoder.opaque:
            raise NotPlain(f"the result of {name}, a {decoder.opaque}, {NOT_PLAIN}")
        return value

    def error(self, said: dict[str, Any]) -> BaseException:
        """The exception that the test would have seen; a class that is not known here becomes a RuntimeError."""
        told = str(said.get("e", "no answer"))
        kinds = said.get("k")
        for name in kinds if isinstance(kinds, list) else []:
            kind = self.exceptions.get(str(name)) or getattr(builtins, str(name), None)
            if name in LIMITS:
                return LIMITS[name]()
            if isinstance(kind, type) and issubclass(kind, Exception):
                return made(kind, told.partition(": ")[2])
        return RuntimeError(told)

    @staticmethod
    def copy_back(args: tuple[Any, ...], after: Any) -> None:
        """Changes that the call made to its arguments in place."""
        if not isinstance(after, list) or len(after) != len(args):
            return
        for before, data in zip(args, after, strict=True):
            if changeable(before):
                value = Decoder().decode(data)
                if type(value) is type(before) and value != before:
                    replace(before, value)


LIMITS: dict[str, type[BaseException]] = {"StepsExceeded": StepsExceeded, "TimeExceeded": TimeExceeded}


def changeable(value: Any) -> bool:
    return type(value) in (list, dict, set)


def replace(before: Any, value: Any) -> None:
    if isinstance(before, list):
        before[:] = value
    else:
        before.clear()
        before.update(value)


def made(kind: type[Exception], text: str) -> Exception:
    try:
        return kind(text)
    except TypeError:  # UnicodeDecodeError and the like want more than a text
        return RuntimeError(f"{kind.__name__}: {text}")


def stand_ins(name: str, offer: dict[str, Any], relay: Any, lines: set[int]) -> dict[str, Any]:
    """What the tests see of the program: functions, constants and exception classes of the original."""
    exceptions: dict[str, type[BaseException]] = {}
    for own, base in offer["exceptions"].items():
        parent = exceptions.get(base) or getattr(builtins, base)
        exceptions[own] = type(own, (parent,), {"__module__": name})
    proxies = Proxies(relay, exceptions, lines)
    constants = {key: Decoder().decode(value) for key, value in offer["constants"].items()}
    space: dict[str, Any] = {"__name__": name}
    exec("\n".join(offer["imports"]), space)
    return {**space, **exceptions, **constants, **{key: proxies.function(key) for key in offer["functions"]}}
