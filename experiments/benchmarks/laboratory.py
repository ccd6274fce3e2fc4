"""Does the laboratory find what is there, and nothing else? Planted truth against its own statistics.

    .venv/bin/python experiments/benchmarks/laboratory.py [--comparisons 2000] [--real 100] [--case N]

Two arms make one draft each on fresh instances of a simulated family; the difference between them is known from the
planted odds. Counts over the comparisons: 95 % intervals that hold it, p below 0.05, verdicts that are wrong. `--real`
runs so many comparisons more through the kernel itself. Some two minutes a case on one core; `--case` does one of them.
"""

import argparse
import itertools
import time
from collections.abc import Iterator

import pandas as pd

from looper.lab.simulation.proof import Case, Family, Proved, detected, judged, proved
from looper.lab.simulation.simulate import composed, simulate
from looper.tasks.sim.task import Sim
from looper.tasks.sim.truth import Planted

FAMILIES = {"holdout": Family(Sim(judged=0)), "passed": Family(Sim(judged=0, truth=Planted(satisfy=0.85)))}
"""By value: scores where rules are met as they ship; the gate where it is met now and then."""
SKILL = 0.9
SHAPES = {"holdout": [(20, 3), (8, 2), (40, 1)], "passed": [(20, 3), (8, 2), (40, 1)]}
"""Tasks and seeds of a comparison."""
HEAD = "| value | tasks x seeds | planted | comparisons | 95 % covers | p < 0.05 | as planned | wrong verdicts | bias |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--comparisons", type=int, default=2000)
    parser.add_argument("--real", type=int, default=200, help="comparisons through the kernel, 8 tasks x 2 seeds")
    parser.add_argument(
        "--case", type=int, help="only the case of this number, from 0; the last ones are the real ones"
    )
    given = parser.parse_args()
    print(f"{HEAD}\n|{'---|' * (HEAD.count('|') - 1)}", flush=True)
    every = [*((case, False) for case in cases()), *((case, True) for case in real_cases())]
    for number, (case, real) in enumerate(every):
        if given.case in (None, number):
            began = time.perf_counter()
            found = through_kernel(case, given.real) if real else proved(FAMILIES[case.value], case, given.comparisons)
            print(f"{line(found, real)}  <!-- {time.perf_counter() - began:.0f} s -->", flush=True)


def cases() -> Iterator[Case]:
    """Nothing to be found, and as much as a plan says is found four times out of five."""
    for value, shapes in SHAPES.items():
        for tasks, seeds in shapes:
            null = Case(a=SKILL, b=SKILL, tasks=tasks, seeds=seeds, value=value)
            yield null
            yield detected(FAMILIES[value], null)


def real_cases() -> Iterator[Case]:
    null = Case(a=SKILL, b=SKILL, tasks=8, seeds=2, value="holdout")
    yield null
    yield detected(FAMILIES["holdout"], null)


def through_kernel(case: Case, comparisons: int) -> Proved:
    """The same with every run made by the kernel: design `once`, a simulated planner of the arm's skill.

    A plan of no use does no harm here (`misled` is 1), so that skill is all that is planted.
    """
    return judged(FAMILIES[case.value], case, itertools.islice(kernel_frames(case), comparisons))


def kernel_frames(case: Case) -> Iterator[pd.DataFrame]:
    config = composed("+task=sim", "loop=once", "task.judged=0", "task.truth.misled=1.0")
    for number in itertools.count():
        first = 1 + number * case.tasks
        parts = [
            simulate(
                config["task"], config["loop"], config["budget"], [2 * seed + side for seed in range(case.seeds)],
                range(first, first + case.tasks), model={"name": "simulated", "skill": skill}, label=name,
            ).assign(seed=lambda frame, side=side: (frame["seed"] - side) // 2)
            for side, (name, skill) in enumerate((("a", case.a), ("b", case.b)))
        ]  # fmt: skip
        yield pd.concat(parts, ignore_index=True)  # other dice for each arm: equal ones would make equal runs


def line(found: Proved, real: bool) -> str:
    case = found.case
    shape, what = f"{case.tasks} x {case.seeds}", f"{found.effect:+.3f}" if found.effect else "nothing"
    return (
        f"| {case.value}{', through the kernel' if real else ''} | {shape} | {what} | {found.comparisons} "
        f"| {100 * found.coverage:.1f} +- {100 * found.slack:.1f} % | {100 * found.found:.1f} % "
        f"| {100 * found.planned:.1f} % | {100 * found.wrong:.1f} % | {found.bias:+.1f} SE |"
    )


if __name__ == "__main__":
    main()
