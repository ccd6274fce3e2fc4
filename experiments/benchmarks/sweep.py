"""What a sweep weighs: seconds and peak memory of +experiment=sim_thousand (1,000 simulated runs), Linux only.

python experiments/benchmarks/sweep.py [--repeats 3] [--jobs 2] [--workers processes] [--tracked]

Memory is the proportional set size of all processes of the command, added up and sampled twice a second: a page that
two processes share counts once. With --tracked MLflow's mirror is one of them; what it has left to write when the
command ends is waited for and told as `mirror`.
"""

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

COMMAND = (sys.executable, "-m", "looper", "-m", "+experiment=sim_thousand", "--json")
CELLS = 1000
PAUSE = 0.5
GONE = (FileNotFoundError, ProcessLookupError, PermissionError)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--workers", choices=("threads", "processes"), default="processes")
    parser.add_argument("--tracked", action="store_true", help="with MLflow's mirror")
    given = parser.parse_args()
    arguments = [f"jobs={given.jobs}", f"workers={given.workers}", f"tracking.enabled={str(given.tracked).lower()}"]
    found = [measured(arguments) for _ in range(given.repeats)]
    for place, name in enumerate(("seconds", "peak MB", "mirror s")):
        values = [row[place] for row in found]
        print(
            f"{name}: median {statistics.median(values):.0f}, {min(values):.0f} to {max(values):.0f} (n={len(values)})"
        )


def measured(arguments: list[str]) -> tuple[float, float, float]:
    """Seconds of the command, peak memory in MB, seconds of the mirror after it. Raises if a cell did not end."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        with subprocess.Popen(
            [*COMMAND, *arguments, f"outputs={folder}/outputs"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            peak, table = sampled(process)
        took = time.monotonic() - began
        ended = [row for row in json.loads(table) if row["status"] in ("completed", "stopped")]
        if process.returncode or len(ended) != CELLS:
            raise SystemExit(f"{len(ended)} of {CELLS} cells ended, exit code {process.returncode}")
        for pid in mirrors(folder):
            while Path(f"/proc/{pid}").exists():
                peak = max(peak, memory([pid]))
                time.sleep(PAUSE)
        return took, peak / 2**20, time.monotonic() - began - took


def sampled(process: "subprocess.Popen[bytes]") -> tuple[float, bytes]:
    """The peak while it runs, and what it said."""
    peak = 0.0
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return peak, process.communicate(timeout=PAUSE)[0]
        peak = max(peak, memory(tree(process.pid)))


def tree(root: int) -> list[int]:
    """The process and all that come of it."""
    parents = {}
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(*GONE):
            parents[int(place.name)] = int((place / "stat").read_text().rpartition(")")[2].split()[1])
    found = [root]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def memory(pids: list[int]) -> float:
    """Bytes that these processes hold."""
    return sum(held(pid) for pid in pids)


def held(pid: int) -> float:
    with contextlib.suppress(*GONE):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return next((float(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0.0)
    return 0.0


def mirrors(folder: str) -> Iterator[int]:
    """Processes that write to MLflow below this folder after the command has ended: their log is open there."""
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(*GONE):
            if str((place / "fd/2").readlink()).startswith(folder):
                yield int(place.name)


if __name__ == "__main__":
    main()
