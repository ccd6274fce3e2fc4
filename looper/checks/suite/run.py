"""Runs the test suite of a whole project in the sandbox and reads each result from a report (issue 5, Tester).

The project is unpacked anew into every box, so a suite may write what it likes and the folder as given stays as it is.
Nothing of the user's environment is there; plugins of pytest that are installed are loaded for the user's own command
alone.

What cannot be prevented: the code under test, its conftest.py and the tests share one process with pytest. Code that
means to can search that process for the nonce, replace functions of pytest, or turn a test into a pass before it is
seen; a change must be looked through for that before its tests are believed. What is prevented: prints, files, exit
codes, exit handlers, forked children and a second, better result of the same test count for nothing; a test that was
collected and not reported is an error. A JUnit report is written by the user's command, in a place that the project's
code can find, and is worth what that is worth.
"""

import base64
import json
import platform
import secrets
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import field
from importlib.metadata import version
from pathlib import Path

from pydantic import Field
from pydantic.dataclasses import dataclass

from looper.checks.evidence import cleaned
from looper.checks.sandbox import Limits, Sandbox, Worker
from looper.checks.suite.box import JUNIT, UNFINISHED
from looper.checks.suite.channel import Channel, Done, feed
from looper.checks.suite.junit import fill
from looper.checks.suite.record import Record, ending
from looper.checks.suite.reports import SuiteReport, TestResult
from looper.checks.suite.tree import Tree, holds, inside, read_tree, size
from looper.errors import ConfigError
from looper.types import STRICT

STARTING = 30.0
"""Seconds to unpack a project on a busy machine; the time for the tests begins behind it."""
ENDING = 2.0
"""Seconds for a session that is over to end its process."""
SCRATCH_MB = 256
"""What a suite may write beside the project, MiB."""
SCRATCH_FILES = 10_000
_BOX = "from looper.checks.suite.box import main; main()"


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Suite:
    """How a project's tests are run."""

    command: list[str] = field(default_factory=list)
    """Empty: pytest of looper's own interpreter. Else the user's command, word by word and without a shell, with
    `{junit}` where the path of the JUnit XML report belongs; `python` alone is looper's own interpreter."""
    paths: list[str] = field(default_factory=list)
    """Test files, folders or ids to run; empty: what pytest finds by itself. Not for a command, which names its own."""
    also: list[str] = field(default_factory=list)
    """Folders that are run besides, where they exist, whatever the project says it tests. Not for a command."""
    python_path: list[str] = field(default_factory=list)
    """Folders of the project to import from besides its own, such as `src`."""
    seconds: float = Field(default=60.0, gt=0, le=3600)
    """Wall clock of all tests together, seconds. 60 are enough for the unit tests of most projects."""
    memory_mb: int = Field(default=1024, ge=64)
    """Memory of all processes of the suite, MiB, besides the project's own files."""
    coverage: list[str] = field(default_factory=list)
    """Folders or files of the project whose statement coverage is measured; empty: none. Not for a command."""


def run_suite(
    suite: Suite, sandbox: Sandbox, base: Path, overlay: Mapping[str, str | None], select: Sequence[str] = ()
) -> SuiteReport:
    """The results of the tests of `base` with `overlay` laid over it (None: the file is removed), or of `select` alone.

    A command runs all its tests; of the results in its JUnit report those of `select` are kept. `base` is never written
    to. Raises ConfigError for a folder, path or setting that cannot be used, and SandboxUnavailable where nothing can
    contain the code.
    """
    sandbox.require(untrusted=True)
    if suite.command and suite.coverage:
        raise ConfigError("The coverage of a suite with a command of its own is not measured; leave `coverage` empty.")
    tree = read_tree(base, overlay)
    for name in map(inside, suite.coverage):
        if not (holds(tree, name) or (base / name).exists()):
            raise ConfigError(f"There is nothing at {name!r} whose coverage could be measured; check `coverage`.")
    record = Record()
    targets = [one for one in _targets(suite, select) if _there(tree, one, record)]
    if not targets and record.broken:
        return record.report("there is nothing to run: none of the tests asked for exists", _ran(suite))
    job = {
        "command": suite.command, "targets": list(dict.fromkeys(one.partition("::")[0] for one in targets)),
        "select": targets if any("::" in one for one in targets) else [],
        "also": [] if select else [one for one in map(inside, suite.also) if holds(tree, one)],
        "python_path": [inside(one) for one in suite.python_path], "coverage": [inside(one) for one in suite.coverage],
    }  # fmt: skip
    how = _run(_start(suite, sandbox, tree), record, packed(job, tree), suite)
    if suite.command:
        _conclude(suite, record, tree, how, select)
    return record.report(how, _ran(suite))


def packed(job: Mapping[str, object], tree: Tree) -> tuple[str, bytes]:
    """A fresh nonce, and the input of a box: one line, then the bytes of all files."""
    nonce = secrets.token_hex(16)
    entries = [[name, entry.kind, len(entry.data), entry.mode] for name, entry in tree.items()]
    head = json.dumps({**job, "nonce": nonce, "entries": entries}).encode()
    return nonce, b"".join((head, b"\n", *(entry.data for entry in tree.values())))


def _targets(suite: Suite, select: Sequence[str]) -> list[str]:
    wanted = [] if suite.command else list(select or suite.paths)
    return ["::".join((inside(file), *rest)) for file, *rest in (one.split("::") for one in wanted)]


def _there(tree: Tree, target: str, record: Record) -> bool:
    found = holds(tree, target.partition("::")[0])
    if not found:
        record.miss(target, "there is no such file or folder")
    return found


def _start(suite: Suite, sandbox: Sandbox, tree: Tree) -> Worker:
    project = size(tree)
    limits = Limits(
        lifetime_seconds=suite.seconds + 2 * STARTING, memory_mb=suite.memory_mb + project, processes=128,
        file_mb=SCRATCH_MB, workspace_mb=project + SCRATCH_MB, files=len(tree) * 2 + SCRATCH_FILES, open_files=1024,
    )  # fmt: skip
    environment = {"PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin", "PYTHONHASHSEED": "0"}
    if not suite.command:
        environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    return sandbox.start([sys.executable, "-P", "-c", _BOX], writable=True, limits=limits, env=environment)


def _run(worker: Worker, record: Record, given: tuple[str, bytes], suite: Suite) -> str:
    """Why the box was ended from outside, if it was."""
    nonce, job = given
    with worker:
        channel = Channel(worker, nonce)
        if feed(worker, job, time.monotonic() + STARTING):
            _follow(channel, record, suite.seconds)
        late = channel.late and record.done is None
        if not late and worker.alive:
            _settle(worker)
        ended = worker.ended
        worker.kill()
        record.output = record.output or worker.stderr_tail()
    if record.exit_code is None:
        record.exit_code = worker.exit_code
    return _why("timeout" if late else ended or "", suite, record)


def _follow(channel: Channel, record: Record, seconds: float) -> None:
    """Takes messages: until the box is ready, then until the tests are over, then for how their process ended."""
    deadline = time.monotonic() + STARTING
    while True:
        for said in channel.messages(deadline):
            was = record.ready, record.done
            record.take(said)
            if (record.ready, record.done) != was:
                deadline = time.monotonic() + (seconds if record.done is None else ENDING)
                break
            if said.ended is not None:
                return
        else:
            return


def _settle(worker: Worker) -> None:
    """Waits a little for the end that is on its way."""
    deadline = time.monotonic() + ENDING
    while worker.alive and time.monotonic() < deadline:
        time.sleep(0.002)


def _why(ended: str, suite: Suite, record: Record) -> str:
    if record.done is not None or ended in ("", "exited", "signalled"):
        return "" if record.ready else "the box of the tests did not start"
    reasons = {
        "timeout": f"the tests did not end within {suite.seconds:g} s",
        "memory": f"the tests were killed: memory (more than {suite.memory_mb} MiB)",
        "disk": f"the tests were killed: disk (more than {SCRATCH_MB} MiB written)",
        "files": f"the tests were killed: files (more than {SCRATCH_FILES} written)",
    }
    return reasons.get(ended, f"the tests were killed: {ended}")


def _conclude(suite: Suite, record: Record, tree: Tree, how: str, select: Sequence[str]) -> None:
    """The results of a command: those of its JUnit report, or its exit code as one."""
    if any(JUNIT in word for word in suite.command):
        if record.junit and not how:
            fill(record, base64.b64decode(record.junit), lambda file: file in tree)
            record.keep(list(select))
    elif not record.stopped:
        code, name = record.exit_code, cleaned(" ".join(suite.command), 200)
        outcome = "error" if how else "passed" if code == 0 else "failed"
        record.results[name] = TestResult(id=name, outcome=outcome, text=UNFINISHED if how else ending(code))
    if not how:
        record.done = Done(code=0)


def _ran(suite: Suite) -> str:
    if not suite.command:
        return f"pytest {version('pytest')}, Python {platform.python_version()}"
    weak = "" if any(JUNIT in word for word in suite.command) else " (weaker evidence: exit code alone)"
    return f"command {cleaned(' '.join(suite.command), 200)}{weak}"
