"""Checks that read: valid artifacts pass, broken ones fail with a note that says what to fix and where (SPEC 2.6)."""

import pytest
from checks_bench import artifact, check, found
from pydantic import ValidationError

from looper.checks import reader
from looper.checks.bench import Bench
from looper.checks.examine import examine
from looper.checks.kinds import CHECK

GUIDE, SERVICE, INVENTORY = artifact("guide.md"), artifact("service.yaml"), artifact("inventory.py")


@pytest.fixture(scope="module", autouse=True)
def readers_end():
    yield
    reader.release()


def fails(finding, words, place=None):
    assert not finding.passed
    assert words in finding.note, finding.note
    assert finding.evidence["places"][:1] == ([] if place is None else [place]), finding.evidence


def test_a_finding_carries_its_evidence():
    evidence = found(GUIDE, kind="sections", sections={"Usage": 1}).evidence
    assert set(evidence) == {"kind", "ran", "exit_code", "output_sha256", "excerpt", "seconds", "places"}
    assert evidence["kind"] == "sections"
    assert evidence["ran"].startswith("markdown-it-py ")
    assert len(evidence["output_sha256"]) == 64


def test_the_same_check_on_the_same_artifact_says_the_same():
    one, two = (found(GUIDE, kind="markdown", facets=["links", "headings"]) for _ in range(2))
    one.evidence.pop("seconds"), two.evidence.pop("seconds")
    assert one == two


def test_at_most_five_problems_are_told_and_the_rest_is_counted():
    finding = found("x\n" * 9, kind="pattern", pattern="x", min=0, max=0, wanted="the letter x")
    assert finding.evidence["places"] == [1, 2, 3, 4, 5]
    assert finding.note.endswith("; and 4 more.")


# Sections and patterns


def test_sections_with_enough_words_pass():
    assert found(GUIDE, kind="sections", sections={"First steps": 10, "# options": 15}, ordered=True).passed


def test_a_section_that_is_missing_short_or_out_of_order_fails():
    fails(found(GUIDE, kind="sections", sections={"Licence": 1}), "'Licence' is missing")
    fails(found(GUIDE, kind="sections", sections={"Options": 900}), "needs 900", 23)
    fails(found(GUIDE, kind="sections", sections={"Options": 1, "First steps": 1}, ordered=True), "must come after", 5)


def test_words_in_code_and_comments_do_not_fill_a_section():
    text = "# A\n\n<!-- " + "word " * 50 + "-->\n```text\n" + "word " * 50 + "\n```\n"
    fails(found(text, kind="sections", sections={"A": 1}), "has 0 words", 1)


def test_a_heading_inside_a_code_block_is_no_section():
    fails(found("```text\n# A\n```\n", kind="sections", sections={"A": 0}), "missing")


def test_a_pattern_is_counted():
    assert found(GUIDE, kind="pattern", pattern=r"^## ", min=2, max=2).passed
    fails(found(GUIDE, kind="pattern", pattern=r"^## ", min=3), "3 times, not 2")
    fails(found("a\nTODO\n", kind="pattern", pattern="todo", ignore_case=True, min=0, max=0), "must not be there", 2)


def test_a_pattern_that_matches_nothing_but_emptiness_does_not_pass():
    assert not found("text", kind="pattern", pattern="z*").passed


def test_a_catastrophic_pattern_is_ended():
    finding = examine(check(kind="pattern", pattern="(a+)+$"), "a" * 40 + "!", Bench(pattern_seconds=0.5))
    assert not finding.passed
    assert "did not end within 0.5 s" in finding.note
    assert finding.evidence["seconds"] < 6


def test_a_pattern_that_can_never_fail_is_refused():
    with pytest.raises(ValidationError, match="never fail"):
        check(kind="pattern", pattern="a", min=0)


# Parts


def test_a_part_is_a_block_by_language_or_name_or_a_section():
    assert found(GUIDE, kind="parse", language="json", part="options.json").passed
    assert found(GUIDE, kind="parse", language="yaml", part="yml").passed
    assert found(GUIDE, kind="pattern", pattern="digits", part="# Options").passed
    assert not found(GUIDE, kind="pattern", pattern="digits", part="# First steps").passed


def test_a_missing_part_fails_and_the_note_says_what_there_is():
    fails(found(GUIDE, kind="parse", language="toml", part="toml"), "no fenced block 'toml'")
    fails(found(GUIDE, kind="secrets", part="# Licence"), "no heading 'Licence'")


def test_an_artifact_that_is_itself_of_the_language_is_its_own_part():
    assert found(SERVICE, kind="parse", language="yaml", part="yaml").passed
    text = "info: |\n  An example:\n  ```json\n  {}\n  ```\nb: 1\nb: 2\n"
    assert found(text.replace("b: 2", "c: 2"), kind="config", facets=["required"], required=["c"], part="yaml").passed


def test_a_whole_artifact_that_was_meant_to_be_a_language_says_how_it_was_read():
    fails(found("a: 1\na: 2\n", kind="parse", language="yaml", part="yaml"), "all of it was read as yaml", 2)


def test_lines_are_those_of_the_artifact():
    fails(found("# T\n\n```json\n{\n  1\n}\n```\n", kind="parse", language="json", part="json"), "no valid JSON", 5)


# Parsing

VALID = {
    "json": '{"a": [1, 2.5, null]}',
    "yaml": "a: &x [1, no]\nb: *x\n---\nc: {200: ok}\n",
    "toml": '[a]\nb = "c"\n',
    "ini": "[a]\nb = %(c)s\n",
    "env": 'A=1\nexport B="x y"  # why\n',
    "python": "def f(x):\n    return x\n",
}
INVALID = [
    ("json", '{"a": 1, "a": 2}', "given twice"),
    ("json", '{"a": NaN}', "NaN is not a number"),
    ("json", '{"a": 1e999}', "beyond every number"),
    ("json", '{"a": ' + "9" * 5000 + "}", "no valid JSON"),
    ("json", '"a"', "holds no json"),
    ("yaml", "a: 1\nb: {x: 1, x: 2}\n", "given twice"),
    ("yaml", "a: !!python/object/apply:os.system [id]\n", "is not allowed"),
    ("yaml", "a: !Ref b\n", "is not allowed"),
    ("yaml", "a: &a [*a]\n", "contains itself"),
    ("yaml", "a: " + "9" * 5000 + "\n", "too many digits"),
    ("yaml", "a: [1\n", "no valid YAML"),
    ("yaml", "? [a]\n: 1\n", "no plain text"),
    ("yaml", "Just a sentence.\n", "holds no yaml"),
    ("toml", "a = 1\na = 2\n", "no valid TOML"),
    ("toml", "# nothing\n", "holds no toml"),
    ("ini", "[a]\nb=1\nb=2\n", "no valid INI"),
    ("ini", "b=1\n", "no valid INI"),
    ("env", "A=1\nA=2\n", "set twice"),
    ("env", "what is this\n", "NAME=value"),
    ("env", 'A="x\n', "quotes"),
    ("python", "def f(:\n", "no valid Python"),
    ("python", "return 1\n", "no valid Python"),
    ("python", "x = '\0'\n", "no "),
]


@pytest.mark.parametrize("language", list(VALID))
def test_a_text_of_its_language_is_read(language):
    assert found(VALID[language], kind="parse", language=language).passed


@pytest.mark.parametrize(("language", "text", "words"), INVALID)
def test_a_text_that_is_not_of_its_language_is_told_why(language, text, words):
    finding = found(text, kind="parse", language=language)
    assert not finding.passed
    assert words in finding.note


def test_a_billion_laughs_are_refused_at_once():
    rows = ["a: &a [x,x,x,x,x,x,x,x,x]"]
    rows += [f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)]
    fails(found("\n".join(rows), kind="parse", language="yaml"), "more than 1000000 values", 7)


# JSON Schema

SCHEMA = {
    "type": "object",
    "required": ["unit"],
    "properties": {"unit": {"enum": ["ms", "s"]}, "digits": {"type": "integer", "maximum": 9}},
    "additionalProperties": False,
}


def test_data_is_held_against_a_schema():
    for part, language in (("json", "json"), ("yaml", "yaml")):
        assert found(GUIDE, kind="json_schema", json_schema=SCHEMA, language=language, part=part).passed
    wrong = GUIDE.replace("digits: 3", "digits: many")
    fails(found(wrong, kind="json_schema", json_schema=SCHEMA, language="yaml", part="yaml"), "digits", 33)


@pytest.mark.parametrize("target", ["http://127.0.0.1:9/x.json", "file:///etc/passwd", "other.json", "#/$defs/nope"])
def test_a_reference_out_of_the_schema_is_refused(target):
    fails(found('{"a": 1}', kind="json_schema", json_schema={"$ref": target}), "`$ref` that is not within it")


def test_a_schema_that_is_none_fails():
    fails(found('{"a": 1}', kind="json_schema", json_schema={"type": 7}), "own schema is not valid")


# Markdown


@pytest.mark.parametrize("facet", ["headings", "links", "fences", "cross_references"])
def test_a_good_guide_passes(facet):
    assert found(GUIDE, kind="markdown", facets=[facet]).passed


MARKDOWN = [
    ("headings", "## Options", "#### Options", "jumps from level 2 to 4", 23),
    ("headings", "## Options", "# Options", "more than one heading of level 1", 23),
    ("headings", "## Options", "## First steps", "twice in one section", 23),
    ("links", "(#options)", "(#nowhere)", "leads to no heading", 7),
    ("links", "(options.json)", "(absent.json)", "nobody has named", 25),
    ("links", "(options.json)", "(/etc/passwd)", "one machine", 25),
    ("links", "[long](options.json)", "[long][absent]", "[absent] is not defined", 25),
    ("fences", "digits: 3", "digits: [3", "no valid YAML", 34),
    ("fences", "```yaml", "```", "does not name its language", 31),
    ("fences", "with Watch() as watch:", "with Watch( as watch:", "no valid Python", 12),
    ("fences", "digits: 3\n```", "digits: 3", "never closed", 31),
    ("cross_references", '"Options"', '"Licence"', "section 'Licence', which is not there", 3),
]


@pytest.mark.parametrize(("facet", "old", "new", "words", "place"), MARKDOWN)
def test_a_damaged_guide_fails_at_its_line(facet, old, new, words, place):
    assert old in GUIDE
    fails(found(GUIDE.replace(old, new), kind="markdown", facets=[facet]), words, place)


def test_links_to_sections_are_counted():
    fails(found("# T\n\ntext\n", kind="markdown", facets=["cross_references"]), "linked 0 times")


# Python

FACETS = [
    "compiles", "functions", "types", "style", "complexity", "error_handling", "logging", "docstrings", "security",
]  # fmt: skip
WANTED = ["Stock.add(article, number)", "Stock.take", "OutOfStock", "total(stock)", "logger"]


@pytest.mark.parametrize("facet", FACETS)
def test_a_good_module_passes(facet):
    assert found(INVENTORY, kind="python", facets=[facet], functions=WANTED).passed


PYTHON = [
    ("compiles", "def total(", "def total((", "no valid Python", 40),
    ("functions", "def total(", "def sum_up(", "total is missing", None),
    ("functions", "article: str, number: int = 1", "article: str", "lacks the parameter number", 23),
    ("functions", "return sum(stock.counts.values())", "raise NotImplementedError", "no body but a stub", 40),
    ("functions", "def total(stock: Stock)", "def total(stock: Stock, unit)", "further parameter unit", 40),
    ("types", "def total(stock: Stock) -> int", "def total(stock)", "total has no type for stock, its result", 40),
    ("style", "import logging\n", "import logging\nimport os  # noqa: F401\n", "imported but unused", 4),
    (
        "error_handling",
        "    return sum",
        "    try:\n        x = 1\n    except:\n        x = 2\n    sum",
        "bare",
        44,
    ),
    ("logging", "    return sum", "    print(1)\n    return sum", "`print` found", 42),
    ("docstrings", '    """All articles together."""\n', "", "Missing docstring", 40),
    ("security", "    return sum", "    eval('1')\n    return sum", "eval", 42),
]


@pytest.mark.parametrize(("facet", "old", "new", "words", "place"), PYTHON)
def test_a_damaged_module_fails_at_its_line(facet, old, new, words, place):
    assert old in INVENTORY
    finding = found(INVENTORY.replace(old, new, 3), kind="python", facets=[facet], functions=WANTED, min_annotated=1)
    fails(finding, words, place)


def test_a_tangled_function_is_too_complex():
    text = "def f(a):\n" + "".join(f"    if a == {n}:\n        return {n}\n" for n in range(12))
    fails(found(text, kind="python", facets=["complexity"]), "too complex", 1)
    assert found(text, kind="python", facets=["complexity"], max_complexity=20).passed


def test_a_module_cannot_switch_a_rule_off():
    text = "# ruff: noqa\n# flake8: noqa\nimport os  # noqa\n"
    fails(found(text, kind="python", facets=["style"]), "imported but unused", 3)


# Secrets

SECRET = [
    "password: hunter22",
    'db_password = "hunter22"',
    "API_KEY=4f9a8b7c6d5e",
    'export GITHUB_TOKEN="ghp_' + "a1B2" * 9 + '"',
    "aws: AKIA" + "ABCDEFGH12345678",
    "url: postgres://bob:hunter22@db/x",
    "-----BEGIN RSA PRIVATE KEY-----",
    '{"client_secret": "a8f5f167f44f"}',
    "  - secretKey: zx81spectrum",
]
NO_SECRET = [
    "password: ${DB_PASSWORD}",
    "password: $DB_PASSWORD",
    'api_key = os.environ["API_KEY"]',
    "token: <your token>",
    "API_KEY=changeme",
    "API_KEY=",
    "url: postgres://bob:${DB_PASSWORD}@db/x",
    "The password: it must be long enough.",
    "password: string",
    "token = other_token",
    "password_file: /run/secrets/db",
    "secret: {{ vault.secret }}",
    'password = input("Password: ")',
    "max_tokens: 4096",
    "bearer: {type: http, scheme: bearer}",
]


@pytest.mark.parametrize("line", SECRET)
def test_a_secret_is_found_and_not_repeated(line):
    finding = found(f"a: 1\n{line}\n", kind="secrets")
    fails(finding, "clear text" if "://" not in line else "inside an address", 2)
    assert "hunter22" not in str(finding.model_dump())


@pytest.mark.parametrize("line", NO_SECRET)
def test_a_placeholder_or_a_reference_is_no_secret(line):
    finding = found(f"a: 1\n{line}\n", kind="secrets")
    assert finding.passed, finding.note


# Configuration

CONFIG = ["syntax", "required", "env_vars", "permissions", "defaults", "comments", "portability"]


@pytest.mark.parametrize("facet", CONFIG)
def test_a_good_configuration_passes(facet):
    assert found(SERVICE, kind="config", facets=[facet], required=["server.port", "database.pool"]).passed


SETTINGS = [
    ("syntax", "  pool: 10", "   pool: 10", "no valid YAML", 8),
    ("required", "  port:", "  gate:", "server.port is missing", None),
    ("required", "  pool: 10", "  pool:", "database.pool has no value", None),
    ("env_vars", "# PORT: number between 1024 and 65535", "", "PORT is explained nowhere", 4),
    ("permissions", "  level: info", "  privileged: true", "all privileges", 11),
    ("permissions", "  level: info", "  mode: 0777", "open to all users", 11),
    ("permissions", "  level: info", "  user: root", "runs as root", 11),
    ("defaults", "${PORT:-8080}", "${PORT}", "PORT has no default", 4),
    ("defaults", "  level: info", "  level:", "logging.level has no value", 11),
    ("portability", "  level: info", "  file: /home/bob/log", "one machine", 11),
    ("portability", "@db/", "@192.168.1.7/", "'192.168.1.7'", 7),
]


@pytest.mark.parametrize(("facet", "old", "new", "words", "place"), SETTINGS)
def test_a_damaged_configuration_fails_at_its_line(facet, old, new, words, place):
    assert old in SERVICE
    finding = found(SERVICE.replace(old, new), kind="config", facets=[facet], required=["server.port", "database.pool"])
    fails(finding, words, place)


def test_comments_are_wanted_for_a_share_of_the_keys():
    fails(found("a: 1\nb: 2\n# why\nc: 3\n", kind="config", facets=["comments"]), "the key a has no comment", 1)
    assert found("# w\na: 1\nb: 2\n# w\nc: 3\n", kind="config", facets=["comments"]).passed


def test_variables_may_be_explained_in_the_text_around_the_file():
    text = "Set `HOST` first.\n\n```yaml\na: ${HOST}\n```\n"
    assert found(text, kind="config", facets=["env_vars"], part="yaml").passed
    fails(found(text.replace("`HOST`", "it"), kind="config", facets=["env_vars"], part="yaml"), "HOST", 4)


# The models


def test_a_check_with_an_unknown_field_kind_or_type_is_refused():
    for fields in (
        {"kind": "pattern", "pattern": "a", "score": 1},
        {"kind": "shell", "run": "true"},
        {"kind": "sections", "sections": {}},
        {"kind": "sections", "sections": {"A": "5"}},
        {"kind": "command", "argv": "true"},
        {"kind": "command", "argv": ["true"], "file": "../x"},
        {"kind": "openapi", "facets": ["all"]},
    ):
        with pytest.raises(ValidationError):
            check(**fields)


def test_the_schema_of_a_check_is_small_and_closed():
    schema = CHECK.json_schema()
    assert len(str(schema)) < 16_000
    assert all(kind["additionalProperties"] is False for kind in schema["$defs"].values())
