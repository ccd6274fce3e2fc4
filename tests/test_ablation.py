"""One role left out, shuffled, or played with the truth: what is said, paid, shown, resumed, and what it is worth."""

import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_line import call
from lab_runs import known
from pandas import DataFrame
from players import Killed
from reflex_players import Page
from reflex_players import settings as page_settings
from replayed_runs import again, config_of, go_on, settings
from written_runs import Words

from looper.agents.ablated import Ablation
from looper.agents.prompt import Templates
from looper.agents.shuffling import shuffled, words
from looper.agents.simulated import Simulated
from looper.console import announcement, who
from looper.console.summary import design_of
from looper.criteria import Finding
from looper.errors import ConfigError
from looper.folder import Folder
from looper.journal import Event, load_payload, read
from looper.lab.ablation import worth, worthwhile
from looper.lab.data import runs_of
from looper.lab.data.folders import known_in
from looper.lab.data.frame import frame_of
from looper.launch import Audience, launch
from looper.loops.ablation import NoCritique, nothing
from looper.loops.reflex import Reflex
from looper.loops.workflow import Workflow, answers
from looper.loops.workflow.answers import AddedTest, Diagnosis, Group, Planned, Review, TaskPlan
from looper.parts import build
from looper.tasks.contracts import Critique, Issue, Steps
from looper.tasks.document.states import Artifact, Prepared
from looper.types import Outcome, Question, Reply

SIM = {
    "_target_": "looper.tasks.sim.task.Sim", "instance": 3, "judged": 0,
    "truth": {"_target_": "looper.tasks.sim.truth.Planted", "satisfy": 0.0, "repair": 0.5, "unnamed": 0.1},
}  # fmt: skip
"""Hard enough that every role has something to do."""
ROLES = {
    "reflex": {"planner": ["plan"], "critic": ["critique"]},
    "workflow": {
        "planner": ["tasks"], "tester": ["test"], "supervisor": ["review_plan", "diagnose", "verify"],
        "supervisor.diagnose": ["diagnose"],
    },
}  # fmt: skip
CASES = [(design, role, how) for design, roles in ROLES.items() for role in roles for how in ("", "shuffled", "oracle")]
MODEL = {"name": "simulated", "skill": 1.0, "tokens": 400, "tokens_in": 1000, "price": {"input": 1.0, "output": 2.0}}
PRICED = ("plan", "critique", "tasks", "test", "review_plan", "diagnose", "verify", "act", "produce", "code")


def config(outputs: Path, design: str, ablate: str | None = None, **more: Any) -> dict[str, Any]:
    outer = {"_target_": "looper.budget.Price", "outer": 2.0}
    budget = {"outer": 300.0, "inner": None, "prices": dict.fromkeys(PRICED, outer)}
    return settings(outputs, design, task=SIM, model=MODEL, budget=budget, **more) | {"ablate": ablate}


def run(path: Path, design: str, ablate: str | None = None, **more: Any) -> Outcome:
    return go_on(path, config(path.parent, design, ablate, **more))


def steps(path: Path, *names: str) -> list[Event]:
    events = read(path / "history.jsonl").events
    return [event for event in events if event.step in names and event.key and event.event != "call_done"
            and event.event != "call_started" and event.status == "ok"]  # fmt: skip


def spied(monkeypatch: pytest.MonkeyPatch) -> list[Question]:
    """Every question that a simulated role is asked from now on."""
    asked: list[Question] = []
    answer = Simulated.answer

    def spy(self: Simulated, question: Question, design: Any = None) -> Reply:
        asked.append(question)
        return answer(self, question, design)

    monkeypatch.setattr(Simulated, "answer", spy)
    return asked


def text_of(ablate: tuple[str, str]) -> str:
    return f"{ablate[0]}:{ablate[1]}" if ablate[1] else ablate[0]


# Every role in every way


@pytest.mark.parametrize(("design", "role", "how"), CASES)
def test_a_role_is_ablated_and_paid_accordingly(design: str, role: str, how: str, tmp_path: Path) -> None:
    outcome = run(tmp_path / "run", design, text_of((role, how)))
    assert outcome.status in ("completed", "stopped", "failed")
    assert outcome.reason != "phase_error"
    own = steps(tmp_path / "run", *ROLES[design][role])
    assert own
    assert {event.by for event in own} == {"simulated" if how else "left out"}
    for event in own:
        assert (event.cost.get("outer", 0), bool(event.calls), event.cost.get("usd", 0) > 0) == (
            (2.0, True, True) if how else (0, False, False)
        )
    others = [event for event in steps(tmp_path / "run", *PRICED) if event.step not in ROLES[design][role]]
    assert {(event.by, event.cost["outer"]) for event in others} == {("simulated", 2.0)}


@pytest.mark.parametrize(("design", "role", "how"), CASES)
def test_a_replay_finds_nothing_different(design: str, role: str, how: str, tmp_path: Path) -> None:
    run(tmp_path / "run", design, text_of((role, how)))
    found = again(tmp_path / "run")
    assert found.identical, found.difference


@pytest.mark.parametrize(("design", "ablate"), [("reflex", "critic:shuffled"), ("workflow", "tester:shuffled")])
def test_a_shuffled_policy_is_replayed_as_it_was(design: str, ablate: str, tmp_path: Path) -> None:
    go_on(tmp_path / "run", config(tmp_path, design, ablate) | {"model": {"name": "offline"}})
    step = ROLES[design][ablate.partition(":")[0]]
    assert {event.by for event in steps(tmp_path / "run", *step)} == {"policy (shuffled)"}
    found = again(tmp_path / "run")
    assert found.identical, found.difference


def test_a_left_out_role_needs_nobody(tmp_path: Path) -> None:
    nobody = {"agents": {"critic": {"model": "recording", "path": "nowhere"}}}
    with pytest.raises(ConfigError, match="no recording"):
        go_on(tmp_path / "whole", config(tmp_path, "reflex") | nobody)
    assert go_on(tmp_path / "run", config(tmp_path, "reflex", "critic") | nobody).status in ("completed", "stopped")


def test_a_critic_of_full_sight_and_an_oracle_say_the_same(tmp_path: Path) -> None:
    seeing = SIM | {"truth": SIM["truth"] | {"miss": 0.0}}
    ends = [
        go_on(tmp_path / str(how), config(tmp_path, "reflex", how) | {"task": seeing})
        for how in (None, "critic:oracle", "critic")
    ]
    assert ends[0].artifact == ends[1].artifact != ends[2].artifact


def test_an_oracle_knows_what_the_critic_overlooks(tmp_path: Path) -> None:
    blind = SIM | {"truth": SIM["truth"] | {"miss": 1.0}}
    issues = {}
    for how in (None, "critic:oracle"):
        path = tmp_path / str(how)
        go_on(path, config(tmp_path, "reflex", how) | {"task": blind})
        issues[how] = [len(load_payload(path, event)["issues"]) for event in steps(path, "critique")]
    assert set(issues[None]) == {1}
    assert issues["critic:oracle"][0] > 1


def test_a_preparer_left_out_leaves_its_rules_to_a_judge(tmp_path: Path) -> None:
    page = {"texts": ["hello Ann bye"], "rows": {"a.style.name": ["warn", ""], "a.style.hello": ["fail", "hello"]}}
    told = page | {"words": [{"a.style.name": "Ann"}], "thresholds": {"A": 0.6}}
    given = page_settings(tmp_path, told, ablate="preparer")
    launch(build(given, ["reflex_players"]), tmp_path / "run", sync=False)
    given_up = steps(tmp_path / "run", "prepare_checks")
    assert [(event.by, event.payload) for event in given_up] == [("left out", {"words": {}})] * 2
    (replaced,) = [e for e in read(tmp_path / "run/history.jsonl").events if e.event == "checks_replaced"]
    assert replaced.payload["rules"] == ["a.style.name"]


# What is in the prompts


CONF = Path(__file__).parents[1] / "conf"


def asked_of(monkeypatch: pytest.MonkeyPatch, path: Path, design: str, role: str, ablate: str | None) -> list[Question]:
    """The questions to a role in a run."""
    asked = spied(monkeypatch)
    run(path, design, ablate)
    return [one for one in asked if one.role == role]


def change_prompt(**context: Any) -> str:
    """What a refiner of documents would read."""
    own = yaml.safe_load((CONF / "task/document/_base.yaml").read_text())["prompts"]
    state = Artifact(text="a text", phase="A", findings={"a.x.y": Finding(passed=False, note="too short")})
    known = {"prompt": "write", "sources": {}, "rules": "", "history": [], **context, "state": state}
    question = Question(role="refiner", step="act", key="k", context=known, returns=Steps)
    return Templates(prompts={"act": own["act"]}).messages(question)[-1]["content"]


def test_the_refiners_prompt_has_the_destroyed_critique_and_not_the_critics_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    questions = asked_of(monkeypatch, tmp_path / "run", "reflex", "refiner", "critic:shuffled")
    records = steps(tmp_path / "run", "critique")
    assert len(questions) == len(records) > 1
    kept, named = 0, 0
    for question, record in zip(questions, records, strict=True):
        own, shown = Critique.model_validate_json(record.said), question.context["critique"]
        prompt = change_prompt(critique=shown)
        assert len(own.issues) == len(shown.issues)
        for issue in own.issues:
            assert issue.problem not in prompt
            assert issue.fix not in prompt
        for issue in shown.issues:
            assert f"- {issue.rule}: " in prompt
            assert f"{issue.problem} Fix: {issue.fix}" in prompt
            assert len(issue.problem) == len(own.issues[0].problem)
        named += len(own.issues)
        kept += len({issue.rule for issue in own.issues} & {issue.rule for issue in shown.issues})
    assert kept < named  # which rules failed is destroyed too


def test_the_refiners_prompt_has_the_findings_when_the_critic_is_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    questions = asked_of(monkeypatch, tmp_path / "run", "reflex", "refiner", "critic")
    assert questions
    for question in questions:
        assert question.context["critique"] is None
        prompt = change_prompt(critique=question.context["critique"])
        assert "What has to change" not in prompt
        assert "too short" in prompt.partition("What the checks say")[2]


def test_the_producers_prompt_has_the_plan_shuffled_true_or_empty(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told = {}
    for ablate in (None, "planner", "planner:shuffled", "planner:oracle"):
        (question,) = asked_of(monkeypatch, tmp_path / f"{ablate}", "reflex", "producer", ablate)
        told[ablate] = Templates(prompt="{{ plan.steps | join('; ') }}").messages(question)[-1]["content"]
    whole = told[None]
    assert "meet every rule (simulated)" in whole
    assert "do what is wanted" in told["planner"]
    assert "meet every rule (simulated)" not in told["planner:shuffled"]
    assert all(word in told["planner:shuffled"] for word in ("meet", "every", "rule", "(simulated)"))
    assert "rule 1; rule 2; rule 3; rule 4; rule 5" in told["planner:oracle"]


def test_the_coders_prompt_has_the_testers_words_shuffled_or_not_at_all(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def heard(name: str, ablate: str | None) -> list[str]:
        asked = asked_of(monkeypatch, tmp_path / name, "workflow", "coder", ablate)
        return [problem for one in asked for cycle in one.context["cycles"] for problem in cycle["problems"]]

    assert heard("whole", None)
    assert not heard("without", "tester")
    shown = heard("mixed", "tester:shuffled")
    said = [problem for event in steps(tmp_path / "mixed", "test")
            for problem in answers.Tested.model_validate_json(event.said).problems]  # fmt: skip
    assert said
    assert shown
    assert not set(said) & set(shown)


def test_a_left_out_supervisor_leaves_a_failed_task_to_its_bounds(tmp_path: Path) -> None:
    hopeless = SIM | {
        "truth": {"_target_": "looper.tasks.sim.truth.Planted", "satisfy": 0.0, "repair": 0.0, "unnamed": 0.0}
    }
    path = tmp_path / "run"
    outcome = go_on(path, config(tmp_path, "workflow", "supervisor.diagnose") | {"task": hopeless})
    rulings = [e.payload for e in read(path / "history.jsonl").events if e.event == "diagnosed"]
    assert (outcome.status, outcome.reason) == ("failed", "impossible")
    assert {ruling["said"] for ruling in rulings} == {"RETRY"}
    assert {"RETRY", "REPLAN", "PIVOT", "IMPOSSIBLE"} <= {ruling["verdict"] for ruling in rulings}


# Shuffling


def issues(*rows: tuple[str, str, str]) -> Critique:
    return Critique(issues=[Issue(rule=rule, problem=problem, fix=fix) for rule, problem, fix in rows])


def test_texts_change_places_and_their_words_too_and_rules_are_exchanged() -> None:
    before = issues(("a.x.one", "the first part lacks words", "write a.x.one with care"),
                    ("a.x.two", "nobody greets the many readers", "greet them as a.x.two says"))  # fmt: skip
    names = ["a.x.one", "a.x.two", "a.x.three"]
    seen = set()
    for seed in range(60):
        after = shuffled(before, random.Random(seed), names)
        assert isinstance(after, Critique)
        texts = [{"".join(sorted(i.problem)) for i in one.issues} for one in (before, after)]
        assert texts[0] == texts[1]
        assert not {i.problem for i in before.issues} & {i.problem for i in after.issues}
        assert shuffled(before, random.Random(seed), names) == after
        seen |= {tuple(sorted(i.rule for i in after.issues))}
    assert len(seen) == 3  # any two of three rules: what failed cannot be told


def test_words_of_one_text_change_places_and_layout_stays() -> None:
    text = "one  two\n\nthree four"
    for seed in range(20):
        after = words(text, random.Random(seed))
        assert after != text
        assert sorted(after.split()) == sorted(text.split())
        assert [c for c in after if c.isspace()] == [c for c in text if c.isspace()]
    assert words("alone", random.Random(0)) == "alone"
    assert words("so so", random.Random(0)) == "so so"


def test_steps_of_a_plan_and_what_a_plan_says_of_itself_are_destroyed() -> None:
    from looper.tasks.sim.states import Plan

    plan = Plan(steps=["meet every rule first", "read it all again"], useful=True)
    found = [shuffled(plan, random.Random(seed)) for seed in range(40)]
    assert all(isinstance(one, Plan) and not set(one.steps) & set(plan.steps) for one in found)
    assert {one.useful for one in found if isinstance(one, Plan)} == {True, False}


def test_checks_that_were_prepared_change_rules_and_stay_checks() -> None:
    rows = [{"rule": rule, "check": {"kind": "pattern", "pattern": f"{rule[-1]}+ \\w", "ignore_case": True}}
            for rule in ("a.x.p", "a.x.q", "a.x.r")]  # fmt: skip
    before = Prepared.model_validate({"checks": rows})
    found = [shuffled(before, random.Random(seed), ["a.x.p", "a.x.q", "a.x.r"], texts=False) for seed in range(30)]
    assert all(isinstance(one, Prepared) for one in found)
    told = {tuple(check.rule for check in one.checks) for one in found if isinstance(one, Prepared)}
    assert len(told) == 6
    assert all([c.check for c in one.checks] == [c.check for c in before.checks] for one in found
               if isinstance(one, Prepared))  # fmt: skip
    mixed = shuffled(Words(words={"a.x.p": "hello", "a.x.q": "bye"}), random.Random(1), ["a.x.p", "a.x.q"], texts=False)
    assert isinstance(mixed, Words)
    assert set(mixed.words.values()) == {"hello", "bye"}


def test_a_task_plan_keeps_its_shape_and_loses_what_it_says() -> None:
    tasks = [
        Planned(key=key, title=f"mend the {key} part now", criteria=[f"the {key} is well"], checks=[f"t/{key}"],
                after=["a"] if key == "b" else [])
        for key in "abc"
    ]  # fmt: skip
    names = [f"t/{key}" for key in "abc"]
    found = [shuffled(TaskPlan(tasks=tasks), random.Random(seed), names, Workflow.redrawn) for seed in range(30)]
    assert all(isinstance(one, TaskPlan) for one in found)
    plans = [one for one in found if isinstance(one, TaskPlan)]
    assert all([(t.key, t.after) for t in one.tasks] == [(t.key, t.after) for t in tasks] for one in plans)
    assert len({tuple(t.checks[0] for t in one.tasks) for one in plans}) == 6
    assert not {t.title for one in plans for t in one.tasks} & {t.title for t in tasks}


def test_scores_verdicts_and_reports_are_thrown_anew() -> None:
    def thrown(answer: Any) -> list[Any]:
        return [shuffled(answer, random.Random(seed), (), Workflow.redrawn) for seed in range(60)]

    assert len({one.score for one in thrown(Review(score=90, issues=["this is wrong"]))}) > 20
    assert {one.verdict for one in thrown(Diagnosis(verdict="CLARIFY", reason="ask them", question="which one"))} == {
        "RETRY", "REPLAN", "PIVOT", "IMPOSSIBLE",
    }  # fmt: skip
    report = answers.Tested(
        status="passed", passed=3, failed=0, add=[AddedTest(name="test_a.py", text="def test_a(): pass")]
    )
    assert {one.status for one in thrown(report)} == {"passed", "failed"}
    assert {(one.passed, one.failed, len(one.add)) for one in thrown(report)} == {(3, 0, 0)}


# Neutral answers


def test_neutral_answers_are_valid_and_say_nothing() -> None:
    design = Reflex()

    def asked(returns: Any, **context: Any) -> Question:
        return Question(role="r", step="s", key="k", context=context, returns=returns)

    assert design.without("plan")(asked(Steps)) == Steps(steps=["do what is wanted"])
    assert design.without("critique")(asked(NoCritique)) == NoCritique()
    assert nothing(Prepared) == Prepared(checks=[])
    flow = Workflow()
    groups = [Group(name="g", checks=["t/b", "t/a"]), Group(name="h", checks=["t/c"])]
    plan = flow.without("tasks")(asked(TaskPlan, groups=groups, fewest=3))
    assert isinstance(plan, TaskPlan)
    assert [(t.checks, t.after) for t in plan.tasks] == [
        (["t/a", "t/b", "t/c"], ["whole-1", "whole-2"][:number]) for number in range(3)
    ]
    told = {"checks": {"t/a": "no"}, "regressions": [], "passed": 1, "total": 3}
    assert flow.without("test")(asked(answers.Tested, **told)) == answers.Tested(status="failed", passed=1, failed=2)
    assert flow.without("test")(asked(answers.Tested, **told | {"checks": {}})) == answers.Tested(
        status="passed", passed=1, failed=2
    )


# Killed and resumed


@pytest.mark.parametrize(
    ("design", "ablate"),
    [("reflex", "critic"), ("reflex", "critic:shuffled"), ("reflex", "planner:oracle"), ("workflow", "tester:shuffled"),
     ("workflow", "supervisor"), ("workflow", "planner:shuffled")],
)  # fmt: skip
def test_a_killed_run_goes_on_ablated_and_comes_to_the_same_end(design: str, ablate: str, tmp_path: Path) -> None:
    whole = tmp_path / "whole" / "run"
    run(whole, design, ablate)
    story = told(whole)
    for at in (3, len(story) // 2, len(story) - 2):
        path = tmp_path / f"killed{at}" / "run"
        with pytest.raises(Killed):
            launch(
                build(config(path.parent, design, ablate), []),
                path,
                audience=Audience(listeners=[dying(at)]),
                sync=False,
            )
        launch(build(config_of(path)), path, sync=False)
        assert told(path) == story


def dying(at: int) -> Callable[[Event], None]:
    left = [at]

    def dies(event: Event) -> None:
        if event.key and event.event not in ("call_started", "call_done"):
            left[0] -= 1
            if not left[0]:
                raise Killed

    return dies


def told(path: Path) -> list[Any]:
    """Every step with its value, in the order of keys; effects side by side end in any order."""
    events = [event for event in read(path / "history.jsonl").events
              if event.key and event.event not in ("call_started", "call_done")]  # fmt: skip
    return sorted((event.key, event.by, json.dumps(event.payload, sort_keys=True)) for event in events)


# Wrong values


@pytest.mark.parametrize(
    ("design", "ablate", "match"),
    [
        ("reflex", "critc", "no such role; did you mean `critic`.*planner, preparer, critic"),
        ("reflex", "refiner", "cannot do without refiner: without it nothing changes.*planner, preparer, critic"),
        ("reflex", "producer:oracle", "cannot do without producer"),
        ("reflex", "judge", "judge belongs to the task and has a part in its gate"),
        ("reflex", "critic:oracl", "did you mean `critic:oracle`"),
        ("reflex", "critic:mixed", "give ROLE .left out., ROLE:shuffled or ROLE:oracle"),
        ("reflex", "Critic!", "give ROLE"),
        ("reflex", "critic.plan", "critic is never asked `plan`; it is asked: critique"),
        ("reflex", "preparer:oracle", "nobody knows the truth"),
        ("workflow", "coder", "cannot do without coder"),
        ("workflow", "critic", "no such role.*supervisor.diagnose"),
        ("baseline", "critic", "none of its roles can be ablated"),
    ],
)
def test_what_cannot_be_ablated_is_refused_in_one_sentence(
    design: str, ablate: str, match: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=match) as refused:
        build(config(tmp_path, design, ablate))
    assert str(refused.value).startswith("ablate=")
    assert "\n" not in str(refused.value)


def test_a_role_of_the_outer_loop_is_refused_and_one_of_the_inner_is_ablated(tmp_path: Path) -> None:
    outer = {"outer": {"_target_": "looper.loops.gather_verify.GatherVerify", "learn": False, "recall": 0}}
    with pytest.raises(ConfigError, match=r"gather_verify\(reflex\) cannot do without researcher\. What can be"):
        build(config(tmp_path, "reflex", "researcher", **outer))
    path = tmp_path / "run"
    run(path, "reflex", "critic", **outer)
    assert {event.by for event in steps(path, "critique")} == {"left out"}
    assert known_in(path).tags["outer"] == "gather_verify"


def test_a_task_that_nobody_writes_has_no_role_that_reflex_can_do_without(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="none of its roles can be ablated on this task"):
        build(settings(tmp_path, "reflex") | {"ablate": "critic"})


def test_the_setting_of_the_role_alone_is_refused(tmp_path: Path) -> None:
    for ablate in (None, "planner"):
        with pytest.raises(ConfigError, match=r"agents\.critic\.ablate: give ablate=ROLE"):
            build(config(tmp_path, "reflex", ablate, agents={"critic": {"ablate": "critic:shuffled"}}))


def test_the_command_refuses_with_exit_code_2(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    said = call("+task=sim", "loop=reflex", "ablate=refiner", "tracking.enabled=false")
    assert said.code == 2
    assert said.complaint.startswith("looper: ablate=refiner: reflex cannot do without refiner")


# Identity and labels


def test_the_ablation_is_part_of_the_identity_and_nothing_else_changes_it(tmp_path: Path) -> None:
    plain = config(tmp_path, "reflex")
    without = {key: value for key, value in plain.items() if key != "ablate"}
    texts = ("critic", "critic:shuffled", "critic:oracle", "planner")
    assert build(plain).identity == build(without).identity
    assert len({build(plain | {"ablate": text}).identity for text in (None, *texts)}) == 5
    built = build(plain | {"ablate": "critic"})
    assert build(built.config).identity == built.identity  # as a resume builds it


def test_a_run_says_everywhere_what_was_ablated(tmp_path: Path) -> None:
    lines: list[str] = []

    def announce(parts: Any, folder: Folder, resumed: bool) -> None:
        lines.extend(announcement(parts, folder, resumed))

    path = tmp_path / "run"
    launch(build(config(tmp_path, "reflex", "critic")), path, audience=Audience(announce=announce), sync=False)
    assert "  critic: left out: it is not asked (ablate=critic)" in lines
    state = json.loads((path / "run.json").read_text())
    assert state["setup"]["ablate"] == "critic"
    assert design_of(state) == "reflex, ablate=critic"
    assert config_of(path)["ablate"] == "critic"
    assert known_in(path).tags["ablate"] == "critic"
    assert known_in(path).settings["ablate"] == "critic"


@pytest.mark.parametrize(
    ("ablate", "told"),
    [
        ("critic:shuffled", "simulated (a simulation, skill 1.0); its answers are shuffled (ablate=critic:shuffled)"),
        ("critic:oracle", "an oracle: played with the truth, a simulation (ablate=critic:oracle)"),
        (None, "simulated (a simulation, skill 1.0)"),
    ],
)
def test_who_fills_a_role_is_said_with_what_is_done_to_it(ablate: str | None, told: str, tmp_path: Path) -> None:
    parts = build(config(tmp_path, "reflex", ablate))
    assert who(parts.config, "critic", parts) == told


def test_a_run_that_was_not_ablated_is_what_it_was(tmp_path: Path) -> None:
    run(tmp_path / "run", "reflex")
    assert "ablate" not in config_of(tmp_path / "run")
    assert '"ablate"' not in (tmp_path / "run/history.jsonl").read_text()
    assert "ablate" not in known_in(tmp_path / "run").tags


def test_arms_of_a_comparison_are_named_by_what_was_ablated() -> None:
    runs = frame_of([roles(text, seed) for text in (None, "critic", "critic:shuffled") for seed in (0, 1)])
    assert sorted(set(runs["label"])) == ["reflex", "reflex, ablate=critic", "reflex, ablate=critic:shuffled"]


def test_a_sweep_over_ablations_is_compared_with_a_table_of_roles(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    swept = ("ablate=null,critic,critic:shuffled", "task.instance=1,2")
    said = call("-m", "+task=sim", "loop=reflex", "confirm=yes", "tracking.enabled=false", "sweep=s", *swept)
    assert said.code == 0, said.err
    drawn = {"forest": '<svg xmlns="http://www.w3.org/2000/svg"></svg>'}  # plots take seconds and say nothing of roles
    monkeypatch.setattr("looper.lab.report.pages.drawings", lambda shown: drawn)
    compared = call("compare", "s", "--no-rivals", "baseline=reflex", "report=page")
    assert compared.code == 0, compared.err
    rows = [line.split()[:3] for line in compared.out.splitlines() if line.startswith("reflex  critic ")]
    assert rows == [["reflex", "critic", "left"], ["reflex", "critic", "shuffled"]]
    assert "reflex, ablate=critic:shuffled [simulation]" in compared.out
    for name in ("report.html", "report.md"):
        assert "What each role is worth" in (tmp_path / "page" / name).read_text()
    assert (tmp_path / "page/roles.csv").read_text().count("\n") == 3


# What a role is worth


def roles(ablate: str | None, seed: int, task: str = "t", score: float = 1.0, outer: float = 4.0, **more: Any) -> Any:
    setting = {"ablate": ablate, "agents.critic.ablate": ablate} if ablate else {}
    metrics = {"gate_score": score, "gate_score_on_all_rules": score, "outer_units": outer, **more.pop("metrics", {})}
    name = f"{task}-{ablate}-{seed}-{more.get('settings')}"
    return known("reflex", task, seed, name=name, metrics=metrics, settings=setting | more.pop("settings", {}), **more)


def frame(arms: dict[str | None, tuple[float, float]], tasks: int = 8) -> DataFrame:
    """Runs on eight tasks with two seeds: mean score and cost by ablation, with some spread over tasks."""
    return frame_of(
        [
            roles(text, seed, f"t{task}", score + 0.01 * (task % 3) * (not text), outer + 0.1 * task * (not text))
            for text, (score, outer) in arms.items()
            for task in range(tasks)
            for seed in (0, 1)
        ]
    )


def test_what_a_role_is_worth_is_the_difference_for_each_unit_that_it_costs() -> None:
    runs = frame({None: (0.8, 10.0), "critic": (0.5, 6.0), "critic:shuffled": (0.6, 12.0)})
    left, mixed = worth(runs).to_dict("records")
    assert (left["design"], left["role"], left["how"], left["n"], left["tasks"]) == (
        "reflex",
        "critic",
        "left out",
        16,
        8,
    )
    added = sum(0.01 * (task % 3) for task in range(8)) / 8
    assert left["full"] == pytest.approx(0.8 + added)
    assert left["difference"] == pytest.approx(0.3 + added)
    assert left["cost_full"] - left["cost_ablated"] == pytest.approx(4.35)
    assert left["worth_per_unit"] == pytest.approx((0.3 + added) / 4.35)
    assert left["low"] < left["difference"] < left["high"]
    assert left["verdict"] == "better"
    assert left["p_holm"] == pytest.approx(2 * 2 / 2**8)  # eight tasks that agree, two rows
    assert math.isnan(left["worth_per_usd"])
    assert mixed["how"] == "shuffled"
    assert math.isnan(mixed["worth_per_unit"])
    assert "the role saves 1.65 of the outer units" in mixed["note"]


@pytest.mark.parametrize(("unnamed", "told"), [(0.0, 1.0), (1.0, 0.0)])
def test_what_is_planted_is_found_and_what_is_not_is_not(unnamed: float, told: float, tmp_path: Path) -> None:
    """Where nothing is mended unless it is named a critic is worth everything; where all is mended anyway, nothing."""
    odds = {"satisfy": 0.0, "repair": 1.0, "unnamed": unnamed, "damage": 0.0, "miss": 0.0, "correlation": 1.0}
    for ablate in (None, "critic", "critic:oracle"):
        for instance in range(1, 7):
            planted = {"_target_": "looper.tasks.sim.truth.Planted", **odds}
            task = SIM | {"instance": instance, "rules": 4, "warnings": 0, "truth": planted}
            given = config(tmp_path, "reflex", ablate) | {"task": task}
            assert go_on(tmp_path / f"{ablate}-{instance}", given).status in ("completed", "stopped")
    left, oracle = worth(runs_of(tmp_path)).to_dict("records")
    assert (left["how"], left["tasks"], left["difference"]) == ("left out", 6, pytest.approx(told))
    assert left["cost_full"] - left["cost_ablated"] == pytest.approx(2.0 if unnamed else -2.0)
    assert left["worth_per_unit"] == pytest.approx(0.0) if unnamed else math.isnan(left["worth_per_unit"])
    assert (oracle["how"], oracle["difference"], oracle["cost_full"]) == ("oracle", 0.0, oracle["cost_ablated"])


def test_a_role_whose_cost_was_not_shown_has_no_worth_per_unit() -> None:
    costs = [9.0, -5.0, 3.0, -4.0, 6.0, -1.0]
    runs = [roles(None, 0, f"t{n}", 0.9, 20.0 + cost) for n, cost in enumerate(costs)]
    runs += [roles("critic", 0, f"t{n}", 0.5, 20.0) for n in range(6)]
    (row,) = worth(frame_of(runs)).to_dict("records")
    assert row["cost_full"] > row["cost_ablated"]
    assert math.isnan(row["worth_per_unit"])
    assert "that the role costs outer units was not shown" in row["note"]


@pytest.mark.parametrize(
    ("costs", "told"),
    [
        ([0.5, 0.5, 0.5], 0.8),  # what is the same everywhere is no estimate
        ([1.0, 2.0, 3.0], math.nan),  # too few tasks for an interval
        ([30.0], math.nan),
        ([3.0, 2.0, 4.0, 3.0, 2.0, 4.0], 0.4 / 3),
    ],
)
def test_a_cost_is_shown_by_its_interval_or_by_being_the_same_everywhere(costs: list[float], told: float) -> None:
    runs = [roles(None, 0, f"t{n}", 0.9, 20.0 + cost) for n, cost in enumerate(costs)]
    runs += [roles("critic", 0, f"t{n}", 0.5, 20.0) for n in range(len(costs))]
    (row,) = worth(frame_of(runs)).to_dict("records")
    assert row["worth_per_unit"] == pytest.approx(told, nan_ok=True)
    assert ("was not shown" in row["note"]) == math.isnan(told)


def test_other_settings_that_were_swept_stay_apart() -> None:
    runs = frame_of(
        [roles(text, 0, f"t{task}", 0.5 + 0.4 * (not text) * int(skill), settings={"agents.critic.skill": skill})
         for skill in ("1", "0") for text in (None, "critic") for task in range(6)]
    )  # fmt: skip
    first, second = worth(runs).to_dict("records")
    assert {first["design"]: first["difference"], second["design"]: second["difference"]} == {
        "reflex, critic.skill=1": pytest.approx(0.4), "reflex, critic.skill=0": pytest.approx(0.0),
    }  # fmt: skip


def test_a_part_of_a_role_is_named_with_it() -> None:
    (row,) = worth(frame({None: (0.8, 10.0), "supervisor.diagnose": (0.5, 6.0)})).to_dict("records")
    assert row["role"] == "supervisor.diagnose"


def test_without_a_whole_design_or_an_ablated_one_nothing_can_be_said() -> None:
    several: list[dict[str | None, tuple[float, float]]] = [
        {None: (0.8, 10.0)}, {"critic": (0.8, 10.0), "planner": (0.7, 9.0)},
    ]  # fmt: skip
    for arms in several:
        runs = frame(arms)
        assert not worthwhile(runs)
        with pytest.raises(ConfigError, match="both whole and with a role ablated"):
            worth(runs)


def test_an_ablation_reads_back_as_it_was_written() -> None:
    for text in ("critic", "critic:shuffled", "supervisor.diagnose", "supervisor.diagnose:oracle"):
        assert str(Ablation.of(text)) == text
    assert Ablation.of("supervisor.diagnose").meets("diagnose")
    assert not Ablation.of("supervisor.diagnose").meets("verify")


def test_pages_of_the_players_are_tasks_that_roles_write() -> None:
    assert set(Reflex().spare(Page(texts=["x"]))) == {"planner", "preparer", "critic"}
