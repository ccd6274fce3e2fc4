"""What the tests of checks share: one bench, the artifacts, and a check from its JSON."""

import json
from pathlib import Path
from typing import Any

from looper.checks.bench import Bench
from looper.checks.examine import examine
from looper.checks.kinds import CHECK
from looper.criteria import Finding

ARTIFACTS = Path(__file__).with_name("artifacts")
BENCH = Bench(seconds=20.0, test_seconds=20.0)


def artifact(name: str) -> str:
    return (ARTIFACTS / name).read_text(encoding="utf-8")


def check(**fields: Any) -> Any:
    """A check as a model would write it."""
    return CHECK.validate_json(json.dumps(fields))


def found(text: str, **fields: Any) -> Finding:
    return examine(check(**fields), text, BENCH)
