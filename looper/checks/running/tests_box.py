"""Runs pytest on a stand-in for the artifact and reports each test by itself; inside the sandbox.

Neither pytest's exit code nor what it prints is asked.
"""

from __future__ import annotations

import ast
import builtins
import importlib.abc
import importlib.machinery
import json
import os
import re
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from looper.checks.running.remote import StandIn

FILE = "test_artifact.py"
ARGUMENTS = [
    FILE, "-q", "--tb=no", "-p", "no:cacheprovider", "--capture=sys", "--rootdir=.", "--confcutdir=.", "-c", os.devnull,
]  # fmt: skip
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
MOST = 2000
"""Tests that are reported one by one."""


class Watch:
    """Plugin: what became of each test."""

    def __init__(self) -> None:
        self.tests: dict[str, dict[str, Any]] = {}
        self.broken: list[tuple[int, str]] = []
        """Line and text of what kept tests from being collected."""

    def pytest_itemcollected(self, item: Any) -> None:
        name = item.nodeid.partition("::")[2]
        self.tests[item.nodeid] = {"name": name, "line": item.location[1] + 1, "outcome": "not run", "text": ""}

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            lines = [line.strip() for line in str(report.longrepr).splitlines() if line.strip()]
            told = [line.removeprefix("E ").strip() for line in lines if line.startswith("E ")] or lines[-1:]
            self.broken.append((0, (told or ["the tests cannot be loaded"])[0][:300]))

    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        if call.excinfo is not None:
            told = self.tests[item.nodeid]
            told["text"] = told["text"] or described(call.excinfo)
            told["at"] = line_of(call.excinfo)

    def pytest_runtest_logreport(self, report: Any) -> None:
        told = self.tests[report.nodeid]
        ends_it = report.failed or (report.skipped and told["outcome"] != "failed")
        if ends_it or (report.when == "call" and told["outcome"] == "not run"):
            told["outcome"] = report.outcome


def described(info: Any) -> str:
    """The first two lines of an error; an assertion says what it compared. No addresses: they differ each time."""
    try:
        text = str(info.value).strip()
    except Exception:  # a text that is fetched from the module's process may fail
        text = ""
    kind = info.type.__name__
    first = _ADDRESS.sub("", " ".join("; ".join(text.split("\n")[:2]).split()))
    return (first if kind == "AssertionError" and first else f"{kind}: {first}".rstrip(": "))[:300]


def line_of(info: Any) -> int:
    """Where in the tests it happened."""
    found = 0
    for entry in info.traceback:
        if str(entry.path).endswith(FILE):
            found = entry.lineno + 1
    return found


class Pipe:
    """Asks looper, which asks the module's process."""

    def __init__(self, reads: Any, writes: int):
        self.reads, self.writes = reads, writes

    def send(self, message: dict[str, Any]) -> None:
        data = json.dumps(message).encode() + b"\n"
        while data:
            data = data[os.write(self.writes, data) :]

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        self.send({"call": request})
        line = self.reads.readline()
        return json.loads(line) if line else {"e": [["RuntimeError", None]], "m": "the module's process is gone"}


def public(names: list[str], tests: str) -> list[str]:
    """What `from module import *` gives: nothing that would take the place of a built-in or of a name of the tests."""
    taken = set(dir(builtins)) | {"pytest"}
    for node in ast.walk(ast.parse(tests)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            taken |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            taken.add(node.name)
    return [name for name in names if name not in taken and name.isidentifier()]


class Finder(importlib.abc.Loader):
    """Loads the artifact's own source when it is imported: both share this process."""

    def __init__(self, name: str, source: str):
        self.name, self.source = name, source

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        return importlib.machinery.ModuleSpec(name, self) if name == self.name else None

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = f"{self.name}.py"
        exec(compile(self.source, f"{self.name}.py", "exec", dont_inherit=True), module.__dict__)


def main() -> None:
    """One request, one report."""
    pipe = Pipe(os.fdopen(os.dup(0), "rb"), os.dup(1))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):
        os.dup2(nowhere, stream)
    pipe.send({"ready": True})
    request = json.loads(pipe.reads.readline())
    name = request["module"]
    if "source" in request:
        sys.meta_path.insert(0, Finder(name, request["source"]))
    else:
        sys.modules[name] = StandIn(name, pipe.ask, public(request["names"], request["tests"]))
    pipe.send(report(pytest.main) | {"nonce": request["nonce"]})
    os._exit(0)


def report(run: Callable[..., Any]) -> dict[str, Any]:
    watch = Watch()
    run(ARGUMENTS, plugins=[watch])
    return {"tests": list(watch.tests.values())[:MOST], "count": len(watch.tests), "broken": watch.broken}
