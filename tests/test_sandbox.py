"""The sandbox as its callers use it, and what it says when a piece is missing (SAFETY P10, P11)."""

import ast
import os
import platform
import shutil
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from looper.checks.sandbox import Capability, Level, Limits, Sandbox, collect, text_of
from looper.checks.sandbox import probe as sandbox_probe
from looper.checks.sandbox.bubblewrap import data_folders
from looper.checks.sandbox.folder import write_inside
from looper.checks.sandbox.seccomp import seccomp_program
from looper.errors import ConfigError, SandboxUnavailable

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the sandbox needs a POSIX system")
PYTHON = [sys.executable, "-S", "-c"]


@pytest.fixture(params=["bubblewrap", "landlock", "rlimits"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    sandbox = Sandbox(level=request.param)
    if sandbox.capability().level == "none":
        pytest.skip(f"not available here: {sandbox.capability().missing}")
    return sandbox


@pytest.fixture
def fresh_probe() -> Iterator[None]:
    """Forgets what was found before and after, for tests that pretend to be another machine."""
    sandbox_probe.capability_of.cache_clear()
    yield
    sandbox_probe.capability_of.cache_clear()


def test_a_program_finds_its_files_and_says_what_it_has_to_say(sandbox: Sandbox) -> None:
    code = "import sys; print(open('a/b').read(), sys.stdin.read()); print('oops', file=sys.stderr); sys.exit(3)"
    result = sandbox.run([*PYTHON, code], files={"a/b": "text"}, stdin=b"input")
    assert (result.exit_code, result.ended, result.truncated) == (3, "exited", False)
    assert (result.stdout, result.stderr) == (b"text input\n", b"oops\n")


def test_the_environment_is_what_the_caller_gave_and_a_few_names(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOPER_SECRET", "hunter2")
    result = sandbox.run([*PYTHON, "import os; print(sorted(os.environ))"], env={"MINE": "1"})
    names = set(ast.literal_eval(result.stdout.decode()))
    assert names <= {
        "MINE",
        "PATH",
        "HOME",
        "TMPDIR",
        "LANG",
        "PYTHONPATH",
        "PYTHONDONTWRITEBYTECODE",
        "PWD",
        "LC_CTYPE",
    }
    assert "MINE" in names


def test_a_worker_module_of_looper_starts_inside(sandbox: Sandbox) -> None:
    result = sandbox.run([sys.executable, "-c", "import looper.types, pydantic; print('ready')"])
    assert result.stdout == b"ready\n", result


def test_a_read_only_workspace_shows_the_changed_file_and_stays_as_it_was(sandbox: Sandbox, tmp_path: Path) -> None:
    source = tmp_path / "src"
    source.mkdir()
    (source / "maths.py").write_text("old")
    (source / "other.py").write_text("other")
    (tmp_path / "link.py").symlink_to("src/other.py")
    code = "print(*[open(n).read() for n in ('src/maths.py', 'src/other.py', 'link.py', 'new/file')])"
    files = {"src/maths.py": "new", "new/file": b"more"}
    result = sandbox.run([*PYTHON, code], workspace=tmp_path, files=files)
    assert result.stdout == b"new other other more\n", result
    assert (source / "maths.py").read_text() == "old"
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("mode", [0o755, 0o700])
def test_a_workspace_is_readable_whoever_runs_the_program(sandbox: Sandbox, tmp_path: Path, mode: int) -> None:
    (tmp_path / "data").write_text("data")
    (tmp_path / "data").chmod(mode & 0o666)
    tmp_path.chmod(mode)
    assert sandbox.run([*PYTHON, "print(open('data').read())"], workspace=tmp_path).stdout == b"data\n"


def test_a_writable_workspace_keeps_what_was_written(sandbox: Sandbox, tmp_path: Path) -> None:
    result = sandbox.run(
        [*PYTHON, "open('out', 'w').write(open('in').read())"], workspace=tmp_path, files={"in": "x"}, writable=True
    )
    assert result.exit_code == 0, result
    assert collect(tmp_path, ["out"]) == {"out": b"x"}


@pytest.mark.parametrize("level", ["bubblewrap", "landlock"])
def test_a_read_only_work_folder_cannot_be_written(level: Level, tmp_path: Path) -> None:
    sandbox = Sandbox(level=level)
    if sandbox.capability().level == "none":
        pytest.skip(f"not available here: {sandbox.capability().missing}")
    for workspace in (None, tmp_path):
        assert b"rror" in sandbox.run([*PYTHON, "open('x', 'w')"], workspace=workspace).stderr


def test_output_is_cut_and_counted_whatever_it_is(sandbox: Sandbox) -> None:
    code = "import os; os.write(1, b'\\xff\\xfe' + b'x' * 300000); os.write(2, b'y' * 10)"
    result = sandbox.run([*PYTHON, code], limits=Limits(output_kb=64))
    assert (len(result.stdout), result.truncated, result.ended) == (65536, True, "exited")
    assert text_of(result.stdout).startswith("\ufffd\ufffdx")


def test_input_that_is_never_read_holds_nothing_up(sandbox: Sandbox) -> None:
    assert sandbox.run([*PYTHON, "print('done')"], stdin=b"x" * 10_000_000).stdout == b"done\n"


def test_a_signal_and_a_time_limit_have_their_own_names(sandbox: Sandbox) -> None:
    dead = sandbox.run([*PYTHON, "import os; os.abort()"])
    assert (dead.ended, dead.exit_code) == ("signalled", -6) or dead.exit_code == -11, dead
    late = sandbox.run([*PYTHON, "import time; time.sleep(9)"], limits=Limits(seconds=0.3))
    assert (late.ended, late.exit_code) == ("timeout", None)
    assert late.seconds < 0.8


def test_a_worker_answers_until_it_is_closed(sandbox: Sandbox) -> None:
    code = "import sys\nprint('said', file=sys.stderr)\nfor line in sys.stdin: print(line.upper(), end='', flush=True)"
    with sandbox.start([*PYTHON, code]) as worker:
        for word in (b"one\n", b"two\n"):
            worker.stdin.write(word)
            assert worker.stdout.readline() == word.upper()
        assert worker.alive
        assert worker.ended is None
    assert not worker.alive
    assert "said" in worker.stderr_tail()


def test_a_worker_outlives_the_thread_that_started_it(sandbox: Sandbox) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        worker = pool.submit(sandbox.start, [*PYTHON, "print(input())"]).result()
    with worker:
        worker.stdin.write(b"still here\n")
        assert worker.stdout.readline() == b"still here\n"


def test_a_worker_over_its_memory_is_ended_by_name(sandbox: Sandbox) -> None:
    with sandbox.start([*PYTHON, "input(); x = bytearray(600 << 20); input()"], limits=Limits(memory_mb=200)) as worker:
        worker.stdin.write(b"\n")
        assert worker.stdout.read() == b""
        assert worker.wait() == "memory"
        assert worker.peak_mb <= 240


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/../../x", "", "a\0b"])
def test_a_file_outside_the_work_folder_is_refused(name: str) -> None:
    with pytest.raises((ConfigError, SandboxUnavailable), match=r"inside the work folder|cannot be had"):
        Sandbox().run(["true"], files={name: "x"})


def test_nothing_is_written_through_a_link_that_was_left(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("kept")
    work = tmp_path / "work"
    work.mkdir()
    (work / "folder").symlink_to(outside)
    (work / "file").symlink_to(outside / "file")
    write_inside(work, {"file": b"new"})
    with pytest.raises(NotADirectoryError, match="folder"):
        write_inside(work, {"folder/file": b"new"})
    assert (outside / "file").read_text() == "kept"
    assert (work / "file").read_text() == "new"


# --- what is missing ---------------------------------------------------------------------------------------------


def pretend(monkeypatch: pytest.MonkeyPatch, bubblewrap: str | None, landlock: str | None, rlimits: str | None) -> None:
    reasons: dict[Level, str | None] = {"bubblewrap": bubblewrap, "landlock": landlock, "rlimits": rlimits}
    for rung, reason in reasons.items():
        monkeypatch.setitem(sandbox_probe._PROBES, rung, lambda reason=reason: reason)


@pytest.mark.usefixtures("fresh_probe")
def test_without_bubblewrap_the_next_rung_is_named_and_the_package_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    found = Sandbox().capability()
    assert found.level != "bubblewrap"
    assert found.missing[0] == "bubblewrap: bwrap is not installed"
    if platform.system() == "Linux":
        assert "apt-get install bubblewrap" in found.advice


@pytest.mark.usefixtures("fresh_probe")
@pytest.mark.skipif(platform.system() != "Linux", reason="the advice is for Linux")
def test_refused_namespaces_are_named_with_the_way_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    for name in ("prlimit", "setpriv"):
        (tmp_path / name).symlink_to("/bin/true")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = Sandbox().capability()
    assert found.level != "bubblewrap"
    assert "setting up uid map: Permission denied" in found.missing[0]
    assert "apparmor_restrict_unprivileged_userns" in found.advice


@pytest.mark.usefixtures("fresh_probe")
def test_the_strongest_rung_that_starts_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, bubblewrap="no namespaces", landlock=None, rlimits=None)
    assert Sandbox().capability().level == "landlock"
    assert Sandbox().require(untrusted=True).missing == ["bubblewrap: no namespaces"]


@pytest.mark.usefixtures("fresh_probe")
def test_plain_limits_are_refused_to_a_model_and_lent_to_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, bubblewrap="no namespaces", landlock="no Landlock", rlimits=None)
    with pytest.raises(SandboxUnavailable, match=r"no namespaces.*no Landlock.*unsafe_ok"):
        Sandbox().require(untrusted=True)
    assert Sandbox().require(untrusted=False).level == "rlimits"
    assert Sandbox(unsafe_ok=True).require(untrusted=True).level == "rlimits"


@pytest.mark.usefixtures("fresh_probe")
def test_a_named_rung_is_used_or_refused_but_never_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, bubblewrap="no namespaces", landlock=None, rlimits=None)
    for untrusted in (True, False):
        with pytest.raises(SandboxUnavailable, match="no namespaces"):
            Sandbox(level="bubblewrap").require(untrusted)
    with pytest.raises(SandboxUnavailable, match="cannot be had"):
        Sandbox(level="bubblewrap", unsafe_ok=True).run(["true"])


@pytest.mark.usefixtures("fresh_probe")
def test_nothing_at_all_runs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, bubblewrap="a", landlock="b", rlimits="c")
    for sandbox in (Sandbox(), Sandbox(unsafe_ok=True)):
        with pytest.raises(SandboxUnavailable, match=r"cannot be had|protects neither"):
            sandbox.require(untrusted=False)
    with pytest.raises(SandboxUnavailable, match="unsafe_ok"):
        Sandbox(level="none").run(["true"])
    assert Sandbox(level="none", unsafe_ok=True).capability() == Capability("none")


def test_a_processor_without_a_table_has_no_filter() -> None:
    assert seccomp_program(alone=True, machine="mips") is None
    assert len(seccomp_program(alone=True, signals=False, machine="aarch64") or b"") % 8 == 0


def test_folders_of_data_are_hidden_and_folders_of_code_are_not() -> None:
    assert not any(Path(folder, "__init__.py").exists() for folder in data_folders())


# --- what was left behind ----------------------------------------------------------------------------------------


def test_only_regular_files_of_the_listed_names_are_collected(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    left = tmp_path / "left"
    (left / "deep").mkdir(parents=True)
    (left / "deep" / "report.txt").write_bytes(b"\xff\xfe not text")
    (left / "a.txt").write_text("a")
    (left / "a.py").write_text("not asked for")
    (left / "link.txt").symlink_to(secret)
    (left / "folder.txt").symlink_to(tmp_path)
    (left / "loop.txt").symlink_to(left / "loop.txt")
    os.mkfifo(left / "pipe.txt")
    (left / "huge.txt").write_bytes(bytes(2 << 20))
    (left / "directory.txt").mkdir()
    for name in ("new\nline.txt", "esc\x1b[31m.txt", "\udcff.txt", "x" * 240 + ".txt", "\u202etxt.txt"):
        (left / name).write_text("hostile")
    with socket.socket(socket.AF_UNIX) as server:
        here = os.open(left, os.O_RDONLY)
        server.bind(f"/proc/self/fd/{here}/s.txt" if platform.system() == "Linux" else str(left / "s.txt"))
        os.close(here)
    found = collect(left, ["*.txt"], Limits(file_mb=1))
    assert set(found) == {"a.txt", "deep/report.txt", "x" * 240 + ".txt"}
    assert text_of(found["deep/report.txt"]) == "\ufffd\ufffd not text"


def test_a_link_in_place_of_the_folder_collects_nothing(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a").write_text("a")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert collect(tmp_path / "link", ["*"]) == {}
    assert collect(tmp_path / "missing", ["*"]) == {}


def test_a_collection_ends_at_its_limits(tmp_path: Path) -> None:
    for at in range(50):
        (tmp_path / f"f{at:02}").write_bytes(bytes(100_000))
    assert len(collect(tmp_path, ["*"], Limits(files=20))) == 20
    assert sum(map(len, collect(tmp_path, ["*"], Limits(workspace_mb=1)).values())) <= 2**20


# --- what it costs -----------------------------------------------------------------------------------------------


def test_a_box_costs_little_more_than_the_program(sandbox: Sandbox) -> None:
    argv = [sys.executable, "-I", "-S", "-c", "pass"]
    bare, boxed = [], []
    for _ in range(7):
        start = time.perf_counter()
        subprocess.run(argv, capture_output=True, check=True)
        bare.append(time.perf_counter() - start)
        boxed.append(sandbox.run(argv).seconds)
    over = statistics.median(boxed) - statistics.median(bare)
    print(f"{sandbox.level}: {1000 * over:.1f} ms over {1000 * statistics.median(bare):.1f} ms")
    assert over < 10 * statistics.median(bare) + 0.1
