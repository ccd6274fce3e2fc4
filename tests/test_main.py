"""The command as a user meets it: what is listed, refused, printed and returned (SPEC 0.2, DESIGN Errors)."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from command_line import ROOT, call, ended, run, start

import looper

NO_MLFLOW = "tracking=none"
TASK = """
from pydantic.dataclasses import dataclass

from looper.errors import PhaseError
from looper.tasks.dial import Dial, Setting, Turn
from looper.types import STRICT


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Broken(Dial):
    how: str

    def apply(self, state: Setting, action: Turn) -> Setting:
        if self.how == "phase":
            raise PhaseError("the instrument does not answer.")
        if self.how == "import":
            import nothing_of_this_name
        raise TypeError("the author of this task made a mistake")
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to stand in; reports of crashes go there too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def runs(folder: Path) -> list[Path]:
    return sorted(path.parent for path in (folder / "outputs").rglob("history.jsonl"))


# What is shown without a run


def test_without_arguments_tasks_designs_and_three_commands_are_listed(here: Path) -> None:
    said = run(cwd=here)
    assert (said.code, said.err) == (0, "")
    for name in ("dial", "repair/coat_check", "repair/quixbugs", "adaptive", "baseline"):
        assert f"\n  {name} " in said.out
    assert said.out.count("\n  python -m looper ") == 3
    assert list(here.iterdir()) == []


def test_the_three_example_commands_compose() -> None:
    lines = [line.split()[3:] for line in call().out.splitlines() if line.startswith("  python -m looper ")]
    for arguments in lines:
        single = [word.split(",")[0].replace("'", "") for word in arguments if word != "-m"]
        assert call(*[word for word in single if "range" not in word], "--cfg", "job").code == 0


def test_the_catalogue_is_there_for_scripts_too() -> None:
    listed = json.loads(call("--json").out)
    assert set(listed) == {"tasks", "designs"}
    assert {"adaptive", "baseline", "once", "random_walk", "reflex"} <= set(listed["designs"])


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["+task=dial", "--help"]])
def test_help_is_loopers_own_and_names_every_kind_of_part(arguments: list[str]) -> None:
    said = call(*arguments)
    assert (said.code, said.err) == (0, "")
    for part in ("+task=", "loop=", "model=", "budget=", "tracking=", "--cfg job", "resume", "Exit codes", "adaptive"):
        assert part in said.out
    assert "Hydra" not in said.out.replace("what Hydra can do", "")


def test_the_settings_of_a_run_are_shown_without_running_it(here: Path) -> None:
    said = call("+task=dial", "budget.inner=7", "--cfg", "job")
    assert said.code == 0
    shown = yaml.safe_load(said.out)
    assert shown["budget"]["inner"] == 7
    assert shown["task"]["_target_"] == "looper.tasks.dial.Dial"
    assert list(here.iterdir()) == []


def test_the_version_is_loopers() -> None:
    assert call("--version").out == f"looper {looper.__version__}\n"


# What is understood


def test_a_task_is_understood_with_and_without_its_plus() -> None:
    assert call("task=dial", "--cfg", "job") == call("+task=dial", "--cfg", "job")


@pytest.mark.parametrize(
    "value",
    [
        "pytest -q tests/test_maths.py", "pytest -q -k 'a and not b'", "pytest -k \"it's\"", "a,b", "{a: 1}", "[1, 2]",
        "x=y", r"C:\dir\new",
        "ends\\", "echo ${HOME} $HOME", r"\${HOME}", "'one' and 'two'", "100", "a: b", "# no", "é\t",
    ],
)  # fmt: skip
def test_a_command_or_a_path_is_taken_to_the_letter(value: str) -> None:
    said = call("+task=repair", f"task.program={value}", f"task.tests={value}", "--cfg", "job", "--resolve")
    shown = yaml.safe_load(said.out)["task"]
    assert (shown["program"], shown["tests"]) == (value, value)


def test_one_role_is_filled_by_another_model() -> None:
    shown = yaml.safe_load(call("+task=dial", "agents.planner.model=ollama/a:7b", "--cfg", "job").out)
    assert shown["agents"] == {"planner": {"model": "ollama/a:7b"}}


# Exit codes (SPEC 0.2) and what is printed


@pytest.mark.parametrize(
    ("arguments", "code", "status"),
    [([], 0, "completed"), (["loop.max_steps=1"], 4, "stopped"), (["model=human"], 3, "paused")],
)
def test_the_exit_code_tells_the_status(here: Path, arguments: list[str], code: int, status: str) -> None:
    said = run("+task=dial", *arguments, NO_MLFLOW, "--json", cwd=here)
    assert said.code == code, said.err
    assert json.loads(said.out)["status"] == status
    assert "Traceback" not in said.err


@pytest.fixture
def broken(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A task of the user's own that fails in two ways."""
    (here / "broken_task.py").write_text(TASK)
    (here / "conf/task").mkdir(parents=True)
    (here / "conf/task/broken.yaml").write_text("# Mine.\n_target_: broken_task.Broken\nhow: phase\n")
    (here / "conf/task/buggy.yaml").write_text("# Mine too.\ndefaults: [broken, _self_]\nhow: other\n")
    monkeypatch.setenv("LOOPER_ALLOW", "broken_task")
    return here


def test_a_failed_phase_and_a_crash_exit_with_1_and_without_a_traceback(broken: Path) -> None:
    phase = run("+task=broken", NO_MLFLOW, "--json", cwd=broken)
    assert (phase.code, json.loads(phase.out)["status"]) == (1, "failed")
    crash = run("+task=broken", "task.how=other", NO_MLFLOW, cwd=broken, TMPDIR=str(broken))
    assert crash.code == 1
    assert "a fault of broken_task.py, line 18 (TypeError)" in crash.err.splitlines()[-1]
    assert "Traceback" not in crash.err
    (report,) = broken.glob("looper-crash-*")
    assert "the author of this task made a mistake" in report.read_text()


def test_what_a_users_class_cannot_import_is_not_what_looper_needs(broken: Path) -> None:
    crash = run("+task=broken", "task.how=import", NO_MLFLOW, cwd=broken, TMPDIR=str(broken))
    assert crash.code == 1
    assert "a fault of broken_task.py, line 17 (ModuleNotFoundError)" in crash.err.splitlines()[-1]
    assert "which looper needs" not in crash.err


def test_a_sweep_goes_on_after_cells_that_fail_and_lists_them(broken: Path) -> None:
    said = call("-m", "+task=broken,buggy,dial", "loop.max_steps=0,50", NO_MLFLOW)
    assert [line.split()[0] for line in said.out.splitlines()[1:]] == [
        "not",
        "failed",
        "not",
        "not",
        "not",
        "completed",
    ]
    assert "cell 1 of 6" in said.err
    assert "loop.max_steps: input should be greater than 0" in said.err
    assert "a fault of broken_task.py" in said.err
    assert said.code == 2
    assert "Traceback" not in said.err


def test_a_sweep_whose_cells_all_end_in_order_exits_with_0() -> None:
    said = call("-m", "+task=dial", "loop=baseline", "loop.max_steps=1,50", NO_MLFLOW)
    assert said.code == 0, said.err


def test_json_is_one_object_for_a_run_and_one_array_for_a_sweep(here: Path) -> None:
    one = run("+task=dial", NO_MLFLOW, "--json", cwd=here)
    assert one.out.count("\n") == 1
    assert json.loads(one.out)["outcome"]["passed"] is True
    many = run("-m", "--json", "+task=dial", "loop.max_steps=0,50", "seed=1,2", NO_MLFLOW, cwd=here)
    assert many.out.count("\n") == 1
    rows = json.loads(many.out)
    assert [row["status"] for row in rows] == ["not run", "not run", "completed", "completed"]
    assert [row["seed"] for row in rows] == [1, 2, 1, 2]


def test_runs_that_start_at_once_have_their_own_folders(here: Path) -> None:
    said = [ended(process) for process in [start("+task=dial", NO_MLFLOW, "--json", cwd=here) for _ in range(3)]]
    assert [one.code for one in said] == [0, 0, 0]
    assert len({json.loads(one.out)["folder"] for one in said}) == 3
    assert len(runs(here)) == 3


@pytest.mark.parametrize("arguments", [["+task=dial"], ["list"]])
def test_a_python_without_the_packages_says_which_is_missing_and_what_to_call(arguments: list[str]) -> None:
    bare = [sys.executable, "-S", "-m", "looper", *arguments]  # without site-packages
    ended = subprocess.run(bare, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2
    assert re.fullmatch(
        r"looper: this Python \(.+\) has no module \w+, which looper needs; call scripts/looper.*\n", ended.stderr
    )
