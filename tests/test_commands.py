import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from dial_runs import Killed, Terminal, break_off, play

from looper.commands import COMMANDS, main
from looper.commands.mirroring import synced_lines, tracking_of
from looper.commands.request import Request, changed
from looper.errors import ConfigError, JournalDamaged, RunLocked
from looper.folder import LOCK, Folder, Outputs
from looper.journal import Event, read
from looper.launch import Audience
from looper.types import Outcome

ROOT = Path(__file__).parents[1]
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    return tmp_path / "outputs"


@pytest.fixture
def command(outputs: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """`command(name, *args)`: exit code and standard output."""

    def call(name: str, *args: str) -> tuple[int, str]:
        capsys.readouterr()
        code = main(name, [*args, f"outputs={outputs}"])
        return code, capsys.readouterr().out

    return call


def waiting(path: Path) -> Outcome:
    return play(path, loop="baseline", model={"name": "human"})


def interrupted(path: Path, **parts: Any) -> None:
    break_off(path, lambda event: event.iteration == 3 and event.event == "iteration_advanced", **parts)


def status_of(path: Path) -> str:
    folder = Folder(path)
    return folder.status(folder.state())


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Another process has the run."""
    code = (
        "import fcntl, sys\n"
        "file = open(sys.argv[1], 'a'); fcntl.flock(file, fcntl.LOCK_EX)\nprint('held', flush=True); sys.stdin.read()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(folder / LOCK)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin
    assert process.stdout
    try:
        assert process.stdout.readline() == b"held\n"
        yield
    finally:
        process.stdin.close()
        process.wait(10)
        process.stdout.close()


# resume


def test_a_person_s_answer_goes_into_the_run_and_ends_it(outputs: Path, command: Run) -> None:
    assert waiting(outputs / "run").status == "paused"
    code, out = command("resume", "run", 'answer={"by": 18, "why": "it is 1.7 a unit"}')
    assert code == 0
    assert "final_score: 1.00 (gate met)" in out
    assert "answers: human 1" in out
    assert not (outputs / "current.json").exists()


def test_an_answer_may_come_from_a_file(outputs: Path, tmp_path: Path, command: Run) -> None:
    waiting(outputs / "run")
    (tmp_path / "answer.json").write_text('{"by": 18}')
    assert command("resume", f"answer=@{tmp_path}/answer.json")[0] == 0


def test_an_answer_that_leads_to_the_next_question_pauses_again(outputs: Path, command: Run) -> None:
    waiting(outputs / "run")
    code, out = command("resume", 'answer={"by": 1}')
    assert code == 3
    assert "next: looper resume run answer=" in out


def test_an_answer_that_does_not_fit_is_refused_and_a_better_one_still_taken(outputs: Path, command: Run) -> None:
    waiting(outputs / "run")
    with pytest.raises(ConfigError, match="by: Input should be a valid number"):
        command("resume", 'answer={"by": "far"}')
    assert command("resume", 'answer={"by": 18}')[0] == 0


def test_a_question_that_was_answered_is_not_waited_for_any_more(outputs: Path, command: Run) -> None:
    waiting(outputs / "run")

    def die(event: Event) -> None:
        if event.step == "act":
            raise Killed

    with pytest.raises(Killed):
        play(
            outputs / "run", Audience(listeners=[die]), {"iteration.1/act.1": '{"by": 18}'}, loop="baseline",
            model={"name": "human"},
        )  # fmt: skip
    assert json.loads(command("status", "--json")[1])["waiting"] is None
    with pytest.raises(ConfigError, match="not waiting for an answer"):
        command("resume", 'answer={"by": 1}')
    assert command("resume")[0] == 0


def test_an_answer_is_refused_where_nothing_was_asked(outputs: Path, command: Run) -> None:
    interrupted(outputs / "run")
    with pytest.raises(ConfigError, match="not waiting for an answer"):
        command("resume", "answer=yes")


def test_an_interrupted_run_is_resumed_to_the_end_of_one_that_was_not(outputs: Path, command: Run) -> None:
    whole = play(outputs / "whole")
    interrupted(outputs / "broken")
    before = read(outputs / "broken" / "history.jsonl").events
    code, out = command("resume", "--json")
    data = json.loads(out)
    assert code == 0
    assert (data["status"], data["run_id"]) == ("completed", "broken")
    events = read(outputs / "broken" / "history.jsonl").events
    assert events[: len(before)] == before
    keys = [event.key for event in events if event.key]
    assert len(keys) == len(set(keys)), "no step is taken twice"
    assert (outputs / "broken" / "artifact.md").read_text() == whole.artifact


def test_a_budget_given_at_resume_is_used_and_kept(outputs: Path, command: Run) -> None:
    parts: dict[str, Any] = {"loop": "baseline", "budget": {"outer": 4.0, "on_limit": "ask"}}
    assert play(outputs / "run", **parts).status == "paused"
    assert command("resume", "budget.outer=8")[0] == 3
    config = yaml.safe_load((outputs / "run" / "config.yaml").read_text())
    assert config["budget"]["outer"] == 8
    code, out = command("resume", "budget.outer=60", "--json")
    assert code == 0
    assert json.loads(out)["spent"]["outer"] == pytest.approx(2 * len(_acts(outputs / "run")))


def _acts(path: Path) -> list[Event]:
    return [event for event in read(path / "history.jsonl").events if event.step == "act"]


def test_a_setting_that_does_not_exist_is_refused_and_not_kept(outputs: Path, command: Run) -> None:
    interrupted(outputs / "run")
    with pytest.raises(ConfigError, match=r"budget\.outr.*did you mean `budget\.outer`"):
        command("resume", "budget.outr=60")
    assert "outr" not in (outputs / "run" / "config.yaml").read_text()


def test_task_and_design_of_a_run_cannot_change(outputs: Path, command: Run) -> None:
    interrupted(outputs / "run")
    with pytest.raises(ConfigError, match=r"`task\.gain` of a run cannot change"):
        command("resume", "task.gain=2")


def test_a_secret_is_not_taken_as_a_setting(outputs: Path, command: Run) -> None:
    interrupted(outputs / "run")
    with pytest.raises(ConfigError, match="looks like a secret"):
        command("resume", "model.api_key=sk-abcdefghijklmnop1234567890")


def test_a_run_that_has_ended_is_not_resumed(outputs: Path, command: Run) -> None:
    play(outputs / "run")
    with pytest.raises(ConfigError, match=r"run has ended \(completed\) and cannot be resumed"):
        command("resume", "run")
    with pytest.raises(ConfigError, match="nothing to resume"):
        command("resume")


def test_a_run_that_is_alive_is_not_resumed(outputs: Path, command: Run) -> None:
    interrupted(outputs / "run")
    with held(outputs / "run"), pytest.raises(RunLocked, match="looper stop run"):
        command("resume", "run")


def test_without_a_name_the_newest_run_that_can_go_on_is_resumed(outputs: Path, command: Run) -> None:
    interrupted(outputs / "old")
    interrupted(outputs / "new")
    play(outputs / "ended")
    for age, name in enumerate(("ended", "new", "old")):
        os.utime(outputs / name / "history.jsonl", (1e9 - age, 1e9 - age))
    (outputs / "current.json").unlink(missing_ok=True)
    assert json.loads(command("resume", "--json")[1])["run_id"] == "new"


def test_model_and_single_settings_become_configuration() -> None:
    given = {"model": "openai/gpt-4o", "agents.critic.model": "human", "confirm": "yes", "budget.usd": "0.5"}
    config = changed({"model": {"name": "offline"}, "budget": {"usd": None}}, given)
    assert config["model"] == {"name": "openai/gpt-4o"}
    assert config["agents"] == {"critic": {"model": "human"}}
    assert config["budget"] == {"usd": 0.5}
    with pytest.raises(ConfigError, match="`seed` is a value here"):
        changed({"seed": 1}, {"seed.x": "1"})


# status, list, history


def test_status_tells_where_a_run_stands(outputs: Path, command: Run) -> None:
    waiting(outputs / "run")
    code, out = command("status")
    assert code == 0
    for line in ("status: paused (questions)", "iteration 1/200", "units: inner 0.05 of 20 a plan, outer 0 of 6"):
        assert line in out
    assert "waiting for: actor (iteration.1/act.1)" in out
    data = json.loads(command("status", "run", "--json")[1])
    assert data["waiting"]["key"] == "iteration.1/act.1"
    assert data["folder"] == str(outputs / "run")


def test_a_run_without_a_process_is_interrupted_and_with_one_running(outputs: Path, command: Run) -> None:
    interrupted(outputs / "run")
    assert "status: interrupted" in command("status")[1]
    with held(outputs / "run"):
        assert "status: running" in command("status")[1]
        assert json.loads(command("list", "--json")[1])[0]["status"] == "running"


def test_the_list_has_every_run_with_its_score_and_units(outputs: Path, command: Run) -> None:
    play(outputs / "one")
    waiting(outputs / "two")
    rows = {row["run"]: row for row in json.loads(command("list", "--json")[1])}
    assert rows["one"]["status"] == "completed"
    assert (rows["one"]["score"], rows["one"]["design"], rows["one"]["task"]) == (1.0, "adaptive", "dial")
    assert rows["one"]["inner"] == pytest.approx(2.29)
    assert rows["two"]["status"] == "paused"
    lines = command("list")[1].splitlines()
    assert lines[0].split()[:3] == ["run", "status", "design"]
    assert len(lines) == 3


def test_an_empty_shelf_says_so(command: Run) -> None:
    code, out = command("list")
    assert code == 0
    assert "no runs" in out
    with pytest.raises(ConfigError, match="there is no run below"):
        command("status")


def test_a_damaged_journal_is_a_status_in_the_list_and_an_error_elsewhere(outputs: Path, command: Run) -> None:
    play(outputs / "good")
    interrupted(outputs / "bad")
    file = outputs / "bad" / "history.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"inner":0.05', b'"inner":0.01', 1))
    rows = {row["run"]: row["status"] for row in json.loads(command("list", "--json")[1])}
    assert rows == {"good": "completed", "bad": "damaged"}
    for name in ("status", "history", "resume", "stop"):
        with pytest.raises(JournalDamaged):
            command(name, "bad")


@pytest.mark.parametrize("broken", [b"", b"{", b"[]", b'{"status": "completed"}', None])
def test_a_broken_run_json_is_rebuilt_from_the_history(outputs: Path, command: Run, broken: bytes | None) -> None:
    play(outputs / "run")
    file = outputs / "run" / "run.json"
    whole = file.read_bytes()
    file.unlink()
    if broken is not None:
        file.write_bytes(broken)
    assert json.loads(command("list", "--json")[1])[0]["score"] == 1.0
    assert "final" not in command("status", "run")[1]
    assert file.read_bytes() == (broken if broken == b'{"status": "completed"}' else whole)


def test_without_a_history_the_user_is_told_to_start_anew(outputs: Path, command: Run) -> None:
    play(outputs / "run")
    (outputs / "run" / "history.jsonl").unlink()
    for name in ("status", "history", "resume", "stop"):
        with pytest.raises(ConfigError, match=r"no history\.jsonl.*start a new run"):
            command(name, "run")
    assert json.loads(command("list", "--json")[1])[0]["status"] == "lost"


def test_the_history_is_a_line_an_event_for_people_and_for_scripts(outputs: Path, command: Run) -> None:
    play(outputs / "run")
    events = read(outputs / "run" / "history.jsonl").events
    lines = command("history", "run")[1].splitlines()
    assert len(lines) == len(events) + 1
    assert lines[0].split() == ["time", "it", "step", "event", "status", "payload"]
    rows = [json.loads(line) for line in command("history", "--json")[1].splitlines()]
    assert [row["seq"] for row in rows] == list(range(1, len(events) + 1))
    assert len(command("history", "--full")[1].splitlines()) > 3 * len(lines)


def test_history_shows_large_payloads_only_in_full(outputs: Path, command: Run) -> None:
    waiting(outputs / "run")
    command("resume", "answer=" + json.dumps({"by": 18, "why": "x" * 70_000}))
    assert "$blob" in command("history", "--json")[1]
    assert "x" * 70_000 in command("history", "--json", "--full")[1]


def test_words_of_a_person_cannot_act_through_any_command(outputs: Path, command: Run) -> None:
    waiting(outputs / "run")
    command("resume", "answer=" + json.dumps({"by": 1, "why": "\x1b]0;x\x07\u202e\x9b2J"}))
    for args in (("history",), ("history", "--full"), ("status",), ("list",), ("history", "--json")):
        out = command(*args)[1]
        assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set(out)
    for line in command("history", "--json")[1].splitlines():
        json.loads(line)


# stop


def test_a_live_run_ends_before_its_next_step_with_the_reason_on_record(outputs: Path, command: Run) -> None:
    begun, asked, ends = threading.Event(), threading.Event(), []

    def listener(event: Event) -> None:
        if event.event == "iteration_advanced" and not begun.is_set():
            begun.set()
            assert asked.wait(30)

    def live() -> None:
        ends.append(play(outputs / "run", Audience(listeners=[listener])))

    thread = threading.Thread(target=live)
    thread.start()
    assert begun.wait(30)
    code, out = command("stop", "run", "seen", "enough")
    asked.set()
    thread.join(30)
    assert code == 0
    assert "asked to stop" in out
    (end,) = ends
    assert (end.status, end.reason, end.facts["note"]) == ("stopped", "user_stop", "seen enough")
    assert read(outputs / "run" / "history.jsonl").events[-2].event == "iteration_advanced"
    assert status_of(outputs / "run") == "stopped"
    assert not (outputs / "current.json").exists()


@pytest.mark.parametrize("make", [interrupted, waiting])
def test_a_run_that_is_not_alive_is_stopped_at_once(outputs: Path, command: Run, make: Callable[[Path], Any]) -> None:
    make(outputs / "run")
    assert (outputs / "current.json").exists()
    before = [event for event in read(outputs / "run" / "history.jsonl").events if event.key]
    code, out = command("stop", "too", "slow")
    assert (code, out) == (0, "run: stopped.\n")
    state = Folder(outputs / "run").state()
    assert (state["status"], state["stop"]["reason"]) == ("stopped", "user_stop")
    assert state["outcome"]["score"] == 0.0
    assert "too slow" in state["outcome"]["facts"]["detail"]
    assert [event for event in read(outputs / "run" / "history.jsonl").events if event.key] == before
    assert (outputs / "run" / "artifact.md").exists()
    assert not (outputs / "current.json").exists()
    assert not Folder(outputs / "run").stop_file().exists()


def test_a_run_that_cannot_be_replayed_is_stopped_with_what_its_pause_knew(outputs: Path, command: Run) -> None:
    paused = waiting(outputs / "run")
    file = outputs / "run" / "config.yaml"
    file.write_text(file.read_text().replace("looper.tasks.dial.Dial", "looper.tasks.gone.Gone"))
    code, out = command("stop", "run")
    assert code == 0
    assert "could not be replayed" in out
    state = Folder(outputs / "run").state()
    assert state["status"] == "stopped"
    assert state["outcome"]["score"] == paused.score
    assert (outputs / "run" / "artifact.md").read_text() == paused.artifact


def test_a_run_that_has_ended_is_not_stopped_again(outputs: Path, command: Run) -> None:
    play(outputs / "run")
    with pytest.raises(ConfigError, match=r"run has ended already \(completed\)"):
        command("stop", "run")
    with pytest.raises(ConfigError, match="nothing to stop"):
        command("stop")
    assert status_of(outputs / "run") == "completed"


def test_a_misspelt_name_is_not_a_reason_to_stop_another_run(outputs: Path, command: Run) -> None:
    waiting(outputs / "dial-baseline-1")
    with pytest.raises(ConfigError, match="did you mean `dial-baseline-1`"):
        command("stop", "dial-basline-1")
    assert status_of(outputs / "dial-baseline-1") == "paused"


# clean


def test_clean_removes_the_named_run_only(outputs: Path, command: Run) -> None:
    play(outputs / "one")
    waiting(outputs / "two")
    assert command("clean", "two", "--yes")[0] == 0
    assert [path.name for path in outputs.iterdir()] == ["one"], "current.json of the removed run is gone too"


def test_clean_refuses_a_running_one_and_removes_the_others(outputs: Path, command: Run) -> None:
    play(outputs / "one")
    interrupted(outputs / "two")
    with held(outputs / "two"):
        assert command("clean", "two", "--yes")[0] == 2
        assert command("clean", "--all", "--yes")[0] == 2
    assert (outputs / "two" / "history.jsonl").exists()
    assert not (outputs / "one").exists()


def test_clean_needs_yes_without_a_terminal_and_asks_on_one(
    outputs: Path, command: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(outputs / "run")
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with pytest.raises(ConfigError, match="--yes"):
        command("clean", "run")
    for words, code, there in (("n\n", 2, True), ("\n", 2, True), ("y\n", 0, False)):
        monkeypatch.setattr(sys, "stdin", Terminal(words))
        assert command("clean", "run")[0] == code
        assert (outputs / "run").exists() == there


def test_clean_wants_a_name_or_all(outputs: Path, command: Run) -> None:
    play(outputs / "run")
    for args in ((), ("run", "--all")):
        with pytest.raises(ConfigError, match="say which run"):
            command("clean", *args, "--yes")
    assert (outputs / "run").exists()


def test_clean_does_not_follow_links_out_of_the_outputs_folder(outputs: Path, tmp_path: Path, command: Run) -> None:
    play(tmp_path / "elsewhere" / "precious")
    outputs.mkdir()
    (outputs / "link").symlink_to(tmp_path / "elsewhere" / "precious")
    (outputs / "sweeps").mkdir()
    (outputs / "sweeps" / "s").symlink_to(tmp_path / "elsewhere")
    for name in ("link", str(outputs / "sweeps" / "s" / "precious")):
        with pytest.raises(ConfigError, match="is a link or lies outside"):
            command("clean", name, "--yes")
    play(outputs / "run")
    (outputs / "run" / "inner").symlink_to(tmp_path / "elsewhere")
    assert command("clean", "run", "--yes")[0] == 0
    assert (tmp_path / "elsewhere" / "precious" / "history.jsonl").exists()


def test_clean_removes_a_folder_whose_history_is_lost(outputs: Path, command: Run) -> None:
    play(outputs / "run")
    (outputs / "run" / "history.jsonl").unlink()
    assert command("clean", "--all", "--yes")[0] == 0
    assert not (outputs / "run").exists()


# words and options


def test_a_word_that_is_no_command_is_answered_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean `status`"):
        main("staus", [])
    with pytest.raises(ConfigError, match="there are: new, resume, status"):
        main("frobnicate", [])


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        (("list", "--jsn"), "did you mean `--json`"),
        (("list", "extra"), "does not take `extra`"),
        (("status", "a", "b"), "does not take `b`"),
        (("clean", "--json"), "no such option"),
        (("ui", "port=x"), "a port is a number"),
    ],
)
def test_what_a_command_does_not_take_is_named(command: Run, args: tuple[str, ...], hint: str) -> None:
    with pytest.raises(ConfigError, match=hint):
        command(*args)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(command: Run, name: str) -> None:
    code, out = command(name, "--help")
    assert code == 0
    assert out.startswith(f"looper {name} ")


def test_the_command_as_a_user_calls_it_gives_exit_codes_and_no_traceback(outputs: Path) -> None:
    waiting(outputs / "run")

    def call(*args: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-m", "looper", *args, f"outputs={outputs}"],
            cwd=ROOT, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        assert "Traceback" not in done.stderr
        return done.returncode, done.stderr

    assert call("status", "nothing") == (
        2,
        f"looper: no run `nothing` below {outputs}/; `looper list` shows what there is.\n",
    )
    assert call("resume")[0] == 3
    assert call("stop")[0] == 0


# tracking


def test_sync_and_ui_use_the_store_that_the_run_names(outputs: Path) -> None:
    play(outputs / "run")
    file = outputs / "run" / "config.yaml"
    file.write_text(file.read_text().replace("tracking: {}", "tracking: {uri: 'sqlite:///x.db', experiment: mine}"))
    request = Request(outputs=Outputs(outputs))
    found = tracking_of(Folder(outputs / "run"), request)
    assert (found.uri, found.experiment) == ("sqlite:///x.db", "mine")
    request.settings["tracking.uri"] = "http://127.0.0.1:5000"
    assert tracking_of(Folder(outputs / "run"), request).uri == "http://127.0.0.1:5000"
    assert tracking_of(None, request).experiment == "looper"


def test_what_a_sync_found_is_said_a_line_a_run() -> None:
    class Found:
        written, same, failed = ["a"], ["b", "c"], {"d": "no\x1b"}

    assert synced_lines(Found()) == ["a: written", "d: failed, no\\x1b", "2 run(s) were complete."]


# one loop, one process


def test_four_processes_never_hold_one_lock_together(tmp_path: Path) -> None:
    command = [sys.executable, str(Path(__file__).with_name("lock_attempts.py")), str(tmp_path)]
    path = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    processes = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=path) for _ in range(4)]
    for process in processes:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    found = [json.loads(process.communicate(timeout=60)[0]) for process in processes]
    total = {key: sum(counts[key] for counts in found) for key in found[0]}
    assert total["overlaps"] == 0
    assert total["entered"] + total["refused"] == 240
    assert total["entered"] > 0
    assert total["refused"] > 0, "they never met, so nothing was tested"
