"""This module lists the keys of a scene file in one table, from which come the checks and the manual."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scenes.geometry import MAX_COORDINATE
from scenes.keys.place import Place
from scenes.keys.quantities import (
    MAX_NUMBER,
    MAX_REFLECTANCE,
    direction,
    factors,
    length,
    number,
    point,
    positive_length,
    radiance,
    reflectance,
)
from scenes.keys.values import (
    METRES,
    Choice,
    FirstKey,
    Flag,
    Key,
    ListOf,
    Named,
    Number,
    OneOrMore,
    Points,
    Size,
    Table,
    Text,
    Triple,
    Turn,
    Units,
    Vector,
    Whole,
    wrong,
)
from scenes.lights import SOURCES
from scenes.metals import METALS
from scenes.model import FOV_AXES
from scenes.toml_scene.own_keys import own_keys

#: The largest scale of normals and heights.
MAX_SCALE = 1e3
MAX_SIDE, MAX_PIXELS = 16_384, 1 << 26
MAX_FRAMES = 10_000_000
MAX_SEGMENTS = 1024
MAX_STEPS, MAX_CURVE = 256, 1000
MAX_POWER = 1e6
MAX_PLACES = 1_000_000
UP = ("y", "z")

SCENE = Table(
    "scene",
    "The scene as a whole.",
    (
        Key(name="name", kind=Text(), about="What the scene is called.", fallback="the file's name", example='"hall"'),
        Key(
            name="units",
            kind=Units(),
            about=f"The unit of all lengths in the file: {', '.join(METRES)}, or metres per unit as a number. "
            "Watts and radiances are what they are in any unit.",
            default="m",
            example='"cm"',
        ),
        Key(
            name="up",
            kind=Choice(UP),
            about="The axis that points up in this file. Of a file with z up, (x, y, z) becomes (x, z, -y).",
            default="y",
            example='"z"',
        ),
        Key(
            name="background",
            kind=radiance,
            about="Radiance of what nothing covers, W/(m² sr).",
            default=0.0,
            example="[0.35, 0.45, 0.6]",
        ),
        Key(
            name="ambient",
            kind=reflectance,
            about="What `backdrop` and `ambient` of every material are multiplied by.",
            default=1.0,
            example="0.5",
        ),
    ),
)

RENDER = Table(
    "render",
    "Options of `tracecore render` that the scene proposes. One given on the command line counts instead.",
    (
        Key(name="driver", kind=Text(), about="How the picture is made.", fallback="not proposed", example='"path"'),
        Key(
            name="size",
            kind=Size(MAX_SIDE, MAX_PIXELS),
            about="Width and height, pixels.",
            fallback="the camera's `resolution`",
            example="[400, 300]",
        ),
        Key(
            name="passes",
            kind=Whole(1, 10**6),
            about="Passes, samples per pixel.",
            fallback="not proposed",
            example="64",
        ),
        Key(
            name="photons",
            kind=Whole(1, 2 * 10**9),
            about="Photons sent out in each pass.",
            fallback="not proposed",
            example="300000",
        ),
        Key(
            name="radius",
            kind=Number(1e-12, 1e12),
            about="First radius of the photon search, in the file's unit.",
            fallback="not proposed",
            example="0.02",
        ),
        Key(
            name="max_bounces",
            kind=Whole(1, 1024),
            about="Longest path, in interactions with surfaces.",
            fallback="not proposed",
            example="16",
        ),
        Key(
            name="exposure",
            kind=Number(-64.0, 64.0),
            about="Exposure in stops; +1 is twice as bright.",
            fallback="not proposed",
            example="0.5",
        ),
        Key(
            name="tone_map",
            kind=Choice(("reinhard", "linear")),
            about="Tone curve, which holds bright parts in range.",
            fallback="not proposed",
            example='"linear"',
        ),
        Key(
            name="seed",
            kind=Whole(0, 2**64 - 1),
            about="Seed of all random numbers.",
            fallback="not proposed",
            example="7",
        ),
    ),
)

ANIMATION = Table(
    "animation",
    "The pictures of an animation: frame i is at `start` + i (`end` - `start`) / (`frames` - 1).",
    (
        Key(name="start", kind=number, about="Time of the first frame.", default=0.0, example="1.0"),
        Key(name="end", kind=number, about="Time of the last frame.", default=0.0, example="4.0"),
        Key(name="frames", kind=Whole(1, MAX_FRAMES), about="How many there are.", default=1, example="97"),
    ),
)

TEXTURE = Table(
    "materials.NAME.texture",
    "A picture. Its path alone stands for a table of `file`. All keys of pictures are such tables.",
    (
        Key(
            name="file",
            kind=Text(),
            about="A picture (PNG, JPEG, PPM, BMP, TGA or WEBP); its path, from the folder of the scene file.",
            example='"wood.png"',
            required=True,
        ),
        Key(
            name="wrap",
            kind=Choice(("repeat", "clamp")),
            about="What is beyond the picture, where texture coordinates are not in 0 to 1: the picture again, or the "
            "colours of its edges. Holes always repeat.",
            default="repeat",
            example='"clamp"',
        ),
        Key(
            name="filter",
            kind=Choice(("nearest", "bilinear", "mip")),
            about='What is seen between the middles of texels: the nearest one, or the mean of four. "mip" is the mean '
            "over as much as a pixel sees, which leaves no noise where the picture is fine and far away.",
            default="bilinear",
            example='"mip"',
        ),
        Key(
            name="linear",
            kind=Flag(),
            about="Whether the bytes are shares of 255, and not sRGB.",
            fallback="true for roughness, metalness, normals and heights, false for all else",
            example="true",
        ),
    ),
)

#: Keys of pictures, by the fields of a material; and which of them hold no colours.
PICTURE_KEYS = {
    "texture": "texture",
    "cutout": "cutout",
    "specular_map": "specular_texture",
    "roughness_map": "roughness_texture",
    "metalness_map": "metalness_texture",
    "transmission_map": "transmission_texture",
    "emission_map": "emission_texture",
    "normal_map": "normal_texture",
    "bump_map": "bump_texture",
}
LINEAR = ("roughness_map", "metalness_map", "normal_map", "bump_map")

#: Keys of materials that have other names than the fields of `Material`.
KEY_OF_FIELD = {"exponent": "shine"}


@dataclass(frozen=True)
class MaterialTable(Table):
    """Describes the table of a material: it has the keys of all materials, and those of its kind, which are `own`."""

    def read(self, value: Any, place: Place) -> dict[str, Any]:
        """Returns the values of the keys of all materials, and in `own` those that are given of its kind."""
        if not isinstance(value, dict):
            raise wrong(self, value, place)
        own = own_keys(self.read_key(self.keys[0], value, place))
        values = Table(self.title, self.about, (*self.keys, *own)).read(value, place)
        given = {key.name: values.pop(key.name) for key in own}
        return values | {"own": {name: one for name, one in given.items() if one is not None}}


MATERIAL = MaterialTable(
    "materials.NAME",
    "A surface, by a name that objects use. A colour is red, green and blue, linear, or one number for a grey. Some "
    "kinds have more keys, see below.",
    (
        Key(
            name="kind",
            kind=Text(),
            about='The shader: "diffuse", "oren_nayar" (clay), "sheen" (cloth), "mirror", "metal", "anisotropic" '
            '(brushed metal), "plastic" (diffuse under a clear coat), "principled" (metal, plastic, or between), '
            '"dielectric" (glass; on closed surfaces), "nff" (diffuse, Phong highlight, mirror and glass in one), '
            '"measured", or another that is registered.',
            default="diffuse",
            example='"mirror"',
        ),
        Key(
            name="diffuse",
            kind=reflectance,
            about='Diffuse reflectance, 0 to 1. (Of kind "nff" it may be more, and so may `specular`: where all '
            "together exceed 1, they are scaled down.)",
            default=0.5,
            example="[0.63, 0.06, 0.05]",
        ),
        Key(
            name="specular",
            kind=reflectance,
            about="Reflectance of the mirror and of the highlight, 0 to 1; of a metal at normal incidence, or, of one "
            "with an index, what multiplies its own.",
            fallback='0; 1 of kinds "mirror", "metal" and "anisotropic"',
            example="0.9",
        ),
        Key(
            name="shine",
            kind=Number(0.0, MAX_NUMBER),
            about='Cosine power of the highlight (kind "nff").',
            default=0.0,
            example="30.0",
        ),
        Key(
            name="mirror_share",
            kind=Number(0.0, 1.0),
            about='How much of `specular` is a mirror, 0 to 1, and not a highlight (kind "nff").',
            fallback="`shine` / (`shine` + 100)",
            example="0.8",
        ),
        Key(
            name="transmittance",
            kind=Number(0.0, MAX_REFLECTANCE),
            about="Share of light that is let through, 0 to 1.",
            fallback='0; 1 of kind "dielectric"',
            example="1.0",
        ),
        Key(
            name="ior",
            kind=number,
            about="Refractive index, of the inside over the outside; 0 or less counts as 1.",
            fallback='1; 1.5 of kinds "dielectric", "plastic" and "principled"',
            example="1.33",
        ),
        Key(
            name="roughness",
            kind=Number(0.0, 1.0),
            about="How far a surface spreads light, 0 to 1: of metals, coats and glass the root of the alpha of GGX.",
            default=0.0,
            example="0.4",
        ),
        Key(
            name="metal",
            kind=Choice(tuple(METALS)),
            about='Which metal it is (kinds "metal" and "anisotropic"): `eta` and `k` as they were measured.',
            fallback="none",
            example='"gold"',
        ),
        Key(
            name="eta",
            kind=Triple(0.0, MAX_NUMBER),
            about='Refractive index of a metal (kinds "metal" and "anisotropic"), which reflects by Fresnel then. '
            "Without it nothing but `specular` is known, and more is reflected at grazing angles by Schlick.",
            fallback="that of `metal`",
            example="[0.2, 0.9, 1.1]",
        ),
        Key(
            name="k",
            kind=Triple(0.0, MAX_NUMBER),
            about="Extinction coefficient of a metal, beside `eta`.",
            fallback="that of `metal`; 0",
            example="[3.9, 2.5, 2.1]",
        ),
        Key(
            name="absorption",
            kind=Triple(0.0, MAX_NUMBER),
            about="What is inside of glass absorbs: over t metres the share exp(-`absorption` t) is left. 1/m, in any "
            "unit of lengths.",
            default=0.0,
            example="[12.0, 2.0, 4.0]",
        ),
        Key(
            name="priority",
            kind=Whole(0, 1000),
            about="Where solids that let light through overlap: the one of the highest priority is there, and of equal "
            "ones the one that a path entered last.",
            default=0,
            example="1",
        ),
        Key(
            name="emission",
            kind=radiance,
            about="Radiance that the front side sends out, W/(m² sr).",
            default=0.0,
            example="[30.0, 28.0, 25.0]",
        ),
        Key(
            name="backdrop",
            kind=radiance,
            about="Radiance that is seen and lights nothing, as of a painted view, W/(m² sr).",
            default=0.0,
            example="0.8",
        ),
        Key(
            name="ambient",
            kind=radiance,
            about="Radiance that `--ambient literal` adds to what is seen of the surface, in place of light between "
            "surfaces, W/(m² sr).",
            default=0.0,
            example="0.2",
        ),
        Key(
            name="texture",
            kind=FirstKey(TEXTURE),
            about="A picture (PNG, JPEG, PPM, BMP, TGA or WEBP) that multiplies `diffuse` and `backdrop`; its path, "
            "from the folder of the scene file.",
            fallback="none",
            example='"wood.png"',
        ),
        Key(
            name="cutout",
            kind=FirstKey(TEXTURE),
            about="A picture that says where the surface is and where there are holes, through which rays pass, as "
            "between leaves: it is there from an alpha of one half on, or, if the picture has no alpha, from a grey of "
            "one half on. It may be that of `texture`. Surfaces that shine have no holes, nor have surfaces without "
            "texture coordinates.",
            fallback="none",
            example='"leaf.png"',
        ),
        Key(
            name="specular_texture",
            kind=FirstKey(TEXTURE),
            about="A picture that multiplies what is mirrored: `specular`, and the coat of a plastic.",
            fallback="none",
            example='{ file = "scratches.png", filter = "mip" }',
        ),
        Key(
            name="roughness_texture",
            kind=FirstKey(TEXTURE),
            about="A picture whose grey multiplies `roughness`.",
            fallback="none",
            example='"worn.png"',
        ),
        Key(
            name="metalness_texture",
            kind=FirstKey(TEXTURE),
            about='A picture whose blue multiplies `metalness` (kind "principled").',
            fallback="none",
            example='"rust.png"',
        ),
        Key(
            name="transmission_texture",
            kind=FirstKey(TEXTURE),
            about="A picture that multiplies `transmittance`.",
            fallback="none",
            example='"window.png"',
        ),
        Key(
            name="emission_texture",
            kind=FirstKey(TEXTURE),
            about="A picture that multiplies `emission`. Lights are sampled by its mean over each triangle.",
            fallback="none",
            example='"screen.png"',
        ),
        Key(
            name="normal_texture",
            kind=FirstKey(TEXTURE),
            about="A picture of normals: red to the right and green up in the picture, blue off the surface; the byte "
            "128 is zero.",
            fallback="none",
            example='"bricks-normal.png"',
        ),
        Key(
            name="normal_scale",
            kind=Number(-MAX_SCALE, MAX_SCALE),
            about="Multiplies red and green of the normals.",
            default=1.0,
            example="0.5",
        ),
        Key(
            name="bump_texture",
            kind=FirstKey(TEXTURE),
            about="A picture of heights: its grey, 0 to 1, times `bump_scale`.",
            fallback="none",
            example='{ file = "bricks-height.png", wrap = "clamp" }',
        ),
        Key(
            name="bump_scale",
            kind=Number(-MAX_SCALE, MAX_SCALE),
            about="Height of white in metres, in any unit of lengths; below 0 it is a dent.",
            default=1.0,
            example="0.005",
        ),
    ),
)

TURN = Turn(
    "rotate",
    "A turn, as an inline table: `rotate = { axis = [0, 1, 0], degrees = 30 }`.",
    (
        Key(
            name="axis",
            kind=direction,
            about="Axis of the turn, of any length; right-handed.",
            example="[0, 1, 0]",
            required=True,
        ),
        Key(name="degrees", kind=number, about="Angle of the turn, degrees.", example="30.0", required=True),
    ),
)

GRID = Table(
    "object.grid",
    "Places in rows, as an inline table: `grid = { counts = [4, 1, 3], steps = [0.5, 0, 0.8] }`.",
    (
        Key(
            name="counts",
            kind=ListOf(Whole(1, MAX_PLACES), 3, 3),
            about="How many places there are along x, y and z.",
            example="[4, 1, 3]",
            required=True,
        ),
        Key(
            name="steps",
            kind=point,
            about="Distances of places along x, y and z, in the file's unit; the first is at the origin.",
            example="[0.5, 0, 0.8]",
            required=True,
        ),
    ),
)

TRANSFORM_KEYS = (
    Key(
        name="parent",
        kind=Text(),
        about="Name of the group that this stands in.",
        fallback="none: it stands in the world",
        example='"table"',
    ),
    Key(
        name="translate", kind=point, about="Shift, in the parent's unit.", fallback="no shift", example="[0, 0.75, 0]"
    ),
    Key(
        name="rotate",
        kind=OneOrMore(TURN),
        about="A turn, or a list of them, of which the first is done first.",
        fallback="no turn",
        example="{ axis = [0, 1, 0], degrees = 30 }",
    ),
    Key(
        name="scale",
        kind=factors,
        about="Factor, or one for each axis. Scaled first, then turned, then shifted.",
        fallback="1",
        example="[1, 2, 1]",
    ),
    Key(
        name="matrix",
        kind=ListOf(Vector(4, -MAX_NUMBER, MAX_NUMBER), 4, 4),
        about="Instead of `translate`, `rotate` and `scale`: four rows, of a matrix that is multiplied by columns "
        "(x, y, z, 1). The last row is 0 0 0 1.",
        fallback="none",
        example="[[1, 0, 0, 2], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]",
    ),
    Key(
        name="track",
        kind=Text(),
        about="Name of the track that moves it, inside its `translate`, `rotate`, `scale` or `matrix`.",
        fallback="it stands still",
        example='"spin"',
    ),
)

GROUP = Table(
    "group",
    "A place that objects, lights and other groups stand in, and move with.",
    (
        Key(name="name", kind=Text(), about="Name by which others refer to it.", example='"table"', required=True),
        *TRANSFORM_KEYS,
    ),
)

OBJECT = Table(
    "object",
    "Triangles in their place. What they are is said by `shape`, `file` or `instance_of`, one of which is needed.",
    (
        Key(
            name="name",
            kind=Text(),
            about="Name by which `instance_of` refers to it.",
            fallback="none",
            example='"chair"',
        ),
        *TRANSFORM_KEYS,
        Key(
            name="at",
            kind=ListOf(point, most=MAX_PLACES),
            about="Many places: each shifts the object once more, after all of its own. The triangles are kept once.",
            fallback="one place",
            example="[[0, 0, 0], [1.5, 0, 0]]",
        ),
        Key(
            name="grid",
            kind=GRID,
            about="Many places in rows, instead of `at`.",
            fallback="one place",
            example="{ counts = [4, 1, 3], steps = [0.5, 0, 0.8] }",
        ),
    ),
)

own_material = Key(
    name="material",
    kind=Text(),
    about="Name of its material.",
    example='"red"',
    required=True,
)

FILE = Table(
    "object with file",
    "A mesh from a file. In .npz files are the arrays of one mesh; see below.",
    (
        Key(
            name="file",
            kind=Text(),
            about="A file that ends in .obj, .ply, .stl, .off, .3mf, .glb, .gltf, .obj.gz, .ply.gz or .npz; its path, "
            "from the folder of the scene file.",
            example='"chair.obj"',
            required=True,
        ),
        Key(
            name="mesh",
            kind=Text(),
            about="Name of the mesh, in a .npz file of several.",
            fallback="the one of a file of one",
            example='"12"',
        ),
        Key(
            name="material",
            kind=Text(),
            about="Name of the material that replaces those of the file.",
            fallback="those of the file; needed for .npz",
            example='"red"',
        ),
        Key(
            name="units",
            kind=Units(),
            about="The unit of this file.",
            fallback='that of the scene; "m" of .glb and .gltf',
            example='"mm"',
        ),
        Key(
            name="up",
            kind=Choice(UP),
            about="The axis that points up in this file.",
            fallback='that of the scene; "y" of .glb and .gltf',
            example='"z"',
        ),
    ),
)

INSTANCE = Table(
    "object with instance_of",
    "The same triangles once more, in a place of their own.",
    (
        Key(
            name="instance_of",
            kind=Text(),
            about="Name of another object, with `shape` or `file`, whose triangles this shares. Its place is not taken "
            "over.",
            example='"chair"',
            required=True,
        ),
        Key(
            name="material",
            kind=Text(),
            about="Name of a material of its own.",
            fallback="as the other object has it",
            example='"red"',
        ),
    ),
)

inside_out = Key(
    name="inside",
    kind=Flag(),
    about="Whether the front side is the inner one.",
    default=False,
    example="true",
)

base = Key(
    name="base",
    kind=point,
    about="Middle of the one end, in the file's unit.",
    example="[0, 0, 0]",
    required=True,
)
apex = Key(
    name="apex",
    kind=point,
    about="Middle of the other end.",
    example="[0, 1, 0]",
    required=True,
)

mesh_triangles = Key(
    name="triangles",
    kind=Points(3, indices=True),
    about="Three vertices each, counted from 0; they run counterclockwise as the front side is seen.",
    fallback="every three vertices are one",
    example="[[0, 1, 2], [0, 2, 3]]",
)

steps = Key(
    name="steps",
    kind=Whole(1, MAX_STEPS),
    about="How many straight pieces it has; of a curve between each two points.",
    default=8,
    example="16",
)

flat_point = Vector(2, -MAX_COORDINATE, MAX_COORDINATE)

ARC = Table(
    "object.profile with arc",
    "Part of a circle in a profile.",
    (
        Key(
            name="arc",
            kind=flat_point,
            about="Its centre, in the file's unit.",
            example="[0.5, 0.1]",
            required=True,
        ),
        Key(name="radius", kind=positive_length, about="Its radius, in the file's unit.", default=1, example="0.5"),
        Key(name="from", kind=number, about="Where it begins, degrees: 0 outward, 90 up.", default=-90, example="0"),
        Key(name="to", kind=number, about="Where it ends, degrees.", default=90, example="180"),
        steps,
    ),
)

CURVE = Table(
    "object.profile with curve",
    "A smooth curve in a profile (Catmull, Rom: A Class of Local Interpolating Splines, 1974).",
    (
        Key(
            name="curve",
            kind=ListOf(flat_point, 2, MAX_CURVE),
            about="Points that it goes through, in the file's unit; one that is there twice is a corner.",
            example="[[0.5, 0], [0.8, 0.5], [0.3, 1]]",
            required=True,
        ),
        steps,
    ),
)


@dataclass(frozen=True)
class ProfilePiece:
    """Describes a piece of a profile: a point, or a table of an arc or a curve."""

    expected: str = "a point of 2 numbers, an arc or a curve"

    def read(self, value: Any, place: Place) -> Any:
        """Returns the point, or the values of the table. Raises SceneFileError for anything else."""
        if isinstance(value, dict):
            return (CURVE if "curve" in value else ARC).read(value, place)
        if not isinstance(value, list):
            raise wrong(self, value, place)
        return flat_point.read(value, place)


profile = Key(
    name="profile",
    kind=ListOf(ProfilePiece(), 1, MAX_CURVE),
    about="Points [across, up], and arcs and curves of such, one after the other, in the file's unit.",
    example="[[0, 0], [0.5, 0], { arc = [0.5, 0.1], radius = 0.1 }, [0, 0.2]]",
    required=True,
)

crease = Key(
    name="crease",
    kind=Number(0.0, 180.0),
    about="Where the profile bends more than this it has an edge, degrees.",
    default=40,
    example="100",
)

KEYED_KEY = Table(
    "object.keys with shape keyed",
    "The corners of all triangles at one time. One of `vertices` and `file` is needed.",
    (
        Key(
            name="time", kind=number, about="Time of this key, not before the one above.", example="0.5", required=True
        ),
        Key(
            name="vertices",
            kind=Points(3),
            about="Positions, as many at every time, in the file's unit.",
            fallback="those of `file`",
            example="[[0, 0, 0], [1, 0, 0], [0, 1, 0]]",
        ),
        Key(
            name="normals",
            kind=Points(3),
            about="A normal for each vertex.",
            fallback="flat triangles, or the normals of `file`",
            example="[[0, 0, 1], [0, 0, 1], [0, 0, 1]]",
        ),
        Key(
            name="file",
            kind=Text(),
            about="A mesh file, as objects can have, with as many triangles in the same order.",
            fallback="none",
            example='"pose1.obj"',
        ),
    ),
)

SHAPES: Mapping[str, Table] = {
    "sphere": Table(
        'object with shape = "sphere"',
        "A ball of triangles with the normals of a sphere.",
        (
            Key(
                name="center",
                kind=point,
                about="Its middle, in the file's unit.",
                default=[0, 0, 0],
                example="[0, 1, 0]",
            ),
            Key(name="radius", kind=positive_length, about="Its radius, in the file's unit.", default=1, example="0.5"),
            Key(
                name="segments",
                kind=Whole(4, MAX_SEGMENTS, even=True),
                about="Meridians; there are segments (segments - 2) triangles.",
                fallback="as many as are seen; 64 where it glows",
                example="64",
            ),
            inside_out,
        ),
    ),
    "cone": Table(
        'object with shape = "cone"',
        "The side of a cone, open at both ends, of as many triangles as are seen, with smooth normals.",
        (
            base,
            apex,
            Key(
                name="base_radius", kind=length, about="Radius at `base`, in the file's unit.", default=1, example="0.5"
            ),
            Key(name="apex_radius", kind=length, about="Radius at `apex`.", default=0, example="0.1"),
            inside_out,
        ),
    ),
    "cylinder": Table(
        'object with shape = "cylinder"',
        "The side of a cylinder, open at both ends, of as many triangles as are seen, with smooth normals.",
        (
            base,
            apex,
            Key(name="radius", kind=positive_length, about="Its radius, in the file's unit.", default=1, example="0.5"),
            inside_out,
        ),
    ),
    "box": Table(
        'object with shape = "box"',
        "A box along the axes, of 12 triangles, or of 44 with bevelled edges. Texture coordinates are lengths in the "
        "file's unit, u along the longer edge of a face.",
        (
            Key(
                name="center",
                kind=point,
                about="Its middle, in the file's unit.",
                default=[0, 0, 0],
                example="[0, 1, 0]",
            ),
            Key(
                name="size",
                kind=Triple(0.0, MAX_COORDINATE),
                about="Its edges along x, y and z, in the file's unit.",
                default=1,
                example="[1, 0.2, 1]",
            ),
            Key(
                name="bevel",
                kind=length,
                about="What its edges lose, at most half of the shortest one; they look round.",
                default=0,
                example="0.1",
            ),
            inside_out,
        ),
    ),
    "rectangle": Table(
        'object with shape = "rectangle"',
        "A rectangle or parallelogram of 2 triangles. Its front side is where the first edge turns to the second "
        "counterclockwise.",
        (
            Key(
                name="corner",
                kind=point,
                about="One corner, in the file's unit.",
                default=[0, 0, 0],
                example="[0, 1, 0]",
            ),
            Key(
                name="edges",
                kind=ListOf(point, 2, 2),
                about="Edges from this corner to its two neighbours.",
                example="[[1, 0, 0], [0, 0, -1]]",
                required=True,
            ),
        ),
    ),
    "lathe": Table(
        'object with shape = "lathe"',
        "What a profile makes that turns about the y axis, with smooth normals. Walking along the profile, the front "
        "side is on the right: of a vase it runs from the axis outward and up. A solid begins and ends on the axis, or "
        "is `closed`. Texture coordinates are lengths along the profile, in the file's unit, and turns.",
        (
            profile,
            Key(
                name="closed",
                kind=Flag(),
                about="Whether the profile ends where it began, as of a ring.",
                default=False,
                example="true",
            ),
            Key(
                name="segments",
                kind=Whole(3, MAX_SEGMENTS),
                about="How many there are around the axis.",
                default=64,
                example="128",
            ),
            crease,
        ),
    ),
    "sheet": Table(
        'object with shape = "sheet"',
        "A profile drawn out along x, with smooth normals: a table that bends up into a wall, a curtain. Its points "
        "are [z, y]; walking along them, with z to the right and y up, the front side is on the right. Texture "
        "coordinates are lengths across and along, in the file's unit.",
        (
            profile,
            Key(
                name="width",
                kind=positive_length,
                about="How wide it is along x, half to each side, in the file's unit.",
                default=1,
                example="2.5",
            ),
            crease,
        ),
    ),
    "triangles": Table(
        'object with shape = "triangles"',
        "Triangles in the scene file itself.",
        (
            Key(
                name="vertices",
                kind=Points(3),
                about="Positions, in the file's unit.",
                example="[[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]",
                required=True,
            ),
            mesh_triangles,
            Key(
                name="normals",
                kind=Points(3),
                about="Normals, of any length.",
                fallback="flat triangles",
                example="[[0, 0, 1]]",
            ),
            Key(
                name="normal_triangles",
                kind=Points(3, indices=True),
                about="Three of the normals for each triangle.",
                fallback="as `triangles`",
                example="[[0, 0, 0], [0, 0, 0]]",
            ),
            Key(
                name="uvs",
                kind=Points(2),
                about="Texture coordinates u, v; (0, 0) is the upper left corner of the picture, and v runs down.",
                fallback="all are 0",
                example="[[0, 1], [1, 1], [1, 0], [0, 0]]",
            ),
            Key(
                name="uv_triangles",
                kind=Points(3, indices=True),
                about="Three of the texture coordinates for each triangle.",
                fallback="as `triangles`",
                example="[[0, 1, 2], [0, 2, 3]]",
            ),
        ),
    ),
    "keyed": Table(
        'object with shape = "keyed"',
        "Triangles whose corners move: linear from key to key, at rest before the first and after the last.",
        (
            mesh_triangles,
            Key(
                name="keys",
                kind=ListOf(KEYED_KEY),
                about="Corners at each time.",
                example="[{ time = 0, vertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0]] }]",
                required=True,
            ),
        ),
    ),
}

SHAPE = Table(
    "object with shape",
    "A shape, with the keys of that shape.",
    (
        Key(
            name="shape",
            kind=Choice(tuple(SHAPES)),
            about=f"What it is: {', '.join(SHAPES)}.",
            example='"sphere"',
            required=True,
        ),
        own_material,
    ),
)


@dataclass(frozen=True)
class ObjectTable:
    """Describes the table of an object: it has the keys of all objects, and those of what it is."""

    expected: str = "a table with one of shape, file and instance_of"

    def read(self, value: Any, place: Place) -> dict[str, Any]:
        """Returns the values of all keys that such an object has."""
        if not isinstance(value, dict):
            raise wrong(self, value, place)
        sources = [name for name in ("shape", "file", "instance_of") if name in value]
        if len(sources) != 1:
            raise place.error(f"expected one of shape, file and instance_of, got {' and '.join(sources) or 'none'}")
        return Table("object", "", (*OBJECT.keys, *self.own_keys(sources[0], value, place))).read(value, place)

    def own_keys(self, source: str, value: dict[str, Any], place: Place) -> tuple[Key, ...]:
        """Returns the keys that not all objects have."""
        if source == "shape":
            shape = SHAPE.keys[0].kind.read(value["shape"], place.inside("shape"))
            return (*SHAPE.keys, *SHAPES[shape].keys)
        return tuple(FILE.keys if source == "file" else INSTANCE.keys)


LIGHT = Table(
    "light",
    "A light that is no object, with the keys of its kind. (Lights with a size are objects whose material emits.)",
    (
        Key(
            name="kind",
            kind=Choice(tuple(SOURCES)),
            about=f"What it is: {', '.join(SOURCES)}.",
            default="point",
            example='"spot"',
        ),
        TRANSFORM_KEYS[0],
    ),
)

#: The keys of each kind of light.
LIGHTS: Mapping[str, Table] = {
    kind: Table(f'light with kind = "{kind}"', source.about, source.keys) for kind, source in SOURCES.items()
}


@dataclass(frozen=True)
class LightTable:
    """Describes the table of a light: it has the keys of all lights, and those of its kind."""

    expected: str = "a table with the keys of its kind"

    def read(self, value: Any, place: Place) -> dict[str, Any]:
        """Returns the values of all keys that such a light has."""
        if not isinstance(value, dict):
            raise wrong(self, value, place)
        kind = LIGHT.read_key(LIGHT.keys[0], value, place)
        return Table("light", "", (*LIGHT.keys, *LIGHTS[kind].keys)).read(value, place)


SKY = Table(
    "environment.sky",
    "A sky that is one colour at the horizon and another one overhead, with a glow about the sun, over an even ground. "
    'The sun itself is a light of kind "distant".',
    (
        Key(
            name="zenith",
            kind=radiance,
            about="Radiance overhead, W/(m² sr).",
            default=[0.07, 0.16, 0.38],
            example="[0.2, 0.3, 0.6]",
        ),
        Key(
            name="horizon",
            kind=radiance,
            about="Radiance at the horizon.",
            default=[0.42, 0.49, 0.57],
            example="[0.8, 0.7, 0.6]",
        ),
        Key(
            name="ground",
            kind=radiance,
            about="Radiance straight below.",
            default=[0.1, 0.13, 0.05],
            example="[0.2, 0.15, 0.1]",
        ),
        Key(
            name="haze",
            kind=Number(0.0, MAX_POWER),
            about="How fast the haze over the horizon thins out: exp(-`haze` sin height) of it is left.",
            default=5.0,
            example="2.5",
        ),
        Key(name="glow", kind=radiance, about="Radiance that is added towards the sun.", default=0.0, example="0.5"),
        Key(
            name="glow_power",
            kind=Number(0.0, MAX_POWER),
            about="How fast the glow fades: it has this power of the cosine of the angle to the sun.",
            default=40.0,
            example="90.0",
        ),
        Key(
            name="sun",
            kind=direction,
            about="Direction to the sun, of any length.",
            default=[0, 1, 0],
            example="[1, 1, 0]",
        ),
    ),
)

ENVIRONMENT = Table(
    "environment",
    "Light from all around, which the eye sees too. One of `image`, `color` and `sky` is needed.",
    (
        Key(
            name="image",
            kind=Text(),
            about="A picture of latitudes and longitudes, its first row up, its middle along -z (of a file with z up: "
            "along y): radiance in .exr, .hdr, .pfm and .npy, (height, width, 3) numbers; bytes in .png and .jpg, "
            "decoded from sRGB to 0 to 1. At most 2^25 pixels. Its path, from the folder of the scene file.",
            fallback="none",
            example='"sky.exr"',
        ),
        Key(
            name="color",
            kind=radiance,
            about="The same radiance from everywhere, W/(m² sr).",
            fallback="none",
            example="[0.8, 0.9, 1.0]",
        ),
        Key(
            name="sky",
            kind=SKY,
            about="A sky; {} has the values of all its keys.",
            fallback="none",
            example="{ zenith = [0.1, 0.2, 0.4] }",
        ),
        Key(
            name="scale",
            kind=radiance,
            about="What the radiance is multiplied by.",
            default=1.0,
            example="2.0",
        ),
        Key(
            name="degrees",
            kind=number,
            about="How far it is turned about the axis that is up, counterclockwise as seen from above.",
            default=0.0,
            example="90.0",
        ),
        Key(
            name="parent",
            kind=Text(),
            about="Name of a group that turns it.",
            fallback="none: it stands still",
            example='"orbit"',
        ),
    ),
)

CAMERA = Table(
    "cameras.NAME",
    "A camera, by a name to choose it with. The first one in the file is looked through. A track of the same "
    "name moves it: `translate` is then the eye, and `rotate` turns a camera that looks along -z with y up.",
    (
        Key(
            name="eye",
            kind=point,
            about="Position of the eye, in the file's unit.",
            example="[0, 1.6, 4]",
            required=True,
        ),
        Key(
            name="target",
            kind=point,
            about="A point that it looks at. This or `forward` is needed.",
            fallback="none",
            example="[0, 1, 0]",
        ),
        Key(
            name="forward",
            kind=direction,
            about="The direction that it looks in.",
            fallback="to `target`",
            example="[0, 0, -1]",
        ),
        Key(
            name="up",
            kind=direction,
            about="Direction that is up in the picture.",
            fallback="up in the scene",
            example="[0, 1, 0]",
        ),
        Key(
            name="vertical_fov",
            kind=Number(0.0, 180.0, inside=True),
            about="Angle from the bottom to the top of the picture, degrees.",
            default=40.0,
            example="50.0",
        ),
        Key(
            name="near",
            kind=length,
            about="Distance along the view from which on things are seen, in the file's unit.",
            default=0.0,
            example="0.1",
        ),
        Key(
            name="resolution",
            kind=Size(MAX_SIDE, MAX_SIDE**2),
            about="Width and height that are proposed, pixels.",
            default=[800, 600],
            example="[400, 300]",
        ),
        Key(
            name="aperture",
            kind=length,
            about="Radius of the lens, in the file's unit; what is not in focus is blurred. 0 is a pinhole.",
            default=0.0,
            example="0.02",
        ),
        Key(
            name="focus",
            kind=length,
            about="Distance along the view of what is sharp, in the file's unit. A lens needs it.",
            default=0.0,
            example="2.5",
        ),
        Key(
            name="height",
            kind=positive_length,
            about="Height of what is seen, in the file's unit, whatever the distance: the camera is orthographic, and "
            "its `vertical_fov` does nothing.",
            fallback="it has perspective",
            example="3.0",
        ),
        Key(
            name="fov_axis",
            kind=Choice(FOV_AXES),
            about="Along what of the picture as much is seen as with the proposed resolution, when it has another "
            "shape: its width, height, the smaller or the larger of them, or the diagonal.",
            default="y",
            example='"x"',
        ),
    ),
)

time = Key(name="time", kind=number, about="Time of this key, not before the one above.", example="0.5", required=True)
SHAPE_KEYS = (
    Key(
        name="tension",
        kind=number,
        about="1 comes to rest at this key, -1 hurries through.",
        fallback="0",
        example="0.5",
    ),
    Key(
        name="continuity",
        kind=number,
        about="-1 makes a corner.",
        fallback="0",
        example="-1",
    ),
    Key(
        name="bias",
        kind=number,
        about="1 follows the direction from the key before, -1 that to the key after.",
        fallback="0",
        example="0.2",
    ),
)

VECTOR_KEY = Table(
    "tracks.NAME.translate",
    "A position at a time.",
    (
        time,
        Key(
            name="value", kind=point, about="The shift, in the unit of what moves.", example="[0, 1, 0]", required=True
        ),
        *SHAPE_KEYS,
    ),
)
TURN_KEY = Turn(
    "tracks.NAME.rotate",
    "A turn at a time. From key to key it goes the short way, so that less than half a turn lies between two.",
    (time, *TURN.keys, *SHAPE_KEYS),
)
SCALE_KEY = Table(
    "tracks.NAME.scale",
    "A scale at a time.",
    (
        time,
        Key(
            name="value",
            kind=Triple(-MAX_COORDINATE, MAX_COORDINATE),
            about="Factor, or one for each axis.",
            example="[1, 2, 1]",
            required=True,
        ),
        *SHAPE_KEYS,
    ),
)
VISIBLE_KEY = Table(
    "tracks.NAME.visible",
    "Whether something is seen from a time on.",
    (
        time,
        Key(
            name="value",
            kind=Flag(),
            about="Whether it is seen; before the first key it is.",
            example="false",
            required=True,
        ),
    ),
)

INTERPOLATIONS = ("spline", "linear", "inner-spline")

TRACK = Table(
    "tracks.NAME",
    "What moves, turns, scales and hides the groups, objects and lights that name it, and the camera of its name. A "
    "part that is missing does nothing.",
    (
        Key(
            name="interpolation",
            kind=Choice(INTERPOLATIONS),
            about="How values change from key to key; see below.",
            default="spline",
            example='"linear"',
        ),
        Key(
            name="translate",
            kind=ListOf(VECTOR_KEY),
            about="Shifts at times.",
            fallback="no shift",
            example="[{ time = 0, value = [0, 0, 0] }, { time = 1, value = [0, 1, 0], tension = 1 }]",
        ),
        Key(
            name="rotate",
            kind=ListOf(TURN_KEY),
            about="Turns at times.",
            fallback="no turn",
            example="[{ time = 0, axis = [0, 1, 0], degrees = 0 }, { time = 1, axis = [0, 1, 0], degrees = 90 }]",
        ),
        Key(
            name="scale",
            kind=ListOf(SCALE_KEY),
            about="Scales at times.",
            fallback="1",
            example="[{ time = 0, value = 1 }, { time = 1, value = [1, 2, 1] }]",
        ),
        Key(
            name="visible",
            kind=ListOf(VISIBLE_KEY),
            about="Times from which on it is seen or not.",
            fallback="it is seen",
            example="[{ time = 0.5, value = false }]",
        ),
    ),
)

FILE_KEYS = Table(
    "(the file)",
    "The tables of a file. All may be left out, but there must be some triangles.",
    (
        Key(name="scene", kind=SCENE, about="The scene as a whole.", default={}, example='{ units = "cm" }'),
        Key(
            name="render", kind=RENDER, about="Options that the scene proposes.", default={}, example="{ passes = 16 }"
        ),
        Key(name="animation", kind=ANIMATION, about="Its frames.", default={}, example="{ end = 2.0, frames = 49 }"),
        Key(
            name="materials",
            kind=Named(MATERIAL),
            about="Materials by name.",
            default={},
            example="{ red = { diffuse = [0.6, 0.1, 0.1] } }",
        ),
        Key(
            name="object",
            kind=ListOf(ObjectTable(), 0),
            about="Objects.",
            default=[],
            example='[{ shape = "sphere", material = "red" }]',
        ),
        Key(name="group", kind=ListOf(GROUP, 0), about="Groups.", default=[], example='[{ name = "table" }]'),
        Key(
            name="light",
            kind=ListOf(LightTable(), 0),
            about="Lights that are no objects.",
            default=[],
            example="[{ power = 60.0 }]",
        ),
        Key(
            name="environment",
            kind=ENVIRONMENT,
            about="Light from all around.",
            fallback="none",
            example="{ color = [0.8, 0.9, 1.0] }",
        ),
        Key(
            name="cameras",
            kind=Named(CAMERA),
            about="Cameras by name.",
            default={},
            example="{ front = { eye = [0, 1, 4], target = [0, 1, 0] } }",
        ),
        Key(
            name="tracks",
            kind=Named(TRACK),
            about="Tracks by name.",
            default={},
            example="{ blink = { visible = [{ time = 1, value = false }] } }",
        ),
    ),
)
