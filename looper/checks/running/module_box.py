"""The artifact as a module in a process of its own: it answers calls and never sees a test (SAFETY P12).

Runs inside the sandbox; standard library only. Nothing it says is believed but as the value of a call.
"""

from __future__ import annotations

import json
import operator
import os
import sys
from collections.abc import Callable
from types import CoroutineType, ModuleType
from typing import Any

from looper.checks.running.plain import Decoder, Encoder

OPERATIONS: dict[str, Callable[..., Any]] = {
    "get": getattr, "set": setattr, "del": delattr, "call": lambda on, *args, **kwargs: on(*args, **kwargs),
    "isinstance": lambda on, other: isinstance(other, on), "issubclass": lambda on, other: issubclass(other, on),
    "iter": iter, "next": next, "len": len, "str": str, "repr": repr, "hash": hash, "bool": bool, "int": int,
    "float": float, "dir": dir, "format": format, "abs": abs, "reversed": reversed, "round": round,
    "await": lambda on: finished(on),
    **{name: getattr(operator, name) for name in (
        "getitem", "setitem", "delitem", "eq", "ne", "lt", "le", "gt", "ge", "add", "sub", "mul", "truediv",
        "floordiv", "mod", "pow", "neg", "pos", "invert", "and_", "or_", "xor", "matmul", "lshift", "rshift", "iadd",
    )},
}  # fmt: skip


def finished(coroutine: Any) -> Any:
    import asyncio  # slow to import, and seldom needed

    return asyncio.run(coroutine)


class Server:
    """One module and the objects of it that the other side knows by number."""

    def __init__(self, name: str):
        self.module = ModuleType(name)
        self.module.__file__ = f"{name}.py"
        sys.modules[name] = self.module
        self.objects: list[Any] = [self.module]
        self.numbers = {id(self.module): 0}

    def number(self, value: Any) -> int:
        if id(value) not in self.numbers:
            self.numbers[id(value)] = len(self.objects)
            self.objects.append(value)  # kept alive, so that its id stays its own
        return self.numbers[id(value)]

    def live(self, value: Any) -> dict[str, Any]:
        """How an object is spoken of."""
        kind = "class" if isinstance(value, type) else "coroutine" if isinstance(value, CoroutineType) else "object"
        if isinstance(value, type) and issubclass(value, BaseException):
            return {"kind": "exception", "of": self.lineage(value)}
        return {"kind": kind, "id": self.number(value), "type": type(value).__name__[:80]}

    def lineage(self, kind: type[BaseException]) -> list[list[Any]]:
        """Classes of an exception, the nearest first: name, and a number for those that are no built-in."""
        return [[one.__name__[:80], None if one.__module__ == "builtins" else self.number(one)]
                for one in kind.__mro__[:20] if one is not object]  # fmt: skip

    def encode(self, value: Any) -> Any:
        return Encoder(self.live).encode(value)

    def load(self, source: str) -> dict[str, Any]:
        try:
            exec(compile(source, f"{self.module.__name__}.py", "exec", dont_inherit=True), self.module.__dict__)
        except BaseException as error:  # whatever the artifact raises when it is loaded is told as such
            return self.failure(error)
        names = [str(name) for name in getattr(self.module, "__all__", vars(self.module))]
        return {"names": [name for name in names if not name.startswith("_")][:5000]}

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            decoder = Decoder(lambda number: self.objects[number])
            args = [decoder.decode(item) for item in request["args"]]
            kwargs = {key: decoder.decode(item) for key, item in request["kwargs"].items()}
            value = OPERATIONS[request["op"]](self.objects[request["on"]], *args, **kwargs)
            said: dict[str, Any] = {"v": self.encode(value)}
            if request.get("back"):
                said["a"] = [self.encode(item) for item in args]
        except BaseException as error:  # the module may raise anything, SystemExit too: that is the answer
            return self.failure(error)
        return said

    def failure(self, error: BaseException) -> dict[str, Any]:
        try:
            text = str(error)[:1000]
        except Exception:  # the error is of the artifact's own making: its text may raise anything
            text = ""
        return {"e": self.lineage(type(error)), "m": text, "on": self.number(error)}


def main() -> None:
    """Serves until its input ends."""
    reads, writes = os.fdopen(os.dup(0), "rb"), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    say(writes, {"ready": True})
    request = json.loads(reads.readline())
    server = Server(request["module"])
    say(writes, server.load(request["source"]))
    for line in reads:
        say(writes, server.answer(json.loads(line)))


def say(writes: int, message: dict[str, Any]) -> None:
    data = json.dumps(message).encode() + b"\n"
    while data:
        data = data[os.write(writes, data) :]
