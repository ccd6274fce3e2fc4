"""Localisation: lines that failing tests run are suspected, the others are not."""

from looper.tasks.repair.localise import suspicion
from looper.tasks.repair.problem import Report
from looper.tasks.repair.problem import TestResult as Result

SOURCE = """LIMIT = 3


def f(x, y=2):
    if x > LIMIT:
        return (x +
                y)
    x += 1
    return x
"""


def report(*runs: tuple[bool, list[int]], error: str = "") -> Report:
    return Report(
        results=[
            Result(id=str(place), passed=passed, lines=lines, error="" if passed else error)
            for place, (passed, lines) in enumerate(runs)
        ]
    )


def test_a_line_that_only_failing_tests_run_is_worst() -> None:
    found = suspicion(SOURCE, report((False, [5, 6]), (True, [5, 8, 9]), (True, [5, 8, 9])))
    assert found[6] == 1.0
    assert 0 < found[5] < found[6]
    assert found.get(8, 0.0) == found.get(9, 0.0) == 0.0


def test_ochiai_has_its_textbook_value() -> None:
    found = suspicion(SOURCE, report((False, [5, 6]), (False, [6]), (True, [5, 8])))
    assert found[6] == 1.0
    assert abs(found[5] - 1 / (2 * 2) ** 0.5) < 1e-9


def test_a_statement_of_several_lines_is_suspected_on_all_of_them() -> None:
    found = suspicion(SOURCE, report((False, [5, 6])))
    assert found[7] == found[6] == 1.0


def test_headers_and_module_statements_get_a_share() -> None:
    found = suspicion(SOURCE, report((False, [5, 6])))
    assert 0 < found[4] < 1
    assert 0 < found[1] < 1


def test_without_failing_traces_all_executed_lines_count() -> None:
    found = suspicion(SOURCE, report((False, []), (True, [5, 8])))
    assert found[5] == found[8] == 1.0
    assert found.get(6, 0.0) == 0.0


def test_without_any_trace_all_statements_count() -> None:
    found = suspicion(SOURCE, report((False, [])))
    assert found[5] == found[6] == found[8] == found[9] == 1.0


def test_a_line_named_by_the_error_gains() -> None:
    runs = (False, [5, 6]), (True, [5, 6]), (True, [5])
    plain = suspicion(SOURCE, report(*runs))
    named = suspicion(SOURCE, report(*runs, error="TypeError: bad operand (line 5)"))
    assert plain[5] < plain[6]
    assert named[5] > plain[5]


def test_values_lie_between_0_and_1_and_a_broken_source_is_no_error() -> None:
    found = suspicion("def f(:\n", report((False, [1, 2]), (True, [1])))
    assert set(found) == {1, 2}
    assert all(0 <= value <= 1 for value in found.values())
