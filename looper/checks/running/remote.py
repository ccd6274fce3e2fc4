"""What tests hold in place of the module's objects: every use of one asks the process that has it (SAFETY P12).

Runs inside the sandbox of the tests; standard library only. No answer of the other process is run, and it never learns
what a value is compared with: a stand-in equals no plain value, and what is searched in it is compared here.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from looper.checks.running.plain import Decoder, Encoder, Unreadable

Ask = Callable[[dict[str, Any]], dict[str, Any]]
OWN = "_looper_"


class NotPlain(TypeError):
    """A value of the tests that cannot be handed to the module's process."""


class Remote:
    """An object of the module."""

    def __init__(self, link: Link, number: int, kind: str):
        object.__setattr__(self, OWN, (link, number, kind))

    def __getattr__(self, name: str) -> Any:
        if name.startswith(OWN) or name.startswith("_pytest") or name in ("__wrapped__", "pytestmark"):
            raise AttributeError(name)
        return use(self, "get", name)

    def __setattr__(self, name: str, value: Any) -> None:
        use(self, "set", name, value)

    def __delattr__(self, name: str) -> None:
        use(self, "del", name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return use(self, "call", *args, **kwargs)

    def __iter__(self) -> Iterator[Any]:
        return iterated(use(self, "iter"))

    def __next__(self) -> Any:
        return use(self, "next")

    def __contains__(self, item: Any) -> bool:
        return any(one is item or one == item for one in self)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Remote) and use(self, "eq", other) is True)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(use(self, "hash"))

    def __bool__(self) -> bool:
        return use(self, "bool") is True

    def __str__(self) -> str:
        return text(use(self, "str"))

    def __repr__(self) -> str:
        return text(use(self, "repr"))

    def __format__(self, spec: str) -> str:
        return text(use(self, "format", spec))

    def __enter__(self) -> Any:
        return use(self, "get", "__enter__")()

    def __exit__(self, kind: Any, error: Any, at: Any) -> bool:
        return use(self, "get", "__exit__")(None, None, None) is True if kind is None else False


def text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError("no text came from the module")
    return value


def iterated(value: Any) -> Iterator[Any]:
    if not isinstance(value, Remote):
        raise TypeError("no iterator came from the module")
    while True:
        try:
            item = next(value)
        except StopIteration:
            return
        yield item


def use(remote: Remote, operation: str, *args: Any, **kwargs: Any) -> Any:
    link, number, _ = object.__getattribute__(remote, OWN)
    return link.ask(number, operation, args, kwargs)


def _relayed(operation: str, *, compares: bool = False) -> Callable[..., Any]:
    def method(self: Remote, *args: Any) -> Any:
        if compares and not isinstance(args[0], Remote):
            return NotImplemented  # the module's process must not learn what it is measured against
        return use(self, operation, *args)

    return method


for _name in ("lt", "le", "gt", "ge"):
    setattr(Remote, f"__{_name}__", _relayed(_name, compares=True))
for _name in (
    "getitem", "setitem", "delitem", "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lshift",
    "rshift", "xor", "neg", "pos", "invert", "abs", "len", "int", "float", "reversed", "round", "and_", "or_",
):  # fmt: skip
    setattr(Remote, f"__{_name.rstrip('_')}__", _relayed(_name))


class ClassOf(type):
    """A class of the module: calls, attributes and `isinstance` are answered there."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return use(cls.__dict__[OWN], "call", *args, **kwargs)

    def __getattr__(cls, name: str) -> Any:
        return use(cls.__dict__[OWN], "get", name)

    def __iter__(cls) -> Iterator[Any]:
        return iterated(use(cls.__dict__[OWN], "iter"))

    def __len__(cls) -> int:
        return use(cls.__dict__[OWN], "len")

    def __getitem__(cls, key: Any) -> Any:
        return use(cls.__dict__[OWN], "getitem", key)

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, Remote) and use(cls.__dict__[OWN], "isinstance", value) is True


class Link:
    """All stand-ins of one module; each object of it has one."""

    def __init__(self, ask: Ask):
        self._ask = ask
        self.known: dict[Any, Any] = {}

    def ask(self, number: int, operation: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the module's process says of one operation. Raises what it says was raised."""
        encoder = Encoder(self.named)
        request = {"on": number, "op": operation, "back": any(type(one) in (list, dict, set) for one in args),
                   "args": [encoder.encode(one) for one in args],
                   "kwargs": {key: encoder.encode(one) for key, one in kwargs.items()}}  # fmt: skip
        said = self._ask(request)
        if "e" in said or "v" not in said:
            raise self.error(said)
        self.copy_back(args, said.get("a"))
        try:
            return Decoder(self.stand_in).decode(said["v"])
        except Unreadable as error:
            raise RuntimeError(f"the module's process sent no value: {error}") from error

    def named(self, value: Any) -> int:
        """The number of a stand-in that goes back to where it came from."""
        if isinstance(value, ClassOf):
            value = value.__dict__[OWN]
        if isinstance(value, Remote):
            return object.__getattribute__(value, OWN)[1]
        kind = type(value).__name__
        raise NotPlain(f"a {kind} cannot be handed to the module's process (`shared: true` runs both in one)")

    def stand_in(self, told: Any) -> Any:
        """What stands for an object: always the same for the same object."""
        if told["kind"] == "exception":
            return self.exception(told["of"])
        number = int(told["id"])
        if told["kind"] == "coroutine":
            return self.awaited(number)
        key = told["kind"], number
        if key not in self.known:
            remote = Remote(self, number, str(told["type"]))
            self.known[key] = ClassOf("Class", (), {OWN: remote}) if told["kind"] == "class" else remote
        return self.known[key]

    async def awaited(self, number: int) -> Any:
        return self.ask(number, "await", (), {})

    def exception(self, lineage: Any) -> type[Exception]:
        """A class for `pytest.raises` and `except`; of the built-in ones those that a test may catch."""
        base: type[Exception] = Exception
        for name, number in reversed(lineage if isinstance(lineage, list) else []):
            built_in = getattr(builtins, str(name), None) if number is None else None
            if isinstance(built_in, type) and issubclass(built_in, Exception):
                base = built_in
            elif number is not None:
                key = "exception", int(number)
                if key not in self.known:
                    self.known[key] = type(str(name), (base,), {"__getattr__": attribute_there})
                base = self.known[key]
        return base

    def error(self, said: dict[str, Any]) -> Exception:
        kind, message = self.exception(said.get("e")), str(said.get("m", "no answer"))
        try:
            made = kind(message)
        except TypeError:  # UnicodeDecodeError and the like want more than a text
            return RuntimeError(f"{kind.__name__}: {message}")
        if type(said.get("on")) is int:
            made.__dict__[OWN] = Remote(self, said["on"], kind.__name__)
        return made

    def copy_back(self, args: tuple[Any, ...], after: Any) -> None:
        """Changes that a call made to its arguments in place."""
        if not isinstance(after, list) or len(after) != len(args):
            return
        for before, data in zip(args, after, strict=True):
            if type(before) in (list, dict, set):
                value = Decoder(self.stand_in).decode(data)
                if type(value) is type(before):
                    replace(before, value)


def attribute_there(error: Exception, name: str) -> Any:
    """An attribute of an exception that only the module's process knows."""
    remote = error.__dict__.get(OWN)
    if remote is None or name.startswith("__"):
        raise AttributeError(name)
    return use(remote, "get", name)


def replace(before: Any, value: Any) -> None:
    if isinstance(before, list):
        before[:] = value
    else:
        before.clear()
        before.update(value)


class StandIn(ModuleType):
    """The module, as tests import it."""

    def __init__(self, name: str, ask: Ask, names: list[str]):
        super().__init__(name)
        self.__dict__[OWN] = Remote(Link(ask), 0, "module")
        self.__dict__["__all__"] = names

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__version__":
            raise AttributeError(name)
        return use(self.__dict__[OWN], "get", name)
