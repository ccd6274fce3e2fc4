"""The roles' answers: exactly one alternative, nothing that the schema does not know (SPEC 0.10, document 002)."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from looper.loops.cabal.board.answers import ANSWERS, Alternatives
from looper.loops.cabal.board.rights import STEPS

PRODUCT = {"title": "Page", "type": "content", "owner": "k", "done": ["It is complete."]}
MEMBER = {"key": "k", "name": "Ann", "persona": "writes", "responsibility": "texts", "area": "marketing"}
FINAL: dict[str, dict[str, Any]] = {
    "bootstrap": {"mission": "m", "objectives": ["o"], "team": [MEMBER], "products": [PRODUCT]},
    "reflect": {"assessment": "All is well."},
    "plan": {},
    "write": {"versions": [{"product": "p1", "content": "x", "summary": "s"}]},
    "review": {"collabs": []},
    "inspect": {"inspections": []},
    "present": {"messages": [{"member": "o1", "text": "Hello."}] * 3},
}


def read(step: str, **data: Any) -> Alternatives:
    return ANSWERS[step].model_validate_json(json.dumps(data))


@pytest.mark.parametrize("step", STEPS)
def test_the_smallest_final_output_is_an_answer(step: str) -> None:
    answer = read(step, final_output=FINAL[step])
    assert read(step, **answer.model_dump()) == answer, "what is recorded can be read again"


@pytest.mark.parametrize("step", STEPS)
def test_an_answer_is_exactly_one_alternative(step: str) -> None:
    others = {"halt": "Which market?"} if step in ("bootstrap", "plan") else {}
    others |= {"request_context": ["p1"]} if step != "bootstrap" else {}
    with pytest.raises(ValidationError, match="exactly one"):
        read(step)
    for name, value in others.items():
        assert read(step, **{name: value})
        with pytest.raises(ValidationError, match="exactly one"):
            read(step, final_output=FINAL[step], **{name: value})
    empty = {name: type(value)() for name, value in others.items()}
    assert read(step, final_output=FINAL[step], **empty), "an empty alternative is not given"
    with pytest.raises(ValidationError, match="exactly one"):
        read(step, **empty)


@pytest.mark.parametrize("step", STEPS)
def test_only_bootstrap_and_plan_halt_and_only_bootstrap_cannot_ask_for_context(step: str) -> None:
    fields = set(ANSWERS[step].model_fields)
    assert ("halt" in fields) == (step in ("bootstrap", "plan"))
    assert ("request_context" in fields) == (step != "bootstrap")


@pytest.mark.parametrize("step", STEPS)
def test_unknown_fields_are_refused(step: str) -> None:
    with pytest.raises(ValidationError, match="Extra"):
        read(step, final_output=FINAL[step], verdict="approved")
    with pytest.raises(ValidationError, match="Extra"):
        read(step, final_output=FINAL[step] | {"score": 1.0})


@pytest.mark.parametrize(
    ("step", "data"),
    [
        ("review", {"request_context": ["p1"] * 6}),
        ("present", {"final_output": {"messages": [{"member": "o1", "text": "x"}] * 2}}),
        ("present", {"final_output": {"messages": [{"member": "o1", "text": "x"}] * 9}}),
        ("present", {"final_output": {"messages": [{"member": "o1", "text": "x" * 601}] * 3}}),
        ("review", {"final_output": {"collabs": [{"product": "p1", "importance": 0, "text": "x"}]}}),
        ("review", {"final_output": {"collabs": [{"product": "p1", "importance": 11, "text": "x"}]}}),
        ("review", {"final_output": {"collabs": [{"product": "p1", "importance": 5, "text": " "}]}}),
        ("review", {"final_output": {"collabs": [{"product": "p1", "importance": 5, "text": "x", "kind": "praise"}]}}),
        ("write", {"final_output": {"versions": [{"product": "p1", "content": "x", "summary": ""}]}}),
        ("bootstrap", {"final_output": FINAL["bootstrap"] | {"products": [PRODUCT | {"type": "poem"}]}}),
        ("bootstrap", {"final_output": FINAL["bootstrap"] | {"products": [PRODUCT | {"done": []}]}}),
        ("bootstrap", {"final_output": FINAL["bootstrap"] | {"team": []}}),
    ],
)
def test_sizes_and_kinds_are_checked(step: str, data: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        read(step, **data)
