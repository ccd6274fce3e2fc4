"""How a mission ends, what its rounds cost in time and words, and a team on tasks that are searched (SPEC 4, 0.5)."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from cabal_players import (
    TEAM,
    TEMPLATES,
    Company,
    Paper,
    Played,
    charter,
    concern,
    inspect_all,
    messages,
    plan_all,
    play,
    script,
    version,
    work,
    write_all,
)  # fmt: skip
from command_line import ROOT
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from looper.agents.cast import Seats
from looper.agents.policy import Policy
from looper.budget import Budget, Ledger, Price
from looper.errors import StopRequested
from looper.execution import execute
from looper.journal import Journal
from looper.launch import launch
from looper.loops.cabal import Cabal, output
from looper.loops.cabal.rounds import STEP_NAMES
from looper.parts import build
from looper.run import Run
from looper.stage import Stage
from looper.tasks.dial import Dial
from looper.testing import check_loop
from looper.types import TERMINAL, Outcome, Question, Reply

PRICES = {step: Price(outer=2.0) for step in STEP_NAMES.values()}
NEVER = {"a.completeness.zebra": ("fail", "zebra")}
FLAW = {"inspect": lambda c: inspect_all(c, p1=[6])}


def money(**more: Any) -> Budget:
    return Budget(**{"inner": None, "outer": None, "prices": PRICES} | more)


def files(run: Played) -> dict[str, str]:
    told = run.notes("board_updated")
    return Cabal().files(told[-1]) if told else {}


# Ends


def test_all_accepted_completes_only_where_the_gate_is_met_too() -> None:
    run = play(None, Paper(rows=NEVER), stagnant=2)
    assert set(run.states.values()) == {"accepted", "pending"}
    assert run.end == ("stopped", "stagnation")
    assert (run.outcome.passed, run.outcome.score, run.board.round) == (False, 0.0, 3)
    assert "a.completeness.zebra: no zebra" in run.cast.prompt("2 chair assign"), "the chair can do something about it"


def test_accepted_work_that_does_not_meet_the_gate_can_be_taken_up_again() -> None:
    mend = {"assignments": [work("p1", "o1")]}
    run = play(
        script(r2_chair_assign=mend, r2_o1_compose=lambda c: write_all(c, " A zebra.")), Paper(rows=NEVER), stagnant=5
    )
    assert run.end == ("completed", "all_accepted")
    assert run.board.round == 2


def test_the_round_limit_ends_it() -> None:
    run = play(script(FLAW), max_rounds=2, stagnant=5)
    assert run.end == ("stopped", "round_limit")
    assert [entry["step"] for entry in run.rounds] == [1, 2]
    assert run.outcome.facts["rounds"] == 2


@pytest.mark.parametrize("limit", [1, 3])
def test_rounds_without_acceptance_and_without_falling_importance_are_stagnation(limit: int) -> None:
    plot = script(
        {"assign": {}}, r1_chair_assign=plan_all, r1_watchdog_inspect=lambda c: inspect_all(c, p1=[6], p2=[6])
    )
    run = play(plot, stagnant=limit, max_rounds=9)
    assert run.end == ("stopped", "stagnation")
    assert [tally.accepted for tally in run.board.tallies] == [0, 1, *[0] * limit], "p3 was accepted in round 1"
    assert {tally.open_importance for tally in run.board.tallies[1:]} == {12}


def test_done_too_early_is_ignored_logged_and_told_to_the_chair() -> None:
    run = play(script(r1_chair_assign=lambda c: plan_all(c) | {"done": True}, **{
        "r1_watchdog_inspect": lambda c: inspect_all(c, p1=[6])}))  # fmt: skip
    (refused,) = run.board.rejections
    assert (refused.author, refused.operation) == ("chair", "done")
    assert "Not accepted yet: p1, p2, p3" in run.cast.prompt("2 chair assign")
    assert run.end == ("completed", "all_accepted")
    assert run.board.round == 2


def test_an_override_is_in_force_from_the_next_round_on() -> None:
    override = {
        "mission": "Launch another thing", "objectives": ["Give it away"], "constraints": ["By May"],
        "members": [{"member": "o1", "persona": "writes poems", "area": "poetry"}],
    }  # fmt: skip
    run = play(script(FLAW, r1_chair_assign=lambda c: plan_all(c) | {"overrides": override}), max_rounds=2)
    for heard in run.cast.asked:
        new = heard.name.startswith("2 ")
        assert ("Launch another thing" in heard.prompt) == new, heard.name
        assert ("By May" in heard.prompt) == new, heard.name
    assert "writes plainly" in run.cast.prompt("1 o1 compose")
    assert "writes poems Domain: texts (poetry)" in run.cast.prompt("2 o1 reflect")


def test_a_person_who_stops_it_gets_the_facts() -> None:
    count = 0

    def check() -> None:
        nonlocal count
        count += 1
        if count > 12:
            raise StopRequested("enough")

    run = play(check=check)
    assert run.end == ("stopped", "user_stop")
    assert run.outcome.facts["deliverables"] == 3


# Budget


@pytest.mark.parametrize("limit", ["hard", "wrap_up"])
def test_at_every_cap_it_ends_by_name_within_it_and_its_files_are_of_the_state_that_was_evaluated(limit: str) -> None:
    plot, whole = script(r1_watchdog_inspect=lambda c: inspect_all(c, p1=[6])), 38.0
    for cap in range(0, int(whole) + 1, 2):
        run = play(plot, budget=money(outer=float(cap), on_limit=limit))
        assert run.ledger.spent.get("outer", 0.0) <= cap
        assert run.end == (("completed", "all_accepted") if cap >= whole else ("stopped", "budget_exhausted")), cap
        assert run.outcome.facts["deliverables"] == (3 if cap >= 2 else 0)
        document = files(run).get("document.md")
        judged = [run.journal.payload(event)["text"] for event in run.journal.events if event.step == "observe"]
        assert document in (None, *judged), (cap, "what lies in the folder was evaluated")
        assert run.outcome.artifact in (None, *judged)
        assert document == run.outcome.artifact or not run.outcome.passed, cap
        assert (document is None) == (cap < 20), (cap, "p2 and p3 are accepted where round 1 could be paid to its end")


@pytest.mark.parametrize("limit", ["hard", "wrap_up"])
def test_what_was_paid_for_is_on_the_board_that_is_told_last(limit: str) -> None:
    """Bootstrap, assign, three times compose: 10 units, and what is kept for the presentation."""
    run = play(budget=money(outer=13.0, on_limit=limit))
    assert run.end == ("stopped", "budget_exhausted")
    assert [one.product for one in run.board.versions] == ["p1", "p2", "p3"]


def test_when_time_is_up_the_board_is_told_too() -> None:
    cast = Company(script(), slow={"peer_review": 0.4})
    run = play(cast=cast, budget=money(seconds=0.3))
    assert run.end == ("stopped", "time_limit")
    assert run.outcome.facts["versions"] == len(run.board.versions) == 3


def test_every_round_that_was_begun_can_be_told() -> None:
    """The presentation closes a round: what it costs is kept from its start (SPEC 0.5, 4.9)."""
    for cap in range(2, 39, 2):
        run = play(script(FLAW), budget=money(outer=float(cap)), max_rounds=2, stagnant=5)
        judged = {event.iteration for event in run.journal.events if event.key.endswith("gate.2")}
        assert {one.round for one in run.board.sessions} >= judged, cap


def test_ask_pauses_and_goes_on_with_more_to_the_same_end() -> None:
    plot, expected = script(r1_watchdog_inspect=lambda c: inspect_all(c, p1=[6])), None
    for cap in (9.0, 17.0, 24.0, 30.0):
        journal = Journal()
        first = play(plot, journal=journal, budget=money(outer=cap, on_limit="ask"))
        assert first.end == ("paused", "confirm")
        assert first.outcome.facts["rounds"] >= 1
        second = play(plot, journal=journal, budget=money(outer=60.0, on_limit="ask"))
        expected = expected or play(plot, budget=money(outer=60.0)).outcome
        assert second.outcome == expected
        assert not {one.name for one in second.cast.asked} & {one.name for one in first.cast.asked}


# Side by side


def test_a_round_takes_at_most_1_3_times_its_critical_path() -> None:
    seats = 12
    team = [{**TEAM[n % 3], "key": f"k{n}", "name": f"N{n}"} for n in range(seats)]
    products = [{"title": f"Page {n}", "type": "content", "owner": f"k{n}", "done": ["It is."]} for n in range(seats)]
    cast = Company(script({"inspect": lambda c: inspect_all(c, p1=[6])}, r0_chair_bootstrap=charter(team, products)))
    cast.slow = dict.fromkeys(["reflect", "assign", "compose", "peer_review", "inspect", "present"], 0.2)
    run = play(cast=cast, max_rounds=2)
    path = 0.2 * (5 + 6)
    assert len([one for one in run.cast.names if one.startswith("2 ") and one.endswith("reflect")]) == seats
    assert path <= run.seconds <= 1.3 * path


def test_answers_are_applied_in_the_order_of_the_team_whoever_is_first() -> None:
    said = {f"r1_{who}_peer_review": {"collabs": [concern(other, 5, f"{who} says so.")]}
            for who, other in (("o1", "p2"), ("o2", "p3"), ("o3", "p1"))}  # fmt: skip
    runs = []
    for order in (("o1", "o2", "o3"), ("o3", "o2", "o1"), ("o2", "o3", "o1")):
        slow = {f"{who} {step}": 0.02 * place for place, who in enumerate(order)
                for step in ("compose", "peer_review", "reflect")}  # fmt: skip
        runs.append(play(cast=Company(script(**said), slow=slow), max_rounds=2))
    told = [{event.key: run.journal.payload(event) for event in run.journal.events} for run in runs]
    assert told[0] == told[1] == told[2]
    assert [one.author for one in runs[1].board.collabs] == ["o1", "o2", "o3"]
    assert runs[0].board == runs[1].board == runs[2].board


# Twelve operatives and forty products

CROWD = [{"key": f"k{n}", "name": f"Name {n}", "persona": f"knows {n} " + "p" * 380, "responsibility": "r" * 390,
          "area": "a" * 390} for n in range(12)]  # fmt: skip
MANY = [{"title": f"Chapter {n} " + "t" * 90, "type": "content", "owner": f"k{n % 12}",
         "done": [f"Item {n}.{m} " + "d" * 380 for m in range(10)]} for n in range(40)]  # fmt: skip
LONG = "Words of a long text. " * 1000


def wordy(number: int) -> dict[str, Any]:
    """Everybody says as much as the form of an answer lets them."""
    notes = [{"target": "team", "text": f"{number}.{n} " + "n" * 3900} for n in range(10)]
    flaws = [concern(f"p{n + 1}", 9, f"{number}.{n} " + "c" * 3900) for n in range(10)]
    return {"collabs": flaws, "remarks": notes}


def crowd() -> Company:
    more = wordy(1)
    usual: dict[str, Any] = {
        "bootstrap": charter(CROWD, MANY, objectives=["o" * 390] * 7, constraints=["c" * 390] * 10),
        "reflect": {"assessment": "x" * 3900, **more},
        "compose": lambda c: write_all(c, LONG) | more, "peer_review": {"collabs": [], **more},
        "inspect": lambda c: inspect_all(c, **{one: [6] * 10 for one in c["items"]}),
        "present": {"messages": messages("a", "b", "c")},
    }  # fmt: skip
    return Company(script(usual))


def test_no_prompt_of_a_large_team_is_beyond_its_limit_and_a_round_is_made_in_time() -> None:
    notes = {f"a.completeness.n{n}": ("fail", f"zebra {n} " + "z" * 300) for n in range(10)}
    began = time.process_time()
    run = play(cast=crowd(), task=Paper(rows=notes), max_rounds=2, stagnant=5)
    made = time.process_time() - began
    assert len(run.board.operatives()) == 12
    assert len(run.board.products) == 41
    began = time.process_time()
    sizes = {heard.name: len(heard.prompt) for heard in run.cast.asked}
    seconds = time.process_time() - began
    limit = Cabal().prompt_characters * 1.5 + 12_000
    assert {name: size for name, size in sizes.items() if size > limit} == {}
    assert seconds / len(sizes) < 0.1
    assert made < 3.5, "seconds of the processor for two rounds beside the answers"
    for name in ("2 o7 reflect", "2 chair assign", "2 o7 compose", "2 watchdog inspect", "2 envoy present"):
        assert sizes[name] > 5_000, "a limit is not kept by telling nothing"


# Templates


def situations() -> Iterator[Played]:
    yield play()
    yield play(script(FLAW), max_rounds=2)
    yield play(script(r1_chair_assign={}), max_rounds=1)
    plot = script(answers={"halt.1": "Spain", "iteration.1/halt.1": "May"}, r0_chair_bootstrap={"halt": "Where?"},
                  r0_chair_bootstrap_2=charter(), r1_chair_assign={"halt": "When?"}, r1_chair_assign_2=plan_all,
                  r1_o1_compose={"request_context": ["p2"]}, r1_o1_compose_2=write_all,
                  r1_o2_compose={"versions": [version("p1", "no")]})  # fmt: skip
    yield play(plot, Paper(rows=NEVER), max_rounds=3)


def test_every_template_renders_in_every_situation_and_none_is_left_out() -> None:
    seen = set()
    for run in situations():
        for heard in run.cast.asked:
            seen.add(heard.question.step)
            assert heard.prompt
            assert "Undefined" not in heard.prompt
    assert seen == set(TEMPLATES.prompts)


# Tasks that are not written


@dataclass
class Crew:
    """Policies in every seat; keeps all questions, as they would be rendered."""

    design: Cabal
    asked: list[Question] = field(default_factory=list)

    kind: str = "policy"

    def agent(self, role: str, step: str, task: Any) -> "Crew":
        return self

    def answer(self, question: Question) -> Reply:
        self.asked.append(question)
        if question.step in STEP_NAMES.values():
            assert TEMPLATES.messages(question)
        return Policy(self.design).answer(question)

    def heard(self, step: str) -> list[dict[str, Any]]:
        return [one.context for one in self.asked if one.step == step]


def on(task: Any, budget: Budget | None = None, **settings: Any) -> tuple[Outcome, Crew, Any]:
    """The outcome, who was asked, and the board at the end."""
    loop, journal = Cabal(**settings), Journal()
    crew = Crew(loop)
    outcome = execute(loop, Run(Stage(task, crew, journal, Ledger(budget or money()), events=loop.events)))
    told = [event for event in journal.events if event.event == "board_updated"]
    return outcome, crew, output.board_of(journal.payload(told[-1]))


@cache
def composed(*overrides: str) -> Any:
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        config = compose("config", list(overrides))
    return OmegaConf.to_container(config, resolve=True, throw_on_missing=True)


def test_a_team_turns_a_dial_over_several_rounds() -> None:
    """What the watchdog finds does not keep the next version from being taken."""
    outcome, crew, board = on(Dial(), changes=4, operatives=2, stagnant=9)
    assert (outcome.status, outcome.reason) == ("completed", "all_accepted")
    assert outcome.passed
    assert board.rejections == ()
    assert board.round > 2
    first, last = crew.heard("inspect")[0]["verdicts"], crew.heard("inspect")[-1]["verdicts"]
    assert [one["passed"] for one in first.values()] == [False, False]
    assert any(one["passed"] for one in last.values())
    assert first["p1"]["blockers"] == ["a.correctness.band"]


def test_the_best_state_of_all_parts_is_handed_over_with_its_score() -> None:
    outcome, _, board = on(Dial(), changes=1, max_rounds=1)
    assert (outcome.status, outcome.reason, outcome.score) == ("stopped", "round_limit", 0.0)
    assert outcome.artifact == "2.0"
    contents = [one.content for one in board.versions]
    assert len(contents) == 3
    assert all(outcome.artifact in text.splitlines() for text in contents)


def test_operatives_of_a_repair_have_parts_that_differ_and_the_fault_is_found() -> None:
    parts = build(composed("+task=repair/coat_check", "loop=cabal", "confirm=yes"))
    outcome, crew, board = on(parts.task, parts.budget, operatives=2, changes=2)
    assert (outcome.status, outcome.reason) == ("completed", "all_accepted")
    assert outcome.passed
    assert outcome.facts["holdout"]["passed"]
    begun = {tuple(asked["state"].plan.lines) for asked in crew.heard("code") + crew.heard("act")}
    assert len(begun) > 1
    assert [one.status for one in board.products].count("accepted") >= 1
    assert all(asked["verdicts"] for asked in crew.heard("inspect"))


@pytest.mark.parametrize("task", [Dial(), Dial(low=3.0, high=5.0), Dial(low=1.2, high=1.3)])
def test_the_design_conforms(task: Dial) -> None:
    check_loop(Cabal(), task)


def test_a_mission_leaves_its_accepted_products_and_the_document_in_its_folder(tmp_path: Path) -> None:
    own = ("model=simulated", "model.skill=1.0", "loop.artifact=bare", "tracking=none", f"outputs={tmp_path}")
    parts = build(composed("+task=document/service_config", "loop=cabal", "confirm=yes", *own))
    outcome = launch(parts, tmp_path / "one", sync=False)
    assert (outcome.status, outcome.reason) == ("completed", "all_accepted")
    (product,) = (tmp_path / "one" / "products").iterdir()
    assert product.name == "p1-part-1-of-1.md"
    assert (
        product.read_text().strip()
        == outcome.artifact.strip()
        == (tmp_path / "one" / "artifact.md").read_text().strip()
    )
    assert "## Change Log" in (tmp_path / "one" / "document.md").read_text()


@pytest.mark.parametrize("skill", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("task", ["document/service_config", "repair/coat_check"])
def test_simulated_agents_of_any_skill_come_to_an_end_that_has_a_name(task: str, skill: float) -> None:
    outcome = simulated(task, skill, max_rounds=2, operatives=2, changes=2, artifact="bare")
    assert outcome.status in TERMINAL
    assert outcome.reason in ("all_accepted", "round_limit", "stagnation", "budget_exhausted")
    assert outcome.facts["rounds"] >= 1
    assert outcome.passed or skill < 1.0


def simulated(task: str, skill: float, **settings: Any) -> Outcome:
    parts = build(composed(f"+task={task}", "loop=cabal", "confirm=yes"))
    loop, journal = Cabal(**settings), Journal()
    cast = Seats({"name": "simulated", "skill": skill}, design=loop)
    return execute(loop, Run(Stage(parts.task, cast, journal, Ledger(parts.budget), events=loop.events)))
