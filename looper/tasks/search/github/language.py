"""Words: what a need is made of, and what the hits themselves say in place of a word."""

import math
import re
from collections import Counter

from looper.tasks.search.query import Hit

_WORD = re.compile(r"\.?[^\W_]+(?:[.'/-][^\W_]+)*(?:\+\+|#)?")
_FUNCTION_WORDS = (
    "a about after all also an and any are as at be because been before being but by can could did do does doing down "
    "each either else every few find for from get give had has have having help helps her here his how i if in into is "
    "it its just keep kind let like list look looking lot make makes many may me more most much must my need needs no "
    "nor not of off on once one only or other our out over own please same search several shall she should show so "
    "some something such than that the their them then there these they thing this those through to too under until up "
    "us use used uses using very via want wants was way we well were what when where which while who whom whose why "
    "will with within without would you your github library libraries package packages project projects repo repos "
    "repository repositories awesome simple"
)
_STOP = frozenset(_FUNCTION_WORDS.split())
"""Function words, words of asking, and words that fit any repository."""
TOPIC = 2.0
"""Weight of a word in an owner's topics, which are chosen, against one in a description."""


def words(text: str) -> list[str]:
    """Content words in order, in lower case, once each; `node.js`, `c++`, `c#` and hyphened words stay whole."""
    found = (word.lower() for word in _WORD.findall(text.replace("\u2019", "'")))
    return list(dict.fromkeys(word for word in found if _content(word)))


def related(word: str, hits: list[Hit], limit: int) -> list[str]:
    """Words that stand in topics and descriptions beside `word`, best first.

    A word counts by the hits it shares with `word`, more where it is rare among the others, as in tf-idf.
    """
    wanted = word.lower()
    texts = [_weights(hit) for hit in hits]
    near: Counter[str] = Counter()
    for text in texts:
        if any(_same(wanted, other) for other in text):
            near.update(text)
    spread = Counter(other for text in texts for other in text)
    scores = {other: weight * math.log(1 + len(texts) / spread[other]) for other, weight in near.items()}
    ranked = sorted(scores, key=lambda other: (-scores[other], other))
    return [other for other in ranked if other != wanted][: max(limit, 0)]


def _weights(hit: Hit) -> dict[str, float]:
    """The words of a hit; one that is a topic weighs more."""
    weights = dict.fromkeys(words(hit.excerpt), 1.0)
    topics = str(hit.fields.get("topics", "")).split()
    return weights | {topic.lower(): TOPIC for topic in topics if _content(topic.lower())}


def _same(word: str, other: str) -> bool:
    """Whether `other` is the word or a compound with it, such as graceful-shutdown."""
    return word == other or word in re.split(r"[-/.]", other)


def _content(word: str) -> bool:
    if len(word) == 1:
        return word in ("c", "r")
    stop = word in _STOP or word.split("'")[0] in _STOP or word.endswith("n't")
    return not stop and any(letter.isalpha() for letter in word)
