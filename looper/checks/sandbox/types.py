"""The values the sandbox passes around: limits, what this machine can do, how a program ended."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import Field
from pydantic.dataclasses import dataclass as strict

from looper.types import STRICT

Level = Literal["bubblewrap", "landlock", "rlimits", "none"]
"""From the strongest rung to none (SAFETY, Sandbox facts)."""

Ended = Literal["exited", "signalled", "timeout", "memory", "output", "disk", "files"]
"""`timeout` is wall or CPU time; `disk` and `files` are what was written; the limit is in the name."""

WORK = "/box"
"""The work folder inside bubblewrap. Portable programs use the working directory: lower rungs cannot mount one here."""


@strict(frozen=True, kw_only=True, config=STRICT)
class Limits:
    """What one program may use; the memory and the time of a program tree are watched from outside."""

    seconds: float = Field(default=10.0, gt=0, le=86_400)
    """Wall clock of `run`, seconds; ends at most 0.5 s late. Ten are enough for the tests of a small program."""
    lifetime_seconds: float | None = Field(default=None, gt=0)
    """Wall clock of `start`, seconds; None: until closed, because the caller times each request."""
    cpu_seconds: float | None = Field(default=None, gt=0)
    """CPU time of each process, seconds; None: `seconds` for `run` and no limit for `start`."""
    memory_mb: int = Field(default=512, ge=16)
    """Resident memory and memory files of all processes together, MiB. 512 holds the scientific libraries."""
    processes: int = Field(default=32, ge=1, le=4096)
    """Processes and threads at a time. 32 lets a numerical library start its threads."""
    file_mb: int = Field(default=16, ge=0)
    """The largest file that can be written, MiB."""
    output_kb: int = Field(default=256, ge=1)
    """What is kept of each output stream, KiB; the rest is read and dropped, 64 times as much ends the program."""
    workspace_mb: int = Field(default=64, ge=1)
    """What can be written in all, MiB, in the work folder and again in /tmp."""
    files: int = Field(default=2000, ge=1)
    """How many files may be there in all; a flood of empty files costs memory that `workspace_mb` does not see."""
    open_files: int = Field(default=256, ge=16)
    """Open files of each process."""


@dataclass(frozen=True)
class Capability:
    """What this machine was seen to start, and what is missing for more."""

    level: Level
    missing: list[str] = field(default_factory=list)
    """What keeps the stronger rungs from working, strongest first, each with its reason."""
    advice: str = ""
    """One sentence: how to get the strongest rung; empty when nothing is missing."""


@dataclass(frozen=True)
class Result:
    """How a program ended. An exit code of 0 is no evidence of anything: the program chose it."""

    exit_code: int | None
    """Of a program that exited; the negative signal number if a signal ended it; None if the sandbox ended it."""
    stdout: bytes
    stderr: bytes
    seconds: float
    """Wall clock from the start of the sandbox to the end of its last process."""
    ended: Ended
    peak_mb: float
    """The highest memory of all processes together that was seen, MiB; 0 if it ended before the first look."""
    truncated: bool
    """Whether an output stream was longer than `Limits.output_kb`."""


@dataclass
class Plan:
    """A command line that starts a box, and what has to be cleaned up when it is gone."""

    argv: list[str]
    env: dict[str, str]
    cwd: str | None = None
    fds: list[int] = field(default_factory=list)
    """Handed to the program that builds the box, closed here once it has started."""
    scratch: list[Path] = field(default_factory=list)
    """Private folders that go away with the box."""
    disks: tuple[Path, ...] = ()
    """Folders of this machine that the program can write to."""
    memory_disks: tuple[str, ...] = ()
    """Memory file systems inside the box, as seen from inside."""
    namespaced: bool = False
    """Whether killing the box kills every process in it."""
