"""The commands compare and report, as a user types them (SPEC 6.2)."""

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import ROOT, call
from tracking_runs import play

from looper.tracking import Tracking
from looper.tracking.shadow import sync

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*Any type hint is inferred as AnyType"),
    pytest.mark.timeout(180),
]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of two designs on two seeds, and a run beside it."""
    folder = tmp_path_factory.mktemp("outputs")
    play(folder, "alone")
    where = (f"outputs={folder}", "sweep=first", "tracking=none")
    assert call("-m", "+task=dial", "loop=adaptive,baseline", "seed=0,1", "rivals=no", *where).code == 0
    return folder


def test_the_newest_sweep_is_compared_and_told_in_words(outputs: Path):
    said = call("compare", f"outputs={outputs}")
    assert said.code == 0
    assert said.err == f"comparing the newest sweep, {outputs}/sweeps/first\n"
    lines = said.out.splitlines()
    assert lines[0] == "question: How do the designs differ from baseline in score?"
    assert any(line.split()[:5] == ["adaptive", "undecided", "2", "1", "1.000"] for line in lines)
    assert any(
        line.startswith("- Undecided: whether adaptive differs from baseline in score was not shown") for line in lines
    )
    assert "- 1 task is too few: no verdict is given below 5, whatever the numbers are." in lines
    (added,) = [line for line in lines if line.startswith("  python -m looper -m seed=0,1 +task=dial budget.")]
    assert added.endswith(f" loop=once,retry,best_of sweep=first outputs={outputs}")
    page = Path(lines[-1].removeprefix("report: "))
    assert page.is_relative_to(outputs / "reports")
    assert {file.name for file in page.parent.iterdir()} >= {"report.html", "report.md", "differences.csv", "plots"}


def test_the_command_that_is_printed_runs_the_rivals_into_the_sweep(outputs: Path):
    told = json.loads(call("compare", "first", f"outputs={outputs}", "--json").out)
    words = told["add_rivals"].split()
    assert words[:3] == ["python", "-m", "looper"]
    said = call(*[word.replace("once,retry,best_of", "once") for word in words[3:]], "tracking=none", "--json")
    assert said.code == 0, said.err
    again = json.loads(call("compare", "first", f"outputs={outputs}", "--json").out)
    assert again["missing_rivals"] == ["retry", "best_of"]
    assert {row["design"] for row in again["designs"]} | {again["baseline"]} >= {"once", "baseline"}


def test_runs_and_folders_are_named_as_they_are(outputs: Path):
    one, other = (next(outputs.glob(f"sweeps/first/*{design}-seed0*")).name for design in ("adaptive", "baseline"))
    both = call("compare", one, other, f"outputs={outputs}", "--no-rivals")
    assert both.code == 0, both.err
    assert "cells: 1 (task and seed) on 1 task" in both.out
    assert "rivals" not in both.out
    folder = call(
        "compare",
        str(outputs / "sweeps" / "first"),
        "baseline=adaptive",
        f"outputs={outputs}",
        "designs=adaptive,baseline",
    )
    assert "differ from adaptive in score" in folder.out


def test_csv_and_json_are_for_programs(outputs: Path, tmp_path: Path):
    report = f"report={tmp_path / 'r'}"
    (row,) = csv.DictReader(
        io.StringIO(call("compare", "first", "--csv", f"outputs={outputs}", "designs=adaptive,baseline", report).out)
    )
    assert (row["design"], row["baseline"], row["verdict"]) == ("adaptive", "baseline", "undecided")
    said = call(
        "compare", "first", "--json", f"outputs={outputs}", "designs=adaptive,baseline", "value=cost:outer", report
    )
    told = json.loads(said.out)
    assert said.err == ""
    assert (told["value"], told["runs"], told["tasks"], told["seeds"]) == ("outer", 4, 1, [0, 1])
    assert told["report"] == str(tmp_path / "r" / "report.html")
    assert (
        said.out
        == call(
            "compare", "first", "--json", f"outputs={outputs}", "designs=adaptive,baseline", "value=cost:outer", report
        ).out
    )


@pytest.fixture
def store(outputs: Path) -> Iterator[str]:
    before = dict(os.environ)
    pytest.importorskip("mlflow")
    place = Tracking(traces=False).place(outputs)
    assert not sync(place, [file.parent for file in outputs.glob("sweeps/*/*/history.jsonl")]).failed
    yield place.uri
    for name in os.environ.keys() - before.keys():
        del os.environ[name]


def test_mlflow_is_a_source_like_the_folders(outputs: Path, store: str, tmp_path: Path):
    said = call(
        "compare",
        "first",
        f"tracking.uri={store}",
        "experiment=looper",
        "designs=adaptive,baseline",
        f"report={tmp_path}",
        "--json",
    )
    assert said.code == 0, said.err
    own = call("compare", "first", f"outputs={outputs}", "designs=adaptive,baseline", f"report={tmp_path}", "--json")
    assert json.loads(said.out)["designs"] == json.loads(own.out)["designs"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["compare", "--json", "--csv"], "give --json or --csv, not both"),
        (["compare", "margin=-1"], "margin=-1: a number from 0 on is needed"),
        (["compare", "value=usd"], "did you mean `cost:usd`?"),
        (["compare", "baseline=adaptiv"], "did you mean `adaptive`?"),
        (["compare", "nowhere"], "no run `nowhere`"),
        (["compare", "alone"], "only adaptive can be compared, and it takes two"),
        (["compare", "experiment=other"], "there is no file"),
        (["report", "nowhere"], "no run `nowhere`"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_one_sentence(words: list[str], complaint: str, outputs: Path, tmp_path: Path):
    root = tmp_path if "experiment=other" in words else outputs
    said = call(*words, f"outputs={root}")
    assert said.code == 2
    assert complaint in said.err.splitlines()[-1]
    assert said.out == ""


def test_without_any_run_it_says_how_to_make_some(tmp_path: Path):
    said = call("compare", f"outputs={tmp_path}")
    assert said.code == 2
    assert "python -m looper -m +task=dial" in said.complaint


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("compare", "basline=once"), "did you mean `baseline`?"),
        (("compare", "colour=red"), "usage: looper compare [SWEEP | FOLDER | RUN ...]"),
        (("report", "margin=0.1"), "`report` takes outputs=DIR; usage: looper report [RUN]"),
        (("resume", "loop=once"), "`loop` of a run cannot change once it has begun"),
    ],
)  # fmt: skip
def test_a_setting_that_a_command_does_not_take_is_told_with_what_it_takes(args: tuple[str, ...], told: str):
    said = call(*args)
    assert said.code == 2
    assert told in said.complaint
    assert ("cannot change" in said.complaint) == (args[0] == "resume")


def test_one_run_is_a_page(outputs: Path):
    said = call("report", "alone", f"outputs={outputs}")
    assert said.out == f"{outputs}/alone/report.html\n"
    assert "adaptive on dial" in (outputs / "alone" / "report.html").read_text()


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from looper.__main__ import main; main(['compare', '--help']); "
        "heavy = {'pandas', 'scipy', 'matplotlib', 'mlflow'} & set(sys.modules); sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Compares designs on the same tasks and seeds" in done.stdout


def test_hidden_checks_on_every_evaluated_state_tell_what_came_after_the_first_right_one(tmp_path: Path):
    where = (f"outputs={tmp_path}", "sweep=looked", "tracking=none", "holdout=all")
    sweep = ("-m", "+task=sim", "task.instance=1,2,3,4,5,6", "loop=retry,best_of", *where)
    assert call(*sweep).code == 0
    said = call("compare", "looked", f"outputs={tmp_path}")
    assert said.code == 0, said.err
    report = Path(said.out.splitlines()[-1].removeprefix("report: ")).parent
    page = (report / "report.md").read_text()
    assert "Spent after the first state that the hidden checks call right" in page
    assert "Spending after the first correct state is not known" not in page
    rows = list(csv.DictReader(io.StringIO((report / "after_correct.csv").read_text())))
    runs = [json.loads(file.read_text())["outcome"]["facts"] for file in tmp_path.glob("sweeps/looked/*/run.json")]
    assert sum(int(row["n"]) for row in rows) == len(runs) == 12
    right = [facts["first_correct"] for facts in runs if facts["first_correct"]["state"]]
    assert 0 < sum(int(row["ever"]) for row in rows) == len(right) < 12


def test_runs_that_have_ended_without_a_look_at_their_states_are_told(tmp_path: Path):
    sweep = ("-m", "+task=sim", "loop=once", "seed=1,2", f"outputs={tmp_path}", "sweep=one", "tracking=none")
    assert "holdout=all" not in call(*sweep).err
    assert "holdout=all: 2 cells had ended without it, and stay as they are" in call(*sweep, "holdout=all").err
    swept = call(*sweep, "holdout=final,all")
    assert (swept.code, "holdout: this says where" in swept.complaint) == (2, True)


@pytest.mark.parametrize("command", [["+task=dial"], ["-m", "+task=dial", "seed=1,2"]])
def test_another_word_for_holdout_is_refused(tmp_path: Path, command: list[str]):
    said = call(*command, "holdout=some", f"outputs={tmp_path}", "tracking=none")
    assert said.code == 2
    assert "holdout=some: final runs hidden checks on the result alone" in said.err
