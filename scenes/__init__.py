"""This package holds the model that the renderer sees, the readers of scene files, and the scenes that come with the
program. Nothing of it is loaded before it is used, so that the command line can know its kinds of values (`keys`).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scenes.document import Scene
    from scenes.errors import SceneError, SceneFileError, UnknownSceneError
    from scenes.facts import SceneFacts, describe
    from scenes.lights import DistantLight, PointLight, SpotLight
    from scenes.loading import READERS, load, register_reader, shipped_scenes
    from scenes.model import AnimationRange, Camera, Environment, Material, Mesh, Snapshot, Texture
    from scenes.shipped import ShippedScene
    from scenes.tables import from_tables
    from scenes.views.viewing import Viewing

__all__ = [
    "READERS",
    "AnimationRange",
    "Camera",
    "DistantLight",
    "Environment",
    "Material",
    "Mesh",
    "PointLight",
    "Scene",
    "SceneError",
    "SceneFacts",
    "SceneFileError",
    "ShippedScene",
    "Snapshot",
    "SpotLight",
    "Texture",
    "UnknownSceneError",
    "Viewing",
    "describe",
    "from_tables",
    "load",
    "register_reader",
    "shipped_scenes",
]

#: Where what is offered here is defined.
_HOMES = {
    "scenes.errors": ("SceneError", "SceneFileError", "UnknownSceneError"),
    "scenes.facts": ("SceneFacts", "describe"),
    "scenes.lights": ("DistantLight", "PointLight", "SpotLight"),
    "scenes.loading": ("READERS", "load", "register_reader", "shipped_scenes"),
    "scenes.model": ("AnimationRange", "Camera", "Environment", "Material", "Mesh", "Snapshot", "Texture"),
    "scenes.document": ("Scene",),
    "scenes.shipped": ("ShippedScene",),
    "scenes.tables": ("from_tables",),
    "scenes.views.viewing": ("Viewing",),
}


def __getattr__(name: str) -> Any:
    """Imports what is asked for when it is first asked for."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'scenes' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Returns the names that are offered, for completion in a shell."""
    return sorted(__all__)
