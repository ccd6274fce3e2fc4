"""Candidates against the user's own test command."""

import sys

import pytest

from looper.checks.sandbox import Sandbox
from looper.errors import ConfigError
from looper.tasks.repair.examine.examiner import Examiner
from looper.tasks.repair.problem import Command, Problem

WRONG = """
def gcd(a, b):
    if b == 0:
        return a
    else:
        return gcd(a % b, b)
"""
RIGHT = WRONG.replace("a % b, b", "b, a % b")
ENDLESS = "def gcd(a, b):\n    while True:\n        pass\n"
PYTESTS = """
import pytest
import helper
from maths import gcd

def test_a(): assert gcd(4, 6) == 2
def test_b(tmp_path): assert gcd(4, 0) == 4
@pytest.mark.parametrize("a", [3, 6])
def test_c(a): assert gcd(a, 0) == helper.OFFSET + a
@pytest.mark.skip
def test_d(): pass
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("")
    (tmp_path / "src" / "maths.py").write_text(WRONG)
    (tmp_path / "src" / "helper.py").write_text("OFFSET = 0\n")
    (tmp_path / "test_maths.py").write_text(PYTESTS)
    return tmp_path


def command(folder, text):
    tests = Command(command=text, folder=str(folder), program="src/maths.py")
    return Problem(name="maths", goal="", module="maths", source=WRONG, tests=tests)


def test_pytest_reports_test_by_test_and_the_users_folder_stays_as_it_is(folder):
    with Examiner(command(folder, "pytest -x -q"), Sandbox(), jobs=1, seconds=20) as examiner:
        wrong, right, near, broken, quits = examiner.examine(
            [WRONG, RIGHT, "def gcd(a, b): return a + 1", "def f(:", "import os; os._exit(0)"], trace=True
        )
        assert examiner.examine([ENDLESS])[0].results[0].error == "steps"
    assert {result.id: result.passed for result in wrong.results} == {
        "test_maths.py::test_a": False,
        "test_maths.py::test_b": True,
        "test_maths.py::test_c[3]": True,
        "test_maths.py::test_c[6]": True,
    }
    assert right.share == 1.0
    assert near.results[1].distance == pytest.approx(0.1)
    assert right.results[1].lines == [2, 3, 4]
    assert "SyntaxError" in broken.error
    assert quits.share == 0.0
    assert (folder / "src" / "maths.py").read_text() == WRONG
    assert sorted(path.name for path in folder.iterdir()) == [".git", "src", "test_maths.py"]


def test_another_interpreter_and_a_conftest_that_loads_the_program_early(folder):
    (folder / "conftest.py").write_text("import sys\nsys.path.insert(0, 'src')\nfrom maths import gcd\n")
    made = command(folder, "python -m pytest -q test_maths.py")
    with Examiner(made, Sandbox(), jobs=1, seconds=20, python=sys.executable) as examiner:
        wrong, right = examiner.examine([WRONG, RIGHT])
    assert (wrong.passed, right.passed) == (3, 4)


def test_an_interpreter_that_is_none_is_refused(folder):
    with pytest.raises(ConfigError):
        Examiner(command(folder, "pytest"), Sandbox(), python=str(folder / "python"))


def test_any_other_command_counts_by_its_exit_code_and_says_so(folder):
    text = "PYTHONPATH=src python -c 'import maths; assert maths.gcd(4, 6) == 2'"
    with Examiner(command(folder, text), Sandbox(), jobs=2, seconds=10) as examiner:
        wrong, right = examiner.examine([WRONG, RIGHT])
        assert examiner.evidence == "in process"
    assert (wrong.share, right.share) == (0.0, 1.0)
    assert right.results[0].id == "command (exit code only)"


def test_a_program_outside_the_folder_is_refused(folder):
    tests = Command(command="pytest", folder=str(folder), program="nothing.py")
    made = Problem(name="gcd", goal="", module="gcd", source=WRONG, tests=tests)
    with Examiner(made, Sandbox(), jobs=1) as examiner, pytest.raises(ConfigError):
        examiner.examine([RIGHT])
