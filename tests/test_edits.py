"""Edits: every fault of `repair_pairs` has its fix among them, near the front, and nothing else is touched."""

import ast
import copy
import random
import statistics
import sys
import time
from collections.abc import Callable
from functools import cache
from types import FrameType
from typing import Any

import pytest
from repair_pairs import PAIRS, Pair

from looper.errors import ConfigError
from looper.tasks.repair.edits import KINDS, Edit, apply_edit, apply_pair, enumerate_edits
from looper.tasks.repair.forms import normal_form
from looper.tasks.repair.localise import suspicion
from looper.tasks.repair.problem import Report
from looper.tasks.repair.problem import TestResult as Result
from looper.tasks.repair.rank import disjoint, ranked, second_order, size


class OutOfSteps(BaseException):
    """Ends a faulty program that does not end by itself."""


def load(source: str) -> Callable[..., Any]:
    """The last function of a program of ours."""
    names: dict[str, Any] = {}
    exec(compile(source, "program", "exec"), names)
    last = [n.name for n in ast.parse(source).body if isinstance(n, ast.FunctionDef)][-1]
    return names[last]


def examine(pair: Pair) -> Report:
    """What the tests of a pair say of its faulty program, with the lines each ran."""
    right, wrong = load(pair.fixed), load(pair.faulty)
    results = []
    for place, args in enumerate(pair.calls):
        expected, lines, steps = right(*copy.deepcopy(args)), set(), [0]
        value, error = traced(wrong, copy.deepcopy(args), lines, steps)
        passed = not error and value == expected
        results.append(Result(id=str(place), passed=passed, error=error, lines=sorted(lines)))
    return Report(results=results)


def traced(function: Callable[..., Any], args: tuple, lines: set[int], steps: list[int]) -> tuple[Any, str]:
    def note(frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_filename == "program":
            steps[0] += 1
            if event == "line":
                lines.add(frame.f_lineno)
            if steps[0] > 5000:
                raise OutOfSteps
        return note

    before = sys.gettrace()
    sys.settrace(note)
    try:
        return function(*args), ""
    except (OutOfSteps, ArithmeticError, LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        return None, repr(error)
    except UnboundLocalError as error:
        return None, repr(error)
    finally:
        sys.settrace(before)


@cache
def edits_of(source: str) -> list[Edit]:
    return enumerate_edits(source)


@cache
def rank_of_fix(name: str) -> int | None:
    """Place of the first edit that gives the fixed program."""
    pair = next(pair for pair in PAIRS if pair.name == name)
    report = examine(pair)
    assert report.passed < len(report.results), f"{pair.name}: the fault does not show"
    errors = [result.error for result in report.results if not result.passed]
    order = ranked(pair.faulty, edits_of(pair.faulty), suspicion(pair.faulty, report), errors=errors)
    wanted = ast.dump(ast.parse(pair.fixed))
    texts = (ast.dump(ast.parse(apply_edit(pair.faulty, edit))) for edit in order)
    return next((place for place, text in enumerate(texts) if text == wanted), None)


ODD = '''"""Ünïcode ☂ before everything."""
import math


class Küche:
    größe = 3

    @staticmethod
    def zählen(wörter, grenze=2):  # Kommentar ☂
        if not wörter: return "ä"
        try:
            for wort in wörter:
                if (wort == "é" and
                        len(wort) < grenze):   # over two lines
                    continue
                elif wort in {"ß", "☂"}:
                    break
                else:
                    grenze += 1
        except (ValueError, TypeError):
            grenze = -1; grenze -= 2
        finally:
            pass
        while True:
            grenze = math.floor(grenze / 2) if grenze else 0
            if grenze <= 0: break
        text = f"{grenze:>3} {wörter!r}"
        return [(w, text[1:-1]) for w in wörter if w] + [grenze]
'''
TABS = (
    "def f(xs, *rest, key=None, **more):\n\tglobal seen\n\tseen = 0\n"
    "\tfor x in xs:\n\t\tif x:\n\t\t\tseen += x\n\treturn seen"
)
CRLF = "def f(a, b):\r\n    if a > b:  # larger\r\n        return a\r\n    return b\r\n"
NESTED = """
async def outer(items):
    total = 0

    def inner(x):
        nonlocal total
        total += x
        return lambda y: y + total

    async for item in items:
        with open(item) as handle:
            yield handle.read()
        await inner(item)
    match total:
        case 0:
            print("none")
        case [1, *rest] if rest:
            print(rest[0])
    else_value = {k: v for k, v in zip(items, items)}
    print(*else_value, sep="-")
"""
SOURCES = [ODD, TABS, CRLF, NESTED, *(pair.faulty for pair in PAIRS)]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_the_fix_is_among_the_edits(pair: Pair) -> None:
    assert rank_of_fix(pair.name) is not None


def test_the_fix_comes_early_with_real_localisation() -> None:
    places = [place for pair in PAIRS if (place := rank_of_fix(pair.name)) is not None]
    assert statistics.median(places) < 60
    assert sum(place < 300 for place in places) >= 0.9 * len(PAIRS)


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("source", SOURCES, ids=range(len(SOURCES)))
def test_any_edit_compiles_changes_the_program_and_leaves_other_lines_alone(source: str) -> None:
    edits = edits_of(source)
    for edit in random.Random(1).sample(edits, min(25, len(edits))):
        result = apply_edit(source, edit)
        compile(result, edit.summary, "exec")
        assert ast.dump(ast.parse(result)) != ast.dump(ast.parse(source)), edit
        first, last = source.count("\n", 0, edit.start), source.count("\n", edit.end)
        old, new = source.splitlines(keepends=True), result.splitlines(keepends=True)
        assert old[:first] == new[:first], edit
        assert old[len(old) - last + 1 :] == new[len(new) - last + 1 :], edit


@pytest.mark.parametrize("source", [TABS, CRLF, NESTED, PAIRS[5].faulty], ids=["tabs", "crlf", "nested", "guard"])
def test_no_two_edits_give_the_same_program(source: str) -> None:
    texts = [ast.dump(ast.parse(apply_edit(source, edit))) for edit in edits_of(source)]
    assert len(set(texts)) >= 0.995 * len(texts)


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_every_result_of_odd_sources_compiles() -> None:
    for source in (ODD, TABS, CRLF, NESTED):
        for edit in edits_of(source):
            compile(apply_edit(source, edit), edit.summary, "exec")


def test_line_endings_are_kept() -> None:
    for edit in edits_of(CRLF):
        assert "\n" not in apply_edit(CRLF, edit).replace("\r\n", ""), edit


def test_enumeration_is_deterministic_and_fast() -> None:
    largest = max((pair.faulty for pair in PAIRS), key=len)
    start = time.process_time()
    first = enumerate_edits(largest)
    assert time.process_time() - start < 3
    assert first == enumerate_edits(largest)
    assert all(edit.kind in KINDS for edit in first)


def test_lines_and_kinds_narrow_the_choice() -> None:
    source = PAIRS[0].faulty
    narrow = enumerate_edits(source, lines=[5], kinds=["compare", "boolean.swap"])
    assert {edit.line for edit in narrow} == {5}
    assert {edit.kind for edit in narrow} == {"compare.swap"}
    assert "line 5: `>` becomes `>=`" in [edit.summary for edit in narrow]
    with pytest.raises(ConfigError, match="unknown kinds of edit: comparison"):
        enumerate_edits(source, kinds=["comparison"])


def test_functions_of_support_modules_are_ingredients() -> None:
    source = "from shapes import area, edge\n\n\ndef f(a, b):\n    return edge(a, b)\n"
    edits = enumerate_edits(source, support={"shapes.py": "def area(a, b):\n    return a * b\n"})
    assert source.replace("edge(a, b)", "area(a, b)") in [apply_edit(source, edit) for edit in edits]


def test_a_program_that_is_not_python_is_refused() -> None:
    with pytest.raises(ConfigError, match="line 1"):
        enumerate_edits("def f(:\n")


def test_an_edit_of_another_source_is_refused() -> None:
    edit = enumerate_edits(PAIRS[0].faulty)[-1]
    with pytest.raises(ConfigError, match="outside the program"):
        apply_edit("x = 1", edit)


def test_normal_form_ignores_layout_and_sees_meaning() -> None:
    assert normal_form("x = 1  # one\n") == normal_form("\n\nx=1\n")
    assert normal_form("x = 1") != normal_form("x = True")
    assert normal_form("x = {1, 2}") != normal_form("x = {1, 3}")
    assert normal_form("x = (") != normal_form("y = (")


def test_pairs_are_disjoint_and_start_with_the_best() -> None:
    source = PAIRS[3].faulty
    order = ranked(source, edits_of(source), {3: 1.0, 5: 0.5})
    pairs = list(second_order(source, order, among=30))
    assert set(pairs[0]) <= set(order[:4])
    assert len(set(pairs)) == len(pairs) > 100
    for pair in pairs[:200]:
        assert disjoint(*pair)
        compile(apply_pair(source, pair), "pair", "exec")
    with pytest.raises(ConfigError, match="overlap"):
        apply_pair(source, (order[0], order[0]))


def test_ranking_spreads_over_places_and_follows_suspicion() -> None:
    source = PAIRS[2].faulty
    order = ranked(source, edits_of(source), {4: 1.0})
    assert {edit.line for edit in order[:5]} == {4}
    even = ranked(source, edits_of(source), dict.fromkeys(range(1, 8), 1.0))
    assert len({edit.line for edit in even[:20]}) >= 3
    assert ranked(source, edits_of(source), {4: 1.0}) == order


def test_size_counts_changed_tokens_and_not_layout() -> None:
    assert size("x = a + b\n", "x  =  a + b  # sum\n") == 0
    assert size("x = a + b\n", "x = a - b\n") == 2
    assert size("x = a\n", "x = a + 1\n") == 2
    assert size("x = (", "x = ( (") == 1


def test_errors_of_failing_tests_favour_edits_that_answer_them() -> None:
    source = next(pair.faulty for pair in PAIRS if pair.name == "missing guard")
    wanted = "line 3: `if not values: return 0` inserted"
    places = []
    for errors in ([], ["ZeroDivisionError: division by zero"]):
        order = ranked(source, edits_of(source), {3: 1.0}, errors=errors)
        places.append([edit.summary for edit in order].index(wanted))
    assert places[1] < places[0]


def test_a_replacement_is_parenthesised_where_it_would_bind_differently() -> None:
    source = "def f(a, b, c):\n    return a - b * c\n"
    results = {apply_edit(source, edit).splitlines()[1].strip() for edit in edits_of(source)}
    assert {"return a - (b + c)", "return a - b + c", "return (a - b) * c", "return a + b * c"} <= results
