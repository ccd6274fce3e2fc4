"""Plain values between processes: their encoding, comparison and distance, and the counting of steps."""

import pytest

from looper.tasks.repair.examine.codec import Unreadable, decode, encode
from looper.tasks.repair.examine.distance import distance, matches
from looper.tasks.repair.examine.instrument import Meter, StepsExceeded, compile_program


@pytest.mark.parametrize(
    "value",
    [None, True, 1, 2**300, 1.5, "a\ud800", [1, (2,), {3}], {1: {"a": b"x"}}, frozenset({1}), 1j, float("inf")],
)
def test_plain_values_survive_the_codec_with_their_types(value):
    got = decode(encode(value))
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize(
    "data",
    [{"x": 1}, {"t": 1}, {"d": [[1]]}, {"d": [[[], 1]]}, {"s": [[]]}, {"b": "x"}, {"n": "z"}, {"n": "1" * 10**6},
     {"q": [1, 0]}, {"c": ["", 1]}, {"m": "x"}, {"o": []}, {"a": 1, "b": 2}, {}, {"n": 5}],
)  # fmt: skip
def test_hostile_data_is_refused_by_name(data):
    with pytest.raises(Unreadable):
        decode(data)


def test_hostile_depth_is_refused():
    nested: list = []
    for _ in range(500):
        nested = [nested]
    with pytest.raises(Unreadable):
        decode(nested)


@pytest.mark.parametrize(
    ("expected", "got", "same"),
    [
        ([1, [2]], (1, (2,)), True), (1, True, False), (True, 1, False), (1, 1.0, False), (1.0, 1, True),
        (1.0, 1.0000001, True), (1.0, 1.01, False), (float("nan"), float("nan"), True), ("a", "a", True),
        ({"a": [1.0]}, {"a": (1.0,)}, True), ({"a": 1}, {"a": True}, False), (None, 0, False), ([1], {1}, False),
        (1.0, 10**400, False), ([], None, False),
    ],
)  # fmt: skip
def test_outputs_match_by_exact_type_but_for_tuples_and_floats(expected, got, same):
    assert matches(expected, got) is same


@pytest.mark.parametrize(
    ("one", "other", "far"),
    [
        (3, 3, 0), (3, 4, 1 / 8), (3, 3.0, 0), (True, 1, 1), (None, 0, 1), ("kitten", "sitting", 3 / 7), ([], [], 0),
        ([1, 2, 3], [1, 3], 1 / 3), ([1], "1", 1), ({1, 2}, {2, 3}, 2 / 3), ({"a": 1}, {"a": 1, "b": 2}, 1 / 2),
        (float("inf"), 1.0, 1), (10**400, 1.5, 1), ([[1, 2], [3]], [[1, 2], [3]], 0),
    ],
)  # fmt: skip
def test_distances_of_known_pairs(one, other, far):
    assert distance(one, other) == pytest.approx(far)
    assert distance(other, one) == pytest.approx(far)


def test_a_long_pair_of_values_is_compared_in_bounded_time():
    assert 0 < distance(list(range(5000)), list(range(5000, 0, -1))) <= 1
    assert 0 < distance("ab" * 5000, "ba" * 4000) <= 1


def test_instrumentation_counts_steps_and_keeps_behaviour():
    source = '''"""doc"""
from __future__ import annotations
def f(n):
    "about f"
    total = [x for x in range(n) if x % 2]
    try:
        match n:
            case 3: total.append(9)
            case _: pass
        g = lambda k: 1 if k == 0 else k * g(k - 1)
        return total, g(3), f.__doc__
    finally:
        n = 0
'''
    meter = Meter(1000)
    space = meter.names()
    exec(compile_program(source, "p", True), space)
    assert space["__doc__"] == "doc"
    assert space["f"](3) == ([1, 9], 6, "about f")
    assert meter.used == 1 + 3 + 4
    assert meter.lines == {3, 5, 6, 7, 8, 10, 11, 13}
    meter.left = 2
    with pytest.raises(StepsExceeded):
        space["f"](3)
