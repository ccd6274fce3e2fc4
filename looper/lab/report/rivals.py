"""The trivial rivals that belong to every comparison, and the command that adds those that are missing (SPEC 6.4)."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from looper.budget import CAPS
from looper.catalogue import options
from looper.lab.data.frame import Frame
from looper.loops.draw import CASCADE, TRIVIAL
from looper.tracking.multirun import MANIFEST, manifest


def missing(runs: Frame) -> tuple[str, ...]:
    """The rivals that these runs do not have."""
    modelled = runs["model"].str.contains("/", na=False).any()
    wanted = (*TRIVIAL, CASCADE) if modelled else TRIVIAL
    there = set(runs["loop"] if "loop" in runs else runs["design"])
    return tuple(name for name in wanted if name not in there)


def command(runs: Frame, rivals: Sequence[str]) -> str:
    """The command that adds them: the same tasks, seeds, budgets and models, into the same sweep."""
    sweep = _sweep(runs)
    words = _continued(sweep, rivals, runs) if sweep else _composed(runs, rivals)
    if CASCADE in rivals:
        words += ["agents.cheap.model=PROVIDER/NAME", "agents.dear.model=PROVIDER/NAME"]
    return shlex.join(["python", "-m", "looper", "-m", *words])


def _sweep(runs: Frame) -> Path | None:
    """The folder of the sweep that all runs are of, if there is one and it is at hand."""
    folders = {_home(str(where), str(name)) for where, name in zip(runs["where"], runs["sweep"], strict=True)}
    only = next(iter(folders)) if len(folders) == 1 else None
    return only if only and (only / MANIFEST).is_file() and manifest(only).overrides else None


def _home(where: str, sweep: str) -> Path | None:
    if sweep == "none":
        return None
    if "|" not in where:
        return Path(where).parent
    scheme, _, path = where.rpartition("|")[0].partition(":///")
    return Path(path).parent / "sweeps" / sweep if scheme == "sqlite" else None


def _continued(sweep: Path, rivals: Sequence[str], runs: Frame) -> list[str]:
    """The sweep's own command with other designs and the caps of its runs; cells that are there are not run again."""
    known = manifest(sweep)
    kept = [_typed(text) for text in known.overrides if not text.startswith(("loop=", "ablate="))]
    keys = {text.split("=")[0].lstrip("+") for text in kept}
    added = [word for word in (*_caps(runs), *_unattended(runs)) if not _typed_before(word, keys)]
    return [*kept, *added, f"loop={','.join(rivals)}", f"sweep={known.name}", f"outputs={sweep.parent.parent}"]


def _typed_before(word: str, keys: set[str]) -> bool:
    """Whether the setting was typed, or its whole group of budgets: another word would undo what was swept."""
    key = word.split("=")[0]
    return key in keys or (key.startswith("budget.") and "budget" in keys)


def _unattended(runs: Frame) -> Iterator[str]:
    """What a design that asks first needs, and an outer loop that asks at its end: nobody waits for a sweep."""
    outer = any(name not in ("none", "") for name in runs["outer_loop"])
    if outer or _confirmed(runs):
        yield "confirm=yes"
    if outer:
        yield "outer.escalation=stop"


def _confirmed(runs: Frame) -> bool:
    return any(known.get("confirm", "null").lower() in ("yes", "true") for known in runs["settings"])


def _typed(override: str) -> str:
    return f"+{override}" if override.split("=")[0] in ("task", "experiment") else override


def _composed(runs: Frame, rivals: Sequence[str]) -> list[str]:
    tasks, seeds = _joined(map(_option, runs["alias"])), _joined(runs["seed"])
    words = [f"+task={tasks}", f"loop={','.join(rivals)}", f"seed={seeds}", *_caps(runs)]
    words += ["confirm=yes"] if _confirmed(runs) else []
    models = [name for name in dict.fromkeys(runs["model"]) if name not in ("offline", "none")]
    return [*words, f"model={','.join(models)}"] if models else words


def _joined(values: Iterable[Any]) -> str:
    return ",".join(str(value) for value in dict.fromkeys(values))


def _option(alias: str) -> str:
    """What is typed for a task of this name."""
    known = [name for name in options("task") if name == alias or name.endswith(f"/{alias}")]
    return known[0] if len(known) == 1 else alias


def _caps(runs: Frame) -> list[str]:
    """The largest budgets of these runs: no rival is starved."""
    found = []
    for cap in CAPS:
        values = [known.get(f"budget.{cap}", "null") for known in runs["settings"]]
        known = [float(value) for value in values if value != "null"]
        if known:
            found.append(f"budget.{cap}={'null' if 'null' in values else format(max(known), '.15g')}")
    return found
