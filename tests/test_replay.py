"""A run is repeated offline, without a model call, and its first difference is told (SPEC 6.5)."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from command_line import call
from dial_runs import Killed
from github_server import GitHubServer
from model_server import ModelServer, body, says, status
from project_runs import HIDDEN, REFERENCE, written
from replayed_runs import (
    COUNT,
    DESIGNS,
    again,
    broken_off,
    go_on,
    keys,
    planted,
    rewritten,
    run,
    settings,
    tree,
)  # fmt: skip
from search_runs import saved
from written_runs import by_hand

from looper.errors import ConfigError, JournalDamaged
from looper.journal import Event
from looper.lab.replaying.offline import offline
from looper.launch import Audience

TURN = '{"by": 2.0, "why": "on"}'


def spoken(server: ModelServer, **more: Any) -> dict[str, Any]:
    """A model in every role, at a price."""
    price = {"input": 1.0, "output": 2.0}
    return {"name": "openai/test", "base_url": server.url, "price": price, "backoff": 0.002, "max_tokens": 100, **more}


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary-of-the-replay-tests")


# The same again


@pytest.mark.parametrize("design", DESIGNS)
def test_every_design_is_repeated_step_by_step(tmp_path: Path, design: str) -> None:
    run(tmp_path / "one", design)
    before, found = tree(tmp_path), again(tmp_path / "one")
    assert found.difference is None
    assert found.same == found.steps == len(keys(tmp_path / "one"))
    assert found.over
    assert tree(tmp_path) == before, "the replay has changed something"


@pytest.mark.parametrize("design", ["adaptive", "baseline"])
def test_policies_and_effects_are_computed_anew(tmp_path: Path, design: str) -> None:
    run(tmp_path / "one", design, model={"name": "offline"})
    seen = again(tmp_path / "one").rehearsal.seen
    assert seen.answers == {}
    assert seen.computed["policy"] > 2
    assert seen.computed["effect"] > 5
    assert seen.computed["decision"] > 2


def test_effects_can_be_left_to_the_record(tmp_path: Path) -> None:
    run(tmp_path / "one")
    assert set(again(tmp_path / "one", effects=False).rehearsal.seen.kept) == {
        "prepare",
        "observe",
        "probe",
        "gate",
        "apply",
    }
    some = again(tmp_path / "one", kept=["probe"]).rehearsal.seen
    assert set(some.kept) == {"probe"}
    assert some.computed["effect"] > 0
    with pytest.raises(ConfigError, match=r"from_record=nix: one has no such step; it has .*apply"):
        again(tmp_path / "one", kept=["nix"])


FAMILIES: dict[str, dict[str, Any]] = {
    "repair": {
        "_target_": "looper.tasks.repair.kinds.Shipped", "name": "ships_bells", "jobs": 1, "alternatives": 2,
        "sandbox": {"_target_": "looper.checks.sandbox.Sandbox"},
    },
    "search": {
        "_target_": "looper.tasks.search.band.Band", "need": "amber birch", "low": 2, "high": 4,
        "collection": {"_target_": "looper.tasks.search.index.Embedded"},
    },
    "project": {
        "_target_": "looper.tasks.project.task.Project", "name": "shop", "prompt": "Make it right.",
        "sandbox": {"_target_": "looper.checks.sandbox.Sandbox"},
    },
}  # fmt: skip


def task_of(family: str, place: Path) -> dict[str, Any]:
    """A small task of a family, its files below `place`."""
    own = {"_target_": FAMILIES[family]["_target_"], **FAMILIES[family]}
    if family == "search":
        rows = [{"id": f"d{n}", "text": "amber birch" if n < 3 else "amber moss"} for n in range(20)]
        index = {**own["collection"], "source": str(saved(place, rows)), "cache": str(place / "cache")}
        return {**own, "collection": index}
    if family == "project":
        (place / "hidden.py").write_text(HIDDEN)
        (place / "reference.patch").write_text(REFERENCE)
        hidden = {"tests/test_hidden.py": str(place / "hidden.py")}
        own |= {"workspace": str(written(place / "project")), "holdout_tests": hidden}
        return {**own, "reference": str(place / "reference.patch")}
    return own


@pytest.mark.parametrize(("family", "design"), [("repair", "baseline"), ("search", "adaptive")])
def test_every_family_of_tasks_is_repeated(tmp_path: Path, family: str, design: str) -> None:
    model = {"name": "simulated", "skill": 1.0}
    run(tmp_path / "out" / "one", design, task=task_of(family, tmp_path), model=model, budget={"outer": 200.0})
    before, found = tree(tmp_path / "out"), again(tmp_path / "out" / "one")
    assert found.difference is None
    assert found.rehearsal.seen.computed["effect"] > 2
    assert tree(tmp_path / "out") == before


def test_a_project_that_was_changed_in_place_is_repeated_from_what_the_run_was_given(tmp_path: Path) -> None:
    task = {**task_of("project", tmp_path), "in_place": True}
    model = {"name": "simulated", "skill": 1.0}
    outcome = run(tmp_path / "out" / "one", "workflow", task=task, model=model, budget={"outer": 200.0})
    assert outcome.facts["delivered"]
    project = tree(tmp_path / "project")
    found = again(tmp_path / "out" / "one")
    assert found.difference is None
    assert found.rehearsal.seen.kept == {"deliver": 1}
    assert "commit" in {event.step for event in found.rehearsal.record.steps.values()}
    assert tree(tmp_path / "project") == project, "a replay delivers nothing"


# Runs that did not go straight to their end


def test_a_run_with_answers_of_people_and_many_pauses_is_repeated(tmp_path: Path) -> None:
    people = {"model": {"name": "human"}, "agents": {"planner": {"model": "policy"}}, "confirm": "yes"}
    assert by_hand(tmp_path / "one", **people).status == "completed"
    found = again(tmp_path / "one")
    assert found.difference is None
    assert found.rehearsal.seen.answers["human"] == 5


def test_a_paused_run_is_repeated_up_to_the_question(tmp_path: Path) -> None:
    outcome = run(tmp_path / "one", agents={"actor": {"model": "human"}})
    assert outcome.status == "paused"
    found = again(tmp_path / "one")
    assert found.difference is None
    assert found.rehearsal.beyond == ["iteration.1/act.1"]


@pytest.mark.parametrize("design", ["adaptive", "workflow", "cabal"])
def test_a_run_that_was_killed_is_repeated_as_far_as_it_goes_and_whole_once_it_was_resumed(
    tmp_path: Path, design: str
) -> None:
    config = settings(tmp_path, design, budget={"inner": None, "outer": None})  # side by side, branches race for units
    go_on(tmp_path / "one", config)
    whole = len(keys(tmp_path / "one"))
    broken_off(tmp_path / "one", whole // 2)
    found = again(tmp_path / "one")
    assert (found.difference, found.over) == (None, False)
    assert found.steps < whole
    go_on(tmp_path / "one", config)
    found = again(tmp_path / "one")
    assert (found.difference, found.over, found.steps) == (None, True, whole)


def test_a_run_that_asked_for_more_budget_is_repeated_under_the_budget_it_has_now(tmp_path: Path) -> None:
    config = settings(tmp_path, budget={"inner": 0.1, "on_limit": "ask"})
    assert go_on(tmp_path / "one", config).reason == "confirm"
    assert again(tmp_path / "one").difference is None
    more = {**config, "budget": {**config["budget"], "inner": 20.0}}
    assert go_on(tmp_path / "one", more).status != "paused"
    import yaml

    (tmp_path / "one" / "config.yaml").write_text(yaml.safe_dump(more))
    assert again(tmp_path / "one").difference is None


def test_a_run_that_a_person_stopped_is_repeated_to_that_end(tmp_path: Path) -> None:
    def stop(event: Event) -> None:
        if event.key == "iteration.2/act.1":
            (tmp_path / "one" / "stop_requested").write_text("enough")

    assert run(tmp_path / "one", audience=Audience(listeners=[stop])).reason == "user_stop"
    assert again(tmp_path / "one").difference is None


# Without models and without the network


@pytest.mark.parametrize("script", [[says(TURN)], [status(500), says("no JSON"), says(TURN)]], ids=["good", "failing"])
def test_a_replay_calls_no_model_and_costs_nothing(tmp_path: Path, script: list[Any]) -> None:
    with ModelServer(*script) as server:
        run(tmp_path / "one", model=spoken(server))
        asked = len(server.requests)
        found = again(tmp_path / "one")
        assert len(server.requests) == asked > 3
    assert found.difference is None
    assert found.rehearsal.wanted == {}
    assert found.cost["calls"] == asked
    assert found.cost["usd"] > 0
    assert set(found.rehearsal.seen.answers) == {"model:openai/test"}


def test_a_run_with_caps_on_money_and_a_lost_call_is_repeated(tmp_path: Path) -> None:
    """What is kept for the close and decided about the budget weighs the worst case of a model's call."""
    with ModelServer(says('{"position": 3.0}')) as server:
        parts = {"model": spoken(server), "agents": {"policy": {"model": "policy"}}}
        config = settings(tmp_path, "adaptive", **parts, budget={"usd": 1.0, "tokens": 90_000, "calls": 4})
        go_on(tmp_path / "one", config)
        assert again(tmp_path / "one").difference is None
        lines = (tmp_path / "one" / "history.jsonl").read_text().splitlines()
        broken_off(tmp_path / "one", next(n for n, line in enumerate(lines, 1) if "call_started" in line))
        go_on(tmp_path / "one", config)
    found = again(tmp_path / "one")
    assert found.difference is None
    labels = [call.label for event in found.rehearsal.record.steps.values() for call in event.calls]
    assert "lost" in labels


def test_a_run_that_failed_at_an_answer_is_repeated(tmp_path: Path) -> None:
    with ModelServer(says(TURN), says("no JSON"), says("no JSON either")) as server:
        assert run(tmp_path / "one", model=spoken(server)).reason == "phase_error"
    assert again(tmp_path / "one").difference is None


def test_an_effect_that_wants_the_network_is_refused_it_and_comes_from_the_record(tmp_path: Path) -> None:
    with ModelServer(body(b'{"gain": 1.7}')) as server:
        task = {"_target_": "replayed_runs.Remote", "url": server.url}
        run(tmp_path / "one", task=task, model={"name": "offline"})
        asked = len(server.requests)
        found = again(tmp_path / "one")
        assert len(server.requests) == asked > 2
    assert found.difference is None
    assert found.rehearsal.seen.kept["apply"] == asked
    assert found.rehearsal.seen.computed["effect"] > 0


def test_a_search_over_http_comes_from_the_record(tmp_path: Path) -> None:
    band = "looper.tasks.search.band.Band"
    with GitHubServer() as server:
        github = {
            "_target_": "looper.tasks.search.github.GitHub",
            "base_url": server.url,
            "cache": "",
            "token_env": None,
        }
        task = {"_target_": band, "collection": github, "need": "graceful shutdown", "low": 1, "high": 2}
        run(tmp_path / "one", "adaptive", task=task, model={"name": "offline"})
        asked = len(server.queries)
    found = again(tmp_path / "one")
    assert asked > 1
    assert found.difference is None
    assert found.rehearsal.wanted == {}, "it was not even tried"
    assert set(found.rehearsal.seen.kept) == {"observe", "apply"}
    assert found.rehearsal.seen.computed["effect"] > 0


def test_nothing_of_this_process_reaches_an_address_while_the_network_is_blocked() -> None:
    heard: list[str] = []
    with ModelServer(says("x")) as server:
        port = int(server.url.rsplit(":", 1)[1].split("/")[0])
        with offline(heard.append):
            with socket.socket() as stream, socket.socket(type=socket.SOCK_DGRAM) as packets:
                for attempt in (
                    lambda: stream.connect(("127.0.0.1", port)),
                    lambda: stream.connect_ex(("127.0.0.1", port)),
                    lambda: packets.sendto(b"x", ("127.0.0.1", port)),
                    lambda: socket.getaddrinfo("localhost", port),
                ):
                    with pytest.raises(OSError, match="the network is blocked while a run is replayed"):
                        attempt()
            one, other = socket.socketpair()
            one.sendall(b"beside")
            assert other.recv(6) == b"beside"
            one.close()
            other.close()
        socket.create_connection(("127.0.0.1", port), 1).close()
    assert len(heard) == 4


# What differs


@pytest.mark.parametrize(
    ("key", "change", "what"),
    [
        ("iteration.2/gate.1", lambda value: {**value, "score": 0.5}, "value"),
        ("iteration.3/iteration_advanced.1", lambda value: {**value, "feedback": 0.125}, "value"),
        ("start/prepare.1", lambda value: {**value, "low": 29.0}, "value"),
    ],
)
def test_a_planted_value_is_found_at_its_step(tmp_path: Path, key: str, change: Any, what: str) -> None:
    run(tmp_path / "one")
    planted(tmp_path / "one", key, change)
    found = again(tmp_path / "one")
    assert found.difference is not None
    assert (found.difference.key, found.difference.what) == (key, what)
    assert found.same == keys(tmp_path / "one").index(key)


def test_a_planted_answer_is_found_where_it_was_first_used(tmp_path: Path) -> None:
    run(tmp_path / "one")
    planted(tmp_path / "one", "iteration.2/act.1", lambda value: {**value, "by": 0.125})
    found = again(tmp_path / "one").difference
    assert found is not None
    assert (found.key, found.what) == ("iteration.2/apply.1", "inputs")


def test_a_step_that_is_not_on_record_is_found(tmp_path: Path) -> None:
    run(tmp_path / "one")
    rewritten(tmp_path / "one", lambda event: None if event.key == "iteration.3/apply.1" else event)
    found = again(tmp_path / "one").difference
    assert found is not None
    assert (found.what, found.key) == ("new", "iteration.3/apply.1")


def test_a_step_on_record_that_is_not_reached_is_found(tmp_path: Path) -> None:
    run(tmp_path / "one")
    extra = "iteration.9/probe.1"

    def change(event: Event) -> Event:
        return event.model_copy(update={"key": extra}) if event.key == "iteration.5/gate.1" else event

    rewritten(tmp_path / "one", change)
    found = again(tmp_path / "one").difference
    assert found is not None
    assert (found.what, found.key) == ("new", "iteration.5/gate.1"), "what came instead is nearer"


def test_another_end_is_found(tmp_path: Path) -> None:
    run(tmp_path / "one")

    def change(event: Event) -> Event:
        return (
            event.model_copy(update={"payload": {**event.payload, "score": 0.9}}) if event.event == "stopped" else event
        )

    rewritten(tmp_path / "one", change)
    found = again(tmp_path / "one").difference
    assert found is not None
    assert (found.key, found.recorded["score"], found.now["score"]) == ("outcome", 0.9, 0.0)


def test_a_changed_file_of_the_task_is_found_at_the_step_that_reads_it(tmp_path: Path) -> None:
    (tmp_path / "gain").write_text("1.7")
    run(tmp_path / "one", task={"_target_": "replayed_runs.Filed", "file": str(tmp_path / "gain")})
    assert again(tmp_path / "one").difference is None
    (tmp_path / "gain").write_text("1.8")
    found = again(tmp_path / "one")
    assert found.difference is not None
    assert found.difference.key == "iteration.1/apply.1"
    assert any("the files that the task reads" in cause for cause in found.causes)


def test_what_comes_out_otherwise_each_time_is_called_nondeterministic(tmp_path: Path) -> None:
    COUNT.clear()
    run(tmp_path / "one", task={"_target_": "replayed_runs.Drifting"})
    found = again(tmp_path / "one")
    assert found.difference is not None
    assert found.difference.key == "observe.1"
    assert found.causes[0].startswith("nondeterminism")


def test_changed_settings_and_another_version_are_named(tmp_path: Path) -> None:
    run(tmp_path / "one", model={"name": "offline"})
    file = tmp_path / "one" / "config.yaml"
    file.write_text(file.read_text().replace("max_steps: 5", "max_steps: 4"))
    found = again(tmp_path / "one")
    assert found.difference is not None
    assert found.difference.what == "missing"
    assert "other settings: config.yaml was changed after the run began" in found.causes

    def older(event: Event) -> Event:
        if event.event != "run_started":
            return event
        return event.model_copy(update={"payload": {**event.payload, "versions": {"looper": "0.0.9"}}})

    rewritten(tmp_path / "one", older)
    assert any("another version: looper 0.0.9, now" in cause for cause in again(tmp_path / "one").causes)


def test_a_changed_price_is_found(tmp_path: Path) -> None:
    run(tmp_path / "one")
    file = tmp_path / "one" / "config.yaml"
    file.write_text(file.read_text().replace("inner: 0.05", "inner: 0.06"))
    found = again(tmp_path / "one").difference
    assert found is not None
    assert (found.what, found.recorded, found.now) == ("cost", {"inner": 0.05}, {"inner": 0.06})


# What is refused, and what is said


def test_a_changed_or_torn_journal_is_refused_by_name(tmp_path: Path) -> None:
    run(tmp_path / "one")
    file = tmp_path / "one" / "history.jsonl"
    whole = file.read_bytes()
    file.write_bytes(whole.replace(b'"score":0.0', b'"score":0.1', 1))
    with pytest.raises(JournalDamaged, match=r"history\.jsonl: line \d+ is not what was written"):
        again(tmp_path / "one")
    file.write_bytes(whole[:-40])
    with pytest.raises(JournalDamaged, match=r"one: history\.jsonl ends in half a line"):
        again(tmp_path / "one")
    assert file.read_bytes() == whole[:-40]
    file.write_bytes(b"".join(whole.splitlines(keepends=True)[:-3]))
    with pytest.raises(JournalDamaged, match=r"run\.json was written after line"):
        again(tmp_path / "one")


def test_a_run_under_way_is_repeated_as_far_as_it_is(tmp_path: Path) -> None:
    found: list[Any] = []

    def look(event: Event) -> None:
        if event.key == "iteration.2/act.1":
            found.append(again(tmp_path / "one"))
            raise Killed

    with pytest.raises(Killed):
        run(tmp_path / "one", audience=Audience(listeners=[look]))
    assert (found[0].difference, found[0].over) == (None, False)
    assert list(found[0].rehearsal.order)[-1] == "iteration.2/act.1"


def test_the_command_says_what_it_found_and_exits_by_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPER_ALLOW", "replayed_runs")
    run(tmp_path / "one")
    same = call("replay", "one", f"outputs={tmp_path}")
    assert same.code == 0
    assert "steps are the same, and so is the end." in same.out
    assert "cost: nothing, no model was called; on record: inner" in same.out
    card = json.loads(call("replay", "--json", f"outputs={tmp_path}").out)
    assert (card["identical"], card["divergence"], card["model_calls"]) == (True, None, 0)
    planted(tmp_path / "one", "iteration.2/gate.1", lambda value: {**value, "score": 0.5})
    other = call("replay", "one", f"outputs={tmp_path}")
    assert other.code == 1
    assert "one: differs from its record at iteration.2/gate.1, step" in other.out
    assert '-  "score": 0.5' in other.out.replace("- ", "-  ").replace("-   ", "-  ")
    card = json.loads(call("replay", "--json", f"outputs={tmp_path}").out)
    assert card["divergence"]["step"] == "iteration.2/gate.1"
    assert card["divergence"]["recorded"]["score"] == 0.5
    assert call("replay", "nix", f"outputs={tmp_path}").code == 2
