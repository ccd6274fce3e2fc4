"""The shipped documents as tests need them: composed once, with their references."""

from functools import cache
from typing import Any

from command_line import ROOT
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from looper.parts import build
from looper.tasks.document.library import source
from looper.tasks.document.task import Document


@cache
def task(name: str) -> Document:
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        config = compose("config", [f"+task=document/{name}"])
    data: Any = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    built = build(data).task
    assert isinstance(built, Document)
    return built


@cache
def reference(name: str) -> str:
    return source(str(task(name).reference))
