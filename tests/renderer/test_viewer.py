"""The viewer: what is shown and asked for between threads, what the server answers and to whom, and its page."""

import http.client
import io
import itertools
import json
import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data_files import data_text
from headless_browser import Browser, browser_program

import renderer
from renderer import Settings, cli
from renderer.commands import view
from renderer.film.picture_file import read_picture
from renderer.film.tone_mapping import ToneMapping
from renderer.viewer import file_watch, scene_show
from renderer.viewer import server as viewer_server
from renderer.viewer.file_watch import FileWatch
from renderer.viewer.live_picture import LivePicture, PictureRequest, Shown, mapping_facts
from renderer.viewer.page_requests import changed, command_line, words_of
from renderer.viewer.scene_show import SceneShow
from renderer.viewer.server import MOST_SHOWN_PIXELS, ViewerServer, sampled
from renderer.viewer.terminal import picture_text, protocol_of
from scenes.errors import SceneError

#: A floor under a lamp.
LIT_FLOOR = data_text("toml/lit-floor.toml")

SMALL = Settings(driver="whitted", size=(16, 12), passes=2, device="cpu", threads=1, quiet=True)

LIGHT = np.random.default_rng(1).gamma(0.5, 2.0, (12, 16, 3)).astype(np.float32)

#: How it is shown.
MAPPING = ToneMapping(exposure=0.5, white_point=(0.45, 0.41))

FACTS = {
    "status": "finished",
    "passes": 2,
    "of_passes": 2,
    "size": [16, 12],
    "whole": [16, 12],
    "layers": ["picture", "depth"],
    "mapping": mapping_facts(MAPPING),
    "scene": "cornell",
    "command": "tracecore render cornell",
    "words": {"driver": "whitted"},
    "choices": {"driver": ["photon", "whitted"], "kernel": [], "camera": ["hall"]},
    "camera": {"eye": [0, 0, 5], "forward": [0, 0, -1], "up": [0, 1, 0], "fov": 40, "distance": 5},
}


def test_picture() -> Shown:
    """A picture that took no rendering."""
    return Shown(facts=FACTS, layers={"picture": lambda: LIGHT, "depth": lambda: LIGHT[..., 0]})


test_picture.__test__ = False  # type: ignore[attr-defined]


@pytest.fixture
def live() -> LivePicture:
    made = LivePicture()
    made.settings = SMALL
    made.show(test_picture())
    return made


@pytest.fixture
def server(live: LivePicture) -> Iterator[ViewerServer]:
    made = ViewerServer(live)
    made.start()
    yield made
    made.close()


def ask(
    server: ViewerServer, route: str, body: object = None, **headers: str
) -> tuple[int, bytes, http.client.HTTPMessage]:
    """Status, content and head of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    path = route if route.startswith("/") else f"/{server.token}/{route}"
    sent = {"Content-Type": "application/json"} | {name.replace("_", "-"): text for name, text in headers.items()}
    content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    connection.request("GET" if body is None else "POST", path, content, sent)
    answer = connection.getresponse()
    found = answer.status, answer.read(), answer.headers
    connection.close()
    return found


def test_the_newest_picture_and_request_alone_are_kept(live: LivePicture) -> None:
    live.show(Shown(facts={"status": "two"}))
    assert live.shown[1].facts == {"status": "two"}
    assert live.newer_than(1, 5.0) == live.shown
    assert live.newer_than(2, 0.01) is None
    for passes in (3, 4):
        live.request(PictureRequest(settings=Settings(passes=passes)))
    assert live.has_request
    assert live.next_request().settings.passes == 4
    assert not live.has_request


def test_requests_are_words_of_the_command_line() -> None:
    found = changed(SMALL, {"eye": "1,2,-3.5", "size": "8x6", "passes": "", "driver": "path", "crop": "1,2,3,4"})
    assert (found.eye, found.size, found.passes, found.driver) == ((1.0, 2.0, -3.5), (8, 6), None, "path")
    assert found.crop == (1, 2, 3, 4)
    assert words_of(found) == {"driver": "path", "size": "8x6", "crop": "1,2,3,4", "frame": "0", "eye": "1,2,-3.5"}


def test_the_page_and_the_layers(server: ViewerServer) -> None:
    status, page, head = ask(server, "")
    assert (status, head["Cache-Control"]) == (200, "no-store")
    assert b"<!DOCTYPE html>" in page
    assert "default-src 'none'" in head["Content-Security-Policy"]
    _, data, head = ask(server, "picture?layer=picture")
    assert np.array_equal(np.frombuffer(data, "<f4").reshape(12, 16, 3), LIGHT)
    assert [head[f"X-{name}"] for name in ("Width", "Height", "Channels", "Number")] == ["16", "12", "3", "1"]
    assert len(ask(server, "picture?layer=depth")[1]) == 4 * 16 * 12
    assert ask(server, "picture?layer=none")[0] == 404
    assert ask(server, "nothing")[0] == 404


def test_strangers_get_nothing(server: ViewerServer, live: LivePicture) -> None:
    token, port = server.token, server.server_port
    assert len(token) >= 22
    for route in ("/", "/x/", f"/{token[:-1]}/", f"/{token}x/picture?layer=picture", "//"):
        assert ask(server, route)[:2] == (403, b"not for you")
    assert ask(server, "", Host="evil.example")[0] == 403
    assert ask(server, "", Host=f"evil.example:{port}")[0] == 403
    assert ask(server, "request", {"settings": {}}, Origin="http://evil.example")[0] == 403
    assert ask(server, "", Host=f"localhost:{port}")[0] == 200
    assert ask(server, "request", {"settings": {}}, Origin=f"http://127.0.0.1:{port}")[0] == 200
    live.next_request()


def test_requests_arrive_and_bad_ones_do_not(server: ViewerServer, live: LivePicture) -> None:
    assert ask(server, "request", {"settings": {"passes": "9"}, "draft": True})[0] == 200
    request = live.next_request()
    assert (request.settings.passes, request.is_draft, request.settings.driver) == (9, True, "whitted")
    for body in (
        b"{",
        b"[" * 5000,
        b"[]",
        {"settings": 1},
        {"settings": {}, "draft": 1},
        {"settings": {"passes": "0"}},
    ):
        status, content, _ = ask(server, "request", body)
        assert (status, list(json.loads(content))) == (400, ["error"])
    assert ask(server, "request", {"settings": {}}, Content_Type="text/plain")[0] == 400
    assert ask(server, "request", b"x", Content_Length="99999999")[0] == 400
    assert not live.has_request


def events(server: ViewerServer) -> tuple[socket.socket, Iterator[dict[str, object]]]:
    """A connection on which news come, and these."""
    connection = socket.create_connection(("127.0.0.1", server.server_port), timeout=20)
    connection.sendall(f"GET /{server.token}/events HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n\r\n".encode())
    lines = connection.makefile("r")
    return connection, (json.loads(line[6:]) for line in lines if line.startswith("data: "))


def test_news_come_as_they_happen_and_clients_may_go(server: ViewerServer, live: LivePicture) -> None:
    connection, news = events(server)
    assert next(news)["number"] == 1
    live.show(Shown(facts={"status": "rendering", "error": "a\nb"}))
    found = next(news)
    assert (found["number"], found["error"]) == (2, "a\nb")
    connection.close()
    for _ in range(3):
        live.show(test_picture())
        assert ask(server, "")[0] == 200


def test_a_page_is_told_that_the_program_lives_and_that_it_ends(live, monkeypatch):
    monkeypatch.setattr(viewer_server, "SILENCE_SECONDS", 0.01)
    made = ViewerServer(live)
    made.start()
    connection = socket.create_connection(("127.0.0.1", made.server_port), timeout=20)
    connection.sendall(f"GET /{made.token}/events HTTP/1.1\r\nHost: 127.0.0.1:{made.server_port}\r\n\r\n".encode())
    lines = connection.makefile("r")
    assert "event: alive\n" in itertools.islice(lines, 30)
    made.close()
    assert [line for line in lines if line.strip()][-2:] == ["event: ended\n", "data:\n"]
    assert made.listeners == set()
    connection.close()


def test_no_more_clients_than_there_is_room_for(server: ViewerServer, live: LivePicture) -> None:
    server._places = threading.BoundedSemaphore(2)
    clients = [events(server) for _ in range(2)]
    assert all(next(news)["number"] == 1 for _, news in clients)
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        ask(server, "")
    live.close()
    for connection, news in clients:
        assert list(news) == []
        connection.close()


def shows(live: LivePicture, count: int, then: PictureRequest | None = None) -> list[Shown]:
    """What a show of the Cornell box shows, until so many pictures have all their passes; then it is interrupted."""
    seen: list[Shown] = []
    show, ends = live.show, list[int]()

    def look(shown: Shown) -> None:
        seen.append(shown)
        show(shown)
        if shown.facts["status"] in ("finished", "refused"):
            ends.append(1)
            if len(ends) == count:
                live.next_request = interrupt  # type: ignore[method-assign]
            elif then is not None:
                live.request(then)

    def interrupt() -> PictureRequest:
        raise KeyboardInterrupt

    live.show = look  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        SceneShow("cornell", live).run(PictureRequest(settings=SMALL))
    return seen


@pytest.fixture
def fresh() -> LivePicture:
    made = LivePicture()
    made.settings = SMALL
    return made


def test_a_scene_is_shown_with_the_bits_of_a_render(fresh: LivePicture, monkeypatch: pytest.MonkeyPatch) -> None:
    opens: list[int] = []
    opened = scene_show.opened  # type: ignore[attr-defined]
    monkeypatch.setattr(scene_show, "opened", lambda plan: (opens.append(1), opened(plan))[1])
    moved = changed(SMALL, {"eye": "0.5,1,2", "crop": "3,2,8,6"})
    seen = shows(fresh, 2, PictureRequest(settings=moved))
    first, last = (one for one in seen if one.facts["status"] == "finished")
    assert np.array_equal(first.layers["picture"](), renderer.render("cornell", SMALL).image)
    assert first.facts["command"] == "tracecore render cornell --driver whitted --size 16x12 --device cpu --threads 1"
    assert np.array_equal(last.layers["picture"](), renderer.render("cornell", moved).image)
    assert (last.facts["size"], last.facts["whole"]) == ([8, 6], [16, 12])
    assert last.facts["camera"]["eye"] == [0.5, 1.0, 2.0]
    assert 0.0 < last.facts["camera"]["distance"] < 10.0
    assert opens == [1], "the tracer stays open where triangles stand still"
    json.dumps(last.facts, allow_nan=False)


def test_a_draft_is_small_and_a_refusal_is_told(fresh: LivePicture) -> None:
    draft = shows(fresh, 2, PictureRequest(settings=SMALL, is_draft=True))[-1]
    assert (draft.facts["size"], draft.facts["passes"], draft.facts["is_draft"]) == ([4, 3], 1, True)
    again = LivePicture()
    refused = shows(again, 2, PictureRequest(settings=changed(SMALL, {"driver": "sppn"})))[-1]
    assert refused.facts["error"].startswith("unknown driver 'sppn'")
    assert again.settings == SMALL
    assert "picture" in refused.layers


def test_the_command_shows_a_file_and_ends_with_ctrl_c(tmp_path, monkeypatch, capsys):
    np.save(tmp_path / "a.npy", LIGHT)
    answers: list[tuple[int, bytes]] = []

    def look(live: LivePicture) -> PictureRequest:
        address = re.search(r"http://127.0.0.1:(\d+)(/\S+)", capsys.readouterr().out)
        assert address is not None
        connection = http.client.HTTPConnection("127.0.0.1", int(address[1]), timeout=20)
        connection.request("GET", f"{address[2]}picture?layer=picture")
        answer = connection.getresponse()
        answers.append((answer.status, answer.read()))
        raise KeyboardInterrupt

    monkeypatch.setattr(LivePicture, "next_request", look)
    assert cli.main(["view", str(tmp_path / "a.npy"), "--no-browser"]) == 0
    assert answers == [(200, LIGHT.tobytes())]


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY garbage", b"\x89PNG\r\n\x1a\n"])
@pytest.mark.parametrize("suffix", [".npy", ".png", ".exr"])
def test_files_without_a_picture(suffix, content, tmp_path, capsys):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(content)
    assert cli.main(["view", str(path), "--no-browser"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("environment", "protocol"),
    [
        ({"TERM": "xterm-kitty"}, "kitty"),
        ({"TERM_PROGRAM": "iTerm.app", "TERM": "xterm-256color"}, "iterm"),
        ({"TERM": "foot"}, "sixel"),
        ({"TERM": "xterm-256color"}, None),
        ({"TERM": "xterm-kitty", "TMUX": "/tmp/x"}, None),
    ],
)
def test_terminals_that_show_pictures(environment: dict[str, str], protocol: str | None) -> None:
    assert protocol_of(environment) == protocol


def test_pictures_as_terminals_take_them() -> None:
    pixels = ToneMapping()(LIGHT)
    kitty = picture_text(pixels, "kitty")
    assert kitty.startswith("\x1b_Ga=T,f=100,m=0;iVBOR")
    noise = np.random.default_rng(0).integers(0, 256, (60, 900, 3), np.uint8)
    pieces = picture_text(noise, "kitty").split("\x1b\\")[:-1]
    assert all(len(piece.partition(";")[2]) <= 4096 for piece in pieces)
    assert [piece.partition(";")[0][-3:] for piece in pieces] == ["m=1"] * (len(pieces) - 1) + ["m=0"]
    assert picture_text(pixels, "iterm").startswith("\x1b]1337;File=inline=1;width=16px:iVBOR")
    red = np.zeros((6, 2, 3), np.uint8)
    red[:3, 0] = (255, 0, 0)
    sixel = picture_text(red, "sixel")
    color = re.search(r"#(\d+);2;100;0;0", sixel)
    assert color is not None
    assert f"#{color[1]}F?" in sixel, "63 + 1 + 2 + 4 in the first column, nothing in the second"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = browser_program()
    if program is None:
        pytest.skip("no Chromium is installed")
    made = Browser(program, tmp_path_factory.mktemp("browser"))
    yield made
    made.close()


def painted(browser: Browser) -> np.ndarray:
    script = "Array.from(paint.getImageData(0, 0, canvas.width, canvas.height).data)"
    size = browser.value("[canvas.height, canvas.width]")
    return np.array(browser.value(script), np.uint8).reshape(*size, 4)[..., :3]  # type: ignore[misc]


def test_the_page_in_a_browser(browser: Browser, server: ViewerServer, live: LivePicture) -> None:
    browser.open(server.address)
    browser.wait_for("document.body?.dataset.shown === 'picture 1'")
    assert np.array_equal(painted(browser), MAPPING(LIGHT))
    assert browser.value("$('command').textContent") == "tracecore render cornell --passes 2"
    browser.value("expose(-1, 'linear')")
    assert np.array_equal(painted(browser), replace(MAPPING, exposure=-1.0, curve="linear")(LIGHT))
    command = browser.value("$('command').textContent")
    assert command == "tracecore render cornell --passes 2 --exposure -1 --tone-map linear"
    browser.value("$('layer').value = 'depth', $('layer').dispatchEvent(new Event('change')), 0")
    browser.wait_for("document.body.dataset.shown === 'depth 1'")

    middle, beside = (300.0, 200.0), (340.0, 200.0)
    browser.drag(middle, beside)
    request = last_request(live)
    assert not request.is_draft
    assert request.settings.up == (0.0, 1.0, 0.0)
    np.testing.assert_allclose(request.settings.look_at, (0.0, 0.0, 0.0), atol=1e-5)  # type: ignore[arg-type]
    assert request.settings.eye is not None
    assert np.linalg.norm(request.settings.eye) == pytest.approx(5.0, rel=1e-4)
    assert request.settings.eye[0] < -0.1, "what is dragged to the right is seen from the left"
    assert abs(request.settings.eye[1]) < 1e-5

    live.show(
        Shown(facts={**FACTS, "status": "refused", "error": "<b>no</b> such kernel"}, layers=test_picture().layers)
    )
    browser.wait_for("document.body.dataset.status === 'refused'")
    assert browser.value("$('error').textContent") == "<b>no</b> such kernel"


def test_a_page_says_what_the_first_picture_waits_for(browser: Browser) -> None:
    server = ViewerServer(LivePicture())
    server.start()
    browser.open(server.address)
    browser.wait_for("document.body?.dataset.status === 'starting'")
    assert browser.value("$('status').textContent") == "starting; what this machine has not compiled yet takes a minute"
    server.close()


def is_seen(browser: Browser, name: str) -> object:
    return browser.value(f"$('{name}').getBoundingClientRect().height > 0")


@pytest.mark.parametrize("frames", [1, 30])
def test_a_page_has_a_slider_for_films_alone(frames: int, browser: Browser, live: LivePicture, server: ViewerServer):
    live.show(Shown(facts={**FACTS, "frames": frames}, layers=test_picture().layers))
    browser.open(server.address)
    browser.wait_for("document.body?.dataset.status === 'finished'")
    assert is_seen(browser, "driver")
    assert is_seen(browser, "film") == (frames > 1)


@pytest.mark.parametrize("width", [1200, 700, 360])
def test_a_page_fits_into_windows(width: int, browser: Browser, server: ViewerServer) -> None:
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=700, deviceScaleFactor=1, mobile=False)
    try:
        browser.open(server.address)
        browser.wait_for("document.body?.dataset.shown === 'picture 1'")
        assert browser.value("innerWidth") == width
        assert browser.value(f"document.documentElement.scrollWidth <= {width}")
        assert all(is_seen(browser, name) for name in ("canvas", "exposure", "pause", "command"))
    finally:
        browser.call("Emulation.clearDeviceMetricsOverride")


def again(server: ViewerServer) -> ViewerServer:
    """A server with the same address, which another one has left."""
    live = LivePicture()
    live.show(test_picture())
    made = ViewerServer(live, server.server_port)
    made.token = server.token
    made.start()
    return made


@pytest.mark.parametrize("says_so", [True, False])
def test_a_page_says_that_the_program_has_gone_and_finds_it_again(says_so, browser, live, monkeypatch):
    if not says_so:  # as where it is killed
        monkeypatch.setattr(viewer_server.Answer, "_send_event", lambda self, name: None)
    live.show(Shown(facts=FACTS | {"status": "rendering", "passes": 1}, layers=test_picture().layers))
    server = ViewerServer(live)
    server.start()
    browser.open(server.address)
    browser.wait_for("document.body?.dataset.status === 'rendering' && state.picture !== null")
    server.close()
    browser.wait_for("document.body.dataset.status === 'gone'")
    why = "the program has ended" if says_so else "the program has ended, or cannot be reached"
    assert browser.value("$('status').textContent") == f"{why}, 1 of 2 passes, 16×12"
    browser.value("window.kept = fetch, fetch = () => Promise.reject(new TypeError('refused')), request({}), 0")
    browser.wait_for("$('error').textContent === 'this was not asked for: the program cannot be reached'")
    browser.value("fetch = kept, 0")
    back = again(server)
    browser.wait_for("document.body.dataset.status === 'finished'")
    assert browser.value("$('status').textContent") == "finished, 2 of 2 passes, 16×12"
    back.close()


def test_a_page_says_that_the_program_does_not_answer(browser: Browser, server: ViewerServer) -> None:
    """As where it is stopped, or the network is gone."""
    browser.open(server.address)
    browser.wait_for("document.body?.dataset.status === 'finished'")
    browser.value("state.patience = 1, heard(), 0")
    browser.wait_for("document.body.dataset.status === 'gone'")
    assert browser.value("$('status').textContent") == "the program does not answer, 2 of 2 passes, 16×12"
    browser.value("state.patience = 60000, 0")
    server.live.show(test_picture())
    browser.wait_for("document.body.dataset.status === 'finished'")


def last_request(live: LivePicture) -> PictureRequest:
    end = time.monotonic() + 30.0
    while (request := live.next_request()).is_draft:
        assert time.monotonic() < end
    return request


def test_a_scene_in_a_browser(browser: Browser, fresh: LivePicture) -> None:
    server = ViewerServer(fresh)
    server.start()

    def look() -> None:
        browser.open(server.address)
        browser.wait_for("document.body?.dataset.status === 'finished' && state.picture?.width === 16")
        seen.append(painted(browser))
        browser.value("$('passes').value = 3, $('passes').dispatchEvent(new Event('change')), 0")
        browser.wait_for("state.facts.passes === 3 && state.facts.status === 'finished'")
        seen.append(browser.value("$('command').textContent"))

    seen: list[object] = []
    page = threading.Thread(target=look)
    page.start()
    next_request = fresh.next_request

    def until_seen() -> PictureRequest:
        while page.is_alive() and not fresh.has_request:
            time.sleep(0.02)
        if not fresh.has_request:
            raise KeyboardInterrupt
        return next_request()

    fresh.next_request = until_seen  # type: ignore[method-assign]
    try:
        with pytest.raises(KeyboardInterrupt):
            SceneShow("cornell", fresh).run(PictureRequest(settings=SMALL))
    finally:
        server.close()
    assert np.array_equal(seen[0], renderer.render("cornell", SMALL).pixels)  # type: ignore[arg-type]
    assert str(seen[1]).endswith("--device cpu --threads 1 --passes 3")


def in_node(tmp_path: Path, layers: dict[str, np.ndarray], facts: dict[str, Any], done: str) -> Any:
    """What the page's script makes of facts and layers, without a browser. done: JavaScript whose `found` that is."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no Node is installed")
    page = resources.files("renderer.viewer").joinpath("page.html").read_text(encoding="utf-8")
    script = page.split("<script>")[1].split("</script>")[0]
    given = {"facts": facts | {"number": 3}, "layers": {name: layer.ravel().tolist() for name, layer in layers.items()}}
    begin = "state.facts = GIVEN.facts; tell({}); await fetchPicture(); const found = {};"
    end = "console.log(JSON.stringify(found)); process.exit(0);"
    parts = [data_text("viewer/page_in_node.js"), f"const GIVEN = {json.dumps(given)};", script]
    (tmp_path / "page.js").write_text("\n".join([*parts, f"(async () => {{ {begin} {done} {end} }})();"]))
    made = subprocess.run([node, str(tmp_path / "page.js")], capture_output=True, text=True, timeout=60, check=False)
    assert made.returncode == 0, made.stderr
    return json.loads(made.stdout)


def test_the_page_compares_with_a_reference(tmp_path: Path) -> None:
    """Beside it, by the difference, and by the error relative to it, whose brightness has a floor."""
    reference = np.random.default_rng(2).gamma(0.5, 2.0, LIGHT.shape).astype(np.float32)
    facts = FACTS | {"layers": ["picture", "reference"], "mapping": mapping_facts(ToneMapping(curve="linear"))}
    shown = """
    for (const how of ["", "split", "difference", "relative"]) {
      $("compare").value = how; $("split").value = "0.25"; $("compare").dispatchEvent(new Event("input"));
      found[how] = bytes();
    }
    """
    made = in_node(tmp_path, {"picture": LIGHT, "reference": reference}, facts, shown)
    found = {how: np.array(numbers, np.uint8).reshape(LIGHT.shape) for how, numbers in made.items()}
    plain = ToneMapping(curve="linear")
    assert np.array_equal(found[""], plain(LIGHT))
    assert np.array_equal(found["split"][:, :4], plain(reference)[:, :4])
    assert np.array_equal(found["split"][:, 4:], plain(LIGHT)[:, 4:])
    mean = (LIGHT - reference).astype(np.float64).mean(axis=2)
    signed = np.stack([mean, np.zeros_like(mean), -mean], axis=2).astype(np.float32)
    assert np.abs(found["difference"].astype(int) - plain(signed)).max() <= 1
    brightness = reference.mean(axis=2) + 0.01 * reference.mean()
    relative = np.sqrt(np.square(LIGHT - reference).mean(axis=2)) / brightness
    shades = np.stack([np.clip(3.0 * relative - step, 0.0, 1.0) for step in range(3)], axis=2)
    assert np.abs(found["relative"] / 255.0 - shades).max() < 0.005


def test_keys_and_buttons_of_the_page(tmp_path: Path) -> None:
    facts = FACTS | {"status": "rendering", "files": [".png", ".exr"], "frames": 21, "words": {"frame": 3}}
    done = """
    found.files = elements.files.children.filter(one => one.href).map(one => one.href);
    found.hidden = elements.comparing.hidden;
    found.pause = elements.pause.textContent;
    press(" "); press("ArrowLeft"); press("+");
    await new Promise(next => setTimeout(next, 20));
    state.facts = {...state.facts, status: "paused"}; tell({});
    found.goOn = elements.pause.textContent;
    elements.pause.click();
    await new Promise(next => setTimeout(next, 20));
    state.facts = {...state.facts, status: "finished"}; tell({});
    press(" ");
    await new Promise(next => setTimeout(next, 20));
    found.film = [elements.film.hidden, elements.frames.max, elements.frames.value];
    elements.frames.value = "7";
    elements.frames.dispatchEvent({type: "input"});
    await new Promise(next => setTimeout(next, 150));
    elements.frames.dispatchEvent({type: "change"});
    await new Promise(next => setTimeout(next, 20));
    Object.assign(found, {asked, exposure: state.exposure, isDisabled: elements.pause.disabled});
    """
    found = in_node(tmp_path, {"picture": LIGHT}, facts, done)
    assert found["files"] == ["file?file=.png", "file?file=.exr"]
    assert (found["hidden"], found["pause"], found["goOn"]) == (True, "pause", "go on")
    first, turned, last, film, still = found["asked"]
    assert film == ["request", {"settings": {"frame": "7"}, "draft": True}]
    assert still == ["request", {"settings": {"frame": "7"}, "draft": False}]
    assert found["film"] == [False, 20, 3]
    assert (first, last) == (["pause", {"paused": True}], ["pause", {"paused": False}])
    eye = np.array([float(word) for word in turned[1]["settings"]["eye"].split(",")])
    angle = np.degrees(np.arctan2(eye[0], eye[2]))
    assert np.linalg.norm(eye) == pytest.approx(5.0)
    assert abs(angle) == pytest.approx(9.0)
    assert found["exposure"] == 1.0
    assert found["isDisabled"]


def test_files_of_the_picture_are_sent(server: ViewerServer, live: LivePicture) -> None:
    picture = renderer.render("cornell", SMALL)
    live.show(scene_show.shown(picture, {**FACTS, "scene": 'here/a "b".toml'}))
    assert live.shown[1].facts["files"][:2] == [".png", ".npy"]
    status, content, head = ask(server, "file?file=.png")
    assert (status, content) == (200, picture.png)
    assert head["Content-Disposition"] == 'attachment; filename="a--b-.png"'
    status, content, _ = ask(server, "file?file=.npy")
    assert np.array_equal(np.load(io.BytesIO(content)), picture.image)
    assert [ask(server, f"file{query}")[0] for query in ("?file=.sh", "", "?file=")] == [404] * 3


def test_a_pause_is_asked_for_in_words(server: ViewerServer, live: LivePicture) -> None:
    assert ask(server, "pause", {"paused": True})[0] == 200
    assert live.is_paused
    for wrong in ({}, {"paused": 1}, [], b"{"):
        assert ask(server, "pause", wrong)[0] == 400
    assert live.is_paused
    assert ask(server, "pause", {"paused": False})[0] == 200
    assert not live.is_paused


def test_a_picture_waits_while_it_is_paused_and_has_the_same_bits(fresh: LivePicture) -> None:
    """The first pass that is shown pauses it; what has been shown then is whole."""
    seen, show, settings = list[Shown](), fresh.show, replace(SMALL, passes=4)

    def look(shown: Shown) -> None:
        seen.append(shown)
        show(shown)
        if len(seen) == 1:
            fresh.pause(is_paused=True)
        elif shown.facts["status"] == "paused":
            threading.Timer(0.2, lambda: fresh.pause(is_paused=False)).start()

    fresh.show = look  # type: ignore[method-assign]
    made = SceneShow("cornell", fresh)
    made.render(PictureRequest(settings=settings))
    assert [one.facts["status"] for one in seen[:2]] == ["rendering", "paused"]
    assert seen[-1].facts["status"] == "finished"
    first, last = seen[1], seen[-1]
    assert np.array_equal(first.layers["picture"](), renderer.render("cornell", replace(settings, passes=1)).image)
    assert np.array_equal(last.layers["picture"](), renderer.render("cornell", settings).image)


def test_a_request_ends_a_pause(fresh: LivePicture) -> None:
    fresh.pause(is_paused=True)
    threading.Timer(0.1, lambda: fresh.request(PictureRequest(settings=SMALL))).start()
    fresh.wait_for_more()
    assert fresh.has_request
    assert not fresh.is_paused


def test_a_scene_that_changes_is_read_again(fresh: LivePicture, tmp_path: Path) -> None:
    """A request that comes before it is read does not lose that; of a file that is wrong the scene before stays."""
    path = tmp_path / "room.toml"
    path.write_text(LIT_FLOOR)
    made = SceneShow(str(path), fresh)
    assert made.files == (path,)
    made.render(PictureRequest(settings=SMALL))
    assert [one.resolve() for one in made.files] == [path.resolve()]
    assert fresh.shown[1].facts["frames"] == 1
    grey = fresh.shown[1].layers["picture"]()
    path.write_text(LIT_FLOOR.replace("0.5, 0.5, 0.5", "0.5, 0.0, 0.0"))
    fresh.request(PictureRequest(settings=SMALL, is_new_scene=True))
    fresh.request(PictureRequest(settings=changed(SMALL, {"passes": "3"})))
    request = fresh.next_request()
    assert (request.is_new_scene, request.settings.passes) == (True, 3)
    made.render(request)
    red = fresh.shown[1].layers["picture"]()
    assert grey[..., 1].any()
    assert red[..., 0].any()
    assert not red[..., 1].any()
    path.write_text("nonsense")
    with pytest.raises(SceneError):
        made.render(PictureRequest(settings=SMALL, is_new_scene=True))
    made.render(PictureRequest(settings=SMALL))
    assert not fresh.shown[1].layers["picture"]()[..., 1].any()


def test_files_are_watched_until_they_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_watch, "LOOK_SECONDS", 0.01)
    path, seen = tmp_path / "a.toml", threading.Semaphore(0)
    files = [path]
    path.write_text("one")
    watch = FileWatch(lambda: files, seen.release)
    assert not seen.acquire(timeout=0.1)
    path.write_text("two, longer")
    assert seen.acquire(timeout=20.0)
    path.unlink()
    assert not seen.acquire(timeout=0.1)
    path.write_text("three, longer still")
    assert seen.acquire(timeout=20.0)
    other = tmp_path / "b.toml"
    other.write_text("a file that is new to it has not changed")
    files.append(other)
    assert not seen.acquire(timeout=0.1)
    other.write_text("but now it has")
    assert seen.acquire(timeout=20.0)
    watch.close()
    path.write_text("four")
    assert not seen.acquire(timeout=0.1)


def test_a_reference_is_a_layer_where_it_has_the_size(tmp_path, monkeypatch, capsys):
    np.save(tmp_path / "a.npy", LIGHT)
    np.save(tmp_path / "b.npy", 2.0 * LIGHT)
    np.save(tmp_path / "small.npy", LIGHT[:4])
    shown: list[Shown] = []

    def look(live: LivePicture) -> PictureRequest:
        shown.append(live.shown[1])
        raise KeyboardInterrupt

    monkeypatch.setattr(LivePicture, "next_request", look)
    words = ["view", str(tmp_path / "a.npy"), "--no-browser", "--compare"]
    assert cli.main([*words, str(tmp_path / "b.npy")]) == 0
    assert np.array_equal(shown[0].layers["reference"](), 2.0 * LIGHT)
    capsys.readouterr()
    assert cli.main([*words, str(tmp_path / "small.npy")]) == 2
    assert capsys.readouterr().err == "tracecore: error: --compare: the picture is of 16x4 pixels; expected 16x12\n"
    picture = renderer.render("cornell", SMALL)
    assert "reference" in scene_show.shown(picture, FACTS, picture.image).layers
    assert "reference" not in scene_show.shown(picture, FACTS, picture.image[:4]).layers


def test_maps_of_floats_are_pictures_too(tmp_path: Path) -> None:
    (tmp_path / "a.pfm").write_bytes(b"PF\n16 12\n-1.0\n" + LIGHT[::-1].astype("<f4").tobytes())
    assert np.array_equal(read_picture(tmp_path / "a.pfm").image, LIGHT)


def test_large_pictures_are_thinned() -> None:
    large = np.broadcast_to(np.float32(1.0), (4000, 5000, 3))
    thin, step = sampled(large)
    assert (thin.shape, step) == ((2000, 2500, 3), 2)
    assert thin.shape[0] * thin.shape[1] <= MOST_SHOWN_PIXELS
    assert sampled(LIGHT[..., 0])[0].shape == (12, 16, 1)


def test_no_browser_is_opened_without_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    assert not view.has_screen()
    monkeypatch.setenv("DISPLAY", ":0")
    assert view.has_screen()


def test_the_command_line_means_these_settings() -> None:
    made = Settings(driver="path", eye=(0.1, 1 / 3, -2.0), size=(16, 12), layers=True, fov=30.0, crop=(1, 2, 3, 4))
    words = command_line("my scene.aff", made, 5).split()
    assert words[:4] == ["tracecore", "render", "'my", "scene.aff'"]
    arguments = cli.make_parser().parse_args(["render", "s.aff", *words[4:]])
    assert (
        renderer.Settings(
            **{name: getattr(arguments, name) for name in ("driver", "eye", "size", "layers", "fov", "crop")}
        )
        == made
    )
    assert (arguments.passes, str(arguments.output)) == (5, "picture.exr")
    assert command_line("a", Settings(layers=True)) == "tracecore render a --layers -o picture.exr"
