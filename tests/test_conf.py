"""The configuration: every file composes and builds, none drifts from its dataclass, the user's own comes first."""

import ast
import dataclasses
import importlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_line import ROOT, call, run
from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

from looper.agents.human import Human
from looper.agents.model import Model
from looper.agents.recording import Recording
from looper.agents.simulated import Simulated
from looper.build import instantiate
from looper.parts import build
from looper.sweeps.grid import _axes

CONF = ROOT / "conf"
GIVEN = {
    "document": ["task.prompt=anything"],
    "project": ["task.workspace=."],
    "repair": ["task.program=p.py", "task.tests=pytest"],
    "repair/quixbugs": ["task.root=.", "task.name=gcd"],
    "repair/humanevalfix": ["task.file=f.jsonl", "task.id=Python/0"],
}  # fmt: skip
"""Values for what a user must give."""
FILLERS = {"litellm": Model, "simulated": Simulated, "sim": Simulated, "human": Human, "recording": Recording}


def names(group: str) -> list[str]:
    files = (file for file in (CONF / group).rglob("*.yaml") if not file.stem.startswith("_"))
    return sorted(file.relative_to(CONF / group).with_suffix("").as_posix() for file in files)


def composed(*overrides: str) -> dict[str, Any]:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        config = compose("config", list(overrides))
    data = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    assert isinstance(data, dict)
    return {str(key): value for key, value in data.items()}


@pytest.mark.parametrize("task", names("task"))
def test_every_task_composes_and_builds(task: str) -> None:
    parts = build(composed(f"+task={task}", *GIVEN.get(task, [])))
    assert parts.config["task"]["_target_"].endswith(type(parts.task).__name__)


@pytest.mark.parametrize("loop", names("loop"))
def test_every_design_composes_and_builds_under_its_own_name(loop: str) -> None:
    parts = build(composed("+task=dial", f"loop={loop}"))
    assert parts.loop.name == loop
    assert parts.loop.roles


@pytest.mark.parametrize(
    "choice", [f"{group}={name}" for group in ("budget", "sandbox", "tracking", "agents") for name in names(group)]
)
def test_every_other_part_composes_and_builds(choice: str) -> None:
    assert build(composed("+task=dial", choice))


@pytest.mark.parametrize("name", names("model"))
def test_every_model_file_is_one_that_can_fill_a_role(name: str) -> None:
    given = {"litellm": ["model.name=openai/x"], "recording": ["model.path=run"]}
    settings = composed("+task=dial", f"model={name}", *given.get(name, []))["model"]
    if name in FILLERS:
        assert FILLERS[name](**{key: value for key, value in settings.items() if key != "name" or name == "litellm"})
    else:
        assert settings == {"name": "offline", "path": None}


def test_every_design_in_the_package_has_a_file_of_its_name() -> None:
    loops = ROOT / "looper/loops"
    files = {file: file.stem for file in loops.glob("*.py")}
    files |= {file: file.parent.name for file in loops.glob("*/__init__.py")}
    designs = {
        name
        for file, name in files.items()
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.ClassDef) and node.name.lower() == name.replace("_", "")
        and any(isinstance(part, ast.AnnAssign) and ast.unparse(part.target) == "name" for part in node.body)
    }  # fmt: skip
    assert designs >= {"adaptive", "baseline"}
    assert designs == set(names("loop"))


def test_every_file_begins_with_a_line_that_says_what_it_is() -> None:
    for file in CONF.rglob("*.yaml"):
        assert file.read_text().startswith("# "), file


# No drift between YAML and dataclasses

DEFAULTS = ("budget", "sandbox", "tracking")


def class_of(node: Mapping[str, Any]) -> Any:
    module, _, name = node["_target_"].rpartition(".")
    return getattr(importlib.import_module(module), name)


def plain(value: Any) -> Any:
    """A default as YAML would say it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return value


def defaults(kind: Any) -> dict[str, Any]:
    """Fields that have a default, with it."""
    found: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        default = getattr(field.default, "default", field.default)  # pydantic's Field(...) wraps it
        factory = getattr(field.default, "default_factory", None) or field.default_factory
        if callable(factory):
            found[field.name] = plain(factory())
        elif field.default is not dataclasses.MISSING and "Undefined" not in repr(default):
            found[field.name] = plain(default)
    return found


def without_targets(node: Any) -> Any:
    if isinstance(node, Mapping):
        return {key: without_targets(value) for key, value in node.items() if key != "_target_"}
    return node


CONTENT = (
    "sandbox", "seed", "prompts", "recording", "goal", "sources", "rules", "checks", "holdout_checks", "reference",
    "tests", "holdout_tests",
)  # fmt: skip
"""What a task's file brings itself: no default could say it."""


def drift(kind: Any, node: Mapping[str, Any], skip: tuple[str, ...] = ()) -> list[str]:
    """What a node of YAML and its dataclass disagree about."""
    fields = {field.name for field in dataclasses.fields(kind)}
    faults = [f"{key}: no such field" for key in node if key not in (*fields, "_target_")]
    for name, value in defaults(kind).items():
        if name in skip:
            continue
        if name not in node:
            faults.append(f"{name}: has a default that the YAML does not show")
        elif without_targets(node[name]) != value:
            faults.append(f"{name}: {node[name]!r} in the YAML, {value!r} in the class")
    return faults


@pytest.mark.parametrize("loop", names("loop"))
def test_a_designs_file_shows_its_settings_with_their_defaults(loop: str) -> None:
    node = composed("+task=dial", f"loop={loop}")["loop"]
    assert drift(class_of(node), node, skip=("prompts",)) == []  # prompts are in the YAML only


@pytest.mark.parametrize("group", DEFAULTS)
def test_a_parts_file_shows_its_settings_with_their_defaults(group: str) -> None:
    node = composed("+task=dial")[group]
    # Prices are in the YAML only; a task gives the sandbox its limits and folders.
    assert drift(class_of(node), node, skip=("prices", "limits", "read_only", "hidden")) == []


@pytest.mark.parametrize("task", names("task"))
def test_a_tasks_file_shows_its_settings_with_their_defaults(task: str) -> None:
    node = composed(f"+task={task}", *GIVEN.get(task, []))["task"]
    # The sandbox and the seed are those of the run; prompts are in the YAML only.
    assert drift(class_of(node), node, skip=CONTENT) == []


@pytest.mark.parametrize(("name", "kind"), [("litellm", Model), ("simulated", Simulated), ("recording", Recording)])
def test_a_models_file_shows_its_settings_with_their_defaults(name: str, kind: Any) -> None:
    given = {"litellm": ["model.name=openai/x"], "recording": ["model.path=run"]}
    node = composed("+task=dial", f"model={name}", *given.get(name, []))["model"]
    node = node if name == "litellm" else {key: value for key, value in node.items() if key != "name"}
    assert drift(kind, node, skip=("system", "prompt", "prompts")) == []  # they come with the task


def test_drift_is_noticed() -> None:
    node = composed("+task=dial")["loop"]
    wrong = {**node, "max_steps": 51, "typo": 1}
    del wrong["stable_for"]
    assert [fault.split(":")[0] for fault in drift(class_of(node), wrong)] == ["typo", "max_steps", "stable_for"]


def test_prices_of_a_budget_are_prices_and_name_every_step_that_costs() -> None:
    budget = instantiate(composed("+task=dial")["budget"], "budget")
    assert {"plan", "replan", "evaluate", "act", "probe", "decide", "apply"} <= set(budget.prices)


# Experiments


def experiments() -> list[str]:
    return names("experiment")


@pytest.mark.parametrize("name", experiments())
def test_an_experiment_begins_with_the_command_that_runs_it(name: str) -> None:
    first, second, *_ = (CONF / f"experiment/{name}.yaml").read_text().splitlines()
    assert first == "# @package _global_"  # Hydra reads it on the first line only; elsewhere the sweep has no cells
    assert second.startswith(f"# python -m looper -m +experiment={name}")


@pytest.mark.parametrize("name", experiments())
def test_an_experiment_names_what_there_is(name: str) -> None:
    swept = yaml.safe_load((CONF / f"experiment/{name}.yaml").read_text())["hydra"]["sweeper"]["params"]
    for key, group in (("+task", "task"), ("loop", "loop"), ("model", "model"), ("budget", "budget")):
        values = str(swept.get(key, "")).split(",") if key in swept else []
        assert set(values) <= set(names(group))


@pytest.mark.parametrize("name", experiments())
def test_an_experiment_runs_in_miniature(name: str, tmp_path: Path) -> None:
    swept = yaml.safe_load((CONF / f"experiment/{name}.yaml").read_text())["hydra"]["sweeper"]["params"]
    few = [f"{key}={str(value).split(',')[0]}" for key, value in swept.items() if key != "seed"]
    said = run("-m", f"+experiment={name}", *few, "seed=0", "--json", cwd=tmp_path)
    assert said.code == 0, said.err
    (row,) = json.loads(said.out)
    assert row["seed"] == 0


def test_the_large_benchmark_asks_nobody_whether_rules_are_right() -> None:
    assert yaml.safe_load((CONF / "experiment/humaneval.yaml").read_text())["confirm"] == "yes"


@pytest.mark.parametrize(
    ("given", "axes"),
    [
        (["+a.b=1,2", "c=3", "++a.b=1"], {"++a.b": ["++a.b=1"], "c": ["c=3"]}),
        (["+a.b=1,2", "a.b=3"], {"+a.b": ["+a.b=3"]}),  # without the sign there would be no such key to set
        (["a.b=1", "+a.b=2,3"], {"+a.b": ["+a.b=2", "+a.b=3"]}),
        (["a=1", "a.b=2"], {"a": ["a=1"], "a.b": ["a.b=2"]}),
    ],
)
def test_a_key_that_adds_and_one_that_changes_are_one_and_the_later_counts(
    given: list[str], axes: dict[str, list[str]]
) -> None:
    assert _axes(OverridesParser.create().parse_overrides(given)) == axes


# The user's own

OWN = """
from pydantic.dataclasses import dataclass

from looper.tasks.dial import Dial
from looper.types import STRICT


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Knob(Dial):
    label: str = "k"
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a task and YAML files of the user's own."""
    (tmp_path / "conf/task").mkdir(parents=True)
    (tmp_path / "knobs.py").write_text(OWN)
    (tmp_path / "conf/task/knob.yaml").write_text("# Turn my knob.\n_target_: knobs.Knob\nlabel: mine\n")
    low = "# A dial with a low band.\ndefaults: [dial, _self_]\nlow: 1.0\nhigh: 2.0\n"
    (tmp_path / "conf/task/low_dial.yaml").write_text(low)
    (tmp_path / "conf/budget").mkdir()
    (tmp_path / "conf/budget/default.yaml").write_text("# Mine.\n_target_: looper.budget.Budget\ninner: 7.5\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_tasks_of_the_users_own_folder_are_listed_and_come_first(own: Path) -> None:
    listed = call().out
    assert "Turn my knob." in listed
    shown = yaml.safe_load(call("+task=low_dial", "--cfg", "job").out)
    assert shown["task"] | {"gain": 0} == {"_target_": "looper.tasks.dial.Dial", "low": 1.0, "high": 2.0, "gain": 0}
    assert shown["budget"] == {"_target_": "looper.budget.Budget", "inner": 7.5}


def test_a_new_task_of_shipped_parts_runs_from_the_users_folder(own: Path) -> None:
    said = call("+task=low_dial", "budget=unlimited", "tracking=none")
    assert said.code == 0, said.err
    assert "low_dial" in said.out


def test_a_class_of_the_users_own_runs_once_its_package_is_allowed(own: Path) -> None:
    refused = run("+task=knob", "tracking=none", cwd=own)
    assert refused.code == 2
    assert "LOOPER_ALLOW" in refused.complaint
    said = run("+task=knob", "tracking=none", cwd=own, LOOPER_ALLOW="knobs")
    assert said.code == 0, said.err
    assert "knob" in said.out


def test_another_folder_is_searched_before_the_users_own(own: Path) -> None:
    (own / "other/task").mkdir(parents=True)
    (own / "other/task/low_dial.yaml").write_text("# Lower still.\ndefaults: [dial, _self_]\nlow: 0.1\n")
    (own / "other/task/new.yaml").write_text("# New.\ndefaults: [dial, _self_]\n")
    for flag in (["--config-dir", "other"], ["--config-dir=other"], ["-cd", "other"]):
        assert yaml.safe_load(call("+task=low_dial", *flag, "--cfg", "job").out)["task"]["low"] == 0.1
    assert call("+task=new", "--config-dir", "other", "--cfg", "job").code == 0
    assert call("+task=new", "--cfg", "job").code == 2
    assert yaml.safe_load(call("+task=low_dial", "--cfg", "job").out)["task"]["low"] == 1.0
