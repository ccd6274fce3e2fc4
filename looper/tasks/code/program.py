"""From what a role wrote to the program that is run: out of its fence, complete, with the prompt's own head."""

import ast
import re
import textwrap

FENCE = re.compile(r"^[ \t]*(```+|~~~+)[ \t]*([\w+-]*)[^\n]*\n(.*?)(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
FUTURE = "__future__"
PREPARING = (ast.Pass, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
"""Statements that a function cannot consist of."""


def completed(prompt: str, function: str, text: str) -> str:
    """The program that a text stands for: a whole program, or the body that continues the prompt, fenced or bare.

    Imports and helpers of the prompt that it leaves out are put back. A text that is neither is returned as it is: the
    gate says what is wrong with it. Doing it twice changes nothing.
    """
    source = unfenced(text, function)
    if defined(source, function):
        return with_head(prompt, function, source)
    for body in (source, textwrap.indent(textwrap.dedent(source), "    ")):
        whole = f"{prompt.rstrip()}\n{body.rstrip()}\n"
        if source.strip() and not lacks(whole, function) and alike(whole, headed(prompt)):
            return whole
    return source


def alike(source: str, other: str) -> bool:
    """Whether two programs have equally many statements at top level: nothing but a body was added."""
    return len(tree_of(source).body) == len(tree_of(other).body)


def unfenced(text: str, function: str) -> str:
    """The first fenced block that defines the function, else the first block, else the text; without outer blanks."""
    blocks = [textwrap.dedent(block[3]) for block in FENCE.finditer(text)]
    chosen = next((block for block in blocks if defined(block, function)), blocks[0] if blocks else text)
    return f"{chosen.strip(chr(10)).rstrip()}\n" if chosen.strip() else ""


def lacks(source: str, function: str) -> str:
    """Why a program is no complete program; empty if it is one. Nothing is executed."""
    if not source.strip():
        return "there is no program"
    try:
        tree = parsed(source)
    except Unreadable as error:
        return str(error)
    node = last_of(tree, function)
    if node is None:
        return f"it defines no function {function} at top level"
    return "" if any(map(does_something, node.body)) else f"the function {function} has no body"


class Unreadable(ValueError):
    """Not Python that can be parsed; the text says where."""


def parsed(source: str) -> ast.Module:
    """The syntax tree. Raises Unreadable."""
    try:
        return ast.parse(source)
    except SyntaxError as error:
        raise Unreadable(f"it is not valid Python: {error.msg}, line {error.lineno}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise Unreadable(f"it cannot be parsed ({type(error).__name__})") from error


def tree_of(source: str) -> ast.Module:
    """The syntax tree, an empty one where there is none."""
    try:
        return parsed(source)
    except Unreadable:
        return ast.Module(body=[], type_ignores=[])


def headed(prompt: str) -> str:
    """A prompt that ends with the head of a function, as a program that can be parsed."""
    return f"{prompt.rstrip()}\n    pass\n"


def last_of(tree: ast.Module, function: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The definition of this name that counts, the last one at top level."""
    named = [n for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef) and n.name == function]
    return named[-1] if named else None


def defined(source: str, function: str) -> bool:
    return last_of(tree_of(source), function) is not None


def does_something(statement: ast.stmt) -> bool:
    """Not a docstring, `...` or `pass`, and not only preparation."""
    idle = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return not idle and not isinstance(statement, PREPARING)


def with_head(prompt: str, function: str, source: str) -> str:
    """The program behind those imports and helpers of the prompt that it does not have itself."""
    tree = tree_of(source)
    own = {ast.dump(node) for node in tree.body}
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    missing = [
        ast.get_source_segment(prompt, node) or ""
        for node in tree_of(prompt if defined(prompt, function) else headed(prompt)).body
        if getattr(node, "name", "") not in {function, *names} and ast.dump(node) not in own
    ]
    if not missing:
        return source
    last = max((node.end_lineno or 0 for node in tree.body if is_future(node)), default=0)  # those have to come first
    lines = source.splitlines()
    return "\n".join([*lines[:last], *missing, "", "", *lines[last:]]).rstrip() + "\n"


def is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == FUTURE


def spoken(text: str) -> str:
    """The program that a reply in words consists of or holds in a fence; empty if it is none."""
    code = unfenced(text, "")
    tree = tree_of(code) if tree_of(code).body else tree_of(textwrap.dedent(code))
    return code if any(isinstance(node, ast.FunctionDef | ast.Return) for node in tree.body) else ""
