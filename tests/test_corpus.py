"""The shipped programs are what they claim to be: faulty, repairable, and not to be fooled by an overfitted patch.

The programs are our own, so they run in this process; a step limit ends those that loop for ever.
"""

import ast
import difflib
import json
import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
CORPUS = ROOT / "looper" / "tasks" / "repair" / "corpus"
CONFIGS = ROOT / "conf" / "task" / "repair"
REFERENCE = Path(__file__).parent / "corpus"
NAMES = sorted(folder.name for folder in CORPUS.iterdir() if (folder / "program.py").exists())
MAX_LINES = 2_000
"""Lines of a program that one test may run; the reference fixes need less than 300."""


class StepLimit(BaseException):
    """The program ran more lines than a test may; not an `Exception`, so that no program can swallow it."""


def limited(run: Callable[[], object]) -> object:
    """What `run` returns; StepLimit once it has run MAX_LINES lines."""
    steps = 0

    def count(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal steps
        steps += event == "line"
        if steps > MAX_LINES:
            raise StepLimit
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        return run()
    finally:
        sys.settrace(before)


def compiled(path: Path) -> CodeType:
    return compile(path.read_text(encoding="utf-8"), str(path), "exec")


def meta(name: str) -> dict[str, Any]:
    return json.loads((CORPUS / name / "meta.json").read_text(encoding="utf-8"))


def cases(name: str, which: str) -> list[Any]:
    text = (CORPUS / name / f"{which}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def passed(run: Callable[[], object]) -> bool:
    try:
        return bool(limited(run))
    except (Exception, StepLimit):  # A faulty program may raise anything: that is what is being counted.
        return False


def case_results(program: ModuleType, name: str, which: str) -> list[bool]:
    function = getattr(program, meta(name)["function"])
    return [passed(lambda a=args, e=expected: function(*a) == e) for args, expected in cases(name, which)]


def script_results(program: ModuleType, name: str, which: str, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    monkeypatch.setitem(sys.modules, "program", program)
    script: dict[str, Any] = {}
    exec(compiled(CORPUS / name / f"{which}.py"), script)
    return [passed(lambda t=test: t() is None) for key, test in script.items() if key.startswith("test_")]


class Bench:
    """Runs a version of a program against its visible (`tests`) or hidden tests."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.monkeypatch = monkeypatch

    def results(self, name: str, which: str, path: Path | None = None) -> list[bool]:
        """One verdict for each case or test function."""
        program = ModuleType("program")
        exec(compiled(path or CORPUS / name / "program.py"), program.__dict__)
        if meta(name)["function"]:
            return case_results(program, name, which)
        return script_results(program, name, which, self.monkeypatch)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(monkeypatch)


def reference(kind: str) -> list[str]:
    return sorted({path.name.split(".")[0] for path in (REFERENCE / kind).glob("*.py")})


def count_tests(name: str, which: str) -> int:
    """Cases, or asserts of a script, each of which is a test of its own."""
    if meta(name)["function"]:
        return len(cases(name, which))
    tree = ast.parse((CORPUS / name / f"{which}.py").read_text(encoding="utf-8"))
    return sum(isinstance(node, ast.Assert) for node in ast.walk(tree))


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_is_complete(name: str) -> None:
    ending = "jsonl" if meta(name)["function"] else "py"
    found = {path.name for path in (CORPUS / name).iterdir() if path.is_file()}
    assert found == {"program.py", "meta.json", f"tests.{ending}", f"hidden.{ending}"}


def test_every_program_has_a_config_and_every_config_a_program() -> None:
    configs = {path.stem: path.read_text(encoding="utf-8") for path in CONFIGS.glob("*.yaml")}
    shipped = {stem for stem, text in configs.items() if "/_shipped@_here_" in text}
    assert shipped == set(NAMES)
    for name in NAMES:
        summary, *rest = configs[name].splitlines()
        assert re.fullmatch(r"# [A-Z].*\.", summary), name
        assert rest == ['defaults: ["/task/repair/_shipped@_here_", _self_]', f"name: {name}"]


@pytest.mark.parametrize("name", NAMES)
def test_meta_says_what_is_wrong_but_not_where(name: str) -> None:
    about = meta(name)
    assert set(about) == {"goal", "function", "kinds", "edits"}
    assert about["goal"].endswith(".")
    assert about["edits"] == len(about["kinds"])
    assert not re.search(r"[\d`=<>()]", " ".join([about["goal"], *about["kinds"]]))


@pytest.mark.parametrize("name", NAMES)
def test_a_program_is_small_and_says_what_it_should_do(name: str) -> None:
    source = (CORPUS / name / "program.py").read_text(encoding="utf-8")
    assert 8 <= len(source.splitlines()) <= 45
    assert any(
        isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) for node in ast.parse(source).body
    )


@pytest.mark.parametrize("name", NAMES)
def test_there_are_enough_tests_and_the_hidden_ones_are_others(name: str) -> None:
    assert 5 <= count_tests(name, "tests") <= 12
    assert 10 <= count_tests(name, "hidden") <= 25
    if meta(name)["function"]:
        asked = [json.dumps(args) for which in ("tests", "hidden") for args, _ in cases(name, which)]
        assert len(asked) == len(set(asked))


@pytest.mark.parametrize("name", NAMES)
def test_the_program_is_faulty_but_not_broken(name: str, bench: Bench) -> None:
    visible = bench.results(name, "tests")
    assert any(visible)
    assert not all(visible)
    assert not all(bench.results(name, "hidden"))


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_fix_passes_everything(name: str, bench: Bench) -> None:
    fixed = REFERENCE / "fixed" / f"{name}.py"
    assert all(bench.results(name, "tests", fixed))
    assert all(bench.results(name, "hidden", fixed))


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_fix_is_small(name: str) -> None:
    faulty = (CORPUS / name / "program.py").read_text(encoding="utf-8").splitlines()
    fixed = (REFERENCE / "fixed" / f"{name}.py").read_text(encoding="utf-8").splitlines()
    changed = sum(line[0] in "+-" for line in difflib.ndiff(faulty, fixed))
    assert 1 <= changed <= 3 * meta(name)["edits"]


@pytest.mark.parametrize("name", reference("halves"))
def test_two_edits_are_needed_and_one_alone_already_helps(name: str, bench: Bench) -> None:
    faulty = sum(bench.results(name, "tests"))
    halves = [bench.results(name, "tests", REFERENCE / "halves" / f"{name}.{half}.py") for half in "ab"]
    assert meta(name)["edits"] == 2
    assert not any(all(half) for half in halves)
    assert not any(all(bench.results(name, "hidden", REFERENCE / "halves" / f"{name}.{half}.py")) for half in "ab")
    assert max(sum(half) for half in halves) > faulty


@pytest.mark.parametrize("name", reference("overfit"))
def test_the_hidden_tests_catch_a_patch_that_only_fits_the_visible_ones(name: str, bench: Bench) -> None:
    overfit = REFERENCE / "overfit" / f"{name}.py"
    assert all(bench.results(name, "tests", overfit))
    assert not all(bench.results(name, "hidden", overfit))


def test_the_corpus_is_large_and_varied() -> None:
    kinds = Counter(kind for name in NAMES for kind in set(meta(name)["kinds"]))
    assert len(NAMES) >= 30
    assert len(kinds) >= 12
    assert max(kinds.values()) <= 4
    assert sum(meta(name)["function"] is None for name in NAMES) >= 6
    assert len(reference("overfit")) >= 15
    assert set(reference("halves")) == {name for name in NAMES if meta(name)["edits"] == 2}
    assert len(reference("halves")) >= 6
    assert reference("fixed") == NAMES
    assert set(reference("overfit")) <= set(NAMES)
