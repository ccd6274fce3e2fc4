"""Unpacks a project and runs its tests in a child process; inside the sandbox, standard library only.

This process runs no code of the project: it hands the output on, waits for the end, and says how it came. The nonce
that marks a message is read before the project's files are there; it is in no environment, argument or file.
"""

from __future__ import annotations

import base64
import json
import os
import select
import stat
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

JUNIT = "{junit}"
UNFINISHED = "did not run to its end"
"""Of a test that was collected and not reported."""
MOST_REPORT = 20 * 2**20
"""Bytes of a JUnit report."""
BLOCK = 4096
TAIL = 8192
"""Bytes of the output that are told at the end."""
PAUSE = 0.02
"""Seconds between two looks whether the tests have ended while something else keeps their output open."""


class Channel:
    """JSON lines to looper, each with the nonce and between line ends, so that nothing can be written into one."""

    def __init__(self, writes: int, nonce: str):
        self.writes, self.nonce, self.owner = writes, nonce, os.getpid()

    def tell(self, **message: Any) -> None:
        """Silent in a process that a test forked: it is not the one whose results count."""
        if os.getpid() != self.owner:
            return
        data = b"\n" + json.dumps({"n": self.nonce, **message}, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        while data:
            data = data[os.write(self.writes, data) :]


def matches(asked: str, nodeid: str) -> bool:
    """Whether a test is, or is part of, the file, folder, class or test with its parameters that was asked for."""
    return nodeid == asked or asked == "." or nodeid.startswith((f"{asked}::", f"{asked}[", f"{asked}/"))


def main() -> None:
    """One job, one run."""
    reads, writes = os.fdopen(os.dup(0), "rb"), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(2, 1)
    job = json.loads(reads.readline())
    channel = Channel(writes, job.pop("nonce"))
    os.umask(0o022)
    unpack(job.pop("entries"), reads)
    reads.close()
    here = os.path.realpath(".")
    job["path"] = [f"{here}/{folder}" for folder in job["python_path"]] + [here]
    os.environ["PYTHONPATH"] = os.pathsep.join(job["path"])
    places = {"work": here, "tmp": os.path.realpath(tempfile.gettempdir())}
    if job["command"]:
        channel.tell(ready=places)
        run_command(job["command"], channel)
    else:
        run_pytest(job, places, channel)
    os._exit(0)


def unpack(entries: list[list[Any]], reads: IO[bytes]) -> None:
    """Path, kind, length and mode of each; their bytes follow one another."""
    made = {""}
    for name, kind, length, mode in entries:
        data = reads.read(length)
        folder = name if kind == "folder" else name.rpartition("/")[0]
        if folder not in made:
            Path(folder).mkdir(parents=True, exist_ok=True)
            made.add(folder)
        if kind == "link":
            Path(name).symlink_to(os.fsdecode(data))
        elif kind == "file":
            file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            with os.fdopen(file, "wb") as stream:
                stream.write(data)


def run_pytest(job: dict[str, Any], places: dict[str, str], channel: Channel) -> None:
    """In a child, so that how it ends is seen by a process that the project's code is not in."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        for stream in (1, 2):
            os.dup2(writes, stream)
        os.close(reads)
        os.close(writes)
        channel.owner = os.getpid()
        from looper.checks.suite.plugin import run

        channel.tell(ready=places)  # pytest is loaded: what takes time from now on is the project's
        run(job, channel.tell)
    os.close(writes)
    code: list[int] = []

    def ended() -> bool:
        pid, status = (child, 0) if code else os.waitpid(child, os.WNOHANG)
        if pid and not code:
            code.append(os.waitstatus_to_exitcode(status))
        return bool(code)

    tail = pump(reads, ended)
    channel.tell(ended=code[0], tail=tail)


def run_command(command: list[str], channel: Channel) -> None:
    """The user's own command; what it wrote as its report is handed over unread."""
    report = f"{tempfile.mkdtemp(prefix='looper-junit-')}/report.xml"
    argv = [word.replace(JUNIT, report) for word in command]
    reads, writes = os.pipe()
    try:
        child = subprocess.Popen(argv, stdin=0, stdout=writes, stderr=writes)
    except OSError as error:
        channel.tell(stopped=f"the command {argv[0]!r} cannot be started: {error.strerror}", ended=127)
        return
    os.close(writes)
    tail = pump(reads, lambda: child.poll() is not None)
    said = read_report(report) if argv != command else {}
    channel.tell(ended=child.returncode, tail=tail, **said)


def read_report(path: str) -> dict[str, str]:
    """The report in base 64, or why there is none."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return {"stopped": "the command ended without a JUnit report"}
    with os.fdopen(file, "rb") as stream:
        about = os.fstat(file)
        if not stat.S_ISREG(about.st_mode):
            return {"stopped": "the JUnit report is no regular file"}
        data = stream.read(MOST_REPORT + 1)
    if len(data) > MOST_REPORT:
        return {"stopped": f"the JUnit report is larger than {MOST_REPORT // 2**20} MiB"}
    return {"junit": base64.b64encode(data).decode()}


def pump(reads: int, ended: Callable[[], bool]) -> str:
    """Hands output on in blocks until the tests have ended, and returns the last of it.

    A process that they left behind may keep the output open for ever; it is not waited for.
    """
    held = tail = b""
    is_open = True
    while True:
        over = ended()
        ready = select.select([reads] if is_open else [], [], [], 0 if over else PAUSE)[0]
        piece = os.read(reads, 65536) if ready else b""
        is_open = is_open and not (ready and not piece)
        held += piece
        tail = (tail + piece)[-TAIL:]
        if len(held) >= BLOCK or not ready or over:
            write_out(held)
            held = b""
        if over and (not ready or not piece or len(piece) < BLOCK):
            return tail.decode("utf-8", "replace")


def write_out(data: bytes) -> None:
    while data:
        data = data[os.write(2, data) :]
