"""A recording carried over to changed prompts: its answers are given again, as a person would, and recorded anew."""

import json
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from command_line import ROOT
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from looper.agents.human import Human
from looper.agents.recording import Head, Line, head_of, lines_of
from looper.launch import launch
from looper.parts import build
from looper.types import Outcome, Question, Reply

STEP_KEY = re.compile(r"[\w.\-/]+\.[1-9]\d*")


def carried(file: Path, overrides: Sequence[str], people: Sequence[Mapping[str, str]]) -> tuple[Head, list[Line]]:
    """Header and lines of the new recording; `people`: their answers by step key, a mapping for each branch.

    Raises RuntimeError if a run asks for something that the recording does not hold.
    """
    old = lines_of(file)
    head = head_of(file)
    assert head is not None, f"{file} is no recording"
    fresh: dict[tuple[str, str], Line] = {}
    for number, words in enumerate(people or [{}]):
        for line in again(file, branch(old, number), overrides, words):
            if line.key not in words:
                fresh.setdefault((line.key, line.prompt), line)
    said = f"Its answers were carried over to prompts as of {datetime.now(UTC).date()}."
    note = head.note.partition(" Its answers were carried over")[0]
    return head.model_copy(update={"note": f"{note} {said}"}), list(fresh.values())


def branch(lines: Sequence[Line], number: int) -> dict[str, Line]:
    """One line of each key: of several the one of this branch."""
    every: dict[str, list[Line]] = {}
    for line in lines:
        every.setdefault(line.key, []).append(line)
    return {key: found[min(number, len(found) - 1)] for key, found in every.items()}


def again(file: Path, lines: Mapping[str, Line], overrides: Sequence[str], words: Mapping[str, str]) -> list[Line]:
    """The lines of a run in which these answers were given."""
    with tempfile.TemporaryDirectory() as place:
        new = Path(place) / "recording.jsonl"
        config = composed([*overrides, "model=human", f"record={new}", "tracking=none", f"outputs={place}/out"])
        answers = {key: json.dumps(line.answer) for key, line in lines.items()} | dict(words)
        outcome: Outcome = launch(build(config), Path(place) / "run", answers=answers)
        if outcome.status == "paused" or outcome.reason == "phase_error":
            raise RuntimeError(f"{file}: {outcome.facts.get('detail')}")
        told = lines_of(new)
    return [line.model_copy(update={"by": lines[line.key].by if line.key in lines else line.by}) for line in told]


def composed(overrides: Sequence[str]) -> dict[str, Any]:
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        data: Any = OmegaConf.to_container(compose("config", list(overrides)), resolve=True, throw_on_missing=True)
    return data


def fresh(answer: Any) -> Any:
    """A judge's answer carries the code of its question: today's (SAFETY P13)."""

    def answered(self: Human, question: Question) -> Reply:
        text = self.answers.get(question.key)
        if text is not None and "nonce" in question.context:
            self = replace(
                self, answers={question.key: json.dumps({**json.loads(text), "nonce": question.context["nonce"]})}
            )
        return answer(self, question)

    return answered


def main(argv: Sequence[str]) -> None:
    file = Path(argv[0])
    people = [word.split("=", 1) for word in argv[1:] if STEP_KEY.fullmatch(word.partition("=")[0])]
    overrides = [word for word in argv[1:] if word.partition("=")[0] not in {key for key, _ in people}]
    keys = list(dict.fromkeys(key for key, _ in people))
    given = {key: [text for name, text in people if name == key] for key in keys}
    count = max((len(texts) for texts in given.values()), default=0)
    branches = [{key: texts[min(n, len(texts) - 1)] for key, texts in given.items()} for n in range(count)]
    head, lines = carried(file, overrides, branches)
    rows = [head.model_dump(mode="json"), *(line.model_dump(mode="json") for line in lines)]
    for row in rows[1:]:
        if not row["said"]:
            del row["said"]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    print(f"{file}: {len(lines)} answers")


if __name__ == "__main__":
    Human.answer = fresh(Human.answer)
    main(sys.argv[1:])
