"""This module gives the triangles of a mesh their material: its textures and texture coordinates, or the colours that
USD has for display."""

from dataclasses import replace

import numpy as np
from pxr import Sdf, Usd, UsdGeom

from scenes.document import Document
from scenes.gltf.pictures import EVEN, Layout
from scenes.gltf.primitive_materials import ONE_COLOR, Dressing, tinted
from scenes.gltf.surfaces import GltfSurface
from scenes.materials.vertex_colors import with_vertex_colors
from scenes.model import Indices, Mesh
from scenes.usd.file import UsdFile
from scenes.usd.meshes import Channel, Polygons
from scenes.usd.pictures import UsdPictures
from scenes.usd.surfaces import Look, UsdSurfaces, displayed
from scenes.views.viewing import triple

DISPLAY_COLOR, DISPLAY_OPACITY = "displayColor", "displayOpacity"


class UsdDressing(Dressing):
    """Gives meshes materials and textures of a document, each there once."""

    pictures: UsdPictures

    def __init__(self, file: UsdFile, document: Document) -> None:
        super().__init__(document, UsdPictures(file))
        self.file = file
        self.looks = UsdSurfaces(file, self.pictures)

    def dressed(self, mesh: Mesh, polygons: Polygons, corners: Indices, path: Sdf.Path | None) -> Mesh:
        """Returns a mesh with its material.

        corners: (n, 3) corners of the polygons that its triangles have.
        path: of its material, or None.
        """
        prim = polygons.mesh.GetPrim()
        look = None if path is None else self.looks.look(path)
        shown = self.display(prim) if look is None else look
        if look is None or look.primvar:
            colors = polygons.primvar(shown.primvar, 3) if shown.primvar else None
            if colors is not None:
                return self.in_colors(mesh, shown.surface, colors, corners)
        return self.textured(mesh, shown.surface, polygons, corners)

    def index(self, prim: Usd.Prim, path: Sdf.Path | None) -> int:
        """Returns the index of the material of what has no texture coordinates."""
        look = None if path is None else self.looks.look(path)
        surface = (self.display(prim) if look is None else look).surface
        return self.material(self.in_one_frame(surface, None), Layout())

    def display(self, prim: Usd.Prim) -> Look:
        """Returns the look of a prim without a material; its primvar is the colour for display where that varies."""
        api = UsdGeom.PrimvarsAPI(prim)
        color, opacity = (api.FindPrimvarWithInheritance(name) for name in (DISPLAY_COLOR, DISPLAY_OPACITY))
        opacities = self.file.rows(opacity.GetAttr(), 1) if opacity else None
        share = 1.0 if opacities is None or not len(opacities) else float(np.clip(opacities, 0.0, 1.0).mean())
        if opacities is not None and len(opacities) and np.ptp(opacities) > ONE_COLOR:
            self.file.note("displayOpacity counts by its mean")
        colors = self.file.rows(color.GetAttr(), 3) if color else None
        if colors is None or not len(colors):
            return Look(GltfSurface(displayed(None, share)))
        if np.ptp(colors, axis=0).max() <= ONE_COLOR:
            return Look(GltfSurface(displayed(triple(np.clip(colors[0], 0.0, 1.0)), share)))
        if not prim.IsA(UsdGeom.Mesh):
            self.file.note("colours for display that vary over a round shape count by their mean")
            return Look(GltfSurface(displayed(triple(np.clip(colors, 0.0, 1.0).mean(axis=0)), share)))
        return Look(GltfSurface(displayed((1.0, 1.0, 1.0), share)), DISPLAY_COLOR)

    def in_colors(self, mesh: Mesh, surface: GltfSurface, colors: Channel, corners: Indices) -> Mesh:
        """Returns a mesh whose colour varies over it, in place of all pictures of its surface."""
        values = np.clip(colors.values, 0.0, 1.0)[colors.at[corners]]
        surface = self.in_one_frame(surface, None)
        if np.ptp(values, axis=(0, 1)).max() <= ONE_COLOR:
            return replace(mesh, material=self.material(tinted(surface, values[0, 0]), Layout()))
        painted, texture = with_vertex_colors(mesh, values, "colours for display")
        return replace(painted, material=self.painted(surface.material, texture))

    def textured(self, mesh: Mesh, surface: GltfSurface, polygons: Polygons, corners: Indices) -> Mesh:
        """Returns a mesh with the pictures of its surface, where it has texture coordinates."""
        first = next((used.lookup for used in surface.maps.values() if used.lookup != EVEN), None)
        uvs = None if first is None else polygons.primvar(self.looks.names[first.texcoord], 2)
        if first is not None and uvs is None:
            name = self.looks.names[first.texcoord]
            self.file.note(f"{polygons.name} has no texture coordinates {name!r}: of pictures the mean is taken")
        surface = self.in_one_frame(surface, None if uvs is None or first is None else first.frame)
        if uvs is None or first is None:
            return replace(mesh, material=self.material(surface, Layout()))
        moved = first.moved(np.stack([uvs.values[:, 0], 1.0 - uvs.values[:, 1]], axis=1))
        layout = self.pictures.layout([used for used in surface.maps.values() if used.lookup != EVEN], moved)
        mesh = replace(mesh, uvs=layout.moved(moved), uv_triangles=uvs.at[corners].astype(np.int32))
        return replace(mesh, material=self.material(surface, layout))
