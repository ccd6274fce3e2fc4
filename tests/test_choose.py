"""Choice among plausible patches: what is likely, small and quiet on new inputs is preferred."""

import random
from typing import Any

from looper.tasks.repair.choose import unread, weigh
from looper.tasks.repair.inputs import calls, generated, vary
from looper.tasks.repair.problem import Case, Cases, Command, Script
from looper.tasks.repair.states import Variant

FAULTY = "def largest(values):\n    return min(values)\n"
RIGHT = "def largest(values):\n    return max(values)\n"
LONG = "def largest(values):\n    return sorted(values + values, reverse=True)[len(values) - len(values)]\n"
TOTAL = "def largest(values):\n    return sum(values)\n"
FIRST = "def largest(values):\n    return values[0]\n"


def patch(source: str, prior: float = 0.4, kind: str = "call.function") -> Variant:
    return Variant(source=source, share=1.0, distance=0.0, prior=prior, kinds=[kind])


def best(plausible: list[Variant], values: list[list[Any]]) -> int:
    return weigh(FAULTY, plausible, values)[0].index


def test_without_outputs_the_likelier_patch_is_taken() -> None:
    assert best([patch(LONG, 0.35), patch(RIGHT, 0.4)], []) == 1
    assert best([patch(RIGHT, 0.1), patch(TOTAL, 0.6)], []) == 1


def test_equal_patches_keep_the_order_in_which_they_were_found() -> None:
    assert best([patch(RIGHT), patch(RIGHT)], []) == 0


def test_a_patch_that_brings_new_errors_is_put_back() -> None:
    error = {"!error": "IndexError: list index out of range"}
    outputs = [[1, 2, 3], [1, error, error], [1, 2, 4]]
    assert best([patch(TOTAL), patch(RIGHT)], []) == 0
    assert best([patch(TOTAL), patch(RIGHT)], outputs) == 1


def test_errors_that_the_faulty_program_has_too_do_not_count() -> None:
    error = {"!error": "ValueError: empty"}
    assert best([patch(TOTAL), patch(RIGHT)], [[error, 1], [error, 2], [3, 2]]) == 0


def test_a_patch_that_gives_another_type_than_the_tests_expect_is_put_back() -> None:
    outputs = [[1, 2, 3], [1, 2, None], [1, 2, 9]]
    assert weigh(FAULTY, [patch(TOTAL), patch(RIGHT)], outputs, 1)[0].index == 1


def test_a_patch_that_changes_less_away_from_the_tests_is_preferred() -> None:
    outputs = [[0, 2, 3, 4], [1, 5, 6, 7], [1, 2, 3, 5]]
    assert weigh(FAULTY, [patch(TOTAL), patch(RIGHT)], outputs, 1)[0].index == 1


def test_a_patch_that_leaves_a_variable_unread_is_put_back() -> None:
    one = "def total(values):\n    out = 0\n    for value in values:\n        out += {}\n    return out\n"
    faulty, right, idle = one.format("-value"), one.format("abs(value)"), one.format("1")
    assert unread(idle) == 1 + unread(faulty)
    assert weigh(faulty, [patch(idle), patch(right)], [])[0].index == 1


def test_kinds_that_remove_behaviour_are_put_back() -> None:
    assert best([patch(FIRST, kind="statement.delete"), patch(RIGHT)], []) == 1


def test_the_reasons_add_up_to_the_weight() -> None:
    for one in weigh(FAULTY, [patch(RIGHT), patch(FIRST)], [[1], [2], [3]]):
        assert abs(sum(one.reasons.values()) - one.weight) < 1e-9


def test_calls_are_read_from_cases_and_scripts_and_not_from_commands() -> None:
    cases = Cases(function="f", cases=[Case(id="a", args=[[1, 2]], expected=2)])
    text = "def check(candidate):\n    assert candidate([3], -1) == 3\n    assert candidate(x) == 1\n"
    script = Script(text=text, entry="f")
    assert calls(cases, "f") == [[[1, 2]]]
    assert calls(script, "f") == [[[3], -1]]
    assert generated(Command(command="make", folder=".", program="p.py"), "f") == []


def test_generated_inputs_start_with_those_of_the_tests_and_are_always_the_same() -> None:
    tests = Cases(function="f", cases=[Case(id="a", args=[[1, 2], "ab", 3], expected=2)])
    found = generated(tests, "f", count=40)
    assert found[0] == [[1, 2], "ab", 3]
    assert len({repr(args) for args in found}) == len(found) == 40
    assert found == generated(tests, "f", count=40)


def test_a_variation_has_the_type_of_the_value() -> None:
    for value in (3, 2.5, "word", "", [1, [2]], (1, 2), {"a": 1}, True, None):
        for seed in range(20):
            assert type(vary(value, random.Random(seed))) is type(value)


def test_of_two_patches_that_differ_by_an_idle_operation_the_readable_one_is_handed_over() -> None:
    original = "def f(x):\n    return len(x) + 1\n"
    idle = Variant(source="def f(x):\n    return len(x) + 0\n", share=1, distance=0, prior=0.9)
    other = Variant(source="def f(x):\n    return max(x)\n", share=1, distance=0, prior=0.5)
    plain = Variant(source="def f(x):\n    return len(x)\n", share=1, distance=0, prior=0.1)
    assert [w.index for w in weigh(original, [idle, other, plain], [])] == [2, 0, 1]
    assert weigh(original, [idle, other], [])[0].index == 0
