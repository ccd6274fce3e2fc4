"""Structural questions to an OpenAPI document, beyond its being valid (SPEC 2.8, api_spec)."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from looper.checks.kinds import OpenApi
from looper.checks.reading.api import Api, Operation, listed, mapping
from looper.checks.reading.document import Problems
from looper.checks.reading.examples import examples

_PARAMETER = re.compile(r"\{[^{}]*\}")
_SEGMENT = re.compile(r"[a-z0-9]+(?:([-_.])[a-z0-9]+(?:\1[a-z0-9]+)*)?")
_STYLES = {
    "camelCase": re.compile(r"[a-z]+[a-z0-9]*(?:[A-Z][a-z0-9]*)+"),
    "snake_case": re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+"),
    "kebab-case": re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+"),
    "PascalCase": re.compile(r"(?:[A-Z][a-z0-9]*)+"),
}
_PLAIN = re.compile(r"[a-z][a-z0-9]*")
PAGING = re.compile(
    r"(?i)^(?:page(?:[_\-.\[]?\w*\]?)?|per[_\-]?page|limit|offset|cursor|after|before|start(?:ing)?[_\-]?after|skip|take|"
    r"next[_\-]?token|max[_\-]?results)$"
)
"""Names of query parameters that page."""
DESCRIBED = 3
"""Least words of a description."""
COMPOSED = ("$ref", "allOf", "oneOf", "anyOf", "not", "enum", "const", "if", "$dynamicRef")


def endpoints(check: OpenApi, api: Api) -> Problems:
    """Each wanted method and path; names of path parameters do not matter."""
    there = {(one.method, shape(one.path)) for one in api.operations}
    problems: Problems = []
    for wanted in check.endpoints:
        method, _, path = wanted.strip().partition(" ")
        if (method.lower(), shape(path.strip())) not in there:
            problems.append((0, f"the endpoint {wanted} is missing"))
    return problems + no_operation(api)


def shape(path: str) -> str:
    return _PARAMETER.sub("{}", path.rstrip("/")) or "/"


def no_operation(api: Api) -> Problems:
    return [] if api.operations else [api.problem(["paths"], "the document has no operation")]


def schemas(check: OpenApi, api: Api) -> Problems:
    """Requests and successful responses have a schema that says something; so have the named schemas."""
    problems = no_operation(api)
    for operation in api.operations:
        if operation.method in ("put", "patch") and not operation.value.get("requestBody"):
            problems.append(api.problem(operation.place, f"{operation.name} has no request body"))
        for status, response, place in api.responses(operation):
            silent = status in ("204", "205") or operation.method == "head" or not status.startswith("2")
            if not silent and not mapping(response.get("content")):
                problems.append(api.problem(place, f"the response {status} of {operation.name} has no content"))
        for content in api.contents(operation):
            if shapeless(content.value.get("schema")):
                problems.append(api.problem(content.place, f"{content.where} has no schema that says what it holds"))
    for name, schema in api.schemas.items():
        if shapeless(schema):
            problems.append(api.problem(("components", "schemas", name), f"the schema {name} says nothing"))
    return problems


def shapeless(schema: Any) -> bool:
    """No schema, or an object or array of anything."""
    value = mapping(schema)
    if any(key in value for key in COMPOSED):
        return False
    kind = value.get("type")
    if kind == "array" or "items" in value:
        return shapeless(value.get("items"))
    if kind == "object" or "properties" in value:
        return not mapping(value.get("properties")) and not mapping(value.get("additionalProperties"))
    return not kind


def errors(check: OpenApi, api: Api) -> Problems:
    """Each operation says what a failed request looks like."""
    problems = no_operation(api)
    for operation in api.operations:
        failed = [one for one in api.responses(operation) if one[0][:1] in ("4", "5") or one[0] == "default"]
        if not any(status[:1] == "4" or status == "default" for status, _, _ in failed):
            problems.append(api.problem(operation.place, f"{operation.name} has no response for client errors (4xx)"))
        for status, response, place in failed:
            if not any(mapping(one).get("schema") for one in mapping(response.get("content")).values()):
                problems.append(api.problem(place, f"the response {status} of {operation.name} has no error schema"))
    return problems


def naming(check: OpenApi, api: Api) -> Problems:
    """One style each for paths, operation ids, schemas and properties."""
    problems = no_operation(api)
    for path in mapping(api.value.get("paths")):
        segments = [one for one in str(path).split("/") if one and not _PARAMETER.search(one)]
        bad = [one for one in segments if not _SEGMENT.fullmatch(one)]
        if bad:
            problems.append(api.problem(("paths", path), f"the path segment {bad[0]!r} is not lower-case with hyphens"))
    ids = Counter(one.value.get("operationId") for one in api.operations)
    for operation in api.operations:
        name = operation.value.get("operationId")
        if not name or ids[name] > 1:
            why = "has no operationId" if not name else f"shares the operationId {name!r}"
            problems.append(api.problem(operation.place, f"{operation.name} {why}"))
    for name in api.schemas:
        if not _STYLES["PascalCase"].fullmatch(name):
            problems.append(api.problem(("components", "schemas", name), f"the schema {name!r} is not in PascalCase"))
    names = [(name, one.place) for one in api.operations if isinstance(name := one.value.get("operationId"), str)]
    return problems + mixed(api, "operationId", names) + mixed(api, "property", list(properties(api)))


def properties(api: Api) -> Iterator[tuple[str, tuple[Any, ...]]]:
    for schema, value in api.schemas.items():
        for name in mapping(mapping(value).get("properties")):
            yield str(name), ("components", "schemas", schema, "properties", name)


def mixed(api: Api, what: str, names: list[tuple[str, tuple[Any, ...]]]) -> Problems:
    """Names that are not in the style of most; a single lower-case word is of any style."""
    styled = [(name, place, style(name)) for name, place in names if not _PLAIN.fullmatch(name)]
    counts = Counter(kind for _, _, kind in styled)
    if len(counts) < 2:
        return []
    usual = min(counts, key=lambda kind: (kind == "", -counts[kind], kind))
    return [api.problem(place, f"the {what} {name!r} is not in {usual}, as others are")
            for name, place, kind in styled if kind != usual]  # fmt: skip


def style(name: str) -> str:
    return next((kind for kind, pattern in _STYLES.items() if pattern.fullmatch(name)), "")


def pagination(check: OpenApi, api: Api) -> Problems:
    """A GET that answers with a list takes parameters to page through it."""
    problems = no_operation(api)
    for operation in api.operations:
        names = [str(one.get("name")) for one in operation.parameters if one.get("in") == "query"]
        if returns_list(api, operation) and not any(map(PAGING.match, names)):
            problems.append(
                api.problem(operation.place, f"{operation.name} returns a list but has no paging parameter")
            )
    return problems


def returns_list(api: Api, operation: Operation) -> bool:
    """An array, or an object around one, on a path that does not end in a single thing."""
    if operation.method != "get" or operation.path.rstrip("/").endswith("}"):
        return False
    answers = (one for one in api.contents(operation) if "responses" in one.place)
    bodies = [api.resolved(one.value.get("schema")) for one in answers]
    return any(is_list(body) or wraps_list(api, body) for body in bodies)


def is_list(schema: dict[str, Any]) -> bool:
    return schema.get("type") == "array" or "items" in schema


def wraps_list(api: Api, schema: dict[str, Any]) -> bool:
    """`{"items": [...], "total": 3}`: an array under one of the usual names."""
    parts = [schema, *(api.resolved(one) for one in listed(schema.get("allOf")))]
    inner = {name: value for part in parts for name, value in mapping(part.get("properties")).items()}
    usual = ("items", "data", "results", "records", "entries", "content", "values")
    return any(is_list(api.resolved(value)) for name, value in inner.items() if name.lower() in usual)


def auth(check: OpenApi, api: Api) -> Problems:
    """Schemes are declared and each operation says which it needs; an open one says so with `security: []`."""
    problems = no_operation(api)
    schemes = mapping(mapping(api.value.get("components")).get("securitySchemes"))
    if not schemes:
        problems.append(api.problem(["components"], "no security scheme is declared (components.securitySchemes)"))
    general = listed(api.value.get("security"))
    guarded = 0
    for operation in api.operations:
        own = operation.value.get("security")
        needs = listed(own) if own is not None else general
        if own is None and not general:
            problems.append(api.problem(operation.place, f"{operation.name} does not say which security it needs"))
        guarded += bool(needs) and {} not in needs
        for name in {str(name) for need in needs for name in mapping(need)} - set(schemes):
            problems.append(api.problem(operation.place, f"{operation.name} needs {name!r}, which is not declared"))
    if schemes and api.operations and not guarded:
        problems.append(api.problem(["paths"], "no operation is protected"))
    return problems


def descriptions(check: OpenApi, api: Api) -> Problems:
    """The document, operations, parameters and schemas say what they are in at least three words."""
    problems = no_operation(api)
    if not described(mapping(api.value.get("info")).get("description")):
        problems.append(api.problem(["info"], "the document has no description"))
    for operation in api.operations:
        if not described(operation.value.get("description")) and not described(operation.value.get("summary")):
            problems.append(api.problem(operation.place, f"{operation.name} has no description"))
        for one in operation.parameters:
            if not described(one.get("description")):
                place = (*operation.place, "parameters")
                problems.append(api.problem(place, f"the parameter {one.get('name')!r} of {operation.name} has none"))
    for name, schema in api.schemas.items():
        if not described(mapping(schema).get("description")):
            place = ("components", "schemas", name)
            problems.append(api.problem(place, f"the schema {name} has no description"))
    return problems


def described(text: Any) -> bool:
    return isinstance(text, str) and len(text.split()) >= DESCRIBED


FACETS: dict[str, Callable[[OpenApi, Api], Problems]] = {
    "endpoints": endpoints,
    "schemas": schemas,
    "examples": examples,
    "errors": errors,
    "naming": naming,
    "pagination": pagination,
    "auth": auth,
    "descriptions": descriptions,
}
