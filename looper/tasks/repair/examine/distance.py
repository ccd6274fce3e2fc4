"""How far an output is from the expected one: 0 equal, 1 nothing in common (SPEC 7.2), and when the two match.

Runs on both sides of the sandbox: standard library only. Cost is bounded: long parts are compared coarsely.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

Numbers = (int, float, complex)
TOLERANCE = 1e-6
"""Relative and absolute, and only where the expected value is a float."""
WIDTH = (40, 12, 0)
"""Longest sequences that are aligned rather than compared place by place, by depth of nesting."""
LETTERS = 80
DEPTH = 12


def matches(expected: Any, got: Any) -> bool:
    """Whether `got` is the value that JSON `expected` names: a tuple equals a list, a bool is never an int, a float may
    be off by 1e-6; all else by exact type."""
    if isinstance(expected, (list, tuple)):
        same = isinstance(got, (list, tuple)) and len(got) == len(expected)
        return same and all(map(matches, expected, got))
    if isinstance(expected, float):
        return type(got) in (int, float) and close(expected, got)
    if type(got) is not type(expected):
        return False
    if isinstance(expected, dict):
        return expected.keys() == got.keys() and all(matches(expected[key], got[key]) for key in expected)
    return bool(expected == got)


def close(expected: float, got: float) -> bool:
    try:
        nan = math.isnan(expected) and math.isnan(got)
        return nan or math.isclose(expected, got, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    except OverflowError:  # an int beyond the range of floats
        return False


def distance(expected: Any, got: Any, depth: int = 0) -> float:
    """0 to 1; symmetric. A mismatch of types is 1, but int, float and complex compare as numbers."""
    if isinstance(expected, bool) or isinstance(got, bool) or expected is None or got is None:
        return 0.0 if type(expected) is type(got) and expected == got else 1.0
    if isinstance(expected, Numbers) and isinstance(got, Numbers):
        return numbers(expected, got)
    for kinds, measure in MEASURES:
        if isinstance(expected, kinds) and isinstance(got, kinds):
            return 1.0 if depth > DEPTH else measure(expected, got, depth)
    return 0.0 if type(expected) is type(got) and expected == got else 1.0


def numbers(a: Any, b: Any) -> float:
    """|a - b| / (1 + |a| + |b|), so that one off is near and the scale does not matter."""
    try:
        if a == b or (a != a and b != b):  # the second: both are NaN
            return 0.0
        share = abs(a - b) / (1 + abs(a) + abs(b))
    except OverflowError:
        return 1.0
    return max(float(share), 1e-9) if share <= 1 else 1.0


def texts(a: Any, b: Any, _depth: int) -> float:
    """Levenshtein distance over the longer length; a comparison of letter counts where the texts are long."""
    if a == b:
        return 0.0
    longer = max(len(a), len(b))
    a, b = trimmed(a, b)
    if len(a) > LETTERS or len(b) > LETTERS:
        common = sum((Counter(a) & Counter(b)).values())
        return max(max(len(a), len(b)) - common, 1) / longer
    return aligned(a, b, lambda x, y: float(x != y)) / longer


def sequences(a: Any, b: Any, depth: int) -> float:
    """Cost of the best alignment, an element counting by its own distance, over the longer length."""
    longer = max(len(a), len(b))
    a, b = trimmed(a, b)
    if not a and not b:
        return 0.0
    width = WIDTH[min(depth, len(WIDTH) - 1)]
    if max(len(a), len(b)) <= width:
        return aligned(a, b, lambda x, y: distance(x, y, depth + 1)) / longer
    shown = list(zip(a, b, strict=False))[:200]
    shorter = min(len(a), len(b))
    mean = sum(distance(x, y, depth + 1) for x, y in shown) / len(shown) if shown else 0.0
    return min((mean * shorter + abs(len(a) - len(b))) / longer, 1.0)


def trimmed(a: Any, b: Any) -> tuple[Any, Any]:
    """Both without what they share at the start and at the end."""
    start, shorter = 0, min(len(a), len(b))
    while start < shorter and alike(a[start], b[start]):
        start += 1
    end = 0
    while end < shorter - start and alike(a[-1 - end], b[-1 - end]):
        end += 1
    return a[start : len(a) - end], b[start : len(b) - end]


def alike(a: Any, b: Any) -> bool:
    return type(a) is type(b) and bool(a == b)


def aligned(a: Any, b: Any, cost: Any) -> float:
    row = [float(i) for i in range(len(b) + 1)]
    for i, x in enumerate(a, 1):
        diagonal, row[0] = row[0], float(i)
        for j, y in enumerate(b, 1):
            swap = diagonal + cost(x, y)
            diagonal = row[j]
            row[j] = min(swap, row[j] + 1, row[j - 1] + 1)
    return row[-1]


def collections(a: Any, b: Any, _depth: int) -> float:
    """Jaccard distance."""
    return len(a ^ b) / len(a | b) if a or b else 0.0


def mappings(a: Any, b: Any, depth: int) -> float:
    """Mean over the keys of both; a key that one of them lacks counts 1."""
    keys = list(dict.fromkeys([*a, *b]))
    if not keys:
        return 0.0
    return sum(distance(a[k], b[k], depth + 1) if k in a and k in b else 1.0 for k in keys[:1000]) / len(keys[:1000])


MEASURES: tuple[tuple[Any, Any], ...] = (
    (str, texts),
    ((bytes, bytearray), texts),
    ((list, tuple), sequences),
    ((set, frozenset), collections),
    (dict, mappings),
)
