"""Ctrl-C and SIGTERM over many runs, each of which takes them while it is under way."""

import contextlib
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from looper.control import RELAY, Control


class Everybody(Control):
    """Presses for the runs in other threads too."""

    def press(self, _number: int = 0, _frame: FrameType | None = None) -> None:
        RELAY.press()
        super().press()


@contextmanager
def pressing() -> Iterator[Callable[[], bool]]:
    """Tells whether Ctrl-C or SIGTERM has come since, also when a run took it and ended in order all the same.

    Twice is a KeyboardInterrupt where no run of the main thread is under way.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.setblocking(False)
    control, seen = Everybody(), bytearray()

    def pressed() -> bool:
        with contextlib.suppress(BlockingIOError):
            seen.extend(ours.recv(4096))
        return signal.SIGINT in seen or signal.SIGTERM in seen

    RELAY.reset()
    with ours, theirs, control.listening():
        before = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
        try:
            yield pressed
        finally:
            signal.set_wakeup_fd(before)
            RELAY.reset()
