"""Runs candidates against tests in the sandbox (SPEC 7.2, SAFETY P9 and P12)."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from looper.checks.sandbox import Sandbox, Worker
from looper.tasks.repair.examine.channel import BOOT, Channel
from looper.tasks.repair.examine.codec import encode
from looper.tasks.repair.examine.commands import Bench, ExitCodes, pytest_setting, room
from looper.tasks.repair.examine.crew import Answer, Crew, Gang
from looper.tasks.repair.examine.folder import module_name, pytest_arguments, wanted
from looper.tasks.repair.examine.isolated import Evidence, Isolated, cases_calls, in_process, server_spec
from looper.tasks.repair.examine.offer import Offer, identifiers, offered
from looper.tasks.repair.examine.proxies import NOT_PLAIN
from looper.tasks.repair.examine.setting import setting
from looper.tasks.repair.examine.verdicts import SPARED, cases_report, heavy, limits, plain_values, steps, told_report
from looper.tasks.repair.problem import Cases, Command, Problem, Report, Script, Tests

FIRST_STEPS = 10_000_000
"""Steps of a test before it is known how many it needs; a few seconds of loops, which one endless test may cost."""
DEFAULT_STEPS = 100_000
"""Steps allowed a test that did not come to an end on the original."""
LEAST_STEPS = 50_000
STEP_FACTOR = 20
"""A candidate may take this many times the steps of the original's most costly passing test."""


class Examiner:
    """Workers for one problem and one set of tests; a context manager.

    `jobs`: workers side by side, 0 = one per core. `seconds`: wall clock per candidate. `step_limit`: loop iterations
    and calls per test; 0 = 20 times what the original's passing tests take, at least 50,000. `memory_mb`: MiB per
    candidate. `python`: interpreter for the user's own test command, if not looper's.

    Raises ConfigError for a folder that cannot be used and NoWorker (at the first use) when tests cannot be prepared.
    """

    def __init__(
        self,
        problem: Problem,
        sandbox: Sandbox,
        *,
        tests: Tests | None = None,
        jobs: int = 0,
        seconds: float = 5.0,
        step_limit: int = 0,
        memory_mb: int = 512,
        python: str | None = None,
    ):
        self.problem, self.sandbox = problem, sandbox
        self.tests: Tests = tests or problem.tests
        self.jobs = jobs or os.cpu_count() or 1
        self.seconds, self.memory_mb, self.python = seconds, memory_mb, python
        self.step_limit = step_limit
        self.offer: Offer = offered(problem.source)
        self.spec = setting(problem, self.tests, seconds, memory_mb)
        self.bench: Bench | None = None
        self.crew = self._crew()
        self._original: Report | None = None
        self._heavy: list[int] = []
        self._limits: list[int] = []
        self._known: list[str] = []
        self._evidence: Evidence | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Ends all workers and removes the copies of the user's folder; may be called twice."""
        self.crew.close()
        if self.bench is not None:
            self.bench.close()

    @property
    def original(self) -> Report:
        """The report on the problem's own source; the first use runs it and learns the tests and their steps."""
        if self._original is None:
            limit = min(self.step_limit, DEFAULT_STEPS) if self.step_limit else FIRST_STEPS
            answer = self.crew.ask({"source": self.problem.source, "steps": limit, "endless": 1})
            told = [] if isinstance(self.tests, Cases) else [r.id for r in told_report([], answer).results]
            self._known = told or self.crew.ids
            if isinstance(self.tests, Cases) and not self.step_limit:
                self._limits = limits(answer, len(self.tests.cases), LEAST_STEPS, DEFAULT_STEPS, STEP_FACTOR)
            if not self.step_limit:
                most = steps(answer)
                self.step_limit = max(LEAST_STEPS, STEP_FACTOR * most) if most else DEFAULT_STEPS
            self._original = self._report(answer)
            self._heavy = heavy(answer) if isinstance(self.tests, Cases) else []
        return self._original

    def examine(self, sources: Sequence[str], *, trace: bool = False, stop_on_pass: bool = False) -> list[Report]:
        """Reports in the order of `sources`, which are trusted as much as the user's own program: the tests run in
        the same process. With `stop_on_pass`, what comes after the first that passes everything is not reported on."""
        _ = self.original
        if self._heavy and not stop_on_pass:
            return self._light_first(sources, trace)
        requests = [self._request(source, trace) for source in sources]
        stop = (lambda answer: passes(self._report(answer))) if stop_on_pass else None
        reports = [self._report(answer) for answer in self.crew.map(requests, stop)]
        spared = Report(error="not examined: an earlier candidate passed all tests")
        return reports + [spared] * (len(sources) - len(reports))

    def _request(self, source: str, trace: bool) -> dict[str, Any]:
        return {"source": source, "steps": self.step_limit, "trace": trace, "limits": self._limits}

    def _light_first(self, sources: Sequence[str], trace: bool) -> list[Report]:
        """Heavy tests are run on those candidates only that pass all others; elsewhere they count as failed."""
        requests = [{**self._request(source, trace), "skip": self._heavy} for source in sources]
        answers = self.crew.map(requests, None)
        light = [self._report(answer) for answer in answers]
        whole = [n for n, report in enumerate(light) if all(r.passed for r in report.results if r.error != SPARED)]
        requests = [self._request(sources[n], trace) for n in whole]
        for n, answer in zip(whole, self.crew.map(requests, None), strict=True):
            light[n] = self._report(answer)
        return light

    def examine_untrusted(self, source: str) -> Report:
        """A model-written candidate, in a fresh box; `evidence` says how far its verdict can be trusted.

        Raises SandboxUnavailable where nothing protects files and network from it.
        """
        self.sandbox.require(untrusted=True)
        if isinstance(self.tests, Cases) and self.step_limit:
            return self._apart(source)  # nothing has to be learnt of the original
        _ = self.original
        if self.evidence == "separate processes":
            return self._apart(source)
        if not isinstance(self.crew, Crew):
            return self._report(self.crew.ask({"source": source}))
        answer, nonce = in_process(self._start(), source, self.step_limit, self.seconds)
        return told_report(self._known, answer, nonce)

    @property
    def evidence(self) -> Evidence:
        """Whether tests and untrusted candidate run in separate processes (always so for data), or have to share one
        because the tests need the program's live objects or are a command of which only the exit code is known."""
        if self._evidence is None:
            self._evidence = "separate processes" if self._separable() else "in process"
        return self._evidence

    def values(
        self, sources: Sequence[str], inputs: Sequence[list[Any]], function: str, *, trusted: bool = True
    ) -> list[list[Any]]:
        """For each source, what `function` returns on each of `inputs`, as plain values (a generator as a list);
        `{"!error": text}` where it raised, ran out of time or steps, or returned what is no plain data. Sources that a
        model wrote need `trusted=False` and get a box each."""
        _ = self.original
        if not trusted:
            self.sandbox.require(untrusted=True)
        if not trusted or not isinstance(self.crew, Crew):
            box = self._isolated()
            return [plain_values(box.cases(source, function, list(inputs)), len(inputs)) for source in sources]
        asked = {"function": function, "calls": [encode(args) for args in inputs]}
        requests = [{"source": source, "steps": self.step_limit, "values": asked} for source in sources]
        return [plain_values(answer, len(inputs)) for answer in self.crew.map(requests)]

    def _report(self, answer: Answer) -> Report:
        if isinstance(self.tests, Cases):
            return cases_report(self.tests, answer)
        return told_report(self._known, answer)

    def _apart(self, source: str) -> Report:
        if isinstance(self.tests, Cases):
            answer = self._isolated().cases(source, self.tests.function, cases_calls(self.tests))
            return cases_report(self.tests, answer)
        if not isinstance(self.crew, Crew):
            raise TypeError("only workers can run tests apart from the candidate")
        return told_report(self._known, self._isolated().tests(source, self.crew, self.offer))

    def _separable(self) -> bool:
        """Decided on the user's own program alone: what passes with tests and program in one process must also pass
        apart. A candidate has no say in it."""
        if isinstance(self.tests, Cases):
            return True
        if not isinstance(self.crew, Crew) or self.offer.live & self._mentioned():
            return False
        together, apart = self.original, self._apart(self.problem.source)
        passed = {result.id for result in together.results if result.passed}
        if any(NOT_PLAIN in result.error for result in apart.results):
            return False
        return passed <= {result.id for result in apart.results if result.passed}

    def _mentioned(self) -> set[str]:
        if isinstance(self.tests, Command):
            folder = Path(self.tests.folder)
            chosen = set(wanted(folder, True)) - set(wanted(folder, False))
            texts = [path.read_text(encoding="utf-8", errors="replace") for path in chosen if path.suffix == ".py"]
            return set().union(*map(identifiers, texts))
        return identifiers(self.tests.text) if isinstance(self.tests, Script) else set()

    def _isolated(self) -> Isolated:
        if isinstance(self.tests, Command):
            module, root = module_name(self.tests)
            spec = server_spec(self.spec, module=module, path_first=[root, ".", "src"])
        else:
            spec = server_spec(self.spec)
        return Isolated(self._box, spec, self.step_limit)

    def _box(self, source: str) -> Worker:
        """A fresh process for one untrusted candidate, with the user's folder but without its tests."""
        if self.bench is not None:
            return self.bench.start_apart(source)
        argv = [sys.executable, "-I", "-S", "-c", BOOT]
        return self.sandbox.start(argv, limits=room(self.sandbox.limits, self.memory_mb))

    def _crew(self) -> Gang:
        if not isinstance(self.tests, Command):
            return Crew(self._start, self.jobs, self.seconds)
        found = pytest_arguments(self.tests)
        argv, named = found or ([], None)
        self.bench = Bench(self.tests, self.sandbox, self.memory_mb, self.python or named)
        if found is None:
            return ExitCodes(self.bench, self.jobs, self.seconds)
        self.spec = pytest_setting(self.tests, argv, self.spec)
        return Crew(self._start, self.jobs, self.seconds)

    def _start(self) -> Channel:
        return Channel(self.bench.start() if self.bench is not None else self._box(""), self.spec)


def passes(report: Report) -> bool:
    """Whether there is a verdict and it is that all tests pass."""
    return bool(report.results) and report.passed == len(report.results)
