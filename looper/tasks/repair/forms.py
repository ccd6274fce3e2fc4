"""What a program is apart from its layout: two sources of one form do the same."""

import hashlib
from types import CodeType

from looper.tasks.quiet import quietly


def normal_form(source: str) -> str:
    """Key of a program: equal for sources that compile to the same code (layout and comments do not count).

    Valid within one Python version. A source that does not compile has a key of its own text.
    """
    with quietly():
        shape = form_of(source) or f"text {source}"
    return hashlib.sha256(shape.encode(errors="surrogatepass")).hexdigest()


def compiles(source: str) -> bool:
    """Whether the source is a Python program."""
    with quietly():
        return form_of(source) is not None


def form_of(source: str) -> str | None:
    """The compiled program without line numbers; None if it does not compile."""
    try:
        return repr(_shape(compile(source, "program", "exec", dont_inherit=True)))
    except (SyntaxError, ValueError):
        return None


def _shape(code: CodeType) -> tuple[object, ...]:
    constants = [_constant(value) for value in code.co_consts]
    names = (code.co_name, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    return (code.co_code, constants, names, counts, code.co_exceptiontable)


def _constant(value: object) -> object:
    if isinstance(value, CodeType):
        return _shape(value)
    return sorted(map(repr, value)) if isinstance(value, frozenset) else (type(value).__name__, repr(value))
