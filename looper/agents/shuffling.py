"""Answers whose information is destroyed while their form and length stay: the control of an ablation."""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

KEPT = ("key", "after", "kind")
"""Fields by which parts of an answer refer to each other: they stay."""
WORD = re.compile(r"\S+")


def shuffled(
    answer: BaseModel, dice: random.Random, names: Sequence[str] = (),
    redrawn: Mapping[str, Sequence[Any]] | None = None, *, texts: bool = True,
) -> BaseModel:  # fmt: skip
    """The answer with its information destroyed; its form and its length stay.

    `names` (of rules, of checks) are put in place of each other, also within texts. Fields in `redrawn` are thrown from
    these values, yes and no by a coin. Texts of one field change places, and in each the words do; not where `texts` is
    False, because what is written there is code.
    """
    known = sorted(set(names))
    drawn = dict(zip(known, dice.sample(known, len(known)), strict=True))
    data = _renamed(answer.model_dump(mode="json"), drawn)
    if texts:
        data = _thrown(data, redrawn or {}, dice)
        slots = list(_texts(data, set(known), redrawn or {}))
        _change_places(slots, dice)
        for holder, place, _ in slots:
            holder[place] = words(holder[place], dice)
    return type(answer).model_validate(data)


def words(text: str, dice: random.Random) -> str:
    """The text with its words in another order, if there is one; what is between them stays."""
    found = WORD.findall(text)
    order = list(found)
    while len(set(found)) > 1 and order == found:
        dice.shuffle(order)
    left = iter(order)
    return WORD.sub(lambda _: next(left), text)


def _renamed(data: Any, drawn: Mapping[str, str]) -> Any:
    """Names exchanged wherever they stand, longer ones first."""
    if not drawn:
        return data
    pattern = re.compile("|".join(re.escape(name) for name in sorted(drawn, key=lambda name: (-len(name), name))))

    def walk(value: Any) -> Any:
        if isinstance(value, str):
            return pattern.sub(lambda found: drawn[found[0]], value)
        if isinstance(value, list):
            return [walk(one) for one in value]
        return {walk(key): walk(one) for key, one in value.items()} if isinstance(value, dict) else value

    return walk(data)


def _thrown(data: Any, redrawn: Mapping[str, Sequence[Any]], dice: random.Random) -> Any:
    if isinstance(data, list):
        return [_thrown(one, redrawn, dice) for one in data]
    if isinstance(data, dict):
        return {
            key: dice.choice(redrawn[key]) if key in redrawn else _thrown(one, redrawn, dice)
            for key, one in data.items()
        }
    return dice.random() < 0.5 if isinstance(data, bool) else data


def _texts(data: Any, names: set[str], left: Mapping[str, Any], field: str = "") -> Iterator[tuple[Any, Any, str]]:
    """Where texts stand, with the name of their field; names, and what parts refer to each other by, are none."""
    places = data.items() if isinstance(data, dict) else enumerate(data)
    for place, value in list(places):
        name = str(place) if isinstance(data, dict) else field
        if name in KEPT or name in left:
            continue
        if isinstance(value, str):
            if value not in names:
                yield data, place, name
        elif isinstance(value, dict | list):
            yield from _texts(value, names, left, name)


def _change_places(slots: Sequence[tuple[Any, Any, str]], dice: random.Random) -> None:
    for field in dict.fromkeys(name for _, _, name in slots):
        own = [(holder, place) for holder, place, name in slots if name == field]
        values = [holder[place] for holder, place in own]
        dice.shuffle(values)
        for (holder, place), value in zip(own, values, strict=True):
            holder[place] = value
