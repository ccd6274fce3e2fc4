"""What the command refuses: one sentence with the next thing to do, exit code 2, nothing lost (DESIGN, Errors)."""

import itertools
import os
import random
from pathlib import Path

import pytest
from command_line import Said, call

NO_MLFLOW = "tracking=none"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to stand in; reports of crashes go there too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


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
    "+task=dial hydra/launcher=joblib": "add -m",
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
        "model.base_url=http://me:canary-4711@host/v1", "-m model.key_env=sk-canary0123456789abcdef,X",
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
REAL = (
    "+task=dial", "loop=baseline", "budget.inner=3", "tracking=none", "model=simulated", "agents.planner.model=human",
    "sandbox.level=auto", "loop.ladder.start=0.5", "+task.low=1", "~agents",
)  # fmt: skip


def nonsense(seed: int) -> list[str]:
    """Some arguments, each noise or a real one with a character changed; a wrong seed ends any that could run."""
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
    assert not list(here.rglob("history.jsonl"))


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


def test_the_generator_of_nonsense_is_not_silent() -> None:
    lines = list(itertools.chain.from_iterable(nonsense(seed)[:-2] for seed in range(60)))
    assert len(lines) > 100
    assert len(set(lines)) > 0.9 * len(lines)
    assert isinstance(Said(2, "", "looper: x\n").complaint, str)


def test_a_run_that_is_refused_before_it_begins_leaves_no_folder(tmp_path: Path) -> None:
    said = call(
        "+task=repair/quixbugs", f"task.root={tmp_path}/none", "task.name=x", "tracking=none", f"outputs={tmp_path}/o"
    )
    assert said.code == 2
    assert list((tmp_path / "o").glob("*")) == []
