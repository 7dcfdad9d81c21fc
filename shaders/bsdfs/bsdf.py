"""This module says what a BSDF is: a row of functions over its own numbers, which the loops of photons and of eye paths
call alike.

All numbers are float32. Directions are unit vectors that point away from the surface, in a frame whose z axis is the
shading normal on the side of `wo`. Functions have no branches that LLVM could not make selects of, and read tables by
`renderer.simd.columns.get` alone, so that loops over hits become vector instructions.

A BSDF is a base, which may be black, and a rest. The base is Lambert's law with what comes through the layers above it,
of the value `entering(wi) * reflectance(wo) / pi`. Photons are stored on it, and may stand for it. Rays follow the
rest.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, get_type_hints

from shaders.float32 import Int
from shaders.vector import Color, Vec3

#: What drew a direction: nothing, the base, another lobe that spreads light, or one that does not.
LOBE_NONE, LOBE_BASE, LOBE_GLOSSY, LOBE_SHARP = (Int(lobe) for lobe in range(4))

#: How many numbers a BSDF may have.
MOST_NUMBERS = 16


class Seen(NamedTuple):
    """Says how a surface is looked at.

    wo: where the path came from, z > 0.
    is_outside: whether that is the side which the surface calls its front.
    carried: what the path carries, by channel. Lobes are chosen in proportion to what they would carry of it.
    follow: 1 where the base takes part in what is drawn, 0 where photons stand for it.
    tables: address of what was measured, float32: how many tables there are, and one behind the other.
    """

    wo: Vec3
    is_outside: bool
    carried: Color
    follow: float
    tables: int


class Drawn(NamedTuple):
    """Is a direction that was drawn.

    weight: of a lobe without spread, f cos / pdf, the share of the light that is kept; of others nothing reads it.
    lobe: LOBE_BASE or another.
    """

    wi: Vec3
    weight: Color
    lobe: int


class Value(NamedTuple):
    """Is the value of all lobes that spread light, towards a direction on either side.

    base, rest: in 1/sr, without the cosine, of flux: radiance from the far side is less by the square of `eta`.
    pdf: density in solid angle with which `sample` draws the direction from these lobes.
    """

    base: Color
    rest: Color
    pdf: float


@dataclass(frozen=True, kw_only=True)
class BsdfKey:
    """Is a number, a colour or the path of a file that only materials of one kind have.

    default: its value where a material does not say it; three numbers make it a colour, and "" a path.
    low, high: the range of each number; of a text they mean nothing.
    summary: what it is, with its unit.
    """

    default: float | Color | str
    low: float = 0.0
    high: float = 1.0
    summary: str


@dataclass(frozen=True, kw_only=True)
class Bsdf:
    """Is a row of the registry.

    name: what materials call it by.
    summary: a line for lists.
    parameters: a named tuple, whose fields are float or Color, MOST_NUMBERS numbers at most.
    pack: from a material (`scenes.model.Material`) to its parameters.
    sample: (parameters, seen, u) to Drawn; u: three uniform numbers, of which the first chooses the lobe.
    evaluate: (parameters, wi, seen) to Value.
    entering: (parameters, w) to the share, by channel, of the flux from w that comes to the base.
    reflectance: (parameters, w) to the base's reflectance towards w of light that has come to it.
    albedo: (parameters, wo) to all that is reflected and let through towards wo, by channel.
    eta: (parameters, is_outside) to the index of the far side over that of the near one, or None for 1. Parameters have
        `transmission`, a Color that is black where nothing gets through, and `ior`, of what is inside, then.
    maps: of each of a material's pictures that counts, which parameters it multiplies, and how (see `Use`).
    keys: numbers that only materials of this kind have, by name.
    table: from a material to what was measured of it, always as many float32, or None where nothing was. The parameter
        `table` is then the number of that table in those of the scene.
    stores: from parameters to whether the base is not black; Python calls it, also with 0 for what pictures multiply.
    is_sharp: the same, to whether a lobe without spread turns light.
    is_clear: the same, to whether it lets light through and bends none of it; `transmission` says how much then.
    simpler: the same, to a BSDF with fewer lobes and its parameters, which mean the same, or None.
    may_lack: numbers that are 0 of most materials. A scene where they are of all has loops without them.
    lacks: those of them that are 0 in these loops, and BENT_NORMALS where no surface has any.
    has_rest: whether it is more than a base on which nothing lies: a surface of Lambert's law alone.
    is_linear: whether the first parameter is a Color that `texture` multiplies, and all of the base is linear in it: a
        photon may then look at one texel, drawn so that the mean is right.
    has_tangent: whether the frame's x axis lies along the u of textures.
    is_mirroring: whether it has a lobe about the mirrored direction, which bent normals must not send into the surface.
    is_of_media: whether it is no surface's, but that of particles in a medium.
    at_point: from a `shaders.custom.Point` and the parameters after all maps to those at the point, or None. Numba
        compiles it. What is inside of a solid, and whether a surface is a sheet, the material says all the same.
    """

    name: str
    summary: str
    parameters: type[Any]
    pack: Callable[[Any], Any]
    sample: Callable[..., Drawn]
    evaluate: Callable[..., Value]
    entering: Callable[..., Color]
    reflectance: Callable[..., Color]
    albedo: Callable[..., Color]
    eta: Callable[..., float] | None = None
    maps: Mapping[str, tuple["Use", ...]] = field(default_factory=dict)
    keys: Mapping[str, BsdfKey] = field(default_factory=dict)
    table: Callable[[Any], Any] | None = None
    stores: Callable[[Any], bool] = lambda parameters: False
    is_sharp: Callable[[Any], bool] = lambda parameters: False
    is_clear: Callable[[Any], bool] = lambda parameters: False
    simpler: Callable[[Any], tuple["Bsdf", Any] | None] = lambda parameters: None
    may_lack: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    has_rest: bool = True
    is_linear: bool = False
    has_tangent: bool = False
    is_mirroring: bool = True
    is_of_media: bool = False
    at_point: Callable[..., Any] | None = None


def sizes_of(parameters: type[Any]) -> dict[str, int]:
    """Returns how many numbers each field of a BSDF's parameters has: 1 of a float, 3 of a Color."""
    return {name: 1 if kind is float else 3 for name, kind in get_type_hints(parameters).items()}


class Use(NamedTuple):
    """Says what a picture multiplies.

    parameter: name of a field of the parameters: a Color is multiplied by channel, a float with one number.
    channel: of the picture for that number, 0 to 2; MEAN for the mean of all.
    is_squared: whether the number is squared before, as that of a roughness is for alpha.
    """

    parameter: str
    channel: int = -1
    is_squared: bool = False


MEAN = -1

#: What a BSDF may lack beside numbers: surfaces whose shading normal is not the flat one.
BENT_NORMALS = "bent normals"
