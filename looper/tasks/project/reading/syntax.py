"""Python text as a syntax tree, as a text and as the interpreter reads a file."""

import ast

from looper.tasks.quiet import quietly


def parsed(source: str | bytes) -> ast.Module:
    """The module, without a warning. Bytes are read as a file is: byte order mark and coding cookie count.

    Raises SyntaxError, ValueError, RecursionError or MemoryError.
    """
    with quietly():
        return ast.parse(source.removeprefix("\ufeff") if isinstance(source, str) else source)
