"""One run as a source tells it, whichever source: tags, final metrics, settings."""

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from looper.redact import redact_data
from looper.tracking.files import LONGEST_PARAMETER, flat

_BLOCK = re.compile(r"^(?=[A-Za-z_])", re.MULTILINE)
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass
class Known:
    """What is known of one run. Names of tags, metrics and settings are those of MLflow (`looper.tracking`)."""

    name: str
    where: str
    """The run's folder, or `URI|MLFLOW_RUN_ID`."""
    tags: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    """Resolved settings, flat."""
    started: int = 0
    """Milliseconds since 1970; 0 if it never began."""
    trouble: str = ""
    """Why its record cannot be used, in words; empty if it can."""


def settings_in(file: Path) -> dict[str, str]:
    """The settings of a config.yaml, flat, without secrets; empty without one.

    The cells of a sweep share most parts of their files: each part is read once.
    """
    if not file.is_file():
        return {}
    text = file.read_text(errors="replace")
    blocks = [text] if re.search(r"[&*]id\d", text) else _BLOCK.split(text)  # an alias may point into another part
    return {key: value for block in blocks for key, value in _settings(block)}


@functools.lru_cache(maxsize=1024)
def _settings(block: str) -> tuple[tuple[str, str], ...]:
    data = redact_data(yaml.load(block, _LOADER))  # the C loader is a safe one too, and ten times faster
    if not isinstance(data, Mapping):
        return ()
    return tuple((key, value[:LONGEST_PARAMETER]) for key, value in flat(data, "") if key)
