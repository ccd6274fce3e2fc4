"""GATHER and INTERVIEW of the outer loop, and its way through the phases (SPEC 5.1 to 5.4)."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from outer_players import (
    COLD,
    COOL,
    FAREWELL,
    GREETING,
    IDEAL,
    KIND,
    TERMS,
    TONE,
    Store,
    asks,
    by_round,
    ideal,
    letters,
    outer,
    play,
    resumed,
)
from test_document import BASE, BENCH, REFERENCE, document

from looper.episodes import Recalled
from looper.errors import ConfigError
from looper.journal import Event, Journal
from looper.loops.gather_verify.machine import TRANSITIONS
from looper.loops.reflex import Reflex
from looper.tasks.document.rules import Template
from looper.tasks.document.task import Document

WHOLE = ["INITIALIZED", "GATHER", "INTERVIEW", "INNER_LOOP", "VERIFY", "LEARN", "COMPLETED"]
BACK = ["INNER_LOOP", "VERIFY"]
PHASES = ("gather", "interview", "inner_loop", "verify", "learn")

# The way through the phases


def test_a_run_goes_through_all_phases_and_ends_verified() -> None:
    run = play()
    assert run.end == ("completed", "verified")
    assert (run.path, run.verdicts) == (WHOLE, ["VERIFIED"])
    assert (run.outcome.artifact, run.outcome.score, run.outcome.passed) == (KIND, 1.0, True)


def test_each_transition_in_the_journal_is_one_of_the_diagram() -> None:
    run = play({"produce": letters(COOL, COLD, KIND)})
    paths = [one["path"] for one in run.notes("outer_updated")]
    steps = {pair for path in paths for pair in pairwise(path)}
    assert steps <= {(here.value, there.value) for here, follows in TRANSITIONS.items() for there in follows}
    assert run.path == [*WHOLE[:5], *BACK, *BACK, *WHOLE[5:]]
    assert all(later[: len(path)] == path for path, later in pairwise(paths)), "no step is undone"


def test_a_run_that_is_not_verified_ends_in_learn() -> None:
    run = play({"produce": letters(COOL)}, escalation="stop")
    assert run.path == [*WHOLE[:5], *BACK, "LEARN"]
    assert run.outcome.status == "stopped"


@pytest.mark.parametrize("most", [0, 1, 3])
def test_gaps_lead_back_at_most_as_often_as_is_allowed(most: int) -> None:
    texts = [COOL.replace("welcome", f"welcome {word}") for word in "abcdefg"]
    run = play({"produce": letters(*texts)}, escalation="stop", max_loops=most)
    assert run.end == ("stopped", "round_limit")
    assert run.path == [*WHOLE[:5], *(BACK * most), "LEARN"]
    assert run.told["loops"] == most
    assert f"All {most} rounds back are used" in run.outcome.facts["detail"]


@pytest.mark.parametrize("until", PHASES)
def test_a_phase_can_be_run_alone_and_gone_on_from(tmp_path: Path, until: str) -> None:
    file = tmp_path / "j.jsonl"
    first = resumed(file, loop=outer(until=until))
    assert first.end == ("paused", "until")
    assert first.path[-1] == until.upper()
    assert until.upper() in first.outcome.facts["detail"]
    rest = resumed(file)
    assert rest.end == ("completed", "verified")
    assert rest.path == WHOLE
    known = {one.key for one in first.house.asked}
    assert not known & {one.key for one in rest.house.asked}, "nothing is asked twice"


def test_all_phases_one_after_the_other_come_to_the_same_end(tmp_path: Path) -> None:
    whole, file = play(), tmp_path / "j.jsonl"
    asked = list[str]()
    for until in PHASES:
        part = resumed(file, loop=outer(until=until))
        assert (part.outcome.status, part.path[-1]) == ("paused", until.upper())
        asked += [one.key for one in part.house.asked]
    last = resumed(file)
    assert last.outcome.facts == whole.outcome.facts
    assert last.outcome == whole.outcome
    assert asked == [one.key for one in whole.house.asked]


def test_until_verify_stops_behind_each_verification(tmp_path: Path) -> None:
    """A run that has paused behind a round goes on to the end of the next one, whatever phase that names."""
    said, file = {"produce": letters(COOL, COLD, KIND)}, tmp_path / "j.jsonl"
    for until, path in (
        ("inner_loop", WHOLE[:4]), ("verify", WHOLE[:5]), ("verify", [*WHOLE[:5], *BACK]),
        ("inner_loop", [*WHOLE[:5], *BACK, "INNER_LOOP"]), ("verify", [*WHOLE[:5], *BACK, *BACK]),
    ):  # fmt: skip
        journal = Journal(file, sync=False)
        part = play(said, journal=journal, loop=outer(until=until))
        assert (part.end, part.path) == (("paused", "until"), path)
        journal.append(Event(event="paused", payload=part.outcome))
        journal.close()
    assert resumed(file, said).path == [*WHOLE[:5], *BACK, *BACK, *WHOLE[5:]]


def test_a_phase_that_there_is_not_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"until=verfy.*gather, interview, inner_loop, verify, learn"):
        outer(until="verfy")


# GATHER


@pytest.mark.parametrize(
    ("prompt", "asked"),
    [("Write a thing.", 1), ("Write an email reply with a salutation to the inbox.", 0)],
)
def test_a_model_is_asked_for_the_domain_where_the_words_do_not_tell(prompt: str, asked: int) -> None:
    run = play(task=document(prompt=prompt))
    assert run.steps.count("classify") == asked
    assert run.told["gathered"]["domain"] == "correspondence"
    assert (run.told["gathered"]["confidence"] < 0.5) == bool(asked)


def test_at_most_five_questions_are_put_the_gravest_first() -> None:
    several = [asks(f"d{n}", "P2") for n in range(4)] + [asks("b", "P1"), asks("a"), asks("a2")]
    run = play({"analyse": {"questions": several}, "answer": lambda q: {"text": "so"}}, present=True)
    (put,) = run.notes("questions_put")
    assert put["questions"] == ["a", "a2", "b", "d0", "d1"]
    assert [one["by"] for one in run.told["gathered"]["answers"]] == ["user"] * 3 + ["default"] * 2


def test_without_a_person_questions_that_block_are_waited_for_together(tmp_path: Path) -> None:
    said: dict[str, Any] = {"analyse": {"questions": [asks("who"), asks("when"), asks("how", "P1"), asks("x", "P2")]}}
    file = tmp_path / "j.jsonl"
    first = resumed(file, said)
    assert first.end == ("paused", "questions")
    keys = [f"gather.1/parallel.1/{name}/answer.1" for name in ("who", "when")]
    assert sorted(one["key"] for one in first.waits) == sorted(keys)
    assert all("What about" in one["prompt"] for one in first.waits)
    half = resumed(file, said, answers={keys[0]: "my aunt"})
    assert [one["key"] for one in half.waits] == keys[1:]
    rest = resumed(file, said, answers={keys[1]: "on Monday"})
    assert rest.end == ("completed", "verified")
    told = {one["id"]: (one["answer"], one["by"]) for one in rest.told["gathered"]["answers"]}
    assert told == {
        "who": ("my aunt", "user"), "when": ("on Monday", "user"),
        "how": ("the default of how", "default"), "x": ("the default of x", "default"),
    }  # fmt: skip


def test_a_person_who_is_there_is_asked_what_changes_the_approach_too() -> None:
    questions = [asks("who"), asks("how", "P1"), asks("x", "P2")]
    run = play({"analyse": {"questions": questions}, "answer": lambda q: {"text": "so"}}, present=True)
    assert [context["question"]["id"] for context in run.house.heard("answer")] == ["who", "how"]


def test_answers_of_a_file_come_before_everything_else(tmp_path: Path) -> None:
    file = tmp_path / "answers.yaml"
    file.write_text("who: my aunt\nhow: in verse\nx: 7\n")
    questions = [asks("who"), asks("how", "P1"), asks("x", "P2")]
    run = play({"analyse": {"questions": questions}}, loop=outer(answers=str(file)))
    assert [(one["answer"], one["by"]) for one in run.told["gathered"]["answers"]] == [
        ("my aunt", "file"), ("in verse", "file"), ("7", "file"),
    ]  # fmt: skip
    assert "answer" not in run.steps


def test_an_answers_file_that_cannot_be_used_is_refused_before_anything_is_spent(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="There is no answers file"):
        outer(answers=str(tmp_path / "none.yaml")).ready()
    (tmp_path / "empty.yaml").write_text("")
    with pytest.raises(ConfigError, match="there is no answer in it"):
        outer(answers=str(tmp_path / "empty.yaml")).ready()


def test_answers_are_in_the_prompts_of_interview_and_of_the_inner_design() -> None:
    said = {"analyse": {"questions": [asks("who")]}, "answer": {"text": "for the canary of Ulm"}}
    run = play({**said, "produce": letters(COOL, KIND)}, loop=outer(Reflex(confirmation=False, max_iterations=2)))
    for step in ("ideal", "plan", "produce", "critique", "act"):
        prompts = run.house.prompts(step)
        assert step in ("critique", "act") or prompts, step
        assert all("for the canary of Ulm" in prompt for prompt in prompts), step
    assert run.told["gathered"]["answers"][0]["answer"] == "for the canary of Ulm"


def test_a_number_names_a_choice_and_a_wrong_one_is_asked_about_again() -> None:
    question = asks("who", choices=["all customers", "those who lost data"])
    run = play({"analyse": {"questions": [question]}, "answer": [{"text": "3"}, {"text": "2"}]})
    assert run.told["gathered"]["answers"][0]["answer"] == "those who lost data"
    first, second = run.house.heard("answer")
    assert first["refused"] == ""
    assert "1 to 2" in second["refused"]
    assert "1 to 2" in run.house.prompts("answer")[1]


def test_a_simulated_user_answers() -> None:
    question = asks("who", choices=["all", "some"])
    run = play({"analyse": {"questions": [question]}, "answer": lambda q: outer().policy("answer")(**q.context)})
    assert run.told["gathered"]["answers"][0] == {
        "id": "who", "priority": "P0", "question": "What about who?", "answer": "all", "by": "user",
    }  # fmt: skip


# INTERVIEW

SHORT = ideal(metrics=[{**IDEAL["metrics"][1], "unit": ""}], exits=IDEAL["exits"][:1])


def test_what_is_missing_is_asked_for_in_the_next_round() -> None:
    run = play({"ideal": by_round(SHORT, IDEAL)})
    first, second = run.house.heard("ideal")
    assert (first["missing"], first["previous"]) == ([], None)
    assert any("has no unit" in line for line in second["missing"])
    assert any("there is only one" in line for line in second["missing"])
    prompt = run.house.prompts("ideal")[1]
    assert "has no unit" in prompt
    assert IDEAL["objective"] in prompt
    assert [round(one["score"], 3) for one in run.notes("completeness")] == [0.93, 1.0]
    assert run.told["interviewed"]["rounds"] == 2


def test_after_five_rounds_a_run_without_a_person_goes_on_with_the_shortfall_in_its_facts() -> None:
    run = play({"ideal": SHORT})
    assert len(run.house.heard("ideal")) == 5
    assert run.end == ("completed", "verified")
    lacks = run.outcome.facts["outer"]["shortfall"]
    assert any("has no unit" in line for line in lacks)
    assert "has no unit" in outer().files(run.told)["ideal_state.md"]
    assert run.outcome.facts["outer"]["completeness"] == pytest.approx(0.93)


def test_a_person_may_say_no_to_an_incomplete_ideal_state() -> None:
    run = play({"ideal": SHORT, "shortfall": {"met": False}}, present=True)
    assert run.end == ("stopped", "user_stop")
    assert "produce" not in run.steps
    assert "has no unit" in run.house.prompts("shortfall")[0]
    assert play({"ideal": SHORT, "shortfall": {"met": True}}, present=True).end == ("completed", "verified")


def test_questions_of_the_interview_are_put_once_and_answered_in_its_next_round() -> None:
    short = {**SHORT, "questions": [asks("length"), asks("tone-wanted", "P2")]}
    run = play({"ideal": by_round(short, short, IDEAL), "answer": {"text": "half a page"}})
    assert run.steps.count("answer") == 1
    assert "half a page" in run.house.prompts("ideal")[1]
    assert [one["id"] for one in run.told["interviewed"]["answers"]] == ["length", "tone-wanted"]
    assert all("half a page" in prompt for prompt in run.house.prompts("produce"))


def test_a_check_that_passes_on_an_empty_result_does_not_count() -> None:
    empty = {"id": "no-x", "description": "there is no x in it", "severity": "must",
             "verify": {"check": {"kind": "command", "argv": ["true"]}}}  # fmt: skip
    run = play({"ideal": ideal(criteria=[*IDEAL["criteria"], empty])})
    assert run.notes("completeness")[0]["says_nothing"] == ["no-x"]
    assert any('"no-x"' in line for line in run.notes("completeness")[0]["missing"])
    assert "a.ideal.no-x" not in str(run.notes("setup_confirmed"))


# One rule set


def test_must_should_and_nice_are_fail_warn_and_info() -> None:
    check = {"check": {"kind": "pattern", "pattern": "Ann"}}
    rows = [{"id": name, "description": "it names Ann there", "severity": name, "verify": check}
            for name in ("must", "should", "nice")]  # fmt: skip
    run = play({"ideal": ideal(criteria=[*IDEAL["criteria"], *rows])})
    (agreed,) = run.notes("setup_confirmed")
    rules = {rule["id"]: (rule["severity"], rule["weight"]) for rule in agreed["criteria"]["rules"]}
    assert [rules[f"a.ideal.{name}"] for name in ("must", "should", "nice")] == [
        ("fail", 2.0), ("warn", 1.0), ("info", 0.0),
    ]  # fmt: skip
    assert rules["a.never.a-price"] == ("fail", 0.0)


def test_the_ideal_state_makes_a_rule_stricter_and_never_milder() -> None:
    rows = [
        {"id": "greets", "description": "it greets her well", "severity": "nice", "verify": {"rule": GREETING}},
        {"id": "terms", "description": "it explains all terms", "severity": "must", "verify": {"rule": TERMS}},
        TONE,
    ]
    run = play({"ideal": ideal(criteria=rows)})
    (agreed,) = run.notes("setup_confirmed")
    rules = {rule["id"]: (rule["severity"], rule["weight"]) for rule in agreed["criteria"]["rules"]}
    assert (rules[GREETING], rules[TERMS]) == (("fail", 2.0), ("fail", 2.0))


def test_the_rule_set_is_shown_and_confirmed() -> None:
    run = play({"confirm": {"decision": "yes"}}, confirmation=True)
    (asked,) = run.house.heard("confirm")
    assert [rule["id"] for rule in asked["rules"]] == [
        GREETING, TERMS, FAREWELL, "a.ideal.names-ann", "a.never.a-price",
    ]  # fmt: skip
    assert asked["thresholds"] == {"A": 0.6, "B": 0.9}
    assert run.steps.index("ideal") < run.steps.index("confirm") < run.steps.index("produce")
    assert run.end == ("completed", "verified")


def test_the_inner_design_does_not_ask_for_another_confirmation() -> None:
    run = play({"confirm": {"decision": "yes"}}, loop=outer(Reflex(max_iterations=1), confirmation=True))
    assert run.steps.count("confirm") == 1


def test_a_no_to_the_rules_stops_the_run() -> None:
    run = play({"confirm": {"decision": "no"}}, confirmation=True)
    assert run.end == ("stopped", "user_stop")
    assert "produce" not in run.steps


def test_thresholds_limit_and_rules_can_be_edited() -> None:
    left = [FAREWELL, "a.ideal.names-ann"]
    edit = {"decision": "edit", "thresholds": {"A": 0.5}, "leave_out": left, "max_iterations": 2}
    said = {"confirm": edit, "produce": letters(KIND.replace("bye", "so long").replace("Ann", "you"))}
    run = play(said, loop=outer(Reflex(max_iterations=9), confirmation=True))
    assert run.end == ("completed", "verified"), run.outcome.facts["detail"]
    agreed = run.notes("setup_confirmed")[-1]
    assert not set(left) & {rule["id"] for rule in agreed["criteria"]["rules"]}
    assert agreed["criteria"]["phases"][0]["threshold"] == 0.5
    assert agreed["max_iterations"] == 2
    judged = [row["id"] for row in run.house.heard("assess")[0]["criteria"]]
    assert not {*left, "parts", "names-ann"} & set(judged), "what is left out is not verified by a reader either"


def test_a_rule_that_was_left_out_does_not_keep_a_run_without_a_reader_from_being_verified() -> None:
    no_reader = {"assess": lambda q: outer().policy("assess")(**q.context)}
    own = {"ideal": lambda q: outer().policy("ideal")(**q.context)}
    edit = {"confirm": {"decision": "edit", "leave_out": [FAREWELL]}}
    said = {**no_reader, **own, **edit, "produce": letters(KIND.replace("bye", "so long"))}
    run = play(said, confirmation=True, escalation="stop")
    assert run.end == ("completed", "verified"), run.outcome.facts["detail"]


def test_edits_of_one_run_are_not_those_of_the_next_one_in_this_process() -> None:
    task = document()
    edit = {"confirm": {"decision": "edit", "leave_out": [FAREWELL, "a.ideal.names-ann"], "thresholds": {"A": 0.1}}}
    play(edit, task=task, confirmation=True)
    for settings in ({"confirmation": False}, {"confirmation": True}):
        run = play({"confirm": {"decision": "yes"}}, task=task, **settings)
        agreed = run.notes("setup_confirmed")[-1]["criteria"]
        assert {FAREWELL, "a.ideal.names-ann"} <= {rule["id"] for rule in agreed["rules"]}, settings
        assert agreed["phases"][0]["threshold"] == 0.6, settings


def test_a_document_without_rules_gets_the_criteria_as_its_rules() -> None:
    rows = [
        {"id": "greets", "description": "the letter says hello",
         "verify": {"check": {"kind": "pattern", "pattern": "hello"}}},
        {"id": "names-ann", "description": "the letter names Ann", "severity": "should",
         "verify": {"check": {"kind": "pattern", "pattern": "Ann"}}},
        {"id": "signed", "description": "you would sign it", "verify": {"person": "would you sign this letter?"}},
    ]  # fmt: skip
    said = {"ideal": ideal(criteria=rows), "produce": letters(KIND.replace("hello", "oh"), KIND)}
    run = play({**said, "confirm_result": {"met": True}}, task=bare())
    assert run.end == ("completed", "verified"), run.outcome.facts["detail"]
    agreed = run.notes("setup_confirmed")[-1]["criteria"]["rules"]
    assert [(rule["id"], rule["severity"]) for rule in agreed][:2] == [
        ("a.quality.greets", "fail"), ("a.quality.names-ann", "warn"),
    ]  # fmt: skip
    assert "a.quality.greets" in run.house.prompts("produce")[0]
    assert run.verdicts[0] != "VERIFIED"
    assert run.steps.count("confirm_result") == 1, "only once everything else is verified"


def bare() -> Any:
    """A letter of which nothing is asked but what its ideal state says."""
    template = Template(name="docs", rules=[], thresholds={"A": 0.6, "B": 0.9})
    return Document(
        name="letter", prompt="Write a letter.", bench=BENCH, prompts=BASE, reference=REFERENCE,
        criteria_template=template,
    )  # fmt: skip


def test_an_ideal_state_without_a_must_is_nothing_to_aim_at() -> None:
    run = play({"ideal": ideal(criteria=[])}, task=bare())
    assert run.end == ("failed", "phase_error")
    assert "nothing to aim at" in run.outcome.facts["detail"]


def test_the_added_rules_are_in_the_gate_of_the_inner_design_and_in_its_notes() -> None:
    must = {**IDEAL["criteria"][2], "severity": "must"}
    said = {"ideal": ideal(criteria=[must]), "produce": letters(KIND.replace("Ann", "you")), "act": {"text": KIND}}
    run = play(said, loop=outer(Reflex(confirmation=False, max_iterations=2)))
    assert "a.ideal.names-ann" in run.notes("evaluation_done")[0]["blockers"]
    assert "a.ideal.names-ann" in run.house.prompts("critique")[0]
    assert run.end == ("completed", "verified")


def test_objective_and_anti_criteria_are_in_the_first_prompts_of_the_inner_design() -> None:
    for step in ("plan", "produce"):
        prompt = play().house.prompts(step)[0]
        assert "the letter names a price" in prompt, step
        assert IDEAL["objective"] in prompt, step


def test_a_check_that_is_a_question_to_a_judge_is_asked_of_the_reader() -> None:
    row = {"id": "clear", "description": "it is clear", "verify": {"check": {"kind": "judge", "question": "Clear?"}}}
    run = play({"ideal": ideal(criteria=[*IDEAL["criteria"], row])})
    assert run.end == ("completed", "verified")
    assert {"id": "clear", "severity": "must", "question": "Clear?", "anti": False} in run.house.heard("assess")[0][
        "criteria"
    ]


def test_recall_shows_what_the_store_finds_and_none_with_zero() -> None:
    known = Recalled(
        run="r1", at="2026-11-20T00:00:00Z", task="letter", goal="a letter", similarity=2.0, lesson="the owl was late"
    )
    run = play(episodes=Store([known]))
    for step in ("research", "produce"):
        assert "the owl was late" in run.house.prompts(step)[0], step
    store = Store([known])
    run = play(episodes=store, loop=outer(recall=0))
    assert store.looked == []
    assert "the owl was late" not in json.dumps([one.prompt for one in run.house.asked])


def test_learn_can_be_switched_off() -> None:
    store = Store()
    assert play(episodes=store, loop=outer(learn=False)).end == ("completed", "verified")
    assert store.kept == {}
    play(episodes=store)
    assert len(store.kept) == 1
