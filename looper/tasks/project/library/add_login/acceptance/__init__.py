"""Tests that come with the task."""

import json
from http.cookies import SimpleCookie
from typing import Any

from notebook.app import App
from notebook.web import Request, Response

PASSWORD = "correct horse"


class Browser:
    """Sends JSON and keeps the session cookie, as a browser does."""

    def __init__(self, app: App, session: str = ""):
        self.app, self.session = app, session

    def __call__(self, method: str, target: str, data: Any = None) -> Response:
        body = b"" if data is None else json.dumps(data).encode()
        headers = {"Cookie": f"theme=dark; session={self.session}"} if self.session else {}
        response = self.app.handle(Request(method, target, body, headers))
        cookie = session_cookie(response)
        if cookie is not None:
            self.session = cookie.value if cookie["max-age"] != "0" else ""
        return response

    def register(self, name: str, password: str = PASSWORD) -> Response:
        return self("POST", "/register", {"name": name, "password": password})

    def login(self, name: str, password: str = PASSWORD) -> Response:
        return self("POST", "/login", {"name": name, "password": password})


def session_cookie(response: Response):
    """The cookie `session` as the response sets it, or None."""
    header = next((value for name, value in response.headers.items() if name.lower() == "set-cookie"), "")
    return SimpleCookie(header).get("session")


def header(response: Response, name: str) -> str:
    """Empty if it is not there."""
    return next((value for key, value in response.headers.items() if key.lower() == name.lower()), "")
