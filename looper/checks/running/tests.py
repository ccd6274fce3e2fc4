"""Kind `pytest`: tests in one box, the artifact in another, calls relayed between them (SAFETY P12).

The module's process never sees a test or an expected value, and what it writes is only ever the value of a call. Tests
that patch the module or pass functions to it need it in their own process; that is decided by the tests' text alone,
never by the artifact, and the evidence says so.
"""

import ast
import secrets
import sys
import time
from dataclasses import dataclass, replace
from typing import Any

from looper.checks.bench import Bench
from looper.checks.evidence import Problem, Seen
from looper.checks.kinds import Pytest
from looper.checks.running.selected import text_of_part
from looper.checks.wire import Late, Lost, Wire

FILE = "test_artifact.py"
FIXTURES = {
    "tmp_path", "tmp_path_factory", "tmpdir", "capsys", "capfd", "capsysbinary", "caplog", "monkeypatch", "recwarn",
}  # fmt: skip
"""Fixtures that only mean something in the module's own process."""
APART, TOGETHER = "separate processes", "one process: the module could tamper with it"
STARTING = 30.0
"""Seconds for a box and its imports, on a busy machine; the time for the tests begins behind them."""
ENVIRONMENT = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
_TESTS = "from looper.checks.running.tests_box import main; main()"
_MODULE = "from looper.checks.running.module_box import main; main()"


@dataclass(frozen=True)
class Session:
    """One run of tests on one artifact."""

    check: Pytest
    source: str
    bench: Bench
    nonce: str

    def start(self, program: str, files: dict[str, str]) -> Wire:
        limits = replace(self.bench.limits(), lifetime_seconds=self.bench.test_seconds + 2 * STARTING)
        return Wire(
            self.bench.sandbox.start([sys.executable, "-c", program], files=files, limits=limits, env=ENVIRONMENT)
        )

    def request(self, **more: Any) -> dict[str, Any]:
        return {"module": self.check.module, "nonce": self.nonce, **more}

    def apart(self) -> dict[str, Any]:
        """The report of tests that reach the module by calls only. Raises Late and Lost."""
        with self.start(_MODULE, {}) as module, self.start(_TESTS, {FILE: self.check.tests}) as tests:
            module.receive(STARTING)
            tests.receive(STARTING)
            about = {"module": self.check.module, "source": self.source}
            loaded = module.ask(about, self.bench.test_seconds)
            if "names" not in loaded:
                return {"loading": f"{name_of(loaded)}: {loaded.get('m', '')}"}
            names = [name for name in listed(loaded["names"]) if isinstance(name, str)]
            tests.send(self.request(names=names, tests=self.check.tests), STARTING)
            return self.relayed(module, tests)

    def relayed(self, module: Wire, tests: Wire) -> dict[str, Any]:
        deadline = time.monotonic() + self.bench.test_seconds
        while True:
            message = tests.receive(deadline - time.monotonic())
            if "call" not in message:
                return message
            tests.send(self.said(module, message["call"], deadline), STARTING)

    def said(self, module: Wire, request: Any, deadline: float) -> dict[str, Any]:
        """What the module's process says of a call; one that is gone says nothing any more, to any test."""
        try:
            return module.ask(request, deadline - time.monotonic())
        except Late:
            raise
        except Lost:
            return {"e": [["RuntimeError", None]], "m": "the module ended its process"}

    def together(self) -> dict[str, Any]:
        with self.start(_TESTS, {FILE: self.check.tests}) as tests:
            tests.receive(STARTING)
            tests.send(self.request(source=self.source), STARTING)
            return tests.receive(self.bench.test_seconds)


def run_tests(check: Pytest, artifact: str, bench: Bench, *, blank: bool) -> Seen:
    """Passed if every test ran and passed, and there were enough; a skipped test is no evidence."""
    try:
        tree = ast.parse(check.tests)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return Seen([Problem(0, f"the check's own tests are no valid Python: {error}")], name())
    source, missing = text_of_part(check, artifact, bench, blank=blank)
    if missing:
        return missing
    bench.sandbox.require(untrusted=True)
    shared = check.shared or needs_its_process(tree)
    session = Session(check, source, bench, secrets.token_hex(16))
    extra = (("isolation", TOGETHER if shared else APART),)
    try:
        report = session.together() if shared else session.apart()
    except Late:
        return Seen([Problem(0, f"the tests did not end within {bench.test_seconds:g} s")], name(), extra=extra)
    except Lost:
        return Seen([Problem(0, "the tests ended without a report")], name(), extra=extra)
    return seen(check, report, session.nonce, extra)


def seen(check: Pytest, report: dict[str, Any], nonce: str, extra: tuple[tuple[str, Any], ...]) -> Seen:
    """What a report says, if it is one."""
    if "loading" in report:
        return Seen([Problem(0, f"the module cannot be loaded: {report['loading']}")], name(), extra=extra)
    if report.get("nonce") != nonce:
        return Seen([Problem(0, "the tests ended without a report")], name(), extra=extra)
    tests = [test for test in listed(report.get("tests")) if isinstance(test, dict)]
    passed = [test for test in tests if test.get("outcome") == "passed"]
    problems = [Problem(0, f"the tests cannot be loaded: {text}") for _, text in listed(report.get("broken"))]
    problems += [Problem(0, told(test)) for test in tests if test.get("outcome") != "passed"]
    if len(passed) < check.min_tests and not problems:
        problems.append(Problem(0, f"{len(passed)} tests passed and at least {check.min_tests} must"))
    lines = "\n".join(f"{test.get('outcome')} {test.get('name')} {test.get('text')}" for test in tests)
    counted = (*extra, ("passed", len(passed)), ("tests", report.get("count")))
    return Seen(problems, name(), output=lines.encode("utf-8", "replace"), extra=counted)


def told(test: dict[str, Any]) -> str:
    outcome = "was skipped, which is no evidence" if test.get("outcome") == "skipped" else "fails"
    return f"the test {test.get('name')} {outcome}: {test.get('text') or 'it did not run to its end'}"


def needs_its_process(tree: ast.Module) -> bool:
    """Whether tests use what only works beside the module: fixtures and `mock`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.arg in FIXTURES:
            return True
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            above = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            if any(f"{above}{alias.name}.".startswith("unittest.mock.") for alias in node.names):
                return True
    return False


def name() -> str:
    from importlib.metadata import version

    return f"pytest {version('pytest')}"


def name_of(said: dict[str, Any]) -> str:
    lineage = said.get("e")
    first = lineage[0] if isinstance(lineage, list) and lineage else None
    return str(first[0])[:80] if isinstance(first, list) and first else "no answer"


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
