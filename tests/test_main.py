"""The command as a user meets it: what is listed, refused, printed and returned (SPEC 0.2, DESIGN Errors)."""

import itertools
import json
import os
import random
from pathlib import Path

import pytest
import yaml
from command_line import Said, call, ended, run, start

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
    assert set(listed["designs"]) == {"adaptive", "baseline"}


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


# What is refused: one line, exit code 2

WRONG = {
    "+task=dail": "did you mean `dial`?",
    "+task=": "a name is missing",
    "+task=repair/coatcheck": "did you mean `repair/coat_check`?",
    "+task=dial loop=adaptve": "did you mean `adaptive`?",
    "+task=dial budget.iner=20": "did you mean `budget.inner`?",
    "+task=dial +budget.iner=20": "did you mean `budget.inner`?",
    "+task=dial +nothing=1": "nothing: there is no such setting",
    "+task=dial nothing=1": "nothing: there is no such setting",
    "+task=dial loop.max_step=3": "did you mean `loop.max_steps`?",
    "+task=dial +task.lo=3": "did you mean `task.low`?",
    "+task=dial budget.inner=-3": "greater than or equal to 0 (given: -3)",
    "+task=dial budget.inner=few": "given: 'few'",
    "+task=dial loop.max_steps=0": "greater than 0",
    "+task=dial seed=-1": "a whole number from 0 on",
    "+task=dial seed=x": "a whole number from 0 on",
    "+task=dial seed=${nothing}": "seed: its value refers to something that does not exist",
    "+task=dial seed=[1,2": "this value cannot be read",
    "+task=dial seed=range(3)": "--multirun",
    "+task=dial tracking=wandb": "there are: none, sqlite",
    "+task=dial hydra/launcher=joblib": "there are: basic",
    "+task=dial agents.planer.model=human": "did you mean `planner`?",
    "+task=dial model=gpt-4o": "provider/name",
    "+task=dial model=ofline": "did you mean `offline`?",
    "+task=dial ~loop": "loop: this part is missing",
    "+task=dial ~budget": "budget: this part is missing",
    "+task=dial task.low=40": "must be below",
    "loop=adaptive": "no task",
    "+task=repair": "task.program: this setting must be given",
    "+task=repair task.program=nothing.py task.tests=pytest": "nothing.py",
    "+task=repair/quixbugs task.root=nowhere task.name=gcd": "nowhere",
    "+task=repair/humanevalfix task.file=nowhere.jsonl task.id=Python/0": "nowhere.jsonl",
    "+task=dial outputs=/proc/nowhere": "/proc/nowhere",
    "+experiment=nothing": "there is no such experiment",
    "--config-dir nowhere +task=dial": "there is no folder nowhere",
    "--config-name other +task=dial": "there is no such flag",
    "--multrun +task=dial": "did you mean `--multirun`?",
    "--cfg everything": "job|hydra|all",
    "+=": "KEY=VALUE",
    "=": "KEY=VALUE",
    "task": "is not a command",
    "resum": "did you mean `resume`?",
}


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_command_is_one_sentence_with_the_next_thing_to_do(here: Path, line: str) -> None:
    said = call(*line.split(), *([NO_MLFLOW] if "task=" in line and "tracking" not in line else []))
    assert WRONG[line] in (said.refusal if "low" in line else said.complaint)
    assert said.code == 2
    assert not list(here.glob("looper-crash-*"))


def test_a_refused_command_leaves_no_run_behind(here: Path) -> None:
    assert call("+task=dial", "budget.inner=-3", NO_MLFLOW).code == 2
    assert list((here / "outputs").iterdir()) == []


def test_a_secret_is_refused_before_anything_is_written(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for override in (
        "model.key_env=sk-canary0123456789abcdef", "+model.api_key=canary-4711-0815",
        "model.base_url=http://me:canary-4711@host/v1", "-m +task=dial model.key_env=sk-canary0123456789abcdef,X",
    ):  # fmt: skip
        said = call("+task=dial", *override.split())
        assert "looks like a secret" in said.complaint
        assert "canary" not in said.err
        assert said.code == 2
    assert list(here.iterdir()) == []


def test_a_model_without_a_known_price_is_refused_before_its_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPER_TEST_KEY", "canary-of-the-command-line")
    said = call("+task=dial", "model=openai/unheard-of", "model.key_env=LOOPER_TEST_KEY", NO_MLFLOW)
    assert said.code == 2
    assert "model.price" in said.err.splitlines()[-1]


def test_a_model_without_a_key_is_told_which_variable_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    said = call("+task=dial", "model=openai/gpt-4o-mini", NO_MLFLOW)
    assert said.code == 2
    assert "OPENAI_API_KEY" in said.err.splitlines()[-1]


NONSENSE = "=+~@${}[](),'\"\\:-./ _ab1é\n\x1b%*!?&|;<>#^`"
REAL = ("+task=dial", "loop=baseline", "budget.inner=3", "tracking=none", "model=simulated", "agents.planner.model=human",
        "sandbox.level=auto", "loop.ladder.start=0.5", "+task.low=1", "~agents")  # fmt: skip


def nonsense(seed: int) -> list[str]:
    """Some arguments, each noise or a real one with a character changed; a seed out of range ends any that could run."""
    dice = random.Random(seed)
    lines = []
    for _ in range(dice.randint(1, 3)):
        word = list(dice.choice(REAL)) if dice.random() < 0.6 else []
        for _ in range(dice.randint(1, 2) if word else dice.randint(1, 12)):
            at = dice.randrange(len(word) + 1)
            word[at : at + dice.randint(0, 1)] = dice.choice(NONSENSE)
        lines.append("".join(word))
    return [*lines, NO_MLFLOW, "seed=-1"]


@pytest.mark.parametrize("seed", range(60))
def test_nonsense_is_refused_in_one_line(here: Path, seed: int) -> None:
    said = call(*nonsense(seed))
    assert said.complaint
    assert said.code == 2
    assert not list(here.glob("looper-crash-*"))
    assert runs(here) == []


def test_a_yaml_file_that_cannot_be_read_is_named(here: Path) -> None:
    (here / "conf/task").mkdir(parents=True)
    (here / "conf/task/mine.yaml").write_text("# My task.\na: [1, 2\nb: }\n")
    said = call("+task=mine", NO_MLFLOW)
    assert said.code == 2
    assert "mine.yaml" in said.complaint
    assert "mine" in call().out
    assert call("+task=dial", "budget.iner=2").code == 2


def test_outputs_that_cannot_be_written_are_named(here: Path) -> None:
    (here / "outputs").write_text("a file, not a folder")
    said = call("+task=dial", NO_MLFLOW)
    assert said.code == 2
    assert "outputs" in said.complaint


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_outputs_without_permission_are_named(here: Path) -> None:
    (here / "outputs").mkdir(mode=0o500)
    said = call("+task=dial", NO_MLFLOW)
    assert said.code == 2
    assert "Permission denied" in said.complaint


PROGRAM = "def double(x):\n    return x * 3\n"


@pytest.mark.parametrize(
    ("program", "tests", "words"),
    [
        (PROGRAM, "import nothing_of_that_name\n", "no verdict at all"),
        (PROGRAM.replace("3", "2"), "from p import double\ndef test_p():\n    assert double(2) == 4\n", "pass"),
    ],
)
def test_tests_that_say_nothing_about_the_program_are_refused(here: Path, program: str, tests: str, words: str) -> None:
    (here / "p.py").write_text(program)
    (here / "test_p.py").write_text(tests)
    said = call("+task=repair", "task.program=p.py", "task.tests=pytest -q test_p.py", NO_MLFLOW)
    assert words in said.refusal
    assert said.code == 2


# What is understood


def test_a_task_is_understood_with_and_without_its_plus() -> None:
    assert call("task=dial", "--cfg", "job") == call("+task=dial", "--cfg", "job")


@pytest.mark.parametrize(
    "value",
    [
        "pytest -q tests/test_maths.py", "pytest -q -k 'a and not b'", "pytest -k \"it's\"", "a,b", "{a: 1}", "[1, 2]",
        "x=y", r"C:\dir\new", "ends\\", "echo ${HOME} $HOME", r"\${HOME}", "'one' and 'two'", "100", "a: b", "# no", "é\t",
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
    assert "a fault of broken_task.py, line 16 (TypeError)" in crash.err.splitlines()[-1]
    assert "Traceback" not in crash.err
    (report,) = broken.glob("looper-crash-*")
    assert "the author of this task made a mistake" in report.read_text()


def test_a_sweep_goes_on_after_cells_that_fail_and_lists_them(broken: Path) -> None:
    said = call("-m", "+task=broken,buggy,dial", "loop.max_steps=0,50", NO_MLFLOW)
    assert [line.split()[0] for line in said.out.splitlines()[1:]] == ["not", "failed", "not", "not", "not", "completed"]
    assert "0: loop.max_steps: input should be greater than 0" in said.err
    assert "3: a fault of broken_task.py" in said.err
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


def test_the_generator_of_nonsense_is_not_silent() -> None:
    lines = list(itertools.chain.from_iterable(nonsense(seed)[:-2] for seed in range(60)))
    assert len(lines) > 100
    assert len(set(lines)) > 0.9 * len(lines)
    assert isinstance(Said(2, "", "looper: x\n").complaint, str)
