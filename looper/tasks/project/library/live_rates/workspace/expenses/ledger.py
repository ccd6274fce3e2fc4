"""The ledger: a CSV file with one expense per line."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path

from expenses import money

COLUMNS = ("day", "person", "what", "category", "amount")


class LedgerError(Exception):
    """A ledger that cannot be read. The message names file and line."""


@dataclass(frozen=True)
class Expense:
    """One line of the ledger."""

    day: date
    person: str
    what: str
    category: str
    amount: Decimal


def read(path: Path) -> list[Expense]:
    """All expenses of a ledger, in the order of its lines. Raises LedgerError at the first line that is wrong."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            _require_columns(path, reader.fieldnames or [])
            return [_expense(path, reader.line_num, row) for row in reader]
    except OSError as error:
        raise LedgerError(f"{path}: cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise LedgerError(f"{path}: is not a CSV file in UTF-8: {error}") from error


def of_month(expenses: Iterable[Expense], month: str) -> list[Expense]:
    """Expenses of a month such as `2024-05`."""
    return [expense for expense in expenses if f"{expense.day:%Y-%m}" == month]


def _require_columns(path: Path, names: Iterable[str]) -> None:
    missing = [column for column in COLUMNS if column not in names]
    if missing:
        raise LedgerError(f"{path}:1: the header lacks {', '.join(missing)}")


def _expense(path: Path, line: int, row: dict[str, str | None]) -> Expense:
    try:
        return Expense(
            day=date.fromisoformat(_field(row, "day")),
            person=_field(row, "person"),
            what=_field(row, "what"),
            category=_field(row, "category").lower(),
            amount=money.parse(_field(row, "amount")),
        )
    except ValueError as error:
        raise LedgerError(f"{path}:{line}: {error}") from error


def _field(row: dict[str, str | None], column: str) -> str:
    value = (row[column] or "").strip()
    if not value:
        raise ValueError(f"{column} is empty")
    return value
