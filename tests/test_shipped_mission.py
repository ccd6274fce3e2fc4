"""The mission that is shipped plays its recording as a new user meets it (issue 6, item 5)."""

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import ROOT, Said, call

RECORDING = ROOT / "looper/tasks/document/library/launch_brief/recording.jsonl"
Played = tuple[Said, Said, Path, dict[str, Any]]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """The run until its halt, the rest after the answer, its folder, the last board."""
    outputs = tmp_path_factory.mktemp("mission")
    before = call("+task=document/launch_brief", "loop=cabal", "tracking=none", f"outputs={outputs}")
    (folder,) = outputs.glob("*/")
    after = call("resume", folder.name, "answer=no", f"outputs={outputs}")
    board = json.loads(call("board", folder.name, "--json", f"outputs={outputs}").out)["board"]
    return before, after, folder, board


def test_the_recording_says_who_answered_and_holds_no_word_of_the_user() -> None:
    head, *lines = [json.loads(line) for line in RECORDING.read_text().splitlines()]
    assert head["design"] == "cabal"
    assert "language model" in head["by"] + head["note"]
    assert all(line["prompt"] and line["role"] != "user" for line in lines)


def test_it_pauses_with_the_question_and_goes_on_to_acceptance(played: Played) -> None:
    before, after, _, _ = played
    assert before.code == 3, before.err[-800:]
    assert "paused: halt" in before.out
    assert "Does the frame of 6,000 euros" in before.out
    assert after.code == 0, after.err[-800:]
    assert "completed: all_accepted" in after.out
    assert "a recording" in after.out


def test_it_shows_what_a_mission_can_come_to(played: Played) -> None:
    _, _, folder, board = played
    assert board["round"] >= 3
    assert len(board["products"]) >= 5
    assert any(one["importance"] >= 8 for one in board["collabs"]), "a flag"
    assert any(one["state"] == "rejected" for one in board["collabs"]), "feedback that its owner rejects"
    assert board["rejections"], "an operation that the board refuses"
    assert board["requests"], "a look at more context"
    assert board["halts"][0]["answer"] == "no"
    assert any(one["number"] >= 2 for one in board["versions"]), "a revision"
    missions = {json.dumps(event["payload"]) for event in history(folder) if event["step"] == "bootstrap"}
    assert board["mission"] not in "".join(missions), "the bootstrap was overridden"
    assert len({one["round"] for one in board["happenings"] if one["kind"] == "accepted"}) >= 2


def history(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]


def test_its_products_are_files_and_one_document_joins_them(played: Played) -> None:
    _, _, folder, board = played
    accepted = [
        one["id"] for one in board["products"] if one["status"] == "accepted" and one["type"] != "orchestration"
    ]
    assert sorted(file.name.partition("-")[0] for file in (folder / "products").iterdir()) == sorted(accepted)
    document = (folder / "document.md").read_text()
    for words in ("## Contents", "## Change Log", "## Timeline"):
        assert words in document
    end = history(folder)[-1]["payload"]
    assert end["artifact"].strip() == document.strip(), "what is handed over was judged"
    assert end["facts"]["holdout"]["score"] >= 0.8
