"""An OpenAPI document as its checks walk it: operations, contents, schemas, with `$ref` resolved within it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from looper.checks.reading.document import Document

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
HOPS = 20
"""References that lead to references, before it counts as a circle."""
Path = tuple[Any, ...]


def mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


@dataclass(frozen=True)
class Operation:
    """One method of one path."""

    method: str
    path: str
    value: dict[str, Any]
    parameters: list[dict[str, Any]]
    """Of the path and its own, resolved."""

    @property
    def name(self) -> str:
        return f"{self.method.upper()} {self.path}"

    @property
    def place(self) -> Path:
        return ("paths", self.path, self.method)


@dataclass(frozen=True)
class Content:
    """One media type of a request or a response."""

    where: str
    value: dict[str, Any]
    place: Path


class Api:
    """One document."""

    def __init__(self, document: Document):
        self.document = document
        self.value: dict[str, Any] = mapping(document.value)
        self.schemas = mapping(mapping(self.value.get("components")).get("schemas"))
        self.operations = list(self._operations())

    def problem(self, place: Sequence[Any], text: str) -> tuple[int, str]:
        return self.document.line(place), text

    def _operations(self) -> Iterator[Operation]:
        for path, item in mapping(self.value.get("paths")).items():
            found = self.resolved(item)
            shared = [self.resolved(one) for one in listed(found.get("parameters"))]
            for method in METHODS:
                if isinstance(found.get(method), dict):
                    own = [self.resolved(one) for one in listed(found[method].get("parameters"))]
                    yield Operation(method, str(path), found[method], [*shared, *own])

    def resolved(self, value: Any) -> dict[str, Any]:
        """The object that a `$ref` within the document stands for; empty if it leads nowhere or in a circle."""
        for _ in range(HOPS):
            reference = mapping(value).get("$ref")
            if not isinstance(reference, str):
                return mapping(value)
            value = self.at(reference)
        return {}

    def at(self, reference: str) -> Any:
        value: Any = self.value if reference.startswith("#") else None
        for step in reference.removeprefix("#").split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            if isinstance(value, list) and step.isdigit() and int(step) < len(value):
                value = value[int(step)]
            else:
                value = mapping(value).get(step)
        return value

    def responses(self, operation: Operation) -> Iterator[tuple[str, dict[str, Any], Path]]:
        """Status, response and place; a shared response is placed where it is used."""
        for status, response in mapping(operation.value.get("responses")).items():
            yield str(status), self.resolved(response), (*operation.place, "responses", status)

    def contents(self, operation: Operation, *, success_only: bool = True) -> Iterator[Content]:
        """Media types of the request and of the responses."""
        body = self.resolved(operation.value.get("requestBody"))
        for media, value in mapping(body.get("content")).items():
            place = (*operation.place, "requestBody", "content", media)
            yield Content(f"the request of {operation.name}", mapping(value), place)
        for status, response, place in self.responses(operation):
            if status.startswith("2") or not success_only:
                for media, value in mapping(response.get("content")).items():
                    where = f"the response {status} of {operation.name}"
                    yield Content(where, mapping(value), (*place, "content", media))


def external(value: Any, place: Path = ()) -> Iterator[tuple[Path, str]]:
    """References that lead out of the document."""
    if isinstance(value, dict):
        reference = value.get("$ref")
        if isinstance(reference, str) and not reference.startswith("#"):
            yield place, reference
        for key, inner in value.items():
            yield from external(inner, (*place, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from external(inner, (*place, number))


def dangling(api: Api, value: Any, place: Path = ()) -> Iterator[tuple[Path, str]]:
    """References within the document that lead nowhere."""
    if isinstance(value, dict):
        reference = value.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/") and api.at(reference) is None:
            yield place, reference
        for key, inner in value.items():
            yield from dangling(api, inner, (*place, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from dangling(api, inner, (*place, number))
