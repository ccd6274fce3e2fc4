"""Nothing acknowledged is lost, damage is found and named, a full disk harms nothing (SAFETY P1, P4, P7)."""

import errno
import json
import os
import random
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from players import DESIGNS, in_child, parts, quick_disk, shoot

from looper.errors import ConfigError, JournalDamaged, LooperError, Paused, PhaseError, ReplayMismatch
from looper.folder import Folder
from looper.journal import LARGE, Event, Journal, fingerprint, read
from looper.launch import launch
from looper.types import TERMINAL

pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
"""The test process may have threads (a reader, the test runner's own); the forked children use none of them."""


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    quick_disk(monkeypatch)


KILLS = 200
FLIPS = (0x01, 0x20, 0x80)


# P1: kills


class Naive:
    """What the harness must catch: acknowledges what is in a buffer of its own."""

    def __init__(self, path: Path):
        self.file = path.open("a")

    def append(self, event: Event) -> None:
        self.file.write(event.model_dump_json() + "\n")


def synced(path: Path) -> Journal:
    return Journal(path)


def unsynced(path: Path) -> Journal:
    """A killed process takes nothing along that the kernel holds; only a loss of power does."""
    return Journal(path, sync=False)


def kill_one(path: Path, writer: Callable[[Path], Any], after: float) -> int:
    """Kill a writing child; the last number it acknowledged."""
    out, back = os.pipe()

    def work() -> None:
        journal = writer(path)
        for number in range(1, 1_000_000):
            journal.append(Event(event="step_done", key=f"k.{number}", payload={"n": number, "text": "x" * 50}))
            os.write(back, number.to_bytes(4, "big"))

    child = in_child(work)
    os.close(back)
    with os.fdopen(out, "rb") as pipe:
        pipe.read(4)  # it is at work
        shoot(child, after)
        return len(pipe.read()) // 4 + 1


def test_two_hundred_kills_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    dice, acknowledged = random.Random(1), 0
    for number in range(KILLS):
        path = tmp_path / f"{number}.jsonl"
        said = kill_one(path, unsynced if number % 4 else synced, dice.uniform(0, 0.01))
        found = Journal(path)  # opening cuts a torn tail
        assert [event.payload["n"] for event in found] == list(range(1, len(found.events) + 1))
        assert len(found.events) >= said
        acknowledged += said
        found.close()
    assert acknowledged > 10 * KILLS  # they were killed at work


def test_the_kill_harness_sees_what_a_naive_writer_loses(tmp_path: Path) -> None:
    lost = 0
    for number in range(5):
        path = tmp_path / f"{number}.jsonl"
        said = kill_one(path, Naive, 0.004)
        lost += said - path.read_bytes().count(b"\n")
    assert lost > 0


# P4: damage


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a short finished run."""
    folder = tmp_path_factory.mktemp("finished") / "run"
    task = parts().task
    outcome = launch(parts(loop=DESIGNS["baseline"], task=type(task)(low=2.0, high=5.0)), folder, sync=False)
    assert outcome.status == "completed"
    return {name: (folder / name).read_bytes() for name in ("history.jsonl", "run.json")}


def refused(folder: Path, history: bytes, saved: bytes) -> bool:
    """Whether a folder with this history is refused by name, by the reader and by `launch`, without a step run."""
    folder.mkdir(exist_ok=True)
    (folder / "history.jsonl").write_bytes(history)
    (folder / "run.json").write_bytes(saved)
    try:
        Folder(folder).state()
    except JournalDamaged:
        journal = None
        try:
            journal = Journal(folder / "history.jsonl", sync=False)
            Folder(folder).check_head(journal)
        except JournalDamaged:
            return True
        finally:
            if journal:
                journal.close()
    return False


def test_the_undamaged_fixture_is_accepted(tmp_path: Path, finished: dict[str, bytes]) -> None:
    assert not refused(tmp_path / "f", finished["history.jsonl"], finished["run.json"])


def accepted(path: Path, history: bytes, places: range, flips: tuple[int, ...]) -> list[tuple[int, int]]:
    """The flips that a reader did not notice."""
    unseen = []
    for place in places:
        for flip in flips:
            path.write_bytes(history[:place] + bytes([history[place] ^ flip]) + history[place + 1 :])
            try:
                read(path)
            except JournalDamaged:
                continue
            unseen.append((place, flip))
    return unseen


def test_every_flipped_byte_is_refused(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "small.jsonl", sync=False)
    for number in range(3):
        journal.append(Event(event="step_done", key=f"k.{number}", payload=[number, "é"]))
    journal.close()
    history = (tmp_path / "small.jsonl").read_bytes()
    assert accepted(tmp_path / "history.jsonl", history, range(len(history)), FLIPS) == []


def test_flipped_bytes_all_over_a_finished_run_are_refused(tmp_path: Path, finished: dict[str, bytes]) -> None:
    history = finished["history.jsonl"]
    assert accepted(tmp_path / "history.jsonl", history, range(0, len(history), 11), FLIPS[:1]) == []


def test_every_byte_turned_into_a_newline_or_nul_is_refused(tmp_path: Path, finished: dict[str, bytes]) -> None:
    history, saved = finished["history.jsonl"], finished["run.json"]
    changed = [history[:i] + new + history[i + 1 :] for i in range(0, len(history), 23) for new in (b"\n", b"\0")]
    assert [h for h in changed if h != history and not refused(tmp_path / "f", h, saved)] == []


def test_every_truncation_of_a_finished_run_is_refused(tmp_path: Path, finished: dict[str, bytes]) -> None:
    history, saved = finished["history.jsonl"], finished["run.json"]
    lines = [i + 1 for i, byte in enumerate(history) if byte == 10][:-1]
    places = sorted({*lines, *(i - 1 for i in lines), 0, *range(0, len(history), 19), len(history) - 1})
    assert [end for end in places if not refused(tmp_path / "f", history[:end], saved)] == []


def test_lines_that_are_swapped_doubled_or_left_out_are_refused(tmp_path: Path, finished: dict[str, bytes]) -> None:
    lines = finished["history.jsonl"].splitlines(keepends=True)
    for story in (
        [lines[1], lines[0], *lines[2:]], [lines[0], *lines], [lines[0], *lines[2:]], [*lines, lines[-1]], lines[1:]
    ):  # fmt: skip
        assert refused(tmp_path / "f", b"".join(story), finished["run.json"])


def test_launch_runs_nothing_on_a_damaged_journal(tmp_path: Path, finished: dict[str, bytes]) -> None:
    folder = tmp_path / "run"
    cut = finished["history.jsonl"].rindex(b"\n", 0, -1) + 1
    assert refused(folder, finished["history.jsonl"][:cut], finished["run.json"])
    with pytest.raises(JournalDamaged, match=r"history\.jsonl has \d+ whole lines"):
        launch(parts(), folder)
    assert (folder / "history.jsonl").read_bytes() == finished["history.jsonl"][:cut]


def test_a_torn_tail_is_cut_at_open_and_not_before(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    journal = Journal(path)
    for number in range(3):
        journal.append(Event(event="step_done", key=f"k.{number}"))
    journal.close()
    whole = path.read_bytes()
    for tail in (b"{", whole[:50], whole[whole.rindex(b"\n", 0, -1) + 1 : -5], b"\0" * 9):
        path.write_bytes(whole + tail)
        assert read(path).torn
        assert path.read_bytes() == whole + tail  # looking changes nothing
        Journal(path).close()
        assert path.read_bytes() == whole


def test_a_changed_blob_is_refused_by_name(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "history.jsonl")
    event = journal.append(Event(event="step_done", key="k.1", payload="y" * LARGE))
    assert journal.payload(event) == "y" * LARGE
    blob = next((tmp_path / "blobs").iterdir())
    whole = blob.read_bytes()
    for damaged in (whole[:-1], whole + b" ", b"", whole.replace(b"y", b"z", 1)):
        blob.write_bytes(damaged)
        with pytest.raises(JournalDamaged, match=r"^blobs/"):
            journal.payload(event)
    blob.unlink()
    with pytest.raises(JournalDamaged, match=r"^blobs/"):
        journal.payload(event)
    journal.close()


# what is kept is what was given


@pytest.mark.parametrize(
    "value",
    ["lone \ud800 surrogate", "\u2028, \u2029, \x85", "\x00\x1b[31m", {"$blob": "not a reference"}, {"a": [1, None]}],
)
def test_what_is_written_is_what_is_read(tmp_path: Path, value: Any) -> None:
    path = tmp_path / "history.jsonl"
    journal = Journal(path)
    live = journal.append(Event(event="step_done", key="k.1", payload=value, said=str(value)))
    journal.close()
    again = Journal(path)
    assert again.payload(again.steps["k.1"]) == value == journal.payload(live)
    assert again.events[0] == live
    again.close()


def test_a_value_that_is_no_number_is_a_phase_error_by_name(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "history.jsonl")
    with pytest.raises(PhaseError, match=r"probe\.1"):
        journal.append(Event(event="step_done", key="probe.1", payload=float("nan")))
    assert journal.events == []
    journal.close()


def test_nothing_is_acknowledged_by_a_closed_journal(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "history.jsonl")
    journal.close()
    with pytest.raises(RuntimeError, match="closed"):
        journal.append(Event(event="step_done", key="k.1"))


def test_a_step_with_other_inputs_is_refused_by_name() -> None:
    journal = Journal()
    journal.append(Event(event="step_done", key="plan.1", inputs=fingerprint("a")))
    assert journal.find("plan.1", fingerprint("a"))
    with pytest.raises(ReplayMismatch, match=r"^plan\.1: "):
        journal.find("plan.1", fingerprint("b"))


def test_a_secret_does_not_reach_the_file(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "history.jsonl")
    key = "sk-" + "abcdefghijklmnop1234"
    live = journal.append(Event(event="step_done", key="k.1", payload={"t": f"use {key}"}, said=key))
    assert key not in (tmp_path / "history.jsonl").read_text()
    assert key not in live.model_dump_json()
    journal.close()


# P7: a full disk


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("room", [0, 10])
def test_a_full_disk_pauses_and_leaves_the_journal_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    """The disk is full at some write, after none or some bytes of it; `launch` says so, and `resume` completes."""
    whole = launch(parts(), tmp_path / "whole", sync=False)
    written = len(Journal(tmp_path / "whole" / "history.jsonl").events)
    for at in range(1, written + 1, 3):
        folder = tmp_path / f"{at}"
        with monkeypatch.context() as patch:
            fill(patch, at, room)
            assert ends_for_storage(folder)
        read(folder / "history.jsonl")
        assert launch(parts(), folder, sync=False) == whole
        keys = [event.key for event in read(folder / "history.jsonl").events if event.key]
        assert len(keys) == len(set(keys))


def ends_for_storage(folder: Path) -> bool:
    try:
        outcome = launch(parts(), folder, sync=False)
    except Paused as end:
        return end.reason == "storage"
    return (outcome.status, outcome.reason) == ("paused", "storage")


def fill(patch: pytest.MonkeyPatch, at: int, room: int) -> None:
    """From the at-th write on no more than `room` bytes go to disk."""
    real, count = os.write, [0]

    def write(file: int, data: bytes) -> int:
        count[0] += 1
        if count[0] < at:
            return real(file, data)
        if not room:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(file, data[:room])

    patch.setattr(os, "write", write)


def test_a_real_limit_on_file_size_pauses_and_what_was_written_is_whole(tmp_path: Path) -> None:
    """RLIMIT_FSIZE stands for the full disk: the kernel itself writes half a line."""
    folder, size = tmp_path / "run", 4_000

    def work() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        assert ends_for_storage(folder)

    assert os.waitpid(in_child(work), 0)[1] == 0
    found = read(folder / "history.jsonl")
    assert found.events
    assert not found.torn
    assert launch(parts(), folder, sync=False).status == "completed"


def test_a_history_that_may_not_be_read_is_no_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fails at the flush is named too: what was acknowledged before stays."""
    journal = Journal(tmp_path / "history.jsonl")
    journal.append(Event(event="step_done", key="k.1"))

    def broken(_file: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", broken)
        with pytest.raises(Paused, match="Input/output error"):
            journal.append(Event(event="step_done", key="k.2"))
    journal.close()
    assert [event.key for event in read(journal.path or tmp_path).events][:1] == ["k.1"]


def test_a_run_that_has_ended_is_not_run_again(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert launch(parts(), folder, sync=False).status in TERMINAL
    before = (folder / "history.jsonl").read_bytes()
    with pytest.raises(ConfigError, match="has ended"):
        launch(parts(), folder, sync=False)
    assert (folder / "history.jsonl").read_bytes() == before


def test_a_fingerprint_does_not_depend_on_the_process(tmp_path: Path) -> None:
    code = "from looper.journal import fingerprint; print(fingerprint({'b': 1.5, 'a': ['x', {'é': None}]}))"
    seen = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert seen == {fingerprint({"a": ["x", {"é": None}], "b": 1.5}) + "\n"}


def test_every_line_has_the_format_of_document_003(finished: dict[str, bytes]) -> None:
    lines = [json.loads(line) for line in finished["history.jsonl"].split(b"\n") if line]
    wanted = {
        "ts",
        "run_id",
        "iteration",
        "phase",
        "step",
        "event",
        "status",
        "payload",
        "key",
        "inputs",
        "seq",
        "hash",
    }
    assert all(wanted <= line.keys() for line in lines)
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert issubclass(JournalDamaged, LooperError)
