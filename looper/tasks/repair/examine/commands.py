"""The user's own test command: pytest test by test, anything else by its exit code alone."""

import queue
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from looper.checks.sandbox import Limits, Sandbox, Worker
from looper.errors import ConfigError
from looper.tasks.repair.examine.channel import BOOT
from looper.tasks.repair.examine.crew import Answer, Gang
from looper.tasks.repair.examine.folder import Size, copied
from looper.tasks.repair.examine.setting import installed
from looper.tasks.repair.problem import Command

EXIT_CODE = "command (exit code only)"
"""Identity of the one test that a command without test reports is; the label is for the reader."""
PREFIXES = "import sys; print(sys.prefix); print(sys.base_prefix)"


def room(limits: Limits, memory_mb: int, size: Size | None = None) -> Limits:
    """Limits of a worker: its children may use `memory_mb` each, one at a time, beside what is loaded for them."""
    limits = replace(limits, memory_mb=3 * memory_mb + 512)
    if size is None:
        return limits
    space = max(limits.workspace_mb, int(2 * size.mb) + 64)
    return replace(limits, workspace_mb=space, files=max(limits.files, size.files + 2000))


def seeing(sandbox: Sandbox, python: str | None) -> Sandbox:
    """The sandbox with the user's interpreter in it. Raises ConfigError if that does not start."""
    if python is None:
        return sandbox
    try:
        told = subprocess.run([python, "-I", "-c", PREFIXES], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise ConfigError(f"{python} cannot be started as a Python interpreter: {error}.") from error
    return replace(sandbox, read_only=(*sandbox.read_only, *told.stdout.split("\n")[:2]))


class Bench:
    """Private copies of the user's folder, and boxes that work in them."""

    def __init__(self, command: Command, sandbox: Sandbox, memory_mb: int, python: str | None):
        self.command, self.memory_mb, self.python = command, memory_mb, python
        self.sandbox = seeing(sandbox, python)
        self.copies: list[Path] = []
        self.apart: tuple[Path, Limits] | None = None

    def copy(self, *, tests: bool = True) -> tuple[Path, Limits]:
        place, size = copied(self.command, tests=tests)
        self.copies.append(place)
        return place, room(self.sandbox.limits, self.memory_mb, size)

    def start(self) -> Worker:
        """A worker process in a copy of its own."""
        place, limits = self.copy()
        return self.sandbox.start(self._argv(), workspace=place, writable=True, limits=limits)

    def start_apart(self, source: str) -> Worker:
        """A process for one untrusted candidate, in the folder without its tests, which is the same for all of them
        and cannot be written to."""
        if self.apart is None:
            self.apart = self.copy(tests=False)
        place, limits = self.apart
        return self.sandbox.start(
            self._argv(), workspace=place, files={self.command.program: source}, limits=limits
        )  # fmt: skip

    def _argv(self) -> list[str]:
        return [self.python or sys.executable, "-I", "-c", BOOT]

    def close(self) -> None:
        self.apart = None
        while self.copies:
            shutil.rmtree(self.copies.pop(), ignore_errors=True)


def pytest_setting(command: Command, argv: list[str], base: dict[str, Any]) -> dict[str, Any]:
    """The specification of a worker that has pytest loaded."""
    return base | {"kind": "pytest", "argv": argv, "program": command.program, "path_last": installed()}


class ExitCodes(Gang):
    """Runs the command once per candidate. It says little, and a candidate could choose what it says."""

    def __init__(self, bench: Bench, jobs: int, seconds: float):
        super().__init__(jobs)
        self.bench, self.seconds = bench, seconds
        self.ids = [EXIT_CODE]
        self.idle: queue.LifoQueue[tuple[Path, Limits] | None] = queue.LifoQueue()
        for _ in range(jobs):
            self.idle.put(None)

    def ask(self, request: dict[str, Any]) -> Answer:
        place = self.idle.get()
        try:
            place = place or self.bench.copy()
            return self._run(request["source"], *place)
        finally:
            self.idle.put(place)

    def _run(self, source: str, place: Path, limits: Limits) -> Answer:
        command, started = self.bench.command, time.monotonic()
        folder = Path(self.bench.python or sys.executable).parent
        result = self.bench.sandbox.run(
            ["/bin/sh", "-c", command.command],
            workspace=place,
            files={command.program: source},
            writable=True,
            limits=replace(limits, seconds=self.seconds, memory_mb=self.bench.memory_mb),
            env={"PATH": f"{folder}:/usr/local/bin:/usr/bin:/bin"},
        )
        said = {"id": EXIT_CODE, "p": result.ended == "exited" and result.exit_code == 0, "d": 1.0}
        said["e"] = f"exit code {result.exit_code}" if result.ended == "exited" else result.ended
        return Answer([said], "finished", time.monotonic() - started)

    def close(self) -> None:
        super().close()
        self.bench.close()
