"""A command line, taken apart and checked."""

import difflib
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from looper.console.screen import Screen
from looper.errors import ConfigError
from looper.folder import Outputs
from looper.redact import looks_like_secret

SETTING = re.compile(r"[+~]{0,2}[A-Za-z_][\w./@]*")
"""The key of a setting, where a word could be meant as well."""


@dataclass
class Request:
    """A command line, taken apart."""

    words: list[str] = field(default_factory=list)
    flags: set[str] = field(default_factory=set)
    settings: dict[str, str] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    """Values of options that take one, such as `--at STEP`."""
    outputs: Outputs = field(default_factory=lambda: Outputs(Path("outputs")))
    screen: Screen = field(default_factory=lambda: Screen(sys.stdout, sys.stderr))

    @property
    def name(self) -> str | None:
        return self.words[0] if self.words else None

    @property
    def as_json(self) -> bool:
        return "--json" in self.flags


@dataclass(frozen=True)
class Command:
    """One command: what it does, what it takes."""

    does: Callable[[Request], int]
    usage: str
    text: str
    flags: tuple[str, ...] = ()
    words: int = 1
    """How many words it takes at most; -1 for any number."""
    settings: tuple[str, ...] = ()
    """First parts of the settings it takes, beside `outputs=DIR`."""
    options: tuple[str, ...] = ()
    """Options that take a value: `--at STEP` or `--at=STEP`."""
    changes: bool = False
    """Whether its settings are those of a run that has begun."""


def parse(name: str, command: Command, argv: Sequence[str]) -> Request:
    """Words, flags and settings. Raises ConfigError for what the command does not take."""
    request = Request()
    rest = iter(argv)
    for arg in rest:
        key, equals, value = arg.partition("=")
        if key in command.options:
            request.options[key] = value if equals else _value(name, key, rest)
        elif arg.startswith("-"):
            request.flags.add(_known(name, arg, (*command.flags, *command.options)))
        elif key == "outputs" and equals:
            request.outputs = Outputs(Path(value))
        elif equals and key.lstrip("+").split(".")[0] in command.settings:
            request.settings[key.lstrip("+")] = value
        elif equals and (command.settings or (command.words >= 0 and SETTING.fullmatch(key))):
            raise ConfigError(_strange(name, command, arg))
        else:
            request.words.append(arg)
    if 0 <= command.words < len(request.words):
        raise ConfigError(
            f"`{name}` does not take `{request.words[command.words]}`; usage: looper {name} {command.usage}"
        )
    return request


def _value(name: str, key: str, rest: Iterator[str]) -> str:
    value = next(rest, "")
    if not value or value.startswith("-") or "=" in value:  # one with `=` in it can be given as `--key=value`
        raise ConfigError(f"{key}: `{name}` needs a value behind it: {key} VALUE.")
    return value


def _known(name: str, flag: str, flags: Sequence[str]) -> str:
    if flag in flags:
        return flag
    near = difflib.get_close_matches(flag, flags, 1)
    hint = f"did you mean `{near[0]}`?" if near else f"it knows: {', '.join(flags) or 'none'}."
    raise ConfigError(f"{flag}: `{name}` has no such option; {hint}")


def _strange(name: str, command: Command, arg: str) -> str:
    """What is said of a setting that the command does not take; of a run that has begun why it does not."""
    key = arg.partition("=")[0]
    takes = f"{arg}: `{name}` takes {' and '.join([*filter(None, [', '.join(command.settings)]), 'outputs=DIR'])}"
    near = difflib.get_close_matches(key.lstrip("+").split(".")[0], [*command.settings, "outputs"], 1)
    if near:
        return f"{takes}; did you mean `{near[0]}`?"
    if command.changes:
        return f"{takes}; `{key}` of a run cannot change once it has begun: start a new run."
    return f"{takes}; usage: looper {name} {command.usage}"


def changed(config: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, Any]:
    """The configuration with settings such as `budget.outer=12` in it. Raises ConfigError for an impossible one."""
    import yaml

    result = json.loads(json.dumps(config))
    for key, value in given.items():
        if looks_like_secret(f"{key}={value}"):
            raise ConfigError(
                f"{key}: this looks like a secret, and settings are written to disk; use model.key_env=NAME."
            )
        *path, last = key.split(".")
        if not path:
            result[key] = {"name": value} if key == "model" else yaml.safe_load(value)
            continue
        node = result
        for part in path:
            node = node.setdefault(part, {})
            if not isinstance(node, dict):
                raise ConfigError(f"{key}: `{part}` is a value here, not a group of settings.")
        node[last] = yaml.safe_load(value)
    return result
