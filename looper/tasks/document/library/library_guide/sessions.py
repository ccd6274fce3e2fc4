"""Runs every session of the guide, in the order of the file, against the library, and compares what it shows.

The library and the sessions run in a child process; what they show is compared here. Whoever writes a session can print
what he likes, so a session that fakes what the child says gains nothing; one that replaces the library is refused.
"""

import ast
import doctest
import json
import re
import subprocess
import sys
from pathlib import Path

LEAST = 30
PUBLIC = {"steady", "Backoff", "Breaker", "Clock", "FakeClock", "GaveUp", "Open", "RateLimit", "Refused", "Retry"}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
CHILD = """
import contextlib, io, json, os, sys, traceback, types
request = json.load(sys.stdin)
channel = os.dup(1)
os.dup2(2, 1)
module = sys.modules["steady"] = types.ModuleType("steady")
exec(compile(request["library"], "steady.py", "exec"), module.__dict__)
space = {"__name__": "__main__"}
said = []
for source in request["sources"]:
    shown, error = io.StringIO(), None
    with contextlib.redirect_stdout(shown):
        try:
            exec(compile(source, "<guide>", "single"), space)
        except Exception as raised:
            error = "".join(traceback.format_exception_only(raised))
    said.append([shown.getvalue(), error])
os.write(channel, json.dumps(said).encode())
"""
LIBRARY = r'''"""steady: retries with backoff, rate limits and circuit breakers for calls that may fail.

One file, standard library only, Python 3.11 or newer. All times are seconds. Nothing here reads the system's clock but
`Clock`, so tests can replace it by `FakeClock`.
"""

import asyncio
import functools
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["Backoff", "Breaker", "Clock", "FakeClock", "GaveUp", "Open", "RateLimit", "Refused", "Retry"]
__version__ = "1.4.0"


class GaveUp(Exception):
    """A retried call failed for good. The last error is `last`, and the cause of this one."""

    def __init__(self, attempts: int, elapsed: float, last: BaseException):
        super().__init__(f"gave up after {attempts} attempts in {elapsed:.2f} s: {last!r}")
        self.attempts, self.elapsed, self.last = attempts, elapsed, last


class Refused(TimeoutError):
    """A rate limit would have made the caller wait longer than allowed. No token was taken."""

    def __init__(self, wait: float):
        super().__init__(f"would have to wait {wait:.2f} s")
        self.retry_after = wait


class Open(Exception):
    """A breaker did not let the call through."""

    def __init__(self, retry_after: float):
        super().__init__(f"the breaker is open for another {retry_after:.2f} s")
        self.retry_after = retry_after


class Clock:
    """The system's monotonic clock."""

    def now(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class FakeClock(Clock):
    """A clock that stands still: only `sleep` and `advance` move it, and nobody really waits."""

    def __init__(self, start: float = 0.0):
        self.time = start
        self.slept: list[float] = []

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds

    def advance(self, seconds: float) -> None:
        """Moves the clock without noting a sleep."""
        self.time += seconds


@dataclass(frozen=True)
class Backoff:
    """How long to wait between attempts: `first`, then `factor` times as long each time, never above `longest`."""

    attempts: int = 4
    first: float = 0.5
    factor: float = 2.0
    longest: float = 30.0
    jitter: float = 0.0
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError("attempts must be at least 1")
        if self.first < 0 or self.longest < 0 or self.factor < 1:
            raise ValueError("first and longest must not be negative, factor not below 1")
        if not 0 <= self.jitter <= 1:
            raise ValueError("jitter must be between 0 and 1")

    def delays(self) -> Iterator[float]:
        """One delay less than there are attempts. Jitter takes away up to that share of a delay, and adds nothing."""
        dice = random.Random(self.seed)
        delay = self.first
        for _ in range(self.attempts - 1):
            yield min(delay, self.longest) * (1 - self.jitter * dice.random())
            delay *= self.factor

    @classmethod
    def constant(cls, seconds: float, attempts: int = 4) -> "Backoff":
        """The same delay each time."""
        return cls(attempts=attempts, first=seconds, factor=1.0, longest=seconds)


class Retry:
    """Calls a function again when it raises one of the errors in `on`. A decorator, or `retry.call(function, ...)`.

    An error in `never` is not retried even if it is one of `on`. Errors that are not retried pass through as they are.
    An error with an attribute `retry_after` is waited for at least that long, `longest` notwithstanding. With `within`,
    a wait that would end after that many seconds since the first attempt is not begun.
    """

    def __init__(
        self,
        on: tuple[type[BaseException], ...] = (ConnectionError, TimeoutError),
        never: tuple[type[BaseException], ...] = (),
        backoff: Backoff | None = None,
        within: float | None = None,
        before_sleep: Callable[[int, float, BaseException], None] | None = None,
        clock: Clock | None = None,
    ):
        if within is not None and within <= 0:
            raise ValueError("within must be positive")
        self.on, self.never, self.within, self.before_sleep = on, never, within, before_sleep
        self.backoff = backoff or Backoff()
        self.clock = clock or Clock()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if asyncio.iscoroutinefunction(function):
            raise TypeError("steady retries plain functions; a coroutine function would never be seen to fail")

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return self.call(function, *args, **kwargs)

        return wrapper

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """The function's result. Raises GaveUp after the last attempt, or when the time is up."""
        started = self.clock.now()
        delays = self.backoff.delays()
        attempt = 0
        while True:
            attempt += 1
            try:
                return function(*args, **kwargs)
            except self.on as error:
                if isinstance(error, self.never):
                    raise
                delay = self._delay(delays, error, self.clock.now() - started)
                if delay is None:
                    raise GaveUp(attempt, self.clock.now() - started, error) from error
                if self.before_sleep:
                    self.before_sleep(attempt, delay, error)
                self.clock.sleep(delay)

    def _delay(self, delays: Iterator[float], error: BaseException, elapsed: float) -> float | None:
        delay = next(delays, None)
        if delay is None:
            return None
        delay = max(delay, getattr(error, "retry_after", 0.0))
        return None if self.within is not None and elapsed + delay > self.within else delay


class RateLimit:
    """A bucket of `burst` tokens, filled by `rate` tokens each `per` seconds; it starts full. Safe between threads."""

    def __init__(self, rate: float, per: float = 1.0, burst: int = 1, clock: Clock | None = None):
        if rate <= 0 or per <= 0 or burst < 1:
            raise ValueError("rate and per must be positive, burst at least 1")
        self.speed, self.burst = rate / per, burst
        self.clock = clock or Clock()
        self._tokens, self._seen = float(burst), self.clock.now()
        self._lock = threading.Lock()

    @property
    def available(self) -> float:
        """Tokens that could be taken now; below zero while others wait for theirs."""
        with self._lock:
            return self._filled()

    def try_acquire(self, tokens: int = 1) -> bool:
        """Takes the tokens if they are there. Never waits."""
        self._check(tokens)
        with self._lock:
            if self._filled() < tokens:
                return False
            self._tokens -= tokens
            return True

    def acquire(self, tokens: int = 1, timeout: float | None = None) -> float:
        """Takes the tokens, waits until they are earned, and returns the seconds waited. Raises Refused."""
        self._check(tokens)
        with self._lock:
            wait = max(0.0, tokens - self._filled()) / self.speed
            if timeout is not None and wait > timeout:
                raise Refused(wait)
            self._tokens -= tokens
        if wait:
            self.clock.sleep(wait)
        return wait

    def __enter__(self) -> "RateLimit":
        self.acquire()
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def _check(self, tokens: int) -> None:
        if not 1 <= tokens <= self.burst:
            raise ValueError(f"tokens must be between 1 and the burst of {self.burst}")

    def _filled(self) -> float:
        now = self.clock.now()
        self._tokens = min(float(self.burst), self._tokens + (now - self._seen) * self.speed)
        self._seen = now
        return self._tokens


class Breaker:
    """Stops calling what keeps failing: after `failures` in a row it opens and lets nothing through for `rest` seconds.

    Then it is half-open: one call is let through as a trial; if that succeeds the breaker closes, else it opens again.
    A success resets the count. Errors not in `on` pass through and count neither as failure nor as success.
    """

    def __init__(
        self,
        failures: int = 5,
        rest: float = 30.0,
        on: tuple[type[BaseException], ...] = (Exception,),
        clock: Clock | None = None,
    ):
        if failures < 1 or rest <= 0:
            raise ValueError("failures must be at least 1, rest positive")
        self.failures, self.rest, self.on = failures, rest, on
        self.clock = clock or Clock()
        self._count, self._until, self._trying = 0, 0.0, False
        self._lock = threading.Lock()

    @property
    def state(self) -> str:
        """ "closed", "open" or "half-open"."""
        if self._count < self.failures:
            return "closed"
        return "open" if self.clock.now() < self._until else "half-open"

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """The function's result. Raises Open, whose `retry_after` says how long to wait."""
        with self._lock:
            if self.state == "open" or self._trying:
                raise Open(max(0.0, self._until - self.clock.now()))
            trial = self._trying = self.state == "half-open"
        try:
            result = function(*args, **kwargs)
        except self.on:
            self._failed()
            raise
        else:
            self._count = 0
            return result
        finally:
            if trial:
                self._trying = False

    def _failed(self) -> None:
        with self._lock:
            self._count += 1
            if self._count >= self.failures:
                self._until = self.clock.now() + self.rest
'''


def sessions(text: str) -> list[tuple[int, doctest.Example]]:
    """Line of the guide and example, of every block of Python."""
    found = []
    for block in re.finditer(r"^(`{3,}|~{3,}) *python\b[^\n]*\n(.*?)^\1", text, re.MULTILINE | re.DOTALL):
        first = text.count("\n", 0, block.start(2)) + 1
        found += [(first + one.lineno, one) for one in doctest.DocTestParser().get_examples(block[2])]
    return found


def shown_by(examples: list[tuple[int, doctest.Example]]) -> list[list[str | None]]:
    """What each example prints and raises. Raises for a child that does not end in order: that is no verdict."""
    request = {"library": LIBRARY, "sources": [one.source for _, one in examples]}
    child = subprocess.run(
        [sys.executable, "-I", "-S", "-c", CHILD], input=json.dumps(request), capture_output=True, text=True,
        timeout=15, check=True,
    )  # fmt: skip
    return json.loads(child.stdout)


def differs(example: doctest.Example, shown: str, error: str | None) -> str:
    same = doctest.OutputChecker().check_output
    if example.exc_msg is not None:
        right = error is not None and same(example.exc_msg, error, FLAGS)
        return "" if right else f"raises {(error or 'nothing').strip()}, not {example.exc_msg.strip()}"
    if error is not None:
        return f"raises {error.strip()}"
    return "" if same(example.want, shown, FLAGS) else f"shows {shown.strip()!r}, not {example.want.strip()!r}"


def replaced(source: str) -> list[str]:
    """Names of the library, and attributes of it, that a session sets or defines anew."""
    found = []
    try:
        tree = ast.parse(source)
    except SyntaxError:  # the child will say so
        return []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            found.append(node.id if isinstance(node, ast.Name) else ast.unparse(node.value))
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.append(node.name)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("setattr", "delattr"):
            found.append(ast.unparse(node.args[0]) if node.args else "")
    return [name for name in found if name.partition(".")[0] in PUBLIC]


def main() -> None:
    examples = sessions(Path("artifact.md").read_text(encoding="utf-8"))
    problems = [] if len(examples) >= LEAST else [f"{len(examples)} examples in sessions; {LEAST} or more"]
    problems += [f"line {line}: replaces {name}" for line, one in examples for name in replaced(one.source)]
    for (line, example), (shown, error) in zip(examples, shown_by(examples), strict=True):
        if wrong := differs(example, shown, error):
            problems.append(f"line {line}: {example.source.strip().splitlines()[0][:60]} {wrong[:160]}")
    verdict(not problems, "; ".join(problems[:5]))


main()
