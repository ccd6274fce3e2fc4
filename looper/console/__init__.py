"""What a person sees while a run is under way: who plays, a line per step, blocks, a bar with the budget left, the end.

Standard output is for the result and is stable; progress goes to standard error; with `json_mode` the only thing on
standard output is one JSON object (DESIGN, Errors, output, style).
"""

import json
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TextIO

from pydantic_core import to_jsonable_python

from looper.agents import ablated, cast
from looper.agents.human import example, from_file, only_word_field, only_yes_no_field, understand
from looper.console.blocks import LABELS, Block, alias_of, amount, cell, columns, score, step_line
from looper.console.gauge import Gauge
from looper.console.outer import USER, choices_of, for_user
from looper.console.screen import Screen, brief
from looper.console.story import Story, card
from looper.console.summary import final_summary
from looper.errors import ConfigError, Paused
from looper.folder import Folder
from looper.journal import Event, read
from looper.launch import Audience
from looper.parts import Parts
from looper.types import Outcome, Question

WHOLE = ("system", "prompt", "setup")
"""Parts of a question that are shown whole: what a model would see, and what is to be confirmed."""
SHOWN = 60
"""Lines of each part of a question's context that are shown; the whole of it is in the journal's neighbours."""


class Console:
    """The audience of a run. Use it as a context manager, so that the bar goes away whatever happens."""

    def __init__(
        self,
        out: TextIO | None = None,
        err: TextIO | None = None,
        *,
        json_mode: bool = False,
        quiet: bool = False,
        compact: bool = False,
        stdin: TextIO | None = None,
    ):
        """`compact` is for the cells of a sweep: no blocks, one line at the end of each."""
        self.screen = Screen(out or sys.stdout, err or sys.stderr, quiet=quiet)
        self.json_mode, self.compact, self.stdin = json_mode, compact, stdin or sys.stdin
        self.gauge: Gauge | None = None
        self.block: Block | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.screen.close()

    def audience(self) -> Audience:
        return Audience(listeners=(self.listener,), terminal=self.terminal, announce=self.announce)

    def announce(self, parts: Parts, folder: Folder, resumed: bool) -> None:
        """What is about to run, who plays, what it may spend, what contains it."""
        lines = announcement(parts, folder, resumed)
        self.screen.tell("\n".join(lines[:1] if self.compact else lines))
        limits = ("max_iterations", "max_steps", "max_rounds")
        rounds = next((getattr(parts.loop, name) for name in limits if hasattr(parts.loop, name)), None)
        self.block = Block(folder.path, rounds)
        for event in read(folder.history).events if resumed else ():  # what was said then is not said again
            self.block.take(event)
        self.gauge = Gauge(parts, folder.state()["spent"] if resumed else {}, rounds)
        self.screen.show_bar(self.gauge.render)

    def listener(self, event: Event) -> None:
        """One event of the journal."""
        with self._lock:
            if self.gauge:
                self.gauge.take(event)
            if not self.compact and (line := step_line(event)):
                self.screen.tell(line)
            due = self.block.take(event) if self.block else []
            if due and not self.json_mode and not self.compact:
                self.screen.say("\n".join(due))

    def terminal(self, question: Question) -> str:
        """Ask a person until the answer fits. Raises Paused if they end the input (Ctrl-D): the run can be resumed."""
        with self.screen.alone():
            for line in asking(question):
                self.screen.warn(line)
            while True:
                text = self._read()
                if text is None:
                    raise _unanswered(question)
                try:
                    understand(from_file(text), question.returns)
                    return text
                except ConfigError as error:
                    self.screen.warn(f"{error} Try again, or Ctrl-D to answer later.")

    def _read(self) -> str | None:
        """A line; more of them while JSON is not finished, an empty line ends it; None at the end of input."""
        lines: list[str] = []
        while True:
            self.screen.prompt("... " if lines else "answer> ")
            line = self.stdin.readline()
            if not line:
                return "\n".join(lines) if lines else None
            lines.append(line.rstrip("\n"))
            if not lines[0].lstrip().startswith(("{", "[")) or not line.strip() or _is_json("\n".join(lines)):
                return "\n".join(lines).strip()

    def summary(self, outcome: Outcome | None, folder: Path) -> None:
        """How it ended, for people or as one JSON object; told from the folder, which says what `outcome` says."""
        self.screen.close()
        story = Story.of(Folder(folder))
        if self.compact:
            reached = score(outcome.score if outcome else story.outcome.get("score"))
            self.screen.tell(
                f"{story.name}: {story.status} ({story.state['stop']['reason'] or 'no reason'}), score {reached}"
            )
        elif self.json_mode:
            self.screen.say(json.dumps(card(story)))
        else:
            self.screen.say("\n".join(final_summary(story)))


def table(rows: Sequence[Mapping[str, Any]], *, as_json: bool = False) -> str:
    """The cells of a sweep, a row each, or as one JSON array."""
    if as_json:
        return json.dumps([dict(row) for row in rows])
    heads = list(dict.fromkeys(key for row in rows for key in row))
    heads = [*(head for head in heads if head != "folder"), *(head for head in heads if head == "folder")]
    return "\n".join(columns(heads, [[cell(row.get(head)) for head in heads] for row in rows]))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _unanswered(question: Question) -> Paused:
    return Paused(
        f"{question.key} was not answered; go on with: looper resume RUN answer='{example(question.returns)}'.",
        "questions",
        waiting={"key": question.key, "role": question.role, "answer": question.returns.model_json_schema()},
    )


def announcement(parts: Parts, folder: Folder, resumed: bool) -> list[str]:
    """What is about to run."""
    config = parts.config
    what = f"{parts.loop.name} on {brief(alias_of(parts.task), 60)}: {brief(parts.task.goal, 200)}"
    lines = [
        f"{'resuming' if resumed else 'running'} {what}",
        *(f"  {role}: {brief(who(config, role, parts), 100)}" for role in getattr(parts.loop, "roles", {})),
        f"  budget: {caps(parts)}; at a limit: {parts.budget.on_limit}; seed {config.get('seed') or 0}",
    ]
    if origin := getattr(parts.task, "origin", ""):
        lines.append(f"  origin: {brief(origin, 200)}")
    if hasattr(parts.sandbox, "capability"):
        found = parts.sandbox.capability()
        lines.append(f"  sandbox: {found.level}{f' - {brief(found.advice, 300)}' if found.advice else ''}")
    return [*lines, f"  folder: {brief(folder.path, 300)}"]


def who(config: dict[str, Any], role: str, parts: Parts | None = None) -> str:
    """Who fills a role, for people; a recording, a simulation and a stand-in are called what they are."""
    ablation = ablated.of_role((config.get("agents") or {}).get(role))
    if ablation is None:
        return _filler(config, role, parts)
    told = f"{ablated.TOLD[ablation.how]} (ablate={ablation})"
    whole = ablation.how != ablated.SHUFFLED and not ablation.step
    return told if whole else f"{_filler(config, role, parts)}; {told}"


def _filler(config: dict[str, Any], role: str, parts: Parts | None) -> str:
    steps = getattr(parts.loop, "steps", {}).get(role, ()) if parts else ()
    name, more = cast.who(config, role, steps, parts.task if parts else None, parts.loop if parts else None)
    if name in LABELS:
        return f"{name} ({LABELS[name]}, {more})"
    told = {
        "policy": "policy (the task's own; no model)", "human": f"human{f' ({more})' if more else ''}", "setting": more,
        "policy or recording": f"policy (the task's own), where it has none recording ({LABELS['recording']}, {more})",
    }  # fmt: skip
    return told.get(name, f"model:{name}")


def caps(parts: Parts) -> str:
    given = parts.budget.caps() | ({"seconds": parts.budget.seconds} if parts.budget.seconds is not None else {})
    return ", ".join(f"{account} {amount(cap)}" for account, cap in given.items()) or "no caps"


def asking(question: Question) -> list[str]:
    """A question as a person reads it: who is asked, what is known, what an answer looks like."""
    lines = ["", f"── {question.role} is asked: {question.step} ({question.key}) ──", *_known(question)]
    if question.role == USER and only_word_field(question.returns):
        number = "the number of a choice, " if choices_of({**question.context, "step": question.step}) else ""
        return [*lines, f"Your words, {number}or @FILE (Ctrl-D: answer later, Ctrl-C twice: abort)."]
    yes_no = only_yes_no_field(question.returns)
    plain_form = (
        "yes, no, JSON" if yes_no else "as plain text, JSON" if only_word_field(question.returns) else "as JSON"
    )
    lines.append(f"The answer, {plain_form} or @FILE (Ctrl-D: answer later, Ctrl-C twice: abort). Its fields:")
    schema = question.returns.model_json_schema()
    needed = schema.get("required", [])
    for name, info in schema.get("properties", {}).items():
        kind = info.get("type") or info.get("title") or "see the example"
        rest = "required" if name in needed else f"default {json.dumps(info.get('default'))}"
        lines.append(f"  {name}: {kind}, {rest}{_described(info)}")
    return [*lines, f"Example: {example(question.returns)}"]


def _known(question: Question) -> list[str]:
    """What whoever is asked sees: a stand-in for a model what the model would see, the user what is meant for them."""
    if question.role == USER and "prompt" in question.context:
        return for_user(question.context)
    lines: list[str] = []
    for name, value in question.context.items():
        shown = value.split("\n") if name in WHOLE else readable(value)
        lines += [f"{name}:", *(f"  {line}" for line in shown)]
    return lines


def _described(info: dict[str, Any]) -> str:
    return f" - {info['description']}" if info.get("description") else ""


def readable(value: Any) -> list[str]:
    """A value of the context as lines of YAML, or as it stands if it is a single one; long ones are cut and say so."""
    import yaml

    data = to_jsonable_python(value, serialize_unknown=True)
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True) if isinstance(data, dict | list) else str(data)
    lines = text.rstrip("\n").split("\n")
    return lines if len(lines) <= SHOWN else [*lines[:SHOWN], f"... {len(lines) - SHOWN} more lines"]
