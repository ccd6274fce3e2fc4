"""What MLflow is told of the files in a run's folder: its settings as parameters, its texts as artifacts."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from looper.redact import redact, redact_data

LONGEST_PARAMETER = 6000
"""Characters of a parameter's value that MLflow keeps (STACK, MLflow)."""
FILES = ("config.yaml", "run.json", "history.jsonl", "artifact.md", "patch.diff", "summary.md")
"""What is kept of a run as artifacts, where it is there."""


def parameters(folder: Path) -> dict[str, str]:
    """The run's resolved settings, flat (`budget.inner`), without secrets; empty if there is no config.yaml."""
    import yaml

    file = folder / "config.yaml"
    if not file.exists():
        return {}
    config = redact_data(yaml.safe_load(file.read_text(errors="replace")))
    return {key: value[:LONGEST_PARAMETER] for key, value in flat(config, "") if key}


def flat(node: Any, path: str) -> Iterator[tuple[str, str]]:
    """Settings as `budget.inner` and text, names in MLflow's alphabet."""
    if isinstance(node, Mapping) and node:
        for key, value in node.items():
            yield from flat(value, f"{path}.{key}" if path else str(key))
    else:
        text = node if isinstance(node, str) else json.dumps(node, ensure_ascii=False, default=str)
        yield spelled(path), text


def spelled(name: str) -> str:
    """A name in MLflow's alphabet."""
    return "".join(c if c.isalnum() or c in "_-. /" else "_" for c in name)[:250]


def artifacts(folder: Path) -> dict[str, str]:
    """The text of the run's files, without secrets."""
    found = {name: folder / name for name in FILES if (folder / name).is_file()}
    return {name: redact(path.read_text(encoding="utf-8", errors="replace")) for name, path in found.items()}
