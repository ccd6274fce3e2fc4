"""The collection that is there on every machine: the documentation of Python's own standard library."""

import hashlib
import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from looper.errors import ConfigError
from looper.tasks.search.documents import Document

PATIENCE = 120.0
"""Seconds until the collecting process is given up; it takes half a second."""
LEFT_OUT = frozenset({"site-packages", "dist-packages", "__pycache__", "test", "idlelib", "tkinter", "lib2to3"})
COLLECTOR = Path(__file__).with_name("collect_stdlib.py")


def collect() -> Iterator[Document]:
    """Every public module, class, function and method that has a docstring of its own, by id.

    The id is `module.qualname` of the module where it is public and defined. Read in a process of its own: this one
    imports nothing for it. Raises ConfigError if that process fails.
    """
    for line in dump().splitlines():
        yield Document(**json.loads(line))


def dump() -> str:
    command = [sys.executable, "-I", "-S", "-B", str(COLLECTOR)]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"The standard library's documentation could not be collected: {error}.") from error
    if done.returncode != 0:
        last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise ConfigError(
            f"The standard library's documentation could not be collected (exit {done.returncode}: {last[:200]});"
            f" run `python -I -S {COLLECTOR}` to see why."
        )
    return done.stdout.decode()


def stamp() -> str:
    """Changes with the interpreter, the files of its library and the way of collecting; takes some milliseconds."""
    known = hashlib.sha256(f"{sys.version} {sys.platform} {os.fspath(COLLECTOR)}\n".encode())
    known.update(COLLECTOR.read_bytes())
    for name in ("stdlib", "platstdlib"):
        for line in files(sysconfig.get_path(name)):
            known.update(line.encode(errors="surrogateescape"))
    return known.hexdigest()


def files(root: str) -> Iterator[str]:
    for folder, below, names in os.walk(root):
        below[:] = sorted(set(below) - LEFT_OUT)
        for name in sorted(names):
            if name.endswith((".py", ".so")):
                found = Path(folder, name).stat()
                yield f"{folder}/{name} {found.st_size} {found.st_mtime_ns}\n"
