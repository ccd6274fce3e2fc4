"""Which questions are put, and answers from a file (SPEC 5.2)."""

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from looper.errors import ConfigError
from looper.loops.gather_verify.answers import Asked
from looper.loops.gather_verify.questions import from_file, number_to_choice, ranked


def ask(name: str, priority: str, question: str = "") -> Asked:
    default = "" if priority == "P0" else "whatever is usual"
    return Asked.model_validate(
        {"id": name, "priority": priority, "question": question or f"What about {name}?", "default": default}
    )


def ids(asked: list[Asked]) -> list[str]:
    return [one.id for one in asked]


def test_the_more_important_come_first_and_keep_their_order() -> None:
    asked = [ask("a", "P2"), ask("b", "P0"), ask("c", "P1"), ask("d", "P0"), ask("e", "P1")]
    assert ids(ranked(asked)) == ["b", "d", "c", "e", "a"]
    assert ids(asked) == ["a", "b", "c", "d", "e"]


def test_five_are_put_at_most() -> None:
    asked = [ask(f"q{number}", priority) for number, priority in enumerate(["P2", "P1", "P0"] * 4)]
    assert ids(ranked(asked)) == ["q2", "q5", "q8", "q11", "q1"]
    assert ids(ranked(asked, 2)) == ["q2", "q5"]
    assert ranked(asked, 0) == []
    assert ranked([]) == []
    with pytest.raises(ValueError, match="0 or more"):
        ranked(asked, -1)


def test_of_two_with_the_same_id_the_more_important_is_put() -> None:
    late, early = ask("a", "P0", "Which format?"), ask("a", "P1", "In what format?")
    for order in permutations([late, early, ask("b", "P1")]):
        assert [one for one in ranked(order) if one.id == "a"] == [late]


def test_of_two_with_the_same_words_the_more_important_is_put() -> None:
    asked = [ask("one", "P1", "Which  format, please?"), ask("two", "P0", 'which "Format" please')]
    assert ids(ranked(asked)) == ["two"]


def test_doubles_take_no_place() -> None:
    asked = [ask("a", "P0"), ask("a", "P0"), ask("b", "P0", "what about A"), ask("c", "P1")]
    assert ids(ranked(asked, 2)) == ["a", "c"]


def test_a_question_is_no_double_of_one_that_is_not_put() -> None:
    asked = [ask("a", "P0", "First?"), ask("a", "P1", "Second?"), ask("b", "P2", "Second?")]
    assert ids(ranked(asked)) == ["a", "b"]


@pytest.mark.parametrize(
    ("one", "other"),
    [("Which version of C?", "Which version of C++?"), ("Is it a < b?", "Is it a > b?"), ("???", "!!!")],
)
def test_signs_that_mean_something_make_another_question(one: str, other: str) -> None:
    assert len(ranked([ask("a", "P0", one), ask("b", "P0", other)])) == 2


@pytest.mark.parametrize(
    ("text", "choices", "answer"),
    [
        ("2", ["red", "blue"], "blue"), (" 1 ", ["red", "blue"], "red"), ("2.", ["red", "blue"], "blue"),
        ("1)", ["red", "blue"], "red"), ("+2", ["red", "blue"], "blue"), ("02", ["red", "blue"], "blue"),
        ("BLUE", ["red", "Blue"], "Blue"), (" green ", ["red", "blue"], "green"), ("2 reds", ["red"], "2 reds"),
        ("1.5", ["red"], "1.5"), ("30", [], "30"), ("-1", [], "-1"), ("5", ["5", "10"], "5"), ("10", ["5", "10"], "10"),
        ("2", ["5", "10"], "10"),
    ],
)  # fmt: skip
def test_an_answer_is_a_number_of_a_choice_or_words(text: str, choices: list[str], answer: str) -> None:
    assert number_to_choice(text, choices) == answer


@pytest.mark.parametrize("text", ["0", "3", "-1", "+0", "99999999999999999999", "3.", "1" * 5000])
def test_a_number_that_is_none_of_the_choices_is_refused_with_the_range(text: str) -> None:
    with pytest.raises(ValueError, match="is none of the choices; give a number from 1 to 2, or words") as raised:
        number_to_choice(text, ["red", "blue"])
    assert len(str(raised.value)) < 120


def written(folder: Path, name: str, content: str | bytes) -> str:
    file = folder / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(file)


def test_answers_in_yaml_are_the_text_that_was_written(tmp_path: Path) -> None:
    text = "# answers\nformat: JSON\nstrict: no\nday: 2026-11-22\nlimit: 010\nnote: |\n  two\n  lines\nsaid: ' on '\n"
    assert from_file(written(tmp_path, "answers.yaml", text)) == {
        "format": "JSON", "strict": "no", "day": "2026-11-22", "limit": "010", "note": "two\nlines", "said": "on",
    }  # fmt: skip


def test_answers_in_json_are_the_text_that_was_written(tmp_path: Path) -> None:
    text = '{"format": "JSON", "limit": 2, "share": 0.50, "strict": false,\t"who": "caf\\u00e9 \\ud83d\\ude00"}'
    assert from_file(written(tmp_path, "answers.JSON", text)) == {
        "format": "JSON", "limit": "2", "share": "0.50", "strict": "false", "who": "café 😀",
    }  # fmt: skip


def test_json_is_yaml_too(tmp_path: Path) -> None:
    assert from_file(written(tmp_path, "answers", json.dumps({"format": "a: b", "n": 3}))) == {
        "format": "a: b",
        "n": "3",
    }


def test_an_empty_file_answers_nothing(tmp_path: Path) -> None:
    assert from_file(written(tmp_path, "a.yaml", "# nothing yet\n")) == {}
    assert from_file(written(tmp_path, "a.json", "{}")) == {}


def test_a_byte_order_mark_and_windows_lines_change_nothing(tmp_path: Path) -> None:
    assert from_file(written(tmp_path, "a.yaml", b"\xef\xbb\xbfformat: JSON\r\nday: Monday\r\n")) == {
        "format": "JSON", "day": "Monday",
    }  # fmt: skip
    assert from_file(written(tmp_path, "a.json", b'\xef\xbb\xbf{"format": "JSON"}\r\n')) == {"format": "JSON"}


WRONG: list[tuple[str, str | bytes, str]] = [
    (
        "a.yaml",
        "- one\n- two\n",
        "is no mapping; give a mapping of question id to text, such as `output-format: JSON`.",
    ),
    ("a.yaml", "just words\n", "is no mapping"),
    ("a.yaml", "format: [JSON, YAML]\n", "has an answer for `format` that is no text; give a mapping"),
    ("a.yaml", "format:\n  kind: JSON\n", "has an answer for `format` that is no text"),
    ("a.yaml", "format:\n", "has no answer for `format`; write one, or remove the line."),
    ("a.yaml", "format: JSON\nformat: YAML\n", "cannot be used: format is answered twice"),
    ("a.yaml", "What Format: JSON\n", "answers `What Format`, which is no id of a question"),
    ("a.yaml", "? [a, b]\n: JSON\n", "which is no id of a question"),
    ("a.yaml", "format: 'JSON\n", "cannot be used: it is no valid YAML"),
    ("a.yaml", "format: a\n---\nday: b\n", "cannot be used: it is no valid YAML"),
    ("a.yaml", "format: \x00\n", "cannot be used: it is no valid YAML"),
    ("a.yaml", f"format: {'x' * 4001}\n", "has an answer for `format` of more than 4,000 characters; shorten it."),
    ("a.yaml", "[" * 500, "cannot be used"),
    ("a.yaml", b"format: \xff\xfe\n", "is no text in UTF-8; save it as such."),
    ("a.json", '["JSON"]', "is no mapping"),
    ("a.json", "3", "is no mapping"),
    ("a.json", '{"format": null}', "has an answer for `format` that is no text"),
    ("a.json", '{"format": {"kind": "JSON"}}', "has an answer for `format` that is no text"),
    ("a.json", '{"format": "a", "format": "b"}', "cannot be used: format is answered twice"),
    ("a.json", "format: JSON", "cannot be used: Expecting value: line 1 column 1"),
    ("a.json", "", "cannot be used: Expecting value"),
    ("a.json", "[" * 100_000, "cannot be used"),
]


@pytest.mark.parametrize(("name", "content", "told"), WRONG, ids=[str(number) for number in range(len(WRONG))])
def test_a_wrong_file_is_refused_in_one_sentence(tmp_path: Path, name: str, content: Any, told: str) -> None:
    path = written(tmp_path, name, content)
    with pytest.raises(ConfigError) as raised:
        from_file(path)
    assert str(raised.value).startswith(f"The answers file {path} ")
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(ConfigError, match=r"^There is no answers file .*; write one, or leave the setting out"):
            from_file(str(path))


def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    path = written(tmp_path, "a.yaml", "format: JSON\n")
    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(ConfigError, match="cannot be read: Permission denied; make it readable"):
        from_file(path)


def test_a_name_that_no_file_can_have_is_refused() -> None:
    with pytest.raises(ConfigError, match="cannot be read: File name too long"):
        from_file("x" * 5000)
