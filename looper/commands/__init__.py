"""The commands beside running (document 003, Command Modes): resume, status, list, history, board, stop, clean, ..."""

import difflib
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from looper.commands.mirroring import show_ui, sync_runs
from looper.commands.request import Command, Request, parse
from looper.commands.resuming import CHANGEABLE, resume
from looper.commands.shelf import history_json, history_lines, list_lines, mend, pick, row, shelf, status_lines
from looper.console.screen import plain
from looper.errors import ConfigError
from looper.folder import Folder, Outputs
from looper.pages import page_of

if TYPE_CHECKING:
    from looper.console.story import Story


def main(name: str, argv: Sequence[str]) -> int:
    """Run a command; its exit code by SPEC 0.2. Raises LooperError, which the caller shows (exit code 2)."""
    command = COMMANDS.get(name)
    if command is None:
        near = difflib.get_close_matches(name, COMMANDS, 1)
        hint = (
            f"did you mean `{near[0]}`?" if near else f"there are: {', '.join(COMMANDS)}; a run starts with +task=NAME."
        )
        raise ConfigError(f"`{name}` is not a command; {hint}")
    if any(arg in ("-h", "--help") for arg in argv):
        print(f"looper {name} {command.usage}\n\n{command.text}\nEverywhere: outputs=DIR, the folder of all runs.")
        return 0
    return command.does(parse(name, command, argv))


def status(request: Request) -> int:
    """Where a run stands."""
    from looper.console.story import Story, card

    folder = pick(request.outputs, request.name)
    mend(folder)
    story = Story.of(folder)
    if "--artifact" in request.flags:
        request.screen.say(_artifact(story))
        return 0
    request.screen.say(json.dumps(card(story)) if request.as_json else "\n".join(status_lines(story)))
    return 0


def _artifact(story: "Story") -> str:
    """The artifact in full, for who asks for it (document 003, Output exceptions). Raises ConfigError without one."""
    text = story.artifact()
    if text is None:
        raise ConfigError(f"{story.name}: there is no artifact yet.")
    return plain(page_of(text))


def list_runs(request: Request) -> int:
    """All runs, newest first."""
    rows = [row(folder) for folder in shelf(request.outputs)]
    if request.as_json:
        request.screen.say(json.dumps(rows))
    elif rows:
        request.screen.say("\n".join(list_lines(rows)))
    else:
        request.screen.say(f"there are no runs below {request.outputs.root}/ yet; start one with +task=NAME.")
    return 0


def history(request: Request) -> int:
    """The events of a run."""
    folder, full = pick(request.outputs, request.name), "--full" in request.flags
    lines = history_json(folder, full) if request.as_json else history_lines(folder, full)
    request.screen.say("\n".join(lines))
    return 0


def board(request: Request) -> int:
    """The board of a cabal."""
    from looper.commands.boarding import show_board

    return show_board(request)


def learnings(request: Request) -> int:
    """What earlier runs under the outer loop have left."""
    from looper.commands.learning import learnings as show

    return show(request)


def replay(request: Request) -> int:
    """A run once more, without a model call."""
    from looper.commands.replaying import replay as repeat

    return repeat(request)


def fork(request: Request) -> int:
    """A copy of a run that goes on from a step with other settings."""
    from looper.commands.replaying import fork as make

    return make(request)


def compare(request: Request) -> int:
    """Designs on the same tasks and seeds."""
    from looper.commands.comparing import compare as do

    return do(request)


def report(request: Request) -> int:
    """One run as a page."""
    from looper.commands.comparing import report as do

    return do(request)


def stop_run(request: Request) -> int:
    """End a run in order. The first word is a run if there is one of that name, else it is part of the reason."""
    from looper.commands.ending import stop

    words = list(request.words)
    folder = _named(request.outputs, words[0]) if words else None
    words = words[1:] if folder else words
    request.screen.say(stop(folder or _stoppable(request.outputs), request.outputs, " ".join(words)))
    return 0


def _named(outputs: Outputs, word: str) -> Folder | None:
    """The run of this name. A word that nearly names one is not taken for a reason to stop another."""
    try:
        return pick(outputs, word)
    except ConfigError:
        near = difflib.get_close_matches(word, [folder.path.name for folder in shelf(outputs)], 1, 0.75)
        if near:
            raise ConfigError(f"stop: there is no run `{word}`; did you mean `{near[0]}`?") from None
        return None


def _stoppable(outputs: Outputs) -> Folder:
    active = outputs.active()
    for folder in [*([active] if active else []), *outputs.folders()]:
        if row(folder)["status"] in ("running", "paused", "interrupted"):
            return folder
    raise ConfigError(f"there is nothing to stop below {outputs.root}/; `looper list` shows all runs.")


def clean(request: Request) -> int:
    """Remove run folders, after asking."""
    from looper.commands.ending import remove

    everything = "--all" in request.flags
    if everything == bool(request.words):
        raise ConfigError(f"clean: say which run, or --all; usage: looper clean {COMMANDS['clean'].usage}")
    folders = shelf(request.outputs) if everything else [pick(request.outputs, request.name)]
    running = [folder for folder in folders if folder.alive()]
    for folder in running:
        request.screen.warn(f"looper: {folder.path.name} is running and is not removed; stop it first.")
    folders = [folder for folder in folders if folder not in running]
    if folders and not _confirmed(request, folders):
        request.screen.say("nothing was removed.")
        return 2
    for folder in folders:
        remove(folder, request.outputs)
        request.screen.say(f"removed {folder.path}")
    return 2 if running else 0


def _confirmed(request: Request, folders: Sequence[Folder]) -> bool:
    """Whether the user wants it; asked on a terminal, without one `--yes` must be given."""
    if "--yes" in request.flags:
        return True
    if not sys.stdin.isatty():
        raise ConfigError(f"clean would remove {len(folders)} run(s) and asks first; without a terminal give --yes.")
    for folder in folders:
        request.screen.warn(f"  {folder.path}")
    request.screen.warn(f"Remove {len(folders)} run(s) for good? y/N")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def new(request: Request) -> int:
    """Never reached: `looper.__main__` makes a run of it, because what follows are Hydra's overrides."""
    raise AssertionError(request)


COMMANDS: dict[str, Command] = {
    "new": Command(
        new, 'TASK | "PROMPT IN WORDS" [key=value ...]',
        "Starts a reflex loop on a task, or on a document wanted in words, whose criteria are asked for and shown.",
    ),
    "resume": Command(
        resume, "[RUN] [answer=TEXT | answer=@FILE] [budget.outer=12 ...] [--json]",
        "Goes on with a run that is paused or was interrupted; without a name the active or newest one.",
        ("--json",), 1, ("answer", *CHANGEABLE), changes=True,
    ),
    "status": Command(
        status, "[RUN] [--json | --artifact]", "Where the current, newest or named run stands, or its whole result.",
        ("--json", "--artifact"),
    ),
    "list": Command(list_runs, "[--json]", "All runs, newest first.", ("--json",), 0),
    "history": Command(
        history, "[RUN] [--json] [--full]", "The events of a run; --full shows whole payloads.", ("--json", "--full")
    ),
    "board": Command(
        board, "[RUN] [--html | --json]",
        "The board of a cabal: mission, team, products, feedback, rounds; --html makes a page and prints its path.",
        ("--html", "--json"),
    ),
    "learnings": Command(
        learnings, "[WORDS...] [--json] [--full] | --forget RUN [--yes]",
        "What runs under outer=gather_verify have left for later ones: the newest 20, or those most like the words.\n"
        "Cost: US dollars where models were paid, else units, inner+outer. --full shows all that is kept of them.",
        ("--json", "--full", "--forget", "--yes"), -1,
    ),
    "replay": Command(
        replay, "[RUN] [--json] [--from-record | from_record=STEP,...]",
        "Repeats a run offline and says where it differs from its record; nothing is written, no model is called.\n"
        "Answers of models, people and recordings come from the record; policies, effects, decisions and the gate are\n"
        "computed anew, but for effects over the network and delivery; with --from-record no effect is.\n"
        "Exit code 0: nothing differs, 1: something does.",
        ("--json", "--from-record"), 1, ("from_record",),
    ),
    "fork": Command(
        fork, "[RUN] --at STEP [key=value ...] [--json]",
        "Continues a copy of a run from STEP with other settings and pays only what comes after. STEP is a step key,\n"
        "a scope such as iteration.2, or last: the decision that ended a run at its budget, else the last answer or\n"
        "effect before its end.",
        ("--json",), 1,
        ("budget", "model", "agents", "loop", "seed", "task", "sandbox", "tracking", "confirm", "until"), ("--at",),
        changes=True,
    ),
    "compare": Command(
        compare,
        "[SWEEP | FOLDER | RUN ...] [baseline=DESIGN] [value=score|holdout|gate_score|cost:usd|...] [margin=0.05] "
        "[designs=A,B] [report=FOLDER] [tracking.uri=URI] [experiment=NAME] [--json | --csv] [--no-rivals]",
        "Compares designs on the same tasks and seeds, and writes a report; without a name those of the newest sweep.\n"
        "With tracking.uri= or experiment= from MLflow, where words are names of sweeps, and filter= is MLflow's.",
        ("--json", "--csv", "--no-rivals"), -1,
        ("baseline", "value", "margin", "designs", "report", "tracking", "experiment", "filter"),
    ),
    "report": Command(report, "[RUN]", "One run as a page that opens without a server; prints its path."),
    "plan": Command(
        new, "[-m] +experiment=NAME | +task=... loop=A,B ... [--json]",
        "What a sweep would cost and could find, before anything is spent: cells, worst and expected calls, tokens,\n"
        "USD and time, and the smallest difference from the first arm that would be found. Nothing is run.",
        ("--json",), -1,
    ),
    "tune": Command(
        new, "+experiment=NAME [trials=N] [key=value ...] [--json]",
        "Searches the values that the experiment's `tune` declares, each trial on all of its tasks and seeds; the\n"
        "same command goes on where it was.", ("--json",), -1,
    ),
    "stop": Command(
        stop_run, "[RUN] [REASON...]", "Ends a run before its next step; one that is not alive at once.", (), -1
    ),
    "clean": Command(
        clean, "[RUN | --all] [--yes]", "Removes run folders after asking; refuses a running one.", ("--all", "--yes")
    ),
    "sync": Command(
        sync_runs, "[RUN] [tracking.uri=URI]", "Mirrors into MLflow what it has missed.", (), 1, ("tracking",)
    ),
    "ui": Command(
        show_ui, "[port=N] [tracking.uri=URI]", "MLflow's user interface for this project's runs, on 127.0.0.1.", (), 0,
        ("tracking", "port"),
    ),
}  # fmt: skip
