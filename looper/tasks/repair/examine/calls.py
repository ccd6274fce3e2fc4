"""Calls of a candidate's functions with plain values, inside the sandbox; standard library only.

Expected values are not known here: outputs leave as plain data and are compared outside (SAFETY P12).
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from .codec import Encoder, TooLarge, Unreadable, decode
from .instrument import Meter, TimeExceeded
from .loading import placed
from .script_checks import describe

ENDLESS, CURT = 2, 5_000
"""After so many tests that ran out of steps, a candidate gets so few for each that is left."""


def find(program: ModuleType | None, name: str) -> Any:
    """A function of the program by its (dotted) name."""
    found: Any = program
    for part in name.split("."):
        found = getattr(found, part)
    return found


def outcome(function: Callable[[], Any], meter: Meter) -> dict[str, Any]:
    """What a call returned (`v`; `o` names a type that is no plain data) or raised (`e`, `k`: its classes)."""
    try:
        meter.restart()
        encoder = Encoder()
        value = encoder.encode(function())
        meter.check()
    except BaseException as error:  # the candidate may raise anything, SystemExit included: it is a result
        return {"e": describe(error), "k": kinds(error), "s": meter.used}
    return {"v": value, "o": encoder.opaque, "s": meter.used}


def kinds(error: BaseException) -> list[str]:
    return [] if isinstance(error, TooLarge) else [kind.__name__ for kind in type(error).__mro__[:8]]


class CasesRun:
    """Tests as data: one function, a list of arguments."""

    def __init__(self, spec: dict[str, Any]):
        self.function: str = spec["function"]
        self.calls: list[list[Any]] = [decode(args) for args in spec["calls"]]

    def ids(self) -> list[str]:
        return []

    def host(self, serve: Callable[[], None]) -> None:
        serve()

    def run(self, program: Any, request: dict[str, Any], meter: Meter, emit: Callable[..., None]) -> None:
        function = find(program.load(), self.function)
        base = set(meter.lines)
        endless = 0
        for number, arguments in enumerate(self.calls):
            if number in request.get("skip", ()):
                emit(i=number, e="not run: a lighter test failed", s=0)
                continue
            meter.lines.clear()
            meter.limit = request["limits"][number] if request.get("limits") else meter.limit
            if endless >= request.get("endless", ENDLESS):
                meter.limit = min(meter.limit, CURT)
            said = outcome(lambda given=arguments: function(*given), meter)
            endless += meter.left < 0
            emit(i=number, l=sorted(base | meter.lines), **said)


class ValuesRun(CasesRun):
    """The same for arguments that come with the request."""

    def __init__(self, asked: dict[str, Any]):
        super().__init__(asked)


class CallServer:
    """Answers `{"call": name, "args": [...], "kwargs": {...}}` until its input ends or its time is up."""

    def __init__(self, lines: Any, meter: Meter, name: str):
        self.lines, self.meter, self.name = lines, meter, name
        self.program: ModuleType | None = None

    def load(self, fill: Callable[[ModuleType], None]) -> None:
        try:
            program = placed(self.name)
            fill(program)
            self.program = program
        except BaseException as error:  # as in `outcome`
            self.lines.send({"e": describe(error)})
            return
        self.base = set(self.meter.lines)
        self.lines.send({"ok": True})

    def answer(self) -> bool:
        try:
            request = self.lines.receive()
            if request is None or self.program is None:
                return False
            self.lines.send(self.call(request))
        except TimeExceeded:  # the alarm went off between two calls
            self.lines.send({"e": "timeout", "k": ["TimeExceeded"]})
        return not self.meter.late

    def call(self, request: dict[str, Any]) -> dict[str, Any]:
        self.meter.lines.clear()
        try:
            arguments = [decode(item) for item in request["args"]]
            named = {key: decode(item) for key, item in request.get("kwargs", {}).items()}
        except Unreadable as error:
            return {"e": describe(error), "k": ["TypeError"]}
        said = outcome(lambda: find(self.program, request["call"])(*arguments, **named), self.meter)
        said["l"] = sorted(self.base | self.meter.lines)
        if request.get("back"):
            said["a"] = outcome(lambda: arguments, self.meter).get("v")
        return said
