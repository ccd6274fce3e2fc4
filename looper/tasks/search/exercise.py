"""What the search exercises share: a need in words, a collection, the answer that is handed over (SPEC 7.1)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from itertools import chain
from typing import Annotated, Any

from pydantic import BaseModel, Field
from pydantic.dataclasses import dataclass

from looper.errors import ConfigError
from looper.tasks.search.moves import Moves
from looper.tasks.search.needs import Need, shipped
from looper.tasks.search.query import Backend, Found, Hit, Query
from looper.tasks.search.states import Answer, Plan, Result
from looper.types import STRICT

SYNONYMS = 2
"""Related words that the planning policy adds to each keyword of the need."""
LONGEST_WORD = 100
"""Characters of a word of a query; GitHub refuses queries above 256 in all."""
SHOWN_WORDS, SHOWN_WORD = 5, 40
"""Words, and characters of each, that a note on what was left out shows."""


class Brief(BaseModel):
    """What every role may see."""

    goal: str
    need: str
    collection: str
    filters: str
    low: int
    high: int
    note: str = ""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Exercise:
    """A need and the collection in which it is to be met."""

    collection: Any
    """The backend that is searched."""
    need: str
    """The name of a shipped need, or a need in words."""
    low: Annotated[int, Field(ge=1, le=1000)] = 10
    """Hits wanted at least (SPEC 7.1: 10 to 30 can be read)."""
    high: Annotated[int, Field(ge=1, le=1000)] = 30
    """Hits wanted at most."""
    prompts: dict[str, dict[str, str]] = field(default_factory=dict)
    """Prompt templates by step, for models in a role."""

    @cached_property
    def backend(self) -> Backend:
        return self.collection

    @cached_property
    def known(self) -> Need | None:
        """The shipped need of this name; None for a need in the user's own words."""
        found, library = shipped().get(self.need), getattr(self.collection, "source", "") == "stdlib"
        if found is None and library and self.need.isidentifier():
            raise ConfigError(
                f"task.need={self.need}: no shipped need has this name ({', '.join(sorted(shipped())[:6])}, ...); "
                "a need of your own is several words: 'task.need=\"stop a server on a signal\"'."
            )
        if found is not None and not library:
            raise ConfigError(
                f"task.need={self.need} is a need for the documentation of Python's library; "
                f"for {self.backend.name} give one in words: 'task.need=\"...\"'."
            )
        return found

    @cached_property
    def words(self) -> str:
        """The need in words."""
        if not self.need.strip():
            raise ConfigError("task.need: say in words what is looked for.")
        return self.known.need if self.known else self.need

    @property
    def alias(self) -> str:
        return f"search-{self.need}" if self.known else "search"

    @property
    def origin(self) -> str:
        mark = self.backend.fingerprint
        return f"{self.backend.name}{f' ({mark[:12]})' if mark else ''}"

    @cached_property
    def content(self) -> list[str]:
        """Content words of the need that the collection has, or may have. Raises ConfigError if there are none."""
        words = [word for word in self.backend.words(self.words) if self.backend.frequency(word) != 0]
        if not words:
            raise ConfigError(
                f"task.need: no word of {self.words[:80]!r} occurs in {self.backend.name}; say it otherwise."
            )
        return words

    @cached_property
    def unheard(self) -> list[str]:
        """Content words of the need that the collection does not have."""
        return [word for word in self.backend.words(self.words) if word not in self.content]

    @cached_property
    def moves(self) -> Moves:
        return Moves(self.backend, self.content)

    def prepare(self) -> Brief:
        if self.low > self.high:
            raise ConfigError(f"task.low={self.low} must not be above task.high={self.high}.")
        need = self.words  # a name that is not known is refused before a collection is indexed
        filters = "; ".join(f"{name}: {what}" for name, what in self.backend.filters.items())
        note = f"words of the need that the collection does not have: {listed(self.unheard)}" if self.unheard else ""
        return Brief(
            goal=self.goal, need=need, collection=self.backend.name, filters=filters, low=self.low,
            high=self.high, note=note,
        )  # fmt: skip

    @property
    def goal(self) -> str:
        raise NotImplementedError

    def asked(self, wanted: Query, limit: int) -> tuple[Query, Found, str]:
        """What a query from outside finds: the query as it was asked, the hits, and what was left out of it.

        Filters whose values the backend refuses are left out; a search that it refuses without them is the user's.
        """
        query, note = self.sensible(wanted)
        try:
            return query, self.backend.search(query, limit), note
        except ConfigError as error:
            if not query.filters:
                raise
            bare = query.model_copy(update={"filters": {}})
            return bare, self.backend.search(bare, limit), said(note, f"left out the filters: {error}")

    def sensible(self, query: Query) -> tuple[Query, str]:
        """A query as the backend takes it, and what was left out of one that came from outside."""
        filters = {name: value for name, value in query.filters.items() if name in self.backend.filters}
        strange = sorted(query.filters.keys() - filters.keys())
        note = f"left out filters that are not known: {listed(strange)}" if strange else ""
        given = {" ".join(word.split()): others for word, others in query.alternatives.items()}
        keywords = usable(query.keywords)
        others = {word: [w for w in usable(given.get(word, [])) if w not in keywords] for word in keywords}
        exclusions = [word for word in usable(query.exclusions) if word not in keywords]
        made = self._short(Query(keywords=keywords, alternatives=others, exclusions=exclusions, filters=filters))
        left = set(usable(every_word(query), longest=None)) - set(every_word(made))
        return made, said(note, f"left out words: {listed(sorted(left))}" if left else "")

    def _short(self, query: Query) -> Query:
        """No more words than the backend takes; alternatives go first, then exclusions, then keywords."""
        keywords = query.keywords[: self.backend.widest]
        exclusions = query.exclusions[: self.backend.widest - len(keywords)]
        room = self.backend.widest - len(keywords) - len(exclusions)
        others: dict[str, list[str]] = {}
        for word in keywords:
            kept = query.alternatives.get(word, [])[:room]
            room -= len(kept)
            if kept:
                others[word] = kept
        return Query(keywords=keywords, alternatives=others, exclusions=exclusions, filters=query.filters)

    # The answer

    def explained(self, hits: Sequence[Hit], note: str = "") -> Answer:
        """The hits in their order, each with the words of the need it has: the answer that no model writes."""
        results = [Result(id=hit.id, reason=self.reason(hit)) for hit in hits]
        return Answer(results=results, text=f"{len(results)} results for: {self.words}.{f' {note}' if note else ''}")

    def reason(self, hit: Hit) -> str:
        """What speaks for a hit, by code: the words of the need in its title and excerpt."""
        title, text = hit.title.lower(), hit.excerpt.lower()
        named = [word for word in self.content if stem(word) in title]
        told = [word for word in self.content if word not in named and stem(word) in text]
        parts = [f"name has {', '.join(named)}"] if named else []
        parts += [f"text has {', '.join(told)}"] if told else []
        return "; ".join(parts) or "found by a related word or deeper in its text"

    def settled(self, hits: Sequence[Hit], answer: Answer) -> tuple[Answer, str]:
        """An answer that names hits only, each once; what it invented is left out, and said."""
        known = {hit.id for hit in hits}
        kept = {result.id: result for result in reversed(answer.results) if result.id in known}
        results = [kept.pop(result.id) for result in answer.results if result.id in kept]
        strange = [result.id for result in answer.results if result.id not in known]
        note = f"left out of the answer, because they are no hits: {', '.join(strange[:5])}" if strange else ""
        return answer.model_copy(update={"results": results}), note

    def page(self, hits: Sequence[Hit], answer: Answer | None, facts: Mapping[str, Any]) -> str:
        """The result for a person, in Markdown."""
        at = {hit.id: hit for hit in hits}
        reasons = {result.id: result.reason for result in answer.results} if answer else {}
        order = [*reasons, *(hit.id for hit in hits if hit.id not in reasons)]
        lines = [f"# {' '.join(self.words.split())}", "", *(f"- {name}: {value}" for name, value in facts.items()), ""]
        if answer and answer.text:
            lines += [answer.text, ""]
        for place, name in enumerate((i for i in order if i in at), 1):
            hit = at[name]
            reason = f": {' '.join(reasons[name].split())}" if reasons.get(name) else ""
            full = f" ({' '.join(name.split())})" if name != hit.title else ""
            lines.append(f"{place}. **{' '.join(hit.title.split())}**{full}{reason}\n   {hit.excerpt}".rstrip())
        return "\n".join(lines) + "\n"

    def planned(self, **_: Any) -> Plan:
        """The words of the need, each with the nearest words of the collection itself."""
        words = self.content[: self.backend.widest]
        room = self.backend.widest - len(words)
        others: dict[str, list[str]] = {}
        for word in words:
            found = [other for other in self.backend.related(word, [], SYNONYMS) if other not in words][:room]
            room -= len(found)
            if found:
                others[word] = found
        return Plan(keywords=words, alternatives=others, reason="the words of the need and their neighbours")


def usable(words: Iterable[str], longest: int | None = LONGEST_WORD) -> list[str]:
    """The words on one line each, without doublets, empty ones and those that are too long for any search."""
    lines = (" ".join(word.split()) for word in words)
    return list(dict.fromkeys(line for line in lines if line and (longest is None or len(line) <= longest)))


def every_word(query: Query) -> list[str]:
    """Keywords, alternatives and exclusions."""
    return [*query.keywords, *chain.from_iterable(query.alternatives.values()), *query.exclusions]


def listed(words: Sequence[str]) -> str:
    """The first of them, shortened, for a note."""
    shown = [word[:SHOWN_WORD] for word in words[:SHOWN_WORDS]]
    more = len(words) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def said(*notes: str) -> str:
    """Those notes that say something, in one."""
    return "; ".join(note for note in notes if note)


def stem(word: str) -> str:
    """A stump that plural, -ing and -ed forms share, for showing why a hit was found; never for searching."""
    for end in ("ing", "ed", "es", "s"):
        if word.endswith(end) and len(word) - len(end) >= 3:
            return word[: -len(end)].lower()
    return word.lower()
