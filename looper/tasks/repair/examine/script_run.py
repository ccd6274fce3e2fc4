"""Runs a rewritten test script on one candidate, inside the sandbox; standard library only."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .instrument import Meter, TimeExceeded
from .script_checks import Checks, describe
from .script_tests import BEGIN, FAILED, HELD, MODULE, Plan, Unit, plan, test_ids

Emit = Callable[..., None]
"""`emit(id, passed, distance, error, lines, steps)`."""


class Tally:
    """What became of each test of one call of one unit."""

    def __init__(self, unit: Unit, meter: Meter):
        self.unit, self.meter = unit, meter
        self.reached: dict[int, set[int]] = {}
        self.steps: dict[int, int] = {}
        self.failed: dict[int, tuple[float, str]] = {}
        self.setup: set[int] = set()

    def names(self) -> dict[str, Any]:
        return {BEGIN: self.begin, HELD: self.held, FAILED: self.fail}

    def begin(self, number: int) -> None:
        self.setup |= self.meter.lines
        self.meter.lines.clear()
        self.reached.setdefault(number, set())
        self.steps[number] = max(self.steps.get(number, 0), self.meter.used)
        self.meter.restart()

    def held(self, number: int) -> None:
        self.note(number)
        self.meter.check()

    def note(self, number: int) -> None:
        self.reached[number] |= self.setup | self.meter.lines
        self.steps[number] = max(self.steps.get(number, 0), self.meter.used)
        self.meter.lines.clear()

    def fail(self, number: int, error: BaseException) -> None:
        self.note(number)
        far = getattr(error, "far", 1.0) if isinstance(error, AssertionError) else 1.0
        worst = self.failed.get(number, (0.0, ""))
        if far > worst[0]:
            self.failed[number] = (far, describe(error))
        if isinstance(error, TimeExceeded):
            raise error
        self.meter.restart()

    def broken(self, line: int, error: BaseException) -> None:
        """A statement outside the tests raised: it fails the tests from there on, and those of the same statement."""
        start = next((first for first, last in self.unit.tops if first <= line <= last), line)
        after = [n for n, where in enumerate(self.unit.lines) if where >= start]
        for number in after or [len(self.unit.lines) - 1]:
            self.reached.setdefault(number, set()).update(self.setup | self.meter.lines)
            self.failed.setdefault(number, (1.0, describe(error)))

    def report(self, shown: str, ids: list[str], emit: Emit) -> None:
        for number, name in enumerate(ids):
            lines = sorted(self.reached.get(number, set()))
            far, error = self.failed.get(number, (0.0, ""))
            if number not in self.reached:
                far, error = 1.0, "never reached"
            emit(name, not far, far, error, lines, self.steps.get(number, 0))


def line_in_tests(error: BaseException) -> int:
    """Where in the script it was raised; the outermost frame of the script counts."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<tests>":
            return trace.tb_lineno
        trace = trace.tb_next
    return 0


class ScriptRun:
    """One candidate against one script."""

    def __init__(self, prepared: Plan, entry: str | None, program: ModuleType, meter: Meter, emit: Emit):
        self.plan, self.entry, self.program, self.meter, self.emit = prepared, entry, program, meter, emit
        self.space: dict[str, Any] = {k: v for k, v in vars(program).items() if not k.startswith("__")}
        self.space.update(Checks().names(), __name__="looper_tests", __builtins__=__builtins__)
        self.base = set(meter.lines)

    def run(self) -> None:
        top = self.plan.units.get(MODULE, Unit(MODULE))
        error = self.unit(top, top.name, lambda: exec(self.plan.code, self.space)) if top.lines else self.define()
        for unit in self.plan.units.values():
            if unit.name != MODULE:
                self.calls(unit, error)

    def define(self) -> BaseException | None:
        try:
            exec(self.plan.code, self.space)
        except BaseException as error:  # whatever the program raises while the script is loaded fails the tests
            return error
        return None

    def calls(self, unit: Unit, error: BaseException | None) -> None:
        try:
            found = [] if error is not None else list(self.found(unit))
        except BaseException as broken:  # as above: also a missing name or a wrong parameter list
            found, error = [], broken
        for shown, run in found:
            self.unit(unit, shown, run)
        if error is not None:
            for name in test_ids(unit, unit.name):
                self.emit(name, False, 1.0, describe(error), [], 0)

    def found(self, unit: Unit) -> Any:
        owner, _, name = unit.name.rpartition(".")
        holder = self.space[owner] if owner else None
        function = getattr(holder, name) if holder else self.space[name]
        marks = [*getattr(holder, "pytestmark", []), *getattr(function, "pytestmark", [])]
        if any(skipping(mark) for mark in marks):
            return
        if self.entry:
            candidate = vars(self.program)[self.entry]
            yield unit.name, lambda: function(candidate)
            return
        for number, values in enumerate(parameters(marks)):
            shown = unit.name if values is None else f"{unit.name}[{number}]"
            yield shown, caller(holder, name, function, values or {})

    def unit(self, unit: Unit, shown: str, run: Callable[[], Any]) -> BaseException | None:
        tally = Tally(unit, self.meter)
        self.space.update(tally.names())
        self.meter.lines.clear()
        self.meter.lines.update(self.base)
        error = None
        try:
            self.meter.restart()
            run()
        except BaseException as caught:  # the candidate may raise anything; it must fail tests, never end the run
            error = caught
        if unit.lines:
            if error is not None:
                tally.broken(line_in_tests(error), error)
            tally.report(shown, test_ids(unit, shown), self.emit)
        else:
            passed = error is None
            said = "" if error is None else describe(error)
            far = 0.0 if passed else getattr(error, "far", 1.0)
            self.emit(shown, passed, far, said, sorted(self.meter.lines), self.meter.used)
        return error


class ScriptTests:
    """A script, compiled once for many candidates."""

    def __init__(self, text: str, entry: str | None):
        self.entry = entry
        self.plan = plan(text, entry)

    def ids(self) -> list[str]:
        return self.plan.ids()

    def host(self, serve: Callable[[], None]) -> None:
        serve()

    def run(self, program: Any, _request: dict[str, Any], meter: Meter, emit: Emit) -> None:
        module = program.load()

        def told(name: str, passed: bool, far: float, error: str, lines: list[int], steps: int) -> None:
            emit(id=name, p=passed, d=far, e=error, l=lines, s=steps)

        ScriptRun(self.plan, self.entry, module, meter, told).run()


def caller(holder: Any, name: str, function: Any, values: dict[str, Any]) -> Callable[[], Any]:
    """A call of a test function, or of a method on a fresh object with its set-up and tear-down."""
    if holder is None:
        return lambda: function(**values)

    def method() -> None:
        case = isinstance(holder, type) and "unittest" in sys.modules and hasattr(holder, "assertEqual")
        item = holder(name) if case else holder()
        for step in ("setUp", "setup_method"):
            prepare(item, step, function)
        try:
            getattr(item, name)(**values)
        finally:
            for step in ("tearDown", "teardown_method"):
                prepare(item, step, function)

    return method


def prepare(item: Any, step: str, function: Any) -> None:
    made = getattr(item, step, None)
    if made is not None:
        wants = step.endswith("_method") and made.__code__.co_argcount > 1
        made(function) if wants else made()


def skipping(mark: Any) -> bool:
    return mark.name == "skip" or (mark.name == "skipif" and bool(mark.args) and mark.args[0] is True)


def parameters(marks: list[Any]) -> list[dict[str, Any] | None]:
    """The calls that `pytest.mark.parametrize` asks for; `[None]` without one."""
    axes = [axis(mark) for mark in marks if mark.name == "parametrize"]
    if not axes:
        return [None]
    return [{k: v for part in parts for k, v in part.items()} for parts in itertools.product(*axes)]


def axis(mark: Any) -> list[dict[str, Any]]:
    names = mark.args[0] if mark.args else mark.kwargs["argnames"]
    rows = mark.args[1] if len(mark.args) > 1 else mark.kwargs["argvalues"]
    keys = [key.strip() for key in names.split(",")] if isinstance(names, str) else list(names)
    made = []
    for row in rows:
        values = row.values if type(row).__name__ == "ParameterSet" else ((row,) if len(keys) == 1 else row)
        made.append(dict(zip(keys, values, strict=True)))
    return made
