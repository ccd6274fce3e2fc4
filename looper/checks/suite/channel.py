"""Both ends of a box of tests as looper sees them: the job goes in, messages come out until the box or its time ends.

Whatever carries no nonce is passed over; a message that is none, or has another form, too.
"""

import json
import os
import select
import time
from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict, ValidationError

from looper.checks.sandbox import Worker
from looper.checks.suite.reports import Broken, TestResult
from looper.checks.suite.text import Places

PIECE = 1 << 18
MOST_LINE = 32 * 2**20
"""Bytes of one message; the longest honest one is a JUnit report of 20 MiB in base 64."""
FLOOD = 512 * 2**20
"""Bytes on the channel after which the box is ended."""


class Done(BaseModel):
    """The session of pytest came to its end."""

    code: int
    coverage: dict[str, tuple[float, list[int]]] | None = None


class Said(BaseModel):
    """One message; which fields it has says what it is."""

    model_config = ConfigDict(extra="forbid")

    n: str
    ready: Places | None = None
    loading: str | None = None
    broken: Broken | None = None
    missing: list[str] = []
    collected: list[str] | None = None
    begun: str | None = None
    result: TestResult | None = None
    stopped: str = ""
    done: Done | None = None
    junit: str = ""
    """A JUnit report in base 64."""
    tail: str = ""
    """The last of what was printed."""
    ended: int | None = None
    """Exit code of the tests' process, or the negative number of a signal."""


def feed(worker: Worker, data: bytes, deadline: float) -> bool:
    """Whether all of it was taken in time; the input is closed then."""
    file = worker.stdin.fileno()
    os.set_blocking(file, False)
    view = memoryview(data)
    while view:
        if not _ready(file, select.POLLOUT, deadline):
            return False
        try:
            view = view[os.write(file, view[:PIECE]) :]
        except BlockingIOError:
            continue
        except BrokenPipeError:
            return False
    worker.stdin.close()
    return True


class Channel:
    """What comes out of a box."""

    def __init__(self, worker: Worker, nonce: str):
        self.worker, self.nonce = worker, nonce
        self._lines: list[bytes] = []
        self._rest = b""
        self._seen = 0
        self.late = False
        """Whether the time was over before the box ended."""

    def messages(self, deadline: float) -> Iterator[Said]:
        """Messages until the channel is closed or the time is over; may be asked again with another deadline."""
        while True:
            while self._lines:
                said = self._read(self._lines.pop())
                if said is not None:
                    yield said
            if not _ready(self.worker.stdout.fileno(), select.POLLIN, deadline):
                self.late = True
                return
            piece = os.read(self.worker.stdout.fileno(), PIECE)
            if not piece:
                return
            self._take(piece)

    def _take(self, piece: bytes) -> None:
        self._seen += len(piece)
        if self._seen > FLOOD:
            self.worker.kill("output")
        *lines, rest = piece.split(b"\n")
        if lines:
            lines[0] = self._rest + lines[0]
            self._lines, self._rest = lines[::-1], rest
        else:
            self._rest = self._rest + rest if len(self._rest) < MOST_LINE else rest

    def _read(self, line: bytes) -> Said | None:
        if self.nonce.encode() not in line:
            return None
        try:
            said = Said.model_validate(json.loads(line))
        except (ValueError, RecursionError, ValidationError):
            return None
        return said if said.n == self.nonce else None


def _ready(file: int, event: int, deadline: float) -> bool:
    poll = select.poll()
    poll.register(file, event)
    left = deadline - time.monotonic()
    return left > 0 and bool(poll.poll(left * 1000))
