"""Runs a pytest command on one candidate, inside the sandbox, in a forked child of a process that has pytest loaded.

Imports pytest besides the standard library. Its exit code is never asked: each test's own report counts.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import os
import sys
from types import ModuleType
from typing import Any

import pytest

from .distance import distance
from .instrument import Meter
from .script_run import LEAST, describe, plain

QUIET = ["-q", "-o", "cache_dir=/tmp/looper-pytest-cache"]


class ProgramFinder:
    """Serves the candidate to whoever imports the program's file, under whatever name."""

    def __init__(self, path: str, program: Any):
        self.path, self.program = path, program

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name.rpartition(".")[2] not in stems(self.path):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.origin is None or os.path.realpath(spec.origin) != self.path:
            return None
        spec.loader = self
        return spec

    def create_module(self, _spec: Any) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        self.program.fill(module)


def stems(path: str) -> tuple[str, str]:
    """Last part of the names under which a file can be imported: its own, or its package's."""
    folder, name = os.path.split(path)
    return name.partition(".")[0], os.path.basename(folder)


class Collected:
    """Plugin: which tests there are."""

    def __init__(self) -> None:
        self.ids: list[str] = []

    def pytest_collection_finish(self, session: Any) -> None:
        self.ids = [item.nodeid for item in session.items]

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: Any) -> None:
        every_test_here(config)


def every_test_here(config: Any) -> None:
    """No stop at the first failure and no further processes, whatever the user's options say."""
    config.option.maxfail = 0
    for name, value in (("numprocesses", None), ("dist", "no"), ("tx", [])):
        if hasattr(config.option, name):
            setattr(config.option, name, value)


class Watch:
    """Plugin: reports each test as it ends."""

    def __init__(self, meter: Meter, emit: Any):
        self.meter, self.emit = meter, emit
        self.outcomes: dict[str, str] = {}
        self.error = ""
        self.far = 1.0
        self.first: set[int] = set()

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: Any) -> None:
        every_test_here(config)

    def pytest_runtest_logstart(self) -> None:
        self.outcomes, self.error, self.far = {}, "", 1.0
        if not self.meter.late:
            self.meter.restart()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        self.meter.restart()

    def pytest_assertrepr_compare(self, op: str, left: Any, right: Any) -> None:
        if op == "==":
            self.far = max(distance(plain(left), plain(right)), LEAST)

    def pytest_runtest_makereport(self, call: Any) -> None:
        if call.excinfo is not None:
            self.error = self.error or describe(call.excinfo.value)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.outcomes[report.when] = report.outcome

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        told = set(self.outcomes.values())
        if "skipped" in told and "failed" not in told:
            return
        passed = told == {"passed"} and "call" in self.outcomes
        far = 0.0 if passed else (self.far if self.error.startswith("AssertionError") else 1.0)
        error = "" if passed else self.error or "no verdict"
        self.emit(id=nodeid, p=passed, d=far, e=error, l=sorted(self.meter.lines), s=self.meter.used)
        self.meter.lines.intersection_update(self.first)

    def pytest_collection_finish(self) -> None:
        self.first = set(self.meter.lines)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            said = [line.strip() for line in str(report.longrepr).splitlines() if line.strip()]
            self.emit(error="timeout" if self.meter.late else (said or ["collection failed"])[-1][:200])


class PytestTests:
    """The user's pytest command; the work folder is a copy of theirs."""

    def __init__(self, spec: dict[str, Any]):
        self.argv: list[str] = [*spec["argv"], *QUIET]
        self.path = os.path.realpath(spec["program"])
        self.source: str = spec["source"]
        here = os.getcwd()
        sys.path[:0] = [here, os.path.join(here, "src")]
        self.collected = self.warm_up(here)

    def warm_up(self, here: str) -> list[str]:
        """Collects once, so that every child finds third-party imports done, and forgets what is the user's own."""
        self.write(self.source)
        plugin = Collected()
        pytest.main([*self.argv, "--collect-only"], plugins=[plugin])
        for name, module in list(sys.modules.items()):
            paths = [getattr(module, "__file__", None), *list(getattr(module, "__path__", None) or [])]
            if any(path and os.path.realpath(path).startswith(here + os.sep) for path in paths):
                del sys.modules[name]
        importlib.invalidate_caches()
        return plugin.ids

    def ids(self) -> list[str]:
        return self.collected

    def write(self, source: str) -> None:
        with open(self.path, "w", encoding="utf-8", newline="") as file:
            file.write(source)

    def run(self, program: Any, request: dict[str, Any], meter: Meter, emit: Any) -> None:
        self.write(request.get("source", self.source))
        sys.meta_path.insert(0, ProgramFinder(self.path, program))
        pytest.main(self.argv, plugins=[Watch(meter, emit)])
        if meter.late:
            emit(error="timeout")
