"""Whether what came now is what was recorded, and in which lines not. Times, tokens and paths are not compared."""

import difflib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

CLOCK = frozenset({"seconds", "elapsed", "waited", "duration", "tokens", "usd", "model_calls"})
"""Numbers by name that two runs of the same story do not share."""
MOMENTS = frozenset({"at", "ts", "when", "created_at", "updated_at"})
"""Names of values that say when something was done, where they are a time with its zone."""
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
LEFT = frozenset({"inner_left", "outer_left"})
"""What is left of a budget: another number where the budget was another one, or where branches raced for it."""
SHOWN = 12
"""Lines of a difference that are told."""
LONG = 160
"""Characters of one of them."""


def plain(value: Any, places: Mapping[str, str], skip: Collection[str] = CLOCK) -> Any:
    """JSON data without the numbers of these names, and with `places` (folders of the two runs) put in one form."""
    if isinstance(value, Mapping):
        return {key: plain(part, places, skip) for key, part in value.items() if not _clocked(key, part, skip)}
    if isinstance(value, list | tuple):
        return [plain(part, places, skip) for part in value]
    if isinstance(value, str):
        for own, common in places.items():
            value = value.replace(own, common)
    return value


def _clocked(key: Any, value: Any, skip: Collection[str]) -> bool:
    if key in skip:
        return _number(value)
    return key in MOMENTS and isinstance(value, str) and _MOMENT.fullmatch(value) is not None


def _number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def alike(before: Mapping[str, float], now: Mapping[str, float]) -> bool:
    """Whether two costs are the same units; what models cost is not asked, nobody called one."""
    accounts = ("inner", "outer")
    return all(abs(before.get(account, 0.0) - now.get(account, 0.0)) < 1e-9 for account in accounts)


def diff(before: Any, now: Any) -> list[str]:
    """Lines that differ, `-` as recorded and `+` as it came now; of long ones the part around the difference."""
    old, new = _lines(before), _lines(now)
    told = [line for line in difflib.unified_diff(old, new, n=0, lineterm="") if line[:2] not in ("--", "++", "@@")]
    if len(told) == 2:
        told = _around(told[0], told[1])
    shown = [line if len(line) <= LONG else f"{line[: LONG - 3]}..." for line in told[:SHOWN]]
    return [*shown, f"and {len(told) - SHOWN} more lines"] if len(told) > SHOWN else shown


def _around(before: str, now: str) -> list[str]:
    """Two long lines from shortly before the first character in which they differ."""
    same = next((at for at, (a, b) in enumerate(zip(before[1:], now[1:], strict=False)) if a != b), 0)
    if same < LONG // 2:
        return [before, now]
    begin = same - LONG // 4
    return [f"{line[0]}...{line[1 + begin :]}" for line in (before, now)]


def _lines(value: Any) -> Sequence[str]:
    if isinstance(value, str):
        return value.splitlines() or [""]
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False).splitlines()
