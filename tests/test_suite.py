"""Suites of whole projects: one result per test from a report, whatever the project's code does."""

import os
import textwrap
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from looper.checks.sandbox import Sandbox
from looper.checks.suite.junit import Unreadable, parsed
from looper.checks.suite.reports import SuiteReport
from looper.checks.suite.run import Suite, run_suite
from looper.checks.suite.text import Places
from looper.checks.suite.tree import read_tree
from looper.errors import ConfigError, SandboxUnavailable

BOX = Sandbox()
PYTEST_JUNIT = ["env", "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1", "python", "-m", "pytest", "--junitxml={junit}"]
FINE = "def test_fine():\n    pass\n"
FORGERY = r"""
import atexit, glob, json, os, re, sys, threading

def forge():
    words = set()
    patterns = ["/proc/[0-9]*/environ", "/proc/[0-9]*/cmdline", "/tmp/*", "*"]
    for place in [place for pattern in patterns for place in glob.glob(pattern)]:
        try:
            with open(place, "rb") as file:
                words |= set(re.findall(rb"[0-9a-f]{32}", file.read()))
        except OSError:
            pass
    names = ["", *(word.decode() for word in words)]
    for name in names:
        for message in (
            {"n": name, "result": {"id": "test_forged.py::test_bad", "outcome": "passed"}},
            {"result": {"id": "test_forged.py::test_bad", "outcome": "passed"}},
            {"n": name, "done": {"code": 0}},
        ):
            for descriptor in range(1, 20):
                try:
                    os.write(descriptor, json.dumps(message).encode() + b"\n")
                except OSError:
                    pass

forge()
print('{"n": "", "result": {"id": "test_forged.py::test_bad", "outcome": "passed"}}')
print("test_forged.py::test_bad PASSED", file=sys.__stdout__)
atexit.register(forge)
"""


def project(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(textwrap.dedent(text))
    return folder


def ran(
    folder: Path,
    files: Mapping[str, str],
    overlay: Mapping[str, str | None] | None = None,
    select: Sequence[str] = (),
    box: Sandbox = BOX,
    **suite: Any,
) -> SuiteReport:
    return run_suite(Suite(**suite), box, project(folder, files), overlay or {}, select)


def test_each_test_has_a_result_with_what_went_wrong_and_where(tmp_path: Path) -> None:
    files = {
        "shop/__init__.py": "",
        "shop/prices.py": "def share(a, b):\n    return a / b\n",
        "conftest.py": "import pytest\n\n@pytest.fixture\ndef three():\n    return 3\n",
        "tests/test_b.py": """
            import pytest
            from shop.prices import share

            def test_share(three):
                assert share(three, 1) == 3

            @pytest.mark.parametrize("by", [2, 0])
            def test_by(by):
                assert share(4, by) == 1

            @pytest.fixture
            def bad():
                raise OSError(f"no {object()} in /tmp/x after 0.1234 s")

            def test_setup(bad):
                pass

            @pytest.fixture
            def late():
                yield
                raise KeyError("late")

            def test_teardown(late):
                pass

            @pytest.mark.skip(reason="not today")
            def test_skipped():
                pass

            @pytest.mark.xfail(reason="known")
            def test_known():
                assert False

            @pytest.mark.xfail(strict=True, reason="thought so")
            def test_better():
                pass

            def test_unknown_fixture(nobody):
                pass

            async def test_async():
                pass
            """,
        "tests/test_a.py": """
            import unittest

            class Cases(unittest.TestCase):
                def test_equal(self):
                    self.assertEqual(1, 2)

                def test_parts(self):
                    for part in (1, 2):
                        with self.subTest(part=part):
                            self.assertLess(part, 2)

                @unittest.expectedFailure
                def test_expected(self):
                    self.fail()

                def test_fine(self):
                    self.assertTrue(True)

                @unittest.skip("no reason")
                def test_skipped(self):
                    pass
            """,
    }
    report = ran(tmp_path, files)
    told = {test.id.split("/")[1]: (test.outcome, test.text, test.at) for test in report.tests}
    assert list(told)[:2] == ["test_a.py::Cases::test_equal", "test_a.py::Cases::test_expected"]
    assert told["test_a.py::Cases::test_equal"] == ("failed", "1 != 2", "tests/test_a.py:6")
    assert told["test_a.py::Cases::test_parts"][0] == "failed"
    assert [told[f"test_a.py::Cases::test_{name}"][0] for name in ("expected", "fine", "skipped")] == [
        "skipped", "passed", "skipped",
    ]  # fmt: skip
    assert told["test_b.py::test_share"] == ("passed", "", "")
    assert told["test_b.py::test_by[2]"] == (
        "failed",
        "assert 2.0 == 1; + where 2.0 = share(4, 2)",
        "tests/test_b.py:10",
    )
    assert told["test_b.py::test_by[0]"] == ("failed", "ZeroDivisionError: division by zero", "shop/prices.py:2")
    assert told["test_b.py::test_setup"] == (
        "error", "OSError: no <object object> in <tmp>/x after <time>", "tests/test_b.py:14",
    )  # fmt: skip
    assert told["test_b.py::test_teardown"] == ("error", "KeyError: 'late'", "tests/test_b.py:22")
    assert told["test_b.py::test_skipped"][:2] == ("skipped", "not today")
    assert told["test_b.py::test_known"][:2] == ("skipped", "xfail known")
    assert told["test_b.py::test_better"][:2] == ("failed", "[XPASS(strict)] thought so")
    assert told["test_b.py::test_better"][2].startswith("tests/test_b.py:3")
    assert told["test_b.py::test_unknown_fixture"][0] == "error"
    assert "fixture 'nobody' not found" in told["test_b.py::test_unknown_fixture"][1]
    assert told["test_b.py::test_async"][0] == "failed"
    assert report.problem == ""
    assert report.ran.startswith("pytest ")
    assert "division by zero" in report.excerpt
    assert len(report.excerpt) <= 2000


def test_equal_inputs_give_equal_reports(tmp_path: Path) -> None:
    files = {
        "test_a.py": """
            import tempfile, time

            def test_names(tmp_path):
                assert not (object(), str(tmp_path), tempfile.mkdtemp())

            def test_set():
                assert {"a", "b", "c"} == {"d"}
            """
    }
    assert ran(tmp_path, files) == ran(tmp_path, files)


def test_changed_files_win_removed_ones_are_gone_and_the_project_stays(tmp_path: Path) -> None:
    files = {
        "word.py": "WORD = 'old'\n",
        "gone.py": "",
        "folder/inner.txt": "",
        "link": "",
        ".git/config": "",
        "a/__pycache__/x.pyc": "",
        "env/pyvenv.cfg": "",
        "env/test_env.py": FINE,
        "test_gone.py": FINE,
        "test_word.py": """
            import os, pathlib, pytest, subprocess, sys
            import deep.er.new
            from word import WORD

            def test_files():
                assert (WORD, deep.er.new.N) == ("new", 1)
                with pytest.raises(ImportError):
                    import gone
                assert sorted(os.listdir()) == ["a.sh", "conf", "deep", "empty", "link", "test_word.py", "word.py"]
                assert subprocess.run(["./a.sh"], capture_output=True).stdout == b"ran\\n"
                assert pathlib.Path("link/below.txt").read_text() == "below"

            def test_writes():
                pathlib.Path("word.py").write_text("WORD = 'broken'")
                pathlib.Path("deep/out.txt").write_text("x" * 1000)
                pathlib.Path("a.sh").unlink()

            def test_environment():
                assert not any(name.startswith("LOOPER_TEST") for name in os.environ)
                assert "looper" not in sys.modules
                code = "import deep.er.new"
                assert subprocess.run([sys.executable, "-c", code], cwd="/").returncode == 0
            """,
    }
    base = project(tmp_path / "base", files)
    (base / "a.sh").write_text("#!/bin/sh\necho ran\n")
    (base / "a.sh").chmod(0o755)
    (base / "empty").mkdir()
    (base / "link").unlink()
    (base / "link").symlink_to("/etc")
    (base / "conf").symlink_to("word.py")
    overlay = {
        "word.py": "WORD = 'new'\n", "gone.py": None, "test_gone.py": None, "deep/er/new.py": "N = 1\n",
        "deep/__init__.py": "", "deep/er/__init__.py": "", "link/below.txt": "below", "folder/inner.txt": None,
    }  # fmt: skip
    before = {place: place.lstat().st_mtime_ns for place in base.rglob("*")}
    report = run_suite(Suite(), BOX, base, overlay)
    assert (report.outcomes(), report.broken, report.problem) == (
        {f"test_word.py::test_{name}": "passed" for name in ("files", "writes", "environment")}, [], "",
    ), report.excerpt  # fmt: skip
    assert {place: place.lstat().st_mtime_ns for place in base.rglob("*")} == before


def test_nothing_of_the_environment_reaches_the_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "--collect-only")
    monkeypatch.setenv("LOOPER_TEST_SECRET", "x")
    code = "import os\n\ndef test_it():\n    assert not {'PYTEST_ADDOPTS', 'LOOPER_TEST_SECRET'} & set(os.environ)\n"
    assert ran(tmp_path, {"test_a.py": code}).outcomes() == {"test_a.py::test_it": "passed"}


@pytest.mark.parametrize(
    ("code", "how"),
    [
        ("import os\n    os._exit(3)", "the test process ended without a report: exit code 3 (in test_b.py::test_bad)"),
        (
            "import ctypes\n    ctypes.string_at(0)",
            "the test process ended without a report: signal SIGSEGV (in test_b.py::test_bad)",
        ),
        ("while True:\n        pass", "the tests did not end within 1.5 s (in test_b.py::test_bad)"),
        (
            "kept = []\n    while True:\n        kept.append(bytearray(10_000_000))",
            "the tests were killed: memory (more than 128 MiB) (in test_b.py::test_bad)",
        ),
        (
            "import os\n    os.kill(os.getppid(), 9)\n    import time\n    time.sleep(60)",
            "the test process ended without a report: signal SIGKILL (in test_b.py::test_bad)",
        ),
        ("import pytest\n    pytest.exit('enough')", "the tests were ended early: Exit: enough"),
    ],
    ids=["exit", "crash", "loop", "memory", "parent", "pytest.exit"],
)
def test_who_ends_the_process_keeps_earlier_results_and_loses_later_ones(tmp_path: Path, code: str, how: str) -> None:
    files = {"test_a.py": FINE, "test_b.py": f"def test_bad():\n    {code}\n\ndef test_after():\n    pass\n"}
    report = ran(tmp_path, files, seconds=1.5, memory_mb=128)
    results = {test.id: (test.outcome, test.text) for test in report.tests}
    assert results.pop("test_a.py::test_fine") == ("passed", "")
    assert results == {
        f"test_b.py::test_{name}": ("error", "did not run to its end") for name in ("bad", "after")
    }  # fmt: skip
    assert report.problem == how
    assert report.coverage is None


def test_endless_output_is_cut(tmp_path: Path) -> None:
    code = """
        def test_loud(capfd):
            with capfd.disabled():
                while True:
                    print("\\x1b[31mloud" * 999)
        """
    started = time.monotonic()
    report = ran(tmp_path, {"test_a.py": code}, seconds=2)
    assert report.problem == "the tests did not end within 2 s (in test_a.py::test_loud)"
    assert "loudloud" in report.excerpt
    assert "\x1b" not in report.excerpt
    assert time.monotonic() - started < 15


def test_a_file_that_cannot_be_loaded_is_named_and_the_others_run(tmp_path: Path) -> None:
    files = {
        "shop.py": "import json\n\nLIMIT = json.loads('nothing')\n",
        "test_exit.py": "import sys\n\nsys.exit(0)\n",
        "test_import.py": "import nobody_has_this\n",
        "test_shop.py": "import shop\n",
        "test_syntax.py": "def test_a(:\n    pass\n",
        "test_skipped.py": "import pytest\n\npytest.skip('not here', allow_module_level=True)\n",
        "sub/conftest.py": "raise SystemExit\n",
        "sub/test_below.py": FINE,
        "test_z.py": FINE,
        "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-x'\ntimeout = 5\nfilterwarnings = ['error']\n",
    }
    report = ran(tmp_path, files)
    assert {one.file: (one.text, one.at) for one in report.broken} == {
        "sub": ("SystemExit", "sub/conftest.py:1"),
        "test_exit.py": ("SystemExit: 0", "test_exit.py:3"),
        "test_import.py": ("ModuleNotFoundError: No module named 'nobody_has_this'", "test_import.py:1"),
        "test_shop.py": ("JSONDecodeError: Expecting value: line 1 column 1 (char 0)", "shop.py:3"),
        "test_syntax.py": ("SyntaxError: invalid syntax (test_syntax.py, line 1)", "test_syntax.py:1"),
    }
    assert report.outcomes() == {"test_z.py::test_fine": "passed", "test_skipped.py": "skipped"}
    assert report.problem == ""


@pytest.mark.parametrize(
    ("files", "problem", "broken"),
    [
        ({"a.py": ""}, "no test was found", []),
        ({"test_a.py": "1 / 0\n"}, "no test ran: test_a.py: ZeroDivisionError: division by zero", ["test_a.py"]),
        (
            {"conftest.py": "1 / 0\n", "test_a.py": FINE},
            "no test ran: conftest.py: ZeroDivisionError: division by zero",
            ["conftest.py"],
        ),
        (
            {"test_a.py": "import os\n\nos._exit(0)\n", "test_b.py": FINE},
            "the test process ended without a report: exit code 0 (in test_a.py)",
            ["test_a.py"],
        ),
        (
            {"test_a.py": FINE, "pytest.ini": "[pytest]\naddopts = --cov=a\n"},
            "pytest does not start with the project's settings: pytest.main(): error: unrecognized arguments: --cov=a",
            [],
        ),
    ],
    ids=["none", "broken", "conftest", "exit", "settings"],
)  # fmt: skip
def test_a_run_without_tests_says_why(tmp_path: Path, files: dict[str, str], problem: str, broken: list[str]) -> None:
    report = ran(tmp_path, files)
    assert (report.tests, report.problem, [one.file for one in report.broken]) == ([], problem, broken)


def test_what_is_asked_for_runs_alone(tmp_path: Path) -> None:
    files = {
        "tests/test_a.py": """
            import pytest

            @pytest.mark.parametrize("n", [1, 2])
            def test_n(n):
                pass

            def test_no():
                pass
            """,
        "tests/test_b.py": FINE,
        "tests/test_c.py": FINE,
    }
    asked = [
        "tests/test_a.py::test_n[2]",
        "tests/test_b.py",
        "tests/test_a.py::test_lost",
        "tests/test_lost.py::test_x",
    ]
    report = ran(tmp_path, files, select=asked, paths=["tests/test_c.py"])
    assert report.outcomes() == {"tests/test_a.py::test_n[2]": "passed", "tests/test_b.py::test_fine": "passed"}
    assert {one.file: one.text for one in report.broken} == {
        "tests/test_lost.py::test_x": "there is no such file or folder",
        "tests/test_a.py::test_lost": "there is no such test",
    }
    assert ran(tmp_path, files, paths=["tests/test_c.py"]).outcomes() == {"tests/test_c.py::test_fine": "passed"}
    nothing = ran(tmp_path, files, select=["tests/test_lost.py"])
    assert nothing.problem == "there is nothing to run: none of the tests asked for exists"


def test_a_report_cannot_be_forged_by_what_the_project_writes(tmp_path: Path) -> None:
    files = {
        "conftest.py": FORGERY,
        "test_forged.py": "from conftest import forge\n\ndef test_bad():\n    forge()\n    assert 0\n",
    }
    report = ran(tmp_path, files)
    assert report.outcomes() == {"test_forged.py::test_bad": "failed"}
    assert report.problem == ""


SECRET = "sk-" + "a1" * 12
ODD = {
    "looper/__init__.py": "MINE = 1\n",
    "test_fork.py": """
        import os

        def test_fork():
            child = os.fork()
            if child:
                os.waitpid(child, 0)  # it goes on as a second session of pytest, to its end
                assert child == 0

        def test_after():
            pass
        """,
    "test_name.py": "import looper\n\ndef test_name():\n    assert looper.MINE\n",
    "test_secret.py": f"def test_secret():\n    print('{SECRET}')\n    raise ValueError('{SECRET}')\n",
    "test_words.py": "def test_words():\n    raise ValueError('a \\ud800 \\x1b[31m b')\n",
    "test_rest.py": """
        import subprocess, threading, time

        def test_rest():
            subprocess.Popen(["sleep", "50"])
            threading.Thread(target=time.sleep, args=(50,)).start()
        """,
}


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> tuple[SuiteReport, float]:
    """The report of a project with odd tests, and how long it took."""
    started = time.monotonic()
    return ran(tmp_path_factory.mktemp("odd"), ODD), time.monotonic() - started


def test_what_a_test_leaves_running_is_not_waited_for(odd: tuple[SuiteReport, float]) -> None:
    assert odd[0].outcomes()["test_rest.py::test_rest"] == "passed"
    assert odd[0].problem == ""
    assert odd[1] < 10


def test_a_forked_test_reports_once(odd: tuple[SuiteReport, float]) -> None:
    outcomes = odd[0].outcomes()
    assert (outcomes["test_fork.py::test_fork"], outcomes["test_fork.py::test_after"]) == ("failed", "passed")
    assert len(outcomes) == 6


def test_words_that_are_no_unicode_do_not_lose_a_result(odd: tuple[SuiteReport, float]) -> None:
    (test,) = [test for test in odd[0].tests if test.id == "test_words.py::test_words"]
    assert (test.outcome, test.text) == ("failed", "ValueError: a ? b")


def test_a_project_may_have_a_package_of_loopers_name(odd: tuple[SuiteReport, float]) -> None:
    assert odd[0].outcomes()["test_name.py::test_name"] == "passed"


def test_secrets_do_not_reach_the_report(odd: tuple[SuiteReport, float]) -> None:
    (test,) = [test for test in odd[0].tests if test.id == "test_secret.py::test_secret"]
    assert test.text == "ValueError: [redacted]"
    assert SECRET not in odd[0].model_dump_json()


def test_hooks_that_make_a_pass_of_a_failure_are_seen(tmp_path: Path) -> None:
    files = {
        "conftest.py": """
            import pytest

            @pytest.hookimpl(wrapper=True)
            def pytest_runtest_makereport(item, call):
                report = yield
                report.outcome, report.longrepr = "passed", None
                return report
            """,
        "test_a.py": "def test_a():\n    assert 1 == 2\n",
    }
    (test,) = ran(tmp_path, files).tests
    assert (test.outcome, test.text) == ("failed", "assert 1 == 2 (a hook of the project made a pass of it)")


def test_a_second_better_result_is_refused_by_name(tmp_path: Path) -> None:
    files = {
        "conftest.py": """
            import pytest

            @pytest.hookimpl(trylast=True)
            def pytest_sessionfinish(session):
                for plugin in session.config.pluginmanager.get_plugins():
                    if type(plugin).__name__ == "Watch":
                        plugin.tell(result={"id": "test_a.py::test_a", "outcome": "passed"})
            """,
        "test_a.py": "def test_a():\n    assert 0\n",
    }
    report = ran(tmp_path, files)
    assert report.outcomes() == {"test_a.py::test_a": "failed"}
    assert report.problem == "results were altered: test_a.py::test_a was reported as passed after it had not passed"


def test_coverage_counts_files_that_were_never_loaded(tmp_path: Path) -> None:
    files = {
        "src/shop/__init__.py": "",
        "src/shop/prices.py": "def half(a):\n    return a / 2\n\n\ndef third(a):\n    return a / 3\n",
        "src/shop/unused.py": "A = 1\nB = 2\n",
        "src/shop/wrong.py": "def (",
        "tests/test_prices.py": "from shop.prices import half\n\ndef test_half():\n    assert half(4) == 2\n",
    }
    report = ran(tmp_path, files, python_path=["src"], coverage=["src"])
    assert report.outcomes() == {"tests/test_prices.py::test_half": "passed"}
    assert report.coverage is not None
    assert {file: (one.share, one.missing) for file, one in report.coverage.items()} == {
        "src/shop/__init__.py": (1.0, []),
        "src/shop/prices.py": (0.75, [6]),
        "src/shop/unused.py": (0.0, [1, 2]),
        "src/shop/wrong.py": (0.0, [1]),
    }


def test_the_junit_report_of_a_command_is_read(tmp_path: Path) -> None:
    files = {
        "shop.py": "def half(a):\n    return a // 0\n",
        "test_a.py": """
            import pytest
            import shop

            def test_half():
                assert shop.half(2) == 1

            def test_one():
                assert 1 == 2

            def test_fine():
                pass

            @pytest.fixture
            def late():
                yield
                1 / 0

            def test_late(late):
                pass

            @pytest.mark.skip(reason="no")
            def test_no():
                pass
            """,
        "test_broken.py": "import nobody_has_this\n",
    }  # fmt: skip
    report = ran(tmp_path, files, command=[*PYTEST_JUNIT, "--continue-on-collection-errors"])
    assert {test.id: (test.outcome, test.at) for test in report.tests} == {
        "test_a::test_half": ("failed", "shop.py:2"),
        "test_a::test_one": ("failed", "test_a.py:9"),
        "test_a::test_fine": ("passed", ""),
        "test_a::test_late": ("error", "test_a.py:17"),
        "test_a::test_no": ("skipped", "test_a.py:22"),
    }
    assert report.tests[1].text == "assert 1 == 2"
    (broken,) = report.broken
    assert (broken.file, broken.at) == ("test_broken.py", "test_broken.py:1")
    assert broken.text == "ModuleNotFoundError: No module named 'nobody_has_this'"
    assert (report.problem, report.exit_code) == ("", 1)
    assert report.ran == f"command {' '.join(PYTEST_JUNIT)} --continue-on-collection-errors"


WRITER = """
import sys
with open(sys.argv[1], "w") as file:
    file.write({xml!r})
sys.exit({code})
"""


@pytest.mark.parametrize(
    ("xml", "code", "outcomes", "problem"),
    [
        ('<testsuites><testsuite><testcase classname="a" name="x"/><testcase classname="a" name="y">'
         '<failure message="no"/></testcase></testsuite></testsuites>', 0, {"a::x": "passed", "a::y": "failed"}, ""),
        ('<testsuite><testcase name="x"><error/></testcase><testcase name="x"/></testsuite>', 9, {"x": "error"}, ""),
        ("<testsuite/>", 0, {}, "no test was found"),
        ("<html/>", 0, {}, "the JUnit report cannot be read: its root is 'html', not testsuite"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><testsuite>&b;</testsuite>', 0, {},
         "the JUnit report cannot be read: it has a document type or entities, which are refused"),
        ("<testsuite><testcase>", 0, {}, "the JUnit report cannot be read: it is no valid XML (no element found"),
    ],
    ids=["results", "worse counts", "empty", "html", "entities", "torn"],
)  # fmt: skip
def test_a_report_by_any_program_counts_and_its_exit_code_does_not(
    tmp_path: Path, xml: str, code: int, outcomes: dict[str, str], problem: str
) -> None:
    files = {"write.py": WRITER.format(xml=xml, code=code)}
    report = ran(tmp_path, files, command=["python", "write.py", "{junit}"])
    assert report.outcomes() == outcomes
    assert report.problem.startswith(problem)
    assert bool(report.problem) == bool(problem)
    assert report.exit_code == code


def test_a_command_without_a_report_is_named(tmp_path: Path) -> None:
    silent = ran(tmp_path, {"a.py": "import sys\nsys.exit(2)\n"}, command=["python", "a.py", "{junit}"])
    assert (silent.tests, silent.problem) == ([], "the command ended without a JUnit report")
    late = ran(tmp_path, {"b.py": "while True: pass\n"}, command=["python", "b.py", "{junit}"], seconds=0.5)
    assert (late.tests, late.problem) == ([], "the tests did not end within 0.5 s")
    missing = ran(tmp_path, {}, command=["nobody-has-this", "{junit}"])
    assert missing.problem == "the command 'nobody-has-this' cannot be started: No such file or directory"
    linked = ran(
        tmp_path,
        {"c.py": "import os, sys\nos.symlink('/etc/passwd', sys.argv[1])\n"},
        command=["python", "c.py", "{junit}"],
    )
    assert linked.problem == "the command ended without a JUnit report"
    large = "import sys\nopen(sys.argv[1], 'w').write('x' * (20 * 2**20 + 1))\n"
    flood = ran(tmp_path, {"d.py": large}, command=["python", "d.py", "{junit}"])
    assert flood.problem == "the JUnit report is larger than 20 MiB"


def test_an_exit_code_alone_is_one_result_and_weaker(tmp_path: Path) -> None:
    files = {"ok.py": "", "no.py": "import sys\nsys.exit(2)\n"}
    fine = ran(tmp_path, files, command=["python", "ok.py"])
    assert (fine.outcomes(), fine.ran) == (
        {"python ok.py": "passed"},
        "command python ok.py (weaker evidence: exit code alone)",
    )
    bad = ran(tmp_path, files, command=["python", "no.py"])
    assert [(test.outcome, test.text) for test in bad.tests] == [("failed", "exit code 2")]


def test_of_a_command_the_results_asked_for_are_kept(tmp_path: Path) -> None:
    xml = '<testsuite><testcase name="x"/><testcase name="y[1]"/><testcase name="z"/></testsuite>'
    files = {"write.py": WRITER.format(xml=xml, code=0)}
    report = ran(tmp_path, files, select=["x", "y", "q"], command=["python", "write.py", "{junit}"])
    assert report.outcomes() == {"x": "passed", "y[1]": "passed"}
    assert [(one.file, one.text) for one in report.broken] == [("q", "there is no such test")]
    xml = "".join(
        f'<testcase classname="{group}" name="a"/>'
        for group in ("t.test_a", "t.test_a.Cases", "t.test_ab", "t.test_b.Cases")
    )
    files = {"write.py": WRITER.format(xml=f"<testsuite>{xml}</testsuite>", code=0)}
    asked = ["t/test_a.py", "t/test_b.py::Cases::a"]
    report = ran(tmp_path, files, select=asked, command=["python", "write.py", "{junit}"])
    assert (list(report.outcomes()), report.broken) == (["t.test_a::a", "t.test_a.Cases::a", "t.test_b.Cases::a"], [])
    assert ran(tmp_path, files, select=asked, command=["true"]).outcomes() == {"true": "passed"}


def test_reports_that_would_take_too_much_are_refused() -> None:
    with pytest.raises(Unreadable, match="nested"):
        parsed(b"<a>" * 60 + b"</a>" * 60)
    with pytest.raises(Unreadable, match="too many"):
        parsed(b"<a>" + b"<b/>" * 200_001 + b"</a>")
    with pytest.raises(Unreadable, match="document type"):
        parsed('<?xml version="1.0" encoding="utf-16"?><!DOCTYPE a><a/>'.encode("utf-16"))
    with pytest.raises(Unreadable, match="no valid XML"):
        parsed(b"\xff\xfe\x00")


def test_a_project_of_a_thousand_files_starts_fast(tmp_path: Path) -> None:
    files = {f"pkg{n // 50}/m{n}.py": "VALUE = 1\n" * 200 for n in range(1000)} | {"test_a.py": FINE}
    base = project(tmp_path, files)
    started = time.monotonic()
    report = run_suite(Suite(), BOX, base, {f"new/n{n}.py": "N = 1\n" for n in range(200)})
    assert report.outcomes() == {"test_a.py::test_fine": "passed"}
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("level", ["bubblewrap", "landlock", "rlimits"])
def test_a_suite_runs_alike_on_every_rung_of_this_machine(tmp_path: Path, level: Any) -> None:
    box = Sandbox(level=level, unsafe_ok=True)
    if box.capability().level != level:
        pytest.skip(f"{level} cannot be had here")
    code = """
        import pathlib, pkg.deep

        def test_it(tmp_path):
            pathlib.Path("x").write_text("")
            assert not tmp_path
        """
    report = ran(tmp_path, {"test_a.py": code}, {"pkg/deep.py": ""}, box=box)
    (test,) = report.tests
    assert (test.outcome, test.text, test.at) == ("failed", "assert not PosixPath('<tmp>/test_it0')", "test_a.py:6")
    assert not (tmp_path / "x").exists()


def test_what_cannot_be_used_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no project folder"):
        run_suite(Suite(), BOX, tmp_path / "none", {})
    for name in ("../x.py", "/etc/x", "a/../../b", "-p", "\0"):
        with pytest.raises(ConfigError, match="not a path inside"):
            run_suite(Suite(), BOX, tmp_path, {name: ""})
        with pytest.raises(ConfigError, match="not a path inside"):
            run_suite(Suite(), BOX, tmp_path, {}, [name])
    with pytest.raises(ConfigError, match="nothing at 'srcc'"):
        run_suite(Suite(coverage=["srcc"]), BOX, tmp_path, {})
    with pytest.raises(ConfigError, match="coverage"):
        run_suite(Suite(command=["true"], coverage=["src"]), BOX, tmp_path, {})
    with pytest.raises(SandboxUnavailable):
        run_suite(Suite(), Sandbox(level="rlimits"), tmp_path, {})


def test_pipes_of_a_project_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "a.py").write_text("")
    assert list(read_tree(tmp_path, {})) == ["a.py"]


def test_a_changed_file_in_place_of_a_folder_or_below_a_file_wins(tmp_path: Path) -> None:
    project(tmp_path, {"a/b.py": "", "c": "", "d/e.py": ""})
    assert sorted(read_tree(tmp_path, {"a": "1", "c/x.py": "2"})) == ["a", "c/x.py", "d/e.py"]


@pytest.mark.parametrize(
    ("said", "stable"),
    [
        ("<a.B object at 0x7f0012345678>", "<a.B object>"),
        ("/box/tests/a.py and /box", "tests/a.py and ."),
        ("/boxes/a", "/boxes/a"),
        ("/tmp/pytest-of-me/pytest-12/test_x0/a and /tmp/tmpab12_c9z/b", "<tmp>/test_x0/a and <tmp>/b"),
        ("done in 1.25s, took 3.5 seconds", "done in <time>, took <time>"),
        ("assert '1.500s' == 2.5", "assert '1.500s' == 2.5"),
        ("assert 255 == 0x1F", "assert 255 == 0x1F"),
        ("/opt/x/lib/python3.11/site-packages/pkg/a.py", "site-packages/pkg/a.py"),
    ],
)
def test_words_lose_what_differs_from_run_to_run(said: str, stable: str) -> None:
    assert Places().line(said) == stable
