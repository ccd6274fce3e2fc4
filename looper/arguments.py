"""From what a person types to Hydra's override grammar."""

from looper.catalogue import nearest, options
from looper.errors import ConfigError
from looper.redact import looks_like_secret

LITERAL = ("task.program", "task.tests", "task.root", "task.file", "task.python", "task.function", "model.path")
"""Keys whose values are paths or commands: quoted for Hydra, so that blanks, commas and signs in them are theirs."""


def rewrite(args: list[str]) -> list[str]:
    """Hydra overrides for these arguments. Raises ConfigError for what could not work or must not be written down."""
    result: list[str] = []
    for arg in args:
        key, equals, value = arg.partition("=")
        if equals and looks_like_secret(value):
            raise ConfigError(
                f"{key}: this looks like a secret, and overrides are written to disk. Put it into an environment variable "
                "and give the name of the variable: model.key_env=NAME."
            )
        result += _one(arg, key, value) if equals else [arg]
    return result


def _one(arg: str, key: str, value: str) -> list[str]:
    bare = key.lstrip("+")
    if bare == "task":
        return [f"+task={_known('task', value)}"]
    if bare == "loop":
        return [f"{key}={_known('loop', value)}"]
    if bare == "model":
        return _model(value)
    if bare.startswith("agents.") and not key.startswith(("+", "~")):
        return [f"++{key}={quoted(value)}"]
    if bare in LITERAL:
        return [f"{key}={quoted(value)}"]
    return [arg]


def _known(group: str, value: str) -> str:
    known = options(group)
    for name in value.split(","):
        if name and name not in known and not name.startswith(("glob(", "choice(", "'")) and value[:1].isalpha():
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
    """A value that Hydra takes as one plain string."""
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        return value
    if value and all(c.isalnum() or c in "._/@-" for c in value) and value[0].isalpha():
        return value
    try:
        float(value)
    except ValueError:
        return value if value in ("null", "true", "false") else "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return value
