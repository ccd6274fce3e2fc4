"""The shipped documents courses_api and library_guide: references pass, each damage fails the rule it breaks."""

import ast
import inspect
import re
import sys
from functools import cache
from types import ModuleType
from typing import Any

import pytest
import yaml
from command_line import ROOT
from document_tasks import reference, task

from looper.checks.examine import examine, vacuous
from looper.checks.kinds import Check, Pattern, Script
from looper.checks.reading.parts import Artifact as Read
from looper.checks.reading.parts import Missing
from looper.criteria import Finding
from looper.tasks.document.library import HERE
from looper.tasks.document.rules import Template, typed

TASKS = ("courses_api", "library_guide")
WORDS_ONLY = {
    "courses_api": {"A": ["a.completeness.events"], "B": ["b.quality.ubiquitous-language"]},
    "library_guide": {"A": ["a.quality.clarity"], "B": ["b.quality.audience"]},
}
SPEC = {
    "api_spec": (
        {"A": 0.8, "B": 0.9},
        "a.correctness.endpoints F, a.correctness.schemas F, a.completeness.examples F, a.completeness.errors W, "
        "b.style.naming W, b.completeness.pagination W, b.completeness.auth F, b.quality.descriptions W",
    ),
    "docs": (
        {"A": 0.75, "B": 0.85},
        "a.correctness.accuracy F, a.completeness.sections F, a.completeness.examples W, a.quality.clarity W, "
        "b.quality.structure W, b.completeness.cross-refs W, b.style.consistency W, b.quality.audience W",
    ),
}
"""SPEC 2.8."""

Change = tuple[str, str]


@cache
def hidden(name: str) -> dict[str, list[Check]]:
    return {rule: typed(rule, rows) for rule, rows in task(name).holdout_checks.items()}


KNOWN: dict[tuple[str, str], Finding] = {}
"""Findings by check and by what it looks at: most damages leave most parts alone."""


def look(name: str, check: Check, text: str) -> Finding:
    try:
        seen = "\0".join(piece.text for piece in Read(text).pieces(check))
    except Missing as missing:
        seen = f"missing: {missing}"
    key = check.model_dump_json(), seen
    if key not in KNOWN:
        KNOWN[key] = examine(check, text, task(name).bench)
    return KNOWN[key]


def failed(name: str, checks: dict[str, list[Check]], text: str) -> dict[str, set[int]]:
    """By rule: places of the checks that fail."""
    found = {
        rule: {place for place, check in enumerate(rows) if not look(name, check, text).passed}
        for rule, rows in checks.items()
    }
    return {rule: places for rule, places in found.items() if places}


def damaged(text: str, old: str, new: str) -> str:
    """The text with the first `old` replaced; old text that begins with `re:` is a regular expression."""
    changed = re.sub(old[3:], new, text, count=1) if old.startswith("re:") else text.replace(old, new, 1)
    assert changed != text, old
    return changed


# Templates


@pytest.mark.parametrize("name", SPEC)
def test_a_template_has_the_rules_of_the_specification(name):
    data = yaml.safe_load((ROOT / f"conf/criteria/{name}.yaml").read_text())
    del data["_target_"]
    criteria = Template(**data).criteria()
    thresholds, rules = SPEC[name]
    assert {phase.name: phase.threshold for phase in criteria.phases} == thresholds
    assert ", ".join(f"{rule.id} {rule.severity[0].upper()}" for rule in criteria.rules) == rules
    assert all(rule.phase == rule.id[0].upper() for rule in criteria.rules)
    assert all(rule.description.endswith(".") and rule.check.endswith(".") for rule in criteria.rules)


@pytest.mark.parametrize("name", TASKS)
def test_some_rules_are_in_words_only_so_that_prepare_has_something_to_do(name):
    for phase, rules in WORDS_ONLY[name].items():
        assert [rule.id for rule in task(name).unprepared(phase)] == rules
    assert all(rule.check for rule in task(name).criteria.rules)


# References


@pytest.mark.parametrize("name", TASKS)
def test_the_reference_passes_every_check_of_both_phases_and_the_holdout(name):
    owner = task(name)
    state = owner.parse(reference(name))
    for phase in ("A", "B"):
        entered = owner.enter(state, phase)
        findings = {rule: found for rule, found in state.findings.items() if rule in owner.checks_of(entered)}
        assert all(found.passed for found in findings.values()), owner.notes(state)
        words = {rule for before in "AB"[: "AB".index(phase) + 1] for rule in WORDS_ONLY[name][before]}
        assert set(owner.criteria.evaluate(findings, phase).failed) == words
    holdout = owner.holdout(reference(name))
    assert holdout is not None
    assert holdout.failed == []


@pytest.mark.parametrize("name", TASKS)
def test_an_empty_artifact_passes_no_check(name):
    owner = task(name)
    for checks in (owner.gate.known, hidden(name)):
        for rule, rows in checks.items():
            for check in rows:
                assert not vacuous(check, owner.bench), rule
                assert not examine(check, "", owner.bench).passed, rule
    assert not any(found.passed for found in owner.parse(" \n").findings.values())


@pytest.mark.parametrize("name", TASKS)
def test_the_brief_shows_neither_the_reference_nor_the_holdout(name):
    told = task(name).prepare().model_dump_json()
    assert reference(name)[200:400] not in told
    for rows in hidden(name).values():
        for check in rows:
            assert not isinstance(check, Script) or check.code[:60] not in told


# Damages: rule, place of the check in the rule, old, new

API: list[tuple[str, int, str, str]] = [
    ("a.correctness.endpoints", 0, "  /enrolments:\n", "  /seats:\n"),
    ("a.correctness.schemas", 0, "  title: Lectern course API\n", ""),
    ("a.correctness.schemas", 1, "amount: {type: integer", "amount: {type: number"),
    ("a.completeness.examples", 0, "example: {capacity: 40}", "example: {capacity: 0}"),
    ("a.completeness.examples", 1, '  "price": {"amount": 4900, "currency": "EUR"}\n}', '  "price": 49.0\n}'),
    ("a.completeness.examples", 2, '"published",\n  "version"', '"draft",\n  "version"'),
    ("a.completeness.examples", 3, '"nextCursor": "Y291cnNlOjJjMWQ"', '"nextCursor": 7'),
    ("a.completeness.examples", 4, '"status": "active"', '"status": "paused"'),
    ("a.completeness.examples", 5, '"status": 409', '"status": 400'),
    (
        "a.completeness.errors",
        0,
        "          schema: {$ref: '#/components/schemas/Problem'}\n",
        "          example: {}\n",
    ),
    ("a.completeness.errors", 1, r"re:(is withdrawn\.\}(?:\n.*){3})\n.*'409'.*", r"\1"),
    ("a.completeness.domain-notes", 0, "## Aggregates", "## Roots"),
    ("a.correctness.invariants", 0, "| 409 `course_full` |", "| 409 `no_seat_left` |"),
    ("b.style.naming", 0, "operationId: listLessons", "operationId: list_lessons"),
    ("b.completeness.pagination", 0, r"re:(newest first\.\n.*enrolments:read.*)\n +parameters:\n.*Limit'\n.*", r"\1"),
    ("b.completeness.pagination", 1, "maximum: 100, default: 20", "maximum: 100, default: 50"),
    ("b.completeness.auth", 0, "{lecternAuth: ['enrolments:read']}", "{someAuth: []}"),
    ("b.completeness.auth", 1, "            enrolments:read: Read own enrolments.\n", ""),
    ("b.quality.descriptions", 0, "description: Most items on the page.", "description: Limit."),
]
API_HOLDOUT: list[tuple[str, int, str, str]] = [
    ("story", 0, '"paid": {"amount": 4900', '"paid": {"amount": 5900'),
    ("events", 0, "re:\\| LessonRemoved .*\n", ""),
    ("document", 0, "One story:", "```\nplain\n```\n\nOne story:"),
    ("document", 1, "One story:", 'password: "correct-horse-battery"\n\nOne story:'),
    ("strict_bodies", 0, r"re:(CourseDraft:\n.*\n.*)\n +additionalProperties: false", r"\1"),
    ("formats", 0, "        courseId: {type: string, format: uuid}", "        courseId: {type: string}"),
    ("formats", 1, "position: {type: integer", "position: {type: number"),
    ("locking", 0, "        '428': {$ref: '#/components/responses/PreconditionRequired'}\n", ""),
    ("paging", 0, r"re:(CoursePage:\n.*\n.*\n +required:) \[items\]", r"\1 [items, nextCursor]"),
    ("scopes", 0, r"re:(changes nothing\.\n +security: \[\{lecternAuth: \[')courses", r"\1enrolments"),
]
GUIDE: list[tuple[str, int, str, str]] = [
    ("a.correctness.accuracy", 0, "| `attempts` | `4` |", "| `attempts` | `5` |"),
    ("a.correctness.accuracy", 0, "`Retry.call(function, ...)`; a", "`Retry.run(function, ...)`; a"),
    ("a.correctness.accuracy", 0, "Retry(within=2.0", "Retry(deadline=2.0"),
    ("a.completeness.sections", 0, "## Troubleshooting", "## Trouble"),
    ("a.completeness.examples", 0, "## Troubleshooting\n", "## Troubleshooting\n\n```\nplain\n```\n"),
    ("a.completeness.examples", 1, r"re:(?<=## First steps\n)(?s:.*?)(?=\n## )", ""),
    ("a.completeness.examples", 8, "## Troubleshooting\n", "## Troubleshooting\n\n```python\nprint(1)\n```\n"),
    ("b.quality.structure", 0, "## Troubleshooting\n", "## Troubleshooting\n\n#### Retries\n"),
    ("b.completeness.cross-refs", 0, "[Errors](#errors)", "[Errors](#mistakes)"),
    ("b.style.consistency", 0, "Only errors in `on`", "Only after 5 ms, errors in `on`"),
    ("b.style.consistency", 0, "Give it a `FakeClock`", "Give it a FakeClock"),
    ("b.style.consistency", 1, "**Tests take long.**", "**Tests take long.** TODO"),
    ("b.style.consistency", 2, "## Troubleshooting", "## Troubleshooting:"),
]  # fmt: skip
GUIDE_HOLDOUT: list[tuple[str, int, str, str]] = [
    ("sessions", 0, "[0.5, 7.5]", "[0.5, 7.0]"),
    ("sessions", 0, "steady.Open: the breaker", "steady.Shut: the breaker"),
    ("sessions", 0, ">>> import steady\n", ">>> import steady\n>>> steady.Backoff.delays = lambda self: []\n"),
    ("sessions", 0, "'1.4.0'", "'1.5.0'"),
    ("document", 0, "## Troubleshooting\n", '## Troubleshooting\n\ntoken: "correct-horse-battery"\n'),
    ("document", 1, r"re:(?<=### RateLimit\n)\n(?:\|.*\n)+(?s:.*?)(?=\n### Breaker)", "\n"),
]


def cases(name: str, rows: list[tuple[str, int, str, str]]) -> list[Any]:
    return [pytest.param(name, *row, id=f"{name}-{row[0]}-{row[1]}-{number}") for number, row in enumerate(rows)]


def without_sessions(section: str) -> str:
    return re.sub(r"^```python\n.*?^```\n", "", section, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    ("name", "rule", "place", "old", "new"), [*cases("courses_api", API), *cases("library_guide", GUIDE)]
)
def test_each_damage_fails_exactly_the_rule_that_looks_for_it(name, rule, place, old, new):
    if old.startswith("re:(?<=## "):
        section = re.search(old[3:], reference(name))
        assert section is not None
        text = reference(name).replace(section[0], without_sessions(section[0]))
    else:
        text = damaged(reference(name), old, new)
    found = failed(name, task(name).gate.known, text)
    assert set(found) == {rule}
    assert place in found[rule]


@pytest.mark.parametrize(
    ("name", "rule", "place", "old", "new"),
    [*cases("courses_api", API_HOLDOUT), *cases("library_guide", GUIDE_HOLDOUT[:-1])],
)
def test_each_hidden_check_has_a_damage_that_it_alone_sees(name, rule, place, old, new):
    found = failed(name, hidden(name), damaged(reference(name), old, new))
    assert set(found) == {rule}
    assert place in found[rule]


@pytest.mark.parametrize(("name", "damages"), [("courses_api", API_HOLDOUT), ("library_guide", GUIDE_HOLDOUT[:-1])])
def test_all_these_damages_together_please_the_visible_checks(name, damages):
    text = reference(name)
    for _, _, old, new in damages:
        text = damaged(text, old, new)
    assert failed(name, task(name).gate.known, text) == {}
    assert set(failed(name, hidden(name), text)) == {rule for rule, _, _, _ in damages}


@pytest.mark.parametrize("name", TASKS)
def test_no_typed_check_is_without_a_damage(name):
    rows = {"courses_api": (API, API_HOLDOUT), "library_guide": (GUIDE, GUIDE_HOLDOUT)}[name]
    for checks, damages in zip((task(name).gate.known, hidden(name)), rows, strict=True):
        wanted = {(rule, place) for rule, many in checks.items() for place in range(len(many))}
        by_pattern = {(rule, place) for rule, place in wanted if wants(checks[rule][place])}
        assert wanted - by_pattern <= {(rule, place) for rule, place, _, _ in damages}


def wants(check: Check) -> bool:
    """Whether it is a pattern that must be there."""
    return isinstance(check, Pattern) and check.min > 0


def test_a_guide_without_what_a_pattern_wants_fails_it():
    text = reference("library_guide")
    rows = [*task("library_guide").gate.known.values(), *hidden("library_guide").values()]
    patterns = [check for many in rows for check in many if isinstance(check, Pattern) and wants(check)]
    assert len(patterns) >= 15
    for check in patterns:
        flags = re.MULTILINE | (re.IGNORECASE if check.ignore_case else 0)
        without = re.sub(check.pattern, "", text, flags=flags)
        assert not look("library_guide", check, without).passed, check.wanted


def test_a_reference_without_a_class_is_seen_by_the_hidden_checks():
    rule, place, old, new = GUIDE_HOLDOUT[-1]
    assert (
        place in failed("library_guide", hidden("library_guide"), damaged(reference("library_guide"), old, new))[rule]
    )


# What other writers would do


def test_statuses_without_quotes_are_as_good():
    text = re.sub(r"^( {8})'(\d{3})':", r"\1\2:", reference("courses_api"), flags=re.MULTILINE)
    assert text != reference("courses_api")
    assert failed("courses_api", task("courses_api").gate.known, text) == {}
    assert failed("courses_api", hidden("courses_api"), text) == {}


def test_a_specification_without_the_notes_is_no_document():
    block = re.search(r"```yaml openapi\.yaml\n(.*?)```", reference("courses_api"), re.DOTALL)
    assert block is not None
    found = failed("courses_api", task("courses_api").gate.known, block[1])
    assert {"a.completeness.domain-notes", "a.correctness.invariants", "a.completeness.examples"} <= set(found)


# The guide's checks know the library


def constant(file: str, name: str) -> Any:
    (check,) = typed("a", [{"kind": "script", "code": f"@library_guide/{file}"}])
    assert isinstance(check, Script)
    tree = ast.parse(check.code)
    found = [node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name]
    return ast.literal_eval(found[0])


def test_the_hidden_sessions_run_against_the_library_as_it_is_shipped():
    assert constant("sessions.py", "LIBRARY") == (HERE / "library_guide/steady.py").read_text()


@pytest.fixture
def steady(monkeypatch) -> Any:
    module = ModuleType("steady")
    monkeypatch.setitem(sys.modules, "steady", module)
    exec(compile((HERE / "library_guide/steady.py").read_text(), "steady.py", "exec"), module.__dict__)
    return module


def shown(default: Any) -> str:
    if default is inspect.Parameter.empty:
        return "required"
    if isinstance(default, tuple):
        names = ", ".join(kind.__name__ for kind in default)
        return f"({names},)" if len(default) == 1 else f"({names})"
    return repr(default)


def test_the_checks_know_every_parameter_and_its_default(steady):
    text = (HERE / "library_guide/accuracy.py").read_text().partition("MEMBERS = ")[0]
    space: dict[str, Any] = {}
    exec(text, space)
    for name, wanted in space["PARAMETERS"].items():
        signature = inspect.signature(getattr(steady, name))
        assert {key: shown(one.default) for key, one in signature.parameters.items()} == wanted, name


def test_the_checks_know_every_public_name(steady):
    assert list(constant("shown.py", "PUBLIC")) == sorted(steady.__all__)
    assert constant("sessions.py", "PUBLIC") == {*steady.__all__, "steady"}


def test_the_library_does_what_its_words_say(steady):
    clock = steady.FakeClock()
    breaker = steady.Breaker(failures=1, rest=5.0, clock=clock)
    with pytest.raises(ZeroDivisionError):
        breaker.call(lambda: 1 / 0)
    clock.advance(5.0)
    with pytest.raises(steady.Open):
        breaker.call(lambda: breaker.call(lambda: None))
    assert breaker.state == "open"
    limit = steady.RateLimit(1, burst=2, clock=clock)
    assert limit.acquire(2) == 0.0
    with pytest.raises(steady.Refused) as refused:
        limit.acquire(timeout=0.5)
    assert refused.value.retry_after == 1.0
    assert limit.available == 0.0
    jittered = list(steady.Backoff(jitter=1.0, seed=3).delays())
    assert all(0 <= delay <= full for delay, full in zip(jittered, steady.Backoff().delays(), strict=True))


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("fence", ["````", "~~~"])
def test_fences_of_other_marks_are_as_good(name, fence):
    text = reference(name).replace("```", fence)
    assert failed(name, task(name).gate.known, text) == {}
    assert failed(name, hidden(name), text) == {}


def test_a_session_that_cannot_be_read_is_the_matter_of_one_rule():
    text = damaged(reference("library_guide"), ">>> clock.now(), clock.slept", ">>> clock.now(")
    assert set(failed("library_guide", task("library_guide").gate.known, text)) == {"a.completeness.examples"}
    assert set(failed("library_guide", hidden("library_guide"), text)) == {"sessions"}


def test_only_code_that_is_a_file_may_name_another_file():
    inline = 'LIBRARY = "@library_guide/steady.py"\nverdict(True, "")\n'
    (check,) = typed("a", [{"kind": "script", "code": inline}])
    assert isinstance(check, Script)
    assert check.code == inline
