"""What was swept beside design, task and seed: it makes other arms of a comparison, or other tasks."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from looper.agents.ablated import SETTING
from looper.parts import SWEEP_ONLY, VOLATILE

ELSEWHERE = (*VOLATILE, *SWEEP_ONLY)
LONGEST = 32
"""Characters of a setting's value in a label."""
Settings = Mapping[str, str]


def arms_of(runs: pd.DataFrame) -> pd.Series:
    """The label of each run: `adaptive`, `adaptive under gather_verify`, `adaptive, model=ollama/phi4`.

    A setting belongs to the label if runs of one design on one task differ in it. Settings of the task, prices and
    what says where a run goes never do: those are other tasks, or refused.
    """
    names = [
        design if outer in ("none", "") else f"{design} under {outer}"
        for design, outer in zip(runs["design"], runs["outer_loop"], strict=True)
    ]
    return _told(runs, names, _of_an_arm, lambda name, told: f"{name}, {told}")


def tasks_of(runs: pd.DataFrame) -> pd.Series:
    """The task of each run, with those of its settings in which runs of one design differ: `dial (low=10)`."""
    return _told(runs, list(runs["alias"]), _of_a_task, lambda name, told: f"{name} ({told})")


def _told(
    runs: pd.DataFrame, names: Sequence[str], counts: Callable[[str], bool], join: Callable[[str, str], str]
) -> pd.Series:
    """Each name with the settings that vary within it, over runs of one design on one task."""
    settings = [{key: value for key, value in known.items() if counts(key)} for known in runs["settings"]]
    keys: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        own = [number for number, other in enumerate(names) if other == name]
        groups: dict[Any, list[Settings]] = {}
        for number in own:
            if settings[number]:
                groups.setdefault((runs["design"].iloc[number], runs["alias"].iloc[number]), []).append(
                    settings[number]
                )
        varied = {key for group in groups.values() for key in _varied(group)}
        keys[name] = _enough(varied, [settings[number] for number in own])
    told = [", ".join(_words(keys[name], own)) for name, own in zip(names, settings, strict=True)]
    joined = [join(name, words) if words else name for name, words in zip(names, told, strict=True)]
    return pd.Series(joined, index=runs.index, dtype=object)


def _of_an_arm(key: str) -> bool:
    parts = key.split(".")
    priced = key.startswith("budget.prices.") or "price" in parts
    return parts[0] not in (*ELSEWHERE, "task", "seed") and not priced


def _of_a_task(key: str) -> bool:
    """Not what the gate asks for: a changed threshold makes no other task, so that such a run is refused by name."""
    parts = key.split(".")
    return parts[0] == "task" and parts[-1] != "seed" and not {"thresholds", "checks"} & set(parts)


def _varied(settings: Sequence[Settings]) -> Iterator[str]:
    first = settings[0]
    other = {id(known): known for known in settings if known != first}
    for key in {key for known in (first, *other.values()) for key in known}:
        if any(known.get(key) != first.get(key) for known in other.values()):
            yield key


def _enough(keys: set[str], settings: Sequence[Settings]) -> list[str]:
    """Of these keys as many as tell the runs apart, a model's name and short keys first."""
    chosen: list[str] = []
    apart = 1
    for key in sorted(keys, key=lambda key: (key != "model.name", key.count("."), len(key), key)):
        now = len({tuple(known.get(one) for one in (*chosen, key)) for known in settings})
        if now > apart:
            chosen, apart = [*chosen, key], now
    return chosen


def _words(keys: Sequence[str], settings: Settings) -> Iterator[str]:
    for key in keys:
        if key == SETTING and key not in settings:
            continue  # the whole design has its plain name
        yield f"{_short(key)}={_brief(settings.get(key, 'not set'))}"


def _short(key: str) -> str:
    if key == "model.name":
        return "model"
    for part in ("loop.", "task.", "agents."):
        key = key.removeprefix(part)
    return key


def _brief(value: str) -> str:
    text = " ".join(value.split())
    if len(text) <= LONGEST:
        return text
    mark = hashlib.blake2b(value.encode("utf-8", "surrogatepass"), digest_size=2).hexdigest()
    return f"{text[: LONGEST - 6]}~{mark}"
