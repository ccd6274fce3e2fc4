"""No secret reaches disk, log, MLflow, prompt or screen (SAFETY P15); no configuration and no model text runs (P16)."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_line import ROOT, Said, call, run
from model_server import Handler, ModelServer, completion, echoes_key, says

from looper import redact
from looper.build import instantiate
from looper.errors import ConfigError

pytestmark = [
    # How MLflow uses its dependencies is not ours to warn about.
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*Any type hint is inferred as AnyType"),
    pytest.mark.timeout(240),
]
KEY = "canary-key-4f1d9c27ab"
OTHER = "canary-other-77aa01be55"
PASSWORD = "canary-word-900c"
MARK = "it-ran"
CANARIES = (KEY, OTHER, PASSWORD)
TASK = """
import os

from pydantic.dataclasses import dataclass

from looper.tasks.dial import Dial, Setting, Turn
from looper.types import STRICT


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Careless(Dial):
    def apply(self, state: Setting, action: Turn) -> Setting:
        if action.by > 1000:
            raise TypeError(f"could not log in with {os.environ['LOOPER_TEST_API_KEY']}")
        return super().apply(state, action)
"""
MODEL = ["loop=baseline", "model=openai/test", "model.key_env=LOOPER_TEST_API_KEY", "model.price={input: 1, output: 1}",
         "model.retries=0", "budget.outer=40"]  # fmt: skip


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("LOOPER_TEST_API_KEY", KEY)
    monkeypatch.setenv("LOOPER_TEST_PASSWORD", OTHER)
    monkeypatch.setenv("LOOPER_ALLOW", "careless_task")
    (tmp_path / "careless_task.py").write_text(TASK)
    (tmp_path / "acting.py").write_text(f"open('{MARK}', 'w').close()\n")
    (tmp_path / "conf/task").mkdir(parents=True)
    (tmp_path / "conf/task/careless.yaml").write_text("# Mine.\n_target_: careless_task.Careless\n")
    redact.rescan()
    yield tmp_path
    monkeypatch.undo()
    redact.rescan()


def found(folder: Path, said: list[Said]) -> list[str]:
    """Where a canary is, below the folder and on the screens."""
    places = [path for path in folder.rglob("*") if path.is_file()]
    hits = [str(path.relative_to(folder)) for path in places if any(c.encode() in path.read_bytes() for c in CANARIES)]
    names = [str(path) for path in folder.rglob("*") if any(c in path.name for c in CANARIES)]
    screens = [one.out + one.err for one in said if any(c in one.out + one.err for c in CANARIES)]
    return hits + names + screens


def tells(move: dict[str, Any]) -> Any:
    """An answer in which the server repeats the caller's key, in the words and in the reason for them."""

    def behave(handler: Handler) -> None:
        key = handler.headers["Authorization"]
        handler.send(completion(json.dumps({**move, "why": f"you are {key}, {OTHER}"})))

    return behave


def careless_evening(server: ModelServer) -> list[Said]:
    """All that could spill a secret: a server that echoes, a refusal, a crash, a sync, and the readers of runs."""
    url = f"model.base_url={server.url}"
    said = [call("+task=careless", *MODEL, url, "tracking=none")]
    said += [call("+task=careless", *MODEL, url, "tracking=none", "--json") for _ in range(2)]
    said.append(call("+task=careless", f"task.goal={OTHER}", *MODEL, url, "tracking=none"))
    said.append(call("+task=dial", *MODEL, f"model.base_url=http://me:{PASSWORD}@127.0.0.1:9/v1", "tracking=none"))
    said.append(call("+task=dial", "+model.api_key=" + KEY, "tracking=none"))
    said.append(call("sync"))
    said += [call("status"), call("list", "--json"), call("history", "--full"), call("history", "--json", "--full")]
    return said


SCRIPT = (
    tells({"by": 1.0}),  # a first run: an ordinary step, then one that crashes in the task
    tells({"by": 2000.0}),
    tells({"by": 1.5}),  # a second run: a step, then words that are no answer, twice
    says(f"I will not answer, {OTHER}"), says(f"nor now, {OTHER}"),
    echoes_key(401),  # a third run: refused, with the key in the refusal
    echoes_key(401),
)  # fmt: skip


def test_no_secret_reaches_disk_log_mlflow_prompt_or_screen(here: Path) -> None:
    with ModelServer(*SCRIPT) as server:
        said = careless_evening(server)
        prompts = json.dumps(server.requests)
        assert server.headers[0]["authorization"] == f"Bearer {KEY}", "the server was told the key, and nobody else"
    assert found(here, said) == []
    assert not any(canary in prompts for canary in CANARIES)
    # The evening did what it says, or the search above was of nothing.
    assert "a fault of careless_task.py" in said[0].err
    assert [json.loads(one.out)["status"] for one in said[1:3]] == ["failed", "paused"]
    assert [one.code for one in said[3:6]] == [2, 2, 2]
    assert said[6].code == 0, said[6].err
    assert len(list(here.glob("looper-crash-*"))) == 1
    assert (here / "outputs/mlflow.db").exists()
    assert "[redacted]" in next((here / "outputs").rglob("history.jsonl")).read_text()


def test_the_search_for_secrets_finds_them_when_redaction_is_off(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redact.Redactor, "redact", lambda self, text: text)
    with ModelServer(*SCRIPT) as server:
        said = [call("+task=careless", *MODEL, f"model.base_url={server.url}", "tracking=none") for _ in range(3)]
    hits = found(here, said)
    assert any("history.jsonl" in hit for hit in hits)
    assert any("looper-crash" in hit for hit in hits)


def test_an_address_with_a_password_in_a_file_is_refused_and_not_repeated(here: Path) -> None:
    (here / "conf/model").mkdir()
    text = f"# Mine.\ndefaults: [litellm, _self_]\nname: openai/x\nbase_url: http://me:{PASSWORD}@127.0.0.1:9/v1\n"
    (here / "conf/model/own.yaml").write_text(text)
    said = call("+task=dial", "loop=baseline", "model=own", "tracking=none")
    assert said.code == 2
    assert "without a password" in said.refusal
    (here / "conf/model/own.yaml").unlink()
    assert found(here, [said]) == []


def test_the_mirrors_log_of_a_real_command_holds_no_secret(here: Path) -> None:
    (here / "mlflow").mkdir()  # stands in front of the real one: it fails, and says the secret
    failing = "import os\nraise RuntimeError('no store for ' + os.environ['LOOPER_TEST_API_KEY'])\n"
    (here / "mlflow/__init__.py").write_text(failing)
    path = f"{here}{os.pathsep}{ROOT}"
    said = run("+task=dial", "tracking.wait=20", cwd=here, PYTHONPATH=path)
    assert said.code == 0
    assert "no store for [redacted]" in (here / "outputs/mirror.log").read_text()
    assert found(here, [said]) == []


# Nothing runs (P16)

HOSTILE: list[dict[str, Any]] = [
    {"_target_": "os.system", "command": f"touch {MARK}"},
    {"_target_": "builtins.open", "file": MARK, "mode": "w"},
    {"_target_": "builtins.exec", "_args_": [f"open('{MARK}', 'w')"]},
    {"_target_": "builtins.eval", "_args_": [f"open('{MARK}', 'w')"]},
    {"_target_": "pathlib.Path.write_text", "_args_": [MARK, "x"]},
    {"_target_": "pathlib.Path.touch", "_args_": [MARK]},
    {"_target_": "subprocess.run", "args": ["touch", MARK]},
    {"_target_": "subprocess.Popen", "args": ["touch", MARK]},
    {"_target_": "shutil.copy", "src": "conf/task/careless.yaml", "dst": MARK},
    {"_target_": "runpy.run_path", "path_name": "careless_task.py"},
    {"_target_": "importlib.import_module", "name": "antigravity"},
    {"_target_": "hydra.utils.call", "config": {"_target_": "os.system", "command": f"touch {MARK}"}},
    {"_target_": "hydra.utils.instantiate", "config": {"_target_": "os.system", "command": f"touch {MARK}"}},
    {"_target_": "pandas.read_pickle", "filepath_or_buffer": MARK},
    {"_target_": "acting.Thing"},  # its import alone would leave the mark
    {"_target_": "careless_task_and_more.Thing"},
    {"_target_": "looperx.Thing"},
    {"_target_": "looper.__main__.main", "argv": ["clean", "--all", "--yes"]},
    {"_target_": "looper.__main__.os.system", "command": f"touch {MARK}"},
    {"_target_": "looper.journal.write_whole", "path": MARK, "data": b"x"},
    {"_target_": "looper.folder.Folder", "path": MARK},
    {"_target_": "looper.build.importlib.import_module", "name": "os"},
    {"_target_": "looper.sweeps.session.Path", "_args_": [MARK]},
    {"_target_": "looper.tracking.ui.ui", "outputs": MARK},
    {"_target_": "looper..os.system"},
    {"_target_": "looper."},
    {"_target_": ""},
    {"_target_": ["os.system"], "command": f"touch {MARK}"},
    {"_target_": {"_target_": "os.system"}},
]


@pytest.mark.parametrize("node", HOSTILE, ids=lambda node: str(node["_target_"]))
@pytest.mark.parametrize(
    "place",
    [
        lambda node: node,
        lambda node: {"_target_": "looper.tasks.dial.Dial", "low": node},
        lambda node: {"_target_": "looper.budget.Budget", "prices": {"plan": node}},
        lambda node: {"_target_": "looper.tasks.dial.Dial", "goal": [[{"deep": [node]}]]},
    ],
    ids=["itself", "a value", "a price", "a list"],
)
def test_no_target_but_a_config_class_is_ever_built(here: Path, place: Any, node: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="_target_"):
        instantiate(place(node), "task")
    assert not (here / MARK).exists()
    assert "acting" not in sys.modules


@pytest.mark.parametrize("where", ["task", "loop", "budget.prices.plan", "sandbox", "tracking", "loop.ladder"])
def test_a_hostile_target_on_the_command_line_runs_nothing(here: Path, where: str) -> None:
    said = call(
        "+task=dial", f"++{where}._target_=os.system", f"++{where}.command='touch {MARK}'", "tracking.enabled=false"
    )
    assert said.code == 2
    assert f"{where}._target_: `os.system` is not allowed" in said.complaint
    assert not (here / MARK).exists()


@pytest.mark.parametrize("where", ["agents.planner", "model", "agents.planner.prompts.plan"])
def test_a_hostile_target_in_a_role_is_never_built(here: Path, where: str) -> None:
    call("+task=dial", f"++{where}._target_=os.system", f"++{where}.command=touch {MARK}", "tracking=none")
    assert not (here / MARK).exists()


@pytest.mark.parametrize(
    "tag", ["!!python/object/apply:os.system", "!!python/object/new:os.system", "!!python/object/apply:subprocess.run"]
)
def test_a_yaml_tag_runs_nothing(here: Path, tag: str) -> None:
    (here / "conf/task/evil.yaml").write_text(f"# Mine.\nlow: {tag} ['touch {MARK}']\n")
    said = call("+task=evil", "tracking=none")
    assert said.code == 2
    assert said.complaint
    call("+task=dial", "budget.iner=1")  # looks through all files for a name that is near
    assert call("+task=dial", "model=human", "tracking=none").code == 3
    (folder,) = (path for path in (here / "outputs").iterdir() if (path / "config.yaml").exists())
    with (folder / "config.yaml").open("a") as file:
        file.write(f"note: {tag} ['touch {MARK}']\n")
    assert call("resume", "answer={}").code != 0
    assert not (here / MARK).exists()


PAYLOAD = "${oc.env:LOOPER_TEST_HOME} {{ 7 * 191 }} {% set x = 1 %} !!python/name:os.system ${run_id:} __import__('os')"


def test_the_words_of_a_model_stay_words(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPER_TEST_HOME", "resolved-by-mistake")
    move = says(json.dumps({"by": 1.0, "why": PAYLOAD, "done": False}))
    with ModelServer(move) as server:
        said = call("+task=dial", *MODEL, f"model.base_url={server.url}", "tracking=none", "loop.max_steps=3", "--json")
        asked = server.requests
    assert said.code == 4, said.err
    (folder,) = (here / "outputs").iterdir()
    kept = (folder / "history.jsonl").read_text()
    assert "${oc.env:LOOPER_TEST_HOME}" in kept
    everything = kept + (folder / "run.json").read_text() + (folder / "config.yaml").read_text() + said.out + said.err
    assert "resolved-by-mistake" not in everything + json.dumps(asked)
    assert "1337" not in json.dumps([request["messages"] for request in asked])
    assert "{{ 7 * 191 }}" in asked[-1]["messages"][-1]["content"], "the history in the next prompt is to the letter"


def test_a_setting_of_the_users_that_names_a_variable_is_masked_where_it_is_a_secret(here: Path) -> None:
    said = call("+task=dial", "task.goal=${oc.env:LOOPER_TEST_API_KEY}", "tracking=none")
    assert said.code in (0, 2)
    for file in (here / "outputs").rglob("config.yaml"):
        assert yaml.safe_load(file.read_text())["task"].get("goal") == "[redacted]"
    assert found(here, [said]) == []
