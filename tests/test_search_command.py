"""search/band and search/github from the command line, as a user meets them; GitHub is a server on loopback."""

import json
import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import command_line
import github_server as gh
import pytest
from command_line import Said, call
from github_server import GitHubServer, answers
from search_runs import (
    COUNTS,
    saved,
)

from looper.folder import Folder
from looper.journal import Journal

# The command line


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    texts = [" ".join(word for word, count in COUNTS.items() if number < count) for number in range(400)]
    saved(tmp_path, [{"id": f"d{n:03}", "text": text or "moss"} for n, text in enumerate(texts)])
    return tmp_path


OWN = ("+task=search/band", "task.collection.source=own.jsonl", "tracking=none")


def made(folder: Path) -> Path:
    """The folder of the only run."""
    [path] = [path.parent for path in (folder / "outputs").glob("*/run.json")]
    return path


def record(run: Path) -> dict[str, Any]:
    return json.loads((run / "run.json").read_text())


@pytest.mark.parametrize("loop", ["adaptive", "baseline"])
def test_a_collection_of_ones_own_is_searched_from_the_command_line(folder: Path, loop: str) -> None:
    said = call(*OWN, "task.need=amber daisy grove", f"loop={loop}")
    assert said.code == 0, said.err
    run = made(folder)
    assert record(run)["outcome"]["status"] == "completed"
    assert 10 <= len((run / "hits.jsonl").read_text().splitlines()) <= 30
    assert (run / "artifact.md").read_text().startswith("# amber daisy grove\n")
    again = call(
        "+task=search/band", f"task.collection.source={run / 'hits.jsonl'}", "task.need=daisy", "tracking=none"
    )
    assert again.code in (0, 4), again.err


@pytest.mark.parametrize("loop", ["baseline", "adaptive", "once", "random_walk"])
def test_with_a_simulated_model_every_design_ends_by_name(folder: Path, loop: str) -> None:
    said = call(*OWN, "task.need=amber daisy grove", f"loop={loop}", "model=simulated")
    status = record(made(folder))["outcome"]["status"]
    assert (said.code, status) in {(0, "completed"), (4, "stopped")}, said.err


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        (("task.collection.source=missing.jsonl", "task.need=amber"), "missing.jsonl"),
        (("task.collection.source=broken.jsonl", "task.need=amber"), "broken.jsonl:1: is not JSON"),
        (("task.need=zebra quagga",), "no word of 'zebra quagga' occurs in own"),
        (("task.need=stop_server",), "give one in words"),
        (("task.need=amber", "task.low=40"), "task.low=40 must not be above task.high=30"),
        (("task.need=amber", "task.low=0"), "low"),
    ],
)
def test_what_cannot_be_searched_is_refused_in_one_sentence(
    folder: Path, overrides: tuple[str, ...], told: str
) -> None:
    (folder / "broken.jsonl").write_text("not json\n")
    said = call(*OWN, *overrides)
    assert said.code == 2
    assert told in said.refusal
    assert "Traceback" not in said.err


# GitHub


def hub(server: GitHubServer, *more: str) -> Said:
    return call(
        "+task=search/github", f"task.collection.base_url={server.url}", "tracking=none", "task.low=3", "task.high=5",
        *more,
    )  # fmt: skip


@pytest.mark.parametrize("loop", ["adaptive", "baseline"])
def test_on_github_the_range_is_reached(folder: Path, loop: str) -> None:
    with GitHubServer() as server:
        said = hub(server, f"loop={loop}")
    assert said.code == 0, said.err
    run = made(folder)
    assert "harbor/graceful" in (run / "artifact.md").read_text()
    assert 3 <= len((run / "hits.jsonl").read_text().splitlines()) <= 5
    assert any('"node.js"' in query for query in server.queries)


def test_a_limit_that_ends_soon_is_waited_for_and_is_no_working_time(folder: Path) -> None:
    with GitHubServer(gh.refuses(429, "rate limit", Retry_After="1"), answers) as server:
        assert hub(server).code == 0
    events = list(Journal(made(folder) / "history.jsonl"))
    [(before, observed)] = [(a, b) for a, b in pairwise(events) if b.step == "observe"]
    assert observed.seconds >= 1.0
    assert observed.elapsed - before.elapsed <= observed.seconds - 0.9
    assert record(made(folder))["elapsed"] <= sum(event.seconds for event in events if event.key)


def test_a_limit_that_ends_late_pauses_and_the_run_goes_on_afterwards(folder: Path) -> None:
    reset = str(int((datetime.now(UTC) + timedelta(hours=1)).timestamp()))
    limit = gh.refuses(403, "API rate limit exceeded", X_RateLimit_Remaining="0", X_RateLimit_Reset=reset)
    with GitHubServer(answers, limit) as server:
        said = hub(server)
        assert said.code == 3
        run = made(folder)
        assert (record(run)["status"], record(run)["outcome"]["reason"]) == ("paused", "rate_limited")
        assert {"planner_calls", "inner_steps", "log"} <= record(run)["outcome"]["facts"].keys()
        asked = len(server.asked)
        server.http.script = (answers,)
        resumed = call("resume", run.name)
        assert resumed.code == 0, resumed.err
        assert record(run)["outcome"]["status"] == "completed"
        assert server.queries[asked] == server.queries[asked - 1]
        assert server.queries[0] not in server.queries[1:]


def test_refused_access_fails_by_name(folder: Path) -> None:
    with GitHubServer(gh.refuses(401, "Bad credentials")) as server:
        said = hub(server)
    assert said.code == 1
    outcome = record(made(folder))["outcome"]
    assert (outcome["status"], outcome["reason"]) == ("failed", "auth_denied")


def test_a_run_that_was_killed_ends_as_one_that_was_not(folder: Path) -> None:
    """SAFETY P2, with a real SIGKILL while a request is under way."""
    args = ("+task=search/github", "tracking=none", "task.low=3", "task.high=5", "task.collection.cache=''")
    with GitHubServer(answers, gh.hangs) as server:
        process = command_line.start(*args, f"task.collection.base_url={server.url}", cwd=folder, GITHUB_TOKEN="")
        while len(server.asked) < 2 and process.poll() is None:
            time.sleep(0.01)
        process.kill()
        command_line.ended(process)
        run = made(folder)
        assert Folder(run).status(Folder(run).state()) == "interrupted"
        server.http.script = (answers,)
        assert call("resume", run.name).code == 0
        assert call(*args, f"task.collection.base_url={server.url}").code == 0
    [whole] = [path.parent for path in (folder / "outputs").glob("*/run.json") if path.parent != run]
    assert (run / "artifact.md").read_text() == (whole / "artifact.md").read_text()
    assert record(run)["outcome"] == record(whole)["outcome"]
    assert record(run)["spent"] == record(whole)["spent"]
