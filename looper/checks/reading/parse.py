"""Kind `parse`: the text is of its language."""

import ast
import platform
from collections.abc import Sequence
from typing import Any

import yaml

from looper.checks.kinds import Parse
from looper.checks.reading.document import Found, Problems, problem
from looper.checks.reading.loaders import load
from looper.checks.reading.parts import Artifact, Piece
from looper.checks.reading.unreadable import Unreadable

PYTHON = f"Python {platform.python_version()}"
TOOLS = {
    "json": f"json of {PYTHON}",
    "yaml": f"PyYAML {yaml.__version__}",
    "toml": f"tomllib of {PYTHON}",
    "ini": f"configparser of {PYTHON}",
    "env": "NAME=value lines",
    "python": f"compile of {PYTHON}",
}


def read(check: Parse, artifact: Artifact, pieces: Sequence[Piece]) -> Found:
    return unreadable(pieces, check.language), TOOLS[check.language], None


def unreadable(pieces: Sequence[Piece], language: str) -> Problems:
    found: Problems = []
    for piece in pieces:
        try:
            value = load(piece.text, language)
            if nothing_in(value, language):
                found.append((piece.line, f"the text holds no {language}: neither keys nor values"))
        except Unreadable as error:
            found.append(problem(piece, error))
    return found


def nothing_in(value: Any, language: str) -> bool:
    """Whether a text can be read but says nothing: comments alone, or prose, which is a scalar of YAML."""
    if language == "yaml":
        return not any(isinstance(document, (dict, list)) for document in value)
    if isinstance(value, ast.Module):
        return not value.body
    return not isinstance(value, (dict, list)) or (language != "json" and not value)
