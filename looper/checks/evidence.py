"""From what a check saw to a finding with its evidence; text of others is cleaned on the way (SAFETY P15, P18)."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple

from looper.criteria import Finding
from looper.redact import redact

TOLD = 5
"""Problems in a note, and places in the evidence (document 003: a critique has at most 5 issues)."""
EXCERPT = 500
PROBLEM = 180
"""Characters of one problem."""
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]"
)


class Problem(NamedTuple):
    """One thing to fix."""

    line: int
    """Line of the artifact, from 1; 0: no line."""
    text: str


@dataclass(frozen=True)
class Seen:
    """What a check found out before it becomes a finding."""

    problems: Sequence[Problem]
    ran: str
    """What ran, with its version."""
    exit_code: int | None = None
    output: bytes | None = None
    """What the program said; None: the problems themselves."""
    extra: tuple[tuple[str, Any], ...] = ()
    """More evidence."""


def cleaned(text: str, limit: int) -> str:
    """One line of at most `limit` characters that cannot act on a terminal and holds no known secret."""
    text = text[: limit * 20]  # what follows is not worth the time
    text = " ".join(redact(_CONTROL.sub("\ufffd", _ANSI.sub("", text))).split())
    return text if len(text) <= limit else text[: limit - 3] + "..."


def note(problems: Sequence[Problem]) -> str:
    """One sentence that says what to fix, the most important first."""
    told = [cleaned(one.text, PROBLEM).rstrip(".") for one in problems[:TOLD]]
    told = [f"line {one.line}: {text}" if one.line else text for one, text in zip(problems, told, strict=False)]
    left = len(problems) - len(told)
    more = f"; and {left} more" if left > 0 else ""
    return "; ".join(told) + more + "." if told else ""


def finding(kind: str, seen: Seen, seconds: float) -> Finding:
    """Passed if there is no problem."""
    said = "; ".join(f"{one.line}: {one.text}" for one in seen.problems)
    output = seen.output if seen.output is not None else said.encode("utf-8", "surrogatepass")
    evidence = {
        "kind": kind,
        "ran": cleaned(seen.ran, 300),
        "exit_code": seen.exit_code,
        "output_sha256": sha256(output).hexdigest(),
        "excerpt": cleaned(output.decode("utf-8", "replace"), EXCERPT),
        "seconds": round(seconds, 4),
        "places": places(seen.problems),
        **dict(seen.extra),
    }
    return Finding(passed=not seen.problems, note=note(seen.problems), evidence=evidence)


def places(problems: Iterable[Problem]) -> list[int]:
    """The first lines, each once, in the order of importance."""
    return list(dict.fromkeys(one.line for one in problems if one.line))[:TOLD]
