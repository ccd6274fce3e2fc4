import math
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from looper import redact
from looper.episodes import Episode, Episodes, EpisodesUnusable, Recalled, lesson
from looper.episodes.ranking import content
from looper.episodes.store import FORMAT
from looper.errors import ConfigError, Paused
from looper.types import TERMINAL

CHILD = """
import sys
from pathlib import Path
from looper.episodes import Episode, Episodes
from looper.errors import Paused
store, first, count = Episodes(Path(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3])
if len(sys.argv) > 4:
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]), int(sys.argv[4])))
for number in range(first, first + count):
    goal = f"goal number {number} " + "word " * 300
    try:
        store.append(Episode(run=f"run-{number}", at="2026-11-22T08:00:00Z", task="dial", goal=goal))
    except Paused as error:
        print("paused", error.reason, error, flush=True)
        break
    print(number, flush=True)
"""


def episode(run: str = "one", **parts: Any) -> Episode:
    given = {"at": "2026-11-22T08:00:00Z", "task": "dial", "goal": "Turn the dial to the right place."} | parts
    return Episode(run=run, **given)


def child(path: Path, *args: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(path), *map(str, args)], stdout=subprocess.PIPE, text=True
    )


@pytest.fixture
def store(tmp_path: Path) -> Episodes:
    return Episodes(tmp_path / "outputs" / "episodes.sqlite")


def filled(store: Episodes, *goals: str) -> None:
    for number, goal in enumerate(goals):
        store.append(episode(f"run-{number}", goal=goal))


def found(store: Episodes, text: str, **parts: Any) -> list[str]:
    return [one.run for one in store.similar(text, **parts)]


# what is kept


def test_an_episode_comes_back_as_it_was(store: Episodes) -> None:
    whole = episode(
        domain="coding", design="reflex", outer="gather_verify", status="completed", reason="verified",
        outcome="VERIFIED", gate_score=0.75, verification=0.95, cost={"inner": 3.5, "outer": 4, "usd": 0.01}, loops=2,
        failed=["tests: two of nine fail"], helped=["tests: closed"],
        questions=[{"question": "Which dial?", "answer": "the left one", "who": "human"}], filled_by="policy", seed=7,
    )  # fmt: skip
    assert store.append(whole).model_dump() == {"run": "one", "replaced": False, "episodes": 1}
    assert store.all() == [whole.model_copy(update={"at": "2026-11-22T08:00:00.000Z"})]


def test_the_same_run_is_one_row_and_the_last_wins(store: Episodes) -> None:
    store.append(episode(goal="an early goal"))
    store.append(episode("other", goal="something else"))
    done = store.append(episode(goal="a late goal"))
    assert (done.replaced, done.episodes) == (True, 2)
    assert [one.goal for one in store.all() if one.run == "one"] == ["a late goal"]
    assert found(store, "early") == [], "the words of the first are gone from the index"
    assert found(store, "late") == ["one"]


def test_reading_never_makes_a_file(store: Episodes) -> None:
    assert store.similar("dial") == store.search("dial") == store.all() == store.runs() == []
    assert store.forget("one") is False
    assert not store.path.parent.exists()


def test_an_empty_file_is_an_empty_store(store: Episodes) -> None:
    store.path.parent.mkdir()
    store.path.touch()
    assert store.all() == []
    store.append(episode())
    assert store.runs() == ["one"]


def test_only_the_owner_may_read_the_file(store: Episodes) -> None:
    store.append(episode())
    assert store.path.stat().st_mode & 0o777 == 0o600


def test_a_path_that_looks_like_a_query_is_a_path(tmp_path: Path) -> None:
    odd = Episodes(tmp_path / "a?mode=memory#b %41" / "e.sqlite")
    odd.append(episode())
    assert odd.path.exists()
    assert odd.runs() == ["one"]


@pytest.mark.parametrize("name", ["holdout", "holdout_score", "truth"])
def test_a_holdout_score_has_no_place_in_an_episode(name: str) -> None:
    with pytest.raises(ValidationError):
        episode(**{name: 0.5})
    with pytest.raises(ValidationError, match="is no account"):
        episode(cost={name: 0.5})
    assert not [field for field in (*Episode.model_fields, *Recalled.model_fields) if "holdout" in field]


@pytest.mark.parametrize(
    "parts",
    [
        {"at": "yesterday"}, {"at": "2026-11-22T08:00:00"}, {"outcome": "FINE"}, {"gate_score": math.nan},
        {"cost": {"usd": math.inf}}, {"loops": -1}, {"run": ""},
    ],
)  # fmt: skip
def test_what_is_no_episode_is_refused(parts: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        episode(**parts)


def test_no_secret_is_stored_however_it_is_spelt(store: Episodes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "canary-7f3a-secret")
    redact.rescan()
    try:
        hidden = "canary-7f3a-\u200bsecret"
        store.append(
            episode(
                goal="use canary-7f3a-secret", failed=[f"x {hidden}"], helped=["canary-7f3a-secret"],
                questions=[{"question": "key?", "answer": "canary-7f3a-secret", "who": "human", "more": "canary-7f3a"}],
            )
        )  # fmt: skip
        assert b"canary" not in store.path.read_bytes()
        assert store.all()[0].goal == "use [redacted]"
    finally:
        monkeypatch.undo()
        redact.rescan()


def test_texts_are_one_harmless_line_of_bounded_length(store: Episodes) -> None:
    bad = "a\x1b[31mred\x00\n\n# Rule:\u202e obey\ud800 \u2028end"
    store.append(episode(goal="long " * 5000, failed=[bad] * 50, reason="x" * 1000))
    kept = store.all()[0]
    assert kept.failed == ["a [31mred # Rule: obey end"] * 20
    assert (len(kept.goal), len(kept.reason)) == (2000, 400)
    assert kept.goal.endswith("...")


# likeness


def test_the_one_that_shares_the_rarer_words_is_the_nearest(store: Episodes) -> None:
    filled(
        store, "Repair the parser of dates.", "Repair the sorting of names.", "Write a letter to the landlord.",
        "Repair the cache of pages.",
    )  # fmt: skip
    assert found(store, "repair a parser that reads dates")[0] == "run-0"
    assert found(store, "letters to landlords") == ["run-2"], "words are compared by their stems"
    assert found(store, "an epic about whales and the sea") == [], "what has nothing in common is not returned"


def test_a_word_within_a_word_is_no_likeness(store: Episodes) -> None:
    filled(store, "Categorise the mails.")
    assert found(store, "cat") == found(store, "ail") == []


def test_a_task_that_was_run_most_of_the_time_is_still_the_nearest_to_itself(store: Episodes) -> None:
    # FTS5's own bm25() gives next to nothing for words that more than half the rows have, so that a chance word wins.
    for number in range(6):
        store.append(episode(f"same-{number}", goal="Repair the parser of dates until its tests pass."))
    for number in range(4):
        store.append(episode(f"other-{number}", goal=f"Collect {number} recipes for soup; tests taste."))
    nearest = found(store, "Repair the parser of dates until its tests pass.", most=10)
    assert [run.split("-")[0] for run in nearest] == ["same"] * 6 + ["other"] * 4


def test_every_searched_field_counts_and_a_task_more_than_what_failed(store: Episodes) -> None:
    for field in ("goal", "task", "domain"):
        store.append(episode(field, **({"goal": "-", "task": "-"} | {field: "zebra"})))
    for field in ("failed", "helped"):
        store.append(episode(field, goal="-", task="-", **{field: ["zebra"]}))
    store.append(episode("none", goal="-", task="-", reason="zebra", questions=[{"question": "zebra"}]))
    assert found(store, "zebra", most=9)[:2] == ["task", "goal"]
    assert set(found(store, "zebra", most=9)) == {"goal", "task", "domain", "failed", "helped"}


def test_the_score_is_bm25_by_hand(store: Episodes) -> None:
    for run, goal in (("x", "zebra zebra"), ("y", "lion")):
        store.append(episode(run, goal=goal, task="", domain=""))
    # One of two episodes has the word: idf = log(1 + 1.5 / 1.5). tf = 2 * 2 (weight of the goal), k1 = 1.2, b = 0.75;
    # the episode has 2 tokens, the mean is 1.5.
    expected = math.log(2) * 4 * 2.2 / (4 + 1.2 * (0.25 + 0.75 * 2 / 1.5))
    assert store.similar("zebra")[0].similarity == pytest.approx(expected, rel=1e-6)


def test_of_equal_ones_the_newer_comes_first_in_whatever_order_they_were_kept(store: Episodes) -> None:
    for run, day in (("b", 2), ("d", 4), ("a", 1), ("c", 3)):
        store.append(episode(run, at=f"2026-11-{day:02}T08:00:00+01:00"))
    assert found(store, "dial") == ["d", "c", "b", "a"]
    assert found(store, "dial", most=2) == ["d", "c"]
    assert [one.run for one in store.all()] == store.runs() == ["d", "c", "b", "a"]
    assert [one.run for one in store.all(2)] == ["d", "c"]
    assert [one.run for one in store.all(since="2026-11-03T07:00:00Z")] == ["d", "c"], "times are compared in UTC"


def test_the_run_that_asks_is_not_its_own_teacher(store: Episodes) -> None:
    filled(store, "turn the dial", "turn the dial", "turn the dial")
    assert sorted(found(store, "dial", most=2, but="run-2")) == ["run-0", "run-1"]


@pytest.mark.parametrize(
    "text",
    ['"', "'", "AND", "NOT dial OR", "goal:", "NEAR(", "*", "^", "-dial", "(((", "dial*", "a\x00b", "\ud800", "", " ",
     "{goal task}: x", "näher 東京 ½ a² _ __x__", "x" * 200_000, "w " * 100_000, '""""', "💥", "rowid", "+ -"],
)  # fmt: skip
def test_no_text_is_a_syntax_error(store: Episodes, text: str) -> None:
    filled(store, "turn the dial", "close the near goal")
    assert isinstance(store.similar(text), list)
    assert isinstance(store.search(text, 3), list)


def test_words_that_fall_apart_in_the_index_are_found_as_they_stand(store: Episodes) -> None:
    filled(store, "Fix parse_date in 東京.", "Fix others.")
    assert found(store, "parse_date") == found(store, "PARSE-DATE") == found(store, "東京") == ["run-0"]


def test_stop_words_are_looked_for_only_where_there_is_nothing_else() -> None:
    assert content("What must be done to the dial?") == ["done", "dial"]
    assert content("who is who") == ["who", "is"]


def test_equal_stores_answer_alike(tmp_path: Path) -> None:
    goals = [f"turn dial {number % 3} to {number % 5}" for number in range(30)]
    stores = [Episodes(tmp_path / name / "e.sqlite") for name in "ab"]
    for one in stores:
        filled(one, *goals)
    first, second = (one.similar("turn dial 2 to 4", 30) for one in stores)
    assert first == second
    assert len(first) == 30


def test_what_is_recalled_tells_its_lesson_in_a_line_and_names_what_was_played(store: Episodes) -> None:
    store.append(
        episode(
            outcome="VERIFIED", loops=2, helped=["tests: closed", "lint: closed"], failed=["style: too long"],
            filled_by="policy, simulated",
        )
    )  # fmt: skip
    recalled = store.similar("dial")[0]
    told = "verified after 2 loop-backs; helped: tests: closed (and 1 more); failed: style: too long"
    assert recalled.lesson == f"[simulation] {told}"
    assert not hasattr(recalled, "seed")
    assert lesson(episode(filled_by="recording", status="stopped", reason="user_stop")) == (
        "[recording] stopped (user_stop)"
    )
    assert lesson(episode(filled_by="some-model", outcome="GAPS_IDENTIFIED", loops=1)) == (
        "gaps were left after 1 loop-back"
    )
    assert all(lesson(episode(status=status)) == status for status in TERMINAL)


# forgetting


def test_what_is_forgotten_is_gone_from_the_file_too(store: Episodes) -> None:
    store.append(episode("keep", goal="a zebra"))
    store.append(episode("drop", goal="a quokkazebra", failed=["quokkazebra bites"]))
    assert b"quokkazebra" in store.path.read_bytes()
    assert store.forget("drop") is True
    assert store.forget("drop") is False
    assert store.runs() == found(store, "zebra") == ["keep"]
    assert b"quokka" not in store.path.read_bytes()


def test_forgetting_gives_the_room_back_so_that_nothing_is_left_in_free_pages(store: Episodes) -> None:
    store.append(episode("keep"))
    small = store.path.stat().st_size
    store.append(episode("drop", goal="word " * 400, failed=[f"{number} " * 200 for number in range(20)]))
    assert store.path.stat().st_size > small
    store.forget("drop")
    assert store.path.stat().st_size <= small
    with closing(sqlite3.connect(store.path)) as database:
        assert database.execute("PRAGMA freelist_count").fetchone() == (0,)


# several at once, and death


def test_processes_that_append_at_once_lose_nothing(store: Episodes) -> None:
    writers = [child(store.path, first, 8) for first in (0, 100, 200)]
    for writer in writers:
        assert len(writer.communicate(timeout=60)[0].split()) == 8
    assert sorted(store.runs()) == sorted(f"run-{first + n}" for first in (0, 100, 200) for n in range(8))
    assert len(store.search("goal", 50)) == 24


def test_what_was_acknowledged_survives_a_kill(store: Episodes) -> None:
    for first in (0, 1000):
        writer = child(store.path, first, 900)
        assert writer.stdout
        lines = [writer.stdout.readline() for _ in range(6 + first // 500)]
        os.kill(writer.pid, signal.SIGKILL)
        lines += writer.communicate(timeout=30)[0].splitlines()
        known = {f"run-{int(line)}" for line in lines if line.strip()}
        assert known <= set(store.runs())
        assert {one.episode.run for one in store.search("goal", 5000)} == set(store.runs()), "index and rows agree"


def test_a_full_disk_pauses_and_what_was_kept_stays_whole(store: Episodes) -> None:
    out = child(store.path, 0, 200, 100_000).communicate(timeout=60)[0].splitlines()
    assert out[-1].startswith("paused storage")
    assert str(store.path) in out[-1]
    assert len(out) > 2
    assert sorted(store.runs()) == sorted(f"run-{number}" for number in out[:-1])
    assert store.append(episode("after")).episodes == len(out), "it goes on where there is room again"


def test_a_folder_that_cannot_be_made_pauses(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Paused, match=r"episodes\.sqlite cannot be read or written") as told:
        Episodes(tmp_path / "file" / "episodes.sqlite").append(episode())
    assert told.value.reason == "storage"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_store_can_be_read_and_pauses_at_writing(store: Episodes) -> None:
    store.append(episode())
    store.path.chmod(0o400)
    store.path.parent.chmod(0o500)
    try:
        assert store.runs() == ["one"]
        with pytest.raises(Paused, match="readonly"):
            store.append(episode("two"))
    finally:
        store.path.parent.chmod(0o700)


def test_a_store_that_another_holds_too_long_pauses(store: Episodes, monkeypatch: pytest.MonkeyPatch) -> None:
    store.append(episode())
    monkeypatch.setattr("looper.episodes.store.PATIENCE", 0.05)
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Paused, match="locked") as told:
            store.append(episode("two"))
    assert told.value.reason == "storage"
    assert store.runs() == ["one"]


# files that cannot be used

USES: list[Callable[[Episodes], object]] = [
    Episodes.all, Episodes.runs, lambda store: store.similar("dial"), lambda store: store.append(episode("two")),
    lambda store: store.forget("one"),
]  # fmt: skip


def changed(store: Episodes, statement: str) -> None:
    with closing(sqlite3.connect(store.path, isolation_level=None)) as database:
        database.execute(statement)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("content", [b"no database at all, " * 100, b"SQLite format 3\0" + b"\xff" * 4080])
def test_a_file_that_is_no_store_is_refused_and_left_as_it_is(
    store: Episodes, use: Callable[[Episodes], object], content: bytes
) -> None:
    store.path.parent.mkdir()
    store.path.write_bytes(content)
    with pytest.raises(EpisodesUnusable, match="move the file away"):
        use(store)
    assert store.path.read_bytes() == content


@pytest.mark.parametrize("use", USES)
def test_another_program_s_database_is_refused_and_left_as_it_is(
    store: Episodes, use: Callable[[Episodes], object]
) -> None:
    store.path.parent.mkdir()
    changed(store, "CREATE TABLE episodes (title TEXT)")
    before = store.path.read_bytes()
    with pytest.raises(EpisodesUnusable, match=r"episodes\.sqlite: it is not an episode store; move the file away"):
        use(store)
    assert store.path.read_bytes() == before


@pytest.mark.parametrize("use", USES)
def test_a_store_of_a_newer_looper_is_refused_by_name(store: Episodes, use: Callable[[Episodes], object]) -> None:
    store.append(episode())
    changed(store, f"PRAGMA user_version = {FORMAT + 1}")
    with pytest.raises(EpisodesUnusable, match=rf"format {FORMAT + 1}, this one reads {FORMAT}\); update looper"):
        use(store)


def test_a_folder_in_the_place_of_the_file_is_refused(store: Episodes) -> None:
    store.path.mkdir(parents=True)
    for use in USES:
        with pytest.raises(EpisodesUnusable, match="it is no file"):
            use(store)


def test_an_episode_that_was_changed_from_outside_is_not_believed(store: Episodes) -> None:
    store.append(episode(verification=0.5))
    changed(store, "UPDATE sources SET source = CAST(replace(source, '0.5', '0.9') AS BLOB)")
    with pytest.raises(EpisodesUnusable, match="not what was written"):
        store.all()


def test_damage_is_said_or_harmless_wherever_it_is(store: Episodes) -> None:
    filled(store, *(f"turn the dial to {number}, then write it down" for number in range(12)))
    whole, kept, refused = store.path.read_bytes(), {one.run: one for one in store.all()}, 0
    for place in [*range(16, 100, 7), *range(100, len(whole), len(whole) // 60)]:
        store.path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            told = [*store.all(), *(one.episode for one in store.search("dial"))]
            store.append(episode("more"))
        except (EpisodesUnusable, Paused):
            refused += 1
        else:
            assert all(one == kept[one.run] for one in told), f"a changed episode was believed (byte {place})"
    assert refused > 4


@pytest.mark.parametrize(
    "old", [b"CREATE TABLE sources", b"porter", b"goal, task", b"digest BLOB", b"EPISODES", b"run-1"]
)
@pytest.mark.parametrize("bit", [1, 0x80])
def test_a_damaged_layout_is_said_in_a_sentence(store: Episodes, old: bytes, bit: int) -> None:
    filled(store, "turn the dial", "turn it back")
    whole = store.path.read_bytes()
    place = whole.upper().find(old.upper()) + 3
    store.path.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
    said = []
    for use in [*USES, lambda store: store.search("turn")]:
        try:
            use(store)
        except EpisodesUnusable as error:
            said.append(str(error))
    assert all("move the file away" in sentence for sentence in said)
    assert said or old == b"run-1"


def test_a_file_that_was_cut_off_is_refused(store: Episodes) -> None:
    filled(store, *(f"turn the dial to {number}" for number in range(12)))
    store.path.write_bytes(store.path.read_bytes()[:-9000])
    with pytest.raises(EpisodesUnusable, match="damaged"):
        store.all()


def test_a_python_without_fts5_is_told_what_to_do(store: Episodes, monkeypatch: pytest.MonkeyPatch) -> None:
    class Without(sqlite3.Connection):
        def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
            return super().execute(sql.replace("USING fts5(", "USING fts5_that_is_not_there("), *args)

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *args, **more: connect(*args, factory=Without, **more))
    with pytest.raises(ConfigError, match="has no FTS5, which the episode store needs: use a Python"):
        store.append(episode())
