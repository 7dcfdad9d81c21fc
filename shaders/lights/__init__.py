"""This package holds lights: their share of the photons, and what they send to a point. A file for each kind.

One row per light in `LightArrays`. Photons choose a light in proportion to its power, and so do shadow rays. Suns and
the sky are outside of the scene; their power is what enters the sphere around it. Rows come in, from lights of a scene
and triangles that glow; what loops call goes out: samples, densities and photons.
"""

# ruff: noqa: F401

from shaders.lights.distant import distant_row
from shaders.lights.kind import (
    LIGHT_AREA,
    LIGHT_COLUMNS,
    LIGHT_EDGE_1,
    LIGHT_EDGE_2,
    LIGHT_KIND,
    LIGHT_NORMAL,
    LIGHT_OWN,
    LIGHT_POSITION,
    LIGHT_STRENGTH,
    Emission,
    Emitter,
    Extent,
    Light,
    LightArrays,
    LightSample,
    Row,
    Source,
    Sphere,
    outer_radius,
    triple,
)
from shaders.lights.picture import picture_rows
from shaders.lights.point import POINT, point_row
from shaders.lights.registry import (
    NO_SKY,
    choose,
    emit_from,
    is_outside,
    is_place,
    is_surface,
    kinds_with,
    light_pdf,
    light_reach,
    light_row,
    numbers_of,
    pack_lights,
    photon_density,
    powers,
    powers_per_strength,
    sample_light,
)
from shaders.lights.sky import sky_row
from shaders.lights.sphere import SPHERE, sphere_row
from shaders.lights.spot import spot_row
from shaders.lights.triangle import SHADOW_END, TRIANGLE, triangle_rows
