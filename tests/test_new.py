"""`looper new`: a loop on a task or on a document in words, with criteria that are proposed and confirmed (issue 4)."""

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import call

from looper.arguments import begun
from looper.errors import ConfigError

RULES = [
    {"id": "a.completeness.water", "description": "It says how much water", "severity": "fail", "check": "a number"},
    {"id": "a.quality.short", "description": "It is short", "severity": "warn", "check": "below 200 words"},
    {"id": "b.style.plain", "description": "No jargon", "severity": "warn", "check": "read it"},
]
QUIET = ("tracking=none", "outputs=out")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def answer(here: Path, value: Any) -> int:
    (here / "answer.json").write_text(json.dumps(value))
    return call("resume", "answer=@answer.json", "outputs=out").code


def state(here: Path) -> dict[str, Any]:
    (file,) = here.glob("out/*/run.json")
    return json.loads(file.read_text())


def test_new_words_stand_for_a_document_and_a_task_for_itself() -> None:
    assert begun(["document/courses_api", "confirm=yes"]) == ["task=document/courses_api", "loop=reflex", "confirm=yes"]
    assert begun(["dial", "loop=adaptive"]) == ["task=dial", "loop=adaptive"]
    assert begun(["A guide, 5 = enough"]) == ["task=document", "task.prompt='A guide, 5 = enough'", "loop=reflex"]


@pytest.mark.parametrize("words", [[], ["confirm=yes"], ["--json"]])
def test_new_without_a_task_says_what_to_give(words: list[str]) -> None:
    with pytest.raises(ConfigError, match="say what"):
        begun(words)


def test_proposed_criteria_are_confirmed_and_reach_every_prompt(here: Path) -> None:
    assert call("new", "A note on watering plants", "model=human", *QUIET).code == 3
    assert state(here)["waiting"]["role"] == "assessor"
    assert "A note on watering plants" in state(here)["waiting"]["prompt"]
    assert answer(here, {"rules": RULES}) == 3
    asked = state(here)
    assert (asked["waiting"]["role"], asked["stop"]["reason"]) == ("owner", "confirm")
    assert call("resume", "answer=yes", "outputs=out").code == 3
    confirmed = state(here)
    assert [rule["id"] for rule in confirmed["criteria"]["rules"]] == [rule["id"] for rule in RULES]
    assert confirmed["waiting"]["role"] == "planner"
    for rule in RULES:
        assert rule["description"] in confirmed["waiting"]["prompt"]


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (RULES[:2], "at least 3"),
        ([*RULES, RULES[0]], "same id"),
        ([{**RULES[0], "id": "water"}, *RULES[1:]], "pattern"),
        ([{**RULES[0], "severity": "warn"}, *RULES[1:]], "severity fail"),
    ],
)
def test_criteria_that_cannot_be_are_refused_and_the_run_waits_as_before(
    here: Path, rules: list[dict[str, str]], said: str
) -> None:
    assert call("new", "A note on watering plants", "model=human", *QUIET).code == 3
    (here / "answer.json").write_text(json.dumps({"rules": rules}))
    refused = call("resume", "answer=@answer.json", "outputs=out")
    assert refused.code == 2
    assert said in refused.err
    assert state(here)["waiting"]["role"] == "assessor"


def test_a_document_without_rules_cannot_pass_under_a_design_that_asks_for_none(here: Path) -> None:
    assert call("+task=document", 'task.prompt="A note"', "loop=once", "model=human", *QUIET).code == 3
    assert answer(here, {"steps": ["write"], "draft": "water"}) == 1
    ended = state(here)
    assert (ended["status"], ended["stop"]["reason"]) == ("failed", "impossible")


def test_the_whole_artifact_is_shown_to_who_asks_for_it(here: Path) -> None:
    assert call("+task=dial", *QUIET).code == 0
    shown = call("status", "--artifact", "outputs=out")
    (file,) = here.glob("out/*/artifact.md")
    assert (shown.code, shown.out.strip()) == (0, file.read_text().strip())


def test_a_run_without_an_artifact_says_so(here: Path) -> None:
    assert call("new", "A note on watering plants", "model=human", *QUIET).code == 3
    assert "there is no artifact yet" in call("status", "--artifact", "outputs=out").err
