"""This module has a table of how much of the light that facets of a clear coat keep at once Fresnel reflects, over
index, roughness and angle, and describes such coats: facets of a dielectric border, of which only reflection is seen.

Layers are at equal steps of the root of (ior - 1) / (ior + 1), so that a number of them up is the index 1.5. Rows and
columns are those of `shaders.albedo_table`. What one facet reflects to others is reflected by them in turn: Kulla,
Conty: Revisiting Physically Based Shading at Imageworks, 2017. A coat narrower than `LEAST_ALPHA` is a mirror.

`tests/shading_tables.py` made the files.
"""

import math
from pathlib import Path

import numpy as np

from shaders.albedo_table import (
    between,
    cell_at,
    mean_missed,
    missed_at,
    read,
    read_mean,
)
from shaders.compilation import address, compiled, get
from shaders.float32 import ONE, PI, ZERO, Float32, Int
from shaders.fresnel import fresnel
from shaders.ggx import LEAST_ALPHA, density, halfway, unhidden_over_cosines
from shaders.vector import Vec3, dot

#: The index of lacquer, whose layer is LACQUER_LAYER; LAYERS of them, up to an index of 9.
LACQUER, LACQUER_LAYER, LAYERS = Float32(1.5), 16, 33
LACQUER_RATIO = Float32(0.2)

#: What a share is stored as multiples of.
UNIT = 1.0 / 65535.0

FILE, MEANS_FILE = Path(__file__).with_suffix(".npy"), Path(__file__).with_name("coat_means.npy")

#: The table; what is reflected at once of light from all sides, (LAYERS, ALPHAS), and of smooth coats, (LAYERS, 1).
REFLECTED = (UNIT * np.load(FILE)).astype(np.float32)
MEAN_REFLECTED, MEAN_SMOOTH = map(np.ascontiguousarray, np.split(np.load(MEANS_FILE), [-1], axis=1))


@compiled
def layer_at(ior: float) -> tuple[int, float]:
    """Returns the int32 layer before an index >= 1, and how far it is to the next one. That of LACQUER is exact."""
    root = math.sqrt(max(ior - ONE, ZERO) / (ior + ONE) / LACQUER_RATIO)
    scaled = min(root * Float32(LACQUER_LAYER), Float32(LAYERS - 1))
    layer = min(Int(scaled), Int(LAYERS - 2))
    return layer, scaled - Float32(layer)


@compiled
def coat_albedo(ior: float, alpha: float, cosine: float) -> float:
    """Returns the share of light at a cosine that a coat reflects."""
    cell, (layer, aside) = cell_at(alpha, cosine), layer_at(ior)
    near, far = read(address(REFLECTED), layer, cell), read(address(REFLECTED), Int(layer + Int(1)), cell)
    missed = missed_at(alpha, cell)
    rough = (ONE - missed) * _between(near, far, aside) + missed * more_by_coat(ior, alpha)
    smooth = fresnel(max(cosine, ZERO), ior)
    return rough if alpha >= LEAST_ALPHA else smooth


@compiled
def mean_coat_albedo(ior: float, alpha: float) -> float:
    """Returns the share of light from all sides that a coat reflects."""
    layer, aside = layer_at(ior)
    near = read_mean(address(MEAN_REFLECTED), layer, alpha)
    far = read_mean(address(MEAN_REFLECTED), Int(layer + Int(1)), alpha)
    rough = _between(near, far, aside) + mean_missed(alpha) * more_by_coat(ior, alpha)
    smooth = mean_of_smooth(ior)
    return rough if alpha >= LEAST_ALPHA else smooth


@compiled
def mean_of_smooth(ior: float) -> float:
    """Returns the share of light from all sides that a smooth coat reflects."""
    layer, aside = layer_at(ior)
    return _between(get(address(MEAN_SMOOTH), layer), get(address(MEAN_SMOOTH), Int(layer + Int(1))), aside)


@compiled
def more_by_coat(ior: float, alpha: float) -> float:
    """Returns which share of the light that does not get out after one bounce is reflected later."""
    return geometric(mean_of_smooth(ior), ONE - mean_missed(alpha))


@compiled
def geometric(kept: float, out: float) -> float:
    """Returns the sum of kept^(n + 1) (1 - out)^(n - 1) out over n from 1 on: of light that facets reflect on and on,
    each the share kept, and of which the share `out` gets out each time."""
    return kept * kept * out / (ONE - kept * (ONE - out))


@compiled
def coat_value(ior: float, alpha: float, wi: Vec3, wo: Vec3) -> float:
    """Returns the value of a rough coat in 1/sr, without the cosine, for wi and wo above it."""
    h = halfway(wi, wo)
    once = fresnel(max(dot(wo, h), ZERO), ior) * density(h, alpha) * unhidden_over_cosines(wi, wo, alpha)
    missed = missed_at(alpha, cell_at(alpha, wi[2])) * missed_at(alpha, cell_at(alpha, wo[2]))
    return once + more_by_coat(ior, alpha) * missed / (PI * mean_missed(alpha))


@compiled
def _between(near: float, far: float, aside: float) -> float:
    """Returns what is a share of the way from near to far; where there is none, far need not be read."""
    return between(near, far, aside) if aside > ZERO else near


@compiled
def lacquer_albedo(share: float, alpha: float, cosine: float) -> float:
    """Returns what lacquer reflects that covers a share of a surface; where none does, nothing is looked up."""
    reflected = share * coat_albedo(LACQUER, alpha, cosine)
    return reflected if share > ZERO else ZERO


@compiled
def lacquer_value(share: float, alpha: float, wi: Vec3, wo: Vec3) -> float:
    """Returns the value, in 1/sr, of lacquer that covers a share of a surface, where it spreads light."""
    value = share * coat_value(LACQUER, max(alpha, LEAST_ALPHA), wi, wo)
    return value if (share > ZERO) & (alpha >= LEAST_ALPHA) else ZERO
