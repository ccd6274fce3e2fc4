"""Runs of search/band for tests: a small collection with known counts, runs in memory, and what they visited."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from looper.agents.policy import Policy
from looper.agents.prompt import Prompt
from looper.budget import Budget, Ledger
from looper.errors import ConfigError
from looper.execution import execute
from looper.journal import Event, Journal
from looper.run import Run
from looper.stage import Stage
from looper.tasks.search.band import Band
from looper.tasks.search.index import Embedded
from looper.tasks.search.states import Results
from looper.testing import default_budget
from looper.types import Agent, Outcome, Question, Reply

COUNTS = {
    "amber": 384, "birch": 192, "cedar": 96, "daisy": 48, "elder": 24, "fern": 12, "grove": 6, "holly": 3,
}  # fmt: skip
"""By word: how many documents hold it. Each word's documents are among those of the words before it."""
WORDS = list(COUNTS)


def ladder(folder: Path) -> Embedded:
    """The collection of `COUNTS`: all of several words occur as often as the rarest of them."""
    texts = [" ".join(word for word, count in COUNTS.items() if number < count) for number in range(400)]
    return collection(folder, [{"id": f"d{n:03}", "text": text or "moss"} for n, text in enumerate(texts)])


def collection(folder: Path, rows: list[dict[str, Any]]) -> Embedded:
    return Embedded(source=str(saved(folder, rows)), cache=str(folder / "cache"))


def saved(folder: Path, rows: list[dict[str, Any]]) -> Path:
    path = folder / "own.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@cache
def remembered(index: "Remembering", word: str, limit: int) -> list[str]:
    return Embedded.related(index, word, [], limit)


class Remembering(Embedded):
    """The same collection; each question for related words is computed once in a test session."""

    def __hash__(self) -> int:
        return hash((self.source, self.cache))

    def related(self, word: str, hits: Any, limit: int) -> list[str]:
        return remembered(self, word, limit)


@dataclass
class Saying:
    """Answers a step with prepared values, one by one, the last again; keeps the questions."""

    answers: Mapping[str, list[Any]] = field(default_factory=dict)
    asked: list[Question] = field(default_factory=list)
    kind: str = "policy"

    def answer(self, question: Question) -> Reply:
        self.asked.append(question)
        prepared = self.answers.get(question.step)
        if prepared is None:
            return Policy().answer(question)
        value = prepared.pop(0) if len(prepared) > 1 else prepared[0]
        return Reply(value=question.returns.model_validate(value), by="policy")


@dataclass
class Seats:
    """Who sits where; policies elsewhere."""

    seats: Mapping[str, Agent]

    def agent(self, role: str, step: str, task: Any) -> Agent:
        return self.seats.get(role, Policy())


@dataclass
class Played:
    """A run that has ended."""

    task: Band
    outcome: Outcome
    journal: Journal

    @property
    def log(self) -> list[dict[str, Any]]:
        return [entry if isinstance(entry, dict) else entry.model_dump() for entry in self.outcome.facts["log"]]

    @property
    def units(self) -> dict[str, float]:
        """Spent, by account."""
        return {
            account: sum(event.cost.get(account, 0.0) for event in self.journal.events)
            for account in ("inner", "outer")
        }

    def events(self, name: str) -> list[Event]:
        return [event for event in self.journal.events if event.event == name]

    def states(self, *steps: str) -> list[Results]:
        """What the steps came to, in order, refused ones too."""
        wanted = steps or ("observe", "apply")
        done = [event for event in self.journal.events if event.step in wanted and event.status == "ok"]
        return [Results.model_validate(self.journal.payload(event)) for event in done]

    def visited(self) -> list[str]:
        """Keys of the states that the run was in, in order: those that a refused action led to are none of them."""
        keys: list[str] = []
        for event in self.journal.events:
            if event.step in ("observe", "apply"):
                keys.append(self.task.key(Results.model_validate(self.journal.payload(event))))
            elif event.event == "action_refused":
                keys.pop()
        return keys

    def totals(self) -> list[int]:
        return [state.total for state in self.states()]


def play(task: Band, loop: Any, seats: Mapping[str, Agent] | None = None, **more: Any) -> Played:
    """A run in memory."""
    journal, budget = more.get("journal") or Journal(), more.get("budget") or default_budget()
    stage = Stage(task, Seats(seats or {}), journal, Ledger(budget), events=loop.events, seed=more.get("seed", 0))
    return Played(task, execute(loop, Run(stage)), journal)


def budget(**caps: Any) -> Budget:
    return Budget(prices=default_budget().prices, **caps)


def refusal(fn: Callable[[], Any]) -> str:
    """The text of the ConfigError that it raises."""
    try:
        fn()
    except ConfigError as error:
        return str(error)
    raise AssertionError("nothing was refused")


def templates() -> dict[str, Prompt]:
    """The prompts of the task as the configuration gives them."""
    import yaml

    path = Path(__file__).parents[1] / "conf" / "task" / "search" / "_prompts_band.yaml"
    return {step: Prompt(**texts) for step, texts in yaml.safe_load(path.read_text())["prompts"].items()}


def band(backend: Any, need: str = " ".join(WORDS), **parts: Any) -> Band:
    """The exercise, for the words of the ladder unless told otherwise."""
    return Band(**{"collection": backend, "need": need, "low": 20, "high": 30, **parts})


def planned(*keywords: str, **parts: Any) -> dict[str, Saying]:
    """A planner who begins with these words."""
    return {"planner": Saying({"plan": [{"keywords": keywords, **parts}]})}
