"""How a person ends a run: a stop file from another terminal, Ctrl-C once (orderly) and twice (at once)."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from looper.errors import Aborted, Paused, StopRequested


class Relay:
    """Hands on to runs in other threads what signals tell the main thread alone."""

    def __init__(self) -> None:
        self.presses = 0
        self._controls: list[Control] = []
        self._lock = threading.RLock()  # a handler may interrupt the main thread while it holds the lock

    def press(self) -> None:
        """A person wants all runs to end: once before their next step, twice at once."""
        with self._lock:
            self.presses += 1
            for control in self._controls:
                control.presses = max(control.presses, self.presses)

    def reset(self) -> None:
        """Nobody has pressed."""
        with self._lock:
            self.presses = 0

    @contextmanager
    def reaching(self, control: "Control") -> Iterator[None]:
        """While it lasts this control hears of presses, those before included."""
        with self._lock:
            self._controls.append(control)
            control.presses = max(control.presses, self.presses)
        try:
            yield
        finally:
            with self._lock:
                self._controls.remove(control)


RELAY = Relay()


class Control:
    """Asked before every live step."""

    def __init__(self, stop_file: Path | None = None):
        self.stop_file = stop_file
        self.presses = 0

    def check(self) -> None:
        """Raises StopRequested, Paused or Aborted if the run should end before its next step."""
        if self.presses > 1:
            raise Aborted("Ctrl-C twice: ended at once.")
        if self.presses:
            raise Paused("Ctrl-C: ended before the next step; `looper resume` goes on from here.", "interrupted")
        if self.stop_file is not None and self.stop_file.exists():
            words = self.stop_file.read_text(errors="replace").strip()
            raise StopRequested(f"stopped on request{': ' + words if words else ''}.", note=words)

    def press(self, _number: int = 0, _frame: FrameType | None = None) -> None:
        """Once: end before the next step. Twice: interrupt what is under way."""
        self.presses += 1
        if self.presses > 1:
            raise KeyboardInterrupt

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take Ctrl-C and SIGTERM while a run is under way; in another thread than the main one by RELAY."""
        if threading.current_thread() is not threading.main_thread():
            with RELAY.reaching(self):
                yield
            return
        before: dict[int, Callable[..., object] | int | None] = {}
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, self.press)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
