"""What there is to run: tasks and designs by their YAML files, a line each, told without loading anything heavy."""

import difflib
from pathlib import Path

EXAMPLES = (
    "python -m looper +task=repair/{task}",
    "python -m looper +task=repair/{task} loop=baseline seed=1",
    "python -m looper -m +task=repair/{task},dial loop=baseline,adaptive 'seed=range(3)'",
)


def shipped() -> Path:
    """The folder of looper's own configuration: beside the package in a checkout, inside it when installed."""
    inside = Path(__file__).parent / "conf"
    return inside if inside.is_dir() else Path(__file__).parents[1] / "conf"


def folders() -> list[Path]:
    """Configuration folders in the order in which they are searched: the user's own first."""
    own = Path.cwd() / "conf"
    return [own, shipped()] if own.is_dir() and own.resolve() != shipped().resolve() else [shipped()]


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
    first = file.read_text(errors="replace").partition("\n")[0]
    return first.lstrip("# ").strip() if first.startswith("#") else ""


def nearest(word: str, known: "list[str]") -> str:
    """`did you mean X?`, or nothing."""
    tails = {name.rsplit("/", 1)[-1]: name for name in known}
    near = difflib.get_close_matches(word, known, 1, 0.6) or [
        tails[tail] for tail in difflib.get_close_matches(word.rsplit("/", 1)[-1], tails, 1, 0.7)
    ]
    return f"did you mean `{near[0]}`?" if near else ""


def overview() -> str:
    """Tasks, designs and three example commands: what `python -m looper` prints."""
    tasks, loops = options("task"), options("loop")
    width = max(len(name) for name in (*tasks, *loops))
    example = next((name.split("/")[1] for name in tasks if name.startswith("repair/")), "NAME")
    lines = ["looper runs agent-loop designs on tasks and compares them.", "", "Tasks (+task=NAME):"]
    lines += [f"  {name:{width}}  {text}" for name, text in tasks.items()]
    lines += ["", "Designs (loop=NAME):", *(f"  {name:{width}}  {text}" for name, text in loops.items())]
    lines += ["", "Examples:", *(f"  {line.format(task=example)}" for line in EXAMPLES)]
    lines += ["", "Commands: resume, status, list, history, stop, clean, sync, ui; each takes --help."]
    return "\n".join(lines)
