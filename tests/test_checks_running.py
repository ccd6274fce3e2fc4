"""Checks that execute: in the sandbox, and no artifact can forge its verdict (SAFETY P9, P12)."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from checks_bench import ARTIFACTS, BENCH, artifact, check, found

from looper.checks.bench import Bench
from looper.checks.examine import examine, vacuous
from looper.checks.sandbox import Sandbox
from looper.errors import SandboxUnavailable

INVENTORY = artifact("inventory.py")
STOCK_TESTS = """
import pytest
from artifact import OutOfStock, Stock, total

def test_articles_are_counted():
    stock = Stock()
    assert stock.add("nut", 3) == 3
    assert stock.take("nut") == 2
    assert total(stock) == 2
    assert stock.counts == {"nut": 2}
    assert stock == Stock({"nut": 2})

def test_there_must_be_enough():
    with pytest.raises(OutOfStock, match="only 0 of bolt") as caught:
        Stock().take("bolt")
    assert caught.value.left == 0
    with pytest.raises(ValueError):
        Stock().add("nut", 0)
"""
GCD_TESTS = "from artifact import gcd\n\ndef test_gcd():\n    assert gcd(12, 18) == 6\n    assert gcd(35, 21) == 7\n"
GCD_STAR = GCD_TESTS.replace("from artifact import gcd", "from artifact import *\nimport math")
GCD_STAR = GCD_STAR.replace("== 6", "== math.gcd(12, 18) and abs(gcd(4, 6) - 2) == 0")
RIGHT = "def gcd(a, b):\n    while b:\n        a, b = b, a % b\n    return a\n"

LINE = '{"tests": [{"name": "test_gcd", "outcome": "passed"}], "count": 1, "broken": [], "nonce": ""}'
ATTACKS = {
    "early exit with a fake verdict": f"""
import os
for fd in range(1, 12):
    try:
        os.write(fd, b'{LINE}\\n' * 3)
    except OSError:
        pass
os._exit(0)
""",
    "answers written ahead": """
import os
for fd in range(1, 12):
    try:
        os.write(fd, b'{"names": ["gcd"]}\\n' + b'{"v": true}\\n' * 50)
    except OSError:
        pass
def gcd(a, b): return 1
""",
    "print at exit": f"""
import atexit
atexit.register(lambda: print('''{LINE}'''))
def gcd(a, b): raise SystemExit(0)
""",
    "patched json": """
import json
json.dumps = lambda *a, **k: '{"v": true, "names": ["gcd"]}'
json.loads = lambda *a, **k: {"op": "call", "on": 0, "args": [], "kwargs": {}}
def gcd(a, b): return 1
""",
    "always-equal number": """
class Any(int):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __hash__ = int.__hash__
def gcd(a, b): return Any(1)
""",
    "always-equal object": """
class Any:
    def __eq__(self, other): return True
    def __sub__(self, other): return self
    def __bool__(self): return True
    def __getattr__(self, name): return self
    def __call__(self, *a): return True
def gcd(a, b): return Any()
""",
    "expected values searched in memory and files": """
import gc, glob, os, re
def gcd(a, b):
    texts = [thing for thing in gc.get_objects() if isinstance(thing, str)]
    for name in glob.glob("**", recursive=True) + glob.glob("/tmp/**", recursive=True):
        if os.path.isfile(name):
            texts.append(open(name, errors="ignore").read())
    for text in texts:
        found = re.search(r"assert gcd\\(%d, %d\\) == (\\d+)" % (a, b), text)
        if found:
            return int(found[1])
    return 1
""",
    "expected values searched in frames": """
import sys
def gcd(a, b):
    frame = sys._getframe()
    while frame:
        for value in [*frame.f_locals.values(), *frame.f_globals.values()]:
            if isinstance(value, str) and "assert gcd" in value:
                return eval(value.split(f"gcd({a}, {b}) == ")[1].split()[0])
        frame = frame.f_back
    return 1
""",
    "patched report": """
import sys
for module in list(sys.modules.values()):
    for name in ("report", "seen", "told", "Watch", "scalar", "Encoder", "Server"):
        if hasattr(module, name):
            setattr(module, name, lambda *a, **k: {"v": True, "outcome": "passed"})
def gcd(a, b): return 1
""",
    "pytest of its own": """
import sys, types
fake = types.ModuleType("pytest"); fake.main = lambda *a, **k: 0
sys.modules["pytest"] = fake
def gcd(a, b): return 1
""",
    "names that shadow the test's own": """
class math:
    gcd = staticmethod(lambda a, b: 1)
def abs(x): return 0
def test_gcd(): pass
class AssertionError(Exception): pass
__all__ = ["math", "abs", "test_gcd", "AssertionError", "gcd"]
def gcd(a, b): return 1
""",
    "exceptions that a test would take for its own end": """
def gcd(a, b):
    class Skipped(BaseException): __module__ = "builtins"
    raise Skipped("skip")
""",
    "bytes that are no message": """
import os
def gcd(a, b):
    for fd in range(3, 12):
        try:
            os.write(fd, b'[' * 100000 + b'\\n' + b'{"v": {"d": 3}}\\n{"v": {"live": 7}}\\nnull\\n\\xff\\n')
        except OSError:
            pass
    return 1
""",
    "stand-ins of every kind": """
class Meta(type):
    def __instancecheck__(cls, other): return True
    def __eq__(cls, other): return True
    __hash__ = type.__hash__
class gcd(metaclass=Meta):
    def __new__(cls, a, b): return cls
""",
}


# pytest


def test_tests_of_functions_and_classes_pass_apart_from_the_module():
    finding = found(INVENTORY, kind="pytest", tests=STOCK_TESTS, min_tests=2)
    assert finding.passed, finding.note
    assert finding.evidence["isolation"] == "separate processes"
    assert (finding.evidence["passed"], finding.evidence["tests"]) == (2, 2)


def test_a_failing_test_is_named_with_what_it_compared():
    finding = found(INVENTORY.replace("+ number", "- number"), kind="pytest", tests=STOCK_TESTS)
    assert not finding.passed
    assert "test_articles_are_counted fails: assert -3 == 3" in finding.note


def test_the_tests_run_on_the_rung_below_bubblewrap_too():
    sandbox = Sandbox(level="landlock")
    if sandbox.capability().level == "none":
        pytest.skip(f"not available here: {sandbox.capability().missing}")
    bench = Bench(sandbox=sandbox, test_seconds=20)
    for source, passed in ((RIGHT, True), (ATTACKS["expected values searched in memory and files"], False)):
        assert examine(check(kind="pytest", tests=GCD_TESTS), source, bench).passed is passed


@pytest.fixture(scope="module")
def attacked():
    """The findings of all attacks; they are independent, so they run side by side."""

    def one(name):
        return name, found(ATTACKS[name], kind="pytest", tests=GCD_STAR if "shadow" in name else GCD_TESTS)

    with ThreadPoolExecutor(3) as threads:
        return dict(threads.map(one, ATTACKS))


@pytest.mark.parametrize("name", list(ATTACKS))
def test_an_attack_forges_nothing(name, attacked):
    finding = attacked[name]
    assert not finding.passed
    assert not finding.evidence.get("passed")
    assert finding.evidence["isolation"] == "separate processes"


def test_an_honest_module_passes_the_tests_that_were_attacked():
    assert found(RIGHT, kind="pytest", tests=GCD_TESTS).passed
    assert found(RIGHT, kind="pytest", tests=GCD_STAR).passed


def test_in_one_process_some_of_the_attacks_succeed_and_the_evidence_says_what_it_is_worth():
    """Otherwise the attacks would prove nothing."""
    findings = [found(ATTACKS[name], kind="pytest", tests=GCD_TESTS, shared=True)
                for name in ("always-equal number", "expected values searched in memory and files")]  # fmt: skip
    assert any(finding.passed for finding in findings)
    assert all(finding.evidence["isolation"].startswith("one process") for finding in findings)


def test_tests_that_patch_run_in_one_process_and_the_evidence_says_so():
    tests = "import artifact\ndef test_it(capsys):\n    artifact.say()\n    assert capsys.readouterr().out == 'hi\\n'\n"
    finding = found("def say():\n    print('hi')\n", kind="pytest", tests=tests)
    assert finding.passed, finding.note
    assert finding.evidence["isolation"].startswith("one process")
    fake = "import os\nos._exit(0)\n"
    assert found(fake, kind="pytest", tests=tests).note == "the tests ended without a report."


@pytest.mark.parametrize(("source", "tests", "words"), [
    ("x = 1\n", "import pytest\ndef test_it():\n    pytest.skip('no')\n", "no evidence"),
    ("x = 1\n", "import pytest\n@pytest.mark.xfail\ndef test_it():\n    assert 0\n", "no evidence"),
    ("x = 1\n", "y = 2\n", "0 tests passed and at least 1 must"),
    ("x = 1\n", "def test_it(:\n", "own tests are no valid Python"),
    ("x = 1\n", "import nowhere\ndef test_it(): pass\n", "cannot be loaded"),
    ("import nowhere\n", "def test_it(): pass\n", "the module cannot be loaded: ModuleNotFoundError"),
    ("def f(:\n", "def test_it(): pass\n", "the module cannot be loaded: SyntaxError"),
    ("def f(g): return g()\n", "import artifact\ndef test_it(): assert artifact.f(lambda: 1) == 1\n", "`shared: true`"),
])  # fmt: skip
def test_no_verdict_is_a_fail(source, tests, words):
    finding = found(source, kind="pytest", tests=tests)
    assert not finding.passed
    assert words in finding.note, finding.note


def test_an_endless_module_is_ended():
    finding = examine(check(kind="pytest", tests=GCD_TESTS), "def gcd(a, b):\n    while True: pass\n",
                      Bench(test_seconds=0.5))  # fmt: skip
    assert not finding.passed
    assert "did not end" in finding.note


# scripts

READS = "text = open('artifact.md').read()\n"


def test_a_script_gives_a_verdict_with_a_note():
    code = READS + "verdict('nut' in text, 'there must be a nut')\n"
    assert found("a nut", kind="script", code=code).passed
    finding = found("a bolt", kind="script", code=code)
    assert (finding.passed, finding.note) == (False, "there must be a nut.")


@pytest.mark.parametrize(("code", "words"), [
    ("if False: verdict(True)\n", "ended without one"),
    ("verdict(True)\nverdict(True)\n", "more than one"),
    ("verdict(True)\nraise ValueError('x')\n", "ended without one"),
    ("verdict(True)\nimport sys; sys.exit(3)\n", "ended without one"),
    ("verdict(True)\nimport os; os._exit(0)\n", "ended without one"),
    ("verdict(1)\n", "ended without one"),
    ("verdict('True')\n", "ended without one"),
    ("print('{\"passed\": true}')\nif 0: verdict(True)\n", "ended without one"),
    (f"verdict(bool(open({str(ARTIFACTS / 'guide.md')!r})))\n", "ended without one"),
    ("pass\n", "never calls verdict"),
    ("verdict(\n", "no valid Python"),
    ("exec(open('artifact.md').read())\nverdict(True)\n", "uses exec"),
    ("import importlib\nverdict(True)\n", "imports importlib"),
    ("import artifact\nverdict(True)\n", "ended without one"),
    ("while True: pass\nverdict(True)\n", "timeout"),
])  # fmt: skip
def test_exit_code_0_without_one_verdict_is_a_fail(code, words):
    finding = found("text", kind="script", code=code, seconds=1.5)
    assert not finding.passed
    assert words in finding.note, finding.note


def test_a_program_that_a_script_starts_cannot_speak_for_it():
    attack = """
import os, signal
line = b'{"nonce": "0", "passed": true, "note": ""}\\n'
for fd in range(0, 20):
    try:
        os.write(fd, line)
    except OSError:
        pass
for name in ("mem", "environ"):
    try:
        open(f"/proc/{os.getppid()}/{name}", "rb").read(1)
        print("READ", name)
    except OSError:
        pass
for fd in range(0, 20):
    try:
        os.write(os.open(f"/proc/{os.getppid()}/fd/{fd}", os.O_WRONLY), line)
        print("WROTE", fd)
    except OSError:
        pass
"""
    code = """
import subprocess, sys
said = subprocess.run([sys.executable, "artifact.md"], capture_output=True, text=True)
verdict(False, "said " + said.stdout + said.stderr)
"""
    finding = found(attack, kind="script", code=code)
    assert not finding.passed
    assert finding.note.startswith("said"), finding.note
    assert "READ" not in finding.note
    assert "WROTE" not in finding.note


# commands


def test_a_command_is_judged_by_its_exit_code_and_labelled_weaker():
    finding = found("a nut", kind="command", argv=["grep", "-q", "nut", "{file}"])
    assert finding.passed
    assert finding.evidence["strength"].startswith("weaker")
    finding = found("a bolt", kind="command", argv=["grep", "-c", "nut", "{file}"])
    assert (finding.passed, finding.evidence["exit_code"]) == (False, 1)
    assert "exit code 1" in finding.note


@pytest.mark.parametrize("argv", [["no-such-program"], ["sleep", "60"], ["sh", "-c", "kill -9 $$"]])
def test_a_command_that_does_not_end_well_fails(argv):
    assert not found("x", kind="command", argv=argv, seconds=1).passed


def test_a_command_sees_nothing_of_this_machine(monkeypatch):
    monkeypatch.setenv("LOOPER_SECRET", "hunter2-hunter2")
    for argv in (["sh", "-c", "env | grep hunter2"], ["ls", str(ARTIFACTS)]):
        assert not found("x", kind="command", argv=argv).passed


# vacuous checks, missing sandbox


@pytest.mark.parametrize(("fields", "empty"), [
    ({"kind": "script", "code": "verdict(True)"}, True),
    ({"kind": "script", "code": "verdict('x' not in open('artifact.md').read())"}, True),
    ({"kind": "script", "code": "verdict('x' in open('artifact.md').read())"}, False),
    ({"kind": "command", "argv": ["true"]}, True),
    ({"kind": "command", "argv": ["grep", "x", "{file}"], "part": "# A"}, False),
    ({"kind": "pytest", "tests": "def test_it(): pass\n", "part": "python"}, True),
    ({"kind": "pytest", "tests": GCD_TESTS, "part": "python"}, False),
    ({"kind": "secrets"}, False),
    ({"kind": "pattern", "pattern": "TODO", "min": 0, "max": 0}, False),
    ({"kind": "pattern", "pattern": "^"}, False),
    ({"kind": "parse", "language": "yaml", "part": "yaml"}, False),
    ({"kind": "json_schema", "json_schema": {"description": "anything"}}, False),
    ({"kind": "markdown", "facets": ["links"]}, False),
    ({"kind": "python", "facets": ["compiles"]}, False),
    ({"kind": "config", "facets": ["portability"]}, False),
    ({"kind": "openapi", "facets": ["pagination"]}, False),
    ({"kind": "sections", "sections": {"A": 0}}, False),
])  # fmt: skip
def test_a_check_that_passes_on_nothing_is_vacuous(fields, empty):
    assert vacuous(check(**fields), BENCH) is empty


@pytest.mark.parametrize("fields", [
    {"kind": "secrets"}, {"kind": "command", "argv": ["true"]}, {"kind": "script", "code": "verdict(True)"},
    {"kind": "pytest", "tests": "def test_it(): pass\n"},
])  # fmt: skip
def test_without_a_sandbox_nothing_is_run_and_nothing_passes(fields):
    bench = Bench(sandbox=Sandbox(level="none"))
    with pytest.raises(SandboxUnavailable):
        examine(check(**fields), "text", bench)
