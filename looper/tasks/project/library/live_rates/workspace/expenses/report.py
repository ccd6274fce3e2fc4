"""Totals of expenses, and the table that shows them."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Literal

from expenses import money
from expenses.ledger import Expense

By = Literal["category", "person"]


def totals(expenses: Iterable[Expense], by: By = "category") -> dict[str, Decimal]:
    """Sum of the amounts by category or person, in alphabetical order."""
    sums: dict[str, Decimal] = {}
    for expense in expenses:
        group = getattr(expense, by)
        sums[group] = sums.get(group, Decimal(0)) + expense.amount
    return {group: sums[group] for group in sorted(sums)}


def text(rows: Mapping[str, Decimal]) -> str:
    """The table: a line per group, and the total as the last line."""
    shown = {group: money.show(amount) for group, amount in rows.items()}
    shown["total"] = money.show(sum((money.rounded(amount) for amount in rows.values()), Decimal(0)))
    left = max(map(len, shown))
    right = max(map(len, shown.values()))
    return "\n".join(f"{group:<{left}}  {amount:>{right}}" for group, amount in shown.items())
