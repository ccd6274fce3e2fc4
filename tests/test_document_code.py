"""The shipped tasks service_config and python_module: their references pass, and each check fails on what it is for."""

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from document_tasks import reference, task

from looper.checks.examine import examine, vacuous
from looper.checks.kinds import Check
from looper.tasks.document.library import source
from looper.tasks.document.probes import EXECUTES
from looper.tasks.document.rules import typed

TASKS = ("service_config", "python_module")
SPEC = {
    "code": """
        a.correctness.compiles F, a.correctness.logic F, a.completeness.functions F, a.completeness.types W,
        b.quality.error-handling W, b.quality.logging W, b.style.conventions W, b.security.input-validation F""",
    "config": """
        a.correctness.syntax F, a.correctness.required F, a.completeness.env-vars W, a.security.no-secrets F,
        b.quality.defaults W, b.completeness.comments W, b.quality.portability W, b.security.permissions W""",
}
"""SPEC 2.8."""
SEVERITY = {"F": "fail", "W": "warn"}
IN_WORDS = {
    "service_config": {"a.quality.derivations", "b.completeness.comments"},
    "python_module": {"a.completeness.example", "b.quality.logging"},
}
"""Rules that PREPARE has to make checks for."""


def shown(name: str) -> dict[str, list[Check]]:
    return task(name).gate.known


def hidden(name: str) -> dict[str, list[Check]]:
    return {rule: typed(rule, rows) for rule, rows in task(name).holdout_checks.items()}


Verdicts = dict[tuple[str, int], str]
"""What each check that failed said, by rule and place."""


def failed(name: str, text: str, checks: Mapping[str, Sequence[Check]], kinds: Callable[[str], bool]) -> Verdicts:
    rows = [(rule, place, one) for rule, some in checks.items() for place, one in enumerate(some) if kinds(one.kind)]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda row: examine(row[2], text, task(name).bench), rows))
    return {row[:2]: one.note for row, one in zip(rows, found, strict=True) if not one.passed}


def any_kind(kind: str) -> bool:
    return True


def reading(kind: str) -> bool:
    return kind not in EXECUTES


def rules(verdicts: Verdicts) -> set[str]:
    return {rule for rule, _ in verdicts}


def changed(text: str, *edits: tuple[str, str]) -> str:
    """The text with passages replaced; each must be there, or the mutation would be none."""
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    return text


# The templates


@pytest.mark.parametrize("template", SPEC)
def test_a_template_has_the_rules_of_the_specification(template: str) -> None:
    name = {"code": "python_module", "config": "service_config"}[template]
    chosen = task(name).criteria_template
    assert chosen.name == template
    assert chosen.thresholds == {"A": 0.8, "B": 0.9}
    wanted = [tuple(row.split()) for row in SPEC[template].split(",")]
    criteria = chosen.criteria()
    assert [(rule.id, rule.severity) for rule in criteria.rules] == [(row, SEVERITY[mark]) for row, mark in wanted]
    assert all(rule.phase == rule.id[0].upper() for rule in criteria.rules)
    assert all(rule.weight == {"fail": 2.0, "warn": 1.0}[rule.severity] for rule in criteria.rules)
    assert all(len(rule.description) > 20 and len(rule.check) > 20 for rule in criteria.rules)


@pytest.mark.parametrize("name", TASKS)
def test_only_rules_in_words_are_left_to_prepare(name: str) -> None:
    left = {rule.id for phase in "AB" for rule in task(name).unprepared(phase)}
    assert left == IN_WORDS[name]
    assert {rule.severity for rule in task(name).criteria.rules if rule.id in left} == {"warn"}
    assert task(name).unprepared("A")


@pytest.mark.parametrize("name", TASKS)
def test_neither_the_reference_nor_hidden_checks_reach_a_prompt(name: str) -> None:
    brief = task(name).prepare().model_dump_json()
    assert "test_hidden" not in brief
    assert "holdout" not in brief
    assert all(rule not in brief for rule in task(name).holdout_checks)
    assert source(str(task(name).reference)) not in task(name).prepare().sources.values()


# The references, and nothing at all


@pytest.mark.parametrize("name", TASKS)
def test_the_reference_passes_every_check_that_is_seen_and_every_one_that_is_not(name: str) -> None:
    assert failed(name, reference(name), shown(name), any_kind) == {}
    assert failed(name, reference(name), hidden(name), any_kind) == {}


@pytest.mark.parametrize("name", TASKS)
def test_nothing_passes_no_check(name: str) -> None:
    checks = [check for some in (*shown(name).values(), *hidden(name).values()) for check in some]
    with ThreadPoolExecutor(2) as pool:
        assert not any(pool.map(lambda check: vacuous(check, task(name).bench), checks))


# What each check is for


@dataclass(frozen=True)
class Fault:
    """A change of the reference and what it fails."""

    rule: str
    place: int
    """Which of the rule's checks."""
    edits: tuple[tuple[str, str], ...]
    also: frozenset[str] = frozenset()
    """Other rules that cannot be told any more: nothing can be read."""

    def __str__(self) -> str:
        return f"{self.rule}-{self.place}"


def fault(rule: str, place: int, *edits: tuple[str, str], also: str = "") -> Fault:
    return Fault(rule, place, edits, frozenset(also.split()))


LITERAL = "".join(["q8Zr", "1nVx", "7LpT", "w3Ks"])
UNREADABLE = "a.correctness.required b.correctness.limits b.quality.defaults b.security.permissions"
CONFIG = (
    fault("a.correctness.syntax", 0, ('  umask: "0077"\n', '  umask: "0077"\n  umask: "0077"\n'), also=UNREADABLE),
    fault("a.correctness.required", 0, ("  folder: $", "  directory: $")),
    fault("a.completeness.env-vars", 0, ("#   PARCELS_SPOOL_DIR     folder", "#   the last              folder")),
    fault("a.security.no-secrets", 0, ("  api_key: ${PARCELS_CARRIER_KEY}  # required", f"  api_key: {LITERAL}")),
    fault("b.correctness.limits", 0, ("    failures: 4 ", "    failures: 3 ")),
    fault("b.quality.defaults", 0, ("  url: ${PARCELS_CARRIER_URL}  # required", "  url: ${PARCELS_CARRIER_URL}")),
    fault("b.quality.portability", 0, ("output: stdout", "output: /home/ana/parcels.log")),
    fault("b.quality.portability", 1, ('"NO"', "NO")),
    fault("b.security.permissions", 0, ('umask: "0077"', 'umask: "0000"')),
    fault("b.security.permissions", 1, ("capabilities: []", "capabilities: [NET_BIND_SERVICE]")),
)
UNSEEN_CONFIG = (
    fault("values that the requirements name", 0, ('min_version: "1.2"', 'min_version: "1.3"')),
    fault("starts at a bare site and at one that sets everything", 0, (":-info}", ":-warning}")),
    fault(
        "no variable but those of the requirements", 0,
        ("output: stdout", "output: ${PARCELS_OUTPUT:-stdout}  # PARCELS_OUTPUT: where the log goes"),
        also="values~that~the~requirements~name",
    ),
    fault("every requirement is named in a comment", 0, ("# R4, R5, R7: ", "# R4, R5: ")),
    fault(
        "every block has a comment", 0,
        ("# R8: larger than what honest clients send, and no larger.\n", ""),
        ("  # 2 MiB = 2 * 1024 * 1024", ""), ("  # 90 / 5", ""), ("# R9: ", "# R8, R9: "),
    ),
)  # fmt: skip
COMPILED = "a.completeness.functions a.completeness.types b.quality.error-handling b.style.conventions"
STYLE = (
    fault(
        "a.completeness.types", 0, (": Iterable[Shift]", ""),
        *((f"{name}: Any", name) for name in ("value", "values", "people", "name")),
    ),
    fault(
        "a.completeness.functions", 0,
        ("on_call(shifts: Iterable[Shift], at:", "on_call(shifts: Iterable[Shift], when:"),
        ("    _check_time(at)\n", "    at = when\n    _check_time(at)\n"),
    ),
    fault(
        "b.quality.error-handling", 0, ("    except ValueError as error:\n", "    except ValueError:\n"),
        ('is on no calendar") from error', 'is on no calendar")'),
    ),
    fault("b.style.conventions", 0, ('    """Say who is on call at a moment, or None. Raises RotaError."""\n', "")),
)  # fmt: skip
"""Faults that no test can see."""
BEHAVIOUR = (
    fault("a.correctness.logic", 0, ("at < rota[place].end", "at <= rota[place].end")),
    fault("b.security.input-validation", 1, ("([0-9]{1,9})d", r"(\d+)d")),
)
UNSEEN_MODULE = (
    fault("behaviour at the limits", 0, ("key=lambda item: (-item[1], item[0])", "key=lambda item: -item[1]")),
    fault("nothing outside of the module is touched", 0, ("import logging\n", "import logging\nimport os\n")),
    fault("nothing outside of the module is touched", 1, ("    _check_time(at)\n", "    at = at or datetime.now()\n")),
    fault("example that runs", 0, ("'cy'", "'bo'")),
)


def expected(one: Fault) -> set[str]:
    return {one.rule, *(name.replace("~", " ") for name in one.also)}


def fails_as_told(name: str, one: Fault, checks: Mapping[str, Sequence[Check]], kinds: Callable[[str], bool]) -> None:
    found = failed(name, changed(reference(name), *one.edits), checks, kinds)
    assert rules(found) == expected(one), found
    assert found[one.rule, one.place]


@pytest.mark.parametrize("one", CONFIG, ids=str)
def test_a_fault_of_the_configuration_fails_its_rule_alone(one: Fault) -> None:
    fails_as_told("service_config", one, shown("service_config"), any_kind)


@pytest.mark.parametrize("one", UNSEEN_CONFIG, ids=str)
def test_a_fault_of_the_configuration_that_nobody_is_told_of_is_seen_at_the_end(one: Fault) -> None:
    fails_as_told("service_config", one, hidden("service_config"), any_kind)
    assert failed("service_config", changed(reference("service_config"), *one.edits), shown("service_config"),
                  any_kind) == {}  # fmt: skip


def test_prose_around_the_module_fails_everything_that_reads_it() -> None:
    text = f"Here is the module:\n\n{reference('python_module')}"
    found = failed("python_module", text, shown("python_module"), reading)
    assert rules(found) == {"a.correctness.compiles", "b.security.input-validation", *COMPILED.split()}


@pytest.mark.parametrize("one", STYLE, ids=str)
def test_a_fault_of_the_module_that_can_be_read_fails_its_rule_alone(one: Fault) -> None:
    fails_as_told("python_module", one, shown("python_module"), reading)


def test_code_that_runs_what_it_is_given_fails_input_validation() -> None:
    text = changed(reference("python_module"), ("    names = _names(people)\n", "    names = eval(str(people))\n"))
    found = failed("python_module", text, shown("python_module"), reading)
    assert set(found) == {("b.security.input-validation", 0)}


def test_faults_that_can_be_read_leave_the_tests_alone() -> None:
    text = changed(reference("python_module"), *(edit for one in STYLE[1:] for edit in one.edits))
    assert failed("python_module", text, shown("python_module"), lambda kind: kind in EXECUTES) == {}


@pytest.mark.parametrize("one", BEHAVIOUR, ids=str)
def test_a_fault_of_behaviour_fails_its_rule_alone(one: Fault) -> None:
    fails_as_told("python_module", one, shown("python_module"), any_kind)


@pytest.mark.parametrize("one", UNSEEN_MODULE, ids=str)
def test_a_fault_of_the_module_that_nobody_is_told_of_is_seen_at_the_end(one: Fault) -> None:
    text = changed(reference("python_module"), *one.edits)
    checks = {one.rule: hidden("python_module")[one.rule]}
    assert failed("python_module", text, checks, any_kind).keys() == {(one.rule, one.place)}


@pytest.mark.parametrize("name", TASKS)
def test_every_typed_check_has_a_fault_that_it_is_for(name: str) -> None:
    seen = {"service_config": CONFIG, "python_module": (*STYLE, *BEHAVIOUR)}[name]
    unseen = {"service_config": UNSEEN_CONFIG, "python_module": UNSEEN_MODULE}[name]
    elsewhere = (
        {("a.correctness.compiles", 0), ("b.security.input-validation", 0)} if name == "python_module" else set()
    )
    for faults, checks in ((seen, shown(name)), (unseen, hidden(name))):
        places = {(rule, place) for rule, some in checks.items() for place, _ in enumerate(some)}
        assert places - elsewhere == {(one.rule, one.place) for one in faults}


def test_the_requirements_explain_every_key_that_the_schema_asks_for() -> None:
    brief = task("service_config").prepare()
    text = brief.sources["requirements.md"]
    keys = set(re.findall(r"^\s*([a-z_]+):", reference("service_config"), re.MULTILINE))
    assert len(keys) > 40
    assert {key for key in keys if f"`{key}`" not in text} == set()
