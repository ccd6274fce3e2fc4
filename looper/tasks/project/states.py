"""What passes between a design and a project: edits, the workspace as a state, what every role may see."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from looper.checks.suite.reports import SuiteReport
from looper.tasks.contracts import Line
from looper.types import Plain

Name = Annotated[str, StringConstraints(min_length=1, max_length=300)]
"""A path relative to the project's folder, with forward slashes."""
MOST_EDITS = 40
MOST_ASKED = 8
"""Files that a coder may ask for in one answer."""


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class WholeFile(Strict):
    """A file from beginning to end, new or in place of the old one."""

    kind: Literal["file"]
    path: Name
    text: str


class Passage(Strict):
    """One passage in place of another."""

    kind: Literal["passage"]
    path: Name
    find: str = Field(min_length=1, description="a passage that occurs exactly once in the file, to the letter")
    replace: str


class Diff(Strict):
    """A unified diff of one file; its context and removed lines must be in the file, to the letter."""

    kind: Literal["diff"]
    path: Name
    diff: str = Field(min_length=1, description="hunks with @@ -a,b +c,d @@; line numbers may be off, content may not")


class Removal(Strict):
    """A file that goes away."""

    kind: Literal["delete"]
    path: Name


Edit = Annotated[WholeFile | Passage | Diff | Removal, Field(discriminator="kind")]


class Edits(Strict):
    """A change of the project's files, a wish to see some of them first, or a question about what is wanted.

    Give exactly one of them: `edits`, `look_at`, `needs_clarification`, or `done` where nothing is left to change. Do
    not touch existing tests. Whether tests pass is found out by running them, whatever you say.
    """

    edits: list[Edit] = Field(default=[], max_length=MOST_EDITS)
    look_at: list[Name] = Field(default=[], max_length=MOST_ASKED, description="files to see before the change is made")
    needs_clarification: str = Field(
        default="", max_length=1000, description="what cannot be decided from the task, and what the choices are"
    )
    files: list[Name] = Field(default=[], max_length=MOST_EDITS, description="files that exist once this is done")
    claims_pass: bool | None = Field(default=None, description="whether the tests pass now; believed only when run")
    why: str = Field(default="", max_length=1000, description="approach, in a sentence")
    done: bool = Field(default=False, description="true only if nothing is left to change")

    @model_validator(mode="after")
    def _one_of_them(self) -> "Edits":
        given = [bool(self.edits), bool(self.look_at), bool(self.needs_clarification.strip()), self.done]
        if sum(given) != 1:
            raise ValueError("give exactly one of edits, look_at, needs_clarification, done")
        return self

    def __str__(self) -> str:
        if self.edits:
            return self.why or f"change {', '.join(dict.fromkeys(edit.path for edit in self.edits))}"
        if self.look_at:
            return f"asks for {', '.join(self.look_at)}"
        return (self.why or "done") if self.done else f"asks: {self.needs_clarification}"


class Violation(BaseModel):
    """Something that code found in a change, whatever was said about it (SPEC 3.3)."""

    name: str
    """Short and fixed, such as `tests_deleted`."""
    text: str
    foul: bool = False
    """Whether it is an attempt to get past the rules, not a mistake."""


Became = Literal["changed", "nothing", "refused", "asked", "clarify", "done"]
"""What became of a coder's answer."""


class Tree(BaseModel):
    """A workspace: what was changed against the project as it was given, and what its tests say."""

    changed: dict[str, str | None] = {}
    """Text by path; None: the file was removed. Files as they were given are not listed."""
    report: SuiteReport | None = None
    """Of all tests, on exactly these files; None until they have run."""
    shown: list[str] = []
    """Files that the coder asked for, the latest last."""
    became: Became = "changed"
    """What the last answer of a coder led to."""
    last: str = "as given"
    """The same in words: what changed, or why nothing did."""
    violations: list[Violation] = []
    """Of the last answer."""
    desk: dict[str, Plain] = {}
    """What whoever changes it next is shown: the map, files, failing tests. Not kept from one state to the next."""
    again: bool = False
    """Whether the tests are to be run although these very files were tested before."""


class Decision(BaseModel):
    """The next failing test to work on, or nothing."""

    action: "WorkOn | None"


class WorkOn(BaseModel):
    """What the policy of an inner loop decides: which failing tests the writer works on next."""

    tests: list[str]
    note: str = ""
    """What they said."""
    refused: str = ""
    """Why the writer's last change was not made."""

    def __str__(self) -> str:
        return f"work on {', '.join(self.tests[:3])}{' and more' if len(self.tests) > 3 else ''}"


class Worked(BaseModel):
    """Memory of that policy: how often each test was worked on."""

    tries: dict[str, int] = {}
    refused: str = ""


class Brief(BaseModel):
    """What every role may see of a project; never its hidden tests."""

    goal: str
    prompt: str
    repository: str
    """The map: files with what they define, within its token limit."""
    known_checks: list[str]
    """Names that a task's `checks` may use: test files, single tests."""
    fails_as_given: str
    """Tests that fail as the project was given, with what they say."""
    rules: str


class Plan(BaseModel):
    """How to go about it, for designs that plan in words."""

    steps: list[Line] = Field(default=[], max_length=5, description="3 to 5 short steps")


class NewPlan(BaseModel):
    """Another plan, or none if there is no way on."""

    plan: Plan | None


class Handed(BaseModel):
    """The closing words on the result."""

    text: str = ""
