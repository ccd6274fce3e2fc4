"""The command `looper` in a test: in this process, or as a user would start it."""

import contextlib
import io
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from looper.__main__ import main

ROOT = Path(__file__).parents[1]


@dataclass
class Said:
    """What came of a command."""

    code: int
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """The one line that a refusal is."""
        assert self.err.count("\n") == 1, self.err
        assert self.err.startswith("looper: "), self.err
        assert self.out == "", self.out
        return self.err

    @property
    def refusal(self) -> str:
        """The last line, of a run that was announced before it was refused."""
        last = self.err.splitlines()[-1]
        assert last.startswith("looper: "), self.err
        assert self.out == "", self.out
        return last


def call(*args: str) -> Said:
    """The command in this process, in its current folder."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(args)
    return Said(code, out.getvalue(), err.getvalue())


def start(*args: str, cwd: Path, **environment: str) -> "subprocess.Popen[str]":
    """`python -m looper ARGS` under way, without a terminal."""
    return subprocess.Popen(
        [sys.executable, "-m", "looper", *args], cwd=cwd, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )  # fmt: skip


def ended(process: "subprocess.Popen[str]") -> Said:
    out, err = process.communicate(timeout=120)
    return Said(process.returncode, out, err)


def run(*args: str, cwd: Path, **environment: str) -> Said:
    """`python -m looper ARGS` to its end."""
    return ended(start(*args, cwd=cwd, **environment))
