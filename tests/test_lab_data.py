"""Runs as frames: the same from folders and from MLflow; labels; what may be compared (SPEC 6.2)."""

import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import written_runs
from lab_runs import both, frame, known
from tracking_runs import cut, play

from looper.errors import ConfigError
from looper.folder import Folder
from looper.lab.comparable import comparable
from looper.lab.data import COLUMNS, HISTORY, Store, histories_of, runs_of
from looper.lab.data.known import settings_in
from looper.tracking import Tracking
from looper.tracking.files import parameters
from looper.tracking.identity import checks_of, on_all_rules
from looper.tracking.shadow import sync
from looper.tracking.store import Store as MlflowStore

PEOPLE: dict[str, Any] = {"model": {"name": "human"}, "agents": {"planner": {"model": "policy"}}}
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*Any type hint is inferred as AnyType"),
    pytest.mark.timeout(180),
]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four runs in a sweep and one beside it."""
    folder = tmp_path_factory.mktemp("outputs")
    for design in ("adaptive", "baseline"):
        for seed in (0, 1):
            play(folder, f"sweeps/many/{design}-{seed}", design=design, seed=seed)
    play(folder, "alone")
    return folder


@pytest.fixture(scope="module")
def store(outputs: Path) -> Iterator[str]:
    """The same runs in an MLflow store; its URI."""
    before = dict(os.environ)
    pytest.importorskip("mlflow")
    place = Tracking(traces=False).place(outputs)
    MlflowStore(place)
    folders = sorted(outputs.glob("**/history.jsonl"))
    assert not sync(place, [file.parent for file in folders]).failed
    yield place.uri
    for name in os.environ.keys() - before.keys():
        del os.environ[name]


# From folders


def test_a_run_of_a_folder_is_what_its_run_json_says(outputs: Path):
    runs = runs_of(outputs / "alone")
    state = json.loads((outputs / "alone" / "run.json").read_text())
    (run,) = runs.to_dict("records")
    assert list(runs.columns) == list(COLUMNS)
    assert (run["run"], run["task"], run["label"], run["seed"]) == ("alone", "dial", "adaptive", 0)
    assert (run["status"], run["reason"], run["finished"], run["passed"]) == ("completed", "stable", True, True)
    assert (run["gate_score"], run["score"], run["phase"]) == (1.0, 1.0, "A")
    assert np.isnan(run["holdout"])
    assert run["inner"] == pytest.approx(state["spent"]["inner"])
    assert run["outer"] == pytest.approx(state["spent"]["outer"])
    assert run["iterations"] == state["iteration"]
    assert run["config_hash"] == state["setup"]["config_hash"]
    assert run["checks"] == run["checks_given"] == checks_of(state["criteria"])


def test_a_sweep_is_its_cells_and_an_outputs_folder_is_everything(outputs: Path):
    assert set(runs_of(outputs / "sweeps" / "many")["run"]) == {"adaptive-0", "adaptive-1", "baseline-0", "baseline-1"}
    assert set(runs_of(outputs / "sweeps" / "many")["sweep"]) == {"many"}
    assert len(runs_of(outputs)) == 5
    assert len(runs_of([outputs, outputs / "alone"])) == 5


def test_a_folder_without_runs_says_so(tmp_path: Path):
    with pytest.raises(ConfigError, match="there is no run in this folder"):
        runs_of(tmp_path)


def test_a_killed_run_is_interrupted_and_a_changed_one_is_not_read(tmp_path: Path):
    cut(play(tmp_path, "killed"), 12)
    changed = play(tmp_path, "changed")
    text = (changed / "history.jsonl").read_text()
    (changed / "history.jsonl").write_text(text.replace('"score":0.0', '"score":0.9', 1))
    runs = runs_of(tmp_path).set_index("run")
    assert runs.loc["killed", "status"] == "interrupted"
    assert not runs.loc["killed", "finished"]
    assert "not what was written" in str(runs.loc["changed", "trouble"])


@pytest.mark.parametrize(
    ("status", "reason"),
    [("not run", "it never began: loop: no"), ("not begun", "a cap of its whole sweep kept it from beginning")],
)
def test_a_cell_that_never_began_is_told_from_the_table_of_its_sweep(
    status: str, reason: str, outputs: Path, tmp_path: Path
):
    shutil.copytree(outputs / "sweeps", tmp_path / "sweeps")
    sweep = tmp_path / "sweeps" / "many"
    (sweep / "sweep.json").write_text(json.dumps({"name": "many", "id": "1"}))
    row = {
        "folder": str(sweep / "x"),
        "status": status,
        "reason": "loop: no",
        "task": "dial",
        "design": "x",
        "seed": 0,
    }
    (sweep / "results.json").write_text(json.dumps([row]))
    runs = runs_of(sweep)
    assert len(runs) == 5
    assert (runs["status"] == status).sum() == 1
    refused = comparable(runs).refused
    assert list(refused["reason"]) == [reason]


def test_settings_are_read_in_parts_as_they_are_as_a_whole(outputs: Path, tmp_path: Path):
    file = outputs / "alone" / "config.yaml"
    assert settings_in(file) == parameters(file.parent)
    alias = tmp_path / "config.yaml"
    alias.write_text("one: &id001\n  a: 1\ntwo: *id001\n")
    assert settings_in(alias) == {"one.a": "1", "two.a": "1"}


def test_who_filled_the_roles_is_known_and_a_simulation_is_labelled(tmp_path: Path):
    written_runs.by_hand(tmp_path / "hand", **PEOPLE, confirm="yes")
    run = runs_of(tmp_path / "hand").iloc[0]
    assert "human" in run["fillers"]
    assert run["checks_by"] == "human"
    assert run["synthetic"] == ""
    assert frame(known(tags={"fillers": "policy 2, simulated 1"})).iloc[0]["synthetic"] == "simulation"
    assert frame(known(tags={"fillers": "recording 1, simulated 1"})).iloc[0]["synthetic"] == "simulation and recording"
    assert frame(known(tags={"fillers": "model:own/recording 1"})).iloc[0]["synthetic"] == ""


# From MLflow


@pytest.mark.parametrize("filtered", [None, "tags.status = 'completed'"], ids=["database", "client"])
def test_mlflow_tells_the_same_as_the_folders(outputs: Path, store: str, filtered: str | None):
    told = runs_of(Store(uri=store, sweep="many", filter=filtered))
    own = runs_of(outputs / "sweeps" / "many")
    same = [name for name in COLUMNS if name not in ("where", "started", "settings", "experiment")]
    pd.testing.assert_frame_equal(told[same], own[same], check_dtype=False)
    assert all(a == b for a, b in zip(told["settings"], own["settings"], strict=True))


def test_the_history_of_mlflow_is_that_of_the_folders_at_the_end_of_each_iteration(outputs: Path, store: str):
    told = histories_of(Store(uri=store, sweep="many"))
    own = histories_of(outputs / "sweeps" / "many")
    last = own.groupby(["run", "step"]).last().reset_index()
    told = told.sort_values(["run", "step"], ignore_index=True)
    assert list(told["step"]) == list(last["step"])
    assert list(told["score"]) == list(last["score"])
    assert (told["inner"] >= last["inner"] - 1e-9).all()


def test_a_store_that_is_none_is_named(tmp_path: Path, store: str):
    with pytest.raises(ConfigError, match="there is no file"):
        runs_of(f"sqlite:///{tmp_path}/none.db")
    (tmp_path / "text.db").write_text("this is no database, but a text that is long enough to be looked at" * 20)
    with pytest.raises(ConfigError, match="is not a database of MLflow's"):
        runs_of(f"sqlite:///{tmp_path}/text.db")
    with pytest.raises(ConfigError, match="has no runs of the sweep `other`"):
        runs_of(Store(uri=store, sweep="other"))


def test_what_an_older_looper_logged_is_refused_until_it_is_synced(outputs: Path, tmp_path: Path, store: str):
    import sqlite3

    shutil.copytree(outputs, tmp_path / "o")
    book = sqlite3.connect(tmp_path / "o" / "mlflow.db")
    book.execute("delete from tags where key in ('checks', 'checks_given', 'fillers', 'checks_by')")
    book.commit()
    book.close()
    uri = f"sqlite:///{tmp_path}/o/mlflow.db"
    with pytest.raises(ConfigError, match=r"older looper; `looper sync`"):
        comparable(runs_of(uri))
    sync(
        Tracking(traces=False).place(tmp_path / "o"), [file.parent for file in (tmp_path / "o").rglob("history.jsonl")]
    )
    assert comparable(runs_of(Store(uri=uri, sweep="many"))).refused.empty


# Histories


def test_a_history_has_every_verdict_with_what_was_spent_up_to_it(outputs: Path):
    history = histories_of(outputs / "alone")
    assert list(history.columns) == list(HISTORY)
    assert history["score"].iloc[0] == 0.0
    assert history["score"].iloc[-1] == 1.0
    assert history["inner"].is_monotonic_increasing
    assert bool(history["passed"].iloc[-1])
    assert (history["run"] == "alone").all()


# Labels


def test_what_was_swept_beside_design_and_seed_is_part_of_the_label():
    runs = frame(
        *(
            known(name=f"{n}-{m}", settings={"loop.max_steps": str(n), "model.name": m})
            for n in (5, 9)
            for m in ("a/b", "c/d")
        )
    )
    assert set(runs["label"]) == {f"adaptive, model={m}, max_steps={n}" for n in (5, 9) for m in ("a/b", "c/d")}


def test_a_setting_that_differs_between_designs_only_is_no_part_of_a_label():
    runs = frame(known("adaptive", settings={"loop.window": "3"}), known("baseline", settings={"loop.limit": "9"}))
    assert set(runs["label"]) == {"adaptive", "baseline"}


def test_an_outer_loop_makes_another_arm():
    runs = frame(known(), known(name="b", tags={"outer": "gather_verify"}))
    assert set(runs["label"]) == {"adaptive", "adaptive under gather_verify"}


def test_a_swept_setting_of_the_task_makes_another_task_and_its_seed_does_not():
    runs = frame(
        *(
            known(name=f"{low}{seed}", seed=seed, settings={"task.low": low, "task.seed": str(seed)})
            for low in "12"
            for seed in (0, 1)
        )
    )
    assert set(runs["task"]) == {"dial (low=1)", "dial (low=2)"}
    assert set(runs["label"]) == {"adaptive"}


def test_a_long_value_is_cut_and_stays_apart_from_another_one():
    long = "x" * 80
    runs = frame(*(known(name=str(n), settings={"loop.prompt": long + str(n)}) for n in (1, 2)))
    assert runs["label"].nunique() == 2
    assert runs["label"].str.len().max() < 60


# What may be compared, refusal by refusal


def reasons(runs: pd.DataFrame, value: str = "score") -> dict[str, str]:
    refused = comparable(runs, value).refused
    return dict(zip(refused["run"], refused["reason"], strict=True))


def test_designs_on_the_same_tasks_and_seeds_are_comparable():
    found = comparable(both())
    assert len(found.runs) == 4
    assert found.refused.empty
    assert found.notes == []


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("running", "still running"),
        ("paused", "looper resume"),
        ("interrupted", "killed"),
        ("aborted", "a person ended it"),
    ],
)
def test_an_unfinished_run_is_refused_and_takes_its_partner_along(status: str, reason: str):
    found = reasons(both(known(seed=1, tags={"status": status})))
    assert reason in found["dial-adaptive-1"]
    assert found["dial-baseline-1"] == "there is no comparable run of adaptive on this task and seed"
    assert len(found) == 2


def test_a_run_that_a_person_stopped_is_refused():
    assert "a person stopped it" in reasons(both(known(seed=1, tags={"reason": "user_stop"})))["dial-adaptive-1"]


def test_other_checks_are_refused():
    found = reasons(both(known(seed=1, tags={"checks": "other"}), seeds=3, designs=("adaptive", "baseline", "once")))
    assert found["dial-adaptive-1"] == "its rules or thresholds differ from those of most runs of dial with seed 1"


def test_a_gate_that_roles_agreed_on_does_not_matter_where_hidden_checks_give_the_score():
    own = [
        known(design, seed=seed, tags={"checks": design}, metrics={"holdout_score": 1.0})
        for design in ("adaptive", "baseline") for seed in (0, 1)
    ]  # fmt: skip
    assert comparable(frame(*own)).refused.empty
    assert len(comparable(frame(*own, known("adaptive", seed=5), known("baseline", seed=5)), "holdout").runs) == 4
    with pytest.raises(ConfigError, match="none of"):
        comparable(frame(known(tags={"status": "paused"})), "gate_score")
    assert set(comparable(frame(*own), "gate_score").refused["label"]) == {"adaptive"}


def test_other_prices_of_a_step_that_both_have_are_refused_by_name():
    found = reasons(both(*(known(seed=seed, settings={"budget.prices.plan.outer": "3.0"}) for seed in (0,))))
    assert "budget.prices.plan.outer: 3.0 against 2.0" in found["dial-adaptive-0"]


def test_a_design_may_price_steps_of_its_own():
    own = [known(seed=seed, settings={"budget.prices.review.outer": "1.0"}) for seed in (0, 1)]
    assert comparable(both(*own)).refused.empty


def test_another_price_of_the_same_model_is_refused_and_that_of_another_model_is_not():
    def run(design: str, seed: int, model: str, price: str):
        return known(design, seed=seed, settings={"model.name": model, "model.price.input": price})

    cheap = [run(design, seed, "own/small", "1.0") for design in ("adaptive", "baseline") for seed in (0, 1)]
    assert comparable(frame(*cheap)).refused.empty
    dear = frame(*cheap[:3], run("baseline", 1, "own/small", "2.0"))
    assert "own/small: model.price.input: 2.0 against 1.0" in reasons(dear)["dial-baseline-1"]
    other = frame(*cheap[:2], *(run("baseline", seed, "own/large", "9.0") for seed in (0, 1)))
    assert comparable(other).refused.empty


def test_another_version_of_the_task_is_refused_with_what_differs():
    found = reasons(frame(known(), known("baseline", settings={"task.low": "10"}), known("once")))
    assert found["dial-baseline-0"] == (
        "its task is set otherwise than that of most runs of dial (task.low: 10 against 30.0)"
    )


def test_another_version_of_looper_is_refused():
    found = reasons(frame(known(), known("baseline", tags={"version.looper": "0.2.0"}), known("once")))
    assert "made by looper 0.2.0, most others by 0.1.0" in found["dial-baseline-0"]


def test_of_several_runs_of_one_cell_the_first_counts():
    again = known(name="again", started=9000, metrics={"gate_score": 0.2})
    found = comparable(frame(known(metrics={"gate_score": 0.9}), again, known("baseline")))
    assert dict(zip(found.runs["label"], found.runs["score"], strict=True)) == {"adaptive": 0.9, "baseline": 1.0}
    assert "the first run counts" in found.refused.iloc[0]["reason"]


CAPPED = {"status": "stopped", "reason": "budget_exhausted", "capped": "sweep_budget.usd=4"}


def test_a_run_that_the_cap_of_its_sweep_cut_short_gives_way_to_the_one_in_its_place():
    """The first run of a cell counts, but not one that ended because others had spent the money."""
    short = known(tags=CAPPED, metrics={"gate_score": 0.2})
    anew = known(name=f"{short.name}.2", started=9000, metrics={"gate_score": 0.9})
    found = comparable(frame(short, anew, known("baseline")))
    assert dict(zip(found.runs["label"], found.runs["score"], strict=True)) == {"adaptive": 0.9, "baseline": 1.0}
    assert list(found.refused["reason"]) == [
        "the cap of its whole sweep cut it short (sweep_budget.usd=4), and dial-adaptive-0.2 was run in its place"
    ]
    assert found.notes == []


def test_a_run_that_was_cut_short_gives_way_where_its_name_is_that_of_another_run_too():
    short = known(tags={**CAPPED, "sweep": "one"}, metrics={"gate_score": 0.2})
    anew = known(name=f"{short.name}.2", started=9000, tags={"sweep": "one"}, metrics={"gate_score": 0.9})
    alike = known(name=short.name, task="rod", tags={"sweep": "two"}, where="two/alike")
    found = comparable(frame(short, anew, known("baseline"), alike, known("baseline", task="rod")))
    assert found.runs.set_index(["task", "label"])["score"]["dial", "adaptive"] == 0.9
    assert "dial-adaptive-0.2 was run in its place" in " ".join(found.refused["reason"])


@pytest.mark.parametrize(("recall", "outer", "told"), [("5", "gather", 1), ("0", "gather", 0), ("5", "none", 0)])
def test_runs_that_learnt_from_each_other_are_told(recall: str, outer: str, told: int):
    own = known(tags={"outer": outer}, settings={"outer.recall": recall})
    notes = [note for note in comparable(frame(own, known("baseline"))).notes if "had learnt" in note]
    assert (
        notes
        == ["1 run(s) were shown what earlier runs had learnt: they are not independent; give outer.recall=0."][:told]
    )


def test_a_run_that_the_cap_of_its_sweep_cut_short_is_refused_where_there_is_no_other():
    found = reasons(both(known(tags=CAPPED, metrics={"gate_score": 0.2})))
    told = "the cap of its whole sweep cut it short (sweep_budget.usd=4); raise the cap and run the sweep again"
    assert found["dial-adaptive-0"] == told
    assert set(found) == {"dial-adaptive-0", "dial-baseline-0"}


def test_another_threshold_makes_no_other_task_and_is_refused_by_name():
    cells = [(design, seed) for design in ("adaptive", "baseline", "once") for seed in (0, 1)]
    least = {cell: "0.5" if cell == ("once", 0) else "0.9" for cell in cells}
    own = [known(name, seed=seed, settings={"task.thresholds.P1": least[name, seed]}) for name, seed in cells]
    found = reasons(frame(*own))
    told = "its task is set otherwise than that of most runs of dial (task.thresholds.P1: 0.5 against 0.9)"
    assert found["dial-once-0"] == told


def test_a_run_that_its_own_budget_ended_gives_way_to_none():
    own = known(tags={"status": "stopped", "reason": "budget_exhausted"}, metrics={"gate_score": 0.2})
    again = known(name=f"{own.name}.2", started=9000)
    found = comparable(frame(own, again, known("baseline")))
    assert found.runs.set_index("label")["score"]["adaptive"] == 0.2
    assert "the first run counts" in found.refused.iloc[0]["reason"]


def test_a_design_that_broke_down_has_earned_its_zero():
    broken = known(seed=1, tags={"status": "failed", "reason": "phase_error"}, metrics={"gate_score": 0.7})
    found = comparable(both(broken))
    row = found.runs[found.runs["run"] == "dial-adaptive-1"].iloc[0]
    assert (row["score"], row["gate_score"], row["reported"], bool(row["passed"])) == (0.0, 0.0, 0.7, False)
    assert found.notes == ["1 run(s) broke down (failed) and count with a score of 0: adaptive 1."]


def test_an_impossible_task_keeps_what_was_measured():
    run = known(seed=1, tags={"status": "failed", "reason": "impossible"}, metrics={"gate_score": 0.7})
    found = comparable(both(run))
    assert found.runs.set_index("run").loc["dial-adaptive-1", "score"] == 0.7


def test_a_run_that_evaluated_nothing_has_zero_also_in_hidden_checks():
    empty = known(seed=1, metrics={"gate_score": None, "gate_score_on_all_rules": None})
    others = [
        known(design, seed=seed, metrics={"holdout_score": 1.0})
        for design in ("adaptive", "baseline")
        for seed in (0, 1)
    ]
    found = comparable(frame(empty, *(run for run in others if run.name != empty.name)))
    assert found.runs.set_index("run").loc["dial-adaptive-1", ["score", "holdout"]].tolist() == [0.0, 0.0]


def test_a_run_without_a_verdict_of_its_hidden_checks_is_refused():
    others = [
        known(design, seed=seed, metrics={"holdout_score": 1.0})
        for design in ("adaptive", "baseline")
        for seed in (0, 1)
    ]
    found = reasons(frame(known(), *others[1:]))
    assert "hidden checks gave no verdict" in found["dial-adaptive-0"]


def test_gate_scores_of_different_phases_are_put_on_all_rules():
    early = known(seed=1, tags={"phase": "A"}, metrics={"gate_score": 0.9, "gate_score_on_all_rules": 0.6})
    late = [known("baseline", seed=seed, tags={"phase": "B"}) for seed in (0, 1)]
    found = comparable(frame(known(tags={"phase": "B"}), early, *late))
    assert found.runs.set_index("run").loc["dial-adaptive-1", "score"] == 0.6
    assert "ended in an earlier phase" in found.notes[0]
    unknown = known(seed=1, tags={"phase": "A"}, metrics={"gate_score": 0.9, "gate_score_on_all_rules": None})
    assert "of another phase" in reasons(frame(known(tags={"phase": "B"}), unknown, *late))["dial-adaptive-1"]


def test_gate_scores_of_one_phase_stay_as_they_are():
    own = [
        known(design, metrics={"gate_score": 0.9, "gate_score_on_all_rules": 0.6})
        for design in ("adaptive", "baseline")
    ]
    assert list(comparable(frame(*own)).runs["score"]) == [0.9, 0.9]


def test_an_arm_that_shares_too_little_is_left_out_with_a_note():
    runs = both(known("once", seed=0), seeds=4)
    found = comparable(runs)
    assert set(found.runs["label"]) == {"adaptive", "baseline"}
    assert len(found.runs) == 8
    assert "once was left out (1 runs): it shares 1 of the 4 cells" in found.notes[0]


def test_what_is_not_common_is_left_out_with_a_note():
    runs = frame(*(known(design, seed=seed) for design, n in (("adaptive", 4), ("baseline", 3)) for seed in range(n)))
    found = comparable(runs)
    assert sorted(set(found.runs["seed"])) == [0, 1, 2]
    assert found.notes == ["Compared on the 3 of 4 cells (task and seed) that all designs have in common."]


def test_what_has_to_be_known_is_noted():
    notes = comparable(
        frame(
            known(tags={"fillers": "simulated 3", "checks_by": "model:x/y"}),
            known("baseline", settings={"budget.outer": "40.0"}, tags={"forked_from": "other"}),
        )
    ).notes
    assert any("roles wrote checks of their own gate (model:x/y)" in note for note in notes)
    assert any("1 run(s) rest on a simulation" in note for note in notes)
    assert any("1 run(s) are forks" in note for note in notes)
    assert any("Budgets are not equal" in note and "outer 40.0" in note for note in notes)


# The gate's identity


def test_the_hash_of_checks_changes_with_what_is_checked_and_not_with_words():
    rule = {"id": "a", "description": "be short", "severity": "fail", "weight": 2.0, "phase": "A", "check": "len < 3"}
    base = {"rules": [rule], "phases": [{"name": "A", "threshold": 0.8}]}
    same = {"rules": [{**rule, "description": "be brief"}], "phases": [{"name": "A", "threshold": 0.8}]}
    assert checks_of(base) == checks_of(same)
    for change in ({"severity": "warn"}, {"weight": 1.0}, {"phase": "B"}, {"check": "len < 4"}, {"id": "b"}):
        assert checks_of({**base, "rules": [{**rule, **change}]}) != checks_of(base)
    assert checks_of({**base, "phases": [{"name": "A", "threshold": 0.9}]}) != checks_of(base)
    told = {**rule, "check": ""}
    assert checks_of({**base, "rules": [told]}) != checks_of({**base, "rules": [{**told, "description": "other"}]})


def test_a_score_on_all_rules_counts_rules_to_come_as_failed():
    given = (("a1", "fail", 2.0, "A"), ("a2", "warn", 1.0, "A"), ("b1", "fail", 2.0, "B"), ("b2", "info", 0.0, "B"))
    rules = [dict(zip(("id", "severity", "weight", "phase"), one, strict=True)) for one in given]
    criteria = {"rules": rules, "phases": [{"name": "A", "threshold": 0.8}, {"name": "B", "threshold": 0.9}]}
    assert on_all_rules(criteria, {"phase": "A", "score": 2 / 3, "failed": ["a2"]}) == pytest.approx(2 / 5)
    assert on_all_rules(criteria, {"phase": "B", "score": 0.75, "failed": ["a2"]}) == 0.75
    assert on_all_rules(criteria, {"phase": "C", "score": 0.75, "failed": []}) is None


def test_a_reflex_run_that_ends_in_the_first_phase_says_so(tmp_path: Path):
    written_runs.by_hand(tmp_path / "whole", **PEOPLE, confirm="yes")
    runs = runs_of(tmp_path / "whole").iloc[0]
    assert (runs["phase"], runs["gate_on_all_rules"]) == ("B", runs["gate_score"])
    assert Folder(tmp_path / "whole").state()["status"] == "completed"


def test_a_thousand_runs_are_read_in_seconds(outputs: Path, tmp_path: Path):
    source = outputs / "sweeps" / "many" / "adaptive-0"
    for number in range(100):
        target = tmp_path / "sweeps" / "big" / str(number)
        target.mkdir(parents=True)
        for name in ("history.jsonl", "config.yaml", "run.json"):
            os.link(source / name, target / name)
    began = time.process_time()
    assert len(runs_of(tmp_path / "sweeps" / "big")) == 100
    assert time.process_time() - began < 3.0
