"""The command learnings: what earlier runs under the outer loop have left for later ones (SPEC 5.7)."""

import difflib
import json
import shutil
import sys
from collections.abc import Sequence

from looper.commands.request import Request
from looper.console.blocks import cell, columns
from looper.console.screen import brief, plain
from looper.episodes import STORE, Episode, Episodes, Found, lesson
from looper.errors import ConfigError, Paused

NEWEST = 20
"""Episodes that are shown at most."""
WIDE = 100
"""Columns of a terminal from which cells are not shortened further."""
HEADS = ("when", "task", "domain", "design", "outcome", "score", "cost")
OUTCOMES = {"VERIFIED": "verified", "GAPS_IDENTIFIED": "gaps", "CRITICAL_FAILURE": "critical"}


def learnings(request: Request) -> int:
    """List, search or forget episodes. Raises ConfigError for a store that cannot be used."""
    store = Episodes(request.outputs.root / STORE)
    try:
        return _forget(request, store) if request.flags & {"--forget", "--yes"} else _show(request, store)
    except Paused as error:  # nothing runs here that could be resumed
        raise ConfigError(str(error).replace(", then `resume`", "")) from error


def _show(request: Request, store: Episodes) -> int:
    text = " ".join(request.words)
    found = store.search(text, NEWEST) if text else [Found(episode=each, similarity=0.0) for each in store.all(NEWEST)]
    if request.as_json:
        request.screen.say(json.dumps([_data(each, searched=bool(text)) for each in found]))
    elif not found:
        request.screen.say(_nothing(store, text))
    else:
        episodes = [each.episode for each in found]
        lines = [line for one in episodes for line in full(one)] if "--full" in request.flags else table(episodes)
        request.screen.say("\n".join(lines))
    return 0


def _nothing(store: Episodes, text: str) -> str:
    if text and store.all(1):
        return f"no episode has anything to do with `{text}`; `looper learnings` shows the newest."
    return f"there are no episodes in {store.path} yet; a run with outer=gather_verify leaves one when it ends."


def _data(found: Found, *, searched: bool) -> dict[str, object]:
    likeness = {"similarity": found.similarity} if searched else {}
    return {**found.episode.model_dump(mode="json"), "lesson": lesson(found.episode), **likeness}


def table(episodes: Sequence[Episode]) -> list[str]:
    """A row for each and its lesson below it, no line longer than the terminal is wide."""
    width = max(40, shutil.get_terminal_size((160, 24)).columns)
    lines = [line[:width] for line in columns(HEADS, [_cells(episode, wide=width >= WIDE) for episode in episodes])]
    told = lines[:1]
    for line, episode in zip(lines[1:], episodes, strict=True):
        told += [line, f"    {brief(f'{episode.run}: {lesson(episode)}', width - 4)}"]
    return told


def _cells(episode: Episode, *, wide: bool) -> list[str]:
    """Verification counts as the score; the gate's where there was none."""
    reached = episode.gate_score if episode.verification is None else episode.verification
    return [
        episode.at[:16].replace("T", " ") if wide else episode.at[:10],
        cell(episode.task, 40 if wide else 16), cell(episode.domain, 20 if wide else 10),
        cell(episode.design, 30 if wide else 12), cell(OUTCOMES.get(episode.outcome, episode.status), 9),
        "-" if reached is None else f"{reached:.2f}", paid(episode),
    ]  # fmt: skip


def paid(episode: Episode) -> str:
    """US dollars where models were paid, else units: inner+outer."""
    cost = episode.cost
    return f"${cost['usd']:.3g}" if cost.get("usd") else f"{cost.get('inner', 0):.4g}+{cost.get('outer', 0):.4g}"


def full(episode: Episode) -> list[str]:
    """Everything that is kept of an episode."""
    by = f", outer {episode.outer}" if episode.outer else ""
    cost = ", ".join(f"{name} {amount:g}" for name, amount in sorted(episode.cost.items()))
    pairs = [
        ("run", episode.run), ("when", episode.at), ("task", episode.task), ("domain", episode.domain),
        ("design", f"{episode.design}{by}, seed {episode.seed}"), ("filled by", episode.filled_by),
        ("status", f"{episode.status}{f' ({episode.reason})' if episode.reason else ''}"),
        ("outcome", episode.outcome or "none"), ("gate score", cell(episode.gate_score)),
        ("verification", cell(episode.verification)), ("loop-backs", str(episode.loops)), ("cost", cost),
        ("goal", episode.goal), ("lesson", lesson(episode)),
    ]  # fmt: skip
    lines = [f"{name}: {plain(value)}" for name, value in pairs if value]
    for name, texts in (("failed", episode.failed), ("helped", episode.helped)):
        lines += [f"{name}:", *(f"  - {plain(text)}" for text in texts)] if texts else []
    for asked in episode.questions:
        lines += [f"asked: {plain(asked['question'])}", f"  {plain(asked['who'])}: {plain(asked['answer'])}"]
    return [*lines, ""]


def _forget(request: Request, store: Episodes) -> int:
    if "--forget" not in request.flags or len(request.words) != 1 or request.flags - {"--forget", "--yes"}:
        raise ConfigError("learnings: say which run is to be forgotten: looper learnings --forget RUN [--yes]")
    run = request.words[0]
    runs = store.runs()
    if run not in runs:
        near = difflib.get_close_matches(run, runs, 1)
        hint = f"did you mean `{near[0]}`?" if near else "`looper learnings` shows the newest."
        raise ConfigError(f"learnings: there is no episode of `{run}` in {store.path}; {hint}")
    if not _confirmed(request, run):
        request.screen.say("nothing was forgotten.")
        return 2
    store.forget(run)
    request.screen.say(f"forgot the episode of {run}; the run's own folder stays as it is.")
    return 0


def _confirmed(request: Request, run: str) -> bool:
    """Whether the user wants it; asked on a terminal, without one `--yes` must be given."""
    if "--yes" in request.flags:
        return True
    if not sys.stdin.isatty():
        raise ConfigError("learnings would forget an episode and asks first; without a terminal give --yes.")
    request.screen.warn(f"Forget the episode of {run} for good? y/N")
    return sys.stdin.readline().strip().lower() in ("y", "yes")
