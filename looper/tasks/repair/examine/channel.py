"""Messages between looper and a worker in the sandbox; every byte from there counts as hostile (SAFETY P12)."""

import json
import os
import select
import time
from importlib import resources
from typing import Any

from looper.checks.sandbox import Worker
from looper.errors import LooperError

MAX_LINE = 16 * 2**20
"""Longest message that is read, bytes; a child may report half of it."""
STARTING = 60.0
"""Seconds until a new worker must be ready: a cold start of the user's own imports on a busy machine."""
SOURCES = (
    "bounds",
    "calls",
    "codec",
    "distance",
    "instrument",
    "loading",
    "proxies",
    "pytest_run",
    "script_checks",
    "script_run",
    "script_tests",
    "worker",
)
"""Modules that a worker is made of."""

BOOT = """
import json, os, sys
from importlib.machinery import ModuleSpec
def take(size):
    data = b""
    while len(data) < size:
        part = os.read(0, size - len(data))
        if not part:
            sys.exit()
        data += part
    return data
boot = json.loads(take(int(take(10))))
class Box:
    def find_spec(self, name, path=None, target=None):
        first, _, last = name.partition(".")
        if first == "looper_box" and (not last or last in boot["sources"]):
            return ModuleSpec(name, self, is_package=not last)
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        source = boot["sources"].get(module.__name__.partition(".")[2], "")
        exec(compile(source, module.__name__, "exec", dont_inherit=True), module.__dict__)
sys.meta_path.insert(0, Box())
from looper_box.worker import main
main(boot["spec"])
"""
"""First code of a worker: modules come over standard input, so that nothing of looper has to be visible in there."""


class WorkerLost(LooperError):
    """The worker ended, fell silent or wrote something that is no message."""


class Late(WorkerLost):
    """No answer in time."""


def bootstrap(spec: dict[str, Any]) -> bytes:
    """What a new worker reads first: the code it runs and what it is for."""
    folder = resources.files(__package__ or "")
    sources = {name: folder.joinpath(f"{name}.py").read_text(encoding="utf-8") for name in SOURCES}
    data = json.dumps({"sources": sources, "spec": spec}).encode()
    return b"%010d" % len(data) + data


class Channel:
    """JSON lines to and from one worker, each with a deadline."""

    def __init__(self, process: Worker, spec: dict[str, Any]):
        self.process = process
        self.reads, self.writes = process.stdout.fileno(), process.stdin.fileno()
        self.buffer = bytearray()
        self.closed = False
        os.set_blocking(self.writes, False)
        try:
            self._write(bootstrap(spec), time.monotonic() + STARTING)
        except WorkerLost:
            self.close()
            raise

    def send(self, message: Any, seconds: float) -> None:
        """Raises WorkerLost when it is gone or does not read for `seconds`."""
        self._write(json.dumps(message).encode() + b"\n", time.monotonic() + seconds)

    def _write(self, data: bytes, deadline: float) -> None:
        view = memoryview(data)
        while view:
            wait(self.writes, select.POLLOUT, deadline)
            try:
                view = view[os.write(self.writes, view) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise WorkerLost("the worker in the sandbox ended") from error

    def receive(self, seconds: float) -> dict[str, Any]:
        """The next message; raises Late after `seconds`, WorkerLost when there is none to come."""
        deadline = time.monotonic() + seconds
        while True:
            place = self.buffer.find(b"\n")
            if place >= 0:
                line = bytes(self.buffer[:place])
                del self.buffer[: place + 1]
                return parsed(line)
            if len(self.buffer) > MAX_LINE:
                raise WorkerLost("the worker in the sandbox wrote a message without end")
            wait(self.reads, select.POLLIN, deadline)
            part = os.read(self.reads, 1 << 18)
            if not part:
                raise WorkerLost("the worker in the sandbox ended")
            self.buffer += part

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        self.process.close()


def wait(descriptor: int, event: int, deadline: float) -> None:
    poll = select.poll()
    poll.register(descriptor, event)
    left = deadline - time.monotonic()
    if left <= 0 or not poll.poll(left * 1000):
        raise Late("the worker in the sandbox did not answer in time")


def parsed(line: bytes) -> dict[str, Any]:
    """One message; never raises anything but WorkerLost, whatever the bytes are."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise WorkerLost("the worker in the sandbox wrote something that is no message") from error
    if not isinstance(message, dict):
        raise WorkerLost("the worker in the sandbox wrote something that is no message")
    return message
