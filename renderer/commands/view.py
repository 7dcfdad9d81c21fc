"""The command `tracecore view` shows a scene in a browser as its picture converges, or a picture that is in a file."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from renderer.commands.arguments import add_scene, add_setting, chosen_settings, whole
from renderer.commands.parser import in_two_levels
from renderer.errors import UsageError
from renderer.plain_text import as_it_is
from renderer.settings.picture import Settings
from renderer.settings.setting import settings_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from renderer.film.picture import Picture
    from renderer.viewer.live_picture import LivePicture, PictureRequest
    from renderer.viewer.server import ViewerServer

#: Options that most people use.
USUAL = "size passes driver device camera frame exposure denoise compare port no_browser help"

NOTES = """\
SCENE may also be a picture, FILE.exr, .npy, .png, .hdr or .pfm. Settings are those of 'tracecore render'; the page
changes some, and shows the command that makes the picture that it shows. A scene whose files change is read again.
Ctrl-C ends it.

The page is served on this machine alone, to whoever knows the address. From another machine, forward the port:
  ssh -L 8000:127.0.0.1:8000 HOST tracecore view SCENE --port 8000 --no-browser
"""

EXAMPLES = """\
examples:
  tracecore view cornell
  tracecore view kitchen.aff --driver path --size 400x300
  tracecore view museum --layers
  tracecore view output/cornell-photon.png
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that the command takes: the settings of a picture, and how the page is served."""
    parser.epilog = f"{NOTES}\n{EXAMPLES}"
    in_two_levels(parser, USUAL, EXAMPLES)
    add_scene(parser)
    page = parser.add_argument_group("page")
    page.add_argument("--port", type=whole(0, 65535), default=0, metavar="N", help="to serve it on (default: any)")
    page.add_argument("--compare", type=Path, metavar="FILE", help="a picture to compare with, of the same size")
    page.add_argument("--no-browser", action="store_true", help="print the address, and open no browser")
    groups: dict[str, argparse._ActionsContainer] = {"": parser}
    for one in settings_of(Settings).values():
        if one.group == "scene" or (one.group == "files" and one.name != "quiet"):
            continue
        if one.group not in groups:
            groups[one.group] = parser.add_argument_group(one.group)
        add_setting(groups[one.group], one)


def run(arguments: argparse.Namespace) -> int:
    """Serves the page until Ctrl-C; returns the exit status."""
    from renderer.film.picture_file import READABLE, read_picture
    from renderer.scene.render_context import check_scene
    from renderer.viewer.live_picture import LivePicture, PictureRequest
    from renderer.viewer.server import ViewerServer

    settings, live, path = chosen_settings(Settings, arguments), LivePicture(), Path(arguments.scene)
    pixels: npt.NDArray[np.uint8] | None = None
    reference = None if arguments.compare is None else read_picture(arguments.compare).image
    if path.suffix.lower() in READABLE:
        pixels = show_file(live, path, reference)
    else:
        check_scene(arguments.scene)
        live.settings = settings
    server = ViewerServer(live, arguments.port)
    server.start()
    try:
        is_opened = announce(server, is_wanted=not arguments.no_browser)
        if pixels is None:
            request = PictureRequest(settings=settings)
            show_scene(arguments.scene, live, request, reference, is_opened=is_opened)
        elif not is_opened:
            print_picture(pixels)
        live.next_request()  # there will be none
    except KeyboardInterrupt:
        print_command(live)
    finally:
        server.close()
    return 0


def show_file(live: LivePicture, path: Path, reference: npt.NDArray[np.float32] | None) -> npt.NDArray[np.uint8]:
    """Shows the picture of a file; returns its pixels as a screen shows them. Raises `UsageError` where a reference is
    of another size."""
    from renderer.film.picture_file import read_picture, size_words
    from renderer.viewer.kept_picture import mapping_of, shown_file

    picture = read_picture(path)
    if reference is not None and reference.shape != picture.image.shape:
        sizes = size_words(reference), size_words(picture.image)
        raise UsageError("--compare: the picture is of {} pixels; expected {}".format(*sizes))
    live.show(shown_file(picture, path.name, reference))
    return mapping_of(picture)(picture.image)


def show_scene(
    scene: str,
    live: LivePicture,
    request: PictureRequest,
    reference: npt.NDArray[np.float32] | None,
    *,
    is_opened: bool,
) -> None:
    """Renders a scene as the page asks, and again whenever one of its files changes, until it is interrupted.

    is_opened: whether a browser shows it.
    """
    from renderer.viewer.file_watch import FileWatch
    from renderer.viewer.live_picture import PictureRequest
    from renderer.viewer.scene_show import SceneShow

    has_printed = list[bool]()

    def print_first(picture: Picture) -> None:
        if not (is_opened or has_printed):
            has_printed.append(print_picture(picture.pixels))

    def read_again() -> None:
        live.request(PictureRequest(settings=live.settings or request.settings, is_new_scene=True))

    show = SceneShow(scene, live, print_first, reference)
    with ExitStack() as stack:
        if Path(scene).is_file():
            stack.callback(FileWatch(lambda: show.files, read_again).close)
        show.run(request)


def announce(server: ViewerServer, *, is_wanted: bool) -> bool:
    """Prints the address, and opens it in a browser where there is one; returns whether there is."""
    import webbrowser

    print(f"view at {server.address}", flush=True)
    return is_wanted and has_screen() and webbrowser.open(server.address)


def has_screen() -> bool:
    """Returns whether a browser would have a window: one in the terminal could not show the page."""
    names = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in names)


def print_picture(pixels: npt.NDArray[np.uint8] | None) -> bool:
    """Shows a picture in the terminal, if it is one that can; returns whether it is."""
    from renderer.viewer.terminal import picture_text, protocol_of

    protocol = protocol_of(os.environ) if sys.stdout.isatty() else None
    if protocol is None or pixels is None:
        return False
    print(picture_text(pixels, protocol), file=as_it_is(sys.stdout), flush=True)
    return True


def print_command(live: LivePicture) -> None:
    """Prints the command that makes the picture that was shown last."""
    _, shown = live.shown
    if "command" in shown.facts:
        print(f"\nthis picture again: {shown.facts['command']} --passes {shown.facts['passes']}", flush=True)
