"""OpenAPI documents: a good one passes every facet, each damage fails the facet that looks for it, at its line."""

import json

import pytest
import yaml
from checks_bench import artifact, found

API = artifact("courses_api.yaml")
FACETS = ["valid", "endpoints", "schemas", "examples", "errors", "naming", "pagination", "auth", "descriptions"]
ENDPOINTS = ["GET /courses", "POST /courses", "GET /courses/{id}"]

COURSE, ITEMS, MEDIA = "'#/components/schemas/Course'", "items: {$ref", "application/json:"

DAMAGE = [
    ("valid", "  title: Courses\n", "", '"title" is a required property', "info:"),
    ("valid", "openapi: 3.1.0", "openapi: 2.0", "OpenAPI 2.0 is not known", "openapi: 2.0"),
    ("valid", "          in: path\n          required: true\n", "          in: path\n", "required", "- name: courseId"),
    ("valid", COURSE, "'#/components/schemas/Nope'", "leads nowhere", ITEMS),
    (
        "valid",
        COURSE,
        "'http://127.0.0.1:9/x.yaml#/C'",
        "leads out of the document",
        "items: {$ref",
    ),
    ("valid", COURSE, "'file:///etc/passwd'", "leads out of the document", ITEMS),
    ("valid", "operationId: getCourse", "operationId: listCourses", "listCourses", None),
    ("endpoints", "  /courses/{courseId}:", "  /course/{courseId}:", "GET /courses/{id} is missing", None),
    ("schemas", "        message: {type: string}\n", "        {}\n", "Failure says nothing", "Failure:"),
    (
        "schemas",
        "schema: {$ref: '#/components/schemas/Course'}\n            example",
        "example",
        "no schema",
        "application/json:",
    ),
    (
        "examples",
        "              example: [{id: 7, title: Algebra}]\n",
        "",
        "GET /courses has no example",
        "application/json:",
    ),
    ("examples", "{id: 8, title: Geometry}", "{id: eight, title: Geometry}", "not of type 'integer'", "id: eight"),
    (
        "errors",
        "        \"404\": {$ref: '#/components/responses/Failed'}\n",
        "",
        "client errors",
        "get:",
    ),
    ("errors", "          schema: {$ref: '#/components/schemas/Failure'}\n", "", "no error schema", '"400":'),
    (
        "naming",
        "  /courses/{courseId}:",
        "  /schoolCourses/{courseId}:",
        "is not lower-case",
        "/schoolCourses/",
    ),
    ("naming", "operationId: createCourse", "operationId: create_course", "not in camelCase", "post:"),
    ("naming", "    Failure:", "    failure:", "'failure' is not in PascalCase", "failure:"),
    ("pagination", "        - name: limit", "        - name: colour", "no paging parameter", "get:"),
    ("auth", "security:\n  - bearer: []\n", "", "does not say which security it needs", "get:"),
    ("auth", "  - bearer: []", "  - oauth: []", "needs 'oauth', which is not declared", "get:"),
    ("descriptions", "      summary: Reads one course.\n", "", "GET /courses/{courseId} has no description", "get:"),
    ("descriptions", "          description: Number of the course.\n", "", "parameter 'courseId'", None),
]


@pytest.mark.parametrize("facet", FACETS)
def test_a_good_document_passes(facet):
    finding = found(API, kind="openapi", facets=[facet], endpoints=ENDPOINTS)
    assert finding.passed, finding.note


def test_the_same_document_in_json_passes():
    text = json.dumps(yaml.safe_load(API), indent=1)
    assert found(text, kind="openapi", facets=FACETS, endpoints=ENDPOINTS, part="json").passed


def test_the_document_is_found_beside_other_blocks_of_its_language():
    text = f"# API\n\n```yaml\nexample: 1\n```\n\n```yaml openapi.yaml\n{API}```\n"
    assert found(text, kind="openapi", facets=["valid"], part="openapi.yaml").passed
    assert found(text, kind="openapi", facets=["valid"], part="yaml").passed
    damaged = text.replace("  title: Courses\n", "")
    assert found(damaged, kind="openapi", facets=["valid"], part="yaml").evidence["places"] == [9]


@pytest.mark.parametrize(("facet", "old", "new", "words", "place"), DAMAGE)
def test_each_damage_fails_its_facet(facet, old, new, words, place):
    assert old in API
    damaged = API.replace(old, new)
    finding = found(damaged, kind="openapi", facets=[facet], endpoints=ENDPOINTS)
    assert not finding.passed
    assert words in finding.note, finding.note
    if place is not None:
        assert place in damaged.splitlines()[finding.evidence["places"][0] - 1], finding.note


def test_an_older_version_is_validated_by_its_own_rules():
    text = API.replace("openapi: 3.1.0", "openapi: 3.0.3")
    assert found(text, kind="openapi", facets=["valid", "examples"]).passed
    nullable = text.replace("title: {type: string}", "title: {type: [string, 'null']}")
    assert not found(nullable, kind="openapi", facets=["valid"]).passed


@pytest.mark.parametrize(
    "text", ["a: 1\n", "[]", "openapi: [3]\n", "openapi: 3.1.0\npaths: 7\ninfo: x\n", '{"openapi": null}']
)
def test_what_is_no_openapi_document_fails_every_facet_and_breaks_none(text):
    for facet in FACETS:
        finding = found(text, kind="openapi", facets=[facet], endpoints=ENDPOINTS)
        assert not finding.passed
        assert "could not be examined" not in finding.note, finding.evidence


def test_references_in_a_circle_end():
    text = API.replace("title: {type: string}", "title: {$ref: '#/components/schemas/Course/properties/title'}")
    assert not found(text, kind="openapi", facets=["examples"]).passed
    found(text, kind="openapi", facets=["valid", "schemas"])
