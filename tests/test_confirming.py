"""The setup is confirmed before anything is spent, by a person or by the user's setting (SPEC 2.9)."""

import json
import os
import pty
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from command_line import ROOT, call
from dial_runs import Terminal, play
from written_runs import ANSWERS, by_hand, write

from looper.agents.confirming import Talk, asks, decided, given, setup
from looper.agents.human import understand
from looper.errors import ConfigError, Paused
from looper.journal import read
from looper.launch import Audience
from looper.tasks.contracts import Confirmation
from looper.types import Question

REFLEX: dict[str, Any] = {"loop": "reflex", "loop_settings": {"max_iterations": 2}}
PEOPLE: dict[str, Any] = {"model": {"name": "human"}, "agents": {"planner": {"model": "policy"}}}
RULES = [
    {"id": "a.correctness.x", "description": "x is right", "severity": "fail", "weight": 2, "phase": "A", "check": ""},
    {"id": "b.style.y", "description": "", "severity": "warn", "weight": 1.0, "phase": "B", "check": "y\nis short"},
]  # fmt: skip


class Amendable:
    """A task whose rules can be edited."""

    def amend(self, word: Confirmation) -> None:
        raise AssertionError("the design's business")


def question(task: Any = None) -> Question:
    context = {"rules": RULES, "thresholds": {"A": 0.8, "B": 0.9}, "max_iterations": 4}
    return Question(
        role="owner", step="confirm", key="confirm.1", context=context, returns=Confirmation, task=task or Amendable()
    )


def word_of(run: Path) -> tuple[str, Any]:
    """Who confirmed, and what."""
    step = next(event for event in read(run / "history.jsonl").events if event.step == "confirm")
    return step.by, step.payload


# The setting


def test_the_setting_confirms_and_costs_nothing(tmp_path: Path) -> None:
    by_hand(tmp_path / "run", **PEOPLE, confirm="yes")
    by, payload = word_of(tmp_path / "run")
    assert (by, payload["decision"]) == ("confirm=yes", "yes")
    step = next(event for event in read(tmp_path / "run/history.jsonl").events if event.step == "confirm")
    assert step.cost == {}


@pytest.mark.parametrize("setting", ["yes", "YES", True])
def test_yes_is_yes_however_yaml_reads_it(setting: object) -> None:
    assert given(setting)


@pytest.mark.parametrize("setting", ["no", False, "", "perhaps", 1, 0])
def test_anything_else_is_refused(setting: object, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"confirm=.*: give confirm=yes"):
        write(tmp_path / "run", confirm=setting)
    assert not (tmp_path / "run").exists()


# Without a terminal


def test_without_a_terminal_the_run_pauses_before_anything_is_spent(tmp_path: Path) -> None:
    outcome = write(tmp_path / "run", **PEOPLE)
    assert (outcome.status, outcome.reason) == ("paused", "confirm")
    assert "looper resume RUN answer=yes" in outcome.facts["detail"]
    state = json.loads((tmp_path / "run/run.json").read_text())
    assert state["spent"] == {}
    for words in ("Phase A: threshold 0.8", "b.style.farewell", "Iterations at most: 4"):
        assert words in state["waiting"]["prompt"]


@pytest.fixture
def paused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of the command that waits for a confirmation."""
    monkeypatch.chdir(tmp_path)
    said = call("+task=dial", "loop=reflex", "loop.max_iterations=2", "tracking=none")
    assert said.code == 3, said.err
    (run,) = (path for path in (tmp_path / "outputs").iterdir() if path.is_dir())
    return run


def test_resume_answer_yes_goes_on(paused: Path) -> None:
    assert call("resume", paused.name, "answer=yes").code == 4
    assert word_of(paused)[0] == "human"
    assert json.loads((paused / "run.json").read_text())["iteration"] == 2


def test_resume_answer_no_ends_it(paused: Path) -> None:
    assert call("resume", "answer=no").code == 4
    state = json.loads((paused / "run.json").read_text())
    assert (state["status"], state["stop"]["reason"], state["spent"]) == ("stopped", "user_stop", {})


def test_resume_with_an_edit_goes_on_with_it(paused: Path) -> None:
    assert call("resume", 'answer={"decision": "edit", "max_iterations": 1}').code == 4
    assert json.loads((paused / "run.json").read_text())["iteration"] == 1


def test_resume_confirm_yes_goes_on_too(paused: Path) -> None:
    assert call("resume", "confirm=yes").code == 4
    assert word_of(paused)[0] == "confirm=yes"


@pytest.mark.parametrize(
    "answer", ["maybe", "edit", '{"max_iterations": 0}', '{"thresholds": {"A": 0.5}}', '{"iterations": 3}', "[1]"]
)
def test_an_answer_that_does_not_fit_is_one_sentence_and_the_run_waits(answer: str, paused: Path) -> None:
    said = call("resume", f"answer={answer}")
    assert said.code == 2
    assert said.err.splitlines()[-1].startswith("looper: answer: ")
    state = json.loads((paused / "run.json").read_text())
    assert (state["status"], state["stop"]["reason"], state["waiting"]["key"]) == ("paused", "confirm", "confirm.1")
    assert call("resume", "answer=yes").code == 4


def test_an_edit_reaches_the_task(tmp_path: Path) -> None:
    edit = {"thresholds": {"A": 0.5}, "leave_out": ["b.style.farewell"], "max_iterations": 3}
    write(tmp_path / "run", **PEOPLE)
    outcome = write(tmp_path / "run", {"confirm.1": edit}, **PEOPLE)
    assert outcome.status == "paused"
    by, payload = word_of(tmp_path / "run")
    assert (by, payload) == ("human", {"decision": "edit", **edit})


# Words


@pytest.mark.parametrize(("text", "decision"), [("yes", "yes"), (" Y\n", "yes"), ("No", "no"), ("n", "no")])
def test_plain_words_decide(text: str, decision: str) -> None:
    assert decided(text, question()) == Confirmation(decision=decision)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"thresholds": {"C": 0.5}}', "there is no phase `C`; there are A, B"),
        ('{"thresholds": {"A": 1.5}}', "less than or equal to 1"),
        ('{"leave_out": ["b.style.z"]}', r"there is no rule `b\.style\.z`"),
        ('{"leave_out": ["a.correctness.x", "b.style.y"]}', "at least one rule must be left"),
        ('{"decision": "yes", "max_iterations": 2}', "with changes the decision is edit"),
        ("edit", "`edit` needs the changes"),
        ("[" * 50_000, "none of yes, no and edit"),
    ],
)
def test_what_does_not_fit_the_setup_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        decided(text, question())


def test_rules_of_a_task_that_cannot_change_them_are_left_alone() -> None:
    assert decided('{"max_iterations": 2}', question(task=object())).max_iterations == 2
    with pytest.raises(ConfigError, match="the rules of this task cannot be edited"):
        decided('{"leave_out": ["b.style.y"]}', question(task=object()))


def test_the_setup_is_a_table_with_what_was_changed() -> None:
    plain = setup(question(), Confirmation(decision="yes"))
    assert plain[0] == "Phase A: threshold 0.8, and no rule of severity fail may fail"
    assert plain[1].split() == ["a.correctness.x", "fail", "weight", "2", "x", "is", "right"]
    assert "y is short" in plain[4]
    edited = Confirmation(decision="edit", thresholds={"A": 0.7}, max_iterations=6, leave_out=["b.style.y"])
    shown = "\n".join(setup(question(), edited))
    for words in ("threshold 0.7 (was 0.8)", "LEFT OUT", "Iterations at most: 6 (was 4)"):
        assert words in shown


# The dialogue


def talk(*lines: str, task: Any = None) -> tuple[Confirmation, list[dict[str, Any]]]:
    """What came of a dialogue in which a person types these lines, and what they were shown."""
    shown: list[dict[str, Any]] = []
    left = list(lines)

    def ask(asked: Question) -> str:
        shown.append(dict(asked.context))
        understand(left[0], asked.returns)  # as the console does before it hands a line over
        return left.pop(0)

    word = Talk(question(task), ask).run()
    assert not left, "it asked for less than was typed"
    return word, shown


def test_yes_and_no_end_the_dialogue_at_once() -> None:
    assert talk("yes")[0] == Confirmation(decision="yes")
    assert talk("no")[0].decision == "no"


def test_an_edit_is_shown_again_before_it_is_taken() -> None:
    word, shown = talk("edit", "A=0.7, B=0.95", "6", "b.style.y", "yes")
    assert word == Confirmation(
        decision="edit", thresholds={"A": 0.7, "B": 0.95}, max_iterations=6, leave_out=["b.style.y"]
    )
    assert "threshold 0.7 (was 0.8)" in shown[-1]["setup"]
    assert "now A=0.8 B=0.9" in shown[1]["change"]


def test_an_edit_can_be_edited_and_taken_back() -> None:
    word, _ = talk("edit", "A=0.7", "", "b.style.y", "edit", "", "5", "none", "yes")
    assert word == Confirmation(decision="edit", thresholds={"A": 0.7}, max_iterations=5)
    assert talk("edit", "", "", "", "yes")[0] == Confirmation(decision="yes")
    assert talk("edit", "A=0.7", "", "", "no")[0].decision == "no"


def test_an_edit_as_json_is_shown_again_too() -> None:
    word, shown = talk('{"decision": "edit", "max_iterations": 2}', "yes")
    assert word == Confirmation(decision="edit", max_iterations=2)
    assert "Iterations at most: 2 (was 4)" in shown[-1]["setup"]


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [("A", "PHASE=NUMBER"), ("A=high", "PHASE=NUMBER"), ("A=1.2", "between 0 and 1"), ("A=nan", "between"),
     ("C=0.5", "no phase `C`")],
)  # fmt: skip
def test_a_threshold_that_does_not_fit_is_asked_again(wrong: str, complaint: str) -> None:
    word, shown = talk("edit", wrong, "A=0.5", "", "", "yes")
    assert word.thresholds == {"A": 0.5}
    assert complaint in shown[2]["refused"]


@pytest.mark.parametrize("wrong", ["0", "101", "-1", "four", "1.5"])
def test_an_iteration_limit_that_does_not_fit_is_asked_again(wrong: str) -> None:
    assert talk("edit", "", wrong, "100", "", "yes")[0].max_iterations == 100


def test_only_the_limit_is_asked_where_rules_cannot_be_edited() -> None:
    word, shown = talk("edit", "2", "yes", task=object())
    assert word == Confirmation(decision="edit", max_iterations=2)
    assert len(shown) == 3


def test_a_person_who_ends_the_input_leaves_the_confirmation_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal())

    def leave(asked: Question) -> str:
        raise Paused("not answered", "questions")

    outcome = write(tmp_path / "run", audience=Audience(terminal=leave), **PEOPLE)
    assert (outcome.status, outcome.reason, outcome.facts["waiting"]["key"]) == ("paused", "confirm", "confirm.1")


def test_on_a_real_terminal_a_person_is_asked_edits_and_confirms(tmp_path: Path) -> None:
    shown, code = typed(["edit\r", "1\r", "yes\r"], tmp_path)
    assert code == 4, shown
    assert "Phase A: threshold 1, and no rule of severity fail may fail" in shown
    assert "Iterations at most: 1 (was 4)" in shown
    (run,) = (path for path in (tmp_path / "outputs").iterdir() if path.is_dir())
    assert word_of(run)[1]["max_iterations"] == 1
    assert json.loads((run / "run.json").read_text())["iteration"] == 1


def typed(lines: list[str], cwd: Path) -> tuple[str, int]:
    """What a terminal shows of the command while somebody types a line at each prompt, and its exit code."""
    child, master = pty.fork()
    if child == 0:
        os.chdir(cwd)
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "dumb"}
        command = ["-m", "looper", "+task=dial", "loop=reflex", "tracking=none"]
        os.execve(sys.executable, [sys.executable, *command], environment)
    seen, end, left = b"", time.monotonic() + 60, list(lines)
    try:
        while time.monotonic() < end:
            if not select.select([master], [], [], 0.05)[0]:
                continue
            try:
                data = os.read(master, 65_536)
            except OSError:  # the other side was closed: the command has ended
                break
            seen += data
            if seen.count(b"answer> ") > len(lines) - len(left) and left:
                os.write(master, left.pop(0).encode())
        else:
            os.kill(child, signal.SIGKILL)
        return seen.decode(errors="replace"), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        os.close(master)


# Who may confirm


def test_whoever_fills_all_roles_does_not_confirm(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text('{"recording": 1}\n{"key": "confirm.1", "answer": {"decision": "yes"}}\n')
    for number, model in enumerate(
        (
            {"name": "simulated", "skill": 1.0},
            {"name": "openai/x"},
            {"name": "recording", "path": f"{tmp_path}/r.jsonl"},
        )
    ):
        outcome = write(tmp_path / f"{number}", model=model)
        assert (outcome.status, outcome.reason) == ("paused", "confirm")


def test_a_filler_of_its_own_confirms_as_in_any_role(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text('{"recording": 1}\n{"key": "confirm.1", "answer": {"decision": "no"}}\n')
    owner = {"model": "recording", "path": f"{tmp_path}/r.jsonl"}
    outcome = write(tmp_path / "a", agents={"owner": owner})
    assert (outcome.status, outcome.reason, word_of(tmp_path / "a")[0]) == ("stopped", "user_stop", "recording")
    outcome = write(tmp_path / "b", agents={"owner": {"model": "human"}}, confirm="yes")
    assert (outcome.status, outcome.reason, outcome.facts["waiting"]["key"]) == ("paused", "questions", "confirm.1")
    outcome = write(tmp_path / "b", {"confirm.1": "no"}, agents={"owner": {"model": "human"}}, confirm="yes")
    assert (outcome.status, outcome.reason) == ("stopped", "user_stop")


def test_a_design_without_a_confirmation_asks_nobody(tmp_path: Path) -> None:
    outcome = play(tmp_path / "run", loop="reflex", loop_settings={"confirmation": False, "max_iterations": 1})
    assert outcome.status == "stopped"


def test_a_person_s_confirmation_can_be_recorded_and_played(tmp_path: Path) -> None:
    edit = {"decision": "edit", "max_iterations": 3}
    file = tmp_path / "r.jsonl"
    write(tmp_path / "run", **PEOPLE, record=str(file))
    write(tmp_path / "run", {"confirm.1": edit}, **PEOPLE, record=str(file))
    assert by_hand(tmp_path / "run", **PEOPLE, record=str(file)).status == "completed"
    assert len(file.read_text().splitlines()) == 2 + len(ANSWERS)
    seats = {"planner": {"model": "policy"}, "owner": {"model": "recording"}}
    outcome = write(tmp_path / "again", model={"name": "recording", "path": str(file)}, agents=seats)
    assert outcome.status == "completed"
    assert word_of(tmp_path / "again")[1]["max_iterations"] == 3


# Sweeps


def test_a_sweep_that_nobody_can_confirm_is_refused_before_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = call("-m", "+task=dial", "loop=once,reflex", "tracking=none")
    assert said.code == 2
    assert "give confirm=yes" in said.complaint
    assert not (tmp_path / "outputs").exists()
    said = call("-m", "+task=dial", "loop=once,reflex", "tracking=none", "confirm=yes")
    assert said.code == 0, said.err
    assert "paused" not in said.out


@pytest.mark.parametrize(
    ("loop", "setting", "agents", "expected"),
    [
        ({"confirmation": True}, None, {}, True),
        ({"confirmation": True}, "yes", {}, False),
        ({"confirmation": False}, None, {}, False),
        ({}, None, {}, False),
        ({"confirmation": True}, None, {"owner": {"model": "openai/x"}}, False),
    ],
)
def test_whether_a_run_will_ask_is_told_from_its_settings(
    loop: dict[str, Any], setting: Any, agents: dict[str, Any], expected: bool
) -> None:
    assert asks(loop, setting, agents) == expected
