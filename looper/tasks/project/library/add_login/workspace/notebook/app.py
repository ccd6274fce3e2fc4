"""The application: wires the parts, turns errors into responses, writes the log."""

import logging

from notebook.clock import Clock, SystemClock
from notebook.forms import Invalid
from notebook.routes import Context, router
from notebook.settings import Settings
from notebook.store import NotFound, Stale, Store
from notebook.web import HttpError, Request, Response

log = logging.getLogger("notebook")


class App:
    """Answers requests on an open store."""

    def __init__(self, store: Store, clock: Clock | None = None, settings: Settings | None = None):
        self._context = Context(store.notes, clock or SystemClock(), settings or Settings())
        self._router = router()

    def handle(self, request: Request) -> Response:
        """Never raises: what goes wrong inside is logged and answered with 500."""
        try:
            response = self._answer(request)
        except Exception:
            log.exception("%s %s failed", request.method, request.path)
            response = Response.of(500, {"error": "internal error"})
        log.info("%s %s %d", request.method, request.path, response.status)
        return response

    def _answer(self, request: Request) -> Response:
        try:
            handler, values = self._router.find(request.method, request.path)
            return handler(self._context, request, **values)
        except HttpError as error:
            return Response.of(error.status, {"error": error.message}, error.headers)
        except Invalid as error:
            return Response.of(422, {"error": "some fields cannot be taken", "fields": error.fields})
        except NotFound:
            return Response.of(404, {"error": "there is nothing here"})
        except Stale:
            return Response.of(409, {"error": "it was changed meanwhile; read it again"})
