"""Sweeps whose model is a simulation at a dollar a call, for tests; and what they leave on disk."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from command_line import Said

from looper.journal import Event, read
from looper.shared_budget.ledger import SweepLedger
from looper.shared_budget.share import beside

PAID = (
    "+task=dial", "loop=baseline", "model=simulated", "model.skill=0.9", "model.tokens=1000",
    "model.price={input: 0, output: 1000}", "budget.outer=null", "tracking=none", "sweep=mine", "--json",
)  # fmt: skip
"""A cell takes 9 to some 50 calls of one dollar each."""


def rows(said: Said) -> list[dict[str, Any]]:
    return json.loads(said.out)


def folder(here: Path) -> Path:
    """That of the sweep."""
    return here / "outputs/sweeps/mine"


def journals(here: Path) -> dict[str, list[Event]]:
    """The events of all runs, by the names of their folders."""
    return {file.parent.name: read(file).events for file in sorted(folder(here).glob("*/history.jsonl"))}


def paid(here: Path) -> float:
    """Dollars that the steps in the journals of all runs have cost."""
    return sum(event.cost.get("usd", 0.0) for events in journals(here).values() for event in events)


def ledger(here: Path) -> SweepLedger:
    return SweepLedger(folder(here))


def share(sweep: Path, run: str) -> Any:
    """The share of a run in the ledger of a sweep's folder."""
    found = beside(sweep / run, lambda: None)
    assert found is not None
    return found


def until(holds: Callable[[], Any], seconds: float = 30.0) -> Any:
    """Wait for what this gives once it is true."""
    deadline = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return found


def calls(here: Path) -> int:
    """Calls that were made so far, in all runs."""
    return sum(file.read_bytes().count(b'"event":"call_started"') for file in folder(here).glob("*/history.jsonl"))
