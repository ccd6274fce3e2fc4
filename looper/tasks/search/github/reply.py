"""What GitHub's search answers, checked and made harmless: the text of servers is data (SAFETY P13, P18)."""

import json
import re
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from looper.redact import redact
from looper.tasks.search.github.faults import Fault
from looper.tasks.search.query import LONGEST_EXCERPT, Hit

LONGEST_TEXT = 10_000
"""Characters of one text of a reply that are looked at."""
_SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)|\x9b[0-?]*[ -/]*[@-~]", re.DOTALL)
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def clean(text: str) -> str:
    """On one line, without terminal sequences, control and invisible characters."""
    return " ".join(_UNSEEN.sub(" ", _SEQUENCE.sub(" ", text[:LONGEST_TEXT])).split())


def harmless(text: str) -> str:
    """Clean, and free of secrets: before cleaning, which cuts, and after it, which joins."""
    return redact(clean(redact(text)))


def _kept(most: int) -> BeforeValidator:
    """Text: harmless, then cut. What is not text is left for the check that follows."""
    return BeforeValidator(lambda value: harmless(value)[:most] if isinstance(value, str) else value)


class Repository(BaseModel):
    """One result, as far as it is used."""

    model_config = ConfigDict(strict=True)

    full_name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}$"), _kept(300)]
    description: Annotated[str | None, _kept(LONGEST_EXCERPT)] = None
    stargazers_count: int = Field(ge=0, le=10**9)
    language: Annotated[str | None, _kept(50)] = None
    topics: list[Annotated[str, _kept(50)]] | None = Field(default=None, max_length=100)
    pushed_at: Annotated[str | None, _kept(10)] = None
    """Day of the last change, ISO."""
    html_url: Annotated[str | None, _kept(500)] = None

    def hit(self, rank: int) -> Hit:
        """`rank` counts from 1; its reciprocal is the score, because the API's own is the same for all."""
        fields: dict[str, str | int] = {
            "stars": self.stargazers_count,
            "language": self.language or "",
            "topics": " ".join(self.topics or []),
            "pushed": self.pushed_at or "",
            "url": self.html_url if re.fullmatch(r"https?://[!-~]+", self.html_url or "") and self.html_url else "",
        }
        title, excerpt = self.full_name.partition("/")[2], self.description or ""
        return Hit(id=self.full_name, score=1 / rank, title=title, excerpt=excerpt, fields=fields)


class Page(BaseModel):
    """One page of results."""

    model_config = ConfigDict(strict=True)

    total_count: int = Field(ge=0, le=10**12)
    incomplete_results: bool
    items: list[Repository] = Field(max_length=100)


def parse(body: bytes) -> Page | Fault:
    """The page, or why there is none."""
    data = _data(body)
    if isinstance(data, Fault):
        return data
    try:
        return Page.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole"
        return Fault("bad_shape", f"{where}: {first['type']}")


def _data(body: bytes) -> Any:
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        return Fault("not_utf8", f"byte {error.start}")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return Fault("not_json", "a web page" if text.lstrip().startswith("<") else f"{len(body)} bytes")


def said(body: bytes) -> str:
    """The reason in the body of a refusal, harmless and without secrets; servers echo tokens."""
    data = _data(body)
    if not isinstance(data, dict):
        return ""
    errors = data.get("errors")
    first = errors[0] if isinstance(errors, list) and errors and isinstance(errors[0], dict) else {}
    parts = [part for part in (data.get("message"), first.get("message")) if isinstance(part, str)]
    return harmless(" ".join(parts))[:200]
