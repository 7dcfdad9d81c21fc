"""The viewer's server: a page, news of the picture, its layers, and requests, over HTTP on the loopback alone.

Nobody gets an answer who does not know the token in the address; and a page of another site, whose browser may reach
this server too, is told from ours by the names of host and origin (Barth, Jackson, Mitchell: Robust Defenses for
Cross-Site PictureRequest Forgery, 2008), which also ends a name of another site that is made to mean this machine.
"""

from __future__ import annotations

import hmac
import json
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

from renderer.errors import UsageError
from renderer.viewer.live_picture import Floats, LivePicture, PictureRequest
from renderer.viewer.page_requests import changed

T = TypeVar("T")

HOST = "127.0.0.1"

#: So many are answered at a time, and a request may take so many seconds to come, and so many bytes.
MOST_CLIENTS, REQUEST_SECONDS, MOST_BYTES = 32, 30.0, 1 << 16

#: News are sent no faster, and where there are none a sign of life after so many seconds. At its end a server waits so
#: long at most until all pages have been told.
NEWS_SECONDS, SILENCE_SECONDS, END_SECONDS = 0.1, 5.0, 1.0

#: A page shows no more pixels: larger pictures have columns and rows left out.
MOST_SHOWN_PIXELS = 1 << 23

#: What every answer says to a browser: keep nothing, fetch nothing from elsewhere.
HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'",
}


class ViewerServer(ThreadingHTTPServer):
    """Answers the page in threads of its own, between `start` and `close`.

    live: what is shown, and where requests go.
    port: that it listens on, 0 for any that is free.
    listeners: threads that send news.

    Raises `UsageError` where the port is taken.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self, live: LivePicture, port: int = 0) -> None:
        self.live = live
        self.token = secrets.token_urlsafe(16)
        self.listeners: set[threading.Thread] = set()
        self._places = threading.BoundedSemaphore(MOST_CLIENTS)
        try:
            super().__init__((HOST, port), Answer)
        except OSError as error:
            raise UsageError(f"cannot listen on port {port}: {error.strerror}; choose another with --port") from error

    @property
    def address(self) -> str:
        """Returns the address of the page."""
        return f"http://{HOST}:{self.server_port}/{self.token}/"

    def start(self) -> None:
        """Answers from now on."""
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.1}, name="viewer", daemon=True).start()

    def close(self) -> None:
        """Tells the pages that it ends, and answers no more."""
        self.live.close()
        end = time.monotonic() + END_SECONDS
        for thread in tuple(self.listeners):
            thread.join(max(0.0, end - time.monotonic()))
        self.shutdown()
        self.server_close()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answers in a new thread, or hangs up where too many are being answered."""
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answers in this thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing of clients that have gone away."""


class Answer(BaseHTTPRequestHandler):
    """Answers one client."""

    protocol_version = "HTTP/1.1"
    timeout = REQUEST_SECONDS
    server: ViewerServer

    def do_GET(self) -> None:
        """Answers with the page, news, a layer, or a file."""
        routes = {
            "": self._send_page,
            "events": self._send_news,
            "picture": self._send_picture,
            "file": self._send_file,
        }
        self._answer(routes)

    def do_POST(self) -> None:
        """Takes a request."""
        self._answer({"request": self._take_request, "pause": self._take_pause})

    def log_message(self, *_arguments: Any, **_more: Any) -> None:
        """Says nothing: a terminal has other things to show."""

    def version_string(self) -> str:
        """Returns what the server calls itself."""
        return "tracecore"

    def _answer(self, routes: dict[str, Callable[[], None]]) -> None:
        """Follows the route of the path, if whoever asks may."""
        _, token, *rest = f"{urlsplit(self.path).path}/".split("/")
        route = routes.get(rest[0]) if rest and rest[1:] in ([], [""]) else None
        if not (self._is_of_this_site() and hmac.compare_digest(token.encode(), self.server.token.encode())):
            self._send(403, b"not for you", "text/plain")
        elif route is None:
            self._send(404, b"there is nothing here", "text/plain")
        else:
            route()

    def _is_of_this_site(self) -> bool:
        """Returns whether a browser asks that was given our address, for a page of ours."""
        sites = [f"{name}:{self.server.server_port}" for name in (HOST, "localhost")]
        origin = self.headers.get("Origin")
        return self.headers.get("Host") in sites and (origin is None or origin in [f"http://{site}" for site in sites])

    def _send_page(self) -> None:
        page = resources.files("renderer.viewer").joinpath("page.html").read_bytes()
        self._send(200, page, "text/html; charset=utf-8")

    def _send_news(self) -> None:
        """Sends what is shown, whenever it is something else, until the client has gone or the viewer ends."""
        self.close_connection = True
        thread, listeners = threading.current_thread(), self.server.listeners
        listeners.add(thread)
        try:
            self._begin(200, {"Content-Type": "text/event-stream"})
            number, live = -1, self.server.live
            while not live.is_closed:
                found = live.newer_than(number, SILENCE_SECONDS)
                if found is None:
                    self._send_event("alive")
                    continue
                number, shown = found
                news = json.dumps({"number": number, **shown.facts})
                self.wfile.write(f"data: {news}\n\n".encode())
                live.wait(NEWS_SECONDS)
            self._send_event("ended")
        finally:
            listeners.discard(thread)

    def _send_event(self, name: str) -> None:
        """Sends an event that says nothing but its name."""
        self.wfile.write(f"event: {name}\ndata:\n\n".encode())

    def _send_picture(self) -> None:
        """Sends a layer of what is shown: rows of float32, the least byte first."""
        number, shown = self.server.live.shown
        make = self._named("layer", shown.layers)
        if make is None:
            return
        layer, step = sampled(make())
        sizes = {"Height": layer.shape[0], "Width": layer.shape[1], "Channels": layer.shape[2], "Step": step}
        told = {f"X-{name}": str(value) for name, value in {**sizes, "Number": number}.items()}
        self._send(200, layer.astype("<f4").tobytes(), "application/octet-stream", told)

    def _send_file(self) -> None:
        """Sends a file of what is shown, which browsers keep."""
        _, shown = self.server.live.shown
        make = self._named("file", shown.files)
        if make is None:
            return
        stem = "".join(one if one.isascii() and one.isalnum() else "-" for one in Path(shown.facts["scene"]).stem)
        told = {"Content-Disposition": f'attachment; filename="{stem}{self._word("file")}"'}
        self._send(200, make(), "application/octet-stream", told)

    def _word(self, key: str) -> str:
        """Returns what the address says of a key, nothing if it says nothing."""
        return parse_qs(urlsplit(self.path).query).get(key, [""])[0]

    def _named(self, key: str, made: Mapping[str, Callable[[], T]]) -> Callable[[], T] | None:
        """Returns what makes the one that the address names; where there is none, that is the answer."""
        make = made.get(self._word(key))
        if make is None:
            self._send(404, f"there is no such {key}".encode(), "text/plain")
        return make

    def _take_request(self) -> None:
        """Takes a request for a picture."""
        self._take(lambda asked: self.server.live.request(request_of(self.server.live, asked)))

    def _take_pause(self) -> None:
        """Takes whether passes are wanted: {"paused": true or false}."""
        self._take(self._pause)

    def _pause(self, asked: Any) -> None:
        is_paused = asked.get("paused") if isinstance(asked, dict) else None
        if not isinstance(is_paused, bool):
            raise UsageError('expected {"paused": true} or {"paused": false}')
        self.server.live.pause(is_paused=is_paused)

    def _take(self, act: Callable[[Any], None]) -> None:
        """Does what a page asks for, and tells it if that cannot be had. act: called with the JSON that it sends."""
        try:
            act(self._read_json())
        except UsageError as error:
            self._send(400, json.dumps({"error": str(error)}).encode(), "application/json")
        else:
            self._send(200, b"{}", "application/json")

    def _read_json(self) -> Any:
        """Returns what the client sends. Raises `UsageError` where that is no JSON, or too much of it."""
        length, kind = self.headers.get("Content-Length", ""), self.headers.get_content_type()
        if not length.isdecimal() or int(length) > MOST_BYTES or kind != "application/json":
            self.close_connection = True
            raise UsageError(f"expected application/json of at most {MOST_BYTES} bytes")
        try:
            return json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise UsageError("expected JSON") from None

    def _send(self, status: int, content: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        if status != 200:
            self.close_connection = True
        self._begin(status, {"Content-Type": kind, "Content-Length": str(len(content)), **(headers or {})})
        self.wfile.write(content)

    def _begin(self, status: int, headers: dict[str, str]) -> None:
        """Sends the head of an answer."""
        self.send_response(status)
        connection = {"Connection": "close"} if self.close_connection else {}
        for name, value in {**HEADERS, **headers, **connection}.items():
            self.send_header(name, value)
        self.end_headers()


def request_of(live: LivePicture, asked: Any) -> PictureRequest:
    """Returns the request of a page: {"settings": {name: word or null}, "draft": true or false}.

    Raises `UsageError` for anything else, and where nothing can be asked for.
    """
    if live.settings is None:
        raise UsageError("this picture comes from a file; nothing of it can be changed")
    words = asked.get("settings") if isinstance(asked, dict) else None
    if not isinstance(words, dict) or not isinstance(asked.get("draft", False), bool):
        raise UsageError('expected {"settings": {NAME: WORD}, "draft": false}')
    return PictureRequest(settings=changed(live.settings, words), is_draft=asked.get("draft", False))


def sampled(layer: Floats) -> tuple[Floats, int]:
    """Returns a layer as (height, width, channels), of which every n-th column and row is left where there are too many
    pixels to be shown, and n."""
    step = 1
    while -(-layer.shape[0] // step) * -(-layer.shape[1] // step) > MOST_SHOWN_PIXELS:
        step += 1
    return layer.reshape(*layer.shape[:2], -1)[::step, ::step], step
