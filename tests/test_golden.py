"""Stored journals replay against today's code without a new step; `scripts/golden` makes them anew.

A change that is meant shows as a diff of tests/golden, to be reviewed with the code that made it.
"""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from players import Seating, Spoken, TwoPlanDial, money, play, story

from looper.journal import Event, Journal, read, seal
from looper.loops.adaptive import Adaptive
from looper.loops.baseline import Baseline
from looper.tasks.dial import Dial
from looper.types import Outcome

GOLDEN = Path(__file__).parent / "golden"


def model_cast() -> Seating:
    """A scripted agent that is paid per call, and whose first try is never valid."""
    return Seating(Spoken(bad=1), ["planner", "actor"])


RUNS: dict[str, Callable[[Journal], Outcome]] = {
    "baseline": lambda journal: play(Baseline(), Dial(low=10.0, high=14.0), journal),
    "baseline-called": lambda journal: play(
        Baseline(), Dial(low=3.0, high=5.0), journal, cast=model_cast(), budget=money(outer=20.0)
    ),
    "adaptive": lambda journal: play(Adaptive(), Dial(), journal),
    "adaptive-called": lambda journal: play(Adaptive(), Dial(), journal, cast=model_cast(), budget=money(outer=20.0)),
    "adaptive-replanned": lambda journal: play(
        Adaptive(), TwoPlanDial(low=20.0, high=22.0), journal, budget=money(inner=1.0, outer=8.0)
    ),
}
"""One run per design and way through it; a shipped program's repair is one more line here."""


def make(name: str, path: Path) -> None:
    """Record a run, with all clocks at zero, so that the same behaviour gives the same file."""
    journal = Journal(run_id=name)
    outcome = RUNS[name](journal)
    journal.append(Event(event=outcome.status, payload=outcome))
    previous, lines = "", []
    for event in journal.events:
        calls = [call.model_copy(update={"seconds": 0.0}) for call in event.calls]
        still = event.model_copy(
            update={"ts": "2026-01-01T00:00:00.000Z", "seconds": 0.0, "elapsed": 0.0, "calls": calls}
        )
        line, previous = seal(json.dumps(still.model_dump(mode="json"), separators=(",", ":")).encode(), previous)
        lines.append(line)
    path.write_bytes(b"".join(lines))


def test_there_is_a_golden_journal_for_every_run() -> None:
    assert sorted(path.stem for path in GOLDEN.glob("*.jsonl")) == sorted(RUNS)


@pytest.mark.parametrize("name", RUNS)
def test_a_golden_journal_replays_without_a_new_step(tmp_path: Path, name: str) -> None:
    shutil.copy(GOLDEN / f"{name}.jsonl", tmp_path / "history.jsonl")
    journal = Journal(tmp_path / "history.jsonl", sync=False)
    length, last = len(journal.events), journal.events[-1]
    outcome = RUNS[name](journal)
    assert len(journal.events) == length, story(journal.events[length:])
    assert outcome.model_dump(mode="json") == last.payload
    assert last.event == outcome.status
    journal.close()


@pytest.mark.parametrize("name", RUNS)
def test_a_run_of_today_tells_the_golden_story(tmp_path: Path, name: str) -> None:
    """Also what a replay does not show: names of events, costs, who answered."""
    make(name, tmp_path / "new.jsonl")
    assert lines(tmp_path / "new.jsonl") == lines(GOLDEN / f"{name}.jsonl")


def lines(path: Path) -> list[dict[str, Any]]:
    return story(read(path).events)


def main() -> None:
    GOLDEN.mkdir(exist_ok=True)
    for path in GOLDEN.glob("*.jsonl"):
        path.unlink()
    for name in RUNS:
        make(name, GOLDEN / f"{name}.jsonl")
        sys.stdout.write(f"{name}: {len(read(GOLDEN / f'{name}.jsonl').events)} events\n")


if __name__ == "__main__":
    main()
