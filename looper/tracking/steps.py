"""What a trace shows of a run's steps: a span each."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from looper.journal import Event

SHOWN = 2000
"""Characters of an input, output or reply that a span shows; history.jsonl has the whole."""


@dataclass(frozen=True)
class Step:
    """What a span shows of a step."""

    key: str
    name: str
    begin: int
    """Nanoseconds since 1970."""
    end: int
    ok: bool
    by: str
    inputs: dict[str, Any]
    outputs: dict[str, Any]
    tokens: tuple[int, int]
    """In and out."""
    cost: dict[str, float]


def moment(event: Event) -> int:
    """Milliseconds since 1970."""
    return round(datetime.fromisoformat(event.ts).timestamp() * 1000)


def step_of(event: Event) -> Step:
    end = moment(event) * 1_000_000
    tokens = (sum(c.tokens_in for c in event.calls), sum(c.tokens_out for c in event.calls))
    outputs = {"value": json.dumps(event.payload, ensure_ascii=False)[:SHOWN]}
    if event.said:
        outputs["said"] = event.said[:SHOWN]
    return Step(
        key=event.key, name=event.step, begin=end - round(event.seconds * 1e9), end=end, ok=event.status != "error",
        by=event.by, inputs={"fingerprint": event.inputs}, outputs=outputs, tokens=tokens, cost=event.cost,
    )  # fmt: skip
