"""From the words of a model to an answer of the wanted type, or to the name of what is wrong with them (SPEC 0.10)."""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from looper.agents.prompt import clean

DEPTH = 100
"""Nesting beyond this is no answer: parsers and validators recurse."""
STARTS, SCANNED = 200, 20_000_000
"""How many opening braces in prose are tried, and characters read for it: a reply full of them costs bounded time."""
_MARKS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}]', re.DOTALL)
"""Strings whole, so that a bracket inside one does not count."""


class Unparsable(ValueError):
    """The reply is no answer; `ended` is the name of the outcome, the text is what the model is told."""

    def __init__(self, ended: str, message: str):
        super().__init__(message)
        self.ended = ended


@dataclass(frozen=True)
class Words:
    """What a model said, before anybody believed it."""

    text: str = ""
    finish: str = "stop"
    refusal: str = ""
    tools: bool = False


def answer(words: Words, returns: Any) -> Any:
    """The answer of type `returns` in `words`; raises `Unparsable` with the outcome by name.

    A type with `of_words(text)` may also be given without JSON: it says itself what a text stands for, or None.
    """
    _check_ending(words)
    try:
        return _valid(extract(words.text), returns)
    except Unparsable:
        read = getattr(returns, "of_words", None)
        value = read(words.text) if read else None
        if value is None:
            raise
        return value


def _valid(value: Any, returns: Any) -> Any:
    try:
        return returns.model_validate_json(json.dumps(value))
    except ValidationError as error:
        raise Unparsable("invalid", f"Not a valid {returns.__name__}: {explain(error)}") from error


def _check_ending(words: Words) -> None:
    if words.refusal:
        raise Unparsable("refusal", f"You refused: {words.refusal[:500]}")
    if words.finish == "content_filter":
        raise Unparsable("content_filter", "The provider's content filter stopped the answer.")
    if words.tools or words.finish in ("tool_calls", "function_call"):
        raise Unparsable("tool_call", "You called a tool; there is none. Answer in the text of the message.")
    if words.finish == "length":
        raise Unparsable("truncated", "Your answer was cut off at the limit of its length. Answer more briefly.")
    if not words.text.strip("\ufeff \t\r\n"):
        raise Unparsable("empty", "Your answer was empty.")


def explain(error: ValidationError) -> str:
    """The first ten complaints, without echoing the input."""
    lines = error.errors(include_url=False, include_input=False, include_context=False)
    told = [f"{'.'.join(str(part) for part in line['loc']) or 'answer'}: {line['msg']}" for line in lines[:10]]
    return clean("; ".join(told))[:2000]


def extract(text: str) -> Any:
    """The one JSON value of `text`, also when it is fenced or wrapped in prose.

    Two different objects are ambiguous: choosing would be guessing. Duplicate keys, NaN, infinities, numbers beyond a
    double and nesting deeper than 100 are refused.
    """
    text = text.strip("\ufeff \t\r\n")
    try:
        return _load(text)
    except json.JSONDecodeError:
        found = list(_objects(text))
    different = [v for i, v in enumerate(found) if v not in found[:i]]
    different = [v for v in different if v] or different  # `{}` in prose is a figure of speech beside a real object
    if not different:
        raise Unparsable("no_json", "There is no JSON object in your answer.")
    if len(different) > 1:
        raise Unparsable("ambiguous", f"Your answer holds {len(different)} different JSON objects. Give exactly one.")
    return different[0]


def _objects(text: str) -> Iterator[Any]:
    at = scanned = tried = 0
    while (at := text.find("{", at)) >= 0:
        end = _closing(text, at)
        scanned, tried = scanned + end - at, tried + 1
        if tried > STARTS or scanned > SCANNED:
            raise Unparsable("ambiguous", "There are too many braces around the JSON object in your answer.")
        try:
            value = _load(text[at:end])
        except json.JSONDecodeError:
            at += 1
        else:
            at = end
            yield value


def _closing(text: str, at: int) -> int:
    """Where the bracket opened at `at` is closed; the end of the text if it is not."""
    depth = 0
    for found in _MARKS.finditer(text, at):
        mark = found[0]
        if mark in "[{":
            depth += 1
        elif mark in "]}":
            depth -= 1
        if depth > DEPTH:
            raise Unparsable("invalid", f"Your answer is nested deeper than {DEPTH} levels.")
        if depth == 0:
            return found.end()
    return len(text)


def _load(text: str) -> Any:
    if text[:1] in ("{", "["):
        _closing(text, 0)
    try:
        value = json.loads(text, object_pairs_hook=_pairs, parse_constant=_constant, parse_float=_finite)
    except (json.JSONDecodeError, Unparsable):
        raise
    except (ValueError, RecursionError) as error:  # an integer of thousands of digits
        raise Unparsable("invalid", f"Your answer cannot be read: {error}") from error
    return _clean(value)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = sorted({name for name in names if names.count(name) > 1})
        raise Unparsable("invalid", f"A key is given twice: {clean(', '.join(twice))[:200]}.")
    return found


def _constant(name: str) -> Any:
    raise Unparsable("invalid", f"{name} is not a number of JSON.")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise Unparsable("invalid", f"{digits[:40]} is beyond every number.")
    return value


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(key): _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list) else value
