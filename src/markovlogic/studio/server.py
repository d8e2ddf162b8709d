"""The studio's server: one page and a few questions, for this machine and whoever knows the token.

Every request is refused that names another host, comes from a page of another origin or lacks the token; such a request learns
nothing. Files are written inside of the working folder only. Work is done in another process.
"""

from __future__ import annotations

import contextlib
import hmac
import html
import json
import os
import secrets
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from markovlogic.errors import InputError
from markovlogic.report.files import atomic_file
from markovlogic.report.page import asset
from markovlogic.studio.process import WorkerProcess

HOST = "127.0.0.1"
MOST_BYTES = 50_000_000  # of a request
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self';"
    " img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
ASSETS = {"view.js": "text/javascript", "view.css": "text/css", "studio.js": "text/javascript", "studio.css": "text/css"}


@dataclass(frozen=True)
class Studio:
    """What a studio was opened with."""

    folder: Path  # the working folder
    model: str = ""  # a rule file; empty: none yet
    evidence: tuple[str, ...] = ()
    query: tuple[str, ...] = ()

    def start(self) -> dict[str, Any]:
        """What the page shows first."""
        text = ""
        path = self.folder / self.model if self.model else None
        if path is not None and path.exists():
            text = path.read_text(encoding="utf-8")
        return {"path": self.model, "text": text, "evidence": list(self.evidence), "query": list(self.query)}

    def save(self, name: str, text: str) -> str:
        """Write rules into the working folder; refuses other places."""
        path = (self.folder / name).resolve()
        if not name.strip() or not path.is_relative_to(self.folder.resolve()):
            raise InputError(f"{name!r} is not inside of {self.folder}", hint="the studio writes in its working folder only")
        if path.suffix.lower() != ".mln":
            raise InputError(f"{name} is no rule file", hint="give a name that ends with .mln")
        with atomic_file(path) as file:
            file.write(text.encode())
        return str(path.relative_to(self.folder.resolve()))


class Guard:
    """Lets only requests through that name this host, come from no other origin, and know the token."""

    def __init__(self, app: Any, token: str, port: int) -> None:
        self._app = app
        self._token = token.encode()
        self._hosts = {f"{name}:{port}".encode() for name in (HOST, "localhost")}
        self._origins = {b"http://" + host for host in self._hosts}

    async def __call__(self, scope: Mapping[str, Any], receive: Any, send: Any) -> None:
        """As ASGI has it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await (self._app if self._may(scope) else _refuse)(scope, receive, send)

    def _may(self, scope: Mapping[str, Any]) -> bool:
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        host, origin = headers.get(b"host", []), headers.get(b"origin", [])
        if len(host) != 1 or host[0].lower() not in self._hosts:
            return False
        if origin and (len(origin) != 1 or origin[0].lower() not in self._origins):
            return False
        if headers.get(b"sec-fetch-site", [b"none"])[0] in (b"cross-site", b"same-site"):
            return False
        if scope["method"] == "POST" and not headers.get(b"content-type", [b""])[0].startswith(b"application/json"):
            return False
        first = scope["path"].lstrip("/").partition("/")[0].encode("utf-8", "replace")
        return hmac.compare_digest(first, self._token)


async def _refuse(scope: Mapping[str, Any], receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 404, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


def application(studio: Studio, worker: WorkerProcess, token: str, port: int) -> Any:
    """The ASGI application."""
    try:
        from starlette.applications import Starlette
        from starlette.concurrency import run_in_threadpool
        from starlette.requests import Request
        from starlette.responses import JSONResponse, Response
        from starlette.routing import Route
    except ImportError:
        raise InputError("the studio needs starlette and uvicorn", hint="pip install 'markovlogic[studio]'") from None

    def answer(value: Any, status: int = 200) -> Any:
        return JSONResponse(value, status, headers=HEADERS)

    async def page(_: Request) -> Any:
        shown = _own("studio.html").replace("{{start}}", html.escape(json.dumps(studio.start())))
        return Response(shown, media_type="text/html", headers=HEADERS)

    async def file(request: Request) -> Any:
        name = request.path_params["name"]
        if name not in ASSETS:
            return Response(status_code=404, headers=HEADERS)
        text = asset(name) if name.startswith("view.") else _own(name)
        return Response(text, media_type=ASSETS[name], headers=HEADERS)

    async def question(request: Request) -> Any:
        given: Any = None
        with contextlib.suppress(ValueError):
            body = b""
            async for chunk in request.stream():
                body += chunk
                if len(body) > MOST_BYTES:
                    return answer({"message": "too large"}, 413)
            given = json.loads(body)
        if not isinstance(given, dict):
            return answer({"message": "no JSON object"}, 400)
        name = request.path_params["name"]
        if name not in QUESTIONS:
            return answer({"message": "no such question"}, 404)
        try:
            return answer(await run_in_threadpool(QUESTIONS[name], studio, worker, given))
        except InputError as error:
            return answer({"message": str(error)}, 400)
        except (KeyError, TypeError, ValueError) as error:
            return answer({"message": f"a question that nobody understands: {type(error).__name__}"}, 400)

    base = f"/{token}"
    routes = [
        Route(f"{base}/", page),
        Route(f"{base}/{{name:str}}", file),
        Route(f"{base}/ask/{{name:str}}", question, methods=["POST"]),
    ]
    return Guard(Starlette(routes=routes), token, port)


def _own(name: str) -> str:
    return (resources.files("markovlogic.studio") / name).read_text(encoding="utf-8")


def _check(studio: Studio, _: WorkerProcess, given: Mapping[str, Any]) -> Any:
    """Faults and findings of rule text, with the range that each is about."""
    own = _outline(studio, given)
    return {
        "problems": [
            {
                "message": one.message.replace(f"{studio.folder}{os.sep}", ""),
                "start": one.start,
                "end": one.end,
                "error": one.is_error,
                "line": own.source.line_of(one.start),
            }
            for one in own.problems()
        ],
        "rules": 0 if own.model is None else len(own.model.rules),
        "predicates": [*own.predicates],
    }


def _complete(studio: Studio, _: WorkerProcess, given: Mapping[str, Any]) -> Any:
    own = _outline(studio, given)
    return [{"name": one.name, "kind": one.kind, "detail": one.detail} for one in own.completions(int(given["offset"]))]


def _hover(studio: Studio, _: WorkerProcess, given: Mapping[str, Any]) -> Any:
    return {"text": _outline(studio, given).hover(int(given["offset"]))}


def _format(studio: Studio, _: WorkerProcess, given: Mapping[str, Any]) -> Any:
    from markovlogic.language.formatting import format_text

    return {"text": format_text(str(given["text"]), str(given.get("path") or "rules.mln"))}


def _outline(studio: Studio, given: Mapping[str, Any]) -> Any:
    from markovlogic.language.outline import Outline

    return Outline(str(given["text"]), str(studio.folder / str(given.get("path") or "rules.mln")))


def _save(studio: Studio, _: WorkerProcess, given: Mapping[str, Any]) -> Any:
    return {"path": studio.save(str(given["path"]), str(given["text"]))}


def _work(_: Studio, worker: WorkerProcess, given: Mapping[str, Any]) -> Any:
    if given["do"] not in ("run", "why", "explain", "facts", "learn"):
        raise InputError(f"{given['do']} is no job")
    return {"id": worker.submit(given)}


def _state(_: Studio, worker: WorkerProcess, given: Mapping[str, Any]) -> Any:
    return worker.state(int(given["id"])) or {"state": "failed", "message": "this run is forgotten", "faults": []}


def _stop(_: Studio, worker: WorkerProcess, given: Mapping[str, Any]) -> Any:
    worker.stop()
    return {}


QUESTIONS = {
    "check": _check,
    "complete": _complete,
    "hover": _hover,
    "format": _format,
    "save": _save,
    "work": _work,
    "state": _state,
    "stop": _stop,
}


@dataclass(frozen=True)
class Served:
    """A studio that can be opened."""

    url: str
    server: Any  # uvicorn's
    sockets: Sequence[socket.socket]

    def run(self) -> None:
        """Serve until `server.should_exit`."""
        self.server.run(sockets=list(self.sockets))


@contextlib.contextmanager
def served(studio: Studio, port: int = 0) -> Iterator[Served]:
    """A server on the loopback interface; port 0 takes a free one."""
    try:
        import uvicorn
    except ImportError:
        raise InputError("the studio needs starlette and uvicorn", hint="pip install 'markovlogic[studio]'") from None
    listening = socket.socket()
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((HOST, port))
        listening.listen()
    except OSError as error:
        listening.close()
        raise InputError(f"port {port} cannot be used: {error.strerror}", hint="leave out --port") from None
    port = listening.getsockname()[1]
    token = secrets.token_urlsafe(24)
    worker = WorkerProcess(str(studio.folder))
    try:
        app = application(studio, worker, token, port)
        config = uvicorn.Config(app, log_level="error", access_log=False, server_header=False, lifespan="off", ws="none")
        yield Served(f"http://{HOST}:{port}/{token}/", uvicorn.Server(config), (listening,))
    finally:
        worker.close()
        listening.close()
