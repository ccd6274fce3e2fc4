"""Hostile programs, run for real on every strong rung of this machine (SAFETY P9).

An attack prints BROKE when it got what it wanted and TRIED when it is through. Those marked `outside` are first run
without a sandbox, where they must succeed: a blind attack proves nothing.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from looper.checks.sandbox import Limits, Result, Sandbox

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the strong rungs need Linux")
LIMITS = Limits(seconds=1, memory_mb=256, processes=12, file_mb=4, workspace_mb=16, files=300, output_kb=64)
PRELUDE = """
import ctypes, fcntl, json, mmap, os, resource, signal, socket, struct, sys, threading, time
E = json.loads(sys.argv[1]); HOST = E["host"]
call = ctypes.CDLL(None, use_errno=True).syscall
def attempt(action):
    try:
        got = action()
    except BaseException as error:
        print("refused", type(error).__name__, error)
    else:
        if got not in (None, False, -1, b"", ""): print("BROKE", repr(got)[:200])
    sys.stdout.flush()
def done(action): action(); return True
"""
OUTSIDE = {
    "reads a file of the user": 'attempt(lambda: open(E["canary"]).read())',
    "lists a folder of the user": 'attempt(lambda: os.listdir(os.path.dirname(E["canary"])))',
    "reads the list of accounts": 'attempt(lambda: open("/etc/passwd").read())',
    "finds a secret in the environment": 'attempt(lambda: os.environ.get("LOOPER_SECRET"))',
    "finds a secret in the environment of another process":
        'attempt(lambda: b"hunter2" in open(f"/proc/{HOST}/environ", "rb").read())',
    "finds a process of the host": 'attempt(lambda: E["token"] in open(f"/proc/{HOST}/cmdline").read())',
    "writes a file of the user": 'attempt(lambda: done(lambda: open(E["target"], "w").write("x")))',
    "appends to a file of the user": 'attempt(lambda: done(lambda: open(E["victim"], "a").write("x")))',
    "shortens a file of the user": 'attempt(lambda: done(lambda: os.truncate(E["victim"], 0)))',
    "changes the mode of a file": 'attempt(lambda: done(lambda: os.chmod(E["victim"], 0o666)))',
    "changes the time of a file": 'attempt(lambda: done(lambda: os.utime(E["victim"], (1, 1))))',
    "deletes a file of the user": 'attempt(lambda: done(lambda: os.unlink(E["victim"])))',
    "renames a file of the user": 'attempt(lambda: done(lambda: os.rename(E["victim"], E["victim"] + "2")))',
    "follows a link out of the work folder": """
        os.symlink(E["canary"], "way-out"); attempt(lambda: open("way-out").read())""",
    "makes a hard link to a file of the user": """
        attempt(lambda: done(lambda: os.link(E["canary"], "copy"))); attempt(lambda: open("copy").read())""",
    "connects to a server on loopback": """
        attempt(lambda: done(lambda: socket.create_connection(("127.0.0.1", E["port"]), timeout=1)))""",
    "connects to a socket of the host": """
        attempt(lambda: done(lambda: socket.socket(socket.AF_UNIX).connect(E["socket"])))""",
    "connects to an abstract socket of the host": """
        attempt(lambda: done(lambda: socket.socket(socket.AF_UNIX).connect(chr(0) + E["token"])))""",
    "sends from a socket pair to a socket of the host": """
        left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        attempt(lambda: done(lambda: left.sendto(b"x", E["datagrams"])))
        attempt(lambda: done(lambda: right.sendmsg([b"x"], [], 0, E["datagrams"])))""",
    "signals a process of the host": "attempt(lambda: done(lambda: os.kill(HOST, signal.SIGCONT)))",
    "makes the kernel signal a process of the host": """
        left, right = socket.socketpair(); attempt(lambda: done(lambda: fcntl.fcntl(left, fcntl.F_SETOWN, HOST)))""",
    "slows a process of the host": "attempt(lambda: done(lambda: os.setpriority(os.PRIO_PROCESS, HOST, 5)))",
    "limits a process of the host":
        "attempt(lambda: done(lambda: resource.prlimit(HOST, resource.RLIMIT_CORE, (0, 0))))",
    "reads the memory of a process of the host":
        'attempt(lambda: call(310, HOST, 0, 0, 0, 0, 0) >= 0 or open(f"/proc/{HOST}/maps").read())',
    "makes memory that no process maps": 'attempt(lambda: os.memfd_create("x") >= 0)',
    "makes a System V segment": "attempt(lambda: call(29, 0, 4096, 0o1600) >= 0)",
}  # fmt: skip
INSIDE = {
    "becomes root": "attempt(lambda: done(lambda: os.setuid(0))) if os.getuid() else print('BROKE root')",
    "has a capability": """
        attempt(lambda: int([line for line in open("/proc/self/status") if "CapEff" in line][0][7:], 16) > 0)""",
    "mounts": 'attempt(lambda: call(165, b"none", b"/tmp", b"tmpfs", 0, 0) == 0)',
    "makes a user namespace": "attempt(lambda: call(272, 0x10000000) == 0)",
    "clones into a user namespace": """
        pid = call(56, 0x10000011, 0, 0, 0, 0)
        if pid == 0: os._exit(0)
        attempt(lambda: pid > 0)""",
    "changes its root": 'attempt(lambda: done(lambda: os.chroot("/tmp")))',
    "makes a device": 'attempt(lambda: done(lambda: os.mknod("disk", 0o60600, os.makedev(8, 0))))',
    "traces": "attempt(lambda: call(101, 16, os.getppid(), 0, 0) == 0)",
    "loads a kernel program": 'attempt(lambda: call(321, 0, b"\\0" * 64, 64) >= 0)',
    "opens a kernel ring": 'attempt(lambda: call(425, 8, b"\\0" * 120) >= 0)',
    "watches page faults": "attempt(lambda: call(323, 1) >= 0)",
    "sends raw packets": "attempt(lambda: done(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW)))",
    "reaches the hypervisor": "attempt(lambda: done(lambda: socket.socket(40, socket.SOCK_STREAM)))",
    "reaches the ciphers of the kernel": "attempt(lambda: done(lambda: socket.socket(38, socket.SOCK_SEQPACKET)))",
    "keeps a key in the kernel": 'attempt(lambda: call(248, b"user", b"looper-test", b"x", 1, -2) > 0)',
    "types into a terminal": """
        attempt(lambda: [fcntl.ioctl(os.openpty()[1], 0x5412, b"x")])""",
    "raises its limits": """
        for name in (resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE, resource.RLIMIT_AS):
            attempt(lambda: done(lambda: resource.setrlimit(name, (-1, -1))))""",
    "writes to the interpreter": 'attempt(lambda: done(lambda: open(sys.prefix + "/owned", "w")))',
    "writes to the system": 'attempt(lambda: done(lambda: open("/usr/owned", "w")))',
    "writes to the kernel": 'attempt(lambda: done(lambda: open("/proc/sys/kernel/core_pattern", "w").write("x")))',
    "fills the folder of devices": 'attempt(lambda: done(lambda: open("/dev/owned", "w")))',
    "reads a hidden folder": 'attempt(lambda: open(E["hidden"]).read())',
}
BOUNDED = {
    "forks until refused": ("""
        count = 0
        try:
            while count < 500:
                if os.fork() == 0: time.sleep(60)
                count += 1
        except OSError: pass
        print("BROKE" if count > 200 else "bounded", count)""", {"exited", "memory"}),
    "starts threads until refused": ("""
        count = 0
        try:
            while count < 500: threading.Thread(target=time.sleep, args=(60,), daemon=True).start(); count += 1
        except RuntimeError: pass
        print("BROKE" if count > 200 else "bounded", count, flush=True); os._exit(0)
        """, {"exited", "timeout", "memory"}),
    "takes memory in one process": ("x = bytearray(700 << 20); time.sleep(60)", {"memory"}),
    "takes memory in small steps": ("x = []\nwhile True: x.append(bytearray(1 << 20)); time.sleep(0.0005)", {"memory"}),
    "takes memory in many processes": ("""
        for _ in range(7):
            if os.fork() == 0: break
        x = bytearray(40 << 20); time.sleep(60)""", {"memory"}),
    "takes shared memory": ("m = mmap.mmap(-1, 600 << 20)\nfor at in range(0, len(m), 4096): m[at] = 1", {"memory"}),
    "spins": ("while True: pass", {"timeout"}),
    "spins and ignores the signal": ("signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass", {"timeout"}),
    "sleeps": ("time.sleep(60)", {"timeout"}),
    "sleeps with its streams closed": ("os.closerange(0, 3); time.sleep(60)", {"timeout"}),
    "stops itself": ("os.kill(os.getpid(), signal.SIGSTOP)\nos.close(1); time.sleep(60)", {"timeout"}),
    "floods its output": ('while True: os.write(1, b"x" * 65536)', {"output"}),
    "floods its errors": ('while True: os.write(2, b"x" * 65536)', {"output"}),
    "writes one large file": ("""
        try: open("big", "wb").write(bytes(20 << 20))
        except OSError as error: print("refused", error)
        print("BROKE" if os.path.getsize("big") > 5 << 20 else "")""", {"exited", "disk"}),
    "writes many large files": ("""
        try:
            for at in range(60):
                with open(f"big{at}", "wb") as file: file.write(bytes(4 << 20))
            time.sleep(60)
        except OSError as error: print("refused", error)""", {"exited", "disk", "memory"}),
    "makes many empty files": ("for at in range(60000): open(f'f{at}', 'w').close()\ntime.sleep(60)", {"files"}),
    "fills the shared memory": ("""
        for at in range(60):
            with open(f"/dev/shm/big{at}", "wb") as file: file.write(bytes(4 << 20))
        print("BROKE")""", {"exited", "memory", "disk"}),
}  # fmt: skip
SURVIVORS = {
    "a child": "if os.fork() == 0: time.sleep(60)",
    "a daemon": """
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0: os.closerange(0, 3); time.sleep(60)
            os._exit(0)
        time.sleep(0.2)""",
    "a child that ignores signals": """
        if os.fork() == 0:
            os.setpgid(0, 0); [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 3, 13, 15)]; time.sleep(60)""",
    "a chain of forks": """
        if os.fork() == 0:
            while True:
                if os.fork(): os._exit(0)
                time.sleep(0.01)
        time.sleep(0.3)""",
}


@pytest.fixture(params=["bubblewrap", "landlock"])
def sandbox(request: pytest.FixtureRequest, tmp_path: Path) -> Sandbox:
    (tmp_path / "readable" / "inner").mkdir(parents=True)
    (tmp_path / "readable" / "inner" / "answers").write_text("42")
    shown, hidden = str(tmp_path / "readable"), str(tmp_path / "readable" / "inner")
    sandbox = Sandbox(level=request.param, limits=LIMITS, read_only=(shown,), hidden=(hidden,))
    found = sandbox.capability()
    if found.level == "none":
        pytest.skip(f"not available here: {found.missing}")
    return sandbox


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """What an attacker would like to reach: files, servers and a process of this machine."""
    token = f"looper-attack-{os.getpid()}-{time.monotonic_ns()}"
    monkeypatch.setenv("LOOPER_SECRET", "hunter2")
    home = tmp_path / "home"
    home.mkdir()
    for name in ("canary", "victim"):
        (home / name).write_text("secret")
        (home / name).chmod(0o644)
    servers = {"port": socket.create_server(("127.0.0.1", 0)), "socket": socket.socket(socket.AF_UNIX)}
    servers["abstract"] = socket.socket(socket.AF_UNIX)
    servers["datagrams"] = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    monkeypatch.chdir(home)  # the path of a socket has to be short
    servers["socket"].bind("s")
    servers["datagrams"].bind("d")
    servers["abstract"].bind("\0" + token)
    servers["socket"].listen()
    servers["abstract"].listen()
    host = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)", token])
    try:
        yield {
            "token": token, "host": host.pid, "canary": str(home / "canary"), "victim": str(home / "victim"),
            "target": str(home / "new"), "port": servers["port"].getsockname()[1], "socket": str(home / "s"),
            "datagrams": str(home / "d"), "hidden": str(tmp_path / "readable" / "inner" / "answers"),
        }  # fmt: skip
        assert host.poll() is None, "a process of the host was ended"
    finally:
        host.kill()
        host.wait()
        for server in servers.values():
            server.close()


def program(body: str, world: dict[str, Any]) -> list[str]:
    code = PRELUDE + textwrap.dedent(body).strip() + "\nprint('TRIED')\n"
    return [sys.executable, "-S", "-c", code, json.dumps(world)]


def left_over(token: str, host: int) -> list[str]:
    """Processes that carry the token of this test, other than its own victim; a moment is given to the dying."""
    deadline = time.monotonic() + 0.5
    while True:
        found = [path.parent.name for path in Path("/proc").glob("[0-9]*/cmdline") if _mentions(path, token)]
        found = [pid for pid in found if int(pid) != host]
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.01)


def _mentions(path: Path, token: str) -> bool:
    try:
        return token.encode() in path.read_bytes()
    except OSError:
        return False


def check(result: Result, world: dict[str, Any]) -> None:
    """What holds whatever the program did."""
    assert b"BROKE" not in result.stdout, result
    assert result.seconds <= LIMITS.seconds + 0.5, result
    assert result.peak_mb <= LIMITS.memory_mb * 1.2, result
    assert len(result.stdout) <= LIMITS.output_kb * 1024
    assert left_over(world["token"], world["host"]) == []
    assert Path(world["canary"]).read_text() == "secret"
    assert not Path(world["target"]).exists()


@pytest.mark.parametrize("name", OUTSIDE)
def test_an_attack_that_works_outside_fails_inside(name: str, sandbox: Sandbox, world: dict[str, Any]) -> None:
    result = sandbox.run(program(OUTSIDE[name], world), writable=True)
    assert b"TRIED" in result.stdout, result
    check(result, world)
    victim = Path(world["victim"])
    assert (victim.read_text(), victim.stat().st_mode & 0o777, victim.stat().st_mtime > 1) == ("secret", 0o644, True)


@pytest.mark.parametrize("name", OUTSIDE)
def test_an_attack_is_not_blind(name: str, world: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "bare").mkdir()
    bare = subprocess.run(program(OUTSIDE[name], world), capture_output=True, cwd=tmp_path / "bare", check=False)
    assert b"BROKE" in bare.stdout, bare


@pytest.mark.parametrize("name", INSIDE)
def test_a_forbidden_act_is_refused(name: str, sandbox: Sandbox, world: dict[str, Any]) -> None:
    result = sandbox.run(program(INSIDE[name], world), writable=True)
    assert b"TRIED" in result.stdout, result
    check(result, world)


@pytest.mark.parametrize("name", BOUNDED)
def test_a_glutton_is_bounded(name: str, sandbox: Sandbox, world: dict[str, Any]) -> None:
    body, ends = BOUNDED[name]
    result = sandbox.run(program(body, world), writable=True)
    check(result, world)
    assert result.ended in ends, result


@pytest.mark.parametrize("name", SURVIVORS)
def test_nothing_survives_the_end_of_a_program(name: str, sandbox: Sandbox, world: dict[str, Any]) -> None:
    result = sandbox.run(program(SURVIVORS[name], world), writable=True)
    check(result, world)
    assert result.ended == "exited", result
    assert result.seconds < 0.9, "it was not the end of the program that ended the box"


def test_killing_everything_in_reach_reaches_nothing(sandbox: Sandbox, world: dict[str, Any]) -> None:
    """Not tried outside, for the sake of the machine."""
    result = sandbox.run(program("os.kill(-1, 9) if os.getpid() != 1 else None", world), writable=True)
    check(result, world)


@pytest.mark.parametrize("writable", [True, False])
def test_nothing_survives_a_killed_looper(writable: bool, sandbox: Sandbox, world: dict[str, Any]) -> None:
    body = "[os.fork() for _ in range(2)]\nif os.fork() == 0: os.setsid()\ntime.sleep(60)"
    host = f"""
        import sys, time; from looper.checks.sandbox import Sandbox
        box = Sandbox(level={sandbox.level!r}).start({program(body, world)!r}, writable={writable})
        print(box.pid, flush=True); time.sleep(60)"""
    looper = subprocess.Popen([sys.executable, "-c", textwrap.dedent(host)], stdout=subprocess.PIPE)
    assert looper.stdout is not None
    assert looper.stdout.readline()
    world_pids = [looper.pid, world["host"]]
    deadline = time.monotonic() + 5
    while len(boxed(world["token"], world_pids)) < 4 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(boxed(world["token"], world_pids)) >= 4, "the program did not start"
    looper.send_signal(signal.SIGKILL)
    looper.wait()
    looper.stdout.close()
    deadline = time.monotonic() + 2
    while boxed(world["token"], world_pids) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert boxed(world["token"], world_pids) == []


def boxed(token: str, known: list[int]) -> list[str]:
    found = [path.parent.name for path in Path("/proc").glob("[0-9]*/cmdline") if _mentions(path, token)]
    return [pid for pid in found if int(pid) not in known]


@pytest.mark.parametrize(
    "start", ["os.fork() or time.sleep(9)", "threading.Thread(target=time.sleep, args=(9,)).start()"]
)
def test_processes_and_threads_are_counted_also_for_root(start: str, sandbox: Sandbox, world: dict[str, Any]) -> None:
    """With memory to spare, so that it is the count that ends it."""
    body = f"""
        count = 0
        try:
            while count < 90: {start}; count += 1
        except (OSError, RuntimeError): pass
        print("BROKE" if count >= 90 else "bounded", count, flush=True); os._exit(0)"""
    result = sandbox.run(program(body, world), limits=Limits(seconds=5, processes=8, memory_mb=2048))
    assert b"bounded" in result.stdout, result
    assert left_over(world["token"], world["host"]) == []
