"""Python text as a syntax tree, as a text and as the interpreter reads a file."""

import ast
import threading
import warnings

_FILTERS = threading.Lock()
"""Threads share the filters of warnings."""


def parsed(source: str | bytes) -> ast.Module:
    """The module, without a warning. Bytes are read as a file is: byte order mark and coding cookie count.

    Raises SyntaxError, ValueError, RecursionError or MemoryError.
    """
    with _FILTERS, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source.removeprefix("\ufeff") if isinstance(source, str) else source)
