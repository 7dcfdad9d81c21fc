"""This module gives the triangles of a glTF primitive their material: its textures, its texture coordinates, and the
colours of its vertices."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from scenes.colors.palette import srgb
from scenes.colors.srgb import decoded
from scenes.document import Document
from scenes.gltf.container import GltfFile
from scenes.gltf.pictures import EVEN, GltfPictures, Layout, Lookup, Map, Pictures, wrapped_texels
from scenes.gltf.primitives import Primitive
from scenes.gltf.surfaces import GltfSurface, GltfSurfaces
from scenes.materials.mesh_materials import PLAIN
from scenes.materials.microfacets import multiplied
from scenes.materials.mixing import folded
from scenes.materials.vertex_colors import with_vertex_colors
from scenes.meshes.geometry import areas, corner_indices
from scenes.model import Doubles, Material, Mesh, Texture
from scenes.views.viewing import triple

#: The surface of vertices that have a colour and no material.
COLORED = Material(name="colours", diffuse=(1.0, 1.0, 1.0))
#: How far colours of vertices may be from each other to count as one, a step of 8 bits.
ONE_COLOR = 1.0 / 512.0
#: The most texels of all patches of a mesh, of 15 bytes each.
MAX_TEXELS = 1 << 22
#: Texels of a patch for each texel of the picture along a triangle's longest side, so that little is blurred.
FINER = 2


class Dressing:
    """Has the materials and textures of a document, each there once, whose pictures are `pictures`."""

    def __init__(self, document: Document, pictures: Pictures) -> None:
        self.document, self.pictures = document, pictures
        self._textures: dict[tuple[Map, Layout], int] = {}

    def in_one_frame(self, surface: GltfSurface, frame: tuple[int, tuple[float, ...]] | None) -> GltfSurface:
        """Returns a surface whose pictures all have the texture coordinates of a frame; of others the mean counts.

        frame: as of `Lookup`, or None where there are no texture coordinates.
        """
        material, maps = surface.material, {}
        for name, used in surface.maps.items():
            if used.lookup == EVEN or used.lookup.frame == frame:
                maps[name] = used
                continue
            if frame is not None and name != "cutout":
                self.pictures.note(
                    f"material {material.name!r}: {name} has other texture coordinates than its first picture; its "
                    "mean is taken"
                )
            if name != "cutout":
                material = folded(material, name, self.pictures.mean(used.lookup.image, used.role))
        return replace(surface, material=material, maps=maps)

    def painted(self, material: Material, texture: Texture) -> int:
        """Returns the index of a material whose colour is a texture."""
        number = self.document.add_texture(texture)
        changed: dict[str, Any] = {color_map(material): number}
        return self.document.material_index(replace(material, **changed))

    def material(self, surface: GltfSurface, layout: Layout) -> int:
        """Returns the index of the material of a surface, with its textures as they are laid out."""
        fields: dict[str, Any] = {name: self.texture(used, layout) for name, used in surface.maps.items()}
        return self.document.material_index(replace(surface.material, **fields))

    def texture(self, used: Map, layout: Layout) -> int:
        """Returns the index of a texture, added if it is new."""
        key = (used, Layout() if used.lookup == EVEN else layout)
        if key not in self._textures:
            self._textures[key] = self.document.add_texture(self.pictures.texture(*key))
        return self._textures[key]


class GltfDressing(Dressing):
    """Makes the meshes of primitives, with their materials and textures."""

    def __init__(self, file: GltfFile, document: Document) -> None:
        pictures = GltfPictures(file)
        super().__init__(document, pictures)
        self.file = file
        self.surfaces = GltfSurfaces(pictures)
        self._surfaces: dict[int, GltfSurface] = {}

    def mesh(self, primitive: Primitive) -> Mesh:
        primitive.note_attributes()
        triangles, normals = primitive.triangles, primitive.normals
        mesh = Mesh(
            vertices=primitive.positions,
            triangles=triangles,
            normals=normals,
            normal_triangles=None if normals is None else triangles,
            material=0,
        )
        surface = self.surface(primitive)
        frame = next((used.lookup.frame for used in surface.maps.values() if used.lookup != EVEN), None)
        uvs = None if frame is None else primitive.texture_coordinates(frame[0])
        surface = self.in_one_frame(surface, None if uvs is None else frame)
        if primitive.colors is not None and len(triangles):
            mesh, surface, texture = self.colored(primitive, mesh, surface, uvs)
            if texture is not None:
                return replace(mesh, material=self.painted(surface.material, texture))
        if uvs is not None and surface.maps:
            moved = next(used.lookup for used in surface.maps.values() if used.lookup != EVEN).moved(uvs)
            layout = self.pictures.layout([used for used in surface.maps.values() if used.lookup != EVEN], moved)
            mesh = replace(mesh, uvs=layout.moved(moved), uv_triangles=triangles)
            return replace(mesh, material=self.material(surface, layout))
        if surface.material.kind == "anisotropic":  # whose facets lean along the texture coordinates
            uvs = primitive.texture_coordinates(0)
            mesh = replace(mesh, uvs=uvs, uv_triangles=None if uvs is None else triangles)
        return replace(mesh, material=self.material(surface, Layout()))

    def surface(self, primitive: Primitive) -> GltfSurface:
        number = primitive.item.index("material", self.file.rows("materials"), "materials")
        if number is None:
            return GltfSurface(PLAIN if primitive.colors is None else COLORED)
        item = self.file.rows("materials")[number]
        if number not in self._surfaces:
            self._surfaces[number] = self.surfaces.surface(item)
        if not item.flag("doubleSided"):
            self.file.note("surfaces that are single-sided are seen from both sides")
        return self._surfaces[number]

    def colored(
        self, primitive: Primitive, mesh: Mesh, surface: GltfSurface, uvs: Doubles | None
    ) -> tuple[Mesh, GltfSurface, Texture | None]:
        """Returns a mesh and its surface, whose colour those of the vertices multiply.

        uvs: texture coordinates (nv, 2) of the first picture, or None.

        They become a texture, where there is one picture its product with them. Beside others their mean over the area
        counts, and is noted.
        """
        assert primitive.colors is not None
        colors = primitive.colors[:, :3][mesh.triangles]
        if primitive.colors.shape[1] == 4 and primitive.colors[:, 3].min() < 1.0:
            self.file.note("the alpha of COLOR_0 is not read")
        if np.ptp(colors, axis=(0, 1)).max() <= ONE_COLOR:
            return mesh, tinted(surface, colors[0, 0]), None
        sizes = areas(mesh.vertices[mesh.triangles])
        weights = sizes if sizes.sum() > 0.0 else np.ones(len(sizes))
        mean = np.average(colors.mean(axis=1), axis=0, weights=weights)
        if not surface.maps:
            painted, texture = with_vertex_colors(mesh, colors, "colours of vertices")
            return painted, surface, texture
        found = self.baked(mesh, surface, uvs, colors)
        if found is not None:
            return found[0], surface, found[1]
        self.file.note(
            f"material {surface.material.name!r}: its pictures are multiplied by the mean of the colours of vertices"
        )
        return mesh, tinted(surface, mean), None

    def baked(
        self, mesh: Mesh, surface: GltfSurface, uvs: Doubles | None, colors: Doubles
    ) -> tuple[Mesh, Texture] | None:
        """Returns a mesh and the product of its only picture with the colours (n, 3, 3) of its corners; None where
        there are others, holes, or too many texels."""
        name, used = next(iter(surface.maps.items()))
        if len(surface.maps) > 1 or uvs is None or name != color_map(surface.material):
            return None
        picture = self.pictures.picture(used.lookup.image)
        assert picture is not None
        corners = used.lookup.moved(uvs)[mesh.triangles]
        return baked(mesh, (corners, colors), picture, used.lookup)


def color_map(material: Material) -> str:
    """Returns the field of the picture that multiplies the colour of a material."""
    return "specular_map" if material.kind in ("metal", "mirror", "anisotropic") else "texture"


def tinted(surface: GltfSurface, factors: Doubles) -> GltfSurface:
    """Returns a surface whose colour is multiplied by factors (3,)."""
    tint = triple(factors)
    material = surface.material
    return replace(
        surface,
        material=replace(
            material,
            diffuse=multiplied(material.diffuse, tint),
            specular=multiplied(material.specular, tint) if color_map(material) != "texture" else material.specular,
            backdrop=multiplied(material.backdrop, tint),
        ),
    )


def patch_side(picture: Texture, uvs: Doubles) -> int | None:
    """Returns the side of a patch in texels, a power of two, or None where so many would be too large.

    uvs: (n, 3, 2), of the corners of triangles.
    """
    height, width = picture.pixels.shape[:2]
    edges = np.abs(uvs - np.roll(uvs, 1, axis=1)) * (width, height)
    longest = min(float(edges.max()), 1e6)
    side = 1 << math.ceil(math.log2(max(FINER * longest, 1.0) + 1.0))
    return side if len(uvs) * side * side <= MAX_TEXELS else None


def baked(
    mesh: Mesh, corners: tuple[Doubles, Doubles], picture: Texture, lookup: Lookup
) -> tuple[Mesh, Texture] | None:
    """Returns a mesh and its texture, a picture multiplied by colours; None where patches would be too many.

    corners: texture coordinates (n, 3, 2) of the picture and linear colours (n, 3, 3) of the corners of triangles.
    """
    uvs, colors = corners
    side = patch_side(picture, uvs)
    if side is None:
        return None
    across, down = np.meshgrid(np.arange(side) / (side - 1), np.arange(side) / (side - 1))
    weights = np.stack([1.0 - across - down, across, down], axis=-1)
    seen = bilinear(decoded(picture.pixels), np.einsum("yxc,nci->nyxi", weights, uvs), lookup.wraps)
    texels = seen * np.einsum("yxc,nci->nyxi", weights, colors)
    # Beside the longest side filters blend with texels beyond it, which go on as those inside do.
    x, y = np.arange(1, side), side - np.arange(1, side)
    texels[:, y, x] = texels[:, y, x - 1] + texels[:, y - 1, x] - texels[:, y - 1, x - 1]
    bits = math.ceil(math.log2(len(uvs)))
    columns, rows = 1 << (bits + 1) // 2, 1 << bits // 2
    patches = np.zeros((rows * columns, side, side, 3), np.float32)
    patches[: len(uvs)] = texels
    image = patches.reshape(rows, columns, side, side, 3).swapaxes(1, 2).reshape(rows * side, columns * side, 3)
    row, column = np.divmod(np.arange(len(uvs)), columns)
    first = np.stack([column, row], axis=-1)[:, None, :] * side
    ends = np.array([[0, 0], [side - 1, 0], [0, side - 1]])
    moved = (first + ends + 0.5) / (columns * side, rows * side)
    texture = Texture(name=f"{picture.name} in colours", pixels=srgb(image.astype(np.float64)), colors=image)
    return replace(mesh, uvs=moved.reshape(-1, 2), uv_triangles=corner_indices(len(uvs))), texture


def bilinear(image: Doubles, uvs: Doubles, wraps: tuple[int, int]) -> Doubles:
    """Returns what is seen of an image (height, width, 3) at texture coordinates (..., 2), as its sampler wraps it."""
    height, width = image.shape[:2]
    x, y = uvs[..., 0] * width - 0.5, uvs[..., 1] * height - 0.5
    left, top = np.floor(x).astype(np.int64), np.floor(y).astype(np.int64)
    right_share, lower_share = (x - left)[..., None], (y - top)[..., None]
    columns = [wrapped_texels(left + step, width, wraps[0]) for step in range(2)]
    rows = [wrapped_texels(top + step, height, wraps[1]) for step in range(2)]
    upper, lower = ((1.0 - right_share) * image[row, columns[0]] + right_share * image[row, columns[1]] for row in rows)
    blended: Doubles = (1.0 - lower_share) * upper + lower_share * lower
    return blended
