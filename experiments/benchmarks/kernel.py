"""What the kernel costs: durable steps a second, many runs at once, start-up.

    .venv/bin/python experiments/benchmarks/kernel.py [--repeats 5]

Prints medians and ranges. Everything is compared within this one run: the bare write + fdatasync on the same disk, the
ideal wall time of the simulated calls. Figures in the README come from here.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from pydantic import BaseModel

from looper.agents.simulated import Simulated
from looper.budget import Budget, Ledger
from looper.journal import Journal
from looper.run import Run
from looper.stage import Stage

ROOT = Path(__file__).parents[2]
STEPS, RUNS, CALLS, LATENCY = 2000, 100, 20, 0.05


class Word(BaseModel):
    """An answer of no weight."""

    text: str = "word"


class Talk:
    """A task whose simulated roles answer at once."""

    goal = "talk"

    def simulate(self, _question: object, _skill: float, _dice: object) -> Word:
        return Word()


class Seat:
    """One simulated agent in every role."""

    def __init__(self, latency: float):
        self.one = Simulated(latency=latency)

    def agent(self, _role: str, _step: str, _task: object) -> Simulated:
        return self.one


def run_of(folder: Path, latency: float, sync: bool) -> Run:
    journal = Journal(folder / "history.jsonl", run_id="bench", sync=sync)
    return Run(Stage(Talk(), Seat(latency), journal, Ledger(Budget(inner=None, outer=None))))


def durable_steps(folder: Path) -> float:
    run = run_of(folder, 0.0, sync=True)
    began = time.perf_counter()
    for number in range(STEPS):
        run.ask("speaker", Word, number=number, words="some context of a hundred characters or so " * 3)
    took = time.perf_counter() - began
    run.stage.journal.close()
    return STEPS / took


def bare_writes(folder: Path) -> float:
    line = b"x" * 420 + b"\n"
    file = os.open(folder / "bare", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    began = time.perf_counter()
    for _ in range(STEPS):
        os.write(file, line)
        os.fdatasync(file)
    took = time.perf_counter() - began
    os.close(file)
    return STEPS / took


def many_runs(folder: Path, sync: bool) -> float:
    """Wall time of RUNS runs of CALLS calls at LATENCY, over the ideal."""

    def one(number: int) -> None:
        run = run_of(folder / str(number), LATENCY, sync)
        for call in range(CALLS):
            run.ask("speaker", Word, call=call)
        run.stage.journal.close()

    threads = [threading.Thread(target=one, args=(number,)) for number in range(RUNS)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return (time.perf_counter() - began) / (CALLS * LATENCY)


def listing(_folder: Path) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "looper"], cwd=ROOT, check=True, capture_output=True)
    return time.perf_counter() - began


def first_step(folder: Path) -> float:
    """Seconds from the start of the process to the first finished step in the journal."""
    command = [sys.executable, "-m", "looper", "+task=dial", "tracking=none", f"outputs={folder}"]
    began = time.time_ns()  # compared with the file's own clock
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    import json
    from datetime import datetime

    events = [json.loads(line) for file in folder.glob("*/history.jsonl") for line in file.read_text().splitlines()]
    first = next(event for event in events if event["key"])
    return datetime.fromisoformat(first["ts"]).timestamp() - began / 1e9


def measure(name: str, fn: Callable[[Path], float], repeats: int, unit: str) -> list[float]:
    found = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory(dir=ROOT / "outputs") as folder:
            found.append(fn(Path(folder)))
    print(f"{name:58} {statistics.median(found):10.3f} {unit:8} ({min(found):.3f} to {max(found):.3f}, n={repeats})")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    (ROOT / "outputs").mkdir(exist_ok=True)
    bare = measure("bare write + fdatasync", bare_writes, repeats, "1/s")
    steps = measure("journalled steps, each synced", durable_steps, repeats, "steps/s")
    own = 1000 / statistics.median(steps) - 1000 / statistics.median(bare)
    print(f"{'the kernel own part of a step':58} {own:10.3f} ms")
    many = f"{RUNS} runs x {CALLS} calls of {LATENCY * 1000:.0f} ms"
    measure(f"{many}, sync off, over ideal", lambda f: many_runs(f, False), repeats, "x")
    measure(f"{many}, sync on, over ideal", lambda f: many_runs(f, True), repeats, "x")
    measure("python -m looper (list)", listing, repeats, "s")
    measure("first step of a run after the start of the process", first_step, repeats, "s")


if __name__ == "__main__":
    main()
