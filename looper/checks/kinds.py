"""The typed checks of an artifact: what a rule's words become before anything is run (SPEC 2.6).

A model writes them as JSON, so each kind has few fields, strict types and no default that would let a bad artifact
pass. `part` says what a check looks at; SPEC 0.1: the verdict is always computed by code.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel, StringConstraints, TypeAdapter, model_validator

Text = Annotated[str, StringConstraints(min_length=1, max_length=500)]
Names = Annotated[list[Text], Field(max_length=200)]
Word = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")]
FileName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.\-]{0,99}$")]


class Part(BaseModel):
    """What every check has."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    part: str = Field(
        default="",
        max_length=200,
        description=(
            "What is looked at. Empty: the whole artifact. Else the fenced blocks of a language (`yaml`) or with a "
            "file name behind the language (`openapi.yaml`), or the section below a heading (`# Domain notes`)."
        ),
    )


class Sections(Part):
    """Headings are there, each with enough words below it."""

    kind: Literal["sections"]
    sections: dict[Text, Annotated[int, Field(ge=0, le=100_000)]] = Field(
        min_length=1, max_length=100, description="Heading -> least number of words below it, code blocks not counted."
    )
    ordered: bool = Field(default=False, description="Whether they must come in this order.")


class Pattern(Part):
    """A regular expression of Python occurs as often as it should."""

    kind: Literal["pattern"]
    pattern: Annotated[str, StringConstraints(min_length=1, max_length=1000)]
    min: int = Field(default=1, ge=0, description="Fewest matches; 0 with `max: 0` for something that must be absent.")
    max: int | None = Field(default=None, ge=0, description="Most matches; null: any number.")
    ignore_case: bool = False
    wanted: str = Field(
        default="", max_length=200, description="What the pattern stands for, in words, for the writer."
    )

    @model_validator(mode="after")
    def _can_fail(self) -> "Pattern":
        if self.max is not None and self.max < self.min:
            raise ValueError("`max` is below `min`")
        if self.min == 0 and self.max is None:
            raise ValueError("with `min: 0` and no `max` it can never fail; give one of them")
        return self


class Parse(Part):
    """It can be read as a language; duplicate keys and unsafe YAML tags are errors."""

    kind: Literal["parse"]
    language: Literal["json", "yaml", "toml", "ini", "env", "python"]


class JsonSchema(Part):
    """Data (JSON, YAML or TOML) that is valid for a JSON Schema, draft 2020-12. Remote references are refused."""

    kind: Literal["json_schema"]
    language: Literal["json", "yaml", "toml"] = "json"
    json_schema: dict[str, Any] = Field(min_length=1, description="The schema; `$ref` only within it.")


class OpenApi(Part):
    """An OpenAPI 3 document (YAML or JSON)."""

    kind: Literal["openapi"]
    facets: list[
        Literal[
            "valid", "endpoints", "schemas", "examples", "errors", "naming", "pagination", "auth", "descriptions"
        ]
    ] = Field(default=["valid"], min_length=1, max_length=9)  # fmt: skip
    endpoints: Names = Field(default=[], description='For the facet `endpoints`: "GET /courses/{id}", one each.')


class Markdown(Part):
    """The build of a Markdown document. Nothing is ever fetched."""

    kind: Literal["markdown"]
    facets: list[Literal["headings", "links", "fences", "cross_references"]] = Field(min_length=1, max_length=4)
    files: Names = Field(default=[], description="Relative paths that links may lead to.")
    min_links: int = Field(default=1, ge=1, le=1000, description="For `cross_references`: fewest links to sections.")


class Python(Part):
    """Python source, read but never run."""

    kind: Literal["python"]
    facets: list[
        Literal[
            "compiles", "functions", "types", "style", "complexity", "error_handling", "logging", "docstrings",
            "security",
        ]
    ] = Field(default=["compiles"], min_length=1, max_length=9)  # fmt: skip
    functions: Names = Field(
        default=[], description='For the facet `functions`: "add(a, b)", "Stack.push(item)", or a bare name.'
    )
    min_annotated: float = Field(default=0.9, gt=0, le=1, description="For `types`: share of annotated parameters.")
    max_complexity: int = Field(default=10, ge=1, le=50, description="For `complexity`: McCabe number per function.")


class Pytest(Part):
    """Tests that are run on the artifact as a module; the module's code runs in a process that never sees them."""

    kind: Literal["pytest"]
    tests: Annotated[str, StringConstraints(min_length=1, max_length=200_000)] = Field(
        description="Source of a pytest file that imports the module by name."
    )
    module: Word = Field(default="artifact", description="Name under which the tests import the artifact.")
    min_tests: int = Field(default=1, ge=1, le=10_000, description="Fewest tests that must run and pass.")
    shared: bool = Field(
        default=False,
        description="Run tests and module in one process, for tests that patch it or pass functions to it; weaker.",
    )


class Secrets(Part):
    """No key, token, private key or password in clear text; placeholders and references to the environment are fine."""

    kind: Literal["secrets"]


class Config(Part):
    """A configuration file."""

    kind: Literal["config"]
    language: Literal["yaml", "toml", "json", "ini", "env"] = "yaml"
    facets: list[
        Literal["syntax", "required", "env_vars", "permissions", "defaults", "comments", "portability"]
    ] = Field(min_length=1, max_length=7)  # fmt: skip
    required: Names = Field(default=[], description="For `required`: dotted paths of keys, such as `server.port`.")
    min_comments: float = Field(default=0.5, gt=0, le=1, description="For `comments`: share of top-level keys.")


class Command(Part):
    """A user's own program on the artifact as a file. Its exit code is the verdict, which is weaker evidence."""

    kind: Literal["command"]
    argv: Annotated[list[Text], Field(min_length=1, max_length=100)] = Field(
        description="Program and arguments, no shell; `{file}` stands for the file."
    )
    file: FileName = "artifact.md"
    seconds: float = Field(default=20.0, gt=0, le=120)


class Script(Part):
    """A Python script that calls `verdict(passed, note)` exactly once after it has read the artifact from a file."""

    kind: Literal["script"]
    code: Annotated[str, StringConstraints(min_length=1, max_length=100_000)] = Field(
        description=(
            "Standard library only. Reads the file, calls `verdict(passed, 'what to fix')` once. It must not run "
            "the artifact in its own process (no exec, eval, import of it); start a child process for that."
        )
    )
    file: FileName = "artifact.md"
    seconds: float = Field(default=20.0, gt=0, le=120)


class Judge(Part):
    """A question that only a reader can answer; the loop asks it, code reads the verdict."""

    kind: Literal["judge"]
    question: Annotated[str, StringConstraints(min_length=1, max_length=2000)]
    min_score: float = Field(default=0.7, gt=0, le=1, description="Least score that passes, 0 to 1.")


Reading = Sections | Pattern | Parse | JsonSchema | OpenApi | Markdown | Python | Secrets | Config
"""Kinds that only read the artifact."""
Running = Pytest | Command | Script
"""Kinds that execute something."""
Check = Annotated[Reading | Running | Judge, Field(discriminator="kind")]
"""Any check."""

CHECK: TypeAdapter[Check] = TypeAdapter(Check)
"""Validates, dumps and describes one check."""


class Checks(RootModel[list[Check]]):
    """What a preparer answers for one rule."""
