"""The rungs below bubblewrap: Landlock with seccomp, plain limits, and nothing but a session and a clock.

There is no mount namespace here: the program sees the paths of this machine. Under Landlock it can open what the rules
name and nothing else (it can still ask whether a path exists); with plain limits it can open what its user can.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from looper.checks.sandbox import inside as sandbox_inside
from looper.checks.sandbox.bubblewrap import OPTIONAL, SYSTEM, data_folders, interpreter_paths, unprivileged
from looper.checks.sandbox.folder import hand_over, private_folder, write_inside
from looper.checks.sandbox.process import own_tasks
from looper.checks.sandbox.seccomp import seccomp_program
from looper.checks.sandbox.types import Level, Limits, Plan

_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
Rule = tuple[str, int]


@dataclass(frozen=True)
class Folders:
    """Where a program works and where it may scribble; both are private unless the workspace is writable."""

    work: Path
    temporary: Path
    scratch: list[Path]


def lower_plan(
    level: Level,
    argv: list[str],
    limits: Limits,
    env: Mapping[str, str],
    *,
    workspace: Path | None = None,
    files: Mapping[str, bytes] | None = None,
    writable: bool = False,
    read_only: Iterable[str] = (),
    hidden: Iterable[str] = (),
) -> Plan:
    """How to start `argv` on one of the lower rungs; workspaces that are not writable are copied."""
    uid = unprivileged()
    readable = [*interpreter_paths(), *(str(Path(path).absolute()) for path in read_only)]
    folders = _folders(workspace, files or {}, writable, uid)
    inside = {
        "argv": argv,
        "env": dict(env) | {"HOME": str(folders.temporary), "TMPDIR": str(folders.temporary)},
        "cwd": str(folders.work),
        "uid": uid,
        "rlimits": {} if level == "none" else _rlimits(limits, uid),
        "rules": None,
        "filter": "",
        "reach": [str(folders.work), str(folders.temporary), *readable],
        "scratch": [str(folder) for folder in folders.scratch],
    }
    if level == "landlock":
        program = seccomp_program(alone=True, signals=sandbox_inside.landlock_version() >= 6)
        if program is None:
            raise OSError("no system call filter for this processor")
        inside["filter"] = program.hex()
        inside["rules"] = list(_rules(folders, writable, readable, (*data_folders(), *hidden)))
    line = [sys.executable, "-I", "-S", "-B", sandbox_inside.__file__, json.dumps(inside)]
    return Plan(line, dict(env), "/", scratch=folders.scratch, disks=(folders.work, folders.temporary))


def _folders(workspace: Path | None, files: Mapping[str, bytes], writable: bool, uid: int | None) -> Folders:
    temporary = private_folder()
    scratch = [temporary]
    if workspace is None or not writable:
        workspace = private_folder(workspace)
        scratch.append(workspace)
    write_inside(workspace, files)
    for folder in {temporary, workspace}:
        if uid is not None:
            hand_over(folder, uid)
    return Folders(workspace, temporary, scratch)


def _rlimits(limits: Limits, uid: int | None) -> dict[str, tuple[int, int]]:
    """Soft and hard limits by name. A process limit counts all of a user, so what he runs already is added."""
    values = {
        "RLIMIT_FSIZE": limits.file_mb * 2**20,
        "RLIMIT_NPROC": limits.processes + (own_tasks() if uid is None else 0),
        "RLIMIT_NOFILE": limits.open_files,
        "RLIMIT_CORE": 0,
    }
    if sys.platform.startswith("linux"):  # elsewhere the address space cannot be limited
        values["RLIMIT_AS"] = (limits.memory_mb * 6 // 5 + 1024) * 2**20
    pairs = {name: (value, value) for name, value in values.items()}
    if limits.cpu_seconds is not None:
        soft = max(1, round(limits.cpu_seconds))
        pairs["RLIMIT_CPU"] = (soft, soft + 1)
    return pairs


def _rules(folders: Folders, writable: bool, readable: Iterable[str], hidden: Iterable[str]) -> Iterator[Rule]:
    """What Landlock lets the program open."""
    kept_out = [Path(path) for path in hidden]
    for path in ("/usr", *SYSTEM, *OPTIONAL, *readable):
        if Path(path).exists():
            yield from _readable(Path(path), kept_out)
    # An import looks through the folder that the package is in; the names in it can be seen, no content.
    yield str(Path(sandbox_inside.__file__).parents[3]), sandbox_inside.READ_DIR
    for path in _DEVICES:
        yield path, sandbox_inside.READ_FILE | sandbox_inside.WRITE_FILE
    yield str(folders.temporary), sandbox_inside.rights(True, True)
    yield str(folders.work), sandbox_inside.rights(writable, True)


def _readable(path: Path, hidden: list[Path]) -> Iterator[Rule]:
    """One rule for a path, or one for each entry on the way to a hidden folder: a rule cannot take away."""
    if path in hidden:
        return
    if path.is_dir() and any(one.is_relative_to(path) for one in hidden):
        yield str(path), sandbox_inside.READ_DIR
        for entry in path.iterdir():
            if not entry.is_symlink() and entry.exists():
                yield from _readable(entry, hidden)
    else:
        yield str(path), sandbox_inside.rights(False, path.is_dir())
