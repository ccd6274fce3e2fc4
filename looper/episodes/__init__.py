"""The episode store: what runs under the outer loop leave for later ones (SPEC 5.7)."""

from looper.episodes.episode import Appended, Episode, Found, Recalled, lesson, played
from looper.episodes.store import STORE, Episodes, EpisodesUnusable

__all__ = ["STORE", "Appended", "Episode", "Episodes", "EpisodesUnusable", "Found", "Recalled", "lesson", "played"]
