"""MLflow's own UI, served to this machine alone."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

from looper.tracking import Tracking, sync


def ui_command(outputs: Path, tracking: Tracking, port: int) -> list[str]:
    """The command that serves MLflow's own UI to this machine alone."""
    place = tracking.place(outputs)
    return [
        sys.executable, "-P", "-m", "mlflow", "server", "--backend-store-uri", place.uri,
        "--default-artifact-root", (place.outputs / "mlartifacts").as_uri(),
        "--host", "127.0.0.1", "--port", str(port), "--workers", "1",
    ]  # fmt: skip


def free_port() -> int:
    """A port of 127.0.0.1 that nobody uses at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def ui(outputs: Path, tracking: Tracking, port: int | None = None, say: Callable[[str], None] = print) -> int:
    """MLflow's UI on 127.0.0.1 until Ctrl-C; says its address once it answers. Returns an exit code."""
    uri = tracking.uri or ""
    if uri.startswith(("http://", "https://")):
        say(f"MLflow's UI is served by the tracking server itself: {uri}")
        return 0
    sync(outputs, tracking, [])  # creates or upgrades the store under the lock
    port = port or free_port()
    environment = {**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}
    print("MLflow's UI is starting, which takes some ten seconds ...", file=sys.stderr)
    with (outputs / "ui.log").open("ab") as log:
        server = subprocess.Popen(
            ui_command(outputs, tracking, port), stdout=log, stderr=log, start_new_session=True, env=environment
        )
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # a server must not outlive us
    try:
        if not _answering(server, f"http://127.0.0.1:{port}/health"):
            say(f"MLflow's UI did not start; see {outputs / 'ui.log'}")
            return 1
        say(f"MLflow's UI: http://127.0.0.1:{port} (end with Ctrl-C)")
        return server.wait()
    except KeyboardInterrupt:
        return 0
    finally:
        _end(server)
        signal.signal(signal.SIGTERM, before)


def _answering(server: "subprocess.Popen[bytes]", address: str, seconds: float = 120.0) -> bool:
    """Whether the server answers within so many seconds (7-8 s on an idle machine, STACK, MLflow)."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and server.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=2):
            return True
        time.sleep(0.2)
    return False


def _end(server: "subprocess.Popen[bytes]") -> None:
    """End the server and its workers."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(10)
            return
