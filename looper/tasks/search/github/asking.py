"""Asks for pages: first the cache, then the server, again where it helps, waiting as long as it was told."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from looper import __version__
from looper.tasks.search.github import limits
from looper.tasks.search.github.access import Access
from looper.tasks.search.github.cache import Cache, Entry
from looper.tasks.search.github.faults import RETRIED, RETRIED_ONCE, Fault, ended
from looper.tasks.search.github.reply import Page, parse, said

if TYPE_CHECKING:
    from looper.tasks.search.github.wire import Answer

BACKOFF = 1.0
"""Seconds before the first retry where the server did not tell any; doubles."""


@dataclass(frozen=True, kw_only=True)
class Patience:
    """The bounds of one question; see `GitHub` for what they mean."""

    deadline: float
    retries: int
    max_wait: float
    max_bytes: int
    fresh_for: float


@dataclass
class Asker:
    """One search's conversation with the server."""

    base_url: str
    access: Access
    cache: Cache
    patience: Patience
    waited: float = 0.0
    """Seconds waited because the server said so."""
    tried: dict[str, int] = field(default_factory=dict)
    """Faults of the page that is asked for, by name."""

    def page(self, q: str, page: int, per_page: int) -> Page:
        """One page of results. Raises PhaseError or Paused by the fault that could not be overcome."""
        asked: dict[str, str | int] = {"q": q, "page": page, "per_page": per_page}
        kept = self.cache.load(asked)
        if kept is not None and 0 <= limits.now() - kept.at < self.patience.fresh_for:
            return kept.page
        self.tried = {}
        while isinstance(found := self._once(asked, kept), Fault):
            self._recover(found)
        return found

    def _once(self, asked: dict[str, str | int], kept: Entry | None) -> Page | Fault:
        etag = kept.etag if kept is not None else ""
        answer = self._exchange(asked, etag)
        if isinstance(answer, Fault):
            return answer
        if answer.status == 304 and kept is not None and etag:
            self.cache.save(asked, etag, limits.now(), kept.page)
            return kept.page
        if answer.status != 200:
            return self._refusal(answer)
        found = parse(answer.body)
        if isinstance(found, Page) and not found.incomplete_results:  # the whole may be had next time
            self.cache.save(asked, answer.headers.get("etag", ""), limits.now(), found)
        return found

    def _exchange(self, asked: dict[str, str | int], etag: str) -> "Answer | Fault":
        import httpx

        from looper.tasks.search.github.wire import Exchange

        headers = {
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
            "User-Agent": f"looper/{__version__}",
            **self.access.headers(),
            **({"If-None-Match": etag} if etag else {}),
        }
        url = httpx.URL(f"{self.base_url}/search/repositories", params=asked)
        return Exchange(url, headers, self.patience.deadline, self.patience.max_bytes).run()

    def _refusal(self, answer: "Answer") -> Fault:
        words = said(answer.body)
        limit = limits.limited(answer.status, answer.headers, words, self.tried.get("rate_limited", 0))
        if limit is not None:
            return limit
        names = {401: "auth_denied", 403: "auth_denied", 404: "not_found", 422: "query_refused"}
        reason = names.get(answer.status, "server_error" if answer.status >= 500 else "unexpected_status")
        return Fault(reason, f"{answer.status}: {words}" if words else str(answer.status))

    def _recover(self, fault: Fault) -> None:
        """Waits until it makes sense to ask again; raises if it does not."""
        self.tried[fault.reason] = self.tried.get(fault.reason, 0) + 1
        tries = sum(self.tried.values())
        spent = tries > self.patience.retries
        if fault.reason == "rate_limited":
            self._wait(fault, spent)
        elif spent or not self._heals(fault):
            raise ended(fault, tries)
        else:
            limits.sleep(min(BACKOFF * 2.0 ** (tries - 1), self.patience.max_wait))

    def _heals(self, fault: Fault) -> bool:
        return fault.reason in RETRIED or (fault.reason in RETRIED_ONCE and self.tried[fault.reason] == 1)

    def _wait(self, fault: Fault, spent: bool) -> None:
        wait = fault.wait or 0.0
        if spent or wait > self.patience.max_wait:
            raise limits.paused(fault, self.patience.max_wait, self.access.anonymous)
        limits.sleep(wait)
        self.waited += wait
