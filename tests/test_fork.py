"""A copy of a run goes on from a step with other settings and pays only what comes after (SPEC 6.5)."""

import json
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_line import Said, call, ended, start
from model_server import ModelServer, says
from replayed_runs import OWN, again, config_of, keys, planted, run, settings, tree
from test_document import REFERENCE, ROWS
from test_replay import TURN, spoken, task_of
from tracking_runs import record_of

from looper.commands.request import changed
from looper.errors import ConfigError, JournalDamaged, RunLocked
from looper.folder import Folder
from looper.journal import Event, read
from looper.lab.replaying.cut import cut_at
from looper.lab.replaying.fork import Forked, Settings, fork
from looper.lab.replaying.record import Record
from looper.launch import Audience, launch
from looper.parts import build
from looper.state import fold
from looper.types import Outcome


@pytest.fixture(autouse=True)
def _allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPER_ALLOW", ",".join(OWN))
    monkeypatch.setenv("OPENAI_API_KEY", "canary-of-the-fork-tests")


def made(parent: Path, at: str, name: str = "forked", **given: str) -> tuple[Path, Forked]:
    """A fork beside its parent, not yet run; settings with two underscores for a dot."""
    own = {key.replace("__", "."): value for key, value in given.items()}
    target = parent.parent / name
    return target, fork(Folder(parent), target, at, Settings(config_of(parent), own, changed, OWN))


def finished(path: Path) -> Outcome:
    return launch(build(config_of(path), OWN), path, sync=False)


def forked(parent: Path, at: str, name: str = "forked", **given: str) -> tuple[Path, Outcome]:
    path, _ = made(parent, at, name, **given)
    return path, finished(path)


def state(path: Path) -> dict[str, Any]:
    return fold(read(path / "history.jsonl").events, path)


def refusal(parent: Path, at: str, **given: str) -> str:
    before = tree(parent.parent)
    with pytest.raises(ConfigError) as error:
        made(parent, at, **given)
    assert tree(parent.parent) == before, "nothing is left of a fork that was refused"
    return str(error.value)


# What is shared, and what is paid


def test_a_fork_pays_only_what_comes_after(tmp_path: Path) -> None:
    with ModelServer(says(TURN)) as server:
        run(tmp_path / "one", model=spoken(server))
        whole, before = len(server.requests), tree(tmp_path / "one")
        path, outcome = forked(tmp_path / "one", "iteration.4", agents__actor__temperature="0.5")
        paid = len(server.requests) - whole
    assert whole == 5
    assert paid == 2, "of iterations 4 and 5"
    assert outcome.status == "stopped"
    assert server.requests[-1]["temperature"] == 0.5
    assert tree(tmp_path / "one") == before, "the parent is only read"
    told = state(path)
    inherited = told["setup"]["forked"]["inherited"]
    assert inherited["calls"] == 3
    assert told["spent"]["calls"] == 5, "the caps are charged as in any resumed run"
    assert inherited["outer"] + 2 * 2.0 == told["spent"]["outer"]


def test_the_shared_cost_counts_against_the_caps(tmp_path: Path) -> None:
    run(tmp_path / "one", budget={"outer": 40.0})
    assert state(tmp_path / "one")["spent"]["outer"] == 10.0
    path, outcome = forked(tmp_path / "one", "iteration.4", budget__outer="8.5")
    assert outcome.reason == "budget_exhausted"
    assert state(path)["spent"]["outer"] == 8.0, "6 of them were there before"


def test_the_journal_of_a_fork_is_a_chain_of_its_own_that_names_its_parent(tmp_path: Path) -> None:
    run(tmp_path / "one")
    path, given = made(tmp_path / "one", "iteration.3/act.1", seed="7")
    parent, own = read(tmp_path / "one" / "history.jsonl"), read(path / "history.jsonl")
    assert own.hashes[0] != parent.hashes[0]
    assert {event.run_id for event in own.events} == {"forked"}
    assert [event.event for event in own.events if not event.key] == ["run_started", "forked"]
    last = own.events[-1]
    assert (last.event, last.payload) == ("forked", given.model_dump())
    assert (given.parent, given.at, given.settings) == ("one", "iteration.3/act.1", {"seed": "7"})
    assert given.head == parent.hashes[given.line - 1]
    assert keys(path) == keys(tmp_path / "one")[: keys(tmp_path / "one").index("iteration.3/act.1")]
    values = {event.key: event.payload for event in parent.events if event.key}
    assert all(values[event.key] == event.payload for event in own.events if event.key)
    assert state(path)["setup"]["seed"] == 7


def test_another_seed_throws_other_dice_after_the_step_only(tmp_path: Path) -> None:
    run(tmp_path / "one")
    path, _ = forked(tmp_path / "one", "iteration.3", seed="7")
    one, two = (
        {e.key: e.payload for e in read(p / "history.jsonl").events if e.step == "act"}
        for p in (tmp_path / "one", path)
    )
    same = [one[key] == two[key] for key in sorted(one)]
    assert same[:2] == [True, True]
    assert False in same[2:]


def test_a_fork_without_other_settings_comes_to_the_same_end(tmp_path: Path) -> None:
    for number, design in enumerate(("adaptive", "reflex", "workflow", "cabal")):
        free = {"budget": {"inner": None, "outer": None}}
        outcome = run(tmp_path / design, design, **free)
        middle = keys(tmp_path / design)[len(keys(tmp_path / design)) // 2]
        path, again_ = forked(tmp_path / design, middle, f"forked-{number}")
        assert (again_.status, again_.reason, again_.score) == (outcome.status, outcome.reason, outcome.score)
        assert sorted(keys(path)) == sorted(keys(tmp_path / design))
        assert again(path).difference is None, "a fork can be replayed"


def test_a_run_that_stopped_at_its_budget_goes_on_from_there(tmp_path: Path) -> None:
    assert run(tmp_path / "one", budget={"outer": 5.0}).reason == "budget_exhausted"
    record = Record.of(Folder(tmp_path / "one"))
    assert record.steps[cut_at(record, "last").key].event == "budget_refused"
    path, outcome = forked(tmp_path / "one", "last", budget__outer="40")
    assert outcome.reason == "iteration_limit"
    assert state(path)["iteration"] >= 5


def test_a_run_that_came_to_its_limit_goes_on_with_a_higher_one(tmp_path: Path) -> None:
    assert run(tmp_path / "one").reason == "iteration_limit"
    path, outcome = forked(tmp_path / "one", "iteration.5", loop__max_steps="8")
    assert outcome.status in ("stopped", "completed")
    assert state(path)["max_iterations"] == 8
    assert state(path)["iteration"] >= 8 or outcome.passed


def test_a_fork_of_a_fork_inherits_from_both(tmp_path: Path) -> None:
    run(tmp_path / "one")
    forked(tmp_path / "one", "iteration.2", "two", seed="3")
    path, given = made(tmp_path / "two", "iteration.4", "three", seed="4")
    assert (given.parent, given.inherited["outer"]) == ("two", 6.0)
    assert [event.event for event in read(path / "history.jsonl").events if not event.key] == ["run_started", "forked"]
    assert finished(path).status == "stopped"
    assert again(path).difference is None


def test_a_large_value_is_carried_with_its_file(tmp_path: Path) -> None:
    goal = "x" * 70_000
    run(tmp_path / "one", task={"goal": goal})
    path, _ = made(tmp_path / "one", "iteration.2")
    assert {file.name for file in (path / "blobs").iterdir()} <= {
        f.name for f in (tmp_path / "one" / "blobs").iterdir()
    }
    assert finished(path).status == "stopped"
    for blob in (path / "blobs").iterdir():
        (tmp_path / "one" / "blobs" / blob.name).write_text("changed")
    with pytest.raises(JournalDamaged, match="blobs/"):
        made(tmp_path / "one", "iteration.2", "third")
    assert not (tmp_path / "third").exists()


def git(folder: Path, *words: str) -> str:
    own = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    return subprocess.run(["git", "-C", str(folder), *own, *words], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("checkout", ["copy", "worktree"])
def test_a_project_goes_on_in_a_workspace_of_its_own(tmp_path: Path, checkout: str) -> None:
    task, parent = {**task_of("project", tmp_path), "checkout": checkout}, tmp_path / "out" / "one"
    git(tmp_path / "project", "init", "-q")
    git(tmp_path / "project", "add", "-A")
    git(tmp_path / "project", "commit", "-qm", "as given")
    model = {"name": "simulated", "skill": 1.0}
    outcome = run(parent, "workflow", task=task, model=model, budget={"outer": 200.0})
    theirs, before = tree(tmp_path / "project"), tree(parent)
    assert again(parent).difference is None
    assert tree(tmp_path / "project") == theirs, "a replay writes nothing into the user's repository"
    commits = [event.key for event in read(parent / "history.jsonl").events if event.step == "commit"]
    path, after = forked(parent, commits[-1])
    assert (after.status, after.artifact) == (outcome.status, outcome.artifact)
    assert (path / "workspace" / "shop" / "cart.py").read_text() == (parent / "workspace/shop/cart.py").read_text()
    assert git(path / "workspace", "symbolic-ref", "HEAD").strip() == "refs/heads/looper/forked"
    assert tree(parent) == before


def test_other_thresholds_hold_from_the_step_on(tmp_path: Path) -> None:
    template = {"_target_": "looper.tasks.document.rules.Template", "name": "docs", "rules": ROWS}
    template |= {"thresholds": {"A": 1.0, "B": 1.0}}
    task = {
        "_target_": "looper.tasks.document.task.Document", "name": "letter", "prompt": "Write.", "reference": REFERENCE,
        "criteria_template": template, "bench": {"_target_": "looper.checks.bench.Bench"},
    }  # fmt: skip
    model = {"name": "simulated", "skill": 0.3}
    run(tmp_path / "confirmed", "reflex", task=task, model=model)
    said = refusal(tmp_path / "confirmed", "iteration.2", task__criteria_template__thresholds__A="0.1")
    assert "this changes what is before iteration.2/plan.1 (confirm.1 would be asked" in said, "they were confirmed"
    run(tmp_path / "one", "reflex", task=task, model=model, loop={"confirmation": False})
    path, _ = forked(tmp_path / "one", "iteration.2", task__criteria_template__thresholds__A="0.1")
    told = state(path)
    assert told["criteria"]["phases"][0]["threshold"] == 0.1
    verdicts = [e.payload["threshold"] for e in read(path / "history.jsonl").events if e.event == "evaluation_done"]
    assert verdicts[0] == 1.0
    assert 0.1 in verdicts[1:]


# What is refused


def test_the_setting_that_changes_what_is_before_the_step_is_named(tmp_path: Path) -> None:
    run(tmp_path / "one")
    said = refusal(tmp_path / "one", "iteration.4", loop__max_steps="2", budget__outer="50")
    assert said.startswith("loop.max_steps=2: this changes what is before iteration.4/")
    assert "budget" not in said
    assert "start a new run." in said


@pytest.mark.parametrize("account", ["outer", "calls", "tokens"])
def test_a_cap_below_what_the_shared_steps_have_cost_is_refused(tmp_path: Path, account: str) -> None:
    run(tmp_path / "one", model={"name": "simulated", "tokens": 10, "tokens_in": 20})
    _, kept = made(tmp_path / "one", "iteration.4")
    cost = kept.inherited[account]
    said = refusal(tmp_path / "one", "iteration.4", **{f"budget__{account}": f"{cost - 1:g}"})
    assert said == (
        f"budget.{account}={cost - 1:g}: the steps before {kept.at} have cost {cost:g} already; give more, or fork "
        "from an earlier step."
    )
    made(tmp_path / "one", "iteration.4", "enough", **{f"budget__{account}": f"{cost:g}"})
    made(tmp_path / "one", "iteration.4", "inner", budget__inner="0.1")


def test_a_changed_looper_or_task_is_told_from_a_setting(tmp_path: Path) -> None:
    run(tmp_path / "one")
    planted(tmp_path / "one", "iteration.2/act.1", lambda value: {**value, "by": 0.125})
    said = refusal(tmp_path / "one", "iteration.4", seed="3")
    assert said.startswith("one does not lead to iteration.4/")
    assert "`looper replay one` shows where" in said


@pytest.mark.parametrize(
    ("at", "words"),
    [
        ("iteration.33", "--at iteration.33: one has no such step; did you mean `iteration."),
        ("iteration.2/akt.1", "did you mean `iteration.2/act.1`"),
        ("zzz", "its steps go from `start/prepare.1` to `"),
        ("start/prepare.1", "nothing lies before start/prepare.1"),
    ],
)
def test_a_step_that_is_not_there_is_answered_with_the_nearest(tmp_path: Path, at: str, words: str) -> None:
    run(tmp_path / "one")
    assert words in refusal(tmp_path / "one", at)


def test_a_damaged_parent_is_refused_and_a_running_one_too(tmp_path: Path) -> None:
    def during(event: Event) -> None:
        if event.key == "iteration.3/act.1":
            with pytest.raises(RunLocked, match="one: is running"):
                made(tmp_path / "one", "iteration.2")

    run(tmp_path / "one", audience=Audience(listeners=[during]))
    assert not (tmp_path / "forked").exists()
    file = tmp_path / "one" / "history.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"score":0.0', b'"score":0.1', 1))
    with pytest.raises(JournalDamaged, match="is not what was written"):
        made(tmp_path / "one", "iteration.2")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["one"], "fork: say from where: --at STEP"),
        (["one", "--at"], "--at: `fork` needs a value behind it"),
        (["nix", "--at", "last"], "no run `nix`"),
        (["one", "--at", "last", "task.low=3"], "task.low: what the run is about lies before every step"),
        (["one", "--at", "last", "loop=reflex"], "loop: a fork keeps its design"),
        (["one", "--at", "last", "prices=3"], "prices=3: `fork` takes budget, model"),
        (["one", "--at", "last", "budgett.outer=4"], "did you mean `budget`?"),
        (["one", "--at", "last", "agents.actor.model={name: x}"], "agents.actor.model: a name is expected, such as"),
        (["one", "--at", "last", "budget.outer=1"], "budget.outer=1: the steps before iteration."),
        (["one", "--at=iteration.3", "loop.max_stepz=3"], "loop.max_stepz: there is no such setting"),
        (["one", "--at", "last", "model=opnai"], "model `opnai` is not known"),
        (["one", "--att", "last"], "--att: `fork` has no such option; did you mean `--at`?"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(tmp_path: Path, words: Sequence[str], said: str) -> None:
    run(tmp_path / "one")
    found = call("fork", *words, f"outputs={tmp_path}")
    assert found.code == 2
    assert said in found.err.splitlines()[-1]
    assert not list(tmp_path.glob("one-fork-*"))


# The command, and what is shown


def test_the_command_forks_and_status_list_and_mlflow_tell_it(tmp_path: Path) -> None:
    run(tmp_path / "one")
    found = call("fork", "one", "--at", "iteration.4", "seed=7", "--json", f"outputs={tmp_path}")
    assert found.code == 4, found.err
    assert "fork of one at iteration.4/" in found.err
    card = json.loads(found.out)
    assert card["setup"]["forked"]["parent"] == "one"
    assert card["run_id"].startswith("one-fork-")
    path = tmp_path / card["run_id"]
    assert yaml.safe_load((path / "config.yaml").read_text())["seed"] == 7
    shown = call("status", card["run_id"], f"outputs={tmp_path}").out
    assert "forked_from: one at iteration.4/" in shown
    assert "inherited: inner 0.18, outer 6," in shown
    assert "paid here: inner 0.17, outer 4," in shown
    assert "forked_from" in call("list", f"outputs={tmp_path}").out.splitlines()[0]
    rows = json.loads(call("list", "--json", f"outputs={tmp_path}").out)
    assert [(row["forked_from"], row["paid"]["outer"]) for row in rows] == [("one", 4.0), (None, 10.0)]
    record = record_of(path)
    metrics = {point.name: point.value for point in record.points}
    assert (record.tags["forked_from"], record.tags["forked_at"]) == ("one", card["setup"]["forked"]["at"])
    assert (metrics["inherited_outer_units"], metrics["outer_units"]) == (6.0, 10.0)
    assert "forked_from" not in record_of(tmp_path / "one").tags


SLOW = ("model.latency=0.03",)


def slow(outputs: Path) -> Path:
    """A parent whose forks take a while."""
    run(outputs / "one", loop={"max_steps": 30}, budget={"outer": None, "inner": None}, task={"low": 500, "high": 501})
    return outputs / "one"


def under_way(outputs: Path, cwd: Path) -> "subprocess.Popen[str]":
    allowed = {"LOOPER_ALLOW": ",".join(OWN)}
    return start("fork", "one", "--at", "iteration.5", "seed=3", *SLOW, f"outputs={outputs}", cwd=cwd, **allowed)


def test_a_fork_that_was_killed_is_resumed_to_the_same_end(tmp_path: Path) -> None:
    outputs = tmp_path / "out"
    slow(outputs)
    process = under_way(outputs, tmp_path)
    deadline = time.monotonic() + 60
    while not (new := [p for p in outputs.glob("one-fork-*/history.jsonl") if "iteration.9/act.1" in p.read_text()]):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    ended(process)
    path = new[0].parent
    assert state(path)["status"] == "running"
    known = keys(path)
    assert call("resume", path.name, "model.latency=0", f"outputs={outputs}").code == 4
    whole, _ = forked(outputs / "one", "iteration.5", "unkilled", seed="3")
    assert keys(path)[: len(known)] == known
    assert keys(path) == keys(whole)
    assert state(path)["setup"]["forked"] == {
        **state(whole)["setup"]["forked"],
        "settings": {"seed": "3", "model.latency": "0.03"},
    }
    assert again(path).difference is None


def test_two_forks_at_once_do_not_know_of_each_other(tmp_path: Path) -> None:
    outputs = tmp_path / "out"
    before = tree(slow(outputs))
    both = [under_way(outputs, tmp_path), under_way(outputs, tmp_path)]
    said: list[Said] = [ended(process) for process in both]
    assert [one.code for one in said] == [4, 4], said
    one, two = sorted(outputs.glob("one-fork-*"))
    assert keys(one) == keys(two)
    assert tree(outputs / "one") == before


def test_a_fork_has_the_settings_of_its_parent(tmp_path: Path) -> None:
    run(tmp_path / "one")
    path, _ = made(tmp_path / "one", "iteration.3", budget__outer="33")
    before, after = config_of(tmp_path / "one"), config_of(path)
    assert after["budget"].pop("outer") == 33
    assert before["budget"].pop("outer") == 40.0
    assert {key: value for key, value in after.items() if key not in ("until", "record")} == {
        key: value for key, value in before.items() if key not in ("until", "record")
    }
    assert settings(tmp_path)["seed"] == after["seed"]
