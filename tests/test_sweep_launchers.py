"""Hydra's own launchers under looper's sweeps: what has ended is not run again, and the cap holds (SPEC 6.6)."""

from pathlib import Path
from typing import Any

import pytest
from command_line import call, run
from omegaconf import OmegaConf
from sweep_runs import PAID, folder, journals, ledger, paid, rows

from looper.shared_budget.ledger import FILE
from looper.sweeps.cell import Cell
from looper.sweeps.launcher import launch_all

LAUNCHERS = {
    "joblib": ("hydra/launcher=joblib", "hydra.launcher.n_jobs=2"),
    "submitit": ("hydra/launcher=submitit_local",),
}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", LAUNCHERS)
def test_a_launcher_skips_what_has_ended_and_keeps_to_the_cap(name: str, tmp_path: Path) -> None:
    pytest.importorskip(f"hydra_plugins.hydra_{name}_launcher")
    command = ("-m", *PAID, *LAUNCHERS[name])
    first = run("-m", *PAID, "seed=0", cwd=tmp_path)  # costs 9
    said = run(*command, "seed=range(3)", "sweep_budget.usd=15", cwd=tmp_path)
    assert said.code == 4, said.err
    assert [row["seed"] for row in rows(said)] == [0, 1, 2]
    assert (rows(said)[0]["note"], rows(said)[0]["usd"]) == ("already there", rows(first)[0]["usd"])
    assert {row["status"] for row in rows(said)[1:]} <= {"stopped", "not begun"}
    assert paid(tmp_path) == ledger(tmp_path).standing()["usd"].spent == 15.0
    assert not [path for path in folder(tmp_path).glob("*") if path.is_dir() and not any(path.iterdir())]


def test_a_launcher_has_its_own_number_of_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("hydra_plugins.hydra_joblib_launcher")
    monkeypatch.chdir(tmp_path)
    said = call("-m", *PAID, *LAUNCHERS["joblib"], "seed=0,1", "jobs=2")
    assert (said.code, "the launcher has its own settings" in said.complaint) == (2, True)
    assert not (folder(tmp_path) / FILE).exists()
    assert journals(tmp_path) == {}


def test_a_cell_that_cannot_be_looked_at_is_a_row_and_does_not_stop_the_others(tmp_path: Path) -> None:
    cells = [Cell(str(tmp_path / name), config={}) for name in "ab"]
    for cell in cells:
        Path(cell.base).mkdir()
        Path(cell.base, "history.jsonl").write_text("no journal")
    rows_of: list[dict[str, Any]] = []
    launch_all(OmegaConf.create({}), tmp_path, [(cell, []) for cell in cells], lambda _, row: rows_of.append(row))
    assert [(row["folder"], row["status"]) for row in rows_of] == [(cell.base, "not run") for cell in cells]
    assert all(row["reason"] for row in rows_of)
