"""What the module has to refuse: malformed and hostile input of each public function."""

from datetime import UTC, date, datetime, timedelta

import pytest
from rota import RotaError, Shift, dump, gaps, hours, load, on_call, override, parse_duration, rotation

START = datetime.fromisoformat("2026-03-02T08:00")
END = datetime.fromisoformat("2026-03-03T08:00")
DAY = timedelta(days=1)
LINE = "2026-03-02T08:00:00 2026-03-03T08:00:00 ana"


def refused(call, *arguments):
    """The error's text, which has to be one short line."""
    with pytest.raises(RotaError) as caught:
        call(*arguments)
    said = str(caught.value)
    assert said
    assert "\n" not in said
    assert len(said) <= 200
    return said


@pytest.mark.parametrize(
    "text", ["", " ", "0m", "-1d", "+1d", "1.5h", "1 d", "1d 2h", "2h1d", "1d1d", "1D", "12", "d", "1s", "1d\n", "53w"]
)
def test_what_is_no_duration_is_refused(text):
    refused(parse_duration, text)


def test_digits_of_other_scripts_are_no_digits():
    refused(parse_duration, "\u0663d")
    refused(load, LINE.replace("2026-03-02", "\u0662026-03-02"))


@pytest.mark.parametrize("text", ["9" * 30 + "w", "9" * 5000 + "m", "1" * 500_000, "999999999w999999999d"])
def test_a_duration_beyond_all_bounds_is_refused(text):
    refused(parse_duration, text)


@pytest.mark.parametrize("value", [None, 5, True, b"1d", ["1d"], 1.5])
def test_what_is_no_text_is_refused(value):
    refused(parse_duration, value)
    refused(load, value)


@pytest.mark.parametrize(
    "name", ["", " ", "a b", "ana\n", "1ana", "-ana", "a" * 41, "a/b", "ana\x1b[2J", "\u0430na", None, 7]
)
def test_what_is_no_name_is_refused(name):
    refused(Shift, name, START, END)
    refused(rotation, [name], START, END, DAY)


@pytest.mark.parametrize(
    "moment",
    [
        None,
        "2026-03-02",
        date(2026, 3, 2),
        1_772_438_400,
        START.replace(microsecond=1),
        START.replace(tzinfo=UTC),
    ],
)
def test_what_is_no_plain_moment_is_refused(moment):
    refused(Shift, "ana", moment, END)
    refused(Shift, "ana", START, moment)
    refused(on_call, [], moment)
    refused(gaps, [], moment, END)
    refused(rotation, ["ana"], START, moment, DAY)


def test_an_empty_or_backward_window_is_refused():
    for end in (START, START - DAY):
        refused(Shift, "ana", START, end)
        refused(gaps, [], START, end)
        refused(rotation, ["ana"], START, end, DAY)


@pytest.mark.parametrize("people", ["ana", "abc", [], ["ana", "ana"], None, 3, b"ana"])
def test_people_are_a_list_of_different_names(people):
    refused(rotation, people, START, END, DAY)


@pytest.mark.parametrize(
    "turn", [timedelta(0), -DAY, timedelta(microseconds=5), timedelta(seconds=1.5), 24, "1d", None]
)
def test_a_turn_is_a_positive_time_of_whole_seconds(turn):
    refused(rotation, ["ana", "bo"], START, END, turn)


def test_a_rotation_without_bounds_is_refused_before_it_is_built():
    refused(
        rotation,
        ["ana", "bo"],
        datetime.fromisoformat("0001-01-01T00:00"),
        datetime.fromisoformat("9999-12-31T00:00"),
        timedelta(seconds=1),
    )
    refused(rotation, ["ana", "bo"], START, START + timedelta(seconds=100_001), timedelta(seconds=1))


@pytest.mark.parametrize("shifts", [None, 5, "ana", [("ana", START, END)], [None], ["ana"]])
def test_what_is_no_list_of_shifts_is_refused(shifts):
    refused(override, shifts, [])
    refused(override, [], shifts)
    for call in (hours, dump):
        refused(call, shifts)
    refused(on_call, shifts, START)
    refused(gaps, shifts, START, END)


def test_two_people_at_the_same_time_are_refused():
    rota = [Shift("bo", START + timedelta(hours=1), END), Shift("ana", START, END)]
    for call in (hours, dump):
        refused(call, rota)
    refused(on_call, rota, START)
    refused(gaps, rota, START, END)
    refused(override, rota, [])


@pytest.mark.parametrize(
    "line",
    [
        "2026-03-02 2026-03-03 ana",
        "2026-03-02T08:00:00+01:00 2026-03-03T08:00:00+01:00 ana",
        "2026-03-02T08:00:00Z 2026-03-03T08:00:00Z ana",
        "20260302T080000 20260303T080000 ana",
        "2026-W10-1T08:00:00 2026-W10-2T08:00:00 ana",
        "2026-03-02T08 2026-03-03T08 ana",
        "2026-03-02T08:00:00.500 2026-03-03T08:00:00 ana",
        "2026-02-29T08:00:00 2026-03-03T08:00:00 ana",
        "2026-03-02T24:00:00 2026-03-03T08:00:00 ana",
        "2026-03-03T08:00:00 2026-03-02T08:00:00 ana",
        "2026-03-02T08:00:00 2026-03-03T08:00:00 ana extra",
        "2026-03-02T08:00:00\u00a02026-03-03T08:00:00\u00a0ana",
        "2026-03-02T08:00:00 2026-03-03T08:00:00 __import__('os')",
        "x" * 100_000,
    ],
)
def test_a_bad_line_is_refused_by_its_number(line):
    assert refused(load, f"# rota\n\n{line}\n").startswith("line 3: ")


def test_a_text_beyond_the_bound_is_refused():
    refused(load, "#" * 1_000_001)
