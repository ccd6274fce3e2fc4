"""JSON lines to and from a process in the sandbox, each with a deadline; what comes back counts as hostile."""

import json
import os
import select
import time
from types import TracebackType
from typing import Any, Self

from looper.checks.sandbox import Worker
from looper.errors import LooperError

MAX_LINE = 32 * 2**20
"""Longest message that is read, bytes."""
PIECE = 1 << 18


class Lost(LooperError):
    """The process ended or wrote something that is no message."""


class Late(Lost):
    """No answer in time."""


class Wire:
    """One process and its two pipes."""

    def __init__(self, worker: Worker):
        self.worker = worker
        self._reads, self._writes = worker.stdout.fileno(), worker.stdin.fileno()
        self._buffer = bytearray()
        os.set_blocking(self._writes, False)

    def ask(self, message: Any, seconds: float) -> dict[str, Any]:
        """The answer to `message`. Raises Late after `seconds`, Lost when there is none to come."""
        deadline = time.monotonic() + seconds
        self.send(message, seconds)
        return self.receive(deadline - time.monotonic())

    def send(self, message: Any, seconds: float) -> None:
        """Raises Late when it does not read for `seconds`, Lost when it is gone."""
        view = memoryview(json.dumps(message).encode() + b"\n")
        deadline = time.monotonic() + seconds
        while view:
            _wait(self._writes, select.POLLOUT, deadline)
            try:
                view = view[os.write(self._writes, view[:PIECE]) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise Lost("the process in the sandbox ended") from error

    def receive(self, seconds: float) -> dict[str, Any]:
        """The next message."""
        deadline = time.monotonic() + seconds
        searched = 0
        while (place := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            if searched > MAX_LINE:
                raise Lost("the process in the sandbox wrote a message without end")
            _wait(self._reads, select.POLLIN, deadline)
            piece = os.read(self._reads, PIECE)
            if not piece:
                raise Lost("the process in the sandbox ended")
            self._buffer += piece
        line = bytes(self._buffer[:place])
        del self._buffer[: place + 1]
        return parsed(line)

    def close(self) -> None:
        self.worker.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _wait(descriptor: int, event: int, deadline: float) -> None:
    poll = select.poll()
    poll.register(descriptor, event)
    left = deadline - time.monotonic()
    if left <= 0 or not poll.poll(left * 1000):
        raise Late("the process in the sandbox did not answer in time")


def parsed(line: bytes) -> dict[str, Any]:
    """One message; raises nothing but Lost, whatever the bytes are."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Lost("the process in the sandbox wrote something that is no message") from error
    if not isinstance(message, dict):
        raise Lost("the process in the sandbox wrote something that is no message")
    return message
