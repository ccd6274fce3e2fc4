"""The types of values that the journal holds: declared, so that what is read back is what was returned."""

from collections.abc import Callable
from functools import cache
from typing import Any, get_type_hints
from weakref import WeakKeyDictionary

from pydantic import TypeAdapter

from looper.errors import ConfigError

_hints: "WeakKeyDictionary[Any, Any]" = WeakKeyDictionary()
"""By function; weakly, because a closure holds its run."""


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    """What encodes and decodes values of a type."""
    return TypeAdapter(kind)


def returns_of(fn: Callable[..., Any]) -> Any:
    """The declared return type of a step's function. Raises ConfigError if it has none."""
    function: Any = getattr(fn, "__func__", fn)
    if function not in _hints:
        hints = get_type_hints(function)
        if "return" not in hints:
            name = function.__qualname__
            raise ConfigError(f"{name}: annotate what it returns; the journal decodes its values to that type.")
        _hints[function] = hints["return"]
    return _hints[function]
