"""A model on loopback that breaks every rule of the board once: each is refused, said why, and the run ends well."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import yaml
from cabal_players import (
    FREE,
    PRODUCTS,
    PROMPTS,
    TEAM,
    TOLD,
    Paper,
    charter,
    concern,
    inspection,
    text_of,
    version,
    work,
)
from model_asking import warm
from model_server import Handler, ModelServer, completion, says

from looper.agents.cast import Seats
from looper.budget import Ledger
from looper.execution import execute
from looper.journal import Journal
from looper.loops.cabal import Cabal, output
from looper.loops.cabal.board.records import Rejection
from looper.loops.cabal.board.rights import STEPS
from looper.loops.cabal.board.table import Board
from looper.loops.cabal.rounds import STEP_NAMES
from looper.run import Run
from looper.stage import Stage
from looper.types import Outcome

WORDS = yaml.safe_load(PROMPTS.read_text())
SYSTEMS = {step: " ".join(words["system"].split())[:60] for step, words in WORDS.items() if step != "halt"}
ORDER = [STEP_NAMES[step] for step in STEPS]


@dataclass
class Asked:
    """A request, read as the model would: which step it is, of which round, to whom."""

    text: str
    step: str
    who: str
    round: int
    time: int = 1

    @property
    def name(self) -> str:
        return f"{self.round} {self.who} {self.step}" + (f" {self.time}" if self.time > 1 else "")

    def named(self, words: str) -> list[str]:
        """Ids of products after these words."""
        return re.findall(rf"^{words} (p\d+):", self.text, re.MULTILINE)


@dataclass
class Mind:
    """What the model says: by `ROUND MEMBER STEP` as written, else sensibly."""

    said: dict[str, Any]
    asked: list[Asked] = field(default_factory=list)

    def speak(self, body: dict[str, Any]) -> str:
        asked = self.read("\n".join(message["content"] for message in body["messages"]))
        told = self.said.get(asked.name)
        told = told(asked) if callable(told) else told
        value = told if told is not None else SENSIBLE[asked.step](asked)
        whole = value if {"halt", "request_context", "final_output"} & set(value) else {"final_output": value}
        return json.dumps(whole)

    def read(self, text: str) -> Asked:
        head = " ".join(text.split())
        step = next(step for step, system in SYSTEMS.items() if head.startswith(system))
        who = re.search(r"^You are (\w+)", text.partition("\n")[2], re.MULTILINE)
        number = re.search(r"^Round (\d+)\. Mission", text, re.MULTILINE)
        asked = Asked(text, step, who[1] if who else "chair", int(number[1]) if number else 0)
        asked.time = 1 + sum((one.step, one.who, one.round) == (step, asked.who, asked.round) for one in self.asked)
        self.asked.append(asked)
        return asked


def plan(asked: Asked) -> dict[str, Any]:
    """All products of operatives that are not accepted, to their owners."""
    rows = re.findall(r"- (p\d+) .*\((?:content|decision); (o\d); (\w+)", asked.text)
    return {
        "assignments": [work(product, who) for product, who, state in rows if state not in ("accepted", "rejected")]
    }


def compose(asked: Asked) -> dict[str, Any]:
    """Each assigned product, with an answer to each piece of feedback."""
    part = asked.text.partition("To be addressed")[2]
    ids = re.findall(r"^- (c\d+) ", part, re.MULTILINE)
    mine = {
        product: [one for one in ids if _about(asked.text, one) == product]
        for product in asked.named("Assigned to you:")
    }
    return {"versions": [version(one, text_of(one, asked.round), answers) for one, answers in mine.items()]}


def _about(text: str, collab: str) -> str:
    """The product below whose heading a piece of feedback that is to be addressed stands."""
    part = text.partition("To be addressed")[1] + text.partition("To be addressed")[2]
    before = part[: part.index(f"- {collab} ")]
    return re.findall(r"To be addressed in (p\d+):", before)[-1]


def inspect(asked: Asked) -> dict[str, Any]:
    rows = {
        one: len(re.findall(r"^\d+\. .*\[", _card(asked.text, one), re.MULTILINE)) for one in asked.named("To inspect:")
    }
    return {"inspections": [inspection(one, count) for one, count in rows.items()]}


def _card(text: str, product: str) -> str:
    return text.partition(f"To inspect: {product}:")[2].partition("----- end data")[0]


SENSIBLE: dict[str, Callable[[Asked], dict[str, Any]]] = {
    "bootstrap": lambda _: charter(), "reflect": lambda _: {"assessment": "Fine."}, "assign": plan, "compose": compose,
    "peer_review": lambda _: {"collabs": []}, "inspect": inspect, "present": lambda _: TOLD,
}  # fmt: skip


def listener(mind: Mind) -> type[Handler]:
    """A handler that answers by what was asked, whatever comes first."""

    class Listener(Handler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.book.noted(body, {})
            with self.book.lock:
                text = mind.speak(body)
            self.send(completion(text))

    return Listener


# The rules, each broken once

BAD_TEAM = [*TEAM, {**TEAM[0], "key": "four", "name": "Too many"}]
BAD_PRODUCTS = [
    *PRODUCTS, {**PRODUCTS[0], "key": "again", "owner": "price"},
    {**PRODUCTS[0], "key": "of", "title": "Of nobody", "owner": "watchdog"},
    {**PRODUCTS[0], "key": "lost", "title": "Lost", "parent": "nowhere"},
    {**PRODUCTS[0], "key": "p1", "title": "Key of another"},
]  # fmt: skip


def remark(agent: str) -> dict[str, Any]:
    return {"target": "agent", "agent": agent, "text": "Hello."}


def resolution(collab: str) -> dict[str, Any]:
    return {"collab": collab, "outcome": "accepted", "reason": "true"}


UGLY = {"criterion": "beauty", "importance": 5, "text": "Ugly."}
RULES: dict[str, Any] = {
    "0 chair bootstrap": charter(BAD_TEAM, BAD_PRODUCTS),
    "1 chair assign": lambda asked: plan(asked) | {"done": True},
    "1 o1 compose": {"versions": [version("p1", "All about p1, see [[p:p77]].")]},
    "1 o2 compose": lambda asked: {"versions": [*compose(asked)["versions"], version("p2", "Once more."),
                                                version("p3", "Not mine.")]},
    "1 o1 peer_review": {"collabs": [concern("p2", 6, "Too dear."), concern("p2", 6, "too  dear."),
                                     concern("p1", 5, "Mine.")],
                         "remarks": [remark("zoe")]},
    "1 o2 peer_review": {"collabs": [concern("p1", 5, "There is nothing to see."), concern("p2", 5, "Fine, I think.")]},
    "1 o3 peer_review": {"collabs": [concern("p2", 6, "Add the tax.")], "remarks": [remark("o1")]},
    "1 watchdog inspect": {"inspections": [inspection("p1", 2), inspection("p2", 3),
                                           inspection("p3", 1, findings=[UGLY]),
                                           inspection("p44", 1)]},
    "1 envoy present": {**TOLD, "messages": [*TOLD["messages"], {"member": "zoe", "text": "Hi."}], "accepted": ["p1"]},
    "2 o1 reflect": {"assessment": "Hm.", "resolutions": [resolution("c1"), resolution("c99")],
                     "collabs": [concern("p66", 5, "Where is it?")]},
    "2 o2 reflect": {"assessment": "Yes.", "resolutions": [resolution("c1"), resolution("c1")]},
    "2 o3 reflect": {"request_context": ["p88"]}, "2 o3 reflect 2": {"request_context": ["p1"]},
    "2 o3 reflect 3": {"request_context": ["p2"]}, "2 o3 reflect 4": {"assessment": "Fine."},
    "2 chair assign": lambda asked: {
        "create": [{**PRODUCTS[0], "title": "Price list", "key": ""}],
        "update": [{"product": "p4", "title": "My log"}, {"product": "p1"}],
        "reparent": [{"product": "p1", "parent": "p1"}, {"product": "p1", "parent": "p55"}],
        "mark": [{"product": "p2", "status": "accepted", "reason": "It is good."}],
        "versions": [version("p1", "By the chair.")], "resolutions": [resolution("c2")],
        "assignments": [work("p1", "watchdog"), work("p33", "o1"), work("p4", "o1"),
                        work("p1", "o1", attached=["p1", "p2", "p3", "p4"]), work("p1", "o1", address=["c98"]),
                        work("p1", "o1"), work("p1", "o2"), work("p2", "o2", address=["c2"]), work("p3", "o3")],
        "overrides": {"members": [{"member": "envoy", "persona": "sings"}]},
    },
    "2 o2 compose": {"versions": [version("p2", "All about p2, anew.")]},
    "2 o3 compose": {"versions": [version("p3", text_of("p3", 1))]},
    "2 o1 compose": {"versions": [version("p1", "   "), version("p1", text_of("p1", 2), ["c97"])]},
    "2 envoy present": {"request_context": ["p1"]}, "2 envoy present 2": {"request_context": ["p1"]},
    "2 envoy present 3": {"request_context": ["p1"]}, "2 envoy present 4": {"request_context": ["p1"]},
    "3 envoy present": {**TOLD, "blocked": ["p3"]},
    "3 chair assign": {"halt": "1?"}, "3 chair assign 2": {"halt": "2?"}, "3 chair assign 3": {"halt": "3?"},
    "3 chair assign 4": {"halt": "4?"},
}  # fmt: skip
REASONS = [
    "There are 3 seats for operatives", "There is a product of this title, p1", "watchdog cannot own a product",
    "There is no parent nowhere", "The key p1 is the id of a product", "Not accepted yet: p1, p2, p3",
    "These citations lead nowhere: [[p:p77]]", "there is one version per assignment",
    "p3 is not assigned to you in this round", "A duplicate of your c1 (open)",
    "p1 has no version; there is nothing to review",
    "There is no member zoe", "p2 is your own work", "p1 has no version; there is nothing to inspect",
    "Checklist items 2, 3 are unknown", "The criterion beauty of p3 is none", "There is no product p44",
    "There is no such member; speak as one of", "p1: not accepted in this round", "c1 is on p2 of o2; only its owner",
    "There is no feedback c99", "There is no product p66", "c1 is accepted already", "There is no product p88",
    "There is a product of this title, p2", "p4 is the Change Log", "Nothing would change",
    "p1 is p1 or below it", "There is no product p55", "accepted is set by code", "p1 belongs to o1; assign it instead",
    "c2 is on p2 of o2", "watchdog is no operative", "There is no product p33", "p4 is the chair's own",
    "4 products are attached", "c98: no unresolved feedback on p1", "p1 is assigned to o1 in this round",
    "envoy is no operative", "c1, c2 must be addressed", "The content is that of version 1", "The content is empty",
    "It is no unresolved feedback on p1", "You asked 3 times in this step", "p3: not blocked in this round",
    "No more questions in this step, 3 were asked",
]  # fmt: skip
"""Every rule that an answer can break, by the words of its reason. What has no field in an answer cannot be tried."""


@dataclass
class Talked:
    """A run with the model, and what it was asked."""

    outcome: Outcome
    board: Board
    mind: Mind
    journal: Journal


def talk(said: dict[str, Any], **settings: Any) -> Talked:
    warm()
    loop = Cabal(prompts=WORDS, **{"max_operatives": 3, "stagnant": 9} | settings)
    mind, journal = Mind(said), Journal()
    answers = {f"iteration.3/halt.{n}": f"answer {n}" for n in range(1, 9)}
    with ModelServer(says("")) as server:
        server.http.RequestHandlerClass = listener(mind)
        model = {"name": "openai/test", "base_url": server.url, "price": {"input": 1.0, "output": 2.0}, "backoff": 0.01}
        cast = Seats(model, {}, answers, design=loop)
        stage = Stage(Paper(), cast, journal, Ledger(FREE), events=loop.events)
        outcome = execute(loop, Run(stage))
    told = [event for event in journal.events if event.event == "board_updated"]
    return Talked(outcome, output.board_of(journal.payload(told[-1])), mind, journal)


@pytest.fixture(scope="module")
def unruly() -> Iterator[Talked]:
    return talk(RULES)


def test_the_run_ends_well_all_the_same(unruly: Talked) -> None:
    assert (unruly.outcome.status, unruly.outcome.reason) == ("completed", "all_accepted"), unruly.outcome.facts
    assert unruly.outcome.passed
    assert unruly.board.round == 4


@pytest.mark.parametrize("reason", REASONS)
def test_a_broken_rule_is_on_the_board_with_its_reason(unruly: Talked, reason: str) -> None:
    assert [one.reason for one in unruly.board.rejections if reason in one.reason]


def test_no_rejection_is_left_that_the_list_does_not_name(unruly: Talked) -> None:
    strange = [one for one in unruly.board.rejections if not any(reason in one.reason for reason in REASONS)]
    assert strange == []
    assert len(unruly.board.rejections) >= len(REASONS)


def test_every_rejection_is_in_the_next_prompt_of_its_author_and_in_no_other_prompt(unruly: Talked) -> None:
    for one in unruly.board.rejections:
        after = [asked for asked in unruly.mind.asked if asked.who == one.author and _later(asked, one)]
        assert after, one
        assert f"{one.operation}: {one.reason}" in after[0].text, one
        others = {asked.who for asked in unruly.mind.asked if f"{one.operation}: {one.reason}" in asked.text}
        assert others == {same.author for same in unruly.board.rejections if same.reason == one.reason}


def _later(asked: Asked, one: Rejection) -> bool:
    """Whether a question came after the answer that was refused; in the same step only a request or halt leads on."""
    place, own = ORDER.index(asked.step), ORDER.index(STEP_NAMES[one.step])
    again = place == own and asked.time > 1 and one.operation.startswith("context of p88")
    return (asked.round, place) > (one.round, own) or (asked.round == one.round and again)


def test_a_right_that_a_step_does_not_have_is_not_in_its_answer_and_is_sent_back_once() -> None:
    """The watchdog wants to write, and an operative to halt: the form of the answer has no place for it."""
    bad = {
        "1 watchdog inspect": lambda asked: inspect(asked) | {"versions": [version("p1", "Mine.")]},
        "1 o1 compose": {"halt": "Stop everything."},
    }  # fmt: skip
    run = talk(bad)
    assert (run.outcome.status, run.board.halts) == ("completed", ())
    names = [asked.name for asked in run.mind.asked]
    assert "1 watchdog inspect 2" in names
    assert "1 o1 compose 2" in names
    labels = [call.label for event in run.journal.steps.values() for call in event.calls]
    assert labels.count("repair") == 2
    assert all(one.author != "watchdog" for one in run.board.versions)


def test_something_was_refused_in_every_step_and_every_call_was_paid(unruly: Talked) -> None:
    assert {one.step for one in unruly.board.rejections} == set(STEPS)
    calls = [call for event in unruly.journal.steps.values() for call in event.calls]
    assert len(calls) == len(unruly.mind.asked)
    assert all(call.usd > 0 for call in calls)
