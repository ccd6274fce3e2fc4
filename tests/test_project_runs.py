"""Whole runs on projects, as a user starts them: a scripted model on loopback, simulations, kills, wrong input."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from command_line import call
from players import in_child
from project_models import Ran, coded, commanded, edits, file, passage, ran
from project_runs import COUNTED, GIVEN, HIDDEN, PRICED, REFERENCE, project, written

from looper.checks.suite.reports import SuiteReport, TestResult
from looper.journal import Journal
from looper.tasks.project import task as module
from looper.tasks.project.states import Edits, Tree
from looper.types import Question

BOOKS = {
    "books/__init__.py": "",
    "books/money.py": '''"""Amounts in cents."""


def cents(text):
    return round(float(text) * 100)


def shown(amount):
    return f"{amount / 100:.2f}"
''',
    "books/reading.py": '''"""Lines like `2024-01-31;rent;-800.00`."""

from books.entry import Entry
from books.money import cents


def read_line(line):
    date, what, amount = line.strip().split(";")
    return Entry(date, what, cents(amount.lstrip("-")))


def read(text):
    return [read_line(line) for line in text.splitlines() if line.strip()]
''',
    "books/entry.py": '''"""One booking."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    date: str
    what: str
    amount: int
''',
    "books/ledger.py": '''"""Bookings in order."""


class Ledger:
    def __init__(self, entries):
        self.entries = sorted(entries, key=lambda entry: entry.date)

    def balance(self):
        return sum(entry.amount for entry in self.entries)
''',
    "books/report.py": '''"""What a month came to."""

from books.money import shown


def by_month(ledger):
    months = {}
    for entry in ledger.entries:
        months[entry.date[:7]] = entry.amount
    return {month: shown(amount) for month, amount in months.items()}
''',
    "books/tables.py": '''"""Text in columns."""


def table(rows):
    width = max((len(name) for name in rows), default=0)
    return "\\n".join(f"{name:<{width}} {value:>10}" for name, value in rows.items())
''',
    "books/__main__.py": '''"""books FILE"""

import sys
from pathlib import Path

from books.ledger import Ledger
from books.reading import read
from books.report import by_month
from books.tables import table

print(table(by_month(Ledger(read(Path(sys.argv[1]).read_text())))))
''',
    "tests/test_reading.py": """from books.reading import read, read_line


def test_income():
    assert read_line("2024-01-31;pay;2000.00").amount == 200000


def test_spending():
    assert read_line("2024-01-31;rent;-800.00").amount == -80000


def test_thousands():
    assert read_line("2024-01-31;pay;2,000.00").amount == 200000


def test_empty_lines():
    assert read("\\n\\n") == []
""",
    "tests/test_report.py": """from books.entry import Entry
from books.ledger import Ledger
from books.report import by_month


def test_balance():
    assert Ledger([Entry("2024-01-02", "a", 2), Entry("2024-01-01", "b", 1)]).balance() == 3


def test_months_are_sums():
    entries = [Entry("2024-01-01", "a", 150), Entry("2024-01-02", "b", -50), Entry("2024-02-01", "c", 5)]
    assert by_month(Ledger(entries)) == {"2024-01": "1.00", "2024-02": "0.05"}
""",
}
"""Eight modules; amounts lose their sign and their thousands where they are read, months keep the last entry alone."""
SIGN = passage("books/reading.py", 'cents(amount.lstrip("-"))', "cents(amount)")
THOUSANDS = passage("books/money.py", "float(text)", 'float(text.replace(",", ""))')
SUMS = passage(
    "books/report.py", "months[entry.date[:7]] = entry.amount",
    "months[entry.date[:7]] = months.get(entry.date[:7], 0) + entry.amount",
)  # fmt: skip


def todo(key: str, title: str, *checks: str, after: Sequence[str] = ()) -> dict[str, Any]:
    return {"key": key, "title": title, "criteria": [f"{title} works"], "checks": list(checks), "after": list(after)}


READING, REPORT = "tests/test_reading.py", "tests/test_report.py"
PLAN = {
    "approach": "inside out",
    "tasks": [
        todo("reading", "amounts are read", READING), todo("months", "months are sums", REPORT, after=["reading"]),
        todo("whole", "everything together", READING, REPORT, after=["reading", "months"]),
    ],
}  # fmt: skip
PARTS = {
    "tasks": [
        todo("sign", "signs are kept", f"{READING}::test_spending"),
        todo("comma", "thousands are read", f"{READING}::test_thousands", after=["sign"]),
    ]
}


def counted(prompt: str) -> dict[str, Any]:
    """A tester that reads the counts it is given, and judges the checks of the task alone."""
    found = re.search(r"(\d+) of (\d+) checks pass", prompt)
    assert found
    passed, total = int(found[1]), int(found[2])
    own = prompt.partition("The checks of the task:")[2].partition("Everything that does not pass:")[0]
    done = all(line.endswith(": passed") for line in own.splitlines() if line.startswith("tests"))
    return {"status": "passed" if done else "failed", "passed": passed, "failed": total - passed}


SCRIPT: Mapping[str, Any] = {
    "tasks": [{**PLAN, "tasks": PLAN["tasks"][:2]}, PLAN, PARTS],
    "review_plan": [{"score": 90}, {"score": 90}],
    "code": [
        edits(passage("books/reading.py", '.lstrip("-")', '.lstrip("+")'), why="another sign", claims_pass=True),
        edits(passage("books/reading.py", '.lstrip("+")', '.lstrip("-+")'), why="both signs"),
        edits(SIGN, why="keep the sign"), {"look_at": ["books/money.py"]}, edits(THOUSANDS, why="drop the commas"),
        edits(passage("books/report.py", "] = entry.amount", "] = -entry.amount"), why="a guess"),
        edits(passage("books/report.py", "] = -entry.amount", "] = months.get(entry.date[:7], 0) + entry.amount")),
    ],
    "test": lambda prompt: counted(prompt),
    "diagnose": [{"verdict": "REPLAN", "reason": "two things at once", "advice": "one by one"}],
    "verify": [{"score": 95}],
    "review_work": [{"score": 90}],
}  # fmt: skip


def git(folder: Path, *words: str) -> str:
    alone = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.resolve().parent), "GIT_CONFIG_GLOBAL": os.devnull}
    return subprocess.run(["git", *words], cwd=folder, env=alone, check=True, capture_output=True, text=True).stdout


def files(folder: Path) -> dict[str, str]:
    """Texts by path, without git's own and caches."""
    found = [path for path in folder.rglob("*") if path.is_file() and ".git" not in path.relative_to(folder).parts]
    return {path.relative_to(folder).as_posix(): path.read_text() for path in found if path.suffix != ".pyc"}


# A project of several modules, and a model in every role


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    place = tmp_path_factory.mktemp("books")
    return ran(place, written(place / "project", BOOKS), SCRIPT, "loop.max_fix_cycles=1")


def test_a_seeded_fault_is_mended_through_plan_failure_replan_and_verification(whole: Ran):
    assert whole.said.code == 0, whole.said.err
    assert whole.end == ("completed", "verified")
    asked = [step for step, _ in whole.model.asked if step != "test"]
    assert asked == [
        "tasks", "review_plan", "tasks", "review_plan", "code", "code", "diagnose", "tasks", "code", "code", "code",
        "code", "code", "verify",
    ]  # fmt: skip
    assert [(one["said"], one["verdict"]) for one in whole.notes("diagnosed")] == [("REPLAN", "REPLAN")]


def test_the_tree_of_tasks_is_in_run_json(whole: Ran):
    rows = {row["id"]: (row["state"], row["attempts"]) for row in whole.state["outcome"]["facts"]["tasks"]}
    assert rows == {
        "1": ("completed", 1), "1.1": ("completed", 1), "1.2": ("completed", 1), "2": ("completed", 1),
        "3": ("completed", 0),
    }  # fmt: skip
    assert [row["id"] for row in whole.state["tasks"]] == list(rows)


def test_each_finished_task_is_a_commit_on_the_runs_branch(whole: Ran):
    workspace = whole.folder / "workspace"
    log = git(workspace, "log", "--format=%s").splitlines()
    assert log == ["2 months are sums", "1.2 thousands are read", "1.1 signs are kept", "the project as given"]
    assert git(workspace, "symbolic-ref", "--short", "HEAD").strip() == f"looper/{whole.folder.name}"
    assert git(workspace, "status", "--porcelain") == ""


def test_the_patch_applies_with_git_and_gives_the_workspace(whole: Ran, tmp_path: Path):
    copy = written(tmp_path / "copy", BOOKS)
    git(copy, "apply", str(whole.folder / "patch.diff"))
    assert files(copy) == files(whole.folder / "workspace")
    assert files(copy)["books/report.py"] != BOOKS["books/report.py"]


def test_the_users_folder_is_as_it_was(whole: Ran):
    assert files(whole.folder.parents[1] / "project") == BOOKS


def test_every_feedback_is_in_the_next_prompt_of_the_coder(whole: Ran):
    prompts = whole.model.prompts("code")
    assert "claimed_pass" in prompts[1]
    assert "could not convert string to float: '2,000.00'" in prompts[1]
    assert "one by one" in whole.model.prompts("tasks")[2]
    assert "another sign" in whole.model.prompts("diagnose")[0]
    assert '.lstrip("-")' in prompts[2], "the failed attempt was rolled back"
    assert "def cents(text)" in prompts[4]


# Handing over


def simulated(
    place: Path, *settings: str, skill: float = 1.0, loop: str = "workflow", folder: Path | None = None
) -> Ran:
    (place / "reference.patch").write_text(REFERENCE)
    (place / "hidden.py").write_text(HIDDEN)
    more = ("confirm=yes",) if loop == "reflex" else ()
    return commanded(
        place, folder or written(place / "project"), "model=simulated", f"model.skill={skill}",
        f"task.reference={place / 'reference.patch'}", *more, *settings, loop=loop,
    )  # fmt: skip


def test_in_place_holds_under_every_design(tmp_path: Path):
    run = simulated(tmp_path, "task.in_place=true", loop="adaptive")
    assert run.end[0] == "completed"
    assert COUNTED[1] in (tmp_path / "project/shop/cart.py").read_text()


def test_in_place_the_result_is_in_the_users_folder(tmp_path: Path):
    run = simulated(tmp_path, "task.in_place=true")
    assert run.end == ("completed", "verified")
    found = files(tmp_path / "project")
    assert COUNTED[1] in found["shop/cart.py"]
    assert found == files(run.folder / "workspace")


def test_a_worktree_leaves_a_branch_in_the_users_repository(tmp_path: Path):
    folder = written(tmp_path / "project")
    for words in (
        ["init", "-q", "-b", "main"],
        ["add", "-A"],
        ["-c", "user.name=u", "-c", "user.email=u@x", "commit", "-qm", "x"],
    ):
        git(folder, *words)
    run = simulated(tmp_path, "task.checkout=worktree", folder=folder)
    assert run.end == ("completed", "verified")
    assert f"looper/{run.folder.name}" in git(folder, "branch", "--list", "looper/*")
    assert str(run.folder / "workspace") in git(folder, "worktree", "list")
    assert COUNTED[1] in git(folder, "show", f"looper/{run.folder.name}:shop/cart.py")
    assert files(folder) == GIVEN
    assert git(folder, "status", "--porcelain") == ""


def test_files_that_the_user_changed_meanwhile_are_never_overwritten(tmp_path: Path):
    folder = written(tmp_path / "project")

    def answer(prompt: str) -> Mapping[str, Any]:
        (folder / "shop/cart.py").write_text("mine\n")
        return edits(passage("shop/price.py", *PRICED), passage("shop/cart.py", *COUNTED))

    run = coded(tmp_path, folder, answer, "task.in_place=true")
    assert "shop/cart.py changed since the run began, so nothing was written" in run.said.out
    assert (folder / "shop/cart.py").read_text() == "mine\n"
    assert (folder / "shop/price.py").read_text() == GIVEN["shop/price.py"]
    assert run.said.code == 0, "the goal is verified; where it was to be put is another matter"
    assert COUNTED[1] in (run.folder / "patch.diff").read_text()


# Kills


def quick(
    suite: Any, sandbox: Any, base: Path, changed: Mapping[str, str | None], select: Sequence[str] = ()
) -> SuiteReport:
    """The tests as functions of the texts: what a kill does to a run does not depend on what runs them."""
    texts = {**GIVEN, **changed}
    counted, priced = COUNTED[1] in (texts["shop/cart.py"] or ""), PRICED[1] in (texts["shop/price.py"] or "")
    said = {
        "tests/test_cart.py::test_one": True, "tests/test_cart.py::test_twice": counted,
        "tests/test_cart.py::test_priced": priced, "tests/test_price.py::test_nothing": True,
        "tests/test_price.py::test_counts": priced,
    }  # fmt: skip
    tests = [
        TestResult(id=name, outcome="passed" if ok else "failed", text="" if ok else "no") for name, ok in said.items()
    ]
    return SuiteReport(tests=tests, ran="quick")


def stubborn(self: Any, question: Question, skill: float, dice: Any) -> Edits:
    """A coder that fails twice in the same way, and does the parts of the task once it was broken up."""
    planned, tries = question.context["planned"], len(question.context["attempts"])
    state: Tree = question.context["state"]
    if len(planned.checks) > 1 and "::" in planned.checks[0]:
        text = self.source.text("shop/__init__.py", state.changed)
        return Edits.model_validate(edits(file("shop/__init__.py", f"{text}# try {tries}\n"), why="no idea"))
    path, change = ("shop/price.py", PRICED) if "priced" in planned.checks[0] else ("shop/cart.py", COUNTED)
    return Edits.model_validate(edits(passage(path, *change), why=f"mend {path}"))


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "run_suite", quick)
    monkeypatch.setattr(module.Project, "simulate", stubborn)


def replanned(place: Path) -> Ran:
    return simulated(place, "loop.max_fix_cycles=0", folder=place / "project")


def killed(place: Path, at: int) -> Path:
    """A run whose process dies by SIGKILL right after the line of this number; its folder."""

    def work() -> None:
        append, left = Journal.append, [at]

        def dying(self: Journal, *arguments: Any, **more: Any) -> Any:
            event = append(self, *arguments, **more)
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return event

        Journal.append = dying  # of this process alone, which dies
        replanned(place)

    _, status = os.waitpid(in_child(work), 0)
    assert os.WIFSIGNALED(status), status
    return next(path for path in (place / "outputs").glob("*-*"))


def ended(run: Path) -> dict[str, Any]:
    outcome = json.loads((run / "run.json").read_text())["outcome"]
    kept = {key: outcome[key] for key in ("status", "reason", "score", "passed", "facts")}
    return kept | {"patch": (run / "patch.diff").read_text()}


@pytest.mark.usefixtures("scripted")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_killed_anywhere_it_ends_the_same_and_the_workspace_agrees_with_the_journal(tmp_path: Path):
    written(tmp_path / "whole" / "project")
    unkilled = replanned(tmp_path / "whole")
    assert unkilled.end == ("completed", "verified"), unkilled.said.err
    assert "REPLAN" in [one["verdict"] for one in unkilled.notes("diagnosed")]
    lines, log = len(unkilled.events), git(unkilled.folder / "workspace", "log", "--format=%H %s")
    assert log.count("\n") >= 3
    for number, at in enumerate(range(3, lines, max(1, lines // 8))):
        place = tmp_path / f"killed-{at}"
        written(place / "project")
        run = killed(place, at)
        if number % 2 and (run / "workspace").exists():
            torn(run / "workspace")
        resumed = call("resume", run.name, f"outputs={run.parent}")
        assert resumed.code == 0, (at, resumed.err)
        assert ended(run) == ended(unkilled.folder), at
        workspace = run / "workspace"
        assert git(workspace, "log", "--format=%H %s") == log, at
        assert git(workspace, "status", "--porcelain", "--ignored") == "", at
        last = [event["payload"] for event in Ran(resumed, run, unkilled.model).events if event["step"] == "commit"][-1]
        assert git(workspace, "rev-parse", "HEAD").strip() == last, at
        shutil.rmtree(place)


def torn(workspace: Path) -> None:
    """A checkout that was cut off: files are missing, half written and left over, and git's lock was left."""
    (workspace / "shop/cart.py").unlink()
    (workspace / "shop/price.py").write_text("half")
    (workspace / "left_over.py").write_text("x = 1\n")
    (workspace / ".git/index.lock").touch()


# Size


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of a thousand files."""
    folder = written(tmp_path_factory.mktemp("large") / "project")
    body = "".join(
        f'def work_{n}(total, price, count=1):\n    """The price of {n}."""\n    return total + price * count\n\n\n'
        for n in range(12)
    )
    for number in range(1000):
        path = folder / f"part_{number % 40:02}" / f"module_{number}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'"""Part {number}."""\n\nimport shop.price\n\n\n{body}')
    return folder


def test_a_project_of_a_thousand_files_is_shown_in_time_and_within_its_tokens(large: Path, tmp_path: Path):
    small, huge = project(tmp_path), project(tmp_path, workspace=str(large), prompt_tokens=3000)
    seconds = []
    for task in (small, huge):
        brief = task.prepare()
        began = time.perf_counter()
        report = task.run({})
        seconds.append(time.perf_counter() - began)
        began = time.perf_counter()
        desk = task.workshop.desk(Tree(report=report), "price of the cart", ["tests/test_price.py"])
        assert time.perf_counter() - began < 2
        shown = len(brief.repository) + sum(len(path) + len(text) for path, text in desk["files"].items())
        assert shown + len(desk["map"]) <= task.prompt_tokens * 4 * 1.2
        assert "shop/price.py" in desk["files"]
    assert seconds[1] - seconds[0] < 2
    small.close()
    huge.close()


def test_a_run_on_it_ends(large: Path, tmp_path: Path):
    answer = edits(passage("shop/price.py", *PRICED), passage("shop/cart.py", *COUNTED))
    run = coded(tmp_path, large, [answer], "task.prompt_tokens=3000")
    assert run.end == ("completed", "verified")
    assert all(len(prompt) <= 3000 * 4 * 1.2 for _, prompt in run.model.asked)


# The tester


def test_a_testers_own_test_is_run_and_counts_and_coverage_is_shown(tmp_path: Path):
    free = "from shop.price import total\n\n\ndef test_free():\n    assert total([(2, 5), (0, 5)]) == 10\n"
    wrong = [edits(passage("shop/price.py", "sum(price for price", "sum(price * min(count, 2) for price"))]
    right = edits(
        passage("shop/price.py", "price * min(count, 2) for", "price * count for"), passage("shop/cart.py", *COUNTED)
    )
    plan = {"tasks": [todo("a", "prices", "tests/test_price.py::test_nothing"), todo("b", "cart", "tests/test_cart.py"),
                      todo("c", "all", "tests/test_price.py")]}  # fmt: skip
    adds = {"status": "passed", "add": [{"name": "test_free.py", "text": free}]}
    plan["tasks"][0]["checks"] = ["tests/test_price.py::test_counts"]

    def answers(prompt: str) -> Mapping[str, Any]:
        return adds if "test_free" not in prompt else counted(prompt)

    script = {
        "tasks": [plan], "review_plan": [{"score": 90}], "code": [*wrong, right], "test": answers,
        "diagnose": [{"verdict": "RETRY", "reason": "again"}], "verify": [{"score": 90}],
    }  # fmt: skip
    run = ran(tmp_path, written(tmp_path / "project"), script, "task.suite.coverage=[shop]")
    assert "shop/price.py: 100%" in run.model.prompts("test")[0]
    assert "shop/cart.py" in run.model.prompts("test")[0]
    assert "tests_by_looper/test_free.py::test_free" in run.model.prompts("code")[1]
    assert run.end == ("completed", "verified"), run.said.err
    assert "tests_by_looper/test_free.py" in files(run.folder / "workspace")


def test_a_command_of_the_users_own_decides_by_its_report(tmp_path: Path):
    run = simulated(tmp_path, "task.suite.command=[python,-m,pytest,'--junitxml={junit}']")
    assert run.end == ("completed", "verified"), run.said.err
    assert COUNTED[1] in files(run.folder / "workspace")["shop/cart.py"]
    assert PRICED[1] in files(run.folder / "workspace")["shop/price.py"]


# The other designs


@pytest.mark.parametrize("loop", ["adaptive", "baseline", "reflex"])
def test_every_other_design_reaches_the_gate_with_good_roles(loop: str, tmp_path: Path):
    run = simulated(tmp_path, loop=loop)
    assert run.end[0] == "completed", run.said.err
    assert run.state["outcome"]["passed"]
    assert COUNTED[1] in (run.folder / "patch.diff").read_text()


@pytest.mark.parametrize("loop", ["adaptive", "baseline", "reflex", "once"])
def test_with_bad_roles_every_other_design_ends_by_name(loop: str, tmp_path: Path):
    run = simulated(tmp_path, "budget.outer=20", "budget.inner=5", skill=0.0, loop=loop)
    assert run.end[0] in ("stopped", "failed", "completed"), run.said.err
    assert run.end[1]
    assert (run.end[0] == "completed") == run.state["outcome"]["passed"]


# Wrong input


@pytest.mark.parametrize(
    ("workspace", "settings", "words"),
    [
        ("missing", [], "there is no such file or folder"),
        ("file.txt", [], "give the folder of the project"),
        ("empty", [], "holds no file"),
        ("untested", [], "no test was found"),
        ("project", ["task.suite.command=[no-such-command]"], "no-such-command"),
        ("project", ["task.suite.paths=[nowhere]"], "nowhere"),
        ("project", ["+task.colour=red"], "colour"),
        ("project", ["task.checkout=worktree"], "git repository"),
        ("project", ["task.checkout=zip"], "checkout"),
    ],
)  # fmt: skip
def test_wrong_input_is_one_sentence_and_leaves_no_run(workspace: str, settings: list[str], words: str, tmp_path: Path):
    written(tmp_path / "project")
    (tmp_path / "empty").mkdir()
    (tmp_path / "file.txt").write_text("x")
    written(tmp_path / "untested", {"app.py": "x = 1\n"})
    said = call(
        "+task=project", f"task.workspace={tmp_path / workspace}", "loop=workflow", "model=simulated", "tracking=none",
        f"outputs={tmp_path / 'outputs'}", *settings,
    )  # fmt: skip
    assert said.code == 2, said.err
    assert words in said.refusal
    left = [path.name for path in (tmp_path / "outputs").glob("*")] if (tmp_path / "outputs").exists() else []
    assert left == []
