"""Runs a pytest command on one candidate, inside the sandbox, in a forked child of a process that has pytest loaded.

Imports pytest besides the standard library. Its exit code is never asked: each test's own report counts.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from .distance import distance
from .instrument import Meter
from .script_checks import LEAST, describe, plain

QUIET = ["-q", "--tb=no", "--capture=no", "-o", "cache_dir=/tmp/looper-pytest-cache"]


class ProgramFinder(importlib.abc.Loader):
    """Serves the candidate to whoever imports the program's file, under whatever name."""

    def __init__(self, path: str):
        self.path = path
        self.program: Any = None
        self.early = False
        """Whether somebody wanted the program before there was a candidate."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name.rpartition(".")[2] not in stems(self.path):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.origin is None or os.path.realpath(spec.origin) != self.path:
            return None
        if self.program is None:
            self.early = True
            return None
        spec.loader = self
        return spec

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        self.program.fill(module)


def stems(path: str) -> tuple[str, str]:
    """Last part of the names under which a file can be imported: its own, or its package's."""
    return Path(path).name.partition(".")[0], Path(path).parent.name


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


class Host:
    """Plugin: holds a session before its collection while candidates are served from there, in forked children."""

    def __init__(self, finder: ProgramFinder, serve: Callable[[], None]):
        self.finder, self.serve = finder, serve
        self.served = False
        self.session: Any = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: Any) -> None:
        every_test_here(config)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: Any) -> None:
        if self.served:
            return
        if self.finder.early:
            pytest.exit("the program was loaded before the tests", returncode=0)
        self.served, self.session = True, session
        self.serve()
        os._exit(0)

    def collect_and_run(self, watch: Watch) -> None:
        """In a child: what pytest would have done next."""
        config = self.session.config
        config.pluginmanager.register(watch)
        config.hook.pytest_collection(session=self.session)
        config.hook.pytest_runtestloop(session=self.session)


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
        self.here = str(Path.cwd())
        sys.path[:0] = [self.here, str(Path.cwd() / "src")]
        self.finder = ProgramFinder(self.path)
        self.hosted: Host | None = None
        self.collected = self.warm_up()

    def warm_up(self) -> list[str]:
        """Collects once, so that every child finds third-party imports done, and knows the tests."""
        self.write(self.source)
        plugin = Collected()
        pytest.main([*self.argv, "--collect-only"], plugins=[plugin])
        return plugin.ids

    def forget(self) -> None:
        """Drops the user's own modules, which may hold on to the program."""
        for name, module in list(sys.modules.items()):
            paths = [getattr(module, "__file__", None), *list(getattr(module, "__path__", None) or [])]
            if any(path and os.path.realpath(path).startswith(self.here + os.sep) for path in paths):
                del sys.modules[name]
        importlib.invalidate_caches()

    def ids(self) -> list[str]:
        return self.collected

    def write(self, source: str) -> None:
        Path(self.path).write_bytes(source.encode("utf-8", "surrogatepass"))

    def host(self, serve: Callable[[], None]) -> None:
        """Serves from within a pytest session that has its configuration and plugins done, unless the user's conftest
        loads the program so early: then each candidate gets a session of its own."""
        self.forget()
        sys.meta_path.insert(0, self.finder)
        host = Host(self.finder, serve)
        self.hosted = host
        pytest.main(self.argv, plugins=[host])
        if not host.served:
            self.hosted = None
            self.forget()
            serve()

    def run(self, program: Any, request: dict[str, Any], meter: Meter, emit: Any) -> None:
        self.write(request.get("source", self.source))
        self.finder.program = program
        watch = Watch(meter, emit)
        if self.hosted is None:
            pytest.main(self.argv, plugins=[watch])
        else:
            self.hosted.collect_and_run(watch)
        if meter.late:
            emit(error="timeout")
