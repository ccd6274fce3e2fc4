"""Takes secrets out of text before it reaches disk, log, prompt or screen (SAFETY P15).

Secrets are known by value (environment variables whose names say so, and what `learn` was given) and by shape (key
formats of the usual providers, bearer tokens, passwords in URLs).
"""

import json
import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

MASK = "[redacted]"
SHORTEST = 8
"""Characters; shorter values occur in ordinary text by chance."""

_SECRET_NAME = re.compile(
    r"(?i)(?:^|[_.\-])(?:api_?key|access_?key|key|token|secret|passwd|password|passphrase|credentials?|pat|auth)$"
)
_PEM = r"-----BEGIN [A-Z ]*PRIVATE KEY-----.+?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
_SHAPES: tuple[tuple[str, re.Pattern[str], str], ...] = tuple(
    (hint, re.compile(pattern), MASK if "(?P<keep>" not in pattern else r"\g<keep>" + MASK)
    for hint, pattern in (
        ("sk-", r"(?<![A-Za-z0-9])sk-[A-Za-z0-9_\-]{16,}"),
        ("earer ", r"(?P<keep>[Bb]earer )(?=[A-Za-z_~+/=.\-]*[0-9])[A-Za-z0-9_~+/=.\-]{12,}"),
        ("asic ", r"(?P<keep>[Aa]uthorization\W{1,6}[Bb]asic )[A-Za-z0-9+/=]{8,}"),
        ("gh", r"gh[pousr]_[A-Za-z0-9]{20,}"),
        ("github_pat_", r"github_pat_[A-Za-z0-9_]{20,}"),
        ("glpat-", r"glpat-[A-Za-z0-9_\-]{16,}"),
        ("hf_", r"(?<![A-Za-z0-9_])hf_[A-Za-z0-9]{20,}"),
        ("gsk_", r"(?<![A-Za-z0-9_])gsk_[A-Za-z0-9]{20,}"),
        ("AIza", r"(?<![A-Za-z0-9])AIza[A-Za-z0-9_\-]{30,}"),
        ("KIA", r"(?<![A-Za-z0-9])AKIA[A-Z0-9]{16}(?![A-Za-z0-9])"),
        ("SIA", r"(?<![A-Za-z0-9])ASIA[A-Z0-9]{16}(?![A-Za-z0-9])"),
        ("xox", r"(?<![A-Za-z0-9])xox[abeoprs]-[A-Za-z0-9\-]{10,}"),
        ("eyJ", r"(?<![A-Za-z0-9])eyJ[A-Za-z0-9_\-]{8,}\.eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}"),
        ("://", r"(?P<keep>://[^/\s:@\"'\\]{0,200}:)[^/\s@\"'\\]{1,500}(?=@)"),
        ("PRIVATE KEY-----", f"(?s){_PEM}"),
    )
)


def _spellings(value: str) -> set[str]:
    """The value as it looks in plain text, in JSON, in a URL and in a Python literal."""
    return {
        value,
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        quote(value),
        repr(value)[1:-1],
    }


def _secrets(environ: Mapping[str, str]) -> set[str]:
    """Values worth hiding; a path or a flag under a secret's name is not one."""
    return {
        value
        for name, value in environ.items()
        if _SECRET_NAME.search(name) and len(value) >= SHORTEST and not value.startswith(("/", "~/"))
    }


class Redactor:
    """Knows the secrets of one environment."""

    def __init__(self, environ: Mapping[str, str]):
        self.values: tuple[str, ...] = ()
        for secret in _secrets(environ):
            self.learn(secret)

    def learn(self, secret: str) -> None:
        """Hides `secret` from now on; one of fewer than 8 characters is not hidden, for it occurs by chance."""
        if len(secret) >= SHORTEST and secret not in self.values:
            known = {*self.values, *_spellings(secret)}
            self.values = tuple(sorted(known, key=lambda v: (-len(v), v)))  # the longest first: one may contain another

    def redact(self, text: str) -> str:
        for value in self.values:
            if value in text:
                text = text.replace(value, MASK)
        for hint, shape, mask in _SHAPES:
            if hint in text:
                text = shape.sub(mask, text)
        return text


_current: Redactor | None = None


def _redactor() -> Redactor:
    global _current
    if _current is None:
        _current = Redactor(os.environ)
    return _current


def rescan() -> None:
    """Reads the environment anew; needed after it was changed, as it is otherwise read once per process."""
    global _current
    _current = Redactor(os.environ)


def learn(secret: str) -> None:
    """Hides one more value: a key that was just read."""
    _redactor().learn(secret)


def redact(text: str) -> str:
    """`text` with every known secret replaced by `[redacted]`. A line of JSON stays JSON."""
    return _redactor().redact(text)


def redact_data(data: Any) -> Any:
    """The same within nested dictionaries (keys too), lists and tuples; what is not text is left as it is."""
    if isinstance(data, str):
        return redact(data)
    if isinstance(data, Mapping):
        return {redact_data(key): redact_data(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return type(data)(redact_data(item) for item in data) if type(data) in (list, tuple) else data
    return data


_ASSIGNED = re.compile(r"^\+{0,2}([\w./@\-]+)=(.+)$", re.DOTALL)
_PLAIN_NAME = re.compile(r"[A-Z][A-Z0-9_]*|[a-z]+(?:[_.\-/][a-z]+)*|null|\$\{.*\}|\?\?\?")


def looks_like_secret(text: str) -> bool:
    """Whether `text` (a value, or an override `key=value`) holds a secret and must not be written anywhere."""
    if redact(text) != text:
        return True
    assigned = _ASSIGNED.match(text)
    if not assigned or not _SECRET_NAME.search(assigned[1]):
        return False
    value = assigned[2].strip("'\"")
    return len(value) >= SHORTEST and not _PLAIN_NAME.fullmatch(value)
