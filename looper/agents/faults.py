"""The names of everything that goes wrong with a model call, and what is done about each (SAFETY, model-call facts)."""

import email.utils
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from looper.redact import redact

PAUSES = frozenset({"insufficient_quota", "auth", "forbidden"})
"""A person has to do something first; trying again would change nothing."""
RETRIES = frozenset({"server_error", "unreachable", "reset", "bad_body"})
"""Transport: asked again as often as `retries` allows."""
RETRIED_ONCE = frozenset({"timeout", "too_large"})
"""Each of these may have been billed in full and rarely heals."""
REPAIRS = frozenset({"empty", "refusal", "content_filter", "truncated", "tool_call", "no_json", "ambiguous", "invalid"})
"""A reply came, but no answer: sent back with the reason as often as `repairs` allows."""
MAYBE_BILLED = frozenset({"timeout", "too_large", "reset", "bad_body"})
"""The provider may have done its work before the reply was lost."""

_CONTEXT = (
    "context_length_exceeded", "maximum context length", "context window", "prompt is too long",
    "input is too long", "too many tokens", "exceeds the context", "input token count",
)  # fmt: skip
_QUOTA = ("insufficient_quota", "exceeded your current quota", "credit balance is too low", "billing_hard_limit")
_FILTER = ("content_filter", "content_policy", "content management policy", "responsibleaipolicy")


@dataclass(frozen=True)
class Fault:
    """A call that brought no reply."""

    ended: str
    detail: str = ""
    """What the server said, without secrets; servers echo keys."""
    retry_after: float | None = None
    """Seconds the server asked to wait."""


class Seen(Protocol):
    """What the network side of an attempt noted."""

    fault: str
    requests: int
    streams: list[Any]
    status: int | None
    headers: dict[str, str]
    body: bytes


def classify(error: BaseException, wire: Seen) -> Fault:
    """The fault by name: from what was seen on the network, else from what the client library made of it."""
    status = wire.status if wire.requests else _status(error)  # the library makes one up where none came
    said = f"{_said(wire.body)} {error}"
    detail = redact(" ".join(said.split()))[:400]
    if wire.fault:
        return Fault(_BOUNDS.get(wire.fault) or wire.fault, detail)
    if status is None:
        return Fault("unreachable" if wire.requests and not wire.streams else "reset", detail)
    if status < 300:
        return Fault("bad_body", detail)
    headers = wire.headers or getattr(getattr(error, "response", None), "headers", None) or {}
    return Fault(_refused(status, said.lower()), detail, retry_after(headers))


_BOUNDS = {"resent": "bad_request", "aborted": "timeout"}
"""What a cut of the wire is called where its own name is not an outcome."""


def _refused(status: int, said: str) -> str:
    if any(sign in said for sign in _QUOTA) or status == 402:
        return "insufficient_quota"
    by_status = {401: "auth", 403: "forbidden", 408: "server_error", 429: "rate_limited"}
    if status in by_status or status >= 500:
        return by_status.get(status, "server_error")
    if status == 413 or any(sign in said for sign in _CONTEXT):
        return "context_too_long"
    return "content_filter" if any(sign in said for sign in _FILTER) else "bad_request"


def _status(error: BaseException) -> int | None:
    """The library's status code, unless it made one up for a failure of its own."""
    code = getattr(error, "status_code", None)
    named = type(error).__name__
    if named in ("Timeout", "APIConnectionError") or not isinstance(code, int):
        return None
    return code if 300 <= code < 600 and getattr(error, "response", None) is not None else None


def _said(body: bytes) -> str:
    """The reason in the body of a refusal."""
    text = body.decode("utf-8", "replace")
    try:
        error = json.loads(text)["error"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return text[:1000]
    return json.dumps(error)[:1000]


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by the headers `retry-after-ms` or `retry-after` (seconds or a date); None: neither."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        seconds = _seconds(value) * unit
        if math.isfinite(seconds) and seconds >= 0:
            return seconds
    return None


def _seconds(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        date = email.utils.parsedate_tz(value)
        return max(email.utils.mktime_tz(date) - datetime.now(UTC).timestamp(), 0.0) if date else math.nan
