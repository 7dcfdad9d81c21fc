"""A live picture stands between the thread that renders and those that answer the page: the newest picture alone is
kept, and the newest request."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from renderer.film.tone_mapping import ToneMapping, adaptation
from renderer.settings.picture import Settings

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, kw_only=True, eq=False)
class Shown:
    """Holds what the page shows at a moment.

    facts: all that it says beside the picture, as JSON has it.
    layers: make the layers by name, each (height, width) or (height, width, 3) float32, the picture first.
    files: make the contents of files of the picture, by what their names end in.
    """

    facts: Mapping[str, Any]
    layers: Mapping[str, Callable[[], Floats]] = field(default_factory=dict)
    files: Mapping[str, Callable[[], bytes]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class PictureRequest:
    """Says what is to be rendered.

    settings: of the picture.
    is_draft: whether a small picture will do, as while the camera is being moved.
    is_new_scene: whether the file of the scene has changed, so that it is to be read again.
    """

    settings: Settings
    is_draft: bool = False
    is_new_scene: bool = False


def mapping_facts(mapping: ToneMapping) -> dict[str, Any]:
    """Returns how a picture is shown, as the page follows it."""
    white = mapping.white_point
    return {
        "exposure": mapping.exposure,
        "curve": mapping.curve,
        "white": mapping.white,
        "adaptation": None if white is None else adaptation(white).tolist(),
    }


def do_nothing() -> None:
    """Does nothing: what stops a render while there is none."""


class LivePicture:
    """Holds the newest picture and the newest request, for several threads.

    number: counts what has been shown; 0 before the first.
    """

    def __init__(self) -> None:
        self.number = 0
        self._stop_render: Callable[[], None] = do_nothing
        self._shown = Shown(facts={"status": "starting"})
        self._settings: Settings | None = None
        self._request: PictureRequest | None = None
        self._changed = threading.Condition()
        self._is_closed = self._is_paused = False

    @property
    def shown(self) -> tuple[int, Shown]:
        """Returns what is shown, and its number."""
        with self._changed:
            return self.number, self._shown

    def show(self, shown: Shown) -> None:
        """Shows something, in place of what was shown before."""
        with self._changed:
            self.number += 1
            self._shown = shown
            self._changed.notify_all()

    def newer_than(self, number: int, seconds: float) -> tuple[int, Shown] | None:
        """Returns what is shown and its number, as soon as that is not `number`; None after so many seconds, and where
        the viewer has ended."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or self.number != number, seconds)
            return None if self._is_closed or self.number == number else (self.number, self._shown)

    @property
    def is_closed(self) -> bool:
        """Returns whether the viewer has ended."""
        return self._is_closed

    def wait(self, seconds: float) -> None:
        """Waits so long, or until the viewer has ended."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed, seconds)

    def close(self) -> None:
        """Ends all waiting."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    @property
    def settings(self) -> Settings | None:
        """Returns the settings that the next request changes; None where nothing can be asked for."""
        with self._changed:
            return self._settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        with self._changed:
            self._settings = settings

    @property
    def is_paused(self) -> bool:
        """Returns whether no more passes are wanted for now."""
        with self._changed:
            return self._is_paused

    def pause(self, *, is_paused: bool) -> None:
        """Says whether passes are wanted. Another request begins at once, whatever was said before."""
        with self._changed:
            self._is_paused = is_paused
            self._changed.notify_all()

    def wait_for_more(self) -> None:
        """Waits until passes are wanted, there is a request, or the viewer has ended."""
        with self._changed:
            while self._is_paused and self._request is None and not self._is_closed:
                self._changed.wait(1.0)  # in pieces, as `next_request` does it

    def request(self, request: PictureRequest) -> None:
        """Asks for another picture; a request that nobody has taken yet is forgotten, but for that the scene is new."""
        with self._changed:
            if self._request is not None and self._request.is_new_scene:
                request = replace(request, is_new_scene=True)
            self._request, self._settings, self._is_paused = request, request.settings, False
            self._stop_render()
            self._changed.notify_all()

    @contextmanager
    def stoppable(self, stop: Callable[[], None]) -> Iterator[None]:
        """Has a request end what the block does early. stop: does that, from any thread, and never after the block."""
        with self._changed:
            self._stop_render = stop
        try:
            yield
        finally:
            with self._changed:
                self._stop_render = do_nothing

    @property
    def has_request(self) -> bool:
        """Returns whether there is a request that nobody has taken yet."""
        with self._changed:
            return self._request is not None

    def next_request(self) -> PictureRequest:
        """Takes the request, and waits for one where there is none."""
        with self._changed:
            while self._request is None:
                self._changed.wait(1.0)  # in pieces, as not every system wakes a thread for Ctrl-C
            request, self._request = self._request, None
            return request
