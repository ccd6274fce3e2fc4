"""python -m looper +task=NAME loop=NAME ...   one run; -m for a sweep; without arguments: what there is to run."""

import os

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else a price list is fetched at import
os.environ.setdefault("LITELLM_MODE", "PRODUCTION")  # else a .env in the working folder is read
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("HF_HUB_OFFLINE", "1")  # else a token count of some models waits for the network
os.environ.setdefault("HYDRA_FULL_ERROR", "1")  # errors come to us, not to Hydra's printer

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from looper.catalogue import nearest, options, overview
from looper.errors import ConfigError, LooperError


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code of SPEC 0.2."""
    args = list(sys.argv[1:] if argv is None else argv)
    try:
        return _dispatch(args)
    except LooperError as error:
        print(f"looper: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # the one boundary for faults of looper itself: a user gets a sentence, we get the traceback
        return _crash(error)


def _crash(error: Exception) -> int:
    import tempfile
    import traceback

    from looper.redact import redact

    with tempfile.NamedTemporaryFile("w", prefix="looper-crash-", suffix=".txt", delete=False) as file:
        file.write(redact("".join(traceback.format_exception(error))))
    print(
        f"looper: a fault of looper itself ({type(error).__name__}); the details are in {file.name}. What was journalled is "
        "whole: `looper resume` goes on from it.",
        file=sys.stderr,
    )
    return 1


def _dispatch(args: list[str]) -> int:
    if not args:
        print(overview())
        return 0
    if re.fullmatch(r"[a-z_]+", args[0]):
        from looper.commands import main as command

        return command(args[0], args[1:])
    return _hydra(args)


def _hydra(args: list[str]) -> int:
    from looper.arguments import rewrite
    from looper.sweep import Session

    as_json = "--json" in args
    session = Session(as_json=as_json, multirun=any(arg in ("-m", "--multirun") for arg in args))
    overrides = rewrite([arg for arg in args if arg != "--json"])
    _compose(session, overrides)
    return session.close()


def _compose(session: Any, overrides: list[str]) -> None:
    import hydra
    from hydra.core.hydra_config import HydraConfig
    from hydra.errors import HydraException
    from omegaconf import DictConfig, OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    from looper.catalogue import shipped

    _register(session)

    @hydra.main(version_base="1.3", config_path=str(shipped()), config_name="config")
    def job(cfg: DictConfig) -> None:
        folder = Path(HydraConfig.get().runtime.output_dir)
        choices = {key: str(value) for key, value in HydraConfig.get().runtime.choices.items()}

        def config() -> Any:
            try:
                return OmegaConf.to_container(cfg, resolve=True, throw_on_missing=True)
            except OmegaConfBaseException as error:
                raise ConfigError(explain(error)) from error

        session.run(config, folder, choices)

    before, sys.argv = sys.argv, [sys.argv[0], *overrides]
    try:
        job()
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError(explain(error)) from error
    finally:
        sys.argv = before


def _register(session: Any) -> None:
    """The user's own conf folder before looper's, and names for run folders."""
    from hydra.core.config_search_path import ConfigSearchPath
    from hydra.core.plugins import Plugins
    from hydra.plugins.search_path_plugin import SearchPathPlugin
    from omegaconf import OmegaConf

    from looper.catalogue import folders

    class UserConf(SearchPathPlugin):
        def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
            for folder in folders()[:-1]:
                search_path.prepend("looper-user", f"file://{folder}")

    Plugins.instance().register(UserConf)
    OmegaConf.register_new_resolver("run_id", session.run_id, replace=True)
    OmegaConf.register_new_resolver("sweep_id", session.sweep_id, replace=True)


def explain(error: Exception) -> str:
    """One sentence from Hydra's error: what, where, and the nearest thing that exists."""
    text = str(error).strip()
    full = getattr(error, "full_key", None)
    if type(error).__name__ == "MissingMandatoryValue" and full:
        return f"{full}: this setting must be given: {full}=..."
    key = re.search(r"Could not override '([^']+)'|full_key: (\S+)|Key '([^']+)' is not in struct", text)
    if group := re.search(r"Could not find '([\w-]+)/([^']+)'", text):
        hint = nearest(group[2], list(options(group[1]))) or f"there are: {', '.join(options(group[1]))}."
        return f"{group[1]}={group[2]}: there is no such {group[1]}; {hint}"
    if key:
        name = next(part for part in key.groups() if part)
        return f"{name}: there is no such setting; {_near_key(name)}"
    return " ".join(text.split("\n")[0].split())[:300] or type(error).__name__


def _near_key(name: str) -> str:
    from looper.sweep import known_keys

    known = known_keys()
    return nearest(name, known) or "`python -m looper +task=NAME --cfg job` shows every setting; a new one needs `+`."


if __name__ == "__main__":
    sys.exit(main())
