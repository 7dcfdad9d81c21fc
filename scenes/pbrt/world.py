"""This module takes shapes and lights into a document: in their places, with their materials, and as instances."""

from dataclasses import dataclass, field, replace

import numpy as np

from scenes.document import Document, Origin, part_of, triangle_count
from scenes.files.source_file import MAX_TRIANGLES
from scenes.materials.microfacets import BLACK
from scenes.materials.patterns import Pattern
from scenes.meshes.curves import Turned, changed
from scenes.meshes.geometry import double_area_normals, rewound
from scenes.meshes.revolution import inverted, mapped_uvs
from scenes.model import Color, Doubles, Material, Mesh
from scenes.motion.transforms import IDENTITY, WORLD
from scenes.pbrt.files import PbrtFiles
from scenes.pbrt.lights import LIGHTS, Glow, Spot, radiance_of
from scenes.pbrt.materials import MappedMaterial
from scenes.pbrt.media import filled
from scenes.pbrt.parameters import Parameters
from scenes.pbrt.shapes import PbrtShapes, ShapeMeshes, faced, with_own_uvs, world_area
from scenes.pbrt.state import State
from scenes.pbrt.textures import PbrtTextures
from scenes.pbrt.tokens import FileLine

#: How far apart the two sides of what shines to both are, as a share of its size.
THICKNESS = 1e-4
#: The look of what emits light and reflects none.
UNSEEN = MappedMaterial(Material(name="interface", diffuse=BLACK))


@dataclass(frozen=True, eq=False)
class WorldShape:
    """Holds a mesh, or what is round, with its map (4, 4), before the world is turned, and its material's index."""

    mesh: Mesh | Turned
    matrix: Doubles
    material: int


@dataclass(eq=False)
class World:
    """Takes in shapes and lights. to_ours: (4, 4) from the file's world to ours."""

    files: PbrtFiles
    textures: PbrtTextures
    to_ours: Doubles = field(default_factory=lambda: IDENTITY)

    def __post_init__(self) -> None:
        self.document = Document(notes=self.files.notes)
        self.shapes = PbrtShapes(self.files)
        self.objects: dict[str, list[WorldShape]] = {}
        self.triangles = 0
        self._meshes: dict[tuple[Mesh | Turned, str], Mesh | Turned] = {}
        self._maps: dict[tuple[Mesh | Turned, bytes], Mesh | Turned] = {}

    # --- shapes -------------------------------------------------------------------------------------------------------

    def add_shape(self, kind: str, parameters: Parameters, state: State, within: str | None) -> None:
        """Takes in a shape. within: the name of the object that it belongs to, or None for one that is seen."""
        hidden, mask = self.opacity(parameters)
        lamp, body, look = state.lamp, self.shapes.body(kind, parameters), filled(state.look, state.fog)
        if lamp is not None and within is not None:
            self.files.tell(parameters.place, "what shines within an object is dark: there are no instances of lights")
            lamp = None
        if lamp is None and (hidden or look is None):
            return
        if hidden:
            self.files.tell(parameters.place, "what shines is seen, whatever its alpha")
        if state.is_reversed:
            body = replace(body, meshes=[self.known(mesh, "inverted") for mesh in body.meshes])
        pieces = self.pieces(body, self.masked(look or UNSEEN, mask), lamp, parameters, state.matrix)
        if within is None:
            self.place(pieces, IDENTITY, parameters.place)
        else:
            self.objects[within] += pieces

    def pieces(
        self, body: ShapeMeshes, look: MappedMaterial, lamp: Glow | None, parameters: Parameters, matrix: Doubles
    ) -> list[WorldShape]:
        """Returns the meshes of a shape with their materials."""
        if lamp is None:
            return [self.piece(mesh, look, BLACK, matrix) for mesh in body.meshes]
        radiance = radiance_of(lamp, parameters, body.lamps, world_area(body.meshes, matrix))
        if lamp.picture is not None:
            look = replace(look, pictures=look.pictures | {"emission_map": lamp.picture})
        made = [self.piece(self.known(mesh, "faced"), look, radiance, matrix) for mesh in body.meshes]
        if not lamp.both_sides:
            return made
        backs = [replace(piece, mesh=changed(piece.mesh, back_of)) for piece in made]
        return made + backs

    def piece(self, mesh: Mesh | Turned, look: MappedMaterial, radiance: Color, matrix: Doubles) -> WorldShape:
        """Returns a mesh with the texture coordinates that its look asks for."""
        if look.pictures:
            key = (mesh, look.to_uv.tobytes())
            if key not in self._maps:
                self._maps[key] = changed(mesh, lambda plain: mapped_uvs(with_own_uvs(plain), look.to_uv))
            mesh = self._maps[key]
        material = replace(look.material, emission=radiance)
        return WorldShape(mesh, matrix, self.document.material_index(material, look.pictures))

    def known(self, mesh: Mesh | Turned, what: str) -> Mesh | Turned:
        """Returns a mesh turned in some way, always the same one."""
        if (mesh, what) not in self._meshes:
            change = {"inverted": inverted, "faced": faced, "rewound": rewound}[what]
            self._meshes[(mesh, what)] = changed(mesh, change)
        return self._meshes[(mesh, what)]

    def opacity(self, parameters: Parameters) -> tuple[bool, Pattern | None]:
        """Returns whether a shape cannot be seen at all, and the picture of its holes."""
        pattern = self.textures.number(parameters, "alpha", 1.0)
        if pattern.texture is not None:
            message = "an alpha of a shape leaves holes where it is below one half"
            self.files.tell(parameters.place, message)
            return False, pattern
        opacity = pattern.color[0]
        if 0.0 < opacity < 1.0:
            self.files.tell(parameters.place, "an alpha of a shape between 0 and 1 counts for nothing")
        return opacity <= 0.0, None

    def masked(self, look: MappedMaterial, mask: Pattern | None) -> MappedMaterial:
        """Returns a look with holes."""
        if mask is None or (look.pictures and not np.array_equal(look.to_uv, mask.to_uv)):
            return look
        assert mask.texture is not None
        return replace(look, pictures=look.pictures | {"cutout": mask.texture}, to_uv=mask.to_uv)

    def place(self, pieces: list[WorldShape], matrix: Doubles, place: FileLine) -> None:
        """Puts meshes into the world under one more map. What is outside stays outside where it mirrors."""
        origin = Origin(place.path, place.line)
        for piece in pieces:
            whole = self.to_ours @ matrix @ piece.matrix
            mesh = piece.mesh if np.linalg.det(whole[:3, :3]) >= 0.0 else self.known(piece.mesh, "rewound")
            part = part_of(mesh, WORLD.inner(matrix=whole), origin, piece.material)
            self.triangles += triangle_count(part.shape)
            if self.triangles > MAX_TRIANGLES:
                raise place.error(f"over {MAX_TRIANGLES} triangles")
            self.document.parts.append(part)

    def add_instance(self, name: str, state: State, place: FileLine) -> None:
        """Puts an object into the world."""
        if name not in self.objects:
            raise place.unmade("object", name)
        self.place(self.objects[name], state.matrix, place)

    # --- lights -------------------------------------------------------------------------------------------------------

    def add_light(self, kind: str, parameters: Parameters, state: State) -> None:
        """Takes in a light that is no shape."""
        if kind == "projection":
            self.files.tell(parameters.place, "a projection light is left out: there are none here")
            parameters.skip(*parameters.named)
            return
        if kind not in LIGHTS:
            raise parameters.error(f"unknown light {kind[:80]!r}; there are: {', '.join(LIGHTS)}")
        spot = Spot(self.to_ours @ state.matrix, Origin(parameters.place.path, parameters.place.line))
        source = LIGHTS[kind](parameters, self.files, spot)
        if not self.document.add_light(source):
            self.files.tell(parameters.place, "of several infinite lights the first one shines alone")


def back_of(mesh: Mesh) -> Mesh:
    """Returns the other side of a mesh, somewhat behind it, so that each of the two is seen from its side alone."""
    corners = mesh.vertices[mesh.triangles]
    normals = double_area_normals(corners)
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    step = THICKNESS * np.ptp(mesh.vertices, axis=0).max()
    behind = corners - (step * normals / np.where(lengths > 0.0, lengths, 1.0))[:, None]
    triangles = np.arange(3 * len(corners), dtype=np.int32).reshape(-1, 3)
    normal = None if mesh.normals is None else -mesh.normals
    return rewound(replace(mesh, vertices=behind.reshape(-1, 3), triangles=triangles, normals=normal))
