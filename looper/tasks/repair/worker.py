"""What runs inside the sandbox: a process that is warmed up once and forks a child per candidate.

Standard library only, and nothing of looper but the small modules beside it. Requests come as JSON lines on standard
input; answers leave as JSON lines: those of the child as it wrote them, then `{"done": how it ended, "seconds": s}`.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import select
import signal
import sys
import time
from typing import Any, Callable

from .calls import CallServer, CasesRun, ValuesRun
from .instrument import Meter
from .loading import SupportModules, fill_program, placed, preload
from .script_run import describe

MAX_OUTPUT = 8 * 2**20
"""Bytes that one candidate may report."""
GRACE = 0.25
"""Seconds between the alarm inside the child and its end from outside."""
SPARE_FRAMES = 60
"""Frames of this machinery below the program's own recursion."""


class Lines:
    """JSON lines over two file descriptors, without read-ahead shared by parent and child."""

    def __init__(self, reads: int, writes: int):
        self.reads, self.writes = reads, writes
        self.buffer = b""

    def receive(self) -> Any:
        """The next message; None at the end of input."""
        while b"\n" not in self.buffer:
            part = os.read(self.reads, 1 << 20)
            if not part:
                return None
            self.buffer += part
        line, _, self.buffer = self.buffer.partition(b"\n")
        return json.loads(line)

    def send(self, message: Any) -> None:
        self.raw(json.dumps(message).encode() + b"\n")

    def raw(self, data: bytes) -> None:
        while data:
            data = data[os.write(self.writes, data) :]


def take_over() -> Lines:
    """Moves the protocol off the standard streams and points those nowhere."""
    lines = Lines(os.dup(0), os.dup(1))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)
    return lines


def bounded(memory_mb: int, seconds: float) -> None:
    """Limits of this process: memory on top of what it has now, CPU time a little above the wall clock."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
    except OSError:  # no procfs: the system has no way to say
        now = 0
    lower(resource.RLIMIT_AS, now + memory_mb * 2**20)
    lower(resource.RLIMIT_CPU, int(seconds) + 2)
    lower(resource.RLIMIT_CORE, 0)
    sys.setrecursionlimit(1000 + SPARE_FRAMES)


def lower(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))


def alarm(meter: Meter, seconds: float) -> None:
    """Raises in the program when its time is up, and again for as long as that is swallowed."""
    signal.signal(signal.SIGALRM, meter.expire)
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.05)


def calm() -> None:
    signal.setitimer(signal.ITIMER_REAL, 0)


def search(spec: dict[str, Any]) -> None:
    """Where imports are looked for; `path_first` is relative to the work folder."""
    sys.path[:0] = [os.path.abspath(path) for path in spec["path_first"]]
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
        self.lines.raw(data)
        self.lines.send({"done": ended, "seconds": time.monotonic() - started})

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


def drain(reads: int, deadline: float) -> tuple[bytes, str]:
    """What the child said until its last line, its end, the deadline or the limit of output."""
    parts: list[bytes] = []
    size = 0
    poll = select.poll()
    poll.register(reads, select.POLLIN | select.POLLHUP)
    while size <= MAX_OUTPUT:
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            return whole_lines(parts), "timeout"
        part = os.read(reads, 1 << 18)
        if not part:
            return whole_lines(parts), "exited"
        parts.append(part)
        size += len(part)
        if part.endswith(b'"end": true}\n'):
            return whole_lines(parts), "finished"
    return b"", "output"


def whole_lines(parts: list[bytes]) -> bytes:
    data = b"".join(parts)
    return data[: data.rfind(b"\n") + 1]


def end(child: int) -> None:
    """Kills the child with all that it started, and waits for it."""
    for kill in (os.killpg, os.kill):
        try:
            kill(child, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue
    os.waitpid(child, 0)


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
