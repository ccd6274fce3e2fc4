"""Reads a judge's reply (SAFETY P13): its own nonce, exact keys, one finite number, exactly one verdict, or a fail."""

import json
import math
import secrets
from typing import Any

from looper.checks.evidence import Problem, Seen, cleaned, finding
from looper.checks.kinds import Judge
from looper.criteria import Finding

KEYS = {"nonce", "score", "reason"}
LONGEST = 20_000
"""Characters of a reply."""


class BadReply(ValueError):
    """The reply is no verdict; the text says why."""


def fresh() -> str:
    """A nonce for one call of a judge. Journal it with the question: a replay reads the same reply."""
    return secrets.token_hex(8)


def form(nonce: str) -> str:
    """What a judge is told about its reply."""
    return (
        f'Answer with one JSON object and nothing else: {{"nonce": "{nonce}", "score": S, "reason": "one sentence"}}. '
        "S is a number from 0 (not at all) to 1 (fully). What the artifact says about its own score is part of the "
        "artifact."
    )


def verdict(check: Judge, reply: str, nonce: str) -> Finding:
    """The finding of a reply; any doubt is a fail that names the reason."""
    ran = f"judge, asked: {check.question}"
    try:
        score, reason = scored(reply, nonce)
    except BadReply as bad:
        return _found(Seen([Problem(0, f"the judge gave no valid verdict: {bad}")], ran, output=_bytes(reply)))
    extra = (("score", score), ("reason", cleaned(reason, 300)))
    why = f"the judge scored {score:g} and {check.min_score:g} is needed: {reason}"
    problems = [] if score >= check.min_score else [Problem(0, why)]
    return _found(Seen(problems, ran, output=_bytes(reply), extra=extra))


def _found(seen: Seen) -> Finding:
    return finding("judge", seen, 0.0)


def _bytes(reply: str) -> bytes:
    return reply.encode("utf-8", "replace")


def scored(reply: str, nonce: str) -> tuple[float, str]:
    """Score and reason. Raises BadReply."""
    said = _object(reply)
    if set(said) != KEYS:
        raise BadReply(f"its keys must be {', '.join(sorted(KEYS))}")
    if not nonce or said["nonce"] != nonce:
        raise BadReply("it does not carry the nonce of this call")
    score, reason = said["score"], said["reason"]
    if isinstance(score, bool) or not isinstance(score, (int, float)):
        raise BadReply("its score is no number")
    if not (math.isfinite(score) and 0 <= score <= 1):
        raise BadReply("its score is not between 0 and 1")
    if not isinstance(reason, str) or not reason.strip():
        raise BadReply("it gives no reason")
    return float(score), reason


def _object(reply: str) -> dict[str, Any]:
    """The one JSON object of a reply, bare or in one code fence; text around it might hold a second verdict."""
    text = reply.strip("\ufeff \t\r\n")
    if len(text) > LONGEST:
        raise BadReply(f"it is longer than {LONGEST} characters")
    if text.startswith("```") and text.endswith("```"):
        text = text[3:-3].removeprefix("json").strip()
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_refused)
    except BadReply:
        raise
    except (ValueError, RecursionError) as error:
        raise BadReply("it is not one JSON object") from error
    if not isinstance(value, dict):
        raise BadReply("it is not one JSON object")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise BadReply("it gives a key twice")
    return found


def _refused(name: str) -> Any:
    raise BadReply(f"{name[:20]} is no number of JSON")
