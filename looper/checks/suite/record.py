"""From the messages of a box of tests to its report: one result for each test, whatever the box went through."""

import signal
from hashlib import sha256

from looper.checks.suite.box import UNFINISHED, matches
from looper.checks.suite.channel import Done, Said
from looper.checks.suite.reports import Broken, FileCoverage, SuiteReport, TestResult
from looper.checks.suite.text import Places

UNLOADED = "the test process ended while this file was loaded"
MOST_TESTS = 100_000
USAGE = 4
"""pytest's exit code for options and settings that it cannot use."""


class Record:
    """What is known so far."""

    def __init__(self) -> None:
        self.places = Places()
        self.ready = False
        self.order: dict[str, None] = {}
        self.results: dict[str, TestResult] = {}
        self.broken: dict[str, Broken] = {}
        self.altered: list[str] = []
        self.loading = self.running = self.stopped = self.junit = ""
        self.output = ""
        """The last of what was printed."""
        self.collected = False
        self.done: Done | None = None
        self.exit_code: int | None = None

    def take(self, said: Said) -> None:
        """One message; nothing is believed once the session is over but how its process ended."""
        self.exit_code = said.ended if said.ended is not None else self.exit_code
        self.junit = said.junit or self.junit
        self.output = said.tail or self.output
        if self.done is not None:
            return
        if said.ready is not None and not self.ready:
            self.places, self.ready = said.ready, True
        self.stopped = self.stopped or said.stopped
        self.done = said.done
        self._collecting(said)
        self._running(said)

    def _collecting(self, said: Said) -> None:
        self.loading = said.loading or self.loading
        if said.broken is not None:
            self.miss(said.broken.file, said.broken.text, said.broken.at)
        for one in said.missing:
            if one.partition("::")[0] not in self.broken:
                self.miss(one, "there is no such test")
        if said.collected is not None and not self.collected:
            self.order.update(dict.fromkeys(said.collected[:MOST_TESTS]))
            self.collected, self.loading = True, ""

    def _running(self, said: Said) -> None:
        self.running = said.begun or self.running
        new = said.result
        if new is None or len(self.results) > MOST_TESTS:
            return
        self.running = "" if self.running == new.id else self.running
        old = self.results.get(new.id)
        if old is None or old.outcome == "passed":
            self.results[new.id] = new
        elif new.outcome == "passed":
            self.altered.append(new.id)

    def miss(self, file: str, text: str, at: str = "") -> None:
        """A file, or a name that was asked for, of which there are no tests; the first reason counts."""
        self.broken.setdefault(file, Broken(file=file, text=text, at=at))

    def keep(self, wanted: list[str]) -> None:
        """Drops results of a JUnit report that were not asked for; nothing asked for: all."""
        if not wanted or not self.results:
            return
        kept = {ask: [name for name in self.results if reported(ask, name)] for ask in wanted}
        for ask in [ask for ask, names in kept.items() if not names]:
            self.miss(ask, "there is no such test")
        every = {name for names in kept.values() for name in names}
        self.results = {name: one for name, one in self.results.items() if name in every}

    def report(self, how: str, ran: str) -> SuiteReport:
        """`how`: why the box was ended from outside; empty if it ended by itself."""
        if self.loading and self.done is None:
            self.miss(self.loading, UNLOADED)
        self.order.update(dict.fromkeys(self.results))
        tests = [self._result(name) for name in self.order]
        broken = [self._told(one) for one in self.broken.values()]
        report = SuiteReport(tests=tests, broken=broken, ran=ran, exit_code=self.exit_code, coverage=self._coverage())
        report.problem = self.places.line("; ".join(filter(None, (self._end(how), self._altered()))))
        report.excerpt = self.places.excerpt(self.output)
        report.output_sha256 = digest(report)
        return report

    def _result(self, name: str) -> TestResult:
        found = self.results.get(name) or TestResult(id=name, outcome="error", text=UNFINISHED)
        if found.outcome == "passed":
            return TestResult(id=name, outcome="passed")
        text = self.places.line(found.text) or "it failed without a word"
        return TestResult(id=name, outcome=found.outcome, text=text, at=self.places.line(found.at))

    def _told(self, one: Broken) -> Broken:
        return Broken(file=one.file, text=self.places.line(one.text), at=self.places.line(one.at))

    def _coverage(self) -> dict[str, FileCoverage] | None:
        if self.done is None or self.done.coverage is None:
            return None
        return {file: FileCoverage(share=share, missing=lines) for file, (share, lines) in self.done.coverage.items()}

    def _end(self, how: str) -> str:
        """What is wrong with the run as a whole."""
        where = f" (in {self.running or self.loading})" if self.running or self.loading else ""
        if how:
            return how + where
        if self.stopped:
            return self.stopped
        if self.done is None:
            return f"the test process ended without a report: {ending(self.exit_code)}{where}"
        if self.order or not self.broken:
            return "" if self.order else self._unstarted()
        first = next(iter(self.broken.values()))
        return f"no test ran: {first.file}: {first.text}"

    def _unstarted(self) -> str:
        """Why there is no test: pytest has words for settings that it cannot use, such as options of a plugin."""
        if self.done is None or self.done.code != USAGE or self.collected:
            return "no test was found"
        said = [line for line in self.output.splitlines() if "error: " in line.lower()]
        return f"pytest does not start with the project's settings: {said[-1].strip() if said else 'see the output'}"

    def _altered(self) -> str:
        if not self.altered:
            return ""
        return f"results were altered: {self.altered[0]} was reported as passed after it had not passed"


def reported(asked: str, name: str) -> bool:
    """Whether a test of a JUnit report (`tests.test_a.Cases::test_x`) is what was asked for, also by pytest's names."""
    file, *rest = asked.split("::")
    if not file.endswith(".py"):
        return matches(asked, name)
    module = file.removesuffix(".py").replace("/", ".")
    whole = ".".join((module, *rest))
    one = "::".join((".".join((module, *rest[:-1])), *rest[-1:]))
    return matches(asked, name) or matches(one, name) or matches(whole, name) or name.startswith(f"{whole}.")


def ending(code: int | None) -> str:
    """How a process ended, in words."""
    if code is None:
        return "it was killed"
    if code >= 0:
        return f"exit code {code}"
    return f"signal {signal.Signals(-code).name}" if -code in set(signal.Signals) else f"signal {-code}"


def digest(report: SuiteReport) -> str:
    """SHA-256 of what the tests said, not of the bytes they printed: those may hold times."""
    said = report.model_dump_json(include={"tests", "broken", "problem", "coverage"})
    return sha256(said.encode("utf-8", "surrogatepass")).hexdigest()
