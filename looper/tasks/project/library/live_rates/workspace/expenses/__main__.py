"""The command: `python -m expenses LEDGER [--month YYYY-MM] [--by category|person]`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from expenses import ledger, report


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the report. Returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        expenses = ledger.read(options.ledger)
    except ledger.LedgerError as error:
        print(f"expenses: {error}", file=sys.stderr)
        return 2
    if options.month:
        expenses = ledger.of_month(expenses, options.month)
    print(report.text(report.totals(expenses, options.by)))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="expenses", description="Expense report from a CSV ledger.")
    parser.add_argument("ledger", type=Path, help="CSV file: day,person,what,category,amount")
    parser.add_argument("--month", metavar="YYYY-MM", help="expenses of this month only")
    parser.add_argument("--by", choices=("category", "person"), default="category", help="what the rows are")
    return parser


if __name__ == "__main__":
    sys.exit(main())
