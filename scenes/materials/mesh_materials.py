"""This module gives the triangles of STL files their colours, where they have some, or else one plain grey."""

from dataclasses import replace
from typing import Any

from scenes.colors.palette import painted
from scenes.colors.srgb import decoded
from scenes.document import Document
from scenes.model import Doubles, Material, Mesh

PLAIN = Material(name="plain", diffuse=(0.6, 0.6, 0.6))


def dressed(mesh: Mesh, geometry: Any, document: Document) -> Mesh:
    """Returns a mesh with a material of a document, to which it is added. geometry: the trimesh mesh that it is of."""
    material, colors = PLAIN, face_colors(geometry)
    if colors is not None:
        mesh, palette = painted(mesh, colors, "colours of faces")
        material = Material(name="colours", diffuse=(1.0, 1.0, 1.0), texture=document.add_texture(palette))
    return replace(mesh, material=document.material_index(material))


def face_colors(geometry: Any) -> Doubles | None:
    """Returns the linear colours (n, 3) of the faces of a trimesh mesh, or None without any."""
    if getattr(geometry.visual, "kind", None) != "face":
        return None
    colors = geometry.visual.face_colors
    return decoded(colors[:, :3]) if len(colors) == len(geometry.faces) else None
