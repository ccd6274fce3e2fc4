"""A project as a task: its interface, its gate, what roles are shown, what becomes of an answer (SPEC 0.7, 3.7)."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from project_runs import COUNTED, GIVEN, HIDDEN, PRICED, REFERENCE, project, written

from looper.agents.prompt import Templates
from looper.checks.suite.reports import Broken, SuiteReport, TestResult
from looper.checks.suite.run import Suite
from looper.criteria import Evaluation
from looper.errors import ConfigError
from looper.tasks.project import gate
from looper.tasks.project.states import Edits, Tree
from looper.tasks.project.task import Project
from looper.testing import check_task
from looper.types import Question

ROOT = Path(__file__).parents[1]
CART, PRICE = "a.correctness.tests/test_cart.py", "a.correctness.tests/test_price.py"
FIXED = {
    "shop/cart.py": GIVEN["shop/cart.py"].replace(*COUNTED),
    "shop/price.py": GIVEN["shop/price.py"].replace(*PRICED),
}
TRUE, FALSE = "def test_x():\n    assert True\n", "def test_x():\n    assert False\n"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    task = project(tmp_path_factory.mktemp("shop"))
    yield task
    task.close()


class Opened:
    """Makes tasks on projects of a test, and closes them."""

    def __init__(self, place: Path):
        self.place, self.tasks = place, list[Project]()

    def __call__(self, files: Mapping[str, str] | None = None, **settings: Any) -> Project:
        if files is not None:
            settings["workspace"] = str(written(self.place / "other", dict(files)))
        self.tasks.append(project(self.place, **settings))
        return self.tasks[-1]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    made = Opened(tmp_path)
    yield made
    for task in made.tasks:
        task.close()


def looked(task: Project, changed: Mapping[str, str | None] | None = None) -> tuple[Tree, Evaluation]:
    """The state with its report, and the gate's verdict."""
    state = Tree(changed=dict(changed or {}), report=task.run(changed or {}))
    return state, task.evaluate(state)


def say(**fields: Any) -> Edits:
    return Edits.model_validate(fields)


def price(text: str = FIXED["shop/price.py"]) -> dict[str, str]:
    return {"kind": "file", "path": "shop/price.py", "text": text}


# The interface


def test_it_is_a_task_and_its_hidden_tests_are_in_no_role(opened: Opened):
    check_task(opened(), hidden=[HIDDEN, "test_three_times", "test_hidden"])


def test_the_gate_has_a_rule_for_each_file_of_tests(shop: Project):
    ids = [rule.id for rule in shop.criteria.rules]
    assert ids == [CART, PRICE, "a.correctness.suite", "a.security.tests-intact"]
    _, verdict = looked(shop)
    assert set(verdict.failed) == {CART, PRICE}
    state, verdict = looked(shop, FIXED)
    assert verdict.passed
    assert set(shop.results(state)) == {*(f"tests/test_cart.py::test_{one}" for one in ("one", "twice")),
                                        *(f"tests/test_price.py::test_{one}" for one in ("nothing", "counts")),
                                        "suite"}  # fmt: skip


def test_half_of_the_change_meets_half_of_the_gate(shop: Project):
    _, verdict = looked(shop, {"shop/price.py": FIXED["shop/price.py"]})
    assert verdict.failed == [CART]


def test_hidden_tests_are_asked_at_the_end_alone(shop: Project):
    whole = shop.render(Tree(changed=FIXED))
    verdict = shop.holdout(whole)
    assert verdict is not None
    assert verdict.passed
    half = shop.holdout(shop.render(Tree(changed={"shop/price.py": FIXED["shop/price.py"]})))
    assert half is not None
    assert not half.passed


def test_a_patch_is_read_back_as_the_change_it_was(shop: Project):
    changed: dict[str, str | None] = {**FIXED, "shop/new.py": "x = 1\n", "shop/__init__.py": None}
    text = shop.render(Tree(changed=changed))
    back = shop.parse(text)
    assert back.changed == changed
    assert shop.render(back) == text
    assert back.report is not None
    assert shop.render(Tree()) == ""
    assert shop.render(shop.parse(REFERENCE)) == REFERENCE


def test_notes_say_what_the_tests_said_of_each_failed_rule(shop: Project):
    state, _ = looked(shop)
    notes = shop.notes(state)
    assert set(notes) == {CART, PRICE}
    assert "assert 3 == 6" in notes[CART]
    assert "(tests/test_cart.py:14)" in notes[CART]


# The gate


@pytest.mark.parametrize(
    ("path", "text"),
    [("tests/test_price.py", GIVEN["tests/test_price.py"].replace("== 7", "== 4")), ("tests/test_price.py", None)],
)
def test_tests_that_were_touched_prove_nothing_whoever_touched_them(shop: Project, path: str, text: str | None):
    """The rule holds for states that no answer can lead to, such as a patch that was resumed or given."""
    state, verdict = looked(shop, {**FIXED, path: text})
    assert "a.security.tests-intact" in verdict.failed
    assert path in shop.notes(state)["a.security.tests-intact"]


def test_the_gate_knows_how_the_tests_were_gone_around(shop: Project):
    for changed in (
        {"conftest.py": "collect_ignore = ['tests/test_price.py']\n"},
        {"tests/test_a.py": "import shop.price\nshop.price.total = lambda items: 7\n"},
        {"shop/price.py": "import gc\ngc.get_objects()\n"},
        {"tests/shop/__init__.py": ""},
    ):
        assert shop.tampered(Tree(changed={**changed})), changed


def test_a_test_that_ran_as_given_and_is_skipped_now_has_not_passed(opened: Opened):
    tests = (
        "import pytest\nimport app\n\n\ndef test_a():\n    assert app\n\n\ndef test_b():\n"
        "    fast = pytest.importorskip('fast')\n    assert fast.value == 2\n"
    )
    task = opened({"app.py": "x = 1\n", "fast.py": "value = 1\n", "test_app.py": tests})
    assert looked(task)[1].failed == ["a.correctness.test_app.py"]
    state, verdict = looked(task, {"fast.py": None})
    assert not verdict.passed
    assert "test_b" in str(task.notes(state))


def test_a_file_whose_tests_are_skipped_as_given_is_no_bar(opened: Opened):
    files = {
        "test_a.py": TRUE, "test_needs.py": "import pytest\npytest.importorskip('not_there_at_all')\n",
        "test_tools.py": "VALUE = 1\n", "test_b.py": FALSE,
    }  # fmt: skip
    task = opened(files)
    _, verdict = looked(task)
    assert verdict.failed == ["a.correctness.test_b.py"]


def test_tests_by_another_name_count(opened: Opened):
    task = opened({"pytest.ini": "[pytest]\npython_files = check_*.py\n", "check_a.py": FALSE, "app.py": ""})
    state, verdict = looked(task)
    assert not verdict.passed
    assert "check_a.py" in str(task.notes(state))
    assert task.tampered(Tree(changed={"check_a.py": TRUE}))


@pytest.mark.parametrize("words", [["--junitxml={junit}"], []])
def test_a_command_of_the_users_own_is_believed_by_test_and_not_by_its_start(words: list[str], opened: Opened):
    task = opened(suite=Suite(command=["python", "-m", "pytest", "-q", *words], seconds=20))
    _, verdict = looked(task)
    assert not verdict.passed
    state, verdict = looked(task, FIXED)
    assert verdict.passed, task.results(state)
    assert task.results(state)["suite"].passed
    assert ("tests.test_cart::test_twice" in task.results(state)) == bool(words)


def test_what_the_command_runs_is_not_the_coders_to_change(opened: Opened):
    task = opened({"run.sh": "exit 1\n", "app.py": "x = 1\n"}, suite=Suite(command=["sh", "run.sh"], seconds=20))
    _, verdict = looked(task, {"run.sh": "exit 0\n"})
    assert "a.security.tests-intact" in verdict.failed
    refused = task.apply(Tree(), say(edits=[{"kind": "file", "path": "run.sh", "text": "exit 0\n"}]))
    assert (refused.became, [one.name for one in refused.violations]) == ("refused", ["tests_edited"])


def test_many_files_of_tests_have_a_rule_by_folder(opened: Opened):
    files = {f"{folder}/test_{number}.py": TRUE for folder in ("a", "b/c") for number in range(25)}
    task = opened({**files, "x.py": "", "a/__init__.py": "", "b/c/__init__.py": "", "b/__init__.py": ""})
    ids = [rule.id for rule in task.criteria.rules]
    assert ids == ["a.correctness.a", "a.correctness.b/c", "a.correctness.suite", "a.security.tests-intact"]
    assert looked(task)[1].passed
    assert looked(task, {"b/c/test_3.py": FALSE})[1].failed == ["a.correctness.b/c", "a.security.tests-intact"]


def test_ignored_tests_do_not_count(opened: Opened):
    task = opened(ignored=["tests/test_cart.py", "tests/test_price.py::test_counts"])
    assert CART not in [rule.id for rule in task.criteria.rules]
    state, verdict = looked(task)
    assert verdict.passed
    assert set(task.results(state)) == {"tests/test_price.py::test_nothing", "suite"}


def test_only_some_files_may_be_changed(opened: Opened):
    task = opened(only=["shop/price.py"])
    after = task.apply(Tree(), say(edits=[price()]))
    assert (after.became, after.violations) == ("changed", [])
    beyond = task.apply(Tree(), say(edits=[{"kind": "file", "path": "shop/cart.py", "text": FIXED["shop/cart.py"]}]))
    assert [one.name for one in beyond.violations] == ["outside_scope"]
    assert "a.security.tests-intact" in looked(task, FIXED)[1].failed


# What becomes of an answer


def test_a_change_is_made_and_wants_its_tests_run(shop: Project):
    state, _ = looked(shop)
    after = shop.apply(state, say(edits=[price()], why="counts"))
    assert (after.became, after.changed, after.report) == ("changed", {"shop/price.py": FIXED["shop/price.py"]}, None)
    assert after.last == "changed shop/price.py"
    assert shop.feedback(state, after) > 0


def test_nothing_changed_is_said(shop: Project):
    state, _ = looked(shop)
    there_and_back = [
        {"kind": "passage", "path": "shop/price.py", "find": '"""Prices."""', "replace": "x = 1"},
        {"kind": "passage", "path": "shop/price.py", "find": "x = 1", "replace": '"""Prices."""'},
    ]
    for edits in (there_and_back, [price(GIVEN["shop/price.py"])]):
        after = shop.apply(state, say(edits=edits))
        assert after.became in ("nothing", "refused")
        assert "change" in after.last
        assert (after.changed, after.report) == ({}, state.report)
        assert shop.feedback(state, after) == 0


def test_what_does_not_fit_is_refused_with_its_reason_and_changes_nothing(shop: Project):
    before = Tree(changed={"shop/price.py": FIXED["shop/price.py"]})
    both = [{"kind": "passage", "path": "shop/cart.py", "find": "itemz", "replace": "x"}, price("x = 1\n")]
    after = shop.apply(before, say(edits=both))
    assert (after.became, after.changed) == ("refused", before.changed)
    assert "shop/cart.py" in after.last


def test_a_foul_is_refused_by_name_and_the_reason_is_said(shop: Project):
    after = shop.apply(Tree(), say(edits=[price(), {"kind": "delete", "path": "tests/test_cart.py"}]))
    assert (after.became, after.changed) == ("refused", {})
    assert [(one.name, one.foul) for one in after.violations] == [("tests_deleted", True)]
    assert after.last.startswith("refused: not allowed: removes or empties files of the tests: tests/test_cart.py")


def test_files_that_are_wanted_are_shown_from_then_on(shop: Project):
    once = shop.apply(Tree(), say(look_at=["shop/price.py", "no.py"]))
    assert (once.became, once.shown) == ("asked", ["shop/price.py"])
    assert once.last == "shows shop/price.py; there is no no.py"
    twice = shop.apply(once, say(look_at=["shop/cart.py", "shop/price.py"]))
    assert twice.shown == ["shop/cart.py", "shop/price.py"]
    assert shop.apply(twice, say(edits=[price()])).shown == twice.shown


def test_a_question_is_handed_on(shop: Project):
    after = shop.apply(Tree(), say(needs_clarification="Gross or net?"))
    assert (after.became, after.last, after.changed) == ("clarify", "Gross or net?", {})


@pytest.mark.parametrize(
    "fields", [{}, {"done": True, "look_at": ["a"]}, {"look_at": ["a"] * 9}, {"needs_clarification": " "}]
)
def test_an_answer_is_exactly_one_thing(fields: dict[str, Any]):
    with pytest.raises(ValueError, match=r"exactly one|at most 8"):
        say(**fields)


# What roles are shown


def templates() -> Templates:
    shipped = yaml.safe_load((ROOT / "conf/task/project/_base.yaml").read_text())["prompts"]
    return Templates(prompts=shipped)


def prompt(task: Project, state: Tree, step: str = "code") -> str:
    """What a model in the coder's place reads, of a task with everything that can be told about it."""
    long = "x" * 200
    planned = {"title": "mend it", "description": long, "criteria": ["it is right"], "checks": ["tests/test_price.py"]}
    cycle = {"number": 0, "approach": long, "score": 50, "failed": {"a": long}, "violations": [], "problems": [long]}
    context = {
        "state": state, "planned": planned, "attempts": [{"ended": "rejected", "reason": long, "cycles": [cycle]}],
        "cycles": [cycle], "escalation": "correct", "rulings": [], "answers": [], "refused": "", "tests": ["a"],
        "note": "",
        **dict(task.prepare()), **task.workshop.desk(state, "price total", planned["checks"]),
    }  # fmt: skip
    asked = Question(role="coder", step=step, key=f"{step}.1", context=context, returns=task.answer(step), task=task)
    return "\n".join(message["content"] for message in templates().messages(asked))


def test_a_coder_reads_the_task_the_map_what_fails_and_the_files(shop: Project):
    state, _ = looked(shop)
    read = prompt(shop, state)
    for words in (
        "mend it",
        "it is right",
        "def total(items)",
        "assert 4 == 7",
        "tests/test_price.py:9",
        "shop/cart.py",
    ):
        assert words in read, words
    assert "test_hidden" not in read
    assert "test_three_times" not in read


def test_a_prompt_keeps_to_its_tokens_whatever_the_size_of_the_project(opened: Opened):
    body = "".join(f"def work_{n}(total, price):\n    return total * price + {n}\n\n\n" for n in range(90))
    files = {f"shop/part_{n}.py": body for n in range(60)} | {"README.md": "price " * 20_000, **GIVEN}
    failing = "".join(f"def test_{n}():\n    assert '{'y' * 700}' == '{n}'\n\n\n" for n in range(60))
    task = opened({**files, "tests/test_long.py": failing}, prompt_tokens=4000)
    state, _ = looked(task)
    state = state.model_copy(update={"shown": [f"shop/part_{n}.py" for n in range(8)]})
    for step in ("code", "write"):
        assert len(prompt(task, state, step)) <= 4000 * 4 * 1.2


# Refusals


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"app.py": "x = 1\n"}, "no test was found"),
        ({"tests/test_a.py": "import nothing_like_it\n"}, None),
        ({"test_a.py": TRUE, "conftest.py": "import nothing_like_it\n"}, "conftest.py"),
        ({"test_a.py": TRUE, "pytest.ini": "[pytest]\naddopts = --no-such-option\n"}, "--no-such-option"),
    ],
)  # fmt: skip
def test_tests_that_give_no_verdict_are_refused_with_the_reason(
    files: dict[str, str], words: str | None, opened: Opened
):
    task = opened(files)
    if words is None:
        assert task.prepare().fails_as_given
    else:
        with pytest.raises(ConfigError, match=words):
            task.prepare()


# Hidden tests


def hidden(
    *outcomes: str, broken: tuple[str, ...] = (), problem: str = "", tampered: tuple[str, ...] = ()
) -> Evaluation:
    tests: Any = [TestResult.model_validate({"id": f"h.py::test_{n}", "outcome": o}) for n, o in enumerate(outcomes)]
    files = {"b.py": "def test_a(): pass\n\n\nasync def test_b(): pass\n"}
    report = SuiteReport(tests=tests, broken=[Broken(file=file, text="x") for file in broken], problem=problem)
    return gate.hidden_verdict(report, files, tampered)


def test_a_hidden_test_that_is_skipped_has_not_passed() -> None:
    verdict = hidden("passed", "skipped", "skipped", "passed")
    assert (verdict.score, verdict.passed) == (0.5, False)
    assert hidden("passed", "passed").passed


def test_a_hidden_file_that_breaks_weighs_as_many_tests_as_it_has() -> None:
    assert hidden("passed", "passed", broken=("b.py",)).score == 0.5


def test_altered_results_and_tampering_count_for_nothing() -> None:
    assert hidden("passed", problem="results were altered").score == 0
    assert hidden("passed", tampered=("runner_tampered: x",)).score == 0
    late = hidden("passed", "error", problem="the tests did not end within 4 s")
    assert (late.score, late.passed) == (0.5, False)
    assert hidden().score == 0, "no hidden test ran"
