"""Kind `json_schema`: data that is valid for a schema, draft 2020-12, without any look outside the schema."""

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError, best_match
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import EMPTY_REGISTRY

from looper.checks.kinds import JsonSchema
from looper.checks.reading.document import Document, Found, Problems, documents
from looper.checks.reading.parts import Artifact, Piece

NAME = f"jsonschema {version('jsonschema')}, draft 2020-12"
LONGEST = 160
"""Characters of a message; longer ones repeat the whole value."""
MOST = 1000
"""Errors that are looked at."""
NOWHERE: Registry[Any] = EMPTY_REGISTRY
"""Finds nothing by itself: a remote `$ref` is an error, not a request."""


def read(check: JsonSchema, artifact: Artifact, pieces: Sequence[Piece]) -> Found:
    found, problems = documents(pieces, check.language)
    for document in found:
        problems += violations(check.json_schema, document)
    return problems, NAME, None


def violations(schema: dict[str, Any], document: Document) -> Problems:
    """What keeps a document from being valid; a schema that cannot be used is a problem too."""
    try:
        Draft202012Validator.check_schema(schema)
        errors = list(first(Draft202012Validator(schema, registry=NOWHERE).iter_errors(document.value)))
    except SchemaError as error:
        return [(0, f"the check's own schema is not valid: {error.message[:300]}")]
    except Unresolvable as error:
        return [(0, f"the check's own schema has a `$ref` that is not within it: {error.ref[:200]}")]
    errors.sort(key=lambda error: (len(error.absolute_path), [str(step) for step in error.absolute_path]))
    return [(document.line(list(error.absolute_path)), explained(error)) for error in errors]


def first(errors: Iterator[ValidationError]) -> Iterator[ValidationError]:
    for number, error in enumerate(errors):
        if number == MOST:
            return
        yield error


def explained(error: ValidationError) -> str:
    """Where and what, by the most telling error of a choice; values are cut."""
    inner = best_match(error.context) if error.context else None
    chosen = inner if inner is not None else error
    where = ".".join(str(step) for step in chosen.absolute_path) or "the document"
    # The validator in Rust, which the OpenAPI validator prefers, adds paragraphs and keeps no fields.
    message = chosen.message.partition("\n\nFailed validating")[0]
    if len(message) > LONGEST:
        message = shortened(chosen) if isinstance(chosen.validator, str) else f"{message[:60]} ... {message[-100:]}"
    return f"{where}: {message}"


def shortened(error: ValidationError) -> str:
    value = repr(error.instance)[:60]
    rule = repr(error.validator_value)[:80]
    return f"{value} does not hold for {error.validator!r} {rule}"
