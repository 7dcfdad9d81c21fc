"""A browser without a window, driven over the pipe of its DevTools protocol."""

import base64
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

#: Programs that are such browsers.
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")

WAIT_SECONDS = 120.0


def browser_program() -> str | None:
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


class Browser:
    """A page of a browser, which reads commands from file descriptor 3 and writes answers to 4, with a NUL behind."""

    def __init__(self, program: str, folder: Path, size: tuple[int, int] = (1000, 640)) -> None:
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        words = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
        words += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
        words += [f"--user-data-dir={folder}", f"--window-size={size[0]},{size[1]}", "--remote-debugging-pipe"]
        script = f'exec 3</dev/fd/{to_browser} 4>/dev/fd/{from_browser}; exec "$0" "$@"'
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", script, program, *words, "about:blank"],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._number, self._read = 0, b""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def open(self, address: str) -> None:
        self.call("Page.navigate", url=address)

    def call(self, method: str, **parameters) -> dict:
        """The answer to a command about the page."""
        return self._call(method, self._session, **parameters)

    def value(self, script: str) -> object:
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, script: str) -> None:
        end = time.monotonic() + WAIT_SECONDS
        while not self.value(script):
            assert time.monotonic() < end, f"never true: {script}"
            time.sleep(0.05)

    def mouse(self, kind: str, x: float, y: float, modifiers: int = 0) -> None:
        """Press, move or release the left button, as `kind` says. modifiers: 1 Alt, 2 Ctrl, 8 Shift."""
        self.call(
            "Input.dispatchMouseEvent", type=f"mouse{kind}", x=x, y=y, button="left", clickCount=1, modifiers=modifiers
        )

    def drag(self, start: tuple[float, float], end: tuple[float, float], modifiers: int = 0) -> None:
        """Press the left button, move and release it."""
        self.mouse("Pressed", *start, modifiers)
        self.mouse("Moved", *end, modifiers)
        self.mouse("Released", *end, modifiers)

    def screenshot(self) -> bytes:
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._in)
        os.close(self._out)

    def _call(self, method: str, session: str | None = None, **parameters) -> dict:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        message |= {} if session is None else {"sessionId": session}
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = json.loads(self._next_message())
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def _next_message(self) -> bytes:
        while b"\0" not in self._read:
            piece = os.read(self._in, 1 << 16)
            assert piece, "the browser has ended"
            self._read += piece
        message, _, self._read = self._read.partition(b"\0")
        return message
