"""An artifact that is a page for people and ends with what looper needs to read it back."""

import json
from typing import Any

FENCE = "\n```json looper\n"
END = "\n```\n"


def with_data(page: str, data: Any) -> str:
    """The page with its data behind it, on one line."""
    return f"{page}{FENCE}{json.dumps(data, ensure_ascii=True)}{END}"


def data_of(artifact: str) -> str:
    """The data's JSON text; empty if there is none."""
    _, fence, rest = artifact.rpartition(FENCE)
    return rest.partition("\n")[0] if fence else ""


def page_of(artifact: str) -> str:
    """What people are shown."""
    page, fence, _ = artifact.rpartition(FENCE)
    return page if fence else artifact
