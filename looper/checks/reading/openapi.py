"""Kind `openapi`: valid by a maintained validator, and the facets of a good description."""

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from itertools import islice
from typing import Any

from openapi_spec_validator import OpenAPIV30SpecValidator, OpenAPIV31SpecValidator, OpenAPIV32SpecValidator
from referencing.exceptions import Unresolvable

from looper.checks.kinds import OpenApi
from looper.checks.reading.api import Api, dangling, external
from looper.checks.reading.document import Document, Found, Problems, documents
from looper.checks.reading.facets import FACETS
from looper.checks.reading.parts import Artifact, Piece
from looper.checks.reading.schema import explained

NAME = f"openapi-spec-validator {version('openapi-spec-validator')}"
VERSIONS: dict[str, Any] = {
    "3.0": OpenAPIV30SpecValidator,
    "3.1": OpenAPIV31SpecValidator,
    "3.2": OpenAPIV32SpecValidator,
}
MOST = 1000
"""Errors that are looked at."""


def read(check: OpenApi, artifact: Artifact, pieces: Sequence[Piece]) -> Found:
    """Blocks without an `openapi` key (examples beside the document) are left out if there is one with it."""
    found, problems = parsed(pieces)
    apis = [Api(document) for document in found]
    chosen = [api for api in apis if "openapi" in api.value]
    if not chosen:
        where = found[0].line([]) if found else 0
        return [*problems, (where, "there is no OpenAPI 3 document: no key `openapi` at the top")], NAME, None
    problems = []
    for api in chosen:
        for facet in dict.fromkeys(check.facets):
            problems += valid(api) if facet == "valid" else FACETS[facet](check, api)
    return problems, NAME, None


def parsed(pieces: Sequence[Piece]) -> tuple[list[Document], Problems]:
    """JSON where it begins with a brace, YAML else."""
    found: list[Document] = []
    problems: Problems = []
    for piece in pieces:
        language = "json" if piece.text.lstrip()[:1] == "{" else "yaml"
        more, bad = documents([piece], language)
        found += more
        problems += bad
    return found, problems


def valid(api: Api) -> Problems:
    """What the validator says; references out of the document are refused before it could follow them."""
    outside = [api.problem(place, f"the reference {target[:80]!r} leads out of the document")
               for place, target in external(api.value)]  # fmt: skip
    nowhere = [api.problem(place, f"the reference {target[:80]!r} leads nowhere")
               for place, target in dangling(api, api.value)]  # fmt: skip
    if outside or nowhere:
        return outside + nowhere
    number = str(api.value.get("openapi"))
    kind = VERSIONS.get(number[:3])
    if kind is None:
        return [api.problem(["openapi"], f"OpenAPI {number[:20]} is not known; use 3.1.0")]
    try:
        errors = list(islice(said(kind(api.value)), MOST))
    except Unresolvable as error:
        return [api.problem([], f"the reference {error.ref[:80]!r} leads nowhere")]
    return [api.problem(list(error.absolute_path), explained(error)) for error in errors]


def said(validator: Any) -> Iterator[Any]:
    """Errors of the schema, or those of the finer rules if there are none: they take a well-formed document for
    granted. The validator's own `iter_errors` keeps each document for good."""
    errors = list(islice(validator.schema_validator.iter_errors(validator.schema), MOST))
    yield from errors or validator.root_validator(validator.schema_path)
