"""What runs inside the sandbox: a process that is warmed up once and forks a child per candidate.

Standard library only, and nothing of looper but the small modules beside it. Requests come as JSON lines on standard
input; an answer is a line `{"done": how it ended, "seconds": s, "said": the lines that the child wrote}`.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .bounds import Lines, alarm, bounded, calm, drain, end, take_over
from .calls import CallServer, CasesRun, ValuesRun
from .instrument import Meter
from .loading import SupportModules, fill_program, placed, preload
from .script_checks import describe

GRACE = 0.25
"""Seconds between the alarm inside the child and its end from outside."""


def search(spec: dict[str, Any]) -> None:
    """Where imports are looked for; `path_first` is relative to the work folder."""
    sys.path[:0] = [str(Path(path).resolve()) for path in spec["path_first"]]
    sys.path.extend(path for path in spec["path_last"] if path not in sys.path)
    sys.meta_path.insert(0, SupportModules(spec["support"]))


class Zygote:
    """The long-lived process; a request is one candidate."""

    def __init__(self, spec: dict[str, Any], lines: Lines):
        self.spec, self.lines = spec, lines
        self.runner: Any = None

    def prepare(self) -> None:
        """Everything that a child should find done: search path, imports, the tests compiled."""
        search(self.spec)
        preload(self.spec["preload"])
        self.runner = RUNNERS[self.spec["kind"]](self.spec)
        gc.collect()
        gc.freeze()

    def serve(self) -> None:
        try:
            self.prepare()
        except BaseException as error:  # the user's own imports and test script may raise anything: tell and end
            self.lines.send({"error": describe(error)})
            return
        self.lines.send({"ready": True, "ids": self.runner.ids()})
        self.runner.host(self.candidates)

    def candidates(self) -> None:
        while True:
            request = self.lines.receive()
            if request is None:
                return
            self.candidate(request)

    def candidate(self, request: dict[str, Any]) -> None:
        started = time.monotonic()
        reads, writes = os.pipe()
        child = os.fork()
        if not child:
            os.close(reads)
            self.child(request, writes)
        os.close(writes)
        data, ended = drain(reads, started + self.spec["seconds"] + GRACE)
        os.close(reads)
        end(child)
        said = data.decode("ascii", "replace")  # as one text, so that a child cannot speak for this process
        self.lines.send({"done": ended, "seconds": time.monotonic() - started, "said": said})

    def child(self, request: dict[str, Any], writes: int) -> None:
        """Never returns: nothing that the candidate registered for the end of the process runs."""
        try:
            os.setpgid(0, 0)
            relay = self.lines if "proxy" in request else None
            if relay is None:
                os.close(self.lines.reads)
                os.close(self.lines.writes)
            bounded(self.spec["memory_mb"], self.spec["seconds"])
            Child(self, request, Lines(-1, writes), relay).run()
        finally:
            os._exit(0)


class Child:
    """One candidate and all its tests."""

    def __init__(self, zygote: Zygote, request: dict[str, Any], out: Lines, relay: Lines | None):
        self.zygote, self.request, self.out, self.relay = zygote, request, out, relay
        self.meter = Meter(request["steps"])
        self.mark = request.pop("nonce", None)

    def run(self) -> None:
        alarm(self.meter, self.zygote.spec["seconds"])
        runner = ValuesRun(self.request["values"]) if "values" in self.request else self.zygote.runner
        try:
            runner.run(self, self.request, self.meter, self.emit)
        except BaseException as error:  # whatever a candidate raises is an answer about that candidate
            calm()
            self.emit(error=describe(error))
        calm()
        self.emit(end=True)

    def load(self) -> Any:
        """The program as a module under its own name."""
        module = placed(self.zygote.spec["module"])
        self.fill(module)
        return module

    def fill(self, module: Any) -> None:
        """Puts the candidate itself into `module`, or stand-ins that ask another process."""
        if self.relay is not None:
            from .proxies import stand_ins

            module.__dict__.update(stand_ins(module.__name__, self.request["proxy"], self.relay, self.meter.lines))
        else:
            fill_program(self.request["source"], module, self.meter, bool(self.request.get("trace")))

    def emit(self, **message: Any) -> None:
        if self.mark is not None:
            message["nonce"] = self.mark
        self.out.send(message)


class Server:
    """A candidate in a process of its own that answers calls with plain values; it never sees a test."""

    def __init__(self, spec: dict[str, Any], lines: Lines):
        self.spec, self.lines = spec, lines

    def serve(self) -> None:
        search(self.spec)
        request = self.lines.receive()
        bounded(self.spec["memory_mb"], self.spec["seconds"] + 1)
        meter = Meter(request["steps"])
        server = CallServer(self.lines, meter, self.spec["module"])
        alarm(meter, self.spec["seconds"])
        server.load(lambda module: fill_program(request["source"], module, meter, bool(request["trace"])))
        while server.answer():
            pass


def script_runner(spec: dict[str, Any]) -> Any:
    from .script_run import ScriptTests

    return ScriptTests(spec["text"], spec["entry"])


def pytest_runner(spec: dict[str, Any]) -> Any:
    from .pytest_run import PytestTests

    return PytestTests(spec)


RUNNERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "cases": CasesRun,
    "script": script_runner,
    "pytest": pytest_runner,
}


def main(spec: dict[str, Any]) -> None:
    """Entry of the process; `spec` says what to prepare."""
    lines = take_over()
    (Server if spec["role"] == "server" else Zygote)(spec, lines).serve()
