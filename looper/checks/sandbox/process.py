"""A box from outside: the tree of its processes, what they use, and the end of all of them."""

import contextlib
import os
import platform
import re
import shutil
import signal
import subprocess
import threading
import time
from collections import deque
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from looper.checks.sandbox.folder import measure
from looper.checks.sandbox.types import Ended, Limits, Plan

PAGE = os.sysconf("SC_PAGE_SIZE")
SLACK = {"measure": 0.2, "grace": 1.0, "step": 0.002}
"""Seconds: between two looks at a disk, for a killed tree to vanish, between two looks at a dying tree."""
TAIL = 8192
"""Bytes of the error stream of a worker that are kept."""


GONE = (FileNotFoundError, ProcessLookupError, PermissionError)
"""What /proc says of a process that ended, or that is hidden from this user."""


@lru_cache(maxsize=1)
def _children_listed() -> bool:
    return Path(f"/proc/self/task/{threading.get_native_id()}/children").exists()


def descendants(root: int) -> list[int]:
    """Process ids below and with `root`, parents first; empty when it is gone."""
    parents = None if _children_listed() else _parents()
    found, pending = [], [root]
    while pending:
        pid = pending.pop()
        if Path(f"/proc/{pid}").exists():
            found.append(pid)
            pending += _children(pid) if parents is None else [child for child, up in parents.items() if up == pid]
    return found


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(*GONE):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(*GONE):
                found += map(int, (task / "children").read_text().split())
    return found


def _parents() -> dict[int, int]:
    """Parent of every process, for kernels without lists of children."""
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(*GONE):
            found[int(place.name)] = int((place / "stat").read_text().rpartition(")")[2].split()[1])
    return found


def resident(pids: list[int]) -> int:
    """Bytes of memory the processes hold; pages they share count for each."""
    pages = 0
    for pid in pids:
        with contextlib.suppress(*GONE, IndexError):
            pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * PAGE


def counted_per_namespace() -> bool:
    """Whether process limits count inside a user namespace alone, as since Linux 5.14."""
    release = [int(number) for number in re.findall(r"\d+", platform.release())[:2]]
    return platform.system() == "Linux" and release >= [5, 14]


def own_tasks() -> int:
    """Tasks of this user, which count against a process limit outside a namespace."""
    uid = os.getuid()
    count = 0
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(*GONE, NotADirectoryError):
            if place.stat().st_uid == uid:
                count += len(list((place / "task").iterdir()))
    return count


class Worker:
    """A program in its box. `stdin` and `stdout` are pipes of bytes; framing and time per request are the caller's.

    Made by `Sandbox.start`; a context manager that ends the whole tree on exit.
    """

    def __init__(self, popen: "subprocess.Popen[bytes]", plan: Plan, limits: Limits, seconds: float | None):
        if popen.stdin is None or popen.stdout is None or popen.stderr is None:
            raise ValueError("a worker needs three pipes")
        self.stdin: IO[bytes] = popen.stdin
        self.stdout: IO[bytes] = popen.stdout
        self.stderr: IO[bytes] = popen.stderr
        self.pid = popen.pid
        self.started = time.monotonic()
        self._popen, self._plan, self._limits = popen, plan, limits
        self._deadline = None if seconds is None else self.started + seconds
        self._reason: Ended | None = None
        self._peak = self._measured = 0.0
        self._tail: deque[bytes] = deque(maxlen=TAIL // 512)
        self._reader: threading.Thread | None = None
        self._killing = threading.Lock()

    @property
    def alive(self) -> bool:
        return self._popen.poll() is None

    @property
    def exit_code(self) -> int | None:
        """Exit code, or the negative signal number; None while alive or if the sandbox ended it."""
        code = self._popen.poll()
        if code is None or self._reason is not None:
            return None
        return 128 - code if code > 128 and code - 128 in set(signal.Signals) else code

    @property
    def ended(self) -> Ended | None:
        """How it ended; None while it is alive."""
        if self.alive:
            return None
        if self._reason is not None:
            return self._reason
        code = self.exit_code or 0
        by_signal: dict[int, Ended] = {-signal.SIGXCPU: "timeout", -signal.SIGXFSZ: "disk"}
        return by_signal.get(code, "signalled" if code < 0 else "exited")

    @property
    def peak_mb(self) -> float:
        """The most memory of the whole tree that was seen, MiB."""
        return self._peak / 2**20

    def keep_tail(self) -> None:
        """Reads the error stream from now on, so that a talkative program is not held up."""
        self._reader = threading.Thread(target=self._read_errors, name=f"looper-stderr-{self.pid}", daemon=True)
        self._reader.start()

    def _read_errors(self) -> None:
        with contextlib.suppress(OSError, ValueError):  # closed under the reader
            while piece := os.read(self.stderr.fileno(), 512):
                self._tail.append(piece)

    def stderr_tail(self) -> str:
        """The last of the error stream; after the end, all that was still in the pipe."""
        if not self.alive and self._reader is not None:
            self._reader.join(SLACK["grace"])
        return b"".join(self._tail)[-TAIL:].decode("utf-8", "replace")

    def wait(self) -> Ended:
        """Waits for its end, which the warden brings about when a limit is passed."""
        self._popen.wait()
        return self.ended or "exited"

    def kill(self, reason: Ended = "signalled") -> None:
        """Ends every process of the box and waits until they are gone; `reason` is what `ended` says."""
        with self._killing:
            if self.alive:
                self._reason = self._reason or reason
                end_tree(self.pid, self._plan.namespaced)
            self._popen.wait()

    def close(self) -> None:
        """Ends it and gives back pipes, descriptors and private folders; may be called twice."""
        self.kill()
        if self._reader is not None:
            self._reader.join(SLACK["grace"])
        for pipe in (self.stdin, self.stdout, self.stderr):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        for folder in self._plan.scratch:
            shutil.rmtree(folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def look(self) -> int:
        """Kills the box if it is over a limit; the bytes of memory it may still take, for the time of the next look."""
        now = time.monotonic()
        pids = descendants(self.pid)
        used, entries = _memory_disks(pids, self._plan.memory_disks, self._limits.workspace_mb * 2**20)
        used += resident(pids)
        self._peak = max(self._peak, used)
        left = self._limits.memory_mb * 2**20 - used
        if self._deadline is not None and now > self._deadline:
            self.kill("timeout")
        elif left < 0:
            self.kill("memory")
        elif entries > self._limits.files + 100 * len(self._plan.memory_disks):
            self.kill("files")
        elif self._plan.disks and now > self._measured + SLACK["measure"]:
            self._measured = now
            self._look_at_disks(self._plan.disks)
        return left

    def _look_at_disks(self, folders: tuple[Path, ...]) -> None:
        sizes, counts = zip(*(measure(folder, self._limits.files) for folder in folders), strict=True)
        size, count = max(sizes), max(counts)
        if count > self._limits.files:
            self.kill("files")
        elif size > self._limits.workspace_mb * 2**20:
            self.kill("disk")


def _memory_disks(pids: list[int], folders: tuple[str, ...], size: int) -> tuple[int, int]:
    """Bytes and entries on the memory file systems of a box, each of `size`; seen through its youngest process."""
    used = entries = 0
    for folder in folders if len(pids) > 2 else ():
        with contextlib.suppress(OSError):  # the process ended, or is not in its root yet
            there = os.statvfs(f"/proc/{pids[-1]}/root{folder}")
            if there.f_blocks * there.f_frsize == size:  # else it has not left the host's root yet
                used += (there.f_blocks - there.f_bfree) * there.f_frsize
                entries += there.f_files - there.f_ffree
    return used, entries


def end_tree(root: int, namespaced: bool) -> None:
    """SIGKILL to every process below `root`, again until none is left or a second has passed; the root goes last."""
    if namespaced:
        _send(root, signal.SIGSTOP)  # it starts nothing new while it is looked at
    deadline = time.monotonic() + SLACK["grace"]
    doomed = descendants(root)
    if namespaced:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(root, signal.SIGKILL)
    while doomed and time.monotonic() < deadline:
        for pid in doomed:
            if pid != root:
                _send(pid, signal.SIGKILL)
        doomed = [pid for pid in {*doomed, *descendants(root)} if pid != root and _living(pid)]
        if doomed:
            time.sleep(SLACK["step"])
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(root, signal.SIGKILL)
    _send(root, signal.SIGKILL)


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _living(pid: int) -> bool:
    """Whether it runs: not gone and not a zombie, which only its parent can clear."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except GONE:
        return False
