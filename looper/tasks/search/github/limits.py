"""Rate limits: how long the server wants us to stay away (REST API, "Rate limits for the REST API")."""

import email.utils
import math
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from looper.errors import Paused
from looper.tasks.search.github.faults import Fault

UNTOLD = 60.0
"""Seconds to wait where the server does not say: at least one minute, longer each time (best practices)."""
MARGIN = 1.0
"""Seconds beyond the reset, which the server tells in whole seconds."""
_SPEAKS_OF_LIMITS = re.compile(r"rate limit|abuse detection", re.IGNORECASE)


def now() -> float:
    """Seconds since 1970."""
    return datetime.now(UTC).timestamp()


def sleep(seconds: float) -> None:
    """Ctrl-C ends it, where it is the main thread that sleeps."""
    time.sleep(seconds)


def limited(status: int, headers: Mapping[str, str], said: str, before: int) -> Fault | None:
    """The rate limit that was hit; None if this is another kind of answer. `before`: limits hit so far."""
    told = retry_after(headers)
    if status == 503 and told is not None:
        return Fault("rate_limited", "the server is busy", told)
    if status not in (403, 429):
        return None
    spent = headers.get("x-ratelimit-remaining", "").strip() == "0"
    if told is not None:
        return Fault("rate_limited", "secondary limit", told)
    if spent and (left := _left(headers)) is not None:
        return Fault("rate_limited", "primary limit", left)
    if spent or status == 429 or _SPEAKS_OF_LIMITS.search(said):
        return Fault("rate_limited", "a limit without a time", UNTOLD * 2.0**before)
    return None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds by the header `retry-after`, a number or a date; None if it is absent or makes no sense."""
    value = headers.get("retry-after", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        at = _date(value)
        return None if at is None else max(at - _server_now(headers), 0.0)
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _left(headers: Mapping[str, str]) -> float | None:
    """Seconds until `x-ratelimit-reset`, by the server's own clock where it tells it."""
    value = headers.get("x-ratelimit-reset", "").strip()
    if not re.fullmatch(r"[0-9]{1,12}", value):
        return None
    return max(int(value) - _server_now(headers), 0.0) + MARGIN


def _server_now(headers: Mapping[str, str]) -> float:
    at = _date(headers.get("date", ""))
    return now() if at is None else at


def _date(value: str) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(value).timestamp()
    except (ValueError, OverflowError):
        return None


def paused(fault: Fault, max_wait: float, anonymous: bool) -> Paused:
    """The pause of a run that would have to wait too long."""
    wait = fault.wait or 0.0
    more = " A token raises the limit (token_env)." if anonymous else ""
    text = f"GitHub's rate limit is reached ({fault.detail}): it ends {in_words(wait)}"
    return Paused(f"{text}; resume then, or raise max_wait ({max_wait:g} s).{more}", "rate_limited", retry_after=wait)


def in_words(wait: float) -> str:
    """When a wait of so many seconds is over."""
    if wait > 366 * 86_400:
        return "in more than a year"
    minutes = math.ceil(wait / 60)
    hours, rest = divmod(minutes, 60)
    span = f"{hours} h {rest} min" if hours else f"{minutes} min"
    at = datetime.fromtimestamp(now(), UTC) + timedelta(seconds=wait)
    return f"at {at:%Y-%m-%d %H:%M:%S} UTC, in {span}"
