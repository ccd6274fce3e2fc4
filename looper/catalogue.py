"""What there is to run: tasks and designs by their YAML files, a line each, told without loading anything heavy."""

import difflib
from pathlib import Path

EXAMPLES = (
    "python -m looper +task=repair/{task}",
    "python -m looper +task=repair/{task} loop=baseline seed=1",
    "python -m looper -m +task=repair/{task},dial loop=baseline,adaptive 'seed=range(3)'",
)

COMMANDS = (
    "Commands: resume, status, list, history, board, report, compare, plan, tune, replay, fork, learnings, stop, "
    "clean, sync, ui; each takes --help."
)
USAGE = """\
looper runs agent-loop designs on tasks and compares them.

  python -m looper                           every task and design, a line each (--json for scripts)
  python -m looper +task=NAME [KEY=VALUE..]  one run
  python -m looper -m +task=A,B KEY=V1,V2    a sweep: every combination, one after the other
  python -m looper COMMAND                   {commands}

Parts of a run:
  +task=     {tasks}
  loop=      {designs} (the design)
  model=     {models}, or provider/name as LiteLLM knows it; agents.ROLE.model= fills one role
  budget=    {budgets}; budget.inner= and budget.outer= are its caps
  tracking=  {tracking}
  +experiment=  {experiments} (with -m)
  seed=0  confirm=yes  record=FILE  outputs=DIR  sweep=NAME (with -m)  and every setting that --cfg job shows

Flags:
  -m, --multirun    run a sweep               --cfg job         show the settings, run nothing
  --json            result as JSON            --config-dir DIR  search this folder for configuration first
  --version         looper's version          --hydra-help      what Hydra can do beside

{examples}

Exit codes: 0 gate met, 1 failed, 2 wrong usage or configuration, 3 paused, 4 ended short of the gate, 130 aborted.
"""


def shipped() -> Path:
    """The folder of looper's own configuration: beside the package in a checkout, inside it when installed."""
    inside = Path(__file__).parent / "conf"
    return inside if inside.is_dir() else Path(__file__).parents[1] / "conf"


_given: Path | None = None


def search(folder: Path | None) -> None:
    """Search this folder (`--config-dir`) before all others from now on; None: no such folder."""
    global _given
    _given = folder


def folders() -> list[Path]:
    """Configuration folders in the order in which they are searched: the user's own first, looper's last."""
    own = Path.cwd() / "conf"
    found = [folder for folder in (_given, own) if folder and folder.is_dir()]
    return [*(folder for folder in found if folder.resolve() != shipped().resolve()), shipped()]


def options(group: str) -> dict[str, str]:
    """Names in a group and the first comment line of each file."""
    found: dict[str, str] = {}
    for folder in folders():
        for file in sorted((folder / group).rglob("*.yaml")):
            name = file.relative_to(folder / group).with_suffix("").as_posix()
            if not file.stem.startswith("_"):
                found.setdefault(name, headline(file))
    return found


def headline(file: Path) -> str:
    """The comment in a file's first line, or in its second where the first is Hydra's own."""
    try:
        first, second, *_ = [*file.read_text(errors="replace").split("\n")[:2], "", ""]
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    first = second if first.startswith("# @package") else first
    return first.lstrip("# ").strip() if first.startswith("#") else ""


def nearest(word: str, known: list[str]) -> str:
    """`did you mean X?`, or nothing."""
    tails = {name.rsplit("/", 1)[-1]: name for name in known}
    near = difflib.get_close_matches(word, known, 1, 0.6) or [
        tails[tail] for tail in difflib.get_close_matches(word.rsplit("/", 1)[-1], tails, 1, 0.7)
    ]
    return f"did you mean `{near[0]}`?" if near else ""


def catalogue() -> dict[str, dict[str, str]]:
    """Tasks and designs with a line each."""
    return {"tasks": options("task"), "designs": options("loop")}


def overview() -> str:
    """Tasks, designs and three example commands: what `python -m looper` prints."""
    tasks, designs = catalogue().values()
    width = max((len(name) for name in (*tasks, *designs)), default=0)
    lines = ["looper runs agent-loop designs on tasks and compares them.", "", "Tasks (+task=NAME):"]
    lines += [f"  {name:{width}}  {text}" for name, text in tasks.items()]
    lines += ["", "Designs (loop=NAME):", *(f"  {name:{width}}  {text}" for name, text in designs.items())]
    return "\n".join([*lines, "", *_examples(tasks), "", COMMANDS])


def _examples(tasks: dict[str, str]) -> list[str]:
    example = next((name.split("/")[1] for name in tasks if name.startswith("repair/")), "NAME")
    return ["Examples:", *(f"  {line.format(task=example)}" for line in EXAMPLES)]


def usage() -> str:
    """What `python -m looper --help` prints."""
    tasks, designs = catalogue().values()
    first = ", ".join(list(tasks)[:3])
    return USAGE.format(
        tasks=f"{first} and {len(tasks) - 3} more" if len(tasks) > 3 else first,
        designs=", ".join(designs), models=", ".join(options("model")), budgets=", ".join(options("budget")),
        tracking=", ".join(options("tracking")), experiments=", ".join(options("experiment")),
        examples="\n".join(_examples(tasks)), commands=COMMANDS,
    )  # fmt: skip
