"""What models and people answered is written down, and played where the prompt is still the same (SPEC 0.8)."""

import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from dial_runs import Killed
from model_asking import warm
from model_server import ModelServer, says
from pydantic import BaseModel
from written_runs import ANSWERS, Writing, by_hand, parts, write

from looper import redact
from looper.agents.cast import Seats
from looper.agents.prompt import Prompt, Templates, render
from looper.agents.recorder import Recorder
from looper.agents.recording import Head, Recording, lines_of
from looper.errors import ConfigError, InvalidAnswer
from looper.journal import Event, Journal, read
from looper.launch import Audience
from looper.types import Call, Question, Reply

OFFLINE: dict[str, Any] = {"confirm": "yes"}
PEOPLE = {"model": {"name": "human"}, "agents": {"planner": {"model": "policy"}}, "confirm": "yes"}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of a whole run that people answered."""
    place = tmp_path_factory.mktemp("recorded")
    outcome = by_hand(place / "run", **PEOPLE, record=str(place / "memo.jsonl"))
    assert (outcome.status, outcome.reason) == ("completed", "threshold_reached")
    return place / "memo.jsonl"


def objects(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def events(run: Path) -> list[Event]:
    return read(run / "history.jsonl").events


# Writing


def test_a_recording_has_a_header_and_a_line_for_each_answer(recorded: Path) -> None:
    head, *lines = objects(recorded)
    assert head.keys() == {"recording", "task", "design", "made", "by", "note", "run"}
    assert (head["recording"], head["task"], head["design"], head["by"]) == (
        1,
        "writing",
        "reflex",
        "human",
    )
    assert {line["key"] for line in lines} == set(ANSWERS)
    assert all(line.keys() == {"key", "role", "step", "prompt", "answer", "by"} for line in lines)
    assert all(len(line["prompt"]) == 64 and line["by"] == "human" for line in lines)


def test_answers_of_policies_settings_and_recordings_are_not_recorded(recorded: Path, tmp_path: Path) -> None:
    write(tmp_path / "again", task={"recording": str(recorded)}, **OFFLINE, record=str(tmp_path / "none.jsonl"))
    assert not (tmp_path / "none.jsonl").exists(), "a recording without an answer is not left behind"


def test_the_answers_of_a_model_are_recorded_with_its_name_and_its_words(tmp_path: Path) -> None:
    warm()
    words = 'Here it is:\n```json\n{"text": "Hi all."}\n```'
    with ModelServer(says(words)) as server:
        seat = {
            "model": "openai/test",
            "base_url": server.url,
            "price": {"input": 1.0, "output": 2.0},
            "schema": "prompt",
        }
        file = tmp_path / "r.jsonl"
        write(tmp_path / "run", agents={"producer": seat, "preparer": {"model": "human"}}, **OFFLINE, record=str(file))
        sent = server.requests[0]["messages"]
    head, line = objects(file)
    assert (head["by"], line["by"]) == ("model:openai/test, human", "model:openai/test")
    assert (line["answer"], line["said"]) == ({"text": "Hi all."}, words)
    asked = Question(
        role="producer", step="produce", key=line["key"], returns=Writing().answer("produce"),
        context={"goal": "Write a memo.", "plan": Writing().policy("plan")()},
    )  # fmt: skip
    assert sent == Templates(prompts=Writing().prompts).messages(asked)
    assert line["prompt"] == Templates(prompts=Writing().prompts).digest(asked)


def test_a_file_that_exists_is_not_written_over(recorded: Path, tmp_path: Path) -> None:
    before = recorded.read_bytes()
    with pytest.raises(ConfigError, match="exists already"):
        write(tmp_path / "run", **PEOPLE, record=str(recorded))
    assert recorded.read_bytes() == before
    assert not (tmp_path / "run").exists(), "nothing is left that looks like a run"
    (tmp_path / "notes.txt").write_text("mine\n")
    with pytest.raises(ConfigError, match="exists already"):
        write(tmp_path / "run", **PEOPLE, record=str(tmp_path / "notes.txt"))
    with pytest.raises(ConfigError, match="is a folder"):
        write(tmp_path / "run", **PEOPLE, record=str(tmp_path))


def test_a_run_of_the_same_name_does_not_take_another_s_recording(recorded: Path, tmp_path: Path) -> None:
    """The name of a run is in the header, but a folder's name is not enough to own a file."""
    before = recorded.read_bytes()
    write(tmp_path / "run", **PEOPLE)
    write(tmp_path / "run", {"iteration.1/parallel.1/produce/produce.1": {"text": "other"}}, **PEOPLE)
    with pytest.raises(ConfigError, match="exists already"):
        write(tmp_path / "run", **PEOPLE, record=str(recorded))
    assert recorded.read_bytes() == before


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_killed_run_goes_on_with_its_recording_and_writes_no_line_twice(
    when: str, recorded: Path, tmp_path: Path
) -> None:
    """Killed before the journal has an answer, the line is cut and the question asked again; after it, it is kept."""
    file, key = tmp_path / "r.jsonl", "iteration.1/parallel.1/produce/produce.1"

    def die(event: Event) -> None:
        if event.key == key:
            raise Killed

    how: dict[str, Any] = {**PEOPLE, "record": str(file)}
    with pytest.raises(Killed):
        write(tmp_path / "run", ANSWERS, Audience(listeners=[die]), **how)
    assert key in {line["key"] for line in objects(file)[1:]}
    if when == "before":
        lines = (tmp_path / "run/history.jsonl").read_bytes().split(b"\n")
        kept = [line for line in lines if f'"key":"{key}"'.encode() not in line]
        cut = lines.index(next(line for line in lines if line not in kept))
        (tmp_path / "run/history.jsonl").write_bytes(b"\n".join(lines[:cut]) + b"\n")
    with file.open("ab") as torn:
        torn.write(b'{"key": "iteration.9/x')
    outcome = by_hand(tmp_path / "run", **how)
    assert outcome.status == "completed"
    lines_now = objects(file)[1:]
    assert sorted(line["key"] for line in lines_now) == sorted(ANSWERS)
    assert by_key(lines_now) == by_key(objects(recorded)[1:])


def by_key(lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {line["key"]: line for line in lines}


def test_a_run_whose_recording_was_lost_is_not_resumed_with_half_of_it(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    how: dict[str, Any] = {**PEOPLE, "record": str(file)}
    write(tmp_path / "run", **how)
    write(tmp_path / "run", {"iteration.1/parallel.1/produce/produce.1": {"text": "Hi."}}, **how)
    file.unlink()
    with pytest.raises(ConfigError, match=r"lacks 1 answers that the run already has \(iteration.1/"):
        write(tmp_path / "run", **how)


def test_a_recording_is_no_part_of_a_run_s_identity_and_is_found_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plain, recording = parts(tmp_path, **OFFLINE), parts(tmp_path, **OFFLINE, record="r.jsonl")
    assert plain.identity == recording.identity
    assert recording.config["record"] == str(tmp_path / "r.jsonl")


def test_no_secret_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    canary = "canary-0815-of-the-recordings"
    monkeypatch.setenv("SOME_API_KEY", canary)
    redact.rescan()
    try:
        outcome = write(tmp_path / "run", **PEOPLE, record=str(tmp_path / "r.jsonl"))
        given = {"iteration.1/parallel.1/produce/produce.1": {"text": f"the key is {canary}"}}
        outcome = write(tmp_path / "run", given, **PEOPLE, record=str(tmp_path / "r.jsonl"))
        assert outcome.status == "paused"
        text = (tmp_path / "r.jsonl").read_text()
        assert "the key is [redacted]" in text
        assert canary not in text
        again = write(tmp_path / "run", **PEOPLE, record=str(tmp_path / "r.jsonl"))
        assert again.status == "paused", "the run knows its recording again"
    finally:
        monkeypatch.undo()
        redact.rescan()


class Word(BaseModel):
    text: str


class Speaker:
    def answer(self, question: Question) -> Reply:
        return Reply(value=Word(text=question.key), by="model:x/y")


def test_branches_write_whole_lines(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "r.jsonl", Head(run="r"), Journal())
    agent = recorder.wrap(Speaker(), Templates())

    def ask(branch: int) -> None:
        for number in range(1, 11):
            agent.answer(Question(role="r", step="s", key=f"{branch}/s.{number}", context={}, returns=Word))

    threads = [threading.Thread(target=ask, args=(branch,)) for branch in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    recorder.close()
    assert len({line.key for line in lines_of(tmp_path / "r.jsonl")}) == 80


def test_a_full_disk_pauses_the_run_and_leaves_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    file, real = tmp_path / "r.jsonl", os.write

    def short(number: int, data: bytes) -> int:
        return real(number, data[:20]) if data.startswith(b'{"key": "') else real(number, data)

    write(tmp_path / "run", **PEOPLE, record=str(file))
    monkeypatch.setattr("looper.agents.recorder.os.write", short)
    given = {"iteration.1/parallel.1/produce/produce.1": {"text": "Hi all."}}
    outcome = write(tmp_path / "run", given, **PEOPLE, record=str(file))
    assert (outcome.status, outcome.reason) == ("paused", "storage")
    monkeypatch.undo()
    assert by_hand(tmp_path / "run", **PEOPLE, record=str(file)).status == "completed"
    assert {line.key for line in lines_of(file)} == set(ANSWERS)


# Playing


def test_a_task_plays_its_recording_offline_and_its_policies_stay_in_their_seats(
    recorded: Path, tmp_path: Path
) -> None:
    outcome = write(tmp_path / "run", task={"recording": str(recorded)}, **OFFLINE)
    assert (outcome.status, outcome.reason, outcome.artifact) == ("completed", "threshold_reached", "hello all. bye")
    by = {event.step: event.by for event in events(tmp_path / "run") if event.by}
    assert by == {
        "confirm": "confirm=yes", "plan": "policy", "produce": "recording", "prepare_checks": "recording",
        "critique": "recording", "act": "recording",
    }  # fmt: skip


def test_recorded_answers_cost_the_units_of_a_model_and_no_money(recorded: Path, tmp_path: Path) -> None:
    write(tmp_path / "run", task={"recording": str(recorded)}, **OFFLINE)
    state = json.loads((tmp_path / "run/run.json").read_text())
    assert state["spent"] == {"outer": 6.0}, "produce, critique and act at 2 units each, no policy's price"


def test_calls_behind_the_answers_of_an_earlier_run_are_not_billed_again(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "history.jsonl", sync=False)
    paid = [Call(tokens_in=5, tokens_out=5, usd=0.25)]
    journal.append(Event(event="step_done", step="s", key="s.1", by="model:x/y", payload={"text": "a"}, calls=paid))
    journal.close()
    reply = Recording(path=str(tmp_path)).answer(Question(role="r", step="s", key="s.1", context={}, returns=Word))
    assert (reply.value, reply.by, [call.usd for call in reply.calls]) == (Word(text="a"), "recording", [0.0])


def test_a_changed_prompt_makes_an_answer_stale_and_says_what_to_do(recorded: Path, tmp_path: Path) -> None:
    changed = {"recording": str(recorded), "prompts": {"produce": "Goal: {{ goal }}\n{{ plan | data('plan') }}\nNow."}}
    outcome = write(tmp_path / "run", task=changed, **OFFLINE)
    assert (outcome.status, outcome.reason) == ("failed", "phase_error")
    detail = outcome.facts["detail"]
    for words in ("produce.1: the recording", "stale", "model=human record=FILE"):
        assert words in detail


@pytest.mark.parametrize("part", ["system", "answer type", "earlier answer", "goal"])
def test_every_part_of_a_prompt_counts(part: str) -> None:
    plain: dict[str, Any] = {"role": "r", "step": "s", "key": "s.1", "context": {"goal": "a"}, "returns": Word}
    now = Templates().digest(Question(**plain))
    if part == "system":
        other = Templates(prompts={"s": Prompt(system="You are kind.")}).digest(Question(**plain))
    else:
        new = {"answer type": {"returns": Reply}, "earlier answer": {"context": {"goal": "a", "said": "b"}}}
        other = Templates().digest(Question(**{**plain, **new.get(part, {"context": {"goal": "b"}})}))
    assert other != now


def test_a_missing_answer_says_so_and_what_to_do(recorded: Path, tmp_path: Path) -> None:
    outcome = write(
        tmp_path / "run", task={"recording": str(recorded), "plans": False}, **OFFLINE
    )  # nobody recorded the planner
    assert (outcome.status, outcome.reason) == ("failed", "phase_error")
    assert "plan.1: the recording" in outcome.facts["detail"]
    assert "has no such step" in outcome.facts["detail"]
    assert "model=human record=FILE" in outcome.facts["detail"]


def test_an_answer_without_a_hash_is_played_unseen(recorded: Path, tmp_path: Path) -> None:
    head, *lines = objects(recorded)
    loose = [{name: value for name, value in line.items() if name != "prompt"} for line in lines]
    (tmp_path / "loose.jsonl").write_text("\n".join(map(json.dumps, [head, *loose])))
    task = {"recording": str(tmp_path / "loose.jsonl"), "goal": "Write another memo."}
    assert write(tmp_path / "run", task=task, **OFFLINE).status == "completed"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"recording": 2}\n', "not the header of a recording that this looper knows"),
        ('{"recording": 1}\nnonsense\n', "line 2 is not an answer"),
        ('{"recording": 1}\n{"key": "a.1"}\n', "line 2 is not an answer"),
        (
            '{"recording": 1}\n{"key": "a.1", "answer": 1}\n{"key": "a.1", "answer": 2}\n',
            r"line 3 answers a\.1 a second",
        ),
        ('{"recording": 1}\n' + "[" * 50_000, "line 2 is not an answer"),
    ],
)
def test_a_damaged_recording_is_named(text: str, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text(text)
    question = Question(role="r", step="a", key="a.1", context={}, returns=Word)
    with pytest.raises(ConfigError, match=complaint):
        Recording(path=str(tmp_path / "r.jsonl")).answer(question)


def test_an_answer_that_is_none_any_more_is_named(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text('{"recording": 1}\n{"key": "a.1", "answer": {"words": 1}}\n')
    question = Question(role="r", step="a", key="a.1", context={}, returns=Word)
    with pytest.raises(InvalidAnswer, match=r"a\.1: what the recording .* is no answer to it any more \(text: "):
        Recording(path=str(tmp_path / "r.jsonl")).answer(question)


# The prompt is the same


def digests(run: Path, record: Path, **how: Any) -> dict[str, str]:
    """The hash of each prompt of a run."""
    assert by_hand(run, **{**PEOPLE, **how}, record=str(record)).status == "completed"
    return {line["key"]: line["prompt"] for line in objects(record)[1:]}


def test_a_prompt_depends_on_no_folder_environment_seed_or_price(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {line["key"]: line["prompt"] for line in objects(recorded)[1:]}
    monkeypatch.setenv("HOME", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("TZ", "Pacific/Chatham")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:///elsewhere.db")
    monkeypatch.chdir(tmp_path)
    deep = tmp_path / "a folder" / "deep"
    tracking = {"_target_": "looper.tracking.Tracking", "enabled": False}
    assert digests(deep / "another-name", tmp_path / "r.jsonl", seed=7, tracking=tracking) == known


def test_the_prompt_is_the_same_whoever_fills_the_seat(recorded: Path) -> None:
    seats = {"model": "openai/x", "system": "You write for {{ role }}s."}
    for name in ("human", "recording", "openai/x"):
        group = {"name": name} | ({"path": str(recorded)} if name == "recording" else {})
        cast = Seats(group, {"producer": {**seats, "model": name}})
        agent: Any = cast.agent("producer", "produce", Writing())
        question = Question(
            role="producer", step="produce", key="k.1", context={"goal": "g", "plan": "p"}, returns=Word
        )
        if name == "human":
            words = agent.templates
        else:
            words = Templates(system=agent.system, prompt=agent.prompt, prompts=agent.prompts)
        shown = words.messages(question)
        assert shown[0]["content"].startswith("You write for producers.")
        assert shown == render(question, "You write for {{ role }}s.", Writing().prompts["produce"], form=True)
