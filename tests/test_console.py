import io
import json
import re
import threading
from pathlib import Path
from typing import Any

import pytest
from dial_runs import Terminal, config, play
from pydantic import BaseModel, Field

from looper.console import Console, announcement, asking, table, who
from looper.console.blocks import Block, step_line
from looper.console.gauge import Gauge
from looper.console.screen import Screen, brief, plain
from looper.console.story import Story
from looper.console.summary import final_summary
from looper.errors import Paused
from looper.folder import Folder
from looper.journal import Event
from looper.launch import Audience
from looper.parts import build
from looper.types import Call, Question

HOSTILE = [
    "\x1b[2J\x1b[1;1H", "\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "\x9b31m", "\x9d0;t\x9c",
    "a\rb", "a\bb", "\x00", "\x7f", "\u202egnp.exe", "\u2066x\u2069", "\u200b", "\ufeff", "\u2028", "\ud800",
    "\U000e0041", "\x1bP+q\x1b\\", "\x0e", "\u061c",
]  # fmt: skip
ACTING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b\ufeff\u2028\ud800-\udfff\U000e0000-\U000e0fff]"
)


def screens() -> tuple[io.StringIO, io.StringIO]:
    return io.StringIO(), io.StringIO()


def watched(path: Path, json_mode: bool = False, **parts: Any) -> tuple[str, str]:
    out, err = screens()
    with Console(out, err, json_mode=json_mode) as console:
        outcome = play(path, console.audience(), **parts)
        console.summary(outcome, path)
    return out.getvalue(), err.getvalue()


@pytest.mark.parametrize("text", HOSTILE)
def test_text_that_could_act_on_a_terminal_is_shown_escaped(text: str) -> None:
    assert not ACTING.search(plain(f"x{text}y"))
    assert plain(f"x{text}y") != "xy", "it is shown, not dropped"


def test_ordinary_text_of_any_script_is_left_as_it_is() -> None:
    text = "grüße, 你好, שלום, \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645, é, 👩\u200d🚀,\ttab\nline"
    assert plain(text) == text


def test_a_brief_text_is_one_line_of_bounded_width() -> None:
    assert brief("a\n  b\t c") == "a b c"
    assert len(brief("x" * 10_000_000, 50)) == 50


def test_the_one_json_line_stays_json_whatever_is_in_it() -> None:
    data = {"text": "".join(HOSTILE)}
    assert json.loads(plain(json.dumps(data))) == data


def test_hostile_text_of_a_task_an_answer_and_a_file_name_reaches_no_stream_raw(tmp_path: Path) -> None:
    nasty = "".join(HOSTILE[:-6]) + "\u202e"
    path = tmp_path / "run-\x1b[31m"
    path.mkdir()
    (path / "\x1b]0;x\x07.diff").write_text(f"+{nasty}\n")
    answer = json.dumps({"by": 18, "why": nasty})
    out, err = screens()
    with Console(out, err) as console:
        outcome = play(
            path, console.audience(), {"iteration.1/act.1": answer}, loop="baseline", model={"name": "human"},
            task={"goal": f"turn {nasty}"},
        )  # fmt: skip
        console.summary(outcome, path)
    assert "\\x1b[2J" in err.getvalue(), "the goal is shown"
    assert ".diff" in out.getvalue()
    for stream in (out.getvalue(), err.getvalue()):
        assert not ACTING.search(stream.replace("\n", ""))


def test_markup_of_the_bar_is_not_interpreted_in_foreign_text(tmp_path: Path) -> None:
    parts = build(config(tmp_path))
    gauge = Gauge(parts, {}, 5)
    gauge.title = "[bold red]x[/] \x1b[31m"
    from rich.console import Console as Rich

    out = io.StringIO()
    Rich(file=out, width=300).print(gauge.render())
    assert "[bold red]x[/]" in out.getvalue()
    assert "\x1b" not in out.getvalue()


def test_a_run_shows_its_parts_first_a_line_a_step_and_its_summary_last(tmp_path: Path) -> None:
    out, err = watched(tmp_path / "run")
    assert err.splitlines()[0].startswith("running adaptive on dial: Turn the dial")
    assert "  planner: policy (the task's own; no model)" in err
    assert "budget: inner 20, outer 6; at a limit: wrap_up; seed 0" in err
    assert re.search(r"^\[1\] step 1, score 0\.00, feedback \+0\.05, .*bisect", err, re.M)
    heads = re.findall(r"^── Iteration (\d+)/50 \| Phase A \| Score: (\d\.\d\d) \| (PASS|FAIL) ──$", out, re.M)
    assert [int(number) for number, *_ in heads] == list(range(1, len(heads) + 1))
    assert heads[-1][1:] == ("1.00", "PASS")
    for line in (
        "iteration: 15/50",
        "phase: A",
        "final_score: 1.00 (gate met)",
        "stop_reason: stable",
        "units: inner 2.29",
    ):
        assert f"\n{line}" in out


def test_standard_output_is_one_json_object_in_json_mode(tmp_path: Path) -> None:
    out, err = watched(tmp_path / "run", json_mode=True)
    data = json.loads(out)
    assert out.count("\n") == 1
    assert data["folder"] == str(tmp_path / "run")
    saved = json.loads((tmp_path / "run" / "run.json").read_text())
    assert all(data[key] == saved[key] for key in ("status", "iteration", "spent", "outcome", "stop", "evaluation"))
    assert "running adaptive" in err


def test_nothing_but_warnings_is_told_when_quiet(tmp_path: Path) -> None:
    out, err = screens()
    with Console(out, err, quiet=True) as console:
        play(tmp_path / "run", console.audience())
        console.screen.warn("mind")
    assert err.getvalue() == "mind\n"


def test_a_cell_of_a_sweep_is_two_lines_of_progress(tmp_path: Path) -> None:
    out, err = screens()
    with Console(out, err, compact=True) as console:
        console.summary(play(tmp_path / "run", console.audience()), tmp_path / "run")
    assert out.getvalue() == ""
    assert [line.split(":")[0] for line in err.getvalue().splitlines()] == ["running adaptive on dial", "run"]


def test_a_bar_with_the_budget_left_is_kept_on_a_terminal_and_gone_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "150")
    out, err = Terminal(), Terminal()
    with Console(out, err) as console:
        console.summary(play(tmp_path / "run", console.audience()), tmp_path / "run")
    assert "left inner" in err.getvalue()
    assert err.getvalue().rstrip().endswith("\x1b[2K"), "the last thing is the bar being cleared"
    assert "final_score" in out.getvalue()


def test_the_gauge_counts_failed_calls_once_and_follows_a_refill(tmp_path: Path) -> None:
    gauge = Gauge(build(config(tmp_path)), {"inner": 1.0}, 50)
    assert gauge.left == {"inner": 19.0, "outer": 6.0}
    failed = Call(ended="rate_limited")
    gauge.take(Event(event="call_done", key="k", cost={"outer": 1.0, "usd": 0.5}, calls=[failed]))
    gauge.take(Event(event="step_done", key="k", cost={"outer": 3.0, "usd": 0.7}, calls=[failed, Call()]))
    assert gauge.left["outer"] == pytest.approx(3.0)
    assert gauge.usd == pytest.approx(0.7)
    gauge.take(Event(event="iteration_advanced", payload={"inner_left": 20.0, "outer_left": 3.0}))
    assert gauge.left["inner"] == 20.0
    assert gauge.used() == pytest.approx(0.5)


def test_the_reader_of_a_pipe_who_goes_away_does_not_end_the_run(tmp_path: Path) -> None:
    import os

    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as out, Console(out, io.StringIO()) as console:
        assert play(tmp_path / "run", console.audience()).status == "completed"


def test_a_stream_that_knows_ascii_only_gets_ascii() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    Screen(stream, stream).say("── grün ──")
    assert raw.getvalue() == b"-- gr\\xfcn --\n"


def test_what_others_say_while_a_person_is_asked_follows_after_it() -> None:
    out = io.StringIO()
    screen = Screen(out, out)
    with screen.alone():
        other = threading.Thread(target=screen.say, args=("from a branch",))
        other.start()
        other.join(10)
        assert not other.is_alive(), "a branch does not wait for the person"
        screen.say("the question")
    assert out.getvalue() == "the question\nfrom a branch\n"


def test_no_secret_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    Screen(out, out).say("key sk-abcdefghijklmnop1234567890 in words")
    assert "sk-abc" not in out.getvalue()


def test_fillers_are_called_what_they_are() -> None:
    assert who({"model": {"name": "openai/gpt-4o"}}, "planner") == "model:openai/gpt-4o"
    assert who({"model": {"name": "offline"}, "agents": {"critic": {"model": "human"}}}, "critic") == "human"
    assert "a recording" in who({"model": {"name": "recording", "path": "runs/x"}}, "planner")
    assert "a simulation" in who({"model": {"name": "simulated", "skill": 0.3}}, "planner")


def test_a_simulation_is_labelled_in_the_announcement_and_in_the_summary(tmp_path: Path) -> None:
    out, err = watched(tmp_path / "run", model={"name": "simulated", "skill": 1.0})
    assert "planner: simulated (a simulation, skill 1.0)" in err
    assert "simulated (a simulation)" in out
    assert "say nothing about a model" in out


def test_the_sandbox_in_use_and_its_advice_are_announced(tmp_path: Path) -> None:
    from looper.checks.sandbox.types import Capability

    class Box:
        def capability(self) -> Capability:
            return Capability("rlimits", ["bubblewrap is missing"], "Install bubblewrap.")

    parts = build(config(tmp_path))
    parts.sandbox = Box()
    assert "  sandbox: rlimits - Install bubblewrap." in announcement(parts, Folder(tmp_path / "r"), False)


def test_distance_to_success_is_told_when_a_limit_ends_a_run(tmp_path: Path) -> None:
    out, _ = watched(tmp_path / "run", loop_settings={"max_steps": 3}, budget={"outer": 4.0})
    assert "stop_reason: iteration_limit" in out
    lines = out[out.index("distance to success:") :].splitlines()
    assert lines[1:4] == [
        "  threshold 1.00, final score 0.00, gap 1.00",
        "  failed rules that block: 1 (a.correctness.band)",
        "  rules passed: 0/1",
    ]


def test_no_distance_is_told_of_a_run_that_met_its_gate(tmp_path: Path) -> None:
    assert "distance to success" not in watched(tmp_path / "run")[0]


def test_a_long_artifact_is_pointed_at_and_a_short_one_shown(tmp_path: Path) -> None:
    path = tmp_path / "run"
    out, _ = watched(path)
    assert f"  {(path / 'artifact.md').read_text()}\n" in out
    (path / "artifact.md").write_text("line\n" * 81)
    assert f"artifact: {path / 'artifact.md'} (81 lines)" in final_summary(Story.of(Folder(path)))


def test_a_patch_is_named_and_shown(tmp_path: Path) -> None:
    path = tmp_path / "run"
    watched(path)
    (path / "patch.diff").write_text("-a\n+b\n")
    lines = final_summary(Story.of(Folder(path)))
    assert f"patch: {path / 'patch.diff'}" in lines
    assert lines[-3:] == ["patch.diff:", "  -a", "  +b"]


def test_a_holdout_score_is_labelled(tmp_path: Path) -> None:
    watched(tmp_path / "run")
    story = Story.of(Folder(tmp_path / "run"))
    story.state["outcome"]["facts"]["holdout"] = {"score": 0.5, "passed": False}
    assert "holdout_score: 0.50 (hidden checks, measured once at the end)" in final_summary(story)


def test_a_paused_run_says_how_to_go_on_and_what_an_answer_looks_like(tmp_path: Path) -> None:
    out, _ = watched(tmp_path / "run", loop="baseline", model={"name": "human"})
    assert "── paused: questions | baseline on dial | run run ──" in out
    last = out.splitlines()[-1]
    assert last.startswith('next: looper resume run answer=\'{"by": "number"')


def test_a_budget_that_should_be_asked_about_says_what_to_give(tmp_path: Path) -> None:
    out, _ = watched(tmp_path / "run", loop="baseline", budget={"outer": 2.0, "on_limit": "ask"})
    assert out.splitlines()[-1] == "next: looper resume run budget.outer=MORE"


def evaluation(iteration: int, phase: str = "A", passed: bool = False, score: float = 0.5) -> Event:
    payload = {"score": score, "phase": phase, "passed": passed, "failed": ["a.x"], "warnings": []}
    return Event(event="evaluation_done", iteration=iteration, payload=payload)


def test_the_block_of_an_artifact_has_the_lines_of_document_003(tmp_path: Path) -> None:
    block = Block(tmp_path, 4)
    assert block.take(Event(event="plan_created", iteration=1, payload="first this, then that")) == []
    assert block.take(Event(event="artifact_created", iteration=1, payload={"text": "v1"})) == []
    assert block.take(evaluation(1)) == []
    issues = {"issues": [{"rule": "a.x", "fix": "say x"}]}
    assert block.take(Event(event="critique_done", iteration=1, payload=issues)) == []
    assert block.take(Event(event="iteration_advanced", iteration=1)) == [
        "── Iteration 1/4 | Phase A | Score: 0.50 | FAIL ──",
        "Plan: first this, then that",
        "Hash: 3bfc2695",
        "Changed: initial generation",
        "Failed: a.x",
        "Warnings: none",
        f"Artifact: {tmp_path / 'artifact.md'}",
        "  a.x: say x",
    ]


def test_the_artifact_is_shown_in_full_once_at_a_change_of_phase(tmp_path: Path) -> None:
    block = Block(tmp_path, 4)
    block.take(Event(event="artifact_created", iteration=1, payload={"text": "line 1\nline 2"}))
    block.take(evaluation(1, passed=True, score=1.0))
    due = block.take(Event(event="phase_switched", iteration=1))
    assert due[0] == "── Iteration 1/4 | Phase A | Score: 1.00 | PASS ──"
    assert "line 1\nline 2" in due
    block.take(evaluation(1, "B"))
    assert "line 1" not in "\n".join(block.take(Event(event="stopped", payload={})))


def test_a_second_phase_in_one_iteration_has_a_block_of_its_own(tmp_path: Path) -> None:
    block = Block(tmp_path, None)
    block.take(evaluation(1, "A", passed=True))
    assert block.take(evaluation(1, "B")) == ["── Iteration 1 | Phase A | Score: 0.50 | PASS ──"]
    assert block.take(Event(event="completed", payload={})) == ["── Iteration 1 | Phase B | Score: 0.50 | FAIL ──"]


def test_lines_are_for_what_is_worth_one() -> None:
    assert step_line(Event(event="step_done", step="affords", key="a")) is None
    assert step_line(Event(event="step_done", step="probe", key="a", seconds=0.1)) is None
    assert step_line(Event(event="step_done", step="apply", key="a", seconds=3.0)) == "apply: 3.0 s"
    paid = Event(
        event="step_done", step="act", by="model:x/y", iteration=2, calls=[Call(tokens_in=3, usd=0.01)], seconds=1
    )
    assert step_line(paid) == "[2] act: answered by model:x/y, 1 call, 3 tokens, $0.0100, 1.0 s"
    failed = Event(event="call_done", step="act", payload={"attempt": 1}, calls=[Call(ended="refusal")])
    assert step_line(failed) == "act: call 1 ended refusal"
    assert step_line(Event(event="phase_error", step="act", payload={"message": "no\x1b"})) == "act: no\\x1b"


class Verdict(BaseModel):
    passed: bool = Field(description="whether it holds")
    note: str = ""


QUESTION = Question(
    role="critic", key="iteration.1/critic.1", step="critic", returns=Verdict,
    context={"goal": "be \x1b[31mgood", "rules": [{"id": "a.x"}], "long": "line\n" * 100},
)  # fmt: skip


def asked(words: str) -> tuple[str, str]:
    err = io.StringIO()
    with Console(io.StringIO(), err, stdin=io.StringIO(words)) as console:
        return console.terminal(QUESTION), err.getvalue()


def test_a_person_sees_the_role_the_context_and_the_fields_of_the_answer() -> None:
    text, err = asked('{"passed": true}\n')
    assert text == '{"passed": true}'
    assert "critic is asked" in err
    assert "- id: a.x" in err
    assert "be \\x1b[31mgood" in err
    assert "... 40 more lines" in err
    assert "  passed: boolean, required - whether it holds" in err
    assert '  note: string, default ""' in err
    assert "\x1b" not in err


def test_a_person_is_asked_again_until_the_answer_fits() -> None:
    text, err = asked('nonsense\n{"passed": 3}\n{\n"passed": false\n}\n')
    assert json.loads(text) == {"passed": False}
    assert err.count("Try again") == 2


def test_an_answer_may_be_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "answer.json"
    file.write_text('{"passed": true}')
    text, err = asked(f"@{tmp_path}/none\n@{file}\n")
    assert text == f"@{file}"
    assert "there is no such file" in err


def test_a_person_who_ends_the_input_pauses_the_run() -> None:
    with pytest.raises(Paused) as caught:
        asked("")
    assert caught.value.facts["waiting"]["key"] == QUESTION.key


def test_an_answer_type_with_nested_fields_can_be_asked_for() -> None:
    class Outer(BaseModel):
        inner: Verdict
        several: list[Verdict] = []

    lines = asking(Question(role="r", key="k", step="s", returns=Outer, context={}))
    assert any(line.startswith("  inner: ") for line in lines)


def test_the_rows_of_a_sweep_are_a_table_or_json() -> None:
    rows = [
        {"folder": "f", "status": "completed", "score": 0.51234},
        {"folder": "g", "status": "not run", "reason": "\x1bno"},
    ]
    text = table(rows)
    assert text.splitlines()[0].split() == ["status", "score", "reason", "folder"]
    assert "0.5123" in text
    assert "\x1b" not in text
    assert json.loads(table(rows, as_json=True)) == rows


def test_a_console_is_an_audience() -> None:
    with Console(io.StringIO(), io.StringIO()) as console:
        assert isinstance(console.audience(), Audience)
