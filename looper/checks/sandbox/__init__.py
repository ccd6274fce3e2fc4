"""Runs what is not trusted: code that a model wrote, candidates of a repair, scripts of a task (SAFETY P9, P10, P11).

Rungs, from the strongest: bubblewrap (own namespaces, nothing of the host but read-only programs), Landlock with
seccomp, plain limits in a session of their own (no protection of files or network), none. The rung is what a real start
on this machine showed, it is never lowered in silence, and `Sandbox.require` refuses what is too weak.

A program finds its files in its working directory; that is the only name for it that holds on every rung. The looper
package is visible to it, except its folders of data. Not promised: isolation against faults of the kernel, or against a
flood of the disk through files that are deleted while open in a writable workspace.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

from pydantic.dataclasses import dataclass

from looper.checks.sandbox.bubblewrap import bubblewrap_plan
from looper.checks.sandbox.collect import collect, text_of
from looper.checks.sandbox.folder import encoded
from looper.checks.sandbox.lower import lower_plan
from looper.checks.sandbox.probe import capability_of
from looper.checks.sandbox.process import Worker
from looper.checks.sandbox.stream import finish
from looper.checks.sandbox.types import WORK, Capability, Ended, Level, Limits, Plan, Result
from looper.checks.sandbox.warden import warden
from looper.errors import SandboxUnavailable
from looper.types import STRICT

__all__ = [
    "WORK", "Capability", "Ended", "Level", "Limits", "Result", "Sandbox", "Worker", "collect", "text_of",
]  # fmt: skip

STRONG = ("bubblewrap", "landlock")
"""The rungs that protect files and network."""

Given = tuple[Path | None, Mapping[str, str | bytes] | None, bool, Mapping[str, str] | None]
"""Workspace, files, writable, environment."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Sandbox:
    """Where and how untrusted programs run."""

    level: Literal["auto", "bubblewrap", "landlock", "rlimits", "none"] = "auto"
    """`auto`: the strongest that works here. A named one is used or refused, never replaced."""
    unsafe_ok: bool = False
    """Whether code from a model may run without protection of files and network. No: it is the user's to say."""
    limits: Limits = Limits()
    """What one program may use, unless the caller says otherwise."""
    read_only: tuple[str, ...] = ()
    """More paths of this machine a program may read at their places, such as the user's own interpreter."""
    hidden: tuple[str, ...] = ()
    """Folders below the readable ones that a program must not see, such as data of a package with hidden tests."""

    def run(
        self,
        argv: Sequence[str],
        *,
        workspace: Path | None = None,
        files: Mapping[str, str | bytes] | None = None,
        stdin: bytes = b"",
        writable: bool = False,
        limits: Limits | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Result:
        """Runs `argv` to its end and returns what it said; see `start` for the arguments."""
        limits = limits or self.limits
        limits = replace(limits, cpu_seconds=limits.cpu_seconds or limits.seconds)
        plan = self._plan(argv, (workspace, files, writable, env), limits)
        return finish(warden().start(plan, limits, limits.seconds), stdin, limits)

    def start(
        self,
        argv: Sequence[str],
        *,
        workspace: Path | None = None,
        files: Mapping[str, str | bytes] | None = None,
        writable: bool = False,
        limits: Limits | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Worker:
        """Starts `argv` in a box and returns at once.

        Its working directory holds `workspace` (a folder of this machine, which it can change only if `writable`) with
        `files` laid over it (relative path to content; written into the folder itself if it is writable), or `files`
        alone. Its environment is `env` and a few fixed names. Raises ConfigError for a path outside the work folder and
        SandboxUnavailable when the rung cannot be had. As root a writable workspace belongs to another user afterwards.
        """
        limits = limits or self.limits
        plan = self._plan(argv, (workspace, files, writable, env), limits)
        worker = warden().start(plan, limits, limits.lifetime_seconds)
        worker.keep_tail()
        return worker

    def capability(self) -> Capability:
        """The rung that will be used here, as a real start showed it; probed once per process."""
        return capability_of(self.level)

    def require(self, untrusted: bool) -> Capability:
        """The rung, if it is good enough: for code from a model (`untrusted`) one that protects files and network.

        Edits of the user's own program may run with plain limits; the caller says so first (issue 2, Sandbox). Raises
        SandboxUnavailable, naming what is missing and how to get it.
        """
        found = self.capability()
        strong = found.level in STRONG
        if strong or self.unsafe_ok or (found.level == "rlimits" and not untrusted):
            return self._usable(found)
        what = "Code from a model" if untrusted else "The program"
        why = "; ".join(found.missing) or f"sandbox.level={self.level} was asked for"
        raise SandboxUnavailable(
            f"{what} is not run because sandbox level {found.level!r} protects neither files nor network ({why}). "
            f"{found.advice or 'Use `sandbox.level=auto`.'} Or accept the risk with `sandbox.unsafe_ok=true`."
        )

    def _usable(self, found: Capability) -> Capability:
        if found.level == "none" and self.level != "none":
            raise SandboxUnavailable(
                f"Sandbox level {self.level!r} cannot be had here ({'; '.join(found.missing)}). {found.advice}"
            )
        return found

    def _plan(self, argv: Sequence[str], given: Given, limits: Limits) -> Plan:
        """The command line on the rung of this machine. Raises SandboxUnavailable rather than use another one."""
        found = self._usable(self.capability())
        if found.level == "none" and not self.unsafe_ok:
            raise SandboxUnavailable(
                "`sandbox.level=none` protects nothing; it needs `sandbox.unsafe_ok=true` as well."
            )
        workspace, files, writable, env = given
        environment = fixed_environment() | dict(env or {})
        make = bubblewrap_plan if found.level == "bubblewrap" else partial(lower_plan, found.level)
        return make(
            list(argv), limits, environment, workspace=workspace.resolve() if workspace else None,
            files=encoded(files or {}), writable=writable, read_only=self.read_only, hidden=self.hidden,
        )  # fmt: skip


def fixed_environment() -> dict[str, str]:
    """All that a program sees of the environment, besides what its caller gives it."""
    package = Path(__file__).resolve().parents[2]
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": "/tmp",
        "TMPDIR": "/tmp",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(package.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
