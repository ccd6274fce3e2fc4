"""A query in the words of GitHub's repository search, within its limits.

Only documented meanings are used: words side by side must all occur, NOT excludes one word, OR joins words. How OR
binds beside other words is not documented, nor are parentheses, so alternatives beside other words become requests of
their own, whose hits are united. Limits: 256 characters without operators and qualifiers, five operators (REST API,
"Limitations on query length").
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import product
from math import prod

from looper.errors import ConfigError
from looper.tasks.search.github.reply import clean
from looper.tasks.search.query import Query

LONGEST = 256
"""Characters of a request, operators and qualifiers not counted."""
OPERATORS = 5
"""AND, OR and NOT in one request."""
REQUESTS = 6
"""Requests that one query may become; an anonymous user has ten a minute."""
SCOPES = ("name", "description", "topics", "readme")


@dataclass(frozen=True)
class Phrase:
    """What is asked: the values of `q`, the words as the user wrote them first."""

    requests: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    """Each part of the query that was not asked, with the reason."""


@dataclass
class _Draft:
    """Groups of words of which one must occur each, and words that must not; shrinks until it fits."""

    groups: list[list[str]]
    exclusions: list[str]
    left_out: list[str] = field(default_factory=list)

    def joined(self) -> bool:
        """Whether OR alone says it all."""
        return len(self.groups) == 1 and len(self.groups[0]) > 1 and not self.exclusions

    def fit(self) -> None:
        """Leaves out what is too much: exclusions before alternatives before keywords, the last first.

        Shortened and said, not refused: a policy that adds words step by step can read the note and go on.
        """
        while len(self.exclusions) > OPERATORS:
            self._drop_exclusion("GitHub takes five operators")
        while self._requests() > REQUESTS or (self.joined() and len(self.groups[0]) - 1 > OPERATORS):
            self._drop_alternative("too many alternatives for GitHub")
        while self._length() > LONGEST:
            self._shorten()

    def _requests(self) -> int:
        return 1 if self.joined() else prod(len(group) for group in self.groups)

    def _length(self) -> int:
        words = self.groups[0] if self.joined() else [max(group, key=len) for group in self.groups]
        return len(" ".join([*words, *self.exclusions]))

    def _shorten(self) -> None:
        reason = f"GitHub takes {LONGEST} characters"
        if self.exclusions:
            self._drop_exclusion(reason)
        elif any(len(group) > 1 for group in self.groups):
            self._drop_alternative(reason)
        elif len(self.groups) > 1:
            self.left_out.append(f"keyword {self.groups.pop()[0]} ({reason})")
        else:
            raise ConfigError(f"the keyword {self.groups[0][0][:40]}... is too long: {reason}; use a shorter word.")

    def _drop_exclusion(self, reason: str) -> None:
        self.left_out.append(f"exclusion {self.exclusions.pop()} ({reason})")

    def _drop_alternative(self, reason: str) -> None:
        widest = max(self.groups, key=len)
        self.left_out.append(f"alternative {widest.pop()} ({reason})")

    def requests(self) -> list[str]:
        if self.joined():
            return [" OR ".join(self.groups[0])]
        without = [f"NOT {word}" for word in self.exclusions]
        return [" ".join([*words, *without]) for words in product(*self.groups)]


def phrase(query: Query, qualifiers: Sequence[str] = ()) -> Phrase:
    """The requests that a query becomes; none when it names neither a keyword nor a filter that finds something.

    Raises ConfigError for a filter that is unknown or a value that does not fit, and for one overlong keyword.
    """
    held = [*filtered(query.filters), *qualifiers]
    left_out: list[str] = []
    groups = _groups(query, left_out)
    draft = _Draft(groups, _exclusions(query, left_out), left_out)
    if not groups and not set(query.filters) - {"in"}:
        return Phrase((), tuple(left_out))
    draft.fit()
    return Phrase(tuple(" ".join([text, *held]).strip() for text in draft.requests()), tuple(left_out))


def _groups(query: Query, left_out: list[str]) -> list[list[str]]:
    groups: dict[str, list[str]] = {}
    for keyword in query.keywords:
        spelt = _spelt([keyword, *query.alternatives.get(keyword, [])], left_out)
        if spelt:
            groups.setdefault(spelt[0], spelt)
    return list(groups.values())


def _exclusions(query: Query, left_out: list[str]) -> list[str]:
    """NOT is for words: GitHub does not apply it to numbers and dates."""
    words = [word for word in query.exclusions if re.search(r"[^\W\d_]", word)]
    left_out += [
        f"exclusion {clean(word)} (GitHub excludes words only)" for word in query.exclusions if word not in words
    ]
    return _spelt(words, left_out)


def _spelt(words: Sequence[str], left_out: list[str]) -> list[str]:
    """The words as GitHub is to read them, each once."""
    spelt = {word: quoted(word) for word in words}
    left_out += [f"word {clean(word)!r} (no letter or digit)" for word, text in spelt.items() if not text]
    return list(dict.fromkeys(text for text in spelt.values() if text))


def quoted(word: str) -> str:
    """A word that can be nothing but a word: no operator, no qualifier, no quote; empty if nothing is left of it."""
    text = clean(word).replace('"', " ").replace("\\", " ").lower()
    text = " ".join(text.split())
    if not any(letter.isalnum() for letter in text):
        return ""
    plain = text.isalnum() and text not in ("and", "or", "not")
    return text if plain else f'"{text}"'


def filtered(filters: dict[str, str | int]) -> list[str]:
    """The qualifiers. Raises ConfigError."""
    unknown = sorted(set(filters) - set(_QUALIFIERS))
    if unknown:
        raise ConfigError(f"GitHub has no filter {unknown[0]}; there are {', '.join(_QUALIFIERS)}.")
    return [_QUALIFIERS[name](value) for name, value in sorted(filters.items())]


def _language(value: str | int) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[\w+#.*' ()-]{1,50}", value) or not value.strip():
        raise ConfigError(f"filter language={_shown(value)} is not the name of a language, such as python or C++.")
    return f'language:"{value.strip().lower()}"'


def _stars(value: str | int) -> str:
    if isinstance(value, bool) or not re.fullmatch(r"[0-9]{1,9}", str(value)):
        raise ConfigError(f"filter stars={_shown(value)} is not a number of stars, 0 or more.")
    return f"stars:>={int(value)}"


def _topic(value: str | int) -> str:
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,49}", str(value).lower()):
        raise ConfigError(f"filter topic={_shown(value)} is not a topic: letters, digits and hyphens, at most 50.")
    return f"topic:{str(value).lower()}"


def _pushed(value: str | int) -> str:
    text = str(value)
    try:
        day = date.fromisoformat(text)
    except ValueError as error:
        raise ConfigError(f"filter pushed={_shown(value)} is not a date like 2024-01-31.") from error
    return f"pushed:>={day.isoformat()}"


def _in(value: str | int) -> str:
    scopes = [scope.strip() for scope in str(value).split(",")]
    if not set(scopes) <= set(SCOPES):
        raise ConfigError(f"filter in={_shown(value)} is not a list of {', '.join(SCOPES)}.")
    return f"in:{','.join(sorted(set(scopes)))}"


def _shown(value: object) -> str:
    return clean(str(value))[:60]


_QUALIFIERS: dict[str, Callable[[str | int], str]] = {
    "language": _language,
    "stars": _stars,
    "topic": _topic,
    "pushed": _pushed,
    "in": _in,
}
FILTERS = {
    "language": "main programming language, such as python",
    "stars": "stars, at least",
    "topic": "a topic its owner gave it, such as http-server",
    "pushed": "changed on or after this day, like 2024-01-31",
    "in": "where words are looked for: name, description, topics, readme, with commas; without it the first three",
}
