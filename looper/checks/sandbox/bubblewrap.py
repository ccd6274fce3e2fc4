"""The command line of bubblewrap: an empty root with read-only programs, a work folder, and nothing else of the host.

Every namespace is new, further ones are disabled, all capabilities are gone, memory file systems have a size, and the
limits of `prlimit` hold inside. As root two boxes are nested, because the kernel enforces no process limit on root: the
outer one only shows the folders that root may read to an unprivileged user, who then builds the real box.
"""

import itertools
import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path, PurePosixPath

from looper.checks.sandbox.folder import FILES_LIMIT, hand_over, open_to_all, private_folder, write_inside
from looper.checks.sandbox.process import counted_per_namespace, own_tasks
from looper.checks.sandbox.seccomp import seccomp_program
from looper.checks.sandbox.types import WORK, Limits, Plan
from looper.errors import ConfigError

HARDENED = "--unshare-all --unshare-user --disable-userns --die-with-parent --new-session --cap-drop ALL"
MEMORY_DISKS = ("/tmp", "/dev/shm")
SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
OPTIONAL = ("/etc/ld.so.cache", "/etc/alternatives", "/nix/store")
_STAGE = "/tmp"
"""Where the outer box shows the folders; it hides the host's /tmp from the inner one."""
_UIDS = 61184, 4096
"""Dynamic users of systemd: no account has one of these."""
_boxes = itertools.count(os.getpid() * 61)


def unprivileged() -> int | None:
    """A user id of its own for one box if looper is root, None otherwise."""
    return _UIDS[0] + next(_boxes) % _UIDS[1] if os.geteuid() == 0 else None


@lru_cache(maxsize=1)
def interpreter_paths() -> tuple[str, ...]:
    """What the interpreter and looper's own workers need at their places: prefixes and the package folder."""
    package = Path(__file__).resolve().parents[2]
    return tuple(dict.fromkeys(str(path) for path in (Path(sys.base_prefix), Path(sys.prefix), package)))


@lru_cache(maxsize=1)
def data_folders() -> tuple[str, ...]:
    """Folders of the package without modules: tasks and their hidden tests, which no candidate may see (SAFETY P12)."""
    package = Path(__file__).resolve().parents[2]
    folders = (folder for folder in package.rglob("*") if folder.is_dir() and folder.name != "__pycache__")
    return outermost(str(folder) for folder in folders if not (folder / "__init__.py").exists())


def outermost(paths: Iterable[str]) -> tuple[str, ...]:
    kept: list[str] = []
    for path in sorted(paths, key=lambda path: len(Path(path).parts)):
        if not any(Path(path).is_relative_to(one) for one in kept):
            kept.append(path)
    return tuple(kept)


class Box:
    """One command line in the making."""

    def __init__(self, limits: Limits, env: Mapping[str, str]):
        self.limits, self.env, self.uid = limits, dict(env), unprivileged()
        self.outer: list[str] = []
        self.inner: list[str] = []
        self.fds: list[int] = []
        self.scratch: list[Path] = []
        self.disk: Path | None = None
        self.work_in_memory = False

    def base(self, read_only: Iterable[str], hidden: Iterable[str]) -> None:
        """The system, memory file systems of bounded size, the interpreter."""
        self.inner += ["--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev"]
        for path in SYSTEM:
            if Path(path).is_symlink():
                self.inner += ["--symlink", str(Path(path).readlink()), path]
            elif Path(path).is_dir():
                self.inner += ["--ro-bind", path, path]
        for path in OPTIONAL:
            self.inner += ["--ro-bind-try", path, path]
        for path in (*MEMORY_DISKS, WORK):
            self.inner += ["--size", str(self.limits.workspace_mb * 2**20), "--tmpfs", path]
        asked = [str(Path(path).absolute()) for path in read_only]
        for path in outermost((*interpreter_paths(), *asked)):
            if not Path(path).is_relative_to("/usr"):
                self.bind(path, path)
        for path in (*data_folders(), *hidden):
            self.inner += ["--tmpfs", path, "--remount-ro", path] if Path(path).is_dir() else []

    def bind(self, source: str, target: str, writable: bool = False) -> None:
        """Shows `source` at `target`, by way of the outer box if there is one."""
        kind = "--bind" if writable else "--ro-bind"
        self.inner += [kind, self.staged(source, kind), target]

    def staged(self, source: str, kind: str = "--ro-bind") -> str:
        if self.uid is None:
            return source
        stage = f"{_STAGE}/s{len(self.outer)}"
        self.outer += [kind, source, stage]
        return stage

    def work(self, workspace: Path | None, files: Mapping[str, bytes], writable: bool) -> None:
        """The work folder: the workspace with `files` laid over it, or memory with `files` in it."""
        if workspace is not None and writable:
            write_inside(workspace, files)
            if self.uid is not None:
                hand_over(workspace, self.uid)
            self.bind(str(workspace), WORK, writable=True)
            self.disk = workspace
        elif workspace is not None:
            self.lay(self.staged(str(self.readable(workspace))), workspace, files)
        for name, data in files.items() if self.disk is None else ():
            self.inner += ["--perms", "0644", "--file", str(self.memory_file(data)), f"{WORK}/{name}"]
        self.work_in_memory = workspace is None
        if not writable:
            self.inner += ["--remount-ro", WORK]

    def readable(self, workspace: Path) -> Path:
        """The workspace, or a copy for the unprivileged user if he could not read it."""
        if self.uid is None or open_to_all(workspace):
            return workspace
        copy = private_folder(workspace)
        self.scratch.append(copy)
        hand_over(copy, self.uid)
        return copy

    def lay(self, shown: str, workspace: Path, files: Mapping[str, bytes]) -> None:
        """Binds the workspace as a whole, or entry by entry where a file of the same name is to replace one."""
        if not files:
            self.inner += ["--ro-bind", shown, WORK]
            return
        opened = {str(parent) for name in files for parent in PurePosixPath(name).parents}
        binds = 0
        for folder in sorted(opened, key=len):
            place = workspace / folder
            if place.is_symlink() or not place.is_dir():
                continue
            for entry in sorted(os.scandir(place), key=lambda entry: entry.name):
                name = str(PurePosixPath(folder) / entry.name)
                if name not in files and name not in opened:
                    self.inner += self.shown(entry, f"{shown}/{name}", f"{WORK}/{name}")
                    binds += 1
        if binds > FILES_LIMIT:
            raise ConfigError(f"{workspace} has {binds} entries beside the changed files; use a smaller workspace.")

    def shown(self, entry: os.DirEntry[str], source: str, target: str) -> list[str]:
        if entry.is_symlink():
            return ["--symlink", str(Path(entry.path).readlink()), target]
        if entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False):
            return ["--ro-bind", source, target]
        return []

    def memory_file(self, data: bytes) -> int:
        """A descriptor to read `data` from; nothing of it touches a disk."""
        file = os.memfd_create("looper")
        self.fds.append(file)
        with os.fdopen(os.dup(file), "wb") as stream:
            stream.write(data)
        os.lseek(file, 0, os.SEEK_SET)
        return file

    def plan(self, argv: list[str]) -> Plan:
        """The finished command line."""
        bwrap, prlimit = _program("bwrap"), _program("prlimit")
        self.inner += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", WORK]
        program = seccomp_program(alone=False)
        if program is not None:
            self.inner += ["--seccomp", str(self.memory_file(program))]
        ids = ["--uid", "1000", "--gid", "1000", "--hostname", "box"]
        line = [bwrap, *HARDENED.split(), *ids, *self.inner, "--", prlimit, *_prlimits(self.limits), "--", *argv]
        if self.uid is not None:
            drop = [f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups", "--inh-caps=-all"]
            # A process space of its own: the outer box, without rights, may not signal the other user in the inner one.
            stage = [
                "--unshare-pid",
                "--dev-bind",
                "/",
                "/",
                "--perms",
                "0755",
                "--tmpfs",
                _STAGE,
                *self.outer,
                "--die-with-parent",
            ]
            line = [bwrap, *stage, "--", _program("setpriv"), *drop, "--no-new-privs", "--", *line]
        memory = (*MEMORY_DISKS, WORK) if self.work_in_memory else MEMORY_DISKS
        disks = () if self.disk is None else (self.disk,)
        return Plan(line, self.env, "/", self.fds, self.scratch, disks, memory, namespaced=True)


def _prlimits(limits: Limits) -> list[str]:
    """Limits of each process. Address space is 1 GiB more than memory: libraries reserve what they never use."""
    values = {
        "as": (limits.memory_mb * 6 // 5 + 1024) * 2**20,
        "fsize": limits.file_mb * 2**20,
        "nproc": limits.processes
        + 1
        + (0 if counted_per_namespace() else own_tasks()),  # bubblewrap's own init is inside
        "nofile": limits.open_files,
        "core": 0,
    }
    if limits.cpu_seconds is not None:
        soft = max(1, round(limits.cpu_seconds))
        return [f"--{name}={value}" for name, value in values.items()] + [f"--cpu={soft}:{soft + 1}"]
    return [f"--{name}={value}" for name, value in values.items()]


def _program(name: str) -> str:
    """Raises FileNotFoundError with the name; the probe turns it into the missing piece."""
    found = shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"{name} is not installed")
    return str(Path(found).absolute())


def bubblewrap_plan(
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
    """How to start `argv` in the hardened box. Raises FileNotFoundError naming a missing program."""
    box = Box(limits, env)
    try:
        box.base(read_only, hidden)
        box.work(workspace, files or {}, writable)
        return box.plan(argv)
    except BaseException:
        for file in box.fds:
            os.close(file)
        raise
