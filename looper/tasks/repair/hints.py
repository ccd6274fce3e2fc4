"""What the errors of failing tests say about the kind of edit that is wanted."""

import re
from collections.abc import Callable, Collection
from typing import NamedTuple

from looper.tasks.repair.edits import Edit


class Hint(NamedTuple):
    """Errors that match `error` make edits that match `kind` and `text` likelier by `factor`."""

    error: str
    kind: str
    text: str
    factor: float


GUARDS = r"^(insert\.guard|insert\.jump|condition\.|return\.condition|statement\.wrap)"
HINTS = (
    Hint(r"^IndexError", GUARDS, r"len\(|\bnot \w|^\w+$", 1.6),
    Hint(r"^IndexError", r"^(index|range|compare|arithmetic\.offset)", "", 1.4),
    Hint(r"^KeyError", r"^(index\.get|insert\.collect)", "", 2.0),
    Hint(r"^KeyError", GUARDS, r"\bin\b", 2.0),
    Hint(r"^RecursionError", r"^(insert\.guard|condition|compare|call\.arguments|index|arithmetic\.offset)", "", 1.5),
    Hint(r"^ZeroDivisionError", GUARDS, r"== 0|!= 0|\bnot \w|> 0|^if \w+:", 2.0),
    Hint(r"NoneType", r"^(insert\.return|return)", "", 1.8),
    Hint(r"NoneType", GUARDS, r"\bNone\b|\bnot \w|^\w+$|\band \w", 1.8),
    Hint(r"^(UnboundLocalError|NameError)", r"^(name|insert\.update|statement\.move|statement\.swap)", "", 1.8),
    Hint(r"^(TypeError|ValueError)", r"^(call|index\.item|return\.shape|assign\.value)", "", 1.3),
    Hint(r"^(timeout|steps)", r"^(insert\.(update|jump)|condition|compare|arithmetic|assign|statement\.move)", "", 1.4),
)


def favour(errors: Collection[str]) -> Callable[[Edit], float]:
    """A factor of at least 1 for each edit, from the error lines of the failing tests ("" where none was raised).

    A hint counts in proportion to the share of failing tests whose error it explains; the strongest one counts.
    """
    shares = [sum(bool(re.search(hint.error, e)) for e in errors) / max(1, len(errors)) for hint in HINTS]
    rules = [
        (re.compile(hint.kind), re.compile(hint.text), 1 + (hint.factor - 1) * share)
        for hint, share in zip(HINTS, shares, strict=True)
        if share
    ]

    def factor(edit: Edit) -> float:
        text = edit.text.strip()
        return max((by for kind, form, by in rules if kind.search(edit.kind) and form.search(text)), default=1.0)

    return factor
