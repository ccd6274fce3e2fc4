"""Requests, responses and the router. No server: whoever has one passes requests in."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit


class HttpError(Exception):
    """Ends a request with this status and message."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None):
        super().__init__(message)
        self.status, self.message, self.headers = status, message, dict(headers or {})


@dataclass(frozen=True)
class Request:
    """What was asked."""

    method: str
    target: str
    """Path and query as they were sent."""
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in any case."""

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        """The last one counts if a name is there twice."""
        return dict(parse_qsl(urlsplit(self.target).query))

    def header(self, name: str) -> str:
        """Empty if it is not there."""
        return next((value for key, value in self.headers.items() if key.lower() == name.lower()), "")

    def json(self) -> dict[str, Any]:
        """The body as an object. Raises HttpError 400."""
        try:
            data = json.loads(self.body)
        except (ValueError, RecursionError) as error:
            raise HttpError(400, "the body is not JSON") from error
        if not isinstance(data, dict):
            raise HttpError(400, "the body is not a JSON object")
        return data


@dataclass(frozen=True)
class Response:
    """What is answered."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, status: int, data: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> "Response":
        """A JSON object."""
        text = json.dumps(data, ensure_ascii=False)
        return cls(status, text.encode(), {"Content-Type": "application/json", **(headers or {})})

    def json(self) -> Any:
        return json.loads(self.body)


Handler = Callable[..., Response]


class Router:
    """Finds the handler for a method and a path. In a pattern `{id}` is a whole number."""

    def __init__(self) -> None:
        self._routes: list[tuple[str, re.Pattern[str], Handler]] = []

    def add(self, method: str, pattern: str, handler: Handler) -> None:
        parts = re.split(r"\{(\w+)\}", pattern)
        names = [f"(?P<{part}>[0-9]{{1,18}})" if at % 2 else re.escape(part) for at, part in enumerate(parts)]
        self._routes.append((method, re.compile("".join(names)), handler))

    def find(self, method: str, path: str) -> tuple[Handler, dict[str, int]]:
        """The handler and what the path gives it. Raises HttpError 404 or 405."""
        allowed = []
        for known, pattern, handler in self._routes:
            match = pattern.fullmatch(path)
            if match is None:
                continue
            if known == method:
                return handler, {name: int(value) for name, value in match.groupdict().items()}
            allowed.append(known)
        if allowed:
            raise HttpError(405, "the method is not allowed here", {"Allow": ", ".join(sorted(allowed))})
        raise HttpError(404, "there is nothing here")
