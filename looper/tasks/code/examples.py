"""Examples in a prompt, as data: calls with literal arguments and the literal results that are said of them.

Understood: doctest (`>>> f(1)` and the result below it); `f(1) -> 2` with any of the usual signs and words between;
`For x = 1 the output should be 2`; `Input: ... Output: ...`. Nothing is executed; what is not clear is left out.
"""

import ast
import re
from collections.abc import Iterator
from typing import Any

from looper.tasks.code.program import headed, last_of, tree_of
from looper.tasks.repair.problem import Case

SIGN = re.compile(
    r"\s*(?:#\s*)?(?:➞|→|⟹|=+>|-+>|={1,3}|should\s+(?:return|be)|must\s+be|returns?|gives|is)\s*:?\s*(.*)"
)
"""What may stand between a call and its result."""
FOR = re.compile(r"\bFor (\w+ = .{1,2000}?),?\s+(?:the [^=\n]{0,80} )?the (?:output|result) (?:should be|is) (.*)")
NAMED = re.compile(r"(?:^|,|\n)\s*[A-Za-z_]\w*\s*[=:]\s*")
"""`name =` or `name :` before a value."""
WORDS = {"true": True, "false": False, "none": None, "null": None}
"""Constants that are not written as Python has them."""
LONGEST, LINES = 2_000, 12
"""Characters, and lines, in which the end of a call or of a literal is looked for."""
UNREADABLE = (SyntaxError, ValueError, TypeError, RecursionError, MemoryError)

Example = tuple[list[Any], Any]
"""Arguments and result."""


def examples(prompt: str, function: str) -> list[Case]:
    """The examples of the function's docstring in order, each argument list once; where two disagree, neither."""
    text, count = described(prompt, function)
    found: dict[str, tuple[list[Any], list[Any]]] = {}
    for args, expected in [*calls(text, function), *pairs(text, count), *sentences(text, count)]:
        found.setdefault(repr(args), (args, []))[1].append(expected)
    agreed = [(args, said[0]) for args, said in found.values() if len({repr(one) for one in said}) == 1]
    return [Case(id=f"example{number}", args=args, expected=value) for number, (args, value) in enumerate(agreed, 1)]


def described(prompt: str, function: str) -> tuple[str, int]:
    """The docstring of the function (where it has none, what stands below its head), and its parameters' number."""
    node = last_of(tree_of(prompt), function) or last_of(tree_of(headed(prompt)), function)
    text = ast.get_docstring(node) if node else None
    below = prompt.rpartition(f"def {function}")[2].partition("\n")[2]
    return text or below, len(node.args.args) if node else 0


def calls(text: str, function: str) -> Iterator[Example]:
    """Every `f(...)` whose result is said behind it, or below it after `>>>`."""
    for match in re.finditer(rf"(?<![\w.]){re.escape(function)}\s*\(", text):
        ended = call_at(text, match.start())
        if ended is None:
            continue
        args, end = ended
        before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip()
        behind, _, below = text[end:].partition("\n")
        sign = SIGN.match(behind)
        prompted = before == ">>>" and not behind.split("#")[0].strip()
        if sign and sign[1].strip():
            result = literal_at(text[end + sign.start(1) :])
        else:
            result = literal_at(below) if prompted else None
        if result is not None:
            yield args, result[0]


def call_at(text: str, start: int) -> tuple[list[Any], int] | None:
    """The literal arguments of the call that begins here, and where it ends."""
    for close in re.finditer(r"\)", text[start : start + LONGEST]):
        end = start + close.end()
        try:
            node = ast.parse(re.sub(r"\n\s*\.\.\.", "\n", text[start:end]), mode="eval").body
        except UNREADABLE:
            continue
        if not isinstance(node, ast.Call) or node.keywords:
            return None
        try:
            return [ast.literal_eval(arg) for arg in node.args], end
        except UNREADABLE:
            return None
    return None


def literal_at(text: str) -> tuple[Any] | None:
    """The literal that the text begins with, wrapped, because None is one too; None for what is a formula."""
    lines = text.lstrip(" \t")[:LONGEST].split("\n")
    first = lines[0].strip()
    tries = [first.rstrip(".,; "), *(first[: at.start()] for at in re.finditer(r"[.,;]?\s+(?=[#(\w])", first))]
    if first[:1] in tuple("[({"):
        tries += ["\n".join(lines[:count]) for count in range(2, min(len(lines), LINES) + 1)]
    for candidate in sorted(set(tries), key=len, reverse=True):
        if candidate in WORDS:
            return (WORDS[candidate],)
        try:
            return (ast.literal_eval(candidate.strip()),)
        except UNREADABLE:
            continue
    return None


def pairs(text: str, count: int) -> Iterator[Example]:
    """`Input: 1, [2]` and `Output: 3`."""
    for part in re.split(r"\bInput[ \t]*:", text)[1:]:
        given, said, result = part.partition("Output")
        if said:
            yield from shown(given, result.lstrip().removeprefix(":").lstrip(), count)


def sentences(text: str, count: int) -> Iterator[Example]:
    """`For x = 1, y = 2 the output should be 3`."""
    for match in FOR.finditer(text):
        yield from shown(match[1], match[2], count)


def shown(given: str, result: str, count: int) -> Iterator[Example]:
    """The example, where there are as many values as the function has parameters."""
    said = literal_at(result)
    try:
        values = ast.literal_eval(f"[{NAMED.sub(',', given).strip().strip(',')}]")
    except UNREADABLE:
        return
    if said is not None and len(values) == count:
        yield values, said[0]
