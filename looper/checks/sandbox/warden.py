"""One thread that starts every box and watches all of them: memory, disks and time, from outside.

Boxes die with the thread that started them (PR_SET_PDEATHSIG counts per thread), so this one lives as long as looper.
"""

import atexit
import os
import queue
import subprocess
import threading
import time
from concurrent.futures import Future

from looper.checks.sandbox.process import Worker
from looper.checks.sandbox.types import Limits, Plan

LOOKS = 0.002, 0.05
"""Seconds between two looks, least and most; between them as long as the memory left lasts at full speed."""
FILL_RATE = 2 * 2**30 * (os.cpu_count() or 1)
"""Bytes a second that all cores together can take: 2 GiB each, measured by filling fresh pages."""

_Order = tuple[Plan, Limits, float | None, "Future[Worker]"]


class Warden:
    """Starts boxes on request and looks at each until it has ended."""

    def __init__(self) -> None:
        self._orders: queue.SimpleQueue[_Order] = queue.SimpleQueue()
        self._boxes: list[Worker] = []
        self._thread = threading.Thread(target=self._live, name="looper-warden", daemon=True)
        self._thread.start()

    def start(self, plan: Plan, limits: Limits, seconds: float | None) -> Worker:
        """A started box, watched from now on. Raises OSError when it cannot be started."""
        started: Future[Worker] = Future()
        self._orders.put((plan, limits, seconds, started))
        return started.result()

    def end_all(self) -> None:
        """Kills what is left when looper ends."""
        for box in list(self._boxes):
            box.kill()

    def _live(self) -> None:
        pause: float | None = None
        due = 0.0
        while True:
            try:
                order = self._orders.get(timeout=None if pause is None else max(0.0, due - time.monotonic()))
            except queue.Empty:
                order = None
            if order is not None:
                self._begin(*order)
                due = 0.0
            if pause is None or time.monotonic() >= due:
                self._boxes = [box for box in self._boxes if box.alive]
                left = min((box.look() for box in self._boxes), default=None)
                pause = None if left is None else min(LOOKS[1], max(LOOKS[0], left / FILL_RATE))
                due = time.monotonic() + (pause or 0.0)

    def _begin(self, plan: Plan, limits: Limits, seconds: float | None, started: "Future[Worker]") -> None:
        try:
            pipe = subprocess.PIPE
            popen = subprocess.Popen(
                plan.argv, stdin=pipe, stdout=pipe, stderr=pipe, env=plan.env, cwd=plan.cwd, pass_fds=plan.fds,
                start_new_session=True, bufsize=0,
            )  # fmt: skip
        except OSError as error:
            started.set_exception(error)
        else:
            box = Worker(popen, plan, limits, seconds)
            self._boxes.append(box)
            started.set_result(box)
        finally:
            for file in plan.fds:
                os.close(file)


_lock = threading.Lock()
_wardens: dict[int, Warden] = {}


def warden() -> Warden:
    """The warden of this process; a forked child gets its own."""
    with _lock:
        if os.getpid() not in _wardens:
            _wardens[os.getpid()] = Warden()
            atexit.register(_wardens[os.getpid()].end_all)
        return _wardens[os.getpid()]
