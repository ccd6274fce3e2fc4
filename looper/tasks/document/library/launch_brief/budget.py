"""Every item of the price list is in the table once, with its amount and tax; the total is their sum."""

import re
import sys
import tempfile
from pathlib import Path

READING = "@launch_brief/reading.py"
folder = tempfile.mkdtemp()
Path(folder, "reading.py").write_text(READING, encoding="utf-8")
sys.path.append(folder)

from decimal import Decimal

from reading import note, read, rows

AMOUNTS = {
    "B1": "705.60", "B2": "420.00", "B3": "816.00", "B4": "1296.00", "B5": "415.00", "B6": "680.40", "B7": "250.00",
    "B8": "1080.00",
}  # fmt: skip
MONEY = r"\d{1,3}(?:[,\u202f\u00a0 ]?\d{3})*\.\d{2}"


def amount(text: str) -> Decimal | None:
    """The amount of a cell, None if it is not one amount with two decimals."""
    bare = re.sub(r"\bEUR\b|\beuros?\b|€", "", text, flags=re.IGNORECASE).strip()
    return Decimal(re.sub(r"[^\d.]", "", bare)) if re.fullmatch(MONEY, bare) else None


found = rows(read().section("Budget"), "code", "item", "amount")
problems = [] if found else ["Budget has no table with the columns Code, Item and Amount"]
last = found.pop() if found else {}
problems += [] if "total" in " ".join(last.values()).casefold() else ["the last row of Budget is not the total"]
codes = [row["code"] for row in found]
problems += [f"{code} is there {codes.count(code)} times" for code in AMOUNTS if codes.count(code) != 1]
problems += [f"{code or 'a row without a code'} is not in the price list" for code in codes if code not in AMOUNTS]
amounts = [amount(row["amount"]) for row in found]
for row, value in zip(found, amounts, strict=True):
    wanted = AMOUNTS.get(row["code"])
    if value is None:
        problems.append(f"the amount of {row['code']} has no two decimals")
    elif wanted and value != Decimal(wanted):
        problems.append(f"the amount of {row['code']} does not follow from the sources: look at quantity, tax, offer")
total = amount(last.get("amount", ""))
if total is None:
    problems.append("the total is no amount with two decimals")
elif None not in amounts and total != sum(amounts):
    problems.append(f"the rows of Budget add up to {sum(amounts)}, the total says {total}")
verdict(*note(problems))
