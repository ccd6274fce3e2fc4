"""What is kept of a run for later ones (SPEC 5.7), and in which form.

An episode never holds a holdout score: it is shown in the prompts of later runs (SPEC 0.6).
"""

import re
import unicodedata
from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from looper.redact import redact

COSTS = frozenset({"inner", "outer", "usd", "tokens", "calls"})
LIMITS = {"goal": 2000, "run": 255}
LIMIT, ITEMS = 400, 20
"""Characters of any other text, and texts in a list, that are kept."""

ENDS = {"VERIFIED": "verified", "GAPS_IDENTIFIED": "gaps were left", "CRITICAL_FAILURE": "failed its verification"}


def moment(text: str) -> str:
    """An ISO time in UTC, so that times compare as text. Raises ValueError."""
    told = datetime.fromisoformat(text)
    if told.tzinfo is None:
        raise ValueError("a time needs its zone, such as 2026-11-22T08:00:00Z")
    return told.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _costs(cost: dict[str, float]) -> dict[str, float]:
    if other := sorted(cost.keys() - COSTS):
        raise ValueError(f"{other[0]} is no account; there are {', '.join(sorted(COSTS))}")
    return cost


Finite = Annotated[float, Field(allow_inf_nan=False)]


class Told(BaseModel):
    """What a prompt of a later run needs of an episode."""

    run: str = Field(min_length=1)
    """Run id; there is one episode of a run."""
    at: Annotated[str, AfterValidator(moment)]
    """When it ended, an ISO time with its zone; kept in UTC."""
    task: str
    """Alias of the task."""
    goal: str
    domain: str = "general"
    design: str = ""
    outer: str = ""
    status: str = ""
    reason: str = ""
    outcome: Literal["VERIFIED", "GAPS_IDENTIFIED", "CRITICAL_FAILURE", ""] = ""
    """Of the last verification; empty if there was none."""
    gate_score: Finite | None = None
    verification: Finite | None = None
    """Score of the last verification, 0 to 1."""
    cost: Annotated[dict[str, Finite], AfterValidator(_costs)] = {}
    """By account: inner, outer (units), usd, tokens, calls."""
    loops: int = Field(default=0, ge=0)
    """Loop-backs from VERIFY."""
    failed: list[str] = []
    """Criteria that were not met, each with its problem."""
    helped: list[str] = []
    """Gaps that were closed, answers that were given."""
    questions: list[dict[str, str]] = []
    """Each with question, answer and who answered; nothing else of them is kept."""
    filled_by: str = ""
    """Who filled the roles: policy, recording, simulated, names of models, human."""


class Episode(Told):
    """One run under the outer loop. Unknown fields are refused, so that no holdout score can slip in."""

    model_config = ConfigDict(extra="forbid")

    seed: int = 0


class Recalled(Told):
    """An episode that is like a text."""

    similarity: float
    """BM25; above 0, comparable within one answer only."""
    lesson: str
    """The episode in one line."""


class Found(BaseModel):
    """A whole episode that a search has found, and how well it fits (BM25)."""

    episode: Episode
    similarity: float


class Appended(BaseModel):
    """What `append` did."""

    run: str
    replaced: bool
    """Whether there was an episode of this run already."""
    episodes: int
    """How many there are now."""


def cleaned(episode: Episode) -> Episode:
    """The episode as it is kept: no secret, no control character, every text one line of bounded length."""
    data = episode.model_dump()
    asked = [{name: q.get(name, "") for name in ("question", "answer", "who")} for q in data.pop("questions")]
    kept = {
        name: one_line(value, LIMITS.get(name, LIMIT)) if isinstance(value, str)
        else [one_line(text, LIMIT) for text in value[:ITEMS]] if isinstance(value, list) else value
        for name, value in data.items()
    }  # fmt: skip
    kept["questions"] = [{name: one_line(text, LIMIT) for name, text in q.items()} for q in asked[:ITEMS]]
    return Episode.model_validate(kept)


def one_line(text: str, most: int) -> str:
    """The text as it is kept. Secrets are looked for twice: one may have been spelt with invisible characters."""
    line = redact(harmless(redact(text)[: most * 10]))
    return line if len(line) <= most else line[: most - 3] + "..."


def harmless(text: str) -> str:
    """On one line, without what is invisible or acts on a terminal; the joiners that some scripts need stay."""
    if not text.isprintable():
        kinds = ((char, unicodedata.category(char)) for char in text)
        text = "".join(
            " " if kind in ("Cc", "Zl", "Zp") else char for char, kind in kinds
            if kind not in ("Cf", "Cs") or char in "\u200c\u200d"
        )  # fmt: skip
    return " ".join(text.split())


def played(filled_by: str) -> str:
    """What an episode must not be taken for the real thing for: `simulation`, `recording`, both, or nothing."""
    kinds = {"simulation": r"\bsimulat", "recording": r"\brecord"}
    return " and ".join(kind for kind, sign in kinds.items() if re.search(sign, filled_by, re.IGNORECASE))


def lesson(episode: Told) -> str:
    """The episode in one line: how it ended, what helped, what failed; a simulation or recording is labelled."""
    reason = f" ({episode.reason})" if episode.reason else ""
    end = ENDS.get(episode.outcome, f"{episode.status or 'ended'}{reason}")
    back = f" after {episode.loops} loop-back{'s' * (episode.loops > 1)}" if episode.loops else ""
    kind = played(episode.filled_by)
    parts = [f"{f'[{kind}] ' if kind else ''}{end}{back}"]
    for what, texts in (("helped", episode.helped), ("failed", episode.failed)):
        parts += [f"{what}: {texts[0]}{f' (and {len(texts) - 1} more)' if len(texts) > 1 else ''}"] if texts else []
    return one_line("; ".join(parts), LIMIT)
