"""GitHub as a collection to be searched: its public repositories by name, description, topics and README."""

from itertools import chain, zip_longest
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field, model_validator
from pydantic.dataclasses import dataclass

from looper.errors import ConfigError
from looper.tasks.search.github import language
from looper.tasks.search.github.access import access, address, plain_http, variable
from looper.tasks.search.github.asking import Asker, Patience
from looper.tasks.search.github.cache import Cache
from looper.tasks.search.github.phrase import FILTERS, OPERATORS, Phrase, phrase
from looper.tasks.search.github.reply import Page, Repository
from looper.tasks.search.query import Found, Hit, Query
from looper.types import STRICT

READABLE = 1000
"""Results of one search that the API hands out."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class GitHub:
    """Repository search over GitHub's REST API, a `Backend`.

    A fault that cannot be overcome ends the step with its name: PhaseError(auth_denied, query_refused, server_error,
    timeout, ...; see faults.py) or Paused(rate_limited).
    """

    base_url: Annotated[str, AfterValidator(address)] = "https://api.github.com"
    """Address of the API; an Enterprise server's is https://HOST/api/v3."""
    insecure: bool = False
    """Allows plain http to another machine, where anybody on the way can read the token."""
    token_env: Annotated[str | None, AfterValidator(variable)] = "GITHUB_TOKEN"
    """Name of the environment variable that holds the token, never the token; None or unset: anonymous, 10 a minute."""
    public_only: bool = True
    """Leaves out what only the token's owner may see, because what is found goes to models and into the journal."""
    cache: str = "outputs/cache/github"
    """Folder for pages that were read; empty: none is kept."""
    fresh_for: float = Field(default=86_400, ge=0, le=31_536_000, allow_inf_nan=False)
    """Seconds that a kept page is used without asking; then it is confirmed. A day: a sweep sees one collection."""
    deadline: float = Field(default=20.0, gt=0, le=600)
    """Seconds for one request in all, however its bytes arrive; GitHub itself gives up after ten."""
    retries: int = Field(default=3, ge=0, le=20)
    """Times a page is asked for again after faults that heal; a time-out is asked again once."""
    max_wait: float = Field(default=90.0, ge=0, le=86_400)
    """Seconds that a rate limit may make us wait; if it asks for more the run pauses. Searches count by the minute."""
    per_page: int = Field(default=100, ge=1, le=100)
    """Results of one request; 100 is the API's most and saves requests."""
    max_bytes: int = Field(default=4_000_000, ge=1_000, le=100_000_000)
    """Bytes of one reply that are read; 100 results have about 600,000."""
    name: ClassVar[str] = "github"
    filters: ClassVar[dict[str, str]] = FILTERS
    widest: ClassVar[int] = 1 + OPERATORS
    """One keyword, and an operator for each further word if all are alternatives and exclusions."""

    @model_validator(mode="after")
    def _safe(self) -> "GitHub":
        if plain_http(self.base_url) and not self.insecure:
            raise ValueError("base_url: plain http shows the token to the network; use https, or set insecure=true")
        return self

    @property
    def fingerprint(self) -> str:
        """Empty: GitHub changes all the time."""
        return ""

    def search(self, query: Query, limit: int) -> Found:
        """The best `limit` repositories, at most 1,000, by GitHub's best match.

        Alternatives beside other words take a request for each combination; their hits are united, and `total` is
        exact when all were read, else an upper bound, which the note says. Raises ConfigError, PhaseError, Paused.
        """
        if limit < 0:
            raise ConfigError(f"a search for {limit} hits is not possible; ask for 0 or more.")
        asked = phrase(query, ("is:public",) if self.public_only else ())
        if not asked.requests:
            return Found(total=0, note=_notes(["a query without keywords and filters finds nothing"], asked))
        asker = self._asker()
        lists = [self._pages(asker, text, limit) for text in asked.requests]
        total, exact = _total(lists)
        hits = [repository.hit(rank) for rank, repository in enumerate(_united(lists)[:limit], start=1)]
        notes = [asker.access.note, *_remarks(lists, exact), self._cut_off(lists, limit)]
        if asker.cache.damaged:
            notes.append(f"{asker.cache.damaged} damaged file(s) of the cache asked anew")
        return Found(total=total, hits=hits, waited=asker.waited, note=_notes(notes, asked))

    def words(self, text: str) -> list[str]:
        """Content words in lower case; `node.js`, `c++`, `c#` and hyphened words stay whole."""
        return language.words(text)

    def related(self, word: str, hits: list[Hit], limit: int) -> list[str]:
        """Words that stand beside `word` in topics and descriptions of `hits`; GitHub tells no more."""
        return language.related(word, hits, limit)

    def frequency(self, word: str) -> int | None:
        """None: to know it is a request."""
        return None

    def _asker(self) -> Asker:
        signed = access(self.token_env)
        patience = Patience(
            deadline=self.deadline,
            retries=self.retries,
            max_wait=self.max_wait,
            max_bytes=self.max_bytes,
            fresh_for=self.fresh_for,
        )
        return Asker(self.base_url, signed, Cache(self.cache, self.base_url, signed.anonymous), patience)

    def _pages(self, asker: Asker, q: str, limit: int) -> list[Page]:
        """The first page, and more until `limit` repositories are read or there are no more."""
        most = min(limit, self._readable)
        pages = [asker.page(q, 1, self.per_page)]
        while len(pages) * self.per_page < min(most, pages[0].total_count) and pages[-1].items:
            pages.append(asker.page(q, len(pages) + 1, self.per_page))
        return pages

    @property
    def _readable(self) -> int:
        """Results on whole pages; a page that goes beyond the API's most is refused."""
        return READABLE // self.per_page * self.per_page

    def _cut_off(self, lists: list[list[Page]], limit: int) -> str:
        cut = any(min(limit, pages[0].total_count) > self._readable for pages in lists)
        return f"GitHub hands out {self._readable} results at most" if cut else ""


def _once(repositories: list[Repository]) -> list[Repository]:
    """Each the first time; names differ in more than case, and pages may shift while they are read."""
    first: dict[str, Repository] = {}
    for repository in repositories:
        first.setdefault(repository.full_name.lower(), repository)
    return list(first.values())


def _united(lists: list[list[Page]]) -> list[Repository]:
    """The lists in one, rank by rank in turn."""
    ranks = zip_longest(*([item for page in pages for item in page.items] for pages in lists))
    return _once([repository for repository in chain.from_iterable(ranks) if repository is not None])


def _total(lists: list[list[Page]]) -> tuple[int, bool]:
    """How many match, and whether that is exact: what several lists share is known only of what was read."""
    totals = [pages[0].total_count for pages in lists]
    read = [item for pages in lists for item in _once([item for page in pages for item in page.items])]
    if len(lists) == 1:
        return totals[0], True
    shared = len(read) - len(_once(read))
    return max(sum(totals) - shared, *totals), len(read) >= sum(totals)


def _remarks(lists: list[list[Page]], exact: bool) -> list[str]:
    remarks = []
    if any(page.incomplete_results for pages in lists for page in pages):
        remarks.append("incomplete: GitHub's own time was up before all was searched")
    if not exact:
        remarks.append(f"the total is an upper bound, united from {len(lists)} requests")
    return remarks


def _notes(notes: list[str], asked: Phrase) -> str:
    left_out = f"left out: {', '.join(asked.left_out)}" if asked.left_out else ""
    return "; ".join(note for note in [*notes, left_out] if note)
