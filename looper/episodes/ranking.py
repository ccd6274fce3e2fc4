"""How like a text an episode is: BM25 with weighted fields (Robertson and Zaragoza, "The Probabilistic Relevance
Framework: BM25 and Beyond", 2009), by SQLite FTS5's bm25() over stemmed words (SPEC 5.7)."""

import math
import re
import sqlite3

from looper.episodes.episode import harmless

WORDS = 32
"""Content words of a text that are looked up, the first ones: enough for a goal, bounded for a pasted document."""
POSTINGS = 10_000
"""Occurrences that are scored at most, those of rare words first: bounds the time, and frequent words tell little."""
WEIGHTS = {"goal": 2.0, "task": 3.0, "domain": 1.0, "failed": 1.0, "helped": 1.0}
"""Of the fields that are searched. A task's name is one word that says much; a goal says what is wanted."""
STOP_WORDS = """
a about all also an and any are as at be been but by can do does for from had has have how i if in into is it its may
more must no not of on one only or other our out should so some such than that the their them then there these they
this those to up use using was we were what when where which who will with without would you your
"""
STOP = frozenset(STOP_WORDS.split())
"""Words that two texts have in common without being alike."""


def ranked(database: sqlite3.Connection, text: str, most: int, but: str) -> list[tuple[bytes, bytes, float]]:
    """Source, digest and score of the episodes that share a word with the text, without the one of run `but`.

    The best first, of equal ones the newer.
    """
    terms = _terms(database, content(text))
    if not terms:
        return []
    weights = ", ".join(str(weight) for weight in WEIGHTS.values())
    one = f"SELECT rowid AS id, -? * bm25(words, {weights}) AS score FROM words WHERE words MATCH ?"
    query = f"""
      WITH hits AS ({" UNION ALL ".join([one] * len(terms))} UNION ALL SELECT 0, 0 WHERE 0),
        scored AS (SELECT id, round(sum(score), 9) AS score FROM hits GROUP BY id),
        best AS (
          SELECT number, score FROM scored JOIN episodes ON number = id WHERE run <> ?
          ORDER BY score DESC, at DESC, run LIMIT ?)
      SELECT source, digest, score FROM best JOIN episodes USING (number) JOIN sources USING (number)
      ORDER BY score DESC, at DESC, run"""
    values = [value for phrase, factor in terms.items() for value in (factor, phrase)]
    return database.execute(query, (*values, but, max(0, most))).fetchall()


def content(text: str) -> list[str]:
    """The first content words of a text, in lower case, without doublets; all words where each is a stop word."""
    words = list(dict.fromkeys(re.findall(r"[^\W_]+", harmless(text[:100_000]).lower())))
    return ([word for word in words if word not in STOP] or words)[:WORDS]


def _terms(database: sqlite3.Connection, words: list[str]) -> dict[str, float]:
    """Phrases of FTS5 that are in the store, each with the factor from bm25()'s weight of the term to the one wanted.

    bm25() gives next to no weight to a term that more than half the episodes have: the words of a task that is run
    again and again would count less than any chance word. log(1 + (N - n + .5) / (n + .5)) is always positive.
    """
    total = database.execute("SELECT count(*) FROM episodes").fetchone()[0]
    counted = []
    for place, word in enumerate(words):
        n = database.execute("SELECT count(*) FROM words WHERE words MATCH ?", (f'"{word}"',)).fetchone()[0]
        counted += [(n, place, f'"{word}"')] if n else []
    terms: dict[str, float] = {}
    left = POSTINGS
    for n, _, phrase in sorted(counted):
        if terms and n > left:
            break
        odds = (total - n + 0.5) / (n + 0.5)
        terms[phrase] = math.log1p(odds) / (math.log(odds) if odds > 1 else 1e-6)  # 1e-6: FTS5's own floor
        left -= n
    return terms
