"""A small document that must hold certain words, a cabal's cast that plays a script, and runs of it in memory."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field
from pydantic.dataclasses import dataclass as strict
from pydantic_core import to_jsonable_python
from reflex_players import Page, Sheet

from looper.agents.human import Human
from looper.agents.prompt import Templates
from looper.budget import Budget, Ledger
from looper.criteria import Evaluation, Finding
from looper.execution import execute
from looper.journal import Journal
from looper.loops.cabal import Cabal, output
from looper.loops.cabal.board.table import Board
from looper.run import Run
from looper.stage import Stage
from looper.tasks.contracts import Draft
from looper.types import STRICT, Call, Outcome, Question, Reply, Signal, Usage

PROMPTS = Path(__file__).parents[1] / "conf/loop/_prompts_cabal.yaml"
TEMPLATES = Templates(prompts=yaml.safe_load(PROMPTS.read_text()))
"""The prompts that ship."""
FREE = Budget(inner=None, outer=None)
WORDS: dict[str, tuple[str, str]] = {"a.completeness.page": ("fail", "about p1"), "b.style.price": ("fail", "about p2")}
"""By id of the rule: severity, and the words that the document must hold."""


class Reading:
    """Counts the characters: a probe, so that a reading is a priced step."""

    name = "length"

    def test(self, state: Sheet) -> Signal:
        return Signal(name=self.name, passed=bool(state.text), value=float(len(state.text)), reason="counted")


@strict(kw_only=True, config=STRICT)
class Paper(Page):
    """Write a document with the words that its rules want; a hidden word is looked for at the end."""

    texts: list[str] = Field(default_factory=lambda: ["All about p1.", "All about p1 and about p2."])
    rows: dict[str, Any] = Field(default_factory=lambda: dict(WORDS))
    hidden: str = "round 1"
    goal: str = "Launch the thing."

    def observe(self, plan: Draft) -> Sheet:
        return Sheet(text=plan.text, phase="B")

    def notes(self, state: Sheet) -> dict[str, str]:
        return {rule: f"no {self.rows[rule][1]}" for rule in self.evaluate(state).failed}

    def probes(self) -> list[Any]:
        return [Reading()]

    def holdout(self, artifact: str) -> Evaluation:
        return self.criteria.evaluate({name: Finding(passed=self.hidden in artifact) for name in self.rows}, "B")


# What the members say

TEAM = [
    {"key": "copy", "name": "Mara", "persona": "writes plainly", "responsibility": "texts", "area": "marketing"},
    {"key": "price", "name": "Ivo", "persona": "counts", "responsibility": "prices", "area": "finance"},
    {"key": "tech", "name": "Ada", "persona": "builds", "responsibility": "the server", "area": "engineering"},
]
PRODUCTS = [
    {
        "key": "page",
        "title": "Landing page",
        "type": "content",
        "owner": "copy",
        "done": ["It is short.", "It greets."],
    },
    {"key": "list", "title": "Price list", "type": "decision", "owner": "price", "done": ["It has prices."]},
    {"key": "server", "title": "Server plan", "type": "content", "owner": "tech", "done": ["It runs."]},
]
"""They become p1, p2 and p3 of o1, o2 and o3; p4 is the Change Log."""
Said = Mapping[str, Any] | Callable[[dict[str, Any]], Any]
ALTERNATIVES = ("final_output", "halt", "request_context")


def charter(team: Sequence[Any] = TEAM, products: Sequence[Any] = PRODUCTS, **more: Any) -> dict[str, Any]:
    return {"mission": "Launch the thing", "objectives": ["Sell it"], "team": team, "products": products} | more


def work(product: str, to: str, **more: Any) -> dict[str, Any]:
    return {"assignee": to, "product": product, "objective": f"Write {product}."} | more


def plan_all(context: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that is not accepted goes to its owner, with all its open feedback."""
    left = [one for one in context["products"] if one["status"] not in ("accepted", "rejected")]
    team = [one for one in left if one["owner"] not in ("chair", "")]
    return {"assignments": [work(one["id"], one["owner"], address=one["open"]) for one in team]}


def text_of(product: str, number: int, more: str = "") -> str:
    return f"All about {product} in round {number}.{more}"


def version(product: str, content: str, answers: Sequence[str] = (), outcome: str = "addressed") -> dict[str, Any]:
    """A version and one answer to each piece of feedback."""
    given = [{"collab": one, "outcome": outcome, "reason": "seen to"} for one in answers]
    return {"product": product, "content": content, "summary": f"a text on {product}", "answers": given}


def asked_of(context: Mapping[str, Any], product: str) -> list[str]:
    """Ids of the feedback that has to be answered."""
    return [line.removeprefix("- ").split()[0] for line in context["address"][product]]


def write_all(context: Mapping[str, Any], more: str = "") -> dict[str, Any]:
    number = context["board"].partition(". ")[0].removeprefix("Round ")
    return {"versions": [version(one, text_of(one, int(number), more), asked_of(context, one))
                         for one in context["latest"]]}  # fmt: skip


def inspection(product: str, items: int, *findings: int, met: bool = True, **more: Any) -> dict[str, Any]:
    """A whole checklist, and findings of these importances on its first item."""
    return {
        "product": product, "checklist": [{"item": n + 1, "met": met, "note": "seen"} for n in range(items)],
        "findings": [{"criterion": "1", "importance": one, "text": f"{product} lacks {one}"} for one in findings],
        "verdict": "approved",
    } | more  # fmt: skip


def inspect_all(context: Mapping[str, Any], **findings: Sequence[int]) -> dict[str, Any]:
    """All met; findings by product."""
    return {"inspections": [inspection(one, count, *findings.get(one, ()), met=not findings.get(one))
                            for one, count in context["items"].items()]}  # fmt: skip


def concern(product: str, importance: int = 6, text: str = "It is too long.", **more: Any) -> dict[str, Any]:
    return {"product": product, "importance": importance, "text": text} | more


def messages(*texts: str) -> list[dict[str, str]]:
    return [{"member": who, "text": text} for who, text in zip(("chair", "o1", "envoy"), texts, strict=False)]


TOLD = {"messages": messages("We planned.", "I wrote.", "It goes well.")}
USUAL: dict[str, Said] = {
    "bootstrap": charter(), "reflect": {"assessment": "I am at work."}, "assign": plan_all, "compose": write_all,
    "peer_review": {"collabs": []}, "inspect": inspect_all, "present": TOLD,
}  # fmt: skip


@dataclass
class Script:
    """What each member says: by `ROUND MEMBER STEP` (`ROUND MEMBER STEP 2` for the second time), else as usual.

    A function of the question alone, so that a resumed run hears the same.
    """

    said: dict[str, Said] = field(default_factory=dict)
    usual: dict[str, Said] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)
    """The user's answers by step key."""

    def value(self, question: Question) -> Any:
        usual = self.usual.get(question.step, USUAL.get(question.step))
        found = self.said.get(name_of(question), usual)
        told: Any = found(question.context) if callable(found) else found
        whole = told if any(name in told for name in ALTERNATIVES) else {"final_output": told}
        return question.returns.model_validate(whole)


def name_of(question: Question) -> str:
    """Round, member, step, and how often it was asked where that is not the first time."""
    first, _, _ = question.key.partition("/")
    number = first.removeprefix("iteration.") if first.startswith("iteration.") else "0"
    who = question.context.get("member", {}).get("id", question.role)
    times = question.key.rpartition(".")[2]
    return f"{number} {who} {question.step}" + ("" if times == "1" else f" {times}")


@dataclass
class Heard:
    """A question as it was when it was asked."""

    name: str
    question: Question
    """With its context as plain data, which nothing changes any more."""

    @property
    def context(self) -> dict[str, Any]:
        return self.question.context

    @cached_property
    def prompt(self) -> str:
        """What a model would read, by the templates that ship."""
        return "\n".join(message["content"] for message in TEMPLATES.messages(self.question))


@dataclass
class Company:
    """A cast that plays a script; the user answers by key or is waited for. Keeps all questions."""

    script: Script
    asked: list[Heard] = field(default_factory=list)
    kind: str = "simulated"
    metered: bool = False
    slow: dict[str, float] = field(default_factory=dict)
    """Seconds by `MEMBER STEP`, or by step."""
    lock: Any = field(default_factory=threading.Lock)

    def agent(self, role: str, step: str, task: Any) -> "Company":
        return self

    def worst_case(self, _messages: Any) -> Usage:
        return Usage(tokens=10)

    def answer(self, question: Question) -> Reply:
        if self.metered:
            with question.attempt("answer", Usage(tokens=10)) as paid:
                paid.settle(Call(tokens_out=10))
        name = name_of(question)
        self._keep(question, name)
        if question.role == "user":
            return Human(self.script.answers, templates=TEMPLATES).answer(question)
        time.sleep(self.slow.get(name.partition(" ")[2], self.slow.get(question.step, 0.0)))
        return Reply(value=self.script.value(question), by="simulated")

    def _keep(self, question: Question, name: str) -> None:
        heard = Heard(name, question.model_copy(update={"context": to_jsonable_python(question.context)}))
        with self.lock:
            self.asked.append(heard)

    def prompt(self, name: str) -> str:
        """What a model would read of this question."""
        return next(one.prompt for one in self.asked if one.name == name)

    def context(self, name: str) -> dict[str, Any]:
        return next(one.context for one in self.asked if one.name == name)

    @property
    def names(self) -> list[str]:
        """Questions in the order of their rounds; members of a step in the order of the team."""
        return [one.name for one in self.asked]


@dataclass
class Played:
    """A run that was played in memory."""

    outcome: Outcome
    journal: Journal
    cast: Company
    ledger: Ledger
    seconds: float = 0.0

    def notes(self, name: str) -> list[Any]:
        """Payloads of the events of a name."""
        return [self.journal.payload(event) for event in self.journal.events if event.event == name]

    @property
    def end(self) -> tuple[str, str]:
        return self.outcome.status, self.outcome.reason

    @property
    def boards(self) -> list[Board]:
        """The board as it was told after each round, and at each halt."""
        return [output.board_of(told) for told in self.notes("board_updated")]

    @property
    def board(self) -> Board:
        return self.boards[-1]

    def after(self, number: int) -> Board:
        """The board at the end of a round."""
        return next(one for one in self.boards if one.tallies and one.tallies[-1].round == number)

    @property
    def rounds(self) -> list[Any]:
        return self.notes("iteration_advanced")

    @property
    def states(self) -> dict[str, str]:
        return {one.id: one.status for one in self.board.products}


def play(
    script: Script | None = None,
    task: Any = None,
    journal: Journal | None = None,
    *,
    budget: Budget = FREE,
    cast: Company | None = None,
    check: Callable[[], None] = lambda: None,
    **settings: Any,
) -> Played:
    """A run in memory, or the rest of one whose journal is given."""
    loop, journal, task = Cabal(**settings), journal or Journal(), task or Paper()
    cast, ledger = cast or Company(script or Script()), Ledger(budget)
    stage = Stage(task, cast, journal, ledger, events=loop.events, check=check)
    began = time.perf_counter()
    outcome = execute(loop, Run(stage))
    return Played(outcome, journal, cast, ledger, time.perf_counter() - began)


def script(usual: Mapping[str, Said] | None = None, /, **said: Any) -> Script:
    """A script whose names are given with `_` for blanks: `r1_chair_assign=...`; the user's answers as `answers`."""
    answers = said.pop("answers", {})
    return Script({name[1:].replace("_", " ").replace("peer review", "peer_review"): value
                   for name, value in said.items()}, dict(usual or {}), answers)  # fmt: skip
