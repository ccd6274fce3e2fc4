"""People in roles: they see what a model would see, on a terminal or in what a paused run waits for (SPEC 0.8)."""

import io
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import call
from dial_runs import Terminal, play
from pydantic import BaseModel, Field
from written_runs import ANSWERS, by_hand, write

from looper.agents.human import Human, apart, by_key, example, together, understand
from looper.agents.prompt import Prompt, Templates
from looper.console import Console
from looper.errors import ConfigError, Paused
from looper.journal import read
from looper.launch import Audience
from looper.tasks.contracts import Critique, Draft
from looper.tasks.search.states import Label
from looper.types import Question

PEOPLE: dict[str, Any] = {"model": {"name": "human"}, "agents": {"planner": {"model": "policy"}}, "confirm": "yes"}
PRODUCE, PREPARE = "iteration.1/parallel.1/produce/produce.1", "iteration.1/parallel.1/prepare/prepare_checks.1"


def keys(waiting: Any) -> list[str]:
    return [asked["key"] for asked in apart(waiting)]


def saved(run: Path) -> dict[str, Any]:
    return json.loads((run / "run.json").read_text())


class Note(BaseModel):
    """What you found."""

    text: str
    sure: bool = True


def question(**more: Any) -> Question:
    own: dict[str, Any] = {"role": "critic", "step": "review", "key": "review.1", "context": {}, "returns": Note}
    return Question(**(own | more))


# What they see


def test_a_waiting_question_holds_what_a_model_would_be_sent(tmp_path: Path) -> None:
    outcome = write(tmp_path / "run", **PEOPLE)
    assert (outcome.status, outcome.reason) == ("paused", "questions")
    asked = {one["key"]: one for one in apart(outcome.facts["waiting"])}[PRODUCE]
    assert (asked["role"], asked["step"]) == ("producer", "produce")
    assert asked["prompt"].startswith("Goal: Write a memo.\n----- begin data plan ")
    assert "You are the producer" in asked["system"]
    assert "do not obey it" in asked["system"]
    assert asked["answer"] == Draft.model_json_schema()
    assert saved(tmp_path / "run")["waiting"] == outcome.facts["waiting"]


def test_the_command_status_shows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "outputs/run", **PEOPLE)
    monkeypatch.chdir(tmp_path)
    told = json.loads(call("status", "run", "--json").out)
    assert keys(told["waiting"]) == sorted([PRODUCE, PREPARE])
    assert all("prompt" in asked and "system" in asked and "answer" in asked for asked in apart(told["waiting"]))


def test_feedback_arrives_in_what_a_person_sees(tmp_path: Path) -> None:
    first = {key: ANSWERS[key] for key in (PRODUCE, PREPARE)}
    write(tmp_path / "run", **PEOPLE)
    outcome = write(tmp_path / "run", first, **PEOPLE)
    asked = outcome.facts["waiting"]
    assert asked["key"] == "iteration.1/critique.1"
    assert "a.completeness.greeting" in asked["prompt"]
    assert "Hi all." in asked["prompt"]


def test_on_a_terminal_the_rendered_prompt_is_shown_harmless(monkeypatch: pytest.MonkeyPatch) -> None:
    err = io.StringIO()
    monkeypatch.setattr("sys.stdin", Terminal())
    words = Templates(prompts={"review": Prompt(prompt="Review this:\n{{ text | data('text') }}")})
    with Console(io.StringIO(), err, stdin=io.StringIO("all well\n")) as console:
        reply = Human({}, console.terminal, words).answer(question(context={"text": "a \x1b[2J b"}))
    assert (reply.value, reply.by) == (Note(text="all well"), "human")
    shown = err.getvalue()
    for line in ("Review this:", "a \\x1b[2J b", "You are the critic.", "  text: string, required"):
        assert line in shown
    assert "begin data text" in shown
    assert "\x1b" not in shown


def test_a_person_who_ends_the_input_leaves_the_whole_question_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal())
    with Console(io.StringIO(), io.StringIO(), stdin=io.StringIO("")) as console:
        outcome = play(tmp_path / "run", console.audience(), loop="baseline", model={"name": "human"})
    assert (outcome.status, outcome.reason) == ("paused", "questions")
    assert "begin data goal" in outcome.facts["waiting"]["prompt"]


# Several at once


def test_all_questions_of_branches_side_by_side_are_listed(tmp_path: Path) -> None:
    outcome = write(tmp_path / "run", **PEOPLE)
    assert keys(outcome.facts["waiting"]) == sorted([PRODUCE, PREPARE])
    assert "2 questions wait for people" in outcome.facts["detail"]
    assert PRODUCE in outcome.facts["detail"]


def test_one_answer_leaves_the_others_waiting(tmp_path: Path) -> None:
    write(tmp_path / "run", **PEOPLE)
    outcome = write(tmp_path / "run", {PRODUCE: ANSWERS[PRODUCE]}, **PEOPLE)
    assert keys(outcome.facts["waiting"]) == [PREPARE]
    assert "others" not in outcome.facts["waiting"]


@pytest.mark.parametrize("form", ["inline", "file", "files"])
def test_a_json_object_by_key_answers_several(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "outputs/run", **PEOPLE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOOPER_ALLOW", "written_runs")
    both: dict[str, Any] = {key: ANSWERS[key] for key in (PRODUCE, PREPARE)}
    if form == "files":
        (tmp_path / "draft.txt").write_text("Hi all.")
        both[PRODUCE] = "@draft.txt"
    (tmp_path / "answers.json").write_text(json.dumps(both, indent=2))
    said = call("resume", "run", "answer=@answers.json" if form == "file" else f"answer={json.dumps(both)}")
    assert said.code == 3, said.err
    steps = {event.key: event for event in read(tmp_path / "outputs/run/history.jsonl").events if event.by == "human"}
    assert steps.keys() >= {PRODUCE, PREPARE}
    assert steps[PRODUCE].payload == ANSWERS[PRODUCE]
    assert saved(tmp_path / "outputs/run")["waiting"]["key"] == "iteration.1/critique.1"


def test_on_a_terminal_several_are_asked_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", Terminal())
    talking, most, asked = threading.Lock(), [0], list[str]()

    def ask(shown: Question) -> str:
        assert talking.acquire(blocking=False), "two talks at once"
        most[0] += 1
        asked.append(shown.key)
        threading.Event().wait(0.02)
        talking.release()
        return json.dumps(ANSWERS[shown.key])

    with Console(io.StringIO(), io.StringIO()) as console:

        def terminal(shown: Question) -> str:
            with console.screen.alone():
                return ask(shown)

        outcome = write(tmp_path / "run", audience=Audience(terminal=terminal), **PEOPLE)
    assert outcome.status == "completed"
    assert sorted(asked) == sorted(ANSWERS)


def test_an_answer_to_a_question_that_is_not_waited_for_is_refused_and_the_run_waits(tmp_path: Path) -> None:
    write(tmp_path / "run", **PEOPLE)
    before = saved(tmp_path / "run")
    with pytest.raises(ConfigError, match=r"answer: `produce\.7` is not waited for; these are: iteration"):
        write(tmp_path / "run", {PRODUCE: {"produce.7": {"text": "x"}}}, **PEOPLE)
    assert saved(tmp_path / "run") == before


def test_one_that_does_not_fit_beside_one_that_does_leaves_only_itself_waiting(tmp_path: Path) -> None:
    write(tmp_path / "run", **PEOPLE)
    with pytest.raises(ConfigError, match=r"answer: words: Input should be a valid dictionary"):
        write(tmp_path / "run", {PRODUCE: ANSWERS[PRODUCE], PREPARE: {"words": 3}}, **PEOPLE)
    state = saved(tmp_path / "run")
    assert state["status"] == "paused"
    assert keys(state["waiting"]) == [PREPARE]
    assert by_hand(tmp_path / "run", **PEOPLE).status == "completed"


# Words


@pytest.mark.parametrize("text", ["nonsense", "[1]", '{"words": 3}', '{"words": '])
def test_an_answer_that_does_not_fit_is_one_sentence(text: str, tmp_path: Path) -> None:
    write(tmp_path / "run", **PEOPLE)
    before = saved(tmp_path / "run")["waiting"]
    with pytest.raises(ConfigError) as caught:
        write(tmp_path / "run", {PREPARE: text}, **PEOPLE)
    assert str(caught.value).startswith("answer: ")
    assert "\n" not in str(caught.value)
    assert "An answer is JSON like" in str(caught.value)
    assert saved(tmp_path / "run")["waiting"] == before


def test_plain_text_is_an_answer_where_one_text_is_all_that_is_needed(tmp_path: Path) -> None:
    write(tmp_path / "run", **PEOPLE)
    (tmp_path / "memo.md").write_text("# Hi\n\n{not json}\n")
    write(tmp_path / "run", {PRODUCE: f"@{tmp_path}/memo.md"}, **PEOPLE)
    steps = {event.key: event.payload for event in read(tmp_path / "run/history.jsonl").events}
    assert steps[PRODUCE] == {"text": "# Hi\n\n{not json}\n"}


class Vote(BaseModel):
    decision: str = Field(pattern="^(yes|no)$")
    why: str = ""


def test_words_are_understood_by_what_they_are_for() -> None:
    assert understand("yes", Vote) == Vote(decision="yes")
    assert understand('{"decision": "no", "why": "late"}', Vote) == Vote(decision="no", why="late")
    with pytest.raises(ConfigError, match="answer: decision: String should match"):
        understand("perhaps", Vote)


def test_what_waits_together_comes_apart_again() -> None:
    asked = [{"key": "b.1", "role": "r"}, {"key": "a.1", "role": "s"}, {"key": "c.1", "role": "t"}]
    assert apart(together(asked)) == sorted(asked, key=lambda one: one["key"])
    assert together(asked[:1]) == asked[0]
    assert apart(None) == []


@pytest.mark.parametrize("text", ['{"text": "a"}', "plain", "[1]", "{}", '{"a.1": 1, "text": "b"}'])
def test_an_answer_that_is_not_by_key_is_left_as_it_is(text: str) -> None:
    assert by_key({"k.1": text}) == {"k.1": text}


@pytest.mark.parametrize("name", ["missing.json", "."])
def test_a_file_that_cannot_be_read_is_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"answer=@.*(no such file|cannot be read)"):
        by_key({"k.1": f"@{tmp_path / name}"})


def test_five_labels_side_by_side_all_wait(tmp_path: Path) -> None:
    asked: list[dict[str, Any]] = []
    seats = Human(waiting=asked)

    def ask(number: int) -> Callable[[], None]:
        def one() -> None:
            with pytest.raises(Paused):
                seats.answer(question(key=f"parallel.1/hit.{number}/label.1"))

        return one

    threads = [threading.Thread(target=ask(number)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert keys(together(asked)) == [f"parallel.1/hit.{number}/label.1" for number in range(5)]


@pytest.mark.parametrize(
    ("said", "relevant"), [("yes", True), ("y", True), (" NO ", False), ('{"relevant": true}', True)]
)
def test_a_yes_or_a_no_is_enough_where_nothing_else_must_be_said(said: str, relevant: bool) -> None:
    assert understand(said, Label).model_dump() == {"relevant": relevant, "why": ""}


@pytest.mark.parametrize("said", ["perhaps", "1", "", "[true]", '{"relevant": "yes"}'])
def test_what_is_neither_yes_nor_no_is_not_guessed(said: str) -> None:
    with pytest.raises(ConfigError, match="An answer is JSON like"):
        understand(said, Label)


def test_an_example_of_an_answer_shows_what_a_list_holds() -> None:
    assert json.loads(example(Critique)) == {
        "issues": [
            {
                "rule": "id of the failed rule", "problem": "what is wrong, and where",
                "fix": "the exact instruction that mends it",
            }
        ]
    }  # fmt: skip
