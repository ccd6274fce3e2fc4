"""What can be had on this machine: each rung is started for real, once per process."""

import os
import shutil
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import get_args

from looper.checks.sandbox.bubblewrap import bubblewrap_plan
from looper.checks.sandbox.inside import landlock_version
from looper.checks.sandbox.lower import lower_plan
from looper.checks.sandbox.stream import finish
from looper.checks.sandbox.types import Capability, Level, Limits, Plan
from looper.checks.sandbox.warden import warden

_LIMITS = Limits(seconds=20)
_PROGRAM = [sys.executable, "-I", "-S", "-c", "print('inside')"]
_INSTALL = "Install bubblewrap 0.8 or newer: `apt-get install bubblewrap` or `dnf install bubblewrap`."
_ALLOW = (
    "bubblewrap is installed but may not make user namespaces; on Ubuntu 24.04 allow them with `sudo sysctl -w "
    "kernel.apparmor_restrict_unprivileged_userns=0` (or an AppArmor profile for bwrap), elsewhere with `sysctl -w "
    "user.max_user_namespaces=10000`, in a container by starting it with `--security-opt seccomp=unconfined`."
)


@lru_cache(maxsize=8)
def capability_of(wanted: str) -> Capability:
    """The strongest rung that started, or for a named one that one; `none` if it did not, with what is missing."""
    if wanted == "none":
        return Capability("none")
    missing: list[str] = []
    rungs: tuple[Level, ...] = tuple(rung for rung in get_args(Level) if rung != "none" and wanted in ("auto", rung))
    for rung in rungs:
        reason = _PROBES[rung]()
        if reason is None:
            return Capability(rung, missing, _advice(missing))
        missing.append(f"{rung}: {reason}")
    return Capability("none", missing, _advice(missing))


def _advice(missing: list[str]) -> str:
    if not any(line.startswith("bubblewrap") for line in missing):
        return "" if not missing else "Use `sandbox.level=auto` for the strongest sandbox of this machine."
    if not sys.platform.startswith("linux"):
        return "Use a Linux machine or container with bubblewrap; there is no full sandbox on this system."
    return _ALLOW if shutil.which("bwrap") else _INSTALL


def _bubblewrap() -> str | None:
    return _started(lambda: bubblewrap_plan(_PROGRAM, _LIMITS, {}))


def _landlock() -> str | None:
    if landlock_version() == 0:
        return "this kernel has no Landlock (Linux 5.13 or newer with `lsm=landlock`)"
    return _started(lambda: lower_plan("landlock", _PROGRAM, _LIMITS, {}))


def _rlimits() -> str | None:
    if os.name != "posix":
        return "this system has no process limits"
    return _started(lambda: lower_plan("rlimits", _PROGRAM, _LIMITS, {}))


_PROBES: dict[Level, Callable[[], str | None]] = {
    "bubblewrap": _bubblewrap,
    "landlock": _landlock,
    "rlimits": _rlimits,
}


def _started(plan: Callable[[], Plan]) -> str | None:
    """Why it does not start; None if it did and said so."""
    try:
        result = finish(warden().start(plan(), _LIMITS, _LIMITS.seconds), b"", _LIMITS)
    except OSError as error:
        return str(error)
    if result.stdout == b"inside\n":
        return None
    said = result.stderr.decode("utf-8", "replace").strip().splitlines()
    return said[-1][:200] if said else f"it ended with {result.ended} {result.exit_code} and said nothing"
