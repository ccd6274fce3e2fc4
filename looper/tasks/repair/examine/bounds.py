"""The pipes and limits of a worker and of its children, inside the sandbox; standard library only."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any

from .instrument import Meter

MAX_OUTPUT = 8 * 2**20
"""Bytes that one candidate may report."""
GONE_WITHIN = 1.0
"""Seconds in which what a candidate left behind has died and was reaped, else the next one begins beside it."""
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
        now = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
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
    """Kills the child with all that it started; waits for it, and for the others for `GONE_WITHIN` at most."""
    for kill in (os.killpg, os.kill):
        try:
            kill(child, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue
    os.waitpid(child, 0)
    deadline = time.monotonic() + GONE_WITHIN
    with contextlib.suppress(ProcessLookupError, PermissionError):  # none is left, or none that may be ended
        while time.monotonic() < deadline:
            os.killpg(child, signal.SIGKILL)
            time.sleep(0.001)
