"""SAFETY P12: a check cannot be forged by the code it checks."""

import math

import pytest

from looper.checks.sandbox import Sandbox
from looper.tasks.repair.examine.examiner import Examiner
from looper.tasks.repair.problem import Case, Cases, Command, Problem, Script

WRONG = "def gcd(a, b):\n    return 1\n"
RIGHT = "def gcd(a, b):\n    while b:\n        a, b = b, a % b\n    return a\n"
PAIRS = [(4, 6), (35, 21), (0, 7), (12, 18), (9, 9)]
CASES = Cases(function="gcd", cases=[Case(id=f"{a},{b}", args=[a, b], expected=math.gcd(a, b)) for a, b in PAIRS])
ASSERTS = "".join(f"    assert gcd({a}, {b}) == {math.gcd(a, b)}\n" for a, b in PAIRS)
SCRIPT = Script(text="import json\n\ndef test_gcd():\n" + ASSERTS)

ATTACKS = {
    "early exit with a fake verdict": """
import os, json
for fd in range(1, 12):
    try:
        os.write(fd, b'{"i": 0, "v": 2}\\n{"id": "test_gcd::0", "p": true, "d": 0}\\n{"end": true}\\n')
        os.write(fd, b'{"done": "finished", "seconds": 0, "said": ""}\\n')
    except OSError:
        pass
os._exit(0)
""",
    "answers written ahead of the calls": """
import os
for fd in range(1, 12):
    try:
        os.write(fd, b'{"ok": true}\\n' + b'{"v": true, "p": true, "id": "test_gcd::0", "i": 0, "end": true}\\n' * 50)
    except OSError:
        pass
def gcd(a, b): return 1
""",
    "print at exit": """
import atexit
atexit.register(lambda: print('{"id": "test_gcd::0", "p": true, "d": 0.0}', flush=True))
def gcd(a, b): raise SystemExit(0)
""",
    "patched json": """
import json
json.dumps = lambda *a, **k: '{"id": "test_gcd::0", "p": true, "v": {"any": 1}, "end": true}'
json.loads = lambda *a, **k: {"id": "test_gcd::0", "p": True}
def gcd(a, b): return 1
""",
    "always-equal object": """
class Any(int):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __hash__ = int.__hash__
def gcd(a, b): return Any(1)
""",
    "always-equal object without a plain base": """
class Any:
    def __eq__(self, other): return True
    def __bool__(self): return True
def gcd(a, b): return Any()
""",
    "expected values searched in memory": """
import gc, sys
def gcd(a, b):
    for thing in gc.get_objects():
        if isinstance(thing, dict) and "expected" in thing:
            return thing["expected"]
        if isinstance(thing, str) and "assert gcd" in thing and thing != __doc__:
            return eval(thing.split(f"assert gcd({a}, {b}) == ")[1].split("\\n")[0])
    return 1
""",
    "expected values searched in files": """
import os, re
def gcd(a, b):
    for root in ("/", os.getcwd(), "/tmp", "/proc/self", "/proc/1"):
        for where, folders, files in os.walk(root):
            folders[:] = [f for f in folders if f not in ("usr", "proc", "sys", "lib", "bin", "site-packages")][:50]
            for name in files[:200]:
                try:
                    text = open(os.path.join(where, name), errors="ignore").read(100000)
                except (OSError, ValueError):
                    continue
                found = re.search(r"assert gcd\\(%d, %d\\) == (\\d+)" % (a, b), text)
                if found:
                    return int(found[1])
        break
    return 1
""",
    "expected values searched in frames": """
import sys
def gcd(a, b):
    frame = sys._getframe()
    while frame:
        for value in [*frame.f_locals.values(), *frame.f_globals.values()]:
            for part in value if isinstance(value, (list, tuple)) else [value]:
                if hasattr(part, "expected"):
                    return part.expected
                if hasattr(part, "co_consts"):
                    return [c for c in part.co_consts if isinstance(c, int)][-1]
        frame = frame.f_back
    return 1
""",
    "patched test report": """
import sys
for name, module in list(sys.modules.items()):
    for attribute in ("describe", "matches", "distance", "outcome"):
        if hasattr(module, attribute):
            setattr(module, attribute, lambda *a, **k: {"v": True, "p": True, "o": ""})
    for kind in ("Checks", "Tally", "Encoder", "Meter", "Failed", "ScriptRun", "CallServer"):
        if hasattr(module, kind):
            for method in ("compare", "check", "fail", "report"):
                setattr(getattr(module, kind), method, lambda *a, **k: 0.0)
def gcd(a, b): return 1
""",
    "patched built-ins": """
import builtins, operator
operator.eq = lambda a, b: True
builtins.abs = lambda x: 0
builtins.isinstance = lambda a, b: True
def gcd(a, b): return 1
""",
    "names that shadow the test's own": """
def abs(x): return 0
def __looper_check__(far): return None
def __looper_compare__(sign, left, right): return 0.0
class AssertionError(Exception): pass
def test_gcd(): pass
def gcd(a, b): return 1
""",
    "forked child that answers": """
import os
def gcd(a, b):
    if os.fork() == 0:
        for fd in range(1, 12):
            try:
                os.write(fd, b'{"v": {"any": 1}, "p": true, "id": "test_gcd::0", "end": true}\\n')
            except OSError:
                pass
    return 1
""",
    "bytes that are no message": """
import os
def gcd(a, b):
    for fd in range(3, 12):
        try:
            os.write(fd, b'[' * 100000 + b'\\n' + b'{"v": {"d": 3}}\\n{"v": {"o": 7}}\\nnull\\n\\xff\\n')
        except OSError:
            pass
    return 1
""",
}


def problem(tests: Cases | Script | Command) -> Problem:
    return Problem(name="gcd", goal="greatest common divisor", module="gcd", source=WRONG, tests=tests)


@pytest.fixture(scope="module", params=[CASES, SCRIPT], ids=["cases", "script"])
def examiner(request):
    with Examiner(problem(request.param), Sandbox(), jobs=1, seconds=2.0) as made:
        yield made


def test_the_verdict_on_an_honest_candidate_comes_from_separate_processes(examiner):
    assert examiner.evidence == "separate processes"
    assert examiner.examine_untrusted(RIGHT).share == 1.0
    assert examiner.examine_untrusted(WRONG).share == 0.0


@pytest.mark.parametrize("name", list(ATTACKS))
def test_an_attack_forges_nothing(examiner, name):
    report = examiner.examine_untrusted(ATTACKS[name])
    assert report.share < 1.0
    assert not any(result.passed for result in report.results), report


def test_with_tests_and_candidate_in_one_process_some_of_the_attacks_succeed(examiner):
    """Otherwise the attacks would prove nothing."""
    reports = examiner.examine(list(ATTACKS.values()))
    forged = [name for name, report in zip(ATTACKS, reports, strict=True) if any(r.passed for r in report.results)]
    assert forged


def test_after_the_attacks_an_honest_candidate_still_passes_and_a_wrong_one_fails(examiner):
    for attack in list(ATTACKS.values())[:4]:
        examiner.examine_untrusted(attack)
    assert examiner.examine_untrusted(RIGHT).share == 1.0
    assert examiner.examine([RIGHT, WRONG])[0].share == 1.0


def test_expected_values_never_enter_the_box_of_a_data_test():
    secret = 918273645
    tests = Cases(function="f", cases=[Case(id="1", args=[1], expected=secret)])
    made = Problem(name="f", goal="", module="f", source="def f(x): return x", tests=tests)
    with Examiner(made, Sandbox(), jobs=1) as examiner:
        assert str(secret) not in str(examiner.spec)
        assert str(secret) not in str(examiner._isolated().spec)


def test_a_candidate_cannot_read_the_tests_of_the_users_folder(tmp_path):
    (tmp_path / "checks").mkdir()
    (tmp_path / "maths.py").write_text(WRONG)
    (tmp_path / "helper.py").write_text("NAME = 'helper'\n")
    body = "from maths import gcd\n\ndef test_gcd():\n" + ASSERTS
    (tmp_path / "checks" / "all.py").write_text(body)
    (tmp_path / "test_more.py").write_text(body)
    command = Command(command="pytest -q checks/all.py test_more.py", folder=str(tmp_path), program="maths.py")
    spy = "import glob, helper\ndef gcd(a, b):\n    raise ValueError(sorted(glob.glob('**/*.py', recursive=True)))\n"
    with Examiner(problem(command), Sandbox(), jobs=1) as examiner:
        assert examiner.evidence == "separate processes"
        assert examiner.examine_untrusted(RIGHT).share == 1.0
        report = examiner.examine_untrusted(spy)
        assert report.share == 0.0
        assert "['helper.py', 'maths.py']" in report.results[0].error
        cheat = "import os\nprint('5 passed')\nos._exit(0)\n"
        assert examiner.examine_untrusted(cheat).share == 0.0


def test_tests_that_need_live_objects_share_a_process_and_the_examiner_says_so():
    source = "class Box:\n    def __init__(self, x):\n        self.x = x\n"
    tests = Script(text="def test_box():\n    assert Box(3).x == 3\n")
    with Examiner(Problem(name="b", goal="", module="b", source=source, tests=tests), Sandbox(), jobs=1) as examiner:
        assert examiner.evidence == "in process"
        assert examiner.examine_untrusted(source).share == 1.0
        line = b'{"id": "test_box::0", "p": true, "d": 0.0}\n{"end": true}\n'
        fake = "import contextlib, os\nfor fd in range(1, 20):\n    with contextlib.suppress(OSError):\n"
        fake += f"        os.write(fd, {line!r})\nos._exit(0)\n"
        assert examiner.examine_untrusted(fake).share == 0.0
