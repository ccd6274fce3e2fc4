"""Facet `examples`: contents have examples, and those hold for their schemas (the validator does not look at that)."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator
from openapi_schema_validator import OAS30Validator
from referencing.exceptions import Unresolvable

from looper.checks.kinds import OpenApi
from looper.checks.reading.api import Api, Content, listed, mapping
from looper.checks.reading.document import Problems
from looper.checks.reading.schema import NOWHERE, explained

MOST = 5
"""Errors that are told of one example."""


def examples(check: OpenApi, api: Api) -> Problems:
    """Requests and successful responses in JSON show an example."""
    problems: Problems = [] if api.operations else [api.problem(["paths"], "the document has no operation")]
    for operation in api.operations:
        for content in api.contents(operation):
            found = list(shown(api, content))
            if not found and "json" in str(content.place[-1]) and not inside(api, content.value.get("schema")):
                problems.append(api.problem(content.place, f"{content.where} has no example"))
            for place, value in found:
                problems += wrong(api, content, place, value)
    return problems


def shown(api: Api, content: Content) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Examples of a media type itself: place and value."""
    if "example" in content.value:
        yield (*content.place, "example"), content.value["example"]
    for name, example in mapping(content.value.get("examples")).items():
        value = api.resolved(example)
        if "value" in value:
            yield (*content.place, "examples", name, "value"), value["value"]


def inside(api: Api, schema: Any, depth: int = 0) -> bool:
    """Whether a schema has an example of itself or of all its parts."""
    value = api.resolved(schema)
    if any(key in value for key in ("example", "examples", "default", "const", "enum")):
        return True
    if depth > 5:
        return False
    if "items" in value:
        return inside(api, value["items"], depth + 1)
    parts = [*mapping(value.get("properties")).values(), *listed(value.get("allOf"))]
    return bool(parts) and all(inside(api, part, depth + 1) for part in parts)


def wrong(api: Api, content: Content, place: tuple[Any, ...], value: Any) -> Problems:
    """How an example differs from its schema."""
    if "schema" not in content.value:
        return []
    kind: Any = OAS30Validator if str(api.value.get("openapi")).startswith("3.0") else Draft202012Validator
    # Unknown keywords are ignored: with these two the references of the document can be followed.
    schema = mapping(content.value["schema"]) | {name: api.value.get(name) for name in ("components", "paths")}
    try:
        errors = list(islice(kind(schema, registry=NOWHERE).iter_errors(value), MOST))
    except Unresolvable as error:
        return [api.problem(place, f"the reference {error.ref[:80]!r} leads nowhere")]
    return [api.problem((*place, *error.absolute_path), f"the example of {content.where}: {explained(error)}")
            for error in errors]  # fmt: skip
