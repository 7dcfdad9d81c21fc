"""This package is the renderer: drivers, photon map, film, image and statistics files, command line, and the call in
Python.

`render` makes a picture, `render_passes` yields it as it converges, and a `Renderer` stays open for more; `Settings` is
what may be chosen, and `load_plugin` loads a user's file. No compiler and nothing else that is heavy is loaded before
one is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from renderer.version import __version__

if TYPE_CHECKING:
    from renderer.film.picture import Picture
    from renderer.plugins import load_plugin
    from renderer.run.open_renderer import Renderer
    from renderer.run.render_call import render, render_passes
    from renderer.settings.picture import Settings

__all__ = ["Picture", "Renderer", "Settings", "__version__", "load_plugin", "render", "render_passes"]


#: Where what is offered here is defined.
_HOMES = {
    "Picture": "renderer.film.picture",
    "Renderer": "renderer.run.open_renderer",
    "Settings": "renderer.settings.picture",
    "load_plugin": "renderer.plugins",
    "render": "renderer.run.render_call",
    "render_passes": "renderer.run.render_call",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'renderer' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """Returns the names that are offered, for completion in a shell."""
    return sorted(__all__)
