"""The time, passed in."""

import time
from typing import Protocol


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> int:
        """Seconds since 1970-01-01 UTC, whole."""


class SystemClock:
    """The clock of the machine."""

    def now(self) -> int:
        return int(time.time())


class StoppedClock:
    """A clock that moves when it is told to; for tests."""

    def __init__(self, at: int = 1_700_000_000):
        self._at = at

    def now(self) -> int:
        return self._at

    def advance(self, seconds: int) -> None:
        self._at += seconds
