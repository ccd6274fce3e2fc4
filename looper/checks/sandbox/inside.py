"""The supervisor of the lower rungs: a script of its own, started as `python sandbox_inside.py SETTINGS-AS-JSON`.

It starts the program with limits, as another user, under Landlock and seccomp, as the settings say; it adopts whatever
the program leaves running, and kills all of it when the program ends or when looper dies. It imports nothing of looper.
"""

import contextlib
import ctypes
import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

SETUP_FAILED = 125
"""Exit code when a protection could not be put in place; the program has then not been started."""
_PDEATHSIG, _SUBREAPER, _NO_NEW_PRIVS, _SECCOMP = 1, 36, 38, 22
_CREATE, _ADD, _RESTRICT = 444, 445, 446
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
_CHANGE = 0b0111_1011_0010 | 1 << 12
"""Write, remove, and make what is not a device: folders, files, sockets, pipes, links (`linux/landlock.h`)."""
_BY_VERSION = {1: (1 << 13) - 1, 2: 1 << 13, 3: 1 << 14, 5: 1 << 15}
"""File rights by the version that brought them: the first thirteen, refer, truncate, device ioctl."""
_NEW_MOUNTS, _BIND, _RECURSIVE, _PRIVATE = 0x20000, 0x1000, 0x4000, 0x40000
_TCP_VERSION, _SCOPE_VERSION = 4, 6


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Rule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("rights", ctypes.c_uint64), ("parent", ctypes.c_int32))


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("lines", ctypes.c_char_p))


def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(answer: int, what: str) -> int:
    if answer < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
    return answer


def _prctl(option: int, value: int, pointer: Any = 0) -> None:
    zero = ctypes.c_ulong(0)
    _checked(_library().prctl(option, ctypes.c_ulong(value), pointer or zero, zero, zero), f"prctl {option}")


def landlock_version() -> int:
    """The version of Landlock the kernel speaks; 0 for none."""
    if not sys.platform.startswith("linux"):
        return 0
    return max(0, _library().syscall(ctypes.c_long(_CREATE), None, ctypes.c_size_t(0), ctypes.c_uint32(1)))


def restrict_files(rules: list[tuple[str, int]]) -> None:
    """Nothing but `rules` (path and rights) can be opened from now on, also by children; no TCP, no outside signals."""
    version = landlock_version()
    handled = sum(bits for since, bits in _BY_VERSION.items() if since <= version)
    network = 3 if version >= _TCP_VERSION else 0
    scoped = 3 if version >= _SCOPE_VERSION else 0
    size = 24 if version >= _SCOPE_VERSION else 16 if version >= _TCP_VERSION else 8
    call, asked = _library().syscall, _Ruleset(handled, network, scoped)
    ruleset = _checked(
        call(ctypes.c_long(_CREATE), ctypes.byref(asked), ctypes.c_size_t(size), ctypes.c_uint32(0)), "landlock"
    )
    for path, rights in rules:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = _Rule(rights & handled, place)
        _checked(call(ctypes.c_long(_ADD), ruleset, 1, ctypes.byref(rule), ctypes.c_uint32(0)), f"landlock {path}")
        os.close(place)
    _checked(call(ctypes.c_long(_RESTRICT), ruleset, ctypes.c_uint32(0)), "landlock")
    os.close(ruleset)


def rights(writable: bool, folder: bool) -> int:
    """Landlock rights for a folder with what is below it, or for a single file."""
    if folder:
        change = _CHANGE | 1 << 13 | 1 << 14
        return EXECUTE | READ_FILE | READ_DIR | (change if writable else 0)
    return EXECUTE | READ_FILE | (WRITE_FILE | 1 << 14 if writable else 0)


def filter_calls(program: bytes) -> None:
    """Loads a seccomp program for this process and its children."""
    loaded = _Filter(len(program) // 8, program)
    _prctl(_SECCOMP, 2, ctypes.byref(loaded))


def make_reachable(paths: list[str]) -> None:
    """Shows `paths` to every user where a closed folder, such as the home of root, is in the way.

    The closed folder is covered in a mount namespace of its own, so the rest of what it holds is out of sight.
    """
    closed = {path: folder for path in paths if (folder := _closed_folder(path)) is not None}
    if not closed:
        return
    _checked(_library().unshare(_NEW_MOUNTS), "a mount namespace of its own")
    _mount("none", "/", None, _PRIVATE | _RECURSIVE)
    sources = {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in closed}
    for folder in sorted(set(closed.values())):
        _mount("none", folder, "tmpfs", 0, "mode=0755,size=1m")
    os.umask(0o022)
    for path, source in sources.items():
        Path(path).mkdir(parents=True, exist_ok=True)
        _mount(f"/proc/self/fd/{source}", path, None, _BIND | _RECURSIVE)
        os.close(source)


def _closed_folder(path: str) -> str | None:
    """The first folder above `path` that other users may not enter."""
    above = reversed(Path(path).resolve().parents)
    return next((str(folder) for folder in above if not folder.stat().st_mode & 0o001), None)


def _mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    text = [value.encode() if value is not None else None for value in (source, target, kind, data)]
    answer = _library().mount(text[0], text[1], text[2], ctypes.c_ulong(flags), text[3])
    _checked(answer, f"mount at {target}")


def _become_program(settings: dict[str, Any]) -> NoReturn:
    """Puts every protection in place and turns into the program; a protection that fails ends it."""
    try:
        os.setsid()
        uid = settings["uid"]
        if uid is not None:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
        os.chdir(settings["cwd"])
        for name, pair in settings["rlimits"].items():
            number = getattr(resource, name)
            hard = resource.getrlimit(number)[1]
            resource.setrlimit(number, tuple(value if hard < 0 else min(value, hard) for value in pair))
        if sys.platform.startswith("linux"):
            _prctl(_NO_NEW_PRIVS, 1)
        if settings["rules"] is not None:
            restrict_files([(path, bits) for path, bits in settings["rules"]])
            filter_calls(bytes.fromhex(settings["filter"]))
        os.execvpe(settings["argv"][0], settings["argv"], settings["env"])
    except (OSError, ValueError) as error:
        os.write(2, f"sandbox: {error}\n".encode())
        os._exit(SETUP_FAILED)


def _kill_descendants(uid: int | None) -> None:
    """Until nobody is left to be reaped; a user of its own is killed at one stroke."""
    if uid is not None and os.fork() == 0:
        os.setresuid(uid, uid, uid)
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        os._exit(0)
    while True:
        for pid in _children(os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _children(parent: int) -> list[int]:
    """Direct children; those of a child come here when it dies."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if int((place / "stat").read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(place.name))
    return found


def main() -> int:
    settings = json.loads(sys.argv[1])
    looper = os.getppid()
    try:
        if sys.platform.startswith("linux"):
            _supervise(settings)
    except OSError as error:
        os.write(2, f"sandbox: {error}\n".encode())
        return SETUP_FAILED
    program = os.fork()
    if program == 0:
        _become_program(settings)
    _end_with(looper, settings)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    pid, status = os.waitpid(-1, 0)
    while pid != program:
        pid, status = os.waitpid(-1, 0)
    _kill_descendants(settings["uid"])
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code


def _supervise(settings: dict[str, Any]) -> None:
    _prctl(_SUBREAPER, 1)
    _prctl(_PDEATHSIG, signal.SIGTERM)
    if settings["uid"] is not None:
        make_reachable(settings["reach"])


def _end_with(looper: int, settings: dict[str, Any]) -> None:
    """When looper dies, everything here ends, and the private folders go."""

    def end(number: int, frame: object) -> NoReturn:
        _kill_descendants(settings["uid"])
        import shutil  # slow to import, and needed only when looper cannot clean up any more

        for folder in settings["scratch"]:
            shutil.rmtree(folder, ignore_errors=True)
        os._exit(1)

    signal.signal(signal.SIGTERM, end)
    if os.getppid() != looper:
        end(0, None)


if __name__ == "__main__":
    sys.exit(main())
