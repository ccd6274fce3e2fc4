import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dial_runs import Terminal

from looper.__main__ import main as looper
from looper.commands import main
from looper.episodes import STORE, Episode, Episodes
from looper.errors import ConfigError

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def store(tmp_path: Path) -> Episodes:
    return Episodes(tmp_path / "outputs" / STORE)


@pytest.fixture
def command(store: Episodes, capsys: pytest.CaptureFixture[str]) -> Run:
    """`command(*args)`: exit code and standard output."""

    def call(*args: str) -> tuple[int, str]:
        capsys.readouterr()
        code = main("learnings", [*args, f"outputs={store.path.parent}"])
        return code, capsys.readouterr().out

    return call


def keep(store: Episodes, run: str, **parts: Any) -> None:
    given = {"at": "2026-11-22T08:00:00Z", "task": "dial", "goal": "Turn the dial to the right place."} | parts
    store.append(Episode(run=run, **given))


def some(store: Episodes) -> None:
    keep(
        store, "20261121-repair", at="2026-11-21T10:30:00Z", task="repair", goal="Repair the parser of dates.",
        domain="coding", design="reflex", outer="gather_verify", status="completed", reason="verified", seed=3,
        outcome="VERIFIED", gate_score=0.8, verification=0.956, cost={"inner": 12.5, "outer": 4.0}, loops=1,
        failed=["tests: two of nine fail"], helped=["tests: closed"], filled_by="policy",
        questions=[{"question": "Which parser?", "answer": "the old one", "who": "human"}],
    )  # fmt: skip
    keep(
        store, "20261122-letter", task="letter", goal="Write a letter.", domain="correspondence", design="adaptive",
        status="stopped", reason="user_stop", gate_score=0.25, cost={"usd": 0.03125, "outer": 2.0},
        filled_by="a-model, simulated",
    )  # fmt: skip


def test_the_newest_come_first_with_a_lesson_below_each(
    store: Episodes, command: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    some(store)
    code, out = command()
    assert code == 0
    assert out.splitlines() == [
        "when              task    domain          design    outcome   score  cost",
        "2026-11-22 08:00  letter  correspondence  adaptive  stopped   0.25   $0.0312",
        "    20261122-letter: [simulation] stopped (user_stop)",
        "2026-11-21 10:30  repair  coding          reflex    verified  0.96   12.5+4",
        "    20261121-repair: verified after 1 loop-back; helped: tests: closed; failed: tests: two of nine fail",
    ]


def test_it_is_readable_on_a_terminal_of_80_columns(
    store: Episodes, command: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    some(store)
    keep(
        store, "x" * 60, task="a task with a long name", domain="technical_ops", design="a_design_with_a_name",
        status="interrupted", outcome="CRITICAL_FAILURE", verification=1.0, cost={"inner": 12345.678, "outer": 9876.5},
        failed=["why " * 40],
    )  # fmt: skip
    lines = command()[1].splitlines()
    assert max(map(len, lines)) <= 80
    assert all(word in lines[0] for word in ("when", "task", "domain", "design", "outcome", "score", "cost"))
    row = next(line for line in lines if "critical" in line)
    assert row.startswith("2026-11-22  a task with a...  technic...  a_design_...  critical")
    assert "1.00" in row


def test_at_most_twenty_are_shown(store: Episodes, command: Run) -> None:
    for number in range(23):
        keep(store, f"run-{number:02}", at=f"2026-11-22T08:00:{number:02}Z")
    out = command()[1]
    assert len(out.splitlines()) == 1 + 2 * 20
    assert "run-22" in out
    assert "run-02" not in out


def test_words_search_and_the_nearest_comes_first(store: Episodes, command: Run) -> None:
    some(store)
    keep(store, "dial-run", goal="Turn the dial, then the parser.")
    code, out = command("parsers", "of", "dates")
    assert code == 0
    assert [line.split(":")[0].strip() for line in out.splitlines()[2::2]] == ["20261121-repair", "dial-run"]


def test_a_search_that_finds_nothing_says_so(store: Episodes, command: Run) -> None:
    some(store)
    code, out = command("whales")
    assert code == 0
    assert out == "no episode has anything to do with `whales`; `looper learnings` shows the newest.\n"


@pytest.mark.parametrize("words", [(), ("dial",)])
def test_an_empty_store_says_how_it_is_filled_and_is_not_made(store: Episodes, command: Run, words: Any) -> None:
    code, out = command(*words)
    assert code == 0
    assert (
        out == f"there are no episodes in {store.path} yet; a run with outer=gather_verify leaves one when it ends.\n"
    )
    assert not store.path.parent.exists()
    assert json.loads(command(*words, "--json")[1]) == []


def test_json_gives_whole_episodes_and_how_well_they_fit(store: Episodes, command: Run) -> None:
    some(store)
    listed = json.loads(command("--json")[1])
    assert [one["run"] for one in listed] == ["20261122-letter", "20261121-repair"]
    assert listed[1] | {"lesson": ""} == store.all()[1].model_dump() | {"lesson": ""}
    assert listed[0]["lesson"] == "[simulation] stopped (user_stop)"
    searched = json.loads(command("dates", "--json")[1])
    assert [one["run"] for one in searched] == ["20261121-repair"]
    assert searched[0]["similarity"] > 0


def test_full_shows_all_that_is_kept(store: Episodes, command: Run) -> None:
    some(store)
    out = command("--full", "parser")[1]
    for line in (
        "run: 20261121-repair", "design: reflex, outer gather_verify, seed 3", "status: completed (verified)",
        "outcome: VERIFIED", "gate score: 0.8", "verification: 0.956", "cost: inner 12.5, outer 4",
        "goal: Repair the parser of dates.", "filled by: policy", "  - tests: two of nine fail", "  - tests: closed",
        "asked: Which parser?", "  human: the old one",
    ):  # fmt: skip
        assert line in out.splitlines(), line


def test_a_text_that_would_act_on_a_terminal_does_not(store: Episodes, command: Run) -> None:
    keep(store, "run", goal="\x1b]0;owned\x07 dial", task="\x1b[2J", failed=["\u202e reversed"])
    for args in ((), ("--full",), ("--json",)):
        assert not {"\x1b", "\x07", "\u202e"} & set(command(*args)[1])


# forgetting


def test_an_episode_is_forgotten_after_asking(store: Episodes, command: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    some(store)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with pytest.raises(ConfigError, match="without a terminal give --yes"):
        command("--forget", "20261122-letter")
    for words, code, told in (("n\n", 2, "nothing"), ("\n", 2, "nothing"), ("y\n", 0, "forgot the episode")):
        assert "20261122-letter" in store.runs()
        monkeypatch.setattr(sys, "stdin", Terminal(words))
        ended, out = command("--forget", "20261122-letter")
        assert ended == code
        assert out.startswith(told)
    assert store.runs() == ["20261121-repair"]
    assert command("--forget", "20261121-repair", "--yes")[0] == 0
    assert store.runs() == []


@pytest.mark.parametrize("args", [("--forget",), ("--forget", "a", "b"), ("--yes",), ("a", "--yes"),
                                  ("--forget", "a", "--json")])  # fmt: skip
def test_forgetting_needs_exactly_one_run(store: Episodes, command: Run, args: tuple[str, ...]) -> None:
    keep(store, "a")
    with pytest.raises(ConfigError, match="say which run is to be forgotten"):
        command(*args)
    assert store.runs() == ["a"]


def test_a_run_without_an_episode_is_answered_with_the_nearest(store: Episodes, command: Run) -> None:
    some(store)
    with pytest.raises(ConfigError, match=r"no episode of `20261121-repare` in .*; did you mean `20261121-repair`"):
        command("--forget", "20261121-repare", "--yes")
    with pytest.raises(ConfigError, match="`looper learnings` shows the newest"):
        command("--forget", "zzz", "--yes")


# what cannot be done


def test_a_wrong_option_is_named(command: Run) -> None:
    with pytest.raises(ConfigError, match="--ful: `learnings` has no such option; did you mean `--full`"):
        command("--ful")


def test_a_store_that_cannot_be_used_is_a_sentence_and_exit_code_2(
    store: Episodes, capsys: pytest.CaptureFixture[str]
) -> None:
    store.path.parent.mkdir()
    store.path.write_bytes(b"something else, " * 100)
    assert looper(["learnings", f"outputs={store.path.parent}"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"looper: {store.path}: it is damaged or no SQLite file")
    assert "move the file away" in said
    assert said.count("\n") == 1


def test_what_would_pause_a_run_is_an_error_here(
    store: Episodes, command: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sqlite3
    from contextlib import closing

    keep(store, "a")
    monkeypatch.setattr("looper.episodes.store.PATIENCE", 0.05)
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(ConfigError, match="locked") as told:
            command()
    assert "resume" not in str(told.value)
