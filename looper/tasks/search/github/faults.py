"""The names of everything that can go wrong with a search on GitHub, and what is done about each."""

from dataclasses import dataclass

from looper.errors import PhaseError

RETRIED = frozenset(
    {"server_error", "unreachable", "connection_reset", "cut_short", "not_http", "not_json", "not_utf8", "bad_shape"}
)
"""Asked again as often as `retries` allows: these heal."""
RETRIED_ONCE = frozenset({"timeout"})
"""Each of these took the whole deadline."""


@dataclass(frozen=True)
class Fault:
    """A request that brought no page."""

    reason: str
    detail: str = ""
    """More about it, harmless and without secrets."""
    wait: float | None = None
    """Seconds that the server told us to wait, for a rate limit."""


def ended(fault: Fault, tries: int) -> PhaseError:
    """The error that ends the step, with the fault's name as its reason."""
    what, advice = _MEANS[fault.reason]
    detail = f" ({fault.detail})" if fault.detail else ""
    after = f" after {tries} tries" if tries > 1 else ""
    return PhaseError(f"GitHub search{after}: {what}{detail}; {advice}.", fault.reason)


_AGAIN = "try again later, or check base_url"
_MEANS = {
    "auth_denied": ("access was refused", "check the token in the environment variable of token_env and its rights"),
    "bad_shape": ("the reply is not a list of repositories", _AGAIN),
    "compressed": ("the reply is compressed though plain text was asked for", "check base_url and proxies"),
    "connection_reset": ("the connection was closed without a reply", _AGAIN),
    "cut_short": ("the reply ended before its end", _AGAIN),
    "not_found": ("there is no search at this address", "check base_url; an Enterprise server's ends in /api/v3"),
    "not_http": ("the server does not speak HTTP", "check base_url"),
    "not_json": ("the reply is not JSON", _AGAIN),
    "not_utf8": ("the reply is not UTF-8", _AGAIN),
    "query_refused": ("the query was refused as invalid", "change its words or filters"),
    "redirect_loop": ("it redirects without end", "check base_url"),
    "redirected_elsewhere": ("it redirects to another address, which is not followed", "check base_url"),
    "server_error": ("the server failed", "try again later; githubstatus.com tells of outages"),
    "timeout": ("no whole reply within the deadline", "raise deadline, or check the network"),
    "too_large": ("the reply is larger than max_bytes", "lower per_page, or raise max_bytes"),
    "unexpected_status": ("the server gave an answer that does not belong to a search", "check base_url"),
    "unreachable": ("the server cannot be reached", "check base_url and the network"),
}
