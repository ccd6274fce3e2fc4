"""The outer loop's recording plays as a new user meets it: a question, requirements, work, gaps, a lesson (issue 7)."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from command_line import ROOT, Said, call
from dial_runs import Terminal
from document_tasks import reference, task

from looper.checks.examine import examine
from looper.checks.kinds import Check, Judge
from looper.tasks.document.rules import typed

NAME = "outage_notice"
RECORDING = ROOT / "looper/tasks/document/library/outage_notice/recording.jsonl"
COMMAND = ("+task=document/outage_notice", "outer=gather_verify", "loop=reflex", "confirm=yes", "tracking=none")
CHOICES = {"1": "Only the owners of the 312 accounts that lost submissions", "2": "All 9,400 customers"}
Played = dict[str, tuple[Said, Said, Path]]


def recorded() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    head, *lines = [json.loads(line) for line in RECORDING.read_text().splitlines()]
    return head, lines


def asked(outputs: Path, *more: str) -> tuple[Said, Path]:
    """A new run until its question, and its folder."""
    before = set(outputs.glob("*/"))
    said = call(*COMMAND, f"outputs={outputs}", *more)
    (folder,) = {one for one in outputs.glob("*/") if (one / "history.jsonl").exists()} - before
    return said, folder


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Both answers, one run after the other in one folder: until the question, and from the answer to the end."""
    outputs = tmp_path_factory.mktemp("outer")
    runs: Played = {}
    for answer in CHOICES:
        before, folder = asked(outputs)
        runs[answer] = before, call("resume", folder.name, f"answer={answer}", f"outputs={outputs}"), folder
    return runs


def history(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]


def state(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "run.json").read_text())
    return found


def test_the_recording_says_who_answered_what_was_staged_and_holds_no_word_of_the_user() -> None:
    head, lines = recorded()
    assert head["design"] == "gather_verify(reflex)"
    assert "language model" in head["by"]
    assert "on purpose" in head["note"]
    assert "no evidence" in head["note"], "who wrote the answers has written the hidden checks too"
    assert all(line["prompt"] and line["role"] != "user" for line in lines)
    assert all(line["by"].startswith("model:") for line in lines)


@pytest.mark.parametrize("answer", CHOICES)
def test_it_pauses_with_one_question_and_two_choices_and_goes_on_to_the_end(answer: str, played: Played) -> None:
    """Fails with `stale` in its text when a prompt has changed: carry the recording over then (scripts/carry)."""
    before, after, _ = played[answer]
    assert before.code == 3, before.err[-600:]
    assert "question: Whom is the notice for?" in before.out
    assert "answer=1 (a choice by its number, your words, or answer=@FILE)" in before.out
    for number, choice in CHOICES.items():
        assert f"  {number}: {choice}" in before.out
    assert after.code == 0, after.out[-600:] + after.err[-600:]
    assert "completed: verified" in after.out
    assert "a recording" in after.out


@pytest.mark.parametrize("answer", CHOICES)
def test_its_phases_are_those_of_the_document_with_one_loop_back(answer: str, played: Played) -> None:
    told = state(played[answer][2])["outer_loop"]
    phases = "INITIALIZED GATHER INTERVIEW INNER_LOOP VERIFY INNER_LOOP VERIFY LEARN COMPLETED"
    assert told["path"] == phases.split()
    assert told["loops"] == 1


@pytest.mark.parametrize("answer", CHOICES)
def test_the_user_is_asked_what_blocks_and_the_rest_is_assumed(answer: str, played: Played) -> None:
    first, second = state(played[answer][2])["outer_loop"]["gathered"]["answers"]
    assert (first["priority"], first["by"], first["answer"]) == ("P0", "user", CHOICES[answer])
    assert (second["priority"], second["by"]) == ("P1", "default")


@pytest.mark.parametrize("answer", CHOICES)
def test_the_interview_needs_a_second_round_for_targets_and_exits(answer: str, played: Played) -> None:
    first, second = [event["payload"] for event in history(played[answer][2]) if event["event"] == "completeness"]
    assert first["score"] == pytest.approx(0.79)
    assert {line.partition(":")[0] for line in first["missing"]} == {"metrics", "exits"}
    assert second["score"] >= 0.95


@pytest.mark.parametrize("answer", CHOICES)
def test_the_gate_lets_pass_what_the_verification_sends_back(answer: str, played: Played) -> None:
    told = state(played[answer][2])["outer_loop"]
    first, second = told["verdicts"]
    assert first["gate"] >= 0.85, "the inner design met its gate"
    assert first["outcome"] == "GAPS_IDENTIFIED"
    assert [gap["criterion"] for gap in first["gaps"] if gap["severity"] == "must"] == ["senders-believe"]
    assert {gap["criterion"] for gap in first["gaps"]} == {"senders-believe", "b.completeness.cross-refs"}
    assert (second["outcome"], second["gaps"]) == ("VERIFIED", [])
    assert second["score"] > first["score"]


@pytest.mark.parametrize("answer", CHOICES)
def test_the_inner_design_fails_is_criticised_and_reaches_both_phases(answer: str, played: Played) -> None:
    events = [event["event"] for event in history(played[answer][2])]
    for name in ("critique_done", "refinement_done", "phase_switched"):
        assert name in events, name


def test_the_answer_decides_the_text(played: Played) -> None:
    few, everybody = ((played[answer][2] / "artifact.md").read_text() for answer in CHOICES)
    assert "yours is one of them" in few
    assert "need not do anything" not in few
    assert "all 9,400 customers" in everybody
    assert "you need not do anything" in everybody
    for text in (few, everybody):
        assert 'usual "Thank you" page' in text, "the gap was closed"
        assert "[status page](https://status.penhallow.example)" in text


@pytest.mark.parametrize("answer", CHOICES)
def test_the_ideal_state_and_the_evidence_are_files(answer: str, played: Played) -> None:
    folder = played[answer][2]
    ideal, evidence = (folder / "ideal_state.md").read_text(), (folder / "verification.md").read_text()
    for words in (
        "1.00 after 2 rounds",
        "## Anti-criteria",
        f"{CHOICES[answer]} (user)",
        "(assumed)",
        "(asked: its words",
    ):
        assert words in ideal
    for words in ("round 1: GAPS_IDENTIFIED", "  - senders-believe (must, semantic): ", "round 2: VERIFIED 1.000"):
        assert words in evidence
    assert "| no |" not in evidence, "of the last one everything is met"


@pytest.mark.parametrize("answer", CHOICES)
def test_its_hidden_checks_are_measured_at_the_end_and_shown_to_nobody_before(answer: str, played: Played) -> None:
    *before, end = history(played[answer][2])
    assert end["payload"]["facts"]["holdout"]["score"] >= 0.8
    assert end["payload"]["facts"]["holdout"]["total_rules"] >= 6
    measured = [number for number, event in enumerate(before) if event["step"] == "holdout"]
    answered = [number for number, event in enumerate(before) if event["by"]]
    assert len(measured) == 1
    assert measured[0] > max(answered)


def test_both_runs_are_episodes_and_none_was_shown_to_the_recording(played: Played) -> None:
    outputs = played["1"][2].parent
    told = call("learnings", f"outputs={outputs}", "--json")
    episodes = json.loads(told.out)
    rows = episodes if isinstance(episodes, list) else episodes["episodes"]
    assert sorted(row["run"] for row in rows) == sorted(folder.name for _, _, folder in played.values())
    assert {row["outcome"] for row in rows} == {"VERIFIED"}
    assert all("recording" in row["filled_by"] for row in rows)
    assert state(played["2"][2])["outer_loop"]["gathered"]["episodes"] == [], "the second run had one to recall"


def test_a_number_that_is_no_choice_is_asked_again_and_other_words_are_not_in_the_recording(tmp_path: Path) -> None:
    _, folder = asked(tmp_path)
    again = call("resume", folder.name, "answer=3", f"outputs={tmp_path}")
    assert again.code == 3
    assert "not taken: 3 is none of the choices; give a number from 1 to 2, or words." in again.out
    assert "  2: All 9,400 customers" in again.out
    said = call("resume", folder.name, "answer=my neighbours", f"outputs={tmp_path}")
    assert said.code == 1
    assert "is stale: the prompt was another one" in said.out
    assert "a person answered otherwise" in said.out


def test_a_changed_prompt_makes_the_recording_stale(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    prompts = tmp_path / "conf/outer/_prompts_gather_verify.yaml"
    prompts.write_text(prompts.read_text().replace("You are the researcher.", "You are a researcher.", 1))
    said, _ = asked(tmp_path / "out", f"--config-dir={tmp_path / 'conf'}")
    assert said.code == 1
    assert "research.1: the recording" in said.out
    assert "is stale: the prompt was another one" in said.out


# The task behind it


def failed(rows: dict[str, list[Check]], text: str) -> set[str]:
    """Names of the rows with a check that this text does not pass; judges are not asked."""
    bench = task(NAME).bench
    return {
        name
        for name, checks in rows.items()
        if any(not isinstance(check, Judge) and not examine(check, text, bench).passed for check in checks)
    }


def hidden() -> dict[str, list[Check]]:
    return {name: typed(name, rows) for name, rows in task(NAME).holdout_checks.items()}


def damaged(old: str, new: str) -> str:
    assert old in reference(NAME), old
    return reference(NAME).replace(old, new)


def test_the_reference_passes_all_checks_and_an_empty_text_none() -> None:
    rows = {**task(NAME).gate.known, **hidden()}
    assert failed(rows, reference(NAME)) == set()
    told = {name for name, checks in rows.items() if not all(isinstance(check, Judge) for check in checks)}
    assert failed(rows, "") == told


@pytest.mark.parametrize(
    ("rule", "old", "new"),
    [
        ("a.correctness.accuracy", "1,284 submissions", "1,500 submissions"),
        ("a.correctness.accuracy", "At 10:27 UTC it restarted", "At 11:27 UTC it restarted"),
        ("a.correctness.promises", "By 4 December we publish a report.", "It cannot happen again."),
        ("a.correctness.promises", "free.", "free, and you get a credit."),
        ("a.security.confidential", "a copy of it", "db-kestrel-2"),
        ("a.quality.opening", "That was wrong.", "That was wrong, and we are sorry."),
        ("a.completeness.examples", ". ", ": "),
        ("b.completeness.cross-refs", "[status page](https://status.penhallow.example)", "status page"),
        ("b.style.consistency", "17 November 2026.", "November 17, 2026."),
        ("b.style.consistency", "at 14:10 UTC", "at 2:10 pm"),
        ("b.style.words", "our mistake", "an issue of ours"),
    ],
)
def test_a_damage_fails_the_rule_that_it_breaks(rule: str, old: str, new: str) -> None:
    assert rule in failed({rule: task(NAME).gate.known[rule]}, damaged(old, new))


HIDDEN = [
    ("whom", "Put a line on", "If you have lost submissions, put a line on"),
    ("whom", "You are the owner of one of the 312 accounts that", "This is for all customers. 312 accounts"),
    ("gone", "is gone for good. We tried everything there is to try and could not restore it.", "is missing."),
    ("kept", "; then we delete it", ""),
    ("senders", 'do not know: they saw the usual "Thank you" page and believe that it arrived', "wonder"),
    ("closed", " for 14 days", ""),
    ("untouched", "are untouched", "are there"),
    ("withdrawn", "That was wrong.", "More was known later."),
    ("fault", "A setting of ours was wrong, so", "The supplier made a mistake, so"),
    ("planned", "By 4 December we publish", "We publish"),
]
"""Hidden check, what is replaced in the reference, by what."""


@pytest.mark.parametrize(("name", "old", "new"), HIDDEN)
def test_a_damage_fails_the_hidden_check_that_it_breaks(name: str, old: str, new: str) -> None:
    assert name in failed({name: hidden()[name]}, damaged(old, new))


def test_every_hidden_check_has_a_damage_that_fails_it() -> None:
    assert {name for name, _, _ in HIDDEN} == set(task(NAME).holdout_checks)


def test_on_a_terminal_too_only_the_blocking_question_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a recording says after it follows from the defaults of the others."""
    monkeypatch.setattr("sys.stdin", Terminal("1\n"))
    said = call(*COMMAND, "until=interview", f"outputs={tmp_path}")
    assert said.code == 3, said.out[-600:]
    assert "paused: until" in said.out
    assert "1: Only the owners of the 312 accounts that lost submissions" in said.err
    assert "Your words, the number of a choice, or @FILE" in said.err
    assert "begin data" not in said.err, "marks for models are not for the user"
    (folder,) = tmp_path.glob("document*/")
    _, second = state(folder)["outer_loop"]["gathered"]["answers"]
    assert second["by"] == "default"
