"""The outer loop from the command line: phases, questions, decisions, exit codes (SPEC 0.2, 5.1)."""

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Said, call
from outer_players import asks

from looper.commands.shelf import resumable
from looper.folder import Outputs
from looper.loops.gather_verify import policies
from looper.loops.gather_verify.answers import Analysis

SEARCH = ("+task=dial", "outer=gather_verify", "loop=cabal", "confirm=yes", "tracking=none")
"""A run that policies alone bring to its end."""


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def begin(outputs: Path, *more: str) -> Said:
    return call(*SEARCH, f"outputs={outputs}", *more)


def go_on(outputs: Path, *more: str) -> Said:
    return call("resume", *more, f"outputs={outputs}")


def state(outputs: Path) -> dict[str, Any]:
    (file,) = outputs.glob("*/run.json")
    return json.loads(file.read_text())


def test_a_run_with_policies_alone_completes_with_its_files(tmp_path: Path) -> None:
    said = begin(tmp_path / "o")
    assert said.code == 0, said.err
    found = state(tmp_path / "o")
    assert (found["status"], found["stop"]["reason"], found["outer"]) == ("completed", "verified", "gather_verify")
    assert found["design"] == "cabal"
    assert found["outer_loop"]["path"][-1] == "COMPLETED"
    (folder,) = [file.parent for file in (tmp_path / "o").glob("*/run.json")]
    assert "# Ideal state" in (folder / "ideal_state.md").read_text()
    evidence = (folder / "verification.md").read_text()
    assert "| criterion | severity | layer |" in evidence
    assert "VERIFIED" in evidence
    for phase in ("GATHER", "INTERVIEW", "INNER_LOOP", "VERIFY", "LEARN", "COMPLETED"):
        assert f"── {phase} " in said.err + said.out, phase
    learned = call("learnings", f"outputs={tmp_path / 'o'}")
    assert learned.code == 0
    assert "dial" in learned.out


def test_each_phase_alone_and_on_with_resume(tmp_path: Path) -> None:
    outputs = tmp_path / "o"
    said = begin(outputs, "until=gather")
    for until in ("interview", "inner_loop", "verify", "learn", None):
        assert said.code == 3, said.err
        found = state(outputs)
        assert (found["status"], found["stop"]["reason"]) == ("paused", "until")
        assert "until=" in found["outcome"]["facts"]["detail"]
        said = go_on(outputs, *([f"until={until}"] if until else []))
    assert said.code == 0, said.err
    assert state(outputs)["outer_loop"]["phase"] == "COMPLETED"


def test_resume_after_until_goes_to_the_end(tmp_path: Path) -> None:
    assert begin(tmp_path / "o", "until=interview").code == 3
    assert go_on(tmp_path / "o").code == 0


@pytest.mark.parametrize(
    ("args", "wanted"),
    [
        (("+task=dial", "until=gather"), "outer=gather_verify"),
        (("+task=dial", "outer=gather_verify", "until=verfy"), "gather, interview, inner_loop, verify, learn"),
        (("+task=dial", "outer=gather_verify", "outer.answers=none.yaml"), "none.yaml"),
        (("+task=dial", "outer=gather_verify", "outer.layers.objective=0.9"), "must sum to 1"),
        (("+task=dial", "outer=gather_verify", "outer.thresholds.gaps=0.95"), "must not be above"),
        (("+task=dial", "outer=gather_verify", "outer.escalation=maybe"), "escalation"),
    ],
)
def test_what_cannot_be_used_is_one_clear_message_and_exit_code_2(
    tmp_path: Path, args: tuple[str, ...], wanted: str
) -> None:
    said = call(*args, "tracking=none", f"outputs={tmp_path / 'o'}")
    assert said.code == 2
    assert wanted in said.err
    assert "Traceback" not in said.err
    assert not list((tmp_path / "o").glob("*/history.jsonl"))


@pytest.fixture
def _asking(monkeypatch: pytest.MonkeyPatch) -> None:
    """An analyst who asks two questions that block, one that does not, and a detail."""
    questions = [asks("range", choices=["narrow", "wide"]), asks("speed"), asks("colour", "P1"), asks("shape", "P2")]

    def analyse(**_: Any) -> Analysis:
        return Analysis.model_validate({"open": ["a dial"], "questions": questions})

    monkeypatch.setitem(policies.BY_STEP, "analyse", analyse)


@pytest.mark.usefixtures("_asking")
def test_questions_that_block_pause_the_run_until_resume_answers_them(tmp_path: Path) -> None:
    outputs = tmp_path / "o"
    said = begin(outputs)
    assert said.code == 3
    found = state(outputs)
    assert (found["status"], found["stop"]["reason"]) == ("paused", "questions")
    assert "What about range?" in said.out + said.err
    assert "What about speed?" in said.out + said.err
    waiting = [found["waiting"], *found["waiting"]["others"]]
    keys = {one["key"].split("/")[-2]: one["key"] for one in waiting}
    assert set(keys) == {"range", "speed"}
    wrong = go_on(outputs, f"answer={json.dumps({keys['range']: '7', keys['speed']: 'slow'})}")
    assert wrong.code == 3
    again = state(outputs)["waiting"]
    assert "1 to 2" in again["prompt"]
    assert "others" not in again
    assert go_on(outputs, "answer=2").code == 0
    told = {one["id"]: (one["answer"], one["by"]) for one in state(outputs)["outer_loop"]["gathered"]["answers"]}
    assert told == {
        "range": ("wide", "user"), "speed": ("slow", "user"), "colour": ("the default of colour", "default"),
        "shape": ("the default of shape", "default"),
    }  # fmt: skip


@pytest.mark.usefixtures("_asking")
def test_a_file_answers_by_id(tmp_path: Path) -> None:
    (tmp_path / "answers.yaml").write_text("range: wide\nspeed: slow\n")
    assert begin(tmp_path / "o", "outer.answers=answers.yaml").code == 0
    told = state(tmp_path / "o")["outer_loop"]["gathered"]["answers"]
    assert [one["by"] for one in told] == ["file", "file", "default", "default"]


@pytest.mark.usefixtures("_asking")
def test_a_policy_in_the_seat_of_the_user_answers(tmp_path: Path) -> None:
    assert begin(tmp_path / "o", "agents.user.model=policy").code == 0
    told = state(tmp_path / "o")["outer_loop"]["gathered"]["answers"]
    assert [one["answer"] for one in told][:2] == ["narrow", "decide yourself"]


STUCK = ("+task=dial", "outer=gather_verify", "loop=once", "confirm=yes", "tracking=none")
"""A run whose one step is not enough, so that the user decides."""


@pytest.mark.parametrize(
    ("word", "code", "end"),
    [("accept", 4, ("stopped", "accepted")), ("stop", 4, ("stopped", "user_stop")),
     ("relax a.correctness.band", 0, ("completed", "verified")), ("budget 5", 3, ("paused", "escalate"))],
)  # fmt: skip
def test_the_user_decides_by_resume(tmp_path: Path, word: str, code: int, end: tuple[str, str]) -> None:
    outputs = tmp_path / "o"
    said = call(*STUCK, f"outputs={outputs}")
    assert said.code == 3
    assert (state(outputs)["status"], state(outputs)["stop"]["reason"]) == ("paused", "escalate")
    assert "relax CRITERION" in said.out + said.err
    shown = call("status", f"outputs={outputs}").out
    assert "| Why you are asked: The score 0.375 is below 0.6" in shown
    assert "begin data" not in shown
    assert resumable(Outputs(outputs)).path.is_dir()
    said = go_on(outputs, f"answer={word}")
    found = state(outputs)
    assert said.code == code, said.err
    assert (found["status"], found["stop"]["reason"]) == end
    assert found["outer_loop"]["decisions"][0]["decision"] == word.split()[0]


def test_units_that_the_user_adds_are_part_of_the_cap_that_is_shown(tmp_path: Path) -> None:
    outputs = tmp_path / "o"
    call(*STUCK, f"outputs={outputs}")
    assert " of 400" in call("status", f"outputs={outputs}").out
    go_on(outputs, "answer=budget 5")
    assert " of 405" in call("status", f"outputs={outputs}").out


def test_a_list_shows_the_outer_loop(tmp_path: Path) -> None:
    call(*STUCK, f"outputs={tmp_path / 'o'}")
    assert "once under gather_verify" in call("list", f"outputs={tmp_path / 'o'}").out


@pytest.mark.usefixtures("_asking")
def test_an_answer_that_no_question_asked_for_is_told(tmp_path: Path) -> None:
    (tmp_path / "answers.yaml").write_text("range: wide\nspeed: slow\nsped: fast\n")
    said = begin(tmp_path / "o", "outer.answers=answers.yaml")
    assert said.code == 0
    told = "outer.answers has answers that no question asked for: sped"
    assert told in said.out
    assert told in call("status", f"outputs={tmp_path / 'o'}").out
    (run,) = (tmp_path / "o").glob("*/ideal_state.md")
    assert "## Answers in the file that no question asked for\n\n- sped\n" in run.read_text()


def test_an_answer_that_is_no_decision_leaves_the_run_waiting(tmp_path: Path) -> None:
    outputs = tmp_path / "o"
    call(*STUCK, f"outputs={outputs}")
    said = go_on(outputs, "answer=perhaps")
    assert said.code == 2
    assert "accept" in said.err
    assert state(outputs)["status"] == "paused"
    assert state(outputs)["waiting"]["step"] == "escalate"


@pytest.mark.parametrize(
    ("setting", "code", "end"), [("accept", 4, ("stopped", "accepted")), ("stop", 1, ("failed", "rejected"))]
)
def test_a_setting_decides_for_sweeps(tmp_path: Path, setting: str, code: int, end: tuple[str, str]) -> None:
    said = call(*STUCK, f"outer.escalation={setting}", f"outputs={tmp_path / 'o'}")
    assert said.code == code
    found = state(tmp_path / "o")
    assert (found["status"], found["stop"]["reason"]) == end


def test_learning_can_be_switched_off(tmp_path: Path) -> None:
    assert begin(tmp_path / "o", "outer.learn=false").code == 0
    assert not (tmp_path / "o" / "episodes.sqlite").exists()


def test_a_second_run_recalls_the_first_one_and_none_with_recall_0(tmp_path: Path) -> None:
    outputs = tmp_path / "o"
    assert begin(outputs).code == 0
    shown = []
    for more in ((), ("outer.recall=0",)):
        before = set(outputs.glob("*/run.json"))
        assert begin(outputs, *more).code == 0
        (file,) = set(outputs.glob("*/run.json")) - before
        shown.append(json.loads(file.read_text())["outer_loop"]["gathered"]["episodes"])
    assert len(shown[0]) == 1
    assert shown[1] == []
