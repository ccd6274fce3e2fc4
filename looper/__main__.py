"""python -m looper +task=NAME loop=NAME ...   one run; -m for a sweep; without arguments: what there is to run."""

import os

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else a price list is fetched at import
os.environ.setdefault("LITELLM_MODE", "PRODUCTION")  # else a .env in the working folder is read
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("HF_HUB_OFFLINE", "1")  # else a token count of some models waits for the network
os.environ.setdefault("HYDRA_FULL_ERROR", "1")  # errors come to us, not to Hydra's printer

import json
import re
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import looper
from looper.catalogue import catalogue, folders, overview, shipped, usage
from looper.errors import ConfigError, Interruption, LooperError

HYDRA_FAULTS = (AssertionError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError)
"""What Hydra raises, beside its own errors, for a command line or a YAML file that it did not foresee."""


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code of SPEC 0.2."""
    args = list(sys.argv[1:] if argv is None else argv)
    try:
        return _dispatch(args)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # the one boundary: a user gets a sentence; the traceback of a fault goes to a file
        print(f"looper: {_told(error)}", file=sys.stderr)
        return _code(error)


def _told(error: Exception) -> str:
    """The sentence. What looper itself cannot import comes first: what makes sentences needs packages too."""
    if isinstance(error, ModuleNotFoundError) and _raised_here(error):
        missing = f"this Python ({sys.executable}) has no module {error.name}, which looper needs"
        return f"{missing}; call scripts/looper, which sets up its own, or `pip install .`"
    from looper.complaints import complaint

    return complaint(error)


def _raised_here(error: Exception) -> bool:
    """Whether it was one of looper's own files that failed, and not a user's or a package's."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return at is not None and Path(__file__).parent in Path(at.tb_frame.f_code.co_filename).parents


def _code(error: Exception) -> int:
    if not isinstance(error, Interruption):
        refused = isinstance(error, LooperError) or (isinstance(error, ModuleNotFoundError) and _raised_here(error))
        return 2 if refused or getattr(error, "filename", None) else 1
    from looper.types import EXIT_CODES

    return EXIT_CODES[error.status]


def _dispatch(args: list[str]) -> int:
    if not args:
        print(overview())
        return 0
    if args[0] == "new" and not {"-h", "--help"} & set(args):
        from looper.arguments import begun

        return _run(begun(args[1:]))
    if args[0] == "tune" and not {"-h", "--help"} & set(args):
        from looper.arguments import searched

        return _run(searched(args[1:]), tuning=True)
    if args[0] == "plan" and not {"-h", "--help"} & set(args):
        return _plan(args[1:])
    if re.fullmatch(r"[a-z_]+", args[0]):
        from looper.commands import main as command

        return command(args[0], args[1:])
    return _run(args)


def _run(args: list[str], tuning: bool = False) -> int:
    from looper.arguments import rewrite, split

    line = split(args)
    if shown := _shown(line.flags):
        print(shown)
        return 0
    overrides = rewrite(line.overrides)
    if line.flags == {"--json"} and not overrides:
        print(json.dumps(catalogue()))
        return 0
    from looper.sweeps.session import Session

    if "--multirun" not in line.flags and any(text.lstrip("+~").startswith("hydra/launcher") for text in overrides):
        raise ConfigError("hydra/launcher: this says how the cells of a sweep are run; add -m, or leave it out.")
    session = Session(as_json="--json" in line.flags, multirun="--multirun" in line.flags, tuning=tuning)
    if line.flags <= {"--multirun", "--json"} and session.multirun and not _own_sweeper(overrides):
        return _sweep(session, overrides) or session.close()
    return _compose(session, [*line.passed, *overrides]) or session.close()


def _shown(flags: set[str]) -> str:
    if "--help" in flags:
        return usage()
    return f"looper {looper.__version__}" if "--version" in flags else ""


def _own_sweeper(overrides: Sequence[str]) -> bool:
    """Whether the user asks for one of Hydra's sweepers: then Hydra makes the cells, as it does."""
    return any(text.lstrip("+~").startswith("hydra/sweeper") for text in overrides)


def _sweep(session: Any, overrides: list[str]) -> int:
    """Every combination of the swept values."""
    import hydra.errors
    import yaml
    from omegaconf.errors import OmegaConfBaseException

    from looper.complaints import hydra_complaint
    from looper.sweeps.grid import sweep

    _register(session)
    try:
        run = partial(_job, session)
        sweep(shipped(), overrides, session, run, session.prepare, session.order)
    except (hydra.errors.HydraException, OmegaConfBaseException, yaml.YAMLError, *HYDRA_FAULTS) as error:
        raise hydra_complaint(error) from error
    return 0


def _job(session: Any, cfg: Any, folder: Path) -> None:
    """Hand one composed configuration to the session."""
    from hydra.core.hydra_config import HydraConfig
    from omegaconf.errors import OmegaConfBaseException

    from looper.complaints import hydra_complaint
    from looper.sweeps.grid import settings

    choices = {key: str(value) for key, value in HydraConfig.get().runtime.choices.items()}

    def config() -> Any:
        try:
            return settings(cfg)
        except OmegaConfBaseException as error:
            raise hydra_complaint(error) from error

    session.run(config, folder, choices)


def _compose(session: Any, arguments: list[str]) -> int:
    """Have Hydra compose the settings and hand them to the session; the exit code of Hydra's own help, else 0."""
    import hydra
    import yaml
    from hydra.core.hydra_config import HydraConfig
    from hydra.errors import HydraException
    from omegaconf import DictConfig
    from omegaconf.errors import OmegaConfBaseException

    from looper.complaints import hydra_complaint

    @hydra.main(version_base="1.3", config_path=str(shipped()), config_name="config")
    def job(cfg: DictConfig) -> None:
        _job(session, cfg, Path(HydraConfig.get().runtime.output_dir))

    _register(session)
    before, sys.argv = sys.argv, [sys.argv[0], *arguments]
    try:
        job()
    except (HydraException, OmegaConfBaseException, yaml.YAMLError, *HYDRA_FAULTS) as error:
        raise hydra_complaint(error) from error  # the session keeps what its cells raise: this is Hydra's own
    except SystemExit as end:
        return int(end.code or 0)
    finally:
        sys.argv = before
    return 0


def _plan(args: list[str]) -> int:
    """What these runs would cost and could find; none of them is run."""
    import hydra.errors
    import yaml
    from omegaconf.errors import OmegaConfBaseException

    from looper.arguments import rewrite, split
    from looper.commands.planning import Planner
    from looper.complaints import hydra_complaint
    from looper.sweeps.grid import sweep

    line, planner = split(args), Planner()
    overrides = rewrite(line.overrides)
    _register(planner)
    try:
        sweep(shipped(), overrides, planner, planner.take)
    except (hydra.errors.HydraException, OmegaConfBaseException, yaml.YAMLError, *HYDRA_FAULTS) as error:
        raise hydra_complaint(error) from error
    print(planner.said(as_json="--json" in line.flags))
    return 0


def _register(session: Any) -> None:
    """The user's own conf folders before looper's, and names for run folders."""
    from hydra.core.config_search_path import ConfigSearchPath
    from hydra.core.plugins import Plugins
    from hydra.plugins.search_path_plugin import SearchPathPlugin
    from omegaconf import OmegaConf

    class UserConf(SearchPathPlugin):
        def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
            for folder in reversed(folders()[:-1]):
                search_path.prepend("looper-user", f"file://{folder}")

    if not any(plugin.__name__ == "UserConf" for plugin in Plugins.instance().discover(SearchPathPlugin)):
        Plugins.instance().register(UserConf)
    OmegaConf.register_new_resolver("run_id", session.run_id, replace=True)
    OmegaConf.register_new_resolver("sweep_id", session.sweep_id, replace=True)
    OmegaConf.register_new_resolver("cell_id", session.cell_id, replace=True)


if __name__ == "__main__":
    sys.exit(main())
