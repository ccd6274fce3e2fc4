"""Runs pytest on a project and reports each test as it ends; inside the sandbox, in a process of its own.

Neither pytest's exit code nor what it prints is asked. The tests of the project run here, so code that means to can
change what is reported; see `looper.checks.suite.run`.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from looper.checks.suite.box import UNFINISHED, matches
from looper.checks.suite.measure import Meter

Tell = Callable[..., None]
OPTIONS = [
    "--rootdir=.", "--confcutdir=.", "--continue-on-collection-errors", "--tb=short", "--color=no", "--no-header",
    "-W", "ignore::pytest.PytestConfigWarning", "-W", "ignore::pytest.PytestUnknownMarkWarning",
    "-W", "ignore::pytest.PytestCacheWarning",
]  # fmt: skip
"""Settings and marks of plugins that are not loaded, and a cache that a box refuses, are no fault of the project."""
SETTINGS = {
    "pytest.toml": "", ".pytest.toml": "", "pytest.ini": "", ".pytest.ini": "", "pyproject.toml": "[tool.pytest",
    "tox.ini": "[pytest]", "setup.cfg": "[tool:pytest]",
}  # fmt: skip
"""Where pytest's settings are, the first that counts, and what a file must hold to count."""
LIBRARIES = {"site-packages", "dist-packages"}
HERE = Path(os.path.realpath("."))
"""The project; this is imported where its files are already unpacked."""
MOST_TEXT = 2000


class Told:
    """What became of one test so far."""

    def __init__(self, name: str, place: str):
        self.name, self.place = name, place
        self.phases: dict[str, str] = {}
        self.text = self.at = ""

    def take(self, phase: str, outcome: str, text: str, at: str) -> None:
        if self.phases.get(phase) != "failed":
            self.phases[phase] = outcome
        if text and not self.text:
            self.text, self.at = text[:MOST_TEXT], at or self.place

    def said(self) -> dict[str, str]:
        outcome = self.outcome()
        about = {"id": self.name, "outcome": outcome}
        if outcome == "passed":
            return about
        return about | {"text": self.text or UNFINISHED, "at": self.at or self.place}

    def outcome(self) -> str:
        """An error is what went wrong around the test, or a test that has not gone through all its phases."""
        if self.phases.get("call") == "failed":
            return "failed"
        if "failed" in self.phases.values():
            return "error"
        if "skipped" in self.phases.values():
            return "skipped"
        return "passed" if set(self.phases) >= {"setup", "call", "teardown"} else "error"


class Watch:
    """Plugin: tells what is collected, what begins, and what became of it."""

    def __init__(self, tell: Tell, select: list[str], also: list[str]):
        self.tell, self.select, self.also = tell, select, also
        self.tests: dict[str, Told] = {}
        self.errors: dict[str, tuple[str, str]] = {}
        """What kept a file from being collected, and where."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self) -> Generator[None, Any, Any]:
        try:
            return (yield)
        except (Exception, SystemExit) as error:  # whatever a conftest does when it is loaded
            cause = getattr(error, "cause", None) or error
            file = relative(str(getattr(error, "path", "conftest.py"))) or "conftest.py"
            self.tell(broken={"file": file, "text": described(cause), "at": place_of(cause)})
            raise

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: Any) -> None:
        """No stop at the first failure, and all folders that are wanted, whatever the project's options say."""
        config.option.maxfail = 0
        if config.args_source != config.ArgsSource.INVOCATION_DIR:  # else all folders are looked through
            config.args += [folder for folder in self.also if folder not in config.args]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: Any) -> Generator[None, Any, Any]:
        if isinstance(collector, pytest.Module):
            self.tell(loading=collector.nodeid)
        try:
            return (yield)
        except SystemExit as error:
            self.errors[collector.nodeid] = described(error), place_of(error)
            return pytest.CollectReport(collector.nodeid, "failed", described(error), [])

    def pytest_exception_interact(self, node: Any, call: Any) -> None:
        if isinstance(node, pytest.Collector):
            error = call.excinfo.value
            if isinstance(error, pytest.Collector.CollectError) and error.__cause__ is not None:
                error = error.__cause__
            self.errors[node.nodeid] = described(error), place_of(error)

    def pytest_collectreport(self, report: Any) -> None:
        file = report.nodeid.partition("::")[0]
        if report.failed:
            lines = [line.strip() for line in str(report.longrepr).splitlines() if line.strip()]
            text, at = self.errors.get(report.nodeid, ((lines or ["it cannot be loaded"])[-1][:MOST_TEXT], ""))
            self.tell(broken={"file": file, "text": text, "at": at})
        elif report.skipped:
            self.tell(result={"id": report.nodeid, "outcome": "skipped", "text": reason_of(report)})

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        """Only what was asked for; asked of pytest itself, one unknown name would end everything."""
        if not self.select:
            return
        chosen = [item for item in items if any(matches(one, item.nodeid) for one in self.select)]
        missing = [one for one in self.select if not any(matches(one, item.nodeid) for item in chosen)]
        self.tell(missing=missing)
        kept = {item.nodeid for item in chosen}
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in kept])
        items[:] = chosen

    def pytest_collection_finish(self, session: Any) -> None:
        for item in session.items:
            file, line, _ = item.location
            self.tests[item.nodeid] = Told(item.nodeid, f"{Path(file).as_posix()}:{(line or 0) + 1}")
        self.tell(collected=list(self.tests))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.tell(begun=nodeid)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Generator[None, Any, Any]:
        raised = call.excinfo
        report = yield
        info = call.excinfo or raised
        outcome, text, at = report.outcome, "", ""
        if outcome == "passed" and raised is not None:
            outcome, text = "failed", f"{described(raised.value)} (a hook of the project made a pass of it)"
        elif outcome == "skipped":
            text = f"xfail {report.wasxfail}".strip() if hasattr(report, "wasxfail") else reason_of(report)
        elif outcome == "failed":
            text, at = (described(info.value), place_of(info.value)) if info is not None else (str(report.longrepr), "")
            text = str(getattr(report.longrepr, "errorstring", text)).partition("\n")[0]  # a fixture that is not there
        self.tests[item.nodeid].take(report.when, outcome, text, at)
        return report

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A failed part of a test, such as a subtest, comes this way alone."""
        if report.failed and report.nodeid in self.tests:
            crash = getattr(report.longrepr, "reprcrash", None)
            self.tests[report.nodeid].take(report.when, "failed", str(getattr(crash, "message", "")), "")

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.tell(result=self.tests[nodeid].said())

    def pytest_keyboard_interrupt(self, excinfo: Any) -> None:
        self.tell(stopped=f"the tests were ended early: {described(excinfo.value)}")

    def pytest_internalerror(self, excinfo: Any) -> None:
        self.tell(stopped=f"pytest itself failed: {described(excinfo.value)}")


def reason_of(report: Any) -> str:
    """Why something was skipped."""
    told = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
    return str(told or "").removeprefix("Skipped: ")[:MOST_TEXT]


def described(error: BaseException) -> str:
    """The first two lines of an error; an assertion says what it compared."""
    try:
        text = str(error).strip()
    except Exception:  # the text of an error of the project's own making may raise anything
        text = ""
    first = "; ".join(line.strip() for line in text[:MOST_TEXT].split("\n")[:2])
    if isinstance(error, AssertionError) and first:
        return first
    return f"{type(error).__name__}: {first}".rstrip(": ")


def place_of(error: BaseException) -> str:
    """The innermost frame inside the project, or the place of a syntax error."""
    if isinstance(error, SyntaxError) and error.filename and (file := relative(error.filename)):
        return f"{file}:{error.lineno or 1}"
    found, entry = "", error.__traceback__
    while entry is not None:
        file = relative(entry.tb_frame.f_code.co_filename)
        found = f"{file}:{entry.tb_lineno}" if file else found
        entry = entry.tb_next
    return found


def relative(path: str) -> str:
    """A path inside the project, or nothing."""
    place = Path(os.path.realpath(path))
    if not place.is_relative_to(HERE) or LIBRARIES & set(place.parts) or not place.is_file():
        return ""
    return place.relative_to(HERE).as_posix()


def run(job: dict[str, Any], tell: Tell) -> None:
    """The tests of the project in the working folder. Never returns."""
    streams = sys.stdout, sys.stderr
    for name in [name for name in sys.modules if name.partition(".")[0] == "looper"]:
        del sys.modules[name]  # the project may have a package of that name
    meter = Meter(job["coverage"]) if job["coverage"] else None
    sys.path[:0] = job["path"]
    sys.argv = ["pytest"]
    watch = Watch(tell, job["select"], job["also"])
    code = int(pytest.main([*OPTIONS, "-c", settings(), *job["targets"]], plugins=[watch]))
    tell(done={"code": code, "coverage": meter.measured() if meter is not None else None})
    for stream in streams:
        with contextlib.suppress(OSError, ValueError):  # the project may have closed them
            stream.flush()
    os._exit(code)  # nothing that the project left to be done at exit is waited for


def settings() -> str:
    """The project's own file of settings; none from a folder above."""
    for name, mark in SETTINGS.items():
        file = HERE / name
        if file.is_file() and mark in file.read_text(encoding="utf-8", errors="replace"):
            return str(file)
    return os.devnull
