"""From what a person types to Hydra's override grammar."""

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from looper.catalogue import nearest, options, search
from looper.errors import ConfigError
from looper.redact import looks_like_secret

LITERAL = ("task.program", "task.tests", "task.root", "task.file", "task.python", "task.function", "model.path",
           "record")  # fmt: skip
"""Keys whose values are paths or commands: quoted for Hydra, so that blanks, commas and signs in them are theirs."""

SHORT = {"-h": "--help", "-m": "--multirun", "-c": "--cfg", "-i": "--info", "-p": "--package", "-cd": "--config-dir"}
FLAGS = ("--help", "--version", "--json", "--multirun", "--cfg", "--resolve", "--package", "--info", "--config-dir",
         "--hydra-help")  # fmt: skip
"""What may stand beside overrides. Hydra's others would run another configuration or unpickle an earlier job."""
VALUED = {"--cfg": ("job", "hydra", "all"), "--package": (), "--config-dir": ()}
"""Flags that need a value, and the values there are (none named: any)."""

_OVERRIDE = re.compile(r"(\+{0,2}[A-Za-z_][\w./@:\-]*=.*|~[A-Za-z_][\w./@:\-]*(=.*)?)", re.DOTALL)


@dataclass
class Line:
    """A command line, taken apart."""

    flags: set[str] = field(default_factory=set)
    overrides: list[str] = field(default_factory=list)
    """As typed."""
    passed: list[str] = field(default_factory=list)
    """Flags with their values that are Hydra's."""


def split(args: Sequence[str]) -> Line:
    """Flags and overrides; the folder of `--config-dir` is searched from now on. Raises ConfigError for others."""
    line, rest = Line(), iter(args)
    search(None)
    for arg in rest:
        if arg.startswith("-"):
            _flag(line, arg, rest)
        elif _OVERRIDE.fullmatch(arg):
            line.overrides.append(arg)
        else:
            raise ConfigError(
                f"`{arg[:80]}`: an argument is KEY=VALUE, +KEY=VALUE or ~KEY; see `python -m looper --help`."
            )
    return line


def _flag(line: Line, arg: str, rest: Iterator[str]) -> None:
    name, equals, value = arg.partition("=")
    name = SHORT.get(name, name)
    if name not in FLAGS:
        near = difflib.get_close_matches(name, FLAGS, 1)
        hint = f"did you mean `{near[0]}`?" if near else f"there are: {', '.join(FLAGS)}."
        raise ConfigError(f"{arg[:80]}: there is no such flag; {hint}")
    line.flags.add(name)
    if name in VALUED:
        value = value if equals else next(rest, "")
        if not value or (VALUED[name] and value not in VALUED[name]):
            raise ConfigError(f"{name}: a value is needed: {name} {'|'.join(VALUED[name]) or 'NAME'}.")
        if name == "--config-dir":
            _search(value)
        else:
            line.passed += [name, value]
    elif name not in ("--help", "--version", "--json"):
        line.passed.append(f"{name}={value}" if equals else name)


def _search(name: str) -> None:
    folder = Path(name)
    if not folder.is_dir():
        raise ConfigError(f"--config-dir: there is no folder {name}.")
    search(folder.absolute())


def rewrite(overrides: Sequence[str]) -> list[str]:
    """Hydra overrides for these. Raises ConfigError for what could not work or must not be written down."""
    result: list[str] = []
    for arg in overrides:
        key, equals, value = arg.partition("=")
        if equals and (looks_like_secret(value) or looks_like_secret(arg)):
            raise ConfigError(
                f"{key}: this looks like a secret, and overrides are written to disk. Put it into an environment "
                "variable and give the name of the variable: model.key_env=NAME."
            )
        result += _one(arg, key, value) if equals and key[0] != "~" else [arg]
    return result


def _one(arg: str, key: str, value: str) -> list[str]:
    bare = key.lstrip("+")
    if bare == "task":
        return [f"+task={_known('task', value)}"]
    if bare == "loop":
        return [f"{key}={_known('loop', value)}"]
    if bare == "model":
        return _model(value)
    if bare.startswith("agents."):
        return [f"++{bare}={quoted(value)}"]
    if bare in LITERAL:
        return [f"{key}={literal(value)}"]
    return [arg]


def _known(group: str, value: str) -> str:
    known = options(group)
    for name in value.split(","):
        if not name:
            raise ConfigError(f"{group}={value}: a name is missing; `python -m looper` lists every {group}.")
        if name not in known and not name.startswith(("glob(", "choice(", "'")) and value[:1].isalpha():
            hint = nearest(name, list(known)) or f"`python -m looper` lists every {group}."
            raise ConfigError(f"{group}={name}: there is no such {group}; {hint}")
    return value


def _model(value: str) -> list[str]:
    """Names of the group as they are; any other name is a LiteLLM model."""
    names = value.split(",")
    known = options("model")
    if all(name in known for name in names):
        return [f"model={value}"]
    strange = [name for name in names if "/" not in name]
    if strange:
        hint = nearest(strange[0], list(known)) or "a model is given as provider/name, e.g. openai/gpt-4o-mini;"
        raise ConfigError(f"model={strange[0]}: {hint} others are {', '.join(known)}.")
    return ["model=litellm", f"model.name={','.join(quoted(name) for name in names)}"]


def quoted(value: str) -> str:
    """A value that Hydra takes as one plain string, number or flag."""
    if value and all(c.isalnum() or c in "._/@-" for c in value) and value[0].isalpha():
        return value
    try:
        float(value)
    except ValueError:
        return value if value in ("null", "true", "false") else literal(value)
    return value


def literal(value: str) -> str:
    """A value that Hydra takes as this very string; `null` stays nothing, and quotes around the whole are dropped."""
    if value == "null":
        return value
    if re.fullmatch(r"'[^']*'|\"[^\"]*\"", value):
        value = value[1:-1]
    value = re.sub(r"(\\*)\$\{", r"\1\1\\${", value)  # no interpolation
    return "'" + re.sub(r"(\\*)('|\Z)", lambda m: m[1] * 2 + (f"\\{m[2]}" if m[2] else ""), value) + "'"


def begun(words: Sequence[str]) -> list[str]:
    """What `new TASK [key=value ...]` or `new "a prompt in words" [key=value ...]` stands for (document 003).

    Raises ConfigError without a task or a prompt.
    """
    if not words or "=" in words[0].split(" ")[0] or words[0].startswith("-"):
        raise ConfigError(
            'new: say what: `looper new document/courses_api`, or `looper new "what is wanted, in words"`.'
        )
    what, rest = words[0], list(words[1:])
    loop = [] if any(word.startswith("loop=") for word in rest) else ["loop=reflex"]
    if " " not in what:
        return [f"task={what}", *loop, *rest]
    return ["task=document", f"task.prompt={literal(what)}", *loop, *rest]


def searched(words: Sequence[str]) -> list[str]:
    """What `tune [trials=N] [tune.KEY=value ...] [key=value ...]` stands for: a sweep whose cells a search finds."""
    named = [f"tune.{word}" if word.startswith("trials=") else word for word in words]
    return ["--multirun", *(f"++{word}" if word.startswith("tune.") else word for word in named)]
