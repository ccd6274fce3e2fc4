"""The handlers: each takes a context and a request, and gives a response."""

from dataclasses import dataclass

from notebook.clock import Clock
from notebook.forms import Invalid, read_note, read_revision
from notebook.settings import Settings
from notebook.store import Notes
from notebook.web import Request, Response, Router


@dataclass(frozen=True)
class Context:
    """All that a handler may use."""

    notes: Notes
    clock: Clock
    settings: Settings


def health(context: Context, request: Request) -> Response:
    return Response.of(200, {"status": "ok"})


def list_notes(context: Context, request: Request) -> Response:
    page, size = _page(request), context.settings.page_size
    notes, total = context.notes.find(request.query.get("tag", "").lower(), offset=(page - 1) * size, limit=size)
    return Response.of(200, {"notes": [note.public() for note in notes], "total": total, "page": page})


def add_note(context: Context, request: Request) -> Response:
    form = read_note(request.json(), context.settings)
    note = context.notes.add(form.title, form.body, form.tags, context.clock.now())
    return Response.of(201, note.public(), {"Location": f"/notes/{note.id}"})


def show_note(context: Context, request: Request, id: int) -> Response:
    return Response.of(200, context.notes.get(id).public())


def change_note(context: Context, request: Request, id: int) -> Response:
    data = request.json()
    form, revision = read_note(data, context.settings), read_revision(data)
    note = context.notes.change(id, form.title, form.body, form.tags, revision, context.clock.now())
    return Response.of(200, note.public())


def remove_note(context: Context, request: Request, id: int) -> Response:
    context.notes.remove(id)
    return Response(204)


def list_tags(context: Context, request: Request) -> Response:
    return Response.of(200, {"tags": context.notes.tags()})


def _page(request: Request) -> int:
    text = request.query.get("page", "1")
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:10]) <= 1_000_000):
        raise Invalid({"page": "must be a whole number from 1 to 1000000"})
    return int(text)


def router() -> Router:
    """All endpoints."""
    routes = Router()
    routes.add("GET", "/health", health)
    routes.add("GET", "/notes", list_notes)
    routes.add("POST", "/notes", add_note)
    routes.add("GET", "/notes/{id}", show_note)
    routes.add("PUT", "/notes/{id}", change_note)
    routes.add("DELETE", "/notes/{id}", remove_note)
    routes.add("GET", "/tags", list_tags)
    return routes
