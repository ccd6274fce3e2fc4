"""Names: of a run by its time, of a sweep and its cells by what was asked for, so that the same command finds them."""

import hashlib
import re
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from looper.errors import ConfigError
from looper.parts import SWEEP_ONLY, VOLATILE

ELSEWHERE = (*VOLATILE, *SWEEP_ONLY)
"""Settings that say where a run goes and how it is watched, not what it is."""
LONGEST = 48
"""Characters of a folder's name that are for the reader; a hash of all overrides follows."""


def stamp() -> str:
    """A name that no other run has."""
    now = datetime.now().astimezone()
    return f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def canonical(overrides: Sequence[str]) -> list[str]:
    """The overrides that say what is run: the last one of each key, in one order however they were typed."""
    last = {text.partition("=")[0].lstrip("+"): text.lstrip("+") for text in overrides}
    return sorted(text for key, text in last.items() if not is_elsewhere(key))


def is_elsewhere(key: str) -> bool:
    """Whether this key of an override says where a run goes and not what it is."""
    return re.split(r"[./@]", key.lstrip("+~"))[0] in ELSEWHERE


def cell_name(overrides: Sequence[str]) -> str:
    """The folder of a cell: the same for the same overrides, wherever in a sweep they stand."""
    texts = canonical(overrides)
    values = {key: value for key, _, value in (text.partition("=") for text in texts)}
    words = [values.pop(key) for key in ("task", "loop") if key in values]
    words += [f"{key.rsplit('.', 1)[-1]}{value}" for key, value in values.items()]
    return f"{_readable(words) or 'cell'}-{_digest(texts)}"


def sweep_name(overrides: Sequence[str]) -> str:
    """The folder of a sweep that was given no name: the same command continues the same sweep."""
    texts = canonical(overrides)
    values = {key: value for key, _, value in (text.partition("=") for text in texts)}
    return f"{_readable([values.get('experiment') or values.get('task') or 'sweep'])}-{_digest(texts)}"


def checked(name: object) -> str:
    """A name given with `sweep=`. Raises ConfigError if it cannot be the name of a folder."""
    text = str(name)
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,79}", text):
        raise ConfigError(f"sweep={text[:80]}: a name is up to 80 letters, digits, dots, hyphens and underscores.")
    return text


def settings(overrides: Sequence[str]) -> dict[str, str]:
    """What a cell sets, by key, without Hydra's escapes."""
    pairs = (text.partition("=") for text in overrides)
    return {key.lstrip("+"): value.replace("\\:", ":") for key, _, value in pairs}


def design(values: Mapping[str, Any]) -> str | None:
    """The design of a cell, with the outer loop around it."""
    loop, outer = values.get("loop"), values.get("outer")
    return f"{loop} under {outer}" if loop and outer not in (None, "none") else loop


def swept(cells: Sequence[Sequence[str]]) -> list[str]:
    """The settings that differ between cells, beside task, design and seed, which every row has."""
    values: dict[str, set[str]] = {}
    for cell in cells:
        for text in cell:
            key, _, value = text.partition("=")
            values.setdefault(key.lstrip("+"), set()).add(value)
    return [key for key, found in values.items() if len(found) > 1 and key not in ("task", "loop", "outer", "seed")]


def _readable(words: Sequence[str]) -> str:
    text = "-".join(re.sub(r"[^A-Za-z0-9.]+", "-", word).strip("-.") for word in words)
    return text[:LONGEST].strip("-.")


def _digest(texts: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:8]
