"""The report of a comparison and of a run: what it says, that it stands alone, that nothing in it acts (SPEC 6.3)."""

import csv
import functools
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command_line import call
from lab_runs import frame, known, sweep_of
from tracking_runs import play

from looper.console.story import Story
from looper.errors import ConfigError
from looper.folder import Folder
from looper.lab.data import HISTORY
from looper.lab.report import compared, limits, page, run_page, sentence, write
from looper.lab.report import comparison as comparing
from looper.lab.report.comparison import Comparison, column_of
from looper.lab.report.drawings import drawings
from looper.lab.report.pages import as_json, markdown_of
from looper.lab.report.plots import DARK, LIGHT, file_svg
from looper.lab.report.rendering import markdown_text
from looper.lab.report.rivals import command, missing
from looper.lab.report.rounds import inherited
from looper.lab.report.tables import arms
from looper.lab.report.words import chance, conclusions, number, rivals_told

HOSTILE = '<script>alert("x")</script>|`a`*b*[c](http://evil.example)\u202e$&'
JOURNALS = ("test_a_run_as_a_page", "test_curves_come_from_the_journals")
"""Tests on real run folders."""
VOID = {"meta", "link", "br", "hr", "img", "input", "path", "use", "rect"}


class Checked(HTMLParser):
    """Whether tags are closed in order, ids are unique, and what is referred to."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.used: list[str] = []
        self.tags: set[str] = set()
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "src", "xlink:href", "srcset", "data", "action") or name.startswith("on"):
                self.used.append(value or "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def checked(text: str) -> Checked:
    """The page, which is well-formed, stands alone and does nothing."""
    found = Checked()
    found.feed(text)
    found.close()
    assert found.open == []
    assert len(found.ids) == len(set(found.ids))
    assert all(value.startswith("#") and value[1:] in found.ids for value in found.used), found.used
    assert not {"script", "iframe", "object", "embed", "link", "img", "form", "base"} & found.tags
    assert "default-src 'none'" in text
    addresses = set(re.findall(r"https?://[^\s\"'<>)]+", text)) - {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    assert not addresses
    return found


def runs(tasks: int = 8, seeds: int = 2, gain: float = 0.5, holdout: bool = True, **changes: Any) -> pd.DataFrame:
    """Two designs whose scores differ by `gain`, on so many tasks; adaptive costs the double."""
    found = []
    for task in range(tasks):
        for seed in range(seeds):
            base = 0.3 + 0.02 * (task % 5) + 0.01 * seed
            for design, score, outer in (("adaptive", base + gain, 4.0), ("baseline", base, 2.0)):
                wobble = 0.01 * ((task * 7 + seed * 3) % 4) if design == "adaptive" else 0.0
                metrics = {
                    "gate_score": score,
                    "gate_score_on_all_rules": score,
                    "gate_passed": 0.0,
                    "outer_units": outer,
                }
                metrics |= {"holdout_score": score + wobble} if holdout else {}
                found.append(known(design, f"task{task}", seed, metrics=metrics, **changes.get(design, {})))
    return frame(*found)


@pytest.fixture(autouse=True)
def _without_journals(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Frames without folders have a history of one verdict a run."""
    if request.node.name in JOURNALS:
        return

    def told(found: Any) -> Any:
        return found.assign(step=1)[list(HISTORY)]

    monkeypatch.setattr(comparing, "histories_of", told)


@functools.cache
def plain() -> Comparison:
    """The usual one, computed once."""
    return compared(runs())


@functools.cache
def plain_page() -> str:
    return page(plain())


# The comparison


def test_a_planted_difference_is_found_and_told_with_its_cost():
    found = plain()
    assert found.baseline == "baseline"
    (row,) = found.table.to_dict("records")
    assert (row["design"], row["verdict"], row["n"], row["clusters"]) == ("adaptive", "better", 16, 8)
    assert row["difference"] == pytest.approx(0.515, abs=0.01)
    told = conclusions(found)[0]
    assert told.startswith("adaptive is better than baseline: its score is higher by 0.51")
    assert "4.000 against 2.000 outer units, 2.0 times" in told


def test_a_difference_beyond_what_a_score_can_be_is_told_as_none():
    found = plain()
    row = {**found.table.iloc[0].to_dict(), "verdict": "undecided", "minimum_detectable": 1.3}
    assert "No difference that a score can have would have been found with a probability of 80 %." in sentence(
        found, row
    )


def test_runs_without_a_model_show_nothing_of_one():
    told = "nothing is shown of a model in these seats"
    assert any(told in line for line in limits(plain()))
    assert not any(told in line for line in limits(compared(runs().assign(model="openai/x"))))


def test_a_gate_that_was_met_and_a_run_that_completed_are_two_counts():
    own = runs().assign(status="stopped")
    own["passed"] = own["label"] == "adaptive"
    table = arms(compared(own))
    heads = [head for head, _ in table.heads]
    counts = {row[0]: (row[heads.index("gate met")], row[heads.index("completed")]) for row in table.rows}
    assert counts == {"baseline": ("0", "0"), "adaptive": ("16", "0")}


def test_no_difference_is_equivalent_and_a_noisy_one_undecided():
    found = compared(runs(gain=0.0))
    assert sentence(found, found.table.iloc[0].to_dict()).startswith("adaptive and baseline are equivalent within 0.05")
    noisy = runs(gain=0.0)
    lift = (noisy["task"].str[-1].astype(int) % 2 - 0.4) * (noisy["label"] == "adaptive")
    found = compared(noisy.assign(holdout=noisy["holdout"] + lift * 0.5))
    told = conclusions(found)[0]
    assert told.startswith("Undecided: whether adaptive differs from baseline in score was not shown, nor that")
    assert "would have been found with a probability of 80 %" in told
    assert any("Undecided is not equal" in line for line in limits(found))


def test_several_equivalences_say_that_each_stands_for_itself():
    both = runs(gain=0.0)
    again = both[both["label"] == "adaptive"].replace("adaptive", "reflex")
    assert any("2 designs are called equivalent" in line for line in limits(compared(pd.concat([both, again]))))
    assert not any("called equivalent" in line for line in limits(compared(both)))


def test_a_worse_design_is_worse_and_a_cost_is_better_when_lower():
    found = compared(runs(gain=-0.2))
    assert found.table.iloc[0]["verdict"] == "worse"
    varied = runs()
    cheap = varied.assign(outer=varied["outer"] + [0.001 * (place * 7 % 11) for place in range(len(varied))])
    found = compared(cheap, value="cost:outer", baseline="adaptive")
    assert found.table.iloc[0]["verdict"] == "better"
    assert found.margin == pytest.approx(0.05 * cheap.loc[cheap["label"] == "adaptive", "outer"].mean())
    assert "its cost in outer units is lower by" in conclusions(found)[0]
    assert set(found.grid.loc[found.grid["best"], "design"]) == {"baseline"}


def test_few_tasks_give_no_verdict_and_are_said_to_be_few():
    found = compared(runs(tasks=3))
    assert found.table.iloc[0]["verdict"] == "undecided"
    assert limits(found)[0].startswith("3 tasks are too few: no verdict is given below 5")


def test_what_was_not_shown_names_gate_scores_one_seed_and_missing_rivals():
    found = compared(runs(seeds=1, holdout=False))
    told = " ".join(limits(found))
    assert "No task has hidden checks" in told
    assert "one seed" in told
    assert "Trivial rivals were not run: once, retry and best_of" in told
    assert not compared(runs(), rivals=False).missing
    assert "scores of the gate" in " ".join(limits(compared(runs(), value="gate_score")))


def test_the_baseline_is_the_named_one_a_trivial_one_or_the_cheapest():
    assert compared(runs(), baseline="adaptive").baseline == "adaptive"
    other = runs().replace({"baseline": "once"})
    assert compared(other).baseline == "once"
    assert compared(runs().replace({"baseline": "zebra"})).baseline == "zebra"
    with pytest.raises(ConfigError, match=r"baseline=adaptiv: .* did you mean `adaptive`\?"):
        compared(runs(), baseline="adaptiv")


def test_a_single_design_cannot_be_compared():
    with pytest.raises(ConfigError, match="only adaptive can be compared, and it takes two"):
        compared(runs().query("label == 'adaptive'"))


def test_a_value_that_is_none_is_refused_with_a_hint():
    assert column_of("cost:usd") == "usd"
    with pytest.raises(ConfigError, match=r"did you mean `cost:usd`"):
        column_of("usd")
    with pytest.raises(ConfigError, match=r"no such value; there are: score, holdout"):
        column_of("beauty")


def test_chosen_designs_are_compared_alone():
    more = pd.concat([runs(), runs().query("label == 'baseline'").replace({"baseline": "once"})], ignore_index=True)
    assert compared(more).designs == ["baseline", "adaptive", "once"]
    assert compared(more, designs=["baseline", "once"]).designs == ["baseline", "once"]
    with pytest.raises(ConfigError, match="designs=other"):
        compared(more, designs=["other"])


# Rivals


def test_the_command_that_adds_rivals_is_that_of_the_sweep(tmp_path: Path):
    sweep = tmp_path / "out puts" / "sweeps" / "first"
    sweep_of(sweep, ("budget.outer=8", "loop=adaptive,baseline", "seed=0,1", "task=repair/pay_slip,dial"))
    own = frame(
        *(known(design, where=str(sweep / design), tags={"sweep": "first"}) for design in ("adaptive", "baseline"))
    )
    told = command(own, missing(own))
    assert told.startswith("python -m looper -m budget.outer=8 seed=0,1 +task=repair/pay_slip,dial budget.inner=20")
    assert told.count("budget.outer=") == 1
    assert "confirm" not in told
    assert told.endswith(f" loop=once,retry,best_of sweep=first 'outputs={tmp_path}/out puts'")


@pytest.mark.parametrize(
    ("outer", "confirm", "typed", "words"),
    [
        ("gather", "null", "seed=0", ["confirm=yes", "outer.escalation=stop"]),
        ("gather", "null", "outer.escalation=accept", ["outer.escalation=accept", "confirm=yes"]),
        ("none", "yes", "seed=0", ["confirm=yes"]),
        ("none", "null", "seed=0", []),
    ],
)
def test_the_command_that_adds_rivals_asks_nobody(
    tmp_path: Path, outer: str, confirm: str, typed: str, words: list[str]
):
    sweep = tmp_path / "sweeps" / "first"
    sweep_of(sweep, (typed, "loop=adaptive", "task=dial", "budget=small,large"))
    tags = {"sweep": "first", "outer": outer}
    own = frame(known(where=str(sweep / "adaptive"), tags=tags, settings={"confirm": confirm}))
    told = command(own, ("once",)).split()
    assert [word for word in told if word.startswith(("confirm", "outer."))] == words
    assert not [word for word in told if word.startswith("budget.")]


def test_without_a_sweep_the_command_is_composed_from_the_runs():
    told = command(runs(tasks=1).replace({"task0": "pay_slip"}), ("once",))
    assert told.startswith(
        "python -m looper -m +task=repair/pay_slip loop=once seed=0,1 budget.inner=20 budget.outer=6"
    )
    assert "+task=dial " in command(frame(known(), known("baseline")), ("once",))


def test_a_cascade_is_asked_for_where_there_are_models():
    modelled = runs().assign(model="openai/x")
    assert missing(modelled) == ("once", "retry", "best_of", "cascade")
    assert "agents.cheap.model=PROVIDER/NAME" in command(modelled, ("cascade",))
    assert "model=openai/x" in command(modelled, ("once",))


# Pages


def hostile() -> Comparison:
    """A comparison in which every text that a run can bring is hostile."""
    own = runs(tasks=6)
    own = own.assign(task=own["task"] + HOSTILE, reason=HOSTILE, model=HOSTILE, fillers=HOSTILE + " 1", origin=HOSTILE)
    own.loc[own.index[0], ["status", "finished"]] = ["paused", False]
    own.loc[own["label"] == "adaptive", "label"] = "adaptive, prompt=" + HOSTILE
    own.loc[own.index[1], ["trouble", "run"]] = [HOSTILE, HOSTILE]
    return compared(own)


def test_the_page_is_well_formed_stands_alone_and_says_what_is_to_be_said():
    told = checked(plain_page())
    text = " ".join(told.text)
    for part in (
        "Verdict", "What was not shown", "What was compared", "Differences from baseline", "Task by task",
        "Score over spending", "Cost against score", "Gate against hidden checks", "Refused runs",
        "How it was computed",
    ):  # fmt: skip
        assert part in text
    assert text.count("adaptive is better than baseline") == 1
    assert text.count("Spending after the first correct state is not known") == 1


def test_texts_of_runs_do_nothing_on_the_page():
    text = page(hostile())
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "\u202e" not in text
    checked(re.sub(r"http://evil[.\w]*", "", text))  # as words, also broken by the end of a line


def test_texts_of_runs_do_nothing_in_markdown():
    text = markdown_of(hostile())
    shown = [line for line in text.splitlines() if not line.startswith("    ")]  # the others are code
    assert not [line for line in shown if "<script" in line.replace("\\<script", "")]
    assert not [line for line in shown if "[c](" in line]
    assert "\u202e" not in text
    assert markdown_text("a|b\n# c") == "a\\|b \\# c"


def test_every_plot_has_words_and_takes_the_colours_of_the_page():
    for name, svg in drawings(plain()).items():
        assert re.match(r'<svg viewBox="[^"]+" role="img" aria-label="[^"]{20,}"', svg), name
        assert "<title>" in svg
        assert not re.findall(r"(?:fill|stroke): ?#(?!ffffff)[0-9a-f]{6}", svg), name
        assert "var(--s0)" in svg or name == "forest"
        assert "var(--" not in file_svg(svg)


def test_the_same_comparison_gives_the_same_bytes():
    assert page(compared(runs())) == plain_page()


@pytest.mark.parametrize(("colours", "paper"), [(LIGHT, "#ffffff"), (DARK, "#15171a")])
def test_the_colours_of_series_stand_out(colours: tuple[str, ...], paper: str):
    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for colour in colours:
        high, low = sorted((luminance(colour), luminance(paper)), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 3.0, colour


def test_a_simulation_is_labelled_wherever_the_design_stands():
    played = {"adaptive": {"tags": {"fillers": "simulated 4"}}}
    text = " ".join(checked(page(compared(runs(**played)))).text)
    assert "Label: simulation: adaptive [simulation]" in text
    assert text.count("adaptive [simulation]") >= 6
    assert "Label:" not in plain_page()


def test_what_was_refused_stands_there_with_its_reason():
    own = runs()
    own.loc[own.index[0], ["status", "finished"]] = ["paused", False]
    found = compared(own)
    text = page(found)
    assert "looper resume" in text
    assert f"All {len(found.refused)} refused runs" in text


def test_published_points_are_shown_for_their_own_benchmark_alone():
    assert "published" not in drawings(plain())
    own = runs()
    human = own.assign(
        settings=[{**one, "task._target_": "looper.tasks.code.humaneval.HumanEval"} for one in own["settings"]],
        usd=0.01,
    )
    found = compared(human)
    assert "published" in drawings(found)
    text = page(found)
    assert "published elsewhere, with other models" in text
    assert "Escalation" in text


def test_everything_is_written_beside_the_page(tmp_path: Path):
    found = plain()
    files = write(found, tmp_path / "report")
    names = {str(file.relative_to(tmp_path / "report")) for file in files}
    assert {
        "report.html",
        "report.md",
        "differences.csv",
        "pairs.csv",
        "runs.csv",
        "refused.csv",
        "plots/forest.svg",
    } <= names
    with (tmp_path / "report" / "runs.csv").open() as file:
        assert "where" not in next(csv.reader(file))
    with (tmp_path / "report" / "differences.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert (row["design"], row["verdict"]) == ("adaptive", "better")
    text = (tmp_path / "report" / "report.md").read_text()
    for link in re.findall(r"\]\((plots/[^)]+)\)", text):
        assert (tmp_path / "report" / link).is_file()
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        write(found, tmp_path / "file" / "below")


def test_json_has_no_nan_and_keeps_its_keys():
    text = as_json(compared(runs(holdout=False)), Path("r.html"))
    assert "NaN" not in text
    assert "Infinity" not in text
    assert re.findall(r'^  "(\w+)":', text, re.MULTILINE) == [
        "baseline", "value", "margin", "runs", "tasks", "seeds", "synthetic", "designs", "roles", "conclusions",
        "limits",
        "notes", "refused", "missing_rivals", "add_rivals", "report",
    ]  # fmt: skip


def test_numbers_are_for_people():
    assert (number(None), number(float("nan")), number(0.12345), number(12345.6)) == ("-", "-", "0.123", "12,346")
    assert [number(usd, unit="USD") for usd in (0.0032691, 0.123456, 1.23456)] == ["0.00327", "0.123", "1.235"]
    assert number(0.0032691) == "0.003"
    assert (chance(0.0004), chance(0.0123)) == ("p < 0.001", "p = 0.012")
    assert rivals_told(compared(runs(), rivals=False)) == ""


# One run


def test_a_run_as_a_page(tmp_path: Path):
    folder = play(tmp_path, "one")
    text = run_page(Story.of(Folder(folder)))
    told = " ".join(checked(text).text)
    for part in (
        "adaptive on dial",
        "completed (stable)",
        "a.correctness.band",
        "passed",
        "planner",
        "policy",
        "Score over spending",
    ):
        assert part in told
    assert text.count("<svg") == 2


def test_a_page_tells_the_course_of_an_outer_loop(tmp_path: Path):
    run = (
        "+task=sim",
        "outer=gather_verify",
        "loop=reflex",
        "model=simulated",
        "confirm=yes",
        "tracking=none",
        "seed=3",
    )
    call(*run, "seed=3", "task.judged=1", f"outputs={tmp_path}")
    (file,) = tmp_path.glob("*/history.jsonl")
    story = Story.of(Folder(file.parent))
    verdicts = story.state["outer_loop"]["verdicts"]
    text = run_page(story)
    told = " ".join(checked(text).text)
    assert "The loop around the design" in told
    assert len(verdicts) == story.state["outer_loop"]["path"].count("VERIFY") > 0
    for found in verdicts:
        assert found["why"] in told
        assert all(gap["problem"] in told for gap in found["gaps"])


def test_a_page_without_an_outer_loop_or_parent_has_neither_part(tmp_path: Path):
    text = run_page(Story.of(Folder(play(tmp_path, "one"))))
    assert 'id="outer"' not in text
    assert 'id="fork"' not in text


def test_a_fork_says_what_is_its_parents(tmp_path: Path):
    story = Story.of(Folder(play(tmp_path, "one")))
    shared = {"outer": 2.0, "inner": 0.5, "tokens": 120.0, "calls": 1.0, "usd": 0.25}
    story.state["setup"]["forked"] = {"parent": "the-parent", "at": "iteration.2", "steps": 7, "inherited": shared}
    table = inherited(story)
    assert table is not None
    assert "the-parent at iteration.2: 7 steps" in table.caption
    assert list(table.rows[0]) == ["shared with the parent", "2.000", "0.500", "0.250", "120", "1"]
    own, whole = (dict(zip([head for head, _ in table.heads], row, strict=True)) for row in table.rows[1:])
    assert float(own["outer"]) == float(whole["outer"]) - 2.0
    assert "Where it comes from" in " ".join(checked(run_page(story)).text)


def test_curves_come_from_the_journals(tmp_path: Path):
    for design in ("adaptive", "baseline"):
        for seed in (0, 1):
            play(tmp_path, f"sweeps/many/{design}-{seed}", design=design, seed=seed)
    found = compared(tmp_path / "sweeps" / "many")
    inner = found.curves["inner"]
    assert set(inner["design"]) == {"adaptive", "baseline"}
    assert inner.groupby("design")["mean"].last().tolist() == [1.0, 1.0]
    assert inner.groupby("design")["mean"].first().tolist() == [0.0, 0.0]
    checked(page(found))
