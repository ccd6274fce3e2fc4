"""Amounts of money: exact decimals with two places."""

import re
from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")
_AMOUNT = re.compile(r"[0-9]{1,9}(\.[0-9]{1,2})?")


def parse(text: str) -> Decimal:
    """The amount in a text such as `84.20` or `12`.

    Raises ValueError for anything else: signs, thousands separators, commas, more than two decimal places.
    """
    if not _AMOUNT.fullmatch(text.strip()):
        raise ValueError(f"{text!r} is not an amount such as 84.20")
    return Decimal(text.strip()).quantize(CENT)


def rounded(amount: Decimal) -> Decimal:
    """The amount with two places, half a cent upwards."""
    return amount.quantize(CENT, rounding=ROUND_HALF_UP)


def show(amount: Decimal) -> str:
    """The amount for people: `1,284.20`."""
    return f"{rounded(amount):,.2f}"
