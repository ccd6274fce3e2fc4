"""Candidates against data, scripts and the user's own command."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from looper.checks.sandbox import Sandbox
from looper.errors import LooperError
from looper.tasks.repair.examine.crew import Crew
from looper.tasks.repair.examine.examiner import Examiner
from looper.tasks.repair.problem import Case, Cases, Problem, Script

ROOT = Path(__file__).parent.parent
WRONG = """
def gcd(a, b):
    if b == 0:
        return a
    else:
        return gcd(a % b, b)
"""
RIGHT = WRONG.replace("a % b, b", "b, a % b")
ENDLESS = "def gcd(a, b):\n    while True:\n        pass\n"
CASES = Cases(
    function="gcd",
    cases=[Case(id="a", args=[4, 6], expected=2), Case(id="b", args=[3, 0], expected=3)],
)


def problem(tests, source=WRONG, module="gcd", **more):
    return Problem(name=module, goal="", module=module, source=source, tests=tests, **more)


def results(tests, source, **more):
    """Results by id of one candidate, which is also the problem's source."""
    made = problem(tests, source, **more)
    with Examiner(made, Sandbox(), jobs=1, seconds=3.0) as examiner:
        (report,) = examiner.examine([source], trace=True)
    assert not report.error
    return {result.id: result for result in report.results}


@pytest.fixture(scope="module")
def cases():
    with Examiner(problem(CASES), Sandbox(), jobs=2, seconds=1.5) as examiner:
        yield examiner


def test_reports_come_in_the_order_of_the_candidates(cases):
    sources = [WRONG, RIGHT, ENDLESS, RIGHT, WRONG] * 4
    assert [report.share for report in cases.examine(sources)] == [0.5, 1.0, 0.0, 1.0, 0.5] * 4


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("def f(:", "SyntaxError"),
        ("import nothing_of_this_name", "ModuleNotFoundError"),
        ("x = 1", "AttributeError"),
        ("while True: pass", "steps"),
        ("import os; os._exit(0)", "no verdict"),
        ("x = [0] * 10**10", "memory"),
        ("raise SystemExit(0)", "SystemExit"),
        ("def gcd(a, b): return sum(range(10**12))", "timeout"),
        ("import ctypes; ctypes.string_at(0)", "no verdict"),
    ],
)
def test_a_candidate_without_any_verdict_fails_by_name(cases, source, error):
    (report,) = cases.examine([source])
    assert report.results == []
    assert error in report.error
    assert report.share == 0.0
    assert report.distance == 1.0


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("while True: pass", "steps"),
        ("return gcd(a, b)", "RecursionError"),
        ("return [0] * 10**10", "memory"),
        ("yield from iter(int, 1)", "generator"),
        ("return [x for x in iter(int, 1)]", "steps"),
        ("try:\n        while True: pass\n    except BaseException: return 1", "steps"),
        ("raise ValueError('two\\nlines')", "ValueError: two lines"),
        ("exit(0)", "NameError"),
        ("return float(2)", "expected 2, got 2.0"),
        ("return 10**5000", "very large number"),
        ("return object()", "object"),
    ],
)
def test_a_test_that_fails_says_why_in_one_line(cases, body, error):
    (report,) = cases.examine([f"def gcd(a, b):\n    {body}\n"])
    assert error in report.results[0].error
    assert "\n" not in report.results[0].error


def test_a_swallowed_time_out_still_ends_the_candidate_and_keeps_what_was_known(cases):
    source = """
import time
def gcd(a, b):
    if b == 0: return 3
    while True:
        try:
            time.sleep(9)
        except BaseException:
            pass
"""
    (report,) = cases.examine([source])
    assert report.error or report.results[0].error in ("timeout", "steps")
    assert report.seconds < 3


def test_tracing_names_the_lines_that_each_test_ran(cases):
    (report,) = cases.examine([RIGHT], trace=True)
    assert [result.lines for result in report.results] == [[2, 3, 4, 6], [2, 3, 4]]
    (report,) = cases.examine([RIGHT])
    assert [result.lines for result in report.results] == [[], []]


def test_examining_stops_at_the_first_candidate_that_passes(cases):
    reports = cases.examine([WRONG, RIGHT, RIGHT, WRONG], stop_on_pass=True)
    assert [bool(report.results) for report in reports] == [True, True, False, False]
    assert "not examined" in reports[3].error


def test_a_candidate_cannot_disturb_the_next(cases):
    cases.examine(["import builtins, sys\nbuiltins.len = None\nsys.modules.clear()\ndef gcd(a, b): return 0"] * 3)
    cases.examine(["import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\ndef gcd(a, b): return 0"])
    assert [report.share for report in cases.examine([RIGHT] * 4)] == [1.0] * 4


def test_a_process_that_a_candidate_leaves_behind_is_ended_with_it():
    leaves = "import os, time\ndef gcd(a, b):\n    pid = os.fork()\n"
    leaves += "    if not pid:\n        time.sleep(60)\n    return [pid, began(pid)]\n"
    looks = "import os\ndef gcd(a, b):\n    return os.path.exists(f'/proc/{a}') and began(a) == b\n"
    began = "def began(pid):\n    return open(f'/proc/{pid}/stat').read().rpartition(')')[2].split()[19]\n"
    with Examiner(problem(CASES), Sandbox(), jobs=1, seconds=3.0) as examiner:
        (([pid, start],),) = examiner.values([leaves + began], [[0, 0]], "gcd")
        assert examiner.values([looks + began], [[pid, start]], "gcd") == [
            [False]
        ]  # its number may be another's by now


def test_values_come_back_plain_with_errors_marked(cases):
    source = "def gcd(a, b):\n    yield a\n    yield (b, {b})\n"
    assert cases.values([source, WRONG], [[1, 2], [3, 0]], "gcd") == [
        [[1, (2, {2})], [3, (0, {0})]],
        [{"!error": "RecursionError: maximum recursion depth exceeded"}, 3],
    ]
    assert cases.values([RIGHT], [[4, 6]], "gcd", trusted=False) == [[2]]


def test_the_step_limit_follows_the_original(cases):
    assert cases.original.share == 0.5
    assert cases.step_limit == 50_000


def test_closing_from_outside_ends_what_is_under_way():
    slow = "import time\ndef gcd(a, b): time.sleep(60)\n"
    examiner = Examiner(problem(CASES), Sandbox(), jobs=2, seconds=60)
    assert examiner.original.share == 0.5
    raised = []

    def examine():
        try:
            examiner.examine([slow] * 6)
        except LooperError as error:
            raised.append(str(error))

    thread = threading.Thread(target=examine)
    thread.start()
    while not isinstance(examiner.crew, Crew) or examiner.crew.idle.qsize():
        thread.join(0.01)
    examiner.close()
    thread.join(20)
    assert not thread.is_alive()
    assert raised == ["the examiner was closed while it was at work"]


ALONE = """
import gc, threading
from pathlib import Path
from looper.checks.sandbox import Sandbox
from looper.tasks.repair.examine.examiner import Examiner
from tests.test_examiner import CASES, RIGHT, WRONG, problem


def held():
    gc.collect()
    return len(list(Path("/dev/fd").iterdir())), sorted(t.name for t in threading.enumerate())


def examined(candidates):
    with Examiner(problem(CASES), Sandbox(), jobs=2) as examiner:
        examiner.examine(candidates)
        processes = [channel.process for channel in examiner.crew.alive]
    return [process.alive for process in processes]


examined([RIGHT])  # what is opened once for the whole process, is open now
before = held()
print(examined([RIGHT, WRONG, RIGHT]) in ([False], [False] * 2), before == held() or (before, held()))
"""


def test_no_process_pipe_or_thread_is_left_after_closing():
    # in a process of its own: in this one, what other tests left opens and closes files too
    ended = subprocess.run([sys.executable, "-c", ALONE], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert ended.stdout == "True True\n", ended.stderr


SCRIPT = """
import pytest
from gcd import gcd as again

assert gcd(1, 0) == 1

def settle(x, y):
    assert gcd(x, 0) == y

def test_each_assert_counts():
    assert gcd(4, 6) == 2
    assert gcd(5, 0) == 5
    assert True, "of no account"
    for number in range(1, 4):
        assert again(number, 0) == number
    with pytest.raises(TypeError):
        gcd("a", 3)
    settle(7, 7)
    if gcd(2, 0) == 2:
        assert gcd(9, 0) == 9

@pytest.mark.parametrize("a, b", [(3, 3), (4, 5)])
def test_parameters(a, b):
    assert gcd(a, 0) == pytest.approx(b)

class TestMethods:
    def setup_method(self):
        self.number = 8

    def test_method(self):
        assert gcd(self.number, 0) == 8 and gcd(1, 0) == 1
"""


def test_every_assert_of_a_script_is_a_test():
    found = results(Script(text=SCRIPT), WRONG)
    assert {name: result.passed for name, result in found.items()} == {
        "module::0": True,
        "test_each_assert_counts::0": False,
        "test_each_assert_counts::1": True,
        "test_each_assert_counts::2": True,
        "test_each_assert_counts::3": True,
        "test_each_assert_counts::4": True,
        "test_each_assert_counts::5": True,
        "test_parameters[0]::0": True,
        "test_parameters[1]::0": False,
        "TestMethods.test_method::0": True,
    }
    assert found["test_each_assert_counts::0"].lines == [2, 3, 6]
    assert found["test_parameters[1]::0"].distance == pytest.approx(0.1)


def test_the_check_function_of_a_script_gets_the_entry():
    text = "METADATA = {}\n\ndef check(candidate):\n    assert candidate(4, 6) == 2\n    assert candidate(3, 0) == 3\n"
    found = results(Script(text=text + "\ncheck(gcd)\n", entry="gcd"), WRONG)
    assert {name: result.passed for name, result in found.items()} == {"check::0": False, "check::1": True}


BODIES = [
    ("x = gcd(1, 0)\n    assert x == 1\n    y = gcd(0, 2)\n    assert y == 2\n    assert True != y", [1, 0, 0]),
    ("for n in (0, 1):\n        x = gcd(n, n)\n        assert x == n", [0]),
    ("for n in ():\n        assert n", [0]),
    ("assert gcd(1, 0) == 1\n    gcd(2, 1)", [0]),
    ("try:\n        gcd('', 1)\n        assert False\n    except TypeError:\n        pass", [1]),
    ("gcd(3, 0)", [1]),
    ("gcd(0, 3)", [0]),
    ("assert not gcd(1, 0)", [0]),
    ("assert gcd(1, 0) in (2, 1)\n    assert 1 < gcd(2, 0) < 3", [1, 1]),
    ("assert abs(gcd(10, 0) - 11) < 1e-6", [0]),
]


def test_exceptions_loops_and_branches_of_a_script():
    text = "".join(f"def test_{n}():\n    {body}\n" for n, (body, _) in enumerate(BODIES))
    found = results(Script(text=text), WRONG)
    for n, (body, passed) in enumerate(BODIES):
        told = [int(result.passed) for name, result in found.items() if name.partition("::")[0] == f"test_{n}"]
        assert told == passed, body


def test_unittest_classes_run_with_set_up_and_distance():
    text = """
import unittest
class Checks(unittest.TestCase):
    def setUp(self):
        self.one = 10
    def test_equal(self):
        self.assertEqual(gcd(self.one, 0), 11)
        self.assertTrue(gcd(1, 0) == 1)
        self.assertAlmostEqual(gcd(1, 0), 1.0)
        with self.assertRaises(TypeError):
            gcd("", 1)
"""
    found = list(results(Script(text=text), WRONG).values())
    assert [result.passed for result in found] == [False, True, True, True]
    assert found[0].distance == pytest.approx(1 / 22)


def test_distance_of_a_near_miss_in_a_script_is_small():
    found = results(Script(text="def test_it():\n    assert abs(gcd(10, 0) - 11) < 1e-6\n"), WRONG)
    assert found["test_it::0"].distance == pytest.approx(1 / 22)


def test_support_modules_and_package_names_are_found():
    source = "from python_programs.node import Node\n\ndef size(items):\n    return Node(items).size\n"
    support = {"python_programs/node.py": "class Node:\n    def __init__(self, x):\n        self.size = len(x)\n"}
    tests = Script(text="from python_programs.sized import size as s\ndef test_it():\n    assert s([1, 2]) == 2\n")
    assert results(tests, source, module="python_programs.sized", support=support)["test_it::0"].passed


def test_a_script_that_is_no_python_is_an_error_with_its_reason():
    with Examiner(problem(Script(text="def (")), Sandbox(), jobs=1) as examiner, pytest.raises(LooperError) as caught:
        examiner.examine([RIGHT])
    assert "SyntaxError" in str(caught.value)
