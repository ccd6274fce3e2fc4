"""Ways to change a query, as candidates in order of preference; the policies take the first that was not tried."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from looper.tasks.search.query import Backend, Query
from looper.tasks.search.states import Change, Results, Steering

ALTERNATIVES = 64
"""Related words of a keyword that a query may hold at most, if the backend allows it."""
SHARE_WORDS = 40
"""Words of the hits that are weighed as an addition or an exclusion."""
WORD = re.compile(r"[^\W\d_]{3,}")


class Moves:
    """Candidates for the next query over one collection, for one need."""

    def __init__(self, backend: Backend, need: Sequence[str]):
        self.backend, self.need = backend, list(need)

    def fits(self, query: Query) -> bool:
        """Whether the backend takes a query of so many words."""
        words = sum(1 + len(query.alternatives.get(word, [])) for word in query.keywords)
        return words > 0 and words + len(query.exclusions) <= self.backend.widest

    def ordered(self, words: Sequence[str]) -> list[str]:
        """Words of the need in its order, then the others: a query that comes back looks as it did."""
        at = {word: place for place, word in enumerate(self.need)}
        return sorted(words, key=lambda word: at.get(word, len(at)))

    def rarest(self, words: Sequence[str]) -> list[str]:
        """Rarest first; where the collection does not say, the last first: people put what matters most in front."""
        counts = {word: self.backend.frequency(word) for word in words}
        at = {word: place for place, word in enumerate(words)}
        return sorted(words, key=lambda w: (counts[w] if counts[w] is not None else math.inf, -at[w]))

    # Towards more hits

    def broader(self, state: Results, steering: Steering) -> Iterator[Change]:
        """Filters and exclusions go first, then words are dropped or get alternatives, the rarest first."""
        query = state.query
        if query.filters or query.exclusions:
            bare = query.model_copy(update={"filters": {}, "exclusions": []})
            yield Change(kind="broaden", query=bare, why="without filters and exclusions")
        dropped = self.dropped(query, 1 + int(steering.level))
        wider = self.widened(state, max(4, round(8 * (1 + steering.level))))
        near = state.total * 3 >= steering.low
        yield from [*wider, *dropped] if near else [*dropped, *wider]

    def dropped(self, query: Query, count: int) -> list[Change]:
        """Without the rarest keywords, the boldest drop first; one keyword stays."""
        rare = self.rarest(query.keywords)
        return [
            Change(kind="broaden", query=without(query, rare[:n]), why=f"without {', '.join(rare[:n])}")
            for n in range(min(count, len(rare) - 1), 0, -1)
        ]

    def widened(self, state: Results, step: int) -> list[Change]:
        """With `step` more alternatives of a keyword, the rarest keyword first."""
        found: list[Change] = []
        for word in self.rarest(state.query.keywords):
            wide = self.alternatives(state, word, len(state.query.alternatives.get(word, [])) + step)
            if wide is not None:
                found.append(Change(kind="broaden", query=wide, why=f"more words for {word}"))
        return found

    def alternatives(self, state: Results, word: str, count: int) -> Query | None:
        """The query with so many alternatives of a word, or as many as there are and fit; None if that adds none."""
        query, known = state.query, state.query.alternatives.get(word, [])
        room = (
            self.backend.widest - sum(1 + len(query.alternatives.get(k, [])) for k in query.keywords if k != word) - 1
        )
        related = self.backend.related(word, state.hits, ALTERNATIVES)
        others = [other for other in related if other not in query.keywords and other not in known]
        wanted = [*known, *others][: max(0, min(count, room))]
        return with_alternatives(query, word, wanted) if len(wanted) > len(known) else None

    # Towards fewer hits

    def narrower(self, state: Results, steering: Steering) -> Iterator[Change]:
        """Words of the need that are not in the query, fewer alternatives, then what a sample of the hits suggests."""
        query = state.query
        for word in self.need:
            if word not in query.keywords and self.backend.frequency(word) != 0 and state.total > 3 * steering.high:
                more = query.model_copy(update={"keywords": self.ordered([*query.keywords, word])})
                yield Change(kind="narrow", query=more, why=f"{word} is part of the need")
        yield from self.pruned(query, steering)
        yield from self.sampled(state, steering)

    def pruned(self, query: Query, steering: Steering) -> Iterator[Change]:
        """With fewer alternatives of the keyword that has most; the higher the level the fewer are left."""
        for word in sorted(query.alternatives, key=lambda w: (-len(query.alternatives[w]), w)):
            left = int(len(query.alternatives[word]) / (2 + steering.level))
            if query.alternatives[word]:
                fewer = with_alternatives(query, word, query.alternatives[word][:left])
                yield Change(kind="narrow", query=fewer, why=f"fewer words for {word}")

    def sampled(self, state: Results, steering: Steering) -> Iterator[Change]:
        """A word more, or a word excluded, whose share in the hits that are known promises a number in the range."""
        target = math.sqrt(steering.low * steering.high)
        options: list[tuple[float, str, Change]] = []
        query = state.query
        taken = {*query.keywords, *query.exclusions, *(w for words in query.alternatives.values() for w in words)}
        for word, share in self.shares(state):
            if word in taken:
                continue
            for kept, change in ((share, self._with(state, word)), (1 - share, self._without(state, word))):
                if 0 < kept < 1:
                    options.append((abs(math.log(kept * state.total / target)), word, change))
        for _, _, change in sorted(options, key=lambda option: option[:2]):
            yield change

    def shares(self, state: Results) -> list[tuple[str, float]]:
        """Content words of some but not all of the hits that are known, with their share; frequent ones first."""
        counts: Counter[str] = Counter()
        for hit in state.hits:
            counts.update(word for word in self.backend.words(f"{hit.title} {hit.excerpt}") if WORD.fullmatch(word))
        number = len(state.hits)
        known = [(word, count) for word, count in counts.items() if count < number]
        ranked = sorted(known, key=lambda item: (-item[1], item[0]))
        return [(word, count / number) for word, count in ranked[:SHARE_WORDS]]

    def _with(self, state: Results, word: str) -> Change:
        query = state.query.model_copy(update={"keywords": [*state.query.keywords, word]})
        return Change(kind="narrow", query=query, why=f"with {word}, which some of the hits have")

    def _without(self, state: Results, word: str) -> Change:
        query = state.query.model_copy(update={"exclusions": [*state.query.exclusions, word]})
        return Change(kind="narrow", query=query, why=f"without hits that have {word}")

    # Between two bounds (SPEC 1.4)

    def between(self, narrow: Query, broad: Query, state: Results) -> Iterator[Change]:
        """The middle of a query that finds too little and one that finds too much, along what tells them apart."""
        why = "middle of too little and too much"
        kind = "narrow" if state.query.key() == broad.key() else "broaden"
        gone = [word for word in self.rarest(narrow.keywords) if word not in broad.keywords]
        if len(gone) > 1:
            yield Change(kind=kind, query=without(narrow, gone[: len(gone) // 2]), why=why)
        elif gone:
            yield from self._between_word(narrow, gone[0], state, kind)
        if set(narrow.keywords) == set(broad.keywords):
            yield from self._between_alternatives(narrow, broad, kind, why)
        more = [word for word in narrow.exclusions if word not in broad.exclusions]
        if len(more) > 1:
            yield Change(kind=kind, query=narrow.model_copy(update={"exclusions": more[: len(more) // 2]}), why=why)

    def _between_word(self, narrow: Query, word: str, state: Results, kind: str) -> Iterator[Change]:
        """A keyword is too much and none too little: ever more alternatives of it lie between."""
        known = len(narrow.alternatives.get(word, []))
        wide = self.alternatives(state.model_copy(update={"query": narrow}), word, 2 * known + 2)
        if wide is not None:
            yield Change.model_validate({"kind": kind, "query": wide, "why": f"between {word} and anything"})

    def _between_alternatives(self, narrow: Query, broad: Query, kind: str, why: str) -> Iterator[Change]:
        for word in narrow.keywords:
            few, many = narrow.alternatives.get(word, []), broad.alternatives.get(word, [])
            extra = [other for other in many if other not in few]
            if len(extra) > 1:
                middle = with_alternatives(broad, word, [*few, *extra[: len(extra) // 2]])
                yield Change.model_validate({"kind": kind, "query": middle, "why": why})

    # Other words

    def rephrased(self, state: Results, steering: Steering) -> Iterator[Change]:
        """A keyword replaced by what stands in its place elsewhere, the rarest keyword first."""
        for word in self.rarest(state.query.keywords):
            for other in self.backend.related(word, state.hits, round(4 * (1 + steering.level))):
                if other not in state.query.keywords and other not in state.query.exclusions:
                    keywords = [other if k == word else k for k in state.query.keywords]
                    query = without(state.query, [word]).model_copy(update={"keywords": keywords})
                    yield Change(kind="rephrase", query=query, why=f"{other} in place of {word}")

    def diversified(self, state: Results) -> Iterator[Change]:
        """One word of the need, or one related to it, alone: another corner of the collection than what was seen."""
        for word in self.need:
            for other in [word, *self.backend.related(word, [], 3)]:
                yield Change(kind="diversify", query=Query(keywords=[other]), why=f"another corner: {other}")


def without(query: Query, words: Sequence[str]) -> Query:
    """The query without some keywords and their alternatives."""
    kept = {word: others for word, others in query.alternatives.items() if word not in words}
    return query.model_copy(update={"keywords": [w for w in query.keywords if w not in words], "alternatives": kept})


def with_alternatives(query: Query, word: str, others: Sequence[str]) -> Query:
    """The query with these alternatives of a keyword."""
    known = {key: list(words) for key, words in query.alternatives.items() if key != word}
    return query.model_copy(update={"alternatives": {**known, word: list(others)} if others else known})
