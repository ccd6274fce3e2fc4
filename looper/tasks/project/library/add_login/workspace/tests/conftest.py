"""A notebook in memory, and a way to ask it."""

import json
from typing import Any

import pytest

from notebook.app import App
from notebook.clock import StoppedClock
from notebook.settings import Settings
from notebook.store import Store
from notebook.web import Request, Response


class Client:
    """Sends JSON to an application."""

    def __init__(self, app: App):
        self.app = app

    def __call__(self, method: str, target: str, data: Any = None) -> Response:
        body = b"" if data is None else json.dumps(data).encode()
        return self.app.handle(Request(method, target, body))


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock()


@pytest.fixture
def store():
    opened = Store(":memory:")
    yield opened
    opened.close()


@pytest.fixture
def client(store, clock) -> Client:
    return Client(App(store, clock, Settings(page_size=3)))
