"""Git by its command line: the same commands give the same objects, whoever runs them and however it is set up."""

import errno
import fcntl
import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from looper.errors import ConfigError, LooperError, Paused, PhaseError

OLDEST = (2, 32)
"""From here on the user's and the system's settings can be left out."""
LONGEST = 600.0
"""Seconds that one command may take; a clone of 50 MB takes 2."""
SETTINGS = {
    "core.attributesFile": "/dev/null",
    "core.autocrlf": "false",
    "core.eol": "lf",
    "core.fileMode": "true",
    "core.symlinks": "true",
    "core.ignoreCase": "false",
    "core.quotePath": "false",
    "core.sparseCheckout": "false",
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.hooksPath": "/dev/null",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "commit.gpgSign": "false",
    "i18n.commitEncoding": "utf-8",
    "i18n.logOutputEncoding": "utf-8",
    "init.defaultBranch": "main",
    "log.showSignature": "false",
    "submodule.recurse": "false",
}
"""What a repository's own settings must not decide."""
ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "LC_ALL": "C",
}
FULL = ("no space left on device", "disk quota exceeded", "read-only file system")


class Git:
    """Commands on one repository, one at a time: also after a kill, when the last one may still be at work.

    Without `settings`, the `.git` in `folder` is meant and no other: git does not look for one in the folders above.
    """

    def __init__(self, folder: Path, lock: Path, settings: Path | None = None):
        """`settings`: a file in place of the user's own settings, for a repository that looper did not make."""
        self.folder, self.lock = folder.absolute(), lock
        self.found = {"GIT_DIR": str(self.folder / ".git"), "GIT_WORK_TREE": str(self.folder)}
        if settings is not None:
            self.found = {"GIT_CONFIG_GLOBAL": str(settings)}

    def __call__(
        self, *arguments: str, stdin: bytes = b"", allowed: Sequence[int] = (0,), env: Mapping[str, str] | None = None
    ) -> bytes:
        """What `git arguments` says, with `env` over looper's own environment.

        Raises ConfigError for what the user can mend, Paused for a full disk, PhaseError else.
        """
        line = ["git", "-C", str(self.folder)]
        for name, value in SETTINGS.items():
            line += ["-c", f"{name}={value}"]
        with self.alone() as lock:
            done = _run([*line, *arguments], stdin, _environment(self.found | dict(env or {})), lock)
        if done.returncode not in allowed:
            raise _failure(arguments[0], done)
        return done.stdout

    def line(self, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> str:
        """What git says in one line, without its end."""
        return os.fsdecode(self(*arguments, stdin=stdin, env=env)).removesuffix("\n")

    def paths(self, *arguments: str, env: Mapping[str, str] | None = None) -> list[str]:
        """What git says between NUL characters, as with `-z`."""
        return [os.fsdecode(path) for path in self(*arguments, env=env).split(b"\0") if path]

    def known(self, name: str) -> str:
        """The id of the commit that a name stands for; empty if there is none."""
        if name.startswith("-") or not self.folder.is_dir():
            return ""
        found = self("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", allowed=(0, 1, 128))
        return found.decode().strip()

    @contextmanager
    def alone(self) -> Iterator[int]:
        """No command under this lock is at work meanwhile, not even one that outlived its looper.

        A command inherits the lock, so that it is free only when the command has ended.
        """
        with self.lock.open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file.fileno()

    @property
    def own(self) -> Path:
        """The folder of this work tree's own HEAD and index."""
        return Path(self.line("rev-parse", "--absolute-git-dir"))

    @property
    def common(self) -> Path:
        """The folder of the references that all worktrees share."""
        return self.folder / self.line("rev-parse", "--git-common-dir")


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    mine = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**mine, **ENVIRONMENT, **more}


def _run(
    line: Sequence[str], stdin: bytes, environment: Mapping[str, str], lock: int
) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            line, input=stdin, capture_output=True, env=environment, pass_fds=(lock,), timeout=LONGEST, check=False
        )
    except FileNotFoundError as error:
        raise ConfigError(
            f"git was not found, which a project's workspace needs: install git {OLDEST[0]}.{OLDEST[1]} or newer."
        ) from error
    except subprocess.TimeoutExpired as error:
        raise PhaseError(
            f"git did not end within {LONGEST:.0f} s; look whether its disk answers, then resume."
        ) from error


def _failure(command: str, done: subprocess.CompletedProcess[bytes]) -> LooperError:
    said = done.stderr.decode("utf-8", "replace").strip()
    last = said.splitlines()[-1].strip() if said else f"it ended with code {done.returncode} and said nothing"
    if any(words in said.lower() for words in FULL):
        return Paused(f"git {command} could not write ({last}); free some space, then `resume`.", "storage")
    return PhaseError(f"git {command} failed: {last.rstrip('.')}.")


def cannot_write(path: Path, error: OSError) -> LooperError:
    """What looper says of a file that it could not write."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM):
        return Paused(
            f"{path.name} cannot be written ({error.strerror}); free some space or make the folder writable, then "
            "`resume`.",
            "storage",
        )
    return PhaseError(f"{path.name} cannot be written ({error.strerror or error}).")


def require_git() -> None:
    """Raises ConfigError if git is missing or too old."""
    version = _version()
    if version < OLDEST:
        found, needed = (".".join(map(str, numbers)) for numbers in (version, OLDEST))
        raise ConfigError(f"git {found} is too old for a project's workspace: install git {needed} or newer.")


@lru_cache(maxsize=1)
def _version() -> tuple[int, ...]:
    with Path(os.devnull).open("a") as file:
        said = _run(["git", "--version"], b"", _environment({}), file.fileno()).stdout.decode("utf-8", "replace")
    found = re.search(r"(\d+)\.(\d+)", said)
    return tuple(int(number) for number in found.groups()) if found else (0, 0)
