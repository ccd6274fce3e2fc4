"""A letter under the outer loop, all roles played by a script: runs in memory, kills, and what the prompts held."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from players import Dying, Killed
from test_document import REFERENCE, ROWS, document

from looper.agents.human import Human
from looper.agents.policy import Policy, policy_of
from looper.agents.prompt import Templates
from looper.agents.simulated import Player, Simulated
from looper.budget import Budget, Ledger
from looper.execution import execute
from looper.journal import Event, Journal
from looper.loops.gather_verify import GatherVerify
from looper.loops.reflex import Reflex
from looper.run import Run
from looper.stage import Stage
from looper.types import Outcome, Question, Reply

CONF = Path(__file__).parents[1] / "conf"
PROMPTS: dict[str, dict[str, str]] = yaml.safe_load((CONF / "outer/_prompts_gather_verify.yaml").read_text())
FREE = Budget(inner=None, outer=None)
GREETING, TERMS, FAREWELL = (row["id"] for row in ROWS)

KIND = REFERENCE.replace("welcome", "welcome, kind reader")
"""A letter that meets everything."""
COOL = REFERENCE
"""A letter that meets all rules, whose tone a reader finds cool: gaps."""
COLD = REFERENCE.replace("welcome", "come")
"""The same, and the name of the guest is in it: other gaps."""
PRICED = KIND + "\nIt costs $5.\n"
"""A letter that meets everything, and has what must not happen in it."""

NEVER_PRICED = {"id": "a-price", "description": "the letter names a price", "detect": {
    "check": {"kind": "pattern", "pattern": r"\$\d", "min": 0, "max": 0}}}  # fmt: skip
NEVER_RUDE = {"id": "rude", "description": "the letter is rude", "detect": {"judge": "is anything in it rude?"}}
TONE = {"id": "tone", "description": "the tone is kind to the reader", "severity": "must",
        "verify": {"judge": "is the tone kind to the reader?"}}  # fmt: skip
IDEAL: dict[str, Any] = {
    "objective": "a letter that greets Ann kindly",
    "criteria": [
        {"id": "greets", "description": "the letter greets her", "verify": {"rule": GREETING}},
        {"id": "parts", "description": "the letter says goodbye", "verify": {"rule": FAREWELL}},
        {"id": "names-ann", "description": "the letter names Ann", "severity": "should",
         "verify": {"check": {"kind": "pattern", "pattern": "Ann"}}},
        TONE,
    ],
    "anti_criteria": [NEVER_PRICED, NEVER_RUDE],
    "metrics": [
        {"name": "length", "target": "<= 300", "unit": "words", "measure": "words"},
        {"name": "gate", "target": ">= 0.1", "unit": "share", "measure": "score"},
    ],
    "exits": ["the letter is verified", "three rounds have not helped"],
}  # fmt: skip
"""A complete ideal state of the letter."""


def ideal(**changes: Any) -> dict[str, Any]:
    return {**IDEAL, **changes}


def asks(id_: str, priority: str = "P0", **more: Any) -> dict[str, Any]:
    """A question of the analyst or the interviewer."""
    default = {} if priority == "P0" else {"default": f"the default of {id_}"}
    return {"id": id_, "question": f"What about {id_}?", "priority": priority, **default, **more}


def letters(*texts: str) -> Callable[[Question], dict[str, Any]]:
    """The producer's letters by round of the outer loop, the last one again."""
    return lambda question: {"text": texts[min(round_of(question), len(texts)) - 1]}


def by_round(*answers: Any) -> Callable[[Question], Any]:
    """The interviewer's answers by round, the last one again."""
    return lambda question: answers[min(int(re.findall(r"round\.(\d+)", question.key)[-1]), len(answers)) - 1]


def round_of(question: Question) -> int:
    found = re.match(r"inner\.(\d+)/", question.key)
    return int(found[1]) if found else 0


def number(question: Question) -> int:
    return int(question.key.rpartition(".")[2])


def reads(question: Question) -> dict[str, Any]:
    """An honest reader: `tone` by the word kind, rude by the word fool; all else is met as code says."""
    text, rows = question.context["artifact"], question.context["criteria"]
    bad = {"tone": "kind" not in text, "rude": "fool" in text}
    says = [("not_met" if bad.get(row["id"]) else "met", row["id"]) for row in rows]
    return {"verdicts": [{"id": name, "verdict": word, "reason": f"{name} was read"} for word, name in says]}


SAYS: dict[str, Any] = {
    "classify": {"domain": "correspondence", "reason": "a letter"},
    "research": {"exists": ["nothing yet"], "unknowns": ["who reads it"]},
    "analyse": {"open": ["a letter is wanted"], "questions": []},
    "ideal": IDEAL, "assess": reads, "produce": letters(KIND),
}  # fmt: skip
"""What each step says where a test says nothing else."""


@dataclass
class Heard:
    """A question as it was asked."""

    question: Question
    templates: Templates

    @property
    def key(self) -> str:
        return self.question.key

    @property
    def step(self) -> str:
        return self.question.step

    @property
    def context(self) -> Mapping[str, Any]:
        return self.question.context

    @property
    def prompt(self) -> str:
        """What a model would read."""
        return "\n".join(message["content"] for message in self.templates.messages(self.question))


@dataclass
class House:
    """A cast that plays a script, a function of the question alone: a resumed run hears the same.

    A user without a scripted answer is a person who is not there.
    """

    design: Any
    said: Mapping[str, Any] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)
    """People's answers by step key."""
    asked: list[Heard] = field(default_factory=list)
    waiting: list[dict[str, Any]] = field(default_factory=list)
    present: bool = False
    """Whether the user sits at a terminal."""

    def agent(self, role: str, step: str, task: Any) -> Any:
        scripted = step in self.said or step in SAYS or role in ("user", "owner")
        if not scripted and policy_of(task, None, step):
            return Policy()
        return _Seat(self, role)

    def answer(self, question: Question) -> Reply:
        words = Templates(prompts={**self.design.prompts, **question.task.prompts})
        self.asked.append(Heard(question, words))
        told = {**SAYS, **self.said}.get(question.key, {**SAYS, **self.said}.get(question.step))
        if told is None and question.role == "user":
            return Human(self.answers, templates=words, waiting=self.waiting).answer(question)
        if told is None:
            return Player(Simulated(skill=1.0), self.design).answer(question)
        if isinstance(told, list):
            told = told[min(number(question), len(told)) - 1]
        told = told(question) if callable(told) else told
        return Reply(value=question.returns.model_validate(told), by="simulated")

    def prompts(self, step: str) -> list[str]:
        return [one.prompt for one in self.asked if one.step == step]

    def heard(self, step: str) -> list[Mapping[str, Any]]:
        return [one.context for one in self.asked if one.step == step]


@dataclass
class _Seat:
    house: House
    role: str

    @property
    def kind(self) -> str:
        return "human" if self.role == "user" else "simulated"

    @property
    def present(self) -> bool:
        return self.role != "user" or self.house.present

    def answer(self, question: Question) -> Reply:
        return self.house.answer(question)


@dataclass
class Played:
    """A run that was played in memory."""

    outcome: Outcome
    house: House
    journal: Journal
    ledger: Ledger
    task: Any

    @property
    def end(self) -> tuple[str, str]:
        return self.outcome.status, self.outcome.reason

    @property
    def told(self) -> dict[str, Any]:
        """Where the outer loop stood last."""
        return self.notes("outer_updated")[-1]

    @property
    def path(self) -> list[str]:
        return self.told["path"]

    @property
    def verdicts(self) -> list[str]:
        return [one["outcome"] for one in self.told["verdicts"]]

    @property
    def steps(self) -> list[str]:
        return [one.step for one in self.house.asked]

    @property
    def waits(self) -> list[dict[str, Any]]:
        return self.house.waiting

    @property
    def evidence(self) -> list[dict[str, Any]]:
        """Of the last verification."""
        return self.told["evidence"]

    def of(self, criterion: str) -> list[dict[str, Any]]:
        return [one for one in self.evidence if one["criterion"] == criterion]

    def notes(self, name: str) -> list[Any]:
        return [self.journal.payload(event) for event in self.journal.events if event.event == name]


def outer(inner: Any = None, until: str | None = None, **settings: Any) -> Any:
    """The outer loop around an inner design; without confirmation unless a test wants it."""
    settings = {"prompts": PROMPTS, "confirmation": False, **settings}
    return GatherVerify(**settings).around(inner or Reflex(confirmation=False, max_iterations=1), until)


def play(
    said: Mapping[str, Any] | None = None,
    *,
    loop: Any = None,
    task: Any = None,
    journal: Journal | None = None,
    answers: Mapping[str, str] | None = None,
    budget: Budget = FREE,
    present: bool = False,
    episodes: Any = None,
    check: Callable[[], None] = lambda: None,
    **settings: Any,
) -> Played:
    """A run in memory, or the rest of one whose journal is given."""
    loop = loop or outer(**settings)
    task, journal = task or document(), journal if journal is not None else Journal()
    house, ledger = House(loop, said or {}, answers or {}, present=present), Ledger(budget)
    stage = Stage(task, house, journal, ledger, events=loop.events, episodes=episodes, check=check)
    return Played(execute(loop, Run(stage)), house, journal, ledger, task)


def resumed(path: Path, said: Mapping[str, Any] | None = None, **more: Any) -> Played:
    """What is left of the run in the journal `path`."""
    journal = Journal(path, sync=False)
    try:
        return play(said, journal=journal, **more)
    finally:
        journal.close()


def killed(path: Path, at: int, said: Mapping[str, Any] | None = None, **more: Any) -> None:
    """The run, dead before its n-th line."""
    dying = Dying(path, at=at, after=False)
    try:
        play(said, journal=dying, **more)
    except Killed:
        return
    finally:
        dying.close()
    raise AssertionError("the run came to its end")


CLOCK = ("ts", "seconds", "elapsed", "hash", "at", "replaced")
"""Fields that differ between two runs of the same story: times, and whether a kill came after the episode was kept."""


def timeless(value: Any) -> Any:
    """A value without what a clock says, at any depth."""
    if isinstance(value, Mapping):
        return {name: timeless(part) for name, part in value.items() if name not in CLOCK}
    if isinstance(value, list | tuple):
        return [timeless(part) for part in value]
    return value


def tale(events: Sequence[Event]) -> list[dict[str, Any]]:
    """The steps of a run by their keys, without what a clock says: not their order, some are taken side by side.

    Fingerprints of inputs are left out, some of which have a time in them.
    """
    told = [timeless(event.model_dump(mode="json", exclude={"inputs", "seq"})) for event in events]
    return sorted(told, key=lambda event: str(event["key"]))


class Store:
    """Episodes in memory, as the store keeps them."""

    def __init__(self, known: Sequence[Any] = ()):
        self.kept: dict[str, Any] = {}
        self.known = list(known)
        self.looked: list[tuple[str, int]] = []

    def append(self, episode: Any) -> Any:
        from looper.episodes import Appended

        replaced = episode.run in self.kept
        self.kept[episode.run] = episode
        return Appended(run=episode.run, replaced=replaced, episodes=len(self.kept))

    def similar(self, text: str, most: int = 5, *, but: str = "") -> list[Any]:
        self.looked.append((text, most))
        return self.known[:most]
