"""Runs of the repair task for tests: the shipped configuration as plain data, and a launch of it."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from looper.journal import Event, read
from looper.launch import Audience, launch
from looper.parts import build
from looper.types import Outcome

CONF = Path(__file__).parents[1] / "conf"
FAULTY = '''\
def spread(values):
    """The difference of the largest and the smallest value; 0 for none.

    >>> spread([4, 1, 9])
    8
    """
    # untouched comment, with   odd   blanks
    if not values:
        return  0
    low, high = values[0], values[0]
    for value in values:
        low = min( low, value )
        high = min(high, value)
    return high - low
'''
"""A program with one fault, of our own; the second `min` should be `max`."""
FIXED = FAULTY.replace("high = min", "high = max")
VISIBLE = "".join(
    f"assert spread({given}) == {wanted}\n" for given, wanted in (([4, 1, 9], 8), ([], 0), ([2, 2], 0), ([1, 3], 2))
)


@cache
def conf(name: str) -> Any:
    return yaml.safe_load((CONF / f"{name}.yaml").read_text())


def settings(outputs: Path, task: Mapping[str, Any], **parts: Any) -> dict[str, Any]:
    """A configuration; `task` has `kind` and its fields; `loop`, `model`, `agents`, `budget`, `seed` can be given."""
    shared = {key: value for key, value in conf("task/repair/_base").items() if key not in ("sandbox", "seed")}
    kind = {"_target_": f"looper.tasks.repair.kinds.{task['kind']}"}
    own = {key: value for key, value in task.items() if key != "kind"}
    sandbox = {**conf("sandbox/auto"), **parts.get("sandbox", {})}
    seed = parts.get("seed", 0)
    return {
        "task": {**shared, **kind, "sandbox": sandbox, "seed": seed, "alternatives": 16, **own},
        "loop": {**conf(f"loop/{parts.get('loop', 'adaptive')}"), **parts.get("loop_settings", {})},
        "budget": {**conf("budget/default"), **parts.get("budget", {})},
        "model": {"name": "offline"} | parts.get("model", {}), "agents": parts.get("agents", {}),
        "tracking": {}, "sandbox": sandbox, "outputs": str(outputs), "seed": seed,
    }  # fmt: skip


def run(
    path: Path,
    task: Mapping[str, Any],
    audience: Audience | None = None,
    answers: Mapping[str, str] | None = None,
    **parts: Any,
) -> Outcome:
    """The run of such a configuration in the folder `path`."""
    return launch(build(settings(path.parent, task, **parts)), path, audience=audience, answers=answers, sync=False)


def events(path: Path) -> list[Event]:
    return read(path / "history.jsonl").events


def row(folder: Path, **fields: Any) -> dict[str, Any]:
    """A task in HumanEvalFix layout, of a program of our own."""
    import json

    head, _, body = FAULTY.partition("\n")
    check = VISIBLE.replace("spread(", "candidate(").replace("assert", "    assert")
    data = {
        "task_id": "Python/0", "declaration": head + "\n", "prompt": head + '\n    """Largest minus smallest."""\n',
        "buggy_solution": body, "entry_point": "spread",
        "test": f"def check(candidate):\n{check}\ncheck(spread)\n", "example_test": "",
    } | fields  # fmt: skip
    file = folder / "rows.jsonl"
    file.write_text("\n".join(["", json.dumps({"task_id": "Python/7"}), json.dumps(data)]) + "\n")
    return {"kind": "HumanEvalFix", "file": str(file), "id": "Python/0"}
