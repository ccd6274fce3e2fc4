"""What a project of 1,000 files and a round of a team cost.

    .venv/bin/python experiments/benchmarks/projects.py [--repeats 5]

Prints medians and ranges. The suite on 1,000 files is compared with the same three tests on four files, and a round of
12 operatives with its critical path, within this one run. Figures in the README come from here.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from looper.agents.policy import Policy
from looper.agents.simulated import Player, Simulated
from looper.budget import Budget, Ledger
from looper.checks.sandbox import Sandbox
from looper.checks.suite.run import Suite
from looper.execution import execute
from looper.journal import Journal
from looper.loops.cabal import Cabal
from looper.run import Run
from looper.stage import Stage
from looper.tasks.dial import Dial
from looper.tasks.project.desk.repo_map import repo_map
from looper.tasks.project.task import Project

FILES, FUNCTIONS = 1000, 20
OPERATIVES, LATENCY = 12, 0.2
TEST = "from pack.m0 import work_0\n\n\ndef test_{n}():\n    assert work_0(2, 3) == 6\n"
BODY = 'def work_{n}(total, price):\n    """Part {n} of the work."""\n    return total * price + {n}\n\n\n'


def written(folder: Path, files: int) -> Path:
    """A package of so many modules, with three tests."""
    (folder / "pack").mkdir(parents=True)
    (folder / "tests").mkdir()
    (folder / "pack/__init__.py").write_text("")
    for number in range(files):
        (folder / f"pack/m{number}.py").write_text("".join(BODY.format(n=n) for n in range(FUNCTIONS)))
    for number in range(3):
        (folder / f"tests/test_{number}.py").write_text(TEST.format(n=number))
    return folder


def project(folder: Path) -> Project:
    return Project(name="bench", prompt="mend work_7", workspace=str(folder), sandbox=Sandbox(), suite=Suite())


def measured(repeats: int, what: Callable[[], Any]) -> list[float]:
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        what()
        seconds.append(time.perf_counter() - began)
    return seconds


def shown(name: str, seconds: list[float]) -> float:
    middle = statistics.median(seconds)
    print(f"{name:66} {middle:6.2f} s ({min(seconds):.2f} to {max(seconds):.2f})")
    return middle


def projects(repeats: int, place: Path) -> None:
    """Reading, map, first prompt and suite of a large project, and of a small one."""
    large, small = written(place / "large", FILES), written(place / "small", 1)
    texts = {str(file.relative_to(large)): file.read_text() for file in large.rglob("*.py")}
    for tokens in (4_800, 30_000):
        what = f"map of {FILES} files, {FUNCTIONS} functions each, {tokens} tokens"
        shown(f"{what}, first", measured(1, lambda tokens=tokens: repo_map(texts, {}, tokens)))
        shown(f"{what}, again", measured(repeats, lambda tokens=tokens: repo_map(texts, {}, tokens)))

    def prompted() -> None:
        task = project(large)
        task.shown.coder(task.observe(None), {}, "mend work_7 in m7", [])
        task.close()

    shown("copied, read, and what a coder is shown of it", measured(repeats, prompted))
    tasks = {name: project(folder) for name, folder in (("large", large), ("small", small))}
    for task in tasks.values():
        task.run({})
    much = shown(f"suite of three tests, {FILES} files", measured(repeats, lambda: tasks["large"].run({})))
    less = shown("suite of three tests, four files", measured(repeats, lambda: tasks["small"].run({})))
    print(f"{'ratio':66} {much / less:6.2f}")
    for task in tasks.values():
        task.close()


class Company:
    """Simulated members that take their time; the search itself is a policy."""

    def __init__(self, design: Cabal):
        self.player, self.policy = Player(Simulated(skill=1.0, latency=LATENCY), design), Policy(design)

    def agent(self, role: str, _step: str, _task: object) -> Any:
        return self.player if role == "operative" else self.policy


def rounds(repeats: int) -> None:
    """One round of 12 operatives who all reflect, work and review; the dial itself costs nothing."""
    design = Cabal(max_rounds=2, operatives=OPERATIVES, changes=1)

    def played() -> None:
        stage = Stage(Dial(), Company(design), Journal(), Ledger(Budget(inner=None, outer=None)))
        execute(design, Run(stage))

    seconds = shown(f"two rounds of {OPERATIVES} operatives, {LATENCY} s an answer", measured(repeats, played))
    stage = Stage(Dial(), Company(design), Journal(), Ledger(Budget(inner=None, outer=None)))
    execute(design, Run(stage))
    steps = [event for event in stage.journal.events if event.by == "simulated"]
    path = LATENCY * len({(event.iteration, event.phase) for event in steps})
    print(f"{'critical path of these rounds':66} {path:6.2f} s, ratio {seconds / path:.2f}, {len(steps)} answers")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    with tempfile.TemporaryDirectory() as place:
        projects(repeats, Path(place))
    rounds(repeats)


if __name__ == "__main__":
    main()
