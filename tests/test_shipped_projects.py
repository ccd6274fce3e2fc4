"""The recordings of the shipped projects play to their ends as a new user meets them (issue 5, item 4)."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from command_line import ROOT, Said, call

LIBRARY = ROOT / "looper/tasks/project/library"
NAMES = sorted(file.parent.name for file in LIBRARY.glob("*/recording.jsonl"))


def events(outputs: Path) -> list[dict[str, Any]]:
    (file,) = outputs.glob("*/history.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


def payload(outputs: Path, event: dict[str, Any]) -> Any:
    (folder,) = outputs.glob("*/")
    held = event["payload"]
    return json.loads((folder / held["blob"]).read_text()) if isinstance(held, dict) and "blob" in held else held


def run(name: str, outputs: Path, *more: str) -> Said:
    return call(f"+task=project/{name}", "loop=workflow", "tracking=none", f"outputs={outputs}", *more)


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=True).stdout


def test_every_shipped_project_has_a_recording_that_says_who_answered() -> None:
    shipped = sorted(file.stem for file in (ROOT / "conf/task/project").glob("[!_]*.yaml"))
    assert shipped == NAMES == ["add_login", "live_rates", "merge_contacts"]
    for name in NAMES:
        head, *lines = [json.loads(line) for line in (LIBRARY / name / "recording.jsonl").read_text().splitlines()]
        assert head["design"] == "workflow"
        assert "language model" in head["by"] + head["note"]
        assert all(line["prompt"] and line["by"].startswith("model:") for line in lines), (
            "nobody's words are a person's"
        )


@pytest.fixture(scope="module")
def login(tmp_path_factory: pytest.TempPathFactory) -> tuple[Said, Path]:
    outputs = tmp_path_factory.mktemp("login")
    return run("add_login", outputs), outputs


def test_user_authentication_is_added_with_a_fix_a_replan_and_a_verification(login: tuple[Said, Path]) -> None:
    said, outputs = login
    assert said.code == 0, said.err[-800:]
    assert "a recording" in said.out
    told = events(outputs)
    verdicts = [event["payload"]["verdict"] for event in told if event["event"] == "diagnosed"]
    assert verdicts == ["REPLAN"]
    tries = [event["payload"] for event in told if event["event"] == "iteration_advanced"]
    assert any(entry["step"] > 0 and entry["score"] == 1 for entry in tries), "a fix that mends it"
    assert any(entry["score"] < 0.7 for entry in tries), "a change that fails"
    assert [event for event in told if event["event"] == "verified"]
    end = told[-1]["payload"]["facts"]
    assert end["holdout"]["score"] == 1.0, "thirty hidden tests"
    assert [task["state"] for task in end["tasks"]] == ["completed"] * len(end["tasks"])
    assert any("." in task["id"] for task in end["tasks"])


def test_the_workspace_of_it_has_a_commit_per_finished_task_and_ends_at_the_patch(login: tuple[Said, Path]) -> None:
    _, outputs = login
    (folder,) = outputs.glob("*/")
    done = [task for task in json.loads((folder / "run.json").read_text())["tasks"] if task["commit"]]
    subjects = git(folder / "workspace", "log", "--format=%s").splitlines()
    assert sorted(subjects[:-1]) == sorted(f"{task['id']} {task['title']}" for task in done)
    assert git(folder / "workspace", "status", "--porcelain") == ""
    assert git(folder / "workspace", "branch", "--show-current").strip() == f"looper/{folder.name}"
    apply = ["git", "-C", str(folder / "given"), "apply", "--check", str(folder / "patch.diff")]
    assert subprocess.run(apply, capture_output=True, check=False).returncode == 0


def test_the_status_of_it_shows_the_tree(login: tuple[Said, Path]) -> None:
    _, outputs = login
    said = call("status", f"outputs={outputs}")
    assert "3.1" in said.out
    assert "REPLAN" in said.out


def test_what_cannot_be_had_ends_impossible_with_its_blockers(tmp_path: Path) -> None:
    said = run("live_rates", tmp_path)
    assert said.code == 1, said.err[-800:]
    assert "impossible" in said.out
    assert "bankfeed" in said.out
    rulings = [event["payload"] for event in events(tmp_path) if event["event"] == "diagnosed"]
    assert [(one["said"], one["verdict"]) for one in rulings] == [("IMPOSSIBLE", "RETRY"), ("IMPOSSIBLE", "IMPOSSIBLE")]
    assert rulings[0]["clamps"]


@pytest.mark.parametrize("answer", ["1", "both are kept"])
def test_a_question_pauses_and_goes_on_with_either_answer(answer: str, tmp_path: Path) -> None:
    said = run("merge_contacts", tmp_path)
    assert said.code == 3, said.err[-800:]
    for words in ("clarify", "question:", "1. the newer record wins", "2. both are kept"):
        assert words in said.out, words
    (folder,) = tmp_path.glob("*/")
    after = call("resume", folder.name, f"answer={answer}", f"outputs={tmp_path}")
    assert after.code == 0, after.err[-800:]
    assert "completed: verified" in after.out


def test_a_number_that_is_none_of_the_choices_is_asked_about_again(tmp_path: Path) -> None:
    assert run("merge_contacts", tmp_path).code == 3
    (folder,) = tmp_path.glob("*/")
    after = call("resume", folder.name, "answer=7", f"outputs={tmp_path}")
    assert after.code == 3
    assert "7 is none of the choices; give a number from 1 to 2" in after.out


def test_another_answer_is_not_guessed_at_by_a_recording(tmp_path: Path) -> None:
    assert run("merge_contacts", tmp_path).code == 3
    (folder,) = tmp_path.glob("*/")
    after = call("resume", folder.name, "answer=ask me every time", f"outputs={tmp_path}")
    assert after.code == 1
    assert "stale" in after.out
    assert "a person answered otherwise" in after.out
