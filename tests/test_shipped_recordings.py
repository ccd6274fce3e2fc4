"""The recordings of the shipped documents play to their end; a changed prompt makes them stale (issue 4, item 4)."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from command_line import ROOT, call

LIBRARY = ROOT / "looper/tasks/document/library"
HEADS = {
    file.parent.name: json.loads(file.read_text().partition("\n")[0]) for file in LIBRARY.glob("*/recording.jsonl")
}
TASKS = sorted(name for name, head in HEADS.items() if head["design"] == "reflex")


def events(outputs: Path) -> list[dict[str, Any]]:
    (file,) = outputs.glob("*/history.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_every_shipped_document_has_a_recording() -> None:
    shipped = sorted(file.stem for file in (ROOT / "conf/task/document").glob("[!_]*.yaml"))
    assert shipped == sorted(HEADS)
    assert len(TASKS) >= 4
    assert [name for name in shipped if name not in TASKS] == ["launch_brief", "outage_notice"], (
        "the missions of a cabal and of an outer loop"
    )


@pytest.mark.parametrize("task", TASKS)
def test_a_recording_says_who_answered(task: str) -> None:
    head, *lines = [json.loads(line) for line in (LIBRARY / task / "recording.jsonl").read_text().splitlines()]
    assert head["by"].startswith("model:")
    assert "language model" in head["note"]
    assert all(line["prompt"] and line["by"].startswith("model:") for line in lines)


@pytest.mark.parametrize("task", TASKS)
def test_a_recording_plays_without_a_model_through_failure_critique_refinement_and_both_phases(
    task: str, tmp_path: Path
) -> None:
    """Fails with `stale` in its text when a prompt has changed: make the recording anew then."""
    said = call("new", f"document/{task}", "confirm=yes", "tracking=none", f"outputs={tmp_path}")
    assert said.code == 0, said.err[-600:]
    assert "a recording" in said.err
    assert "a recording" in said.out
    told = events(tmp_path)
    names = [event["event"] for event in told]
    verdicts = [event["payload"]["passed"] for event in told if event["event"] == "evaluation_done"]
    assert False in verdicts, "an evaluation fails"
    assert verdicts[-1], "the last one passes"
    for name in ("plan_created", "artifact_created", "critique_done", "refinement_done", "phase_switched"):
        assert name in names, name
    assert {event["by"] for event in told if event["by"]} <= {"recording", "confirm=yes", "policy"}
    assert told[-1]["payload"]["facts"]["holdout"]["score"] >= 0.8


def test_a_changed_prompt_makes_a_recording_stale(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    base = tmp_path / "conf/task/document/_base.yaml"
    base.write_text(base.read_text().replace("You plan how", "You plan now how", 1))
    said = call(
        "new", "document/service_config", "confirm=yes", "tracking=none", f"outputs={tmp_path / 'out'}",
        f"--config-dir={tmp_path / 'conf'}",
    )  # fmt: skip
    assert said.code == 1
    assert "is stale: the prompt was another one" in said.out + said.err
