"""What is loaded before it is needed: nothing (STACK, Start-up)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import ROOT

HEAVY = {"mlflow", "litellm", "pandas", "numpy", "openai", "httpx", "sqlalchemy", "matplotlib", "torch"}
LIST_ALSO = {
    "hydra",
    "omegaconf",
    "pydantic",
    "pydantic_core",
    "yaml",
    "rich",
    "jinja2",
    "antlr4",
    "logging",
    "asyncio",
}


def loaded(folder: Path, *args: str) -> set[str]:
    """Top-level modules that `python -m looper ARGS` loads."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "looper", *args], cwd=folder, capture_output=True, text=True,
        stdin=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode in (0, 2, 3), done.stderr[-2000:]
    lines = [line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.split(".")[0] for line in lines}


@pytest.mark.parametrize("arguments", [(), ("--help",), ("--version",), ("--json",)])
def test_the_list_and_the_help_load_nothing_but_looper(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    modules = loaded(tmp_path, *arguments)
    assert "looper" in modules
    assert modules & (HEAVY | LIST_ALSO) == set()


def test_a_wrong_name_is_refused_before_hydra_is_loaded(tmp_path: Path) -> None:
    assert loaded(tmp_path, "+task=dail") & (HEAVY | {"hydra", "omegaconf"}) == set()


@pytest.mark.parametrize(
    "arguments",
    [
        ("+task=dial", "tracking=none"),
        ("+task=dial", "loop=baseline", "tracking=none"),
        ("+task=dial", "model=human", "tracking=none"),
        ("+task=repair/coat_check", "tracking=none"),
        ("+task=dial", "tracking.wait=0"),
    ],
    ids=" ".join,
)
def test_a_run_without_a_model_loads_neither_mlflow_nor_litellm_nor_pandas(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    modules = loaded(tmp_path, *arguments)
    assert {"hydra", "pydantic", "looper"} <= modules
    assert modules & HEAVY == set()


@pytest.mark.parametrize("command", ["list", "status", "history"])
def test_reading_runs_loads_neither_hydra_nor_anything_heavy(tmp_path: Path, command: str) -> None:
    assert loaded(tmp_path, command) & (HEAVY | {"hydra", "omegaconf"}) == set()


def test_what_is_looked_for_would_be_seen(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    assert {"hydra", "omegaconf", "yaml"} <= loaded(tmp_path, "+task=dial", "--cfg", "job")
