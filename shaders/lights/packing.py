"""This module packs the rows of lights, with their shares of the power."""

import numpy as np
import numpy.typing as npt

from shaders.environment import pack_environment, strongest_tint
from shaders.lights.arrays import LIGHT_COLUMNS, LIGHT_KIND, LIGHT_STRENGTH, LightArrays, Row
from shaders.lights.kind import Doubles
from shaders.lights.registry import KINDS
from shaders.textures import TextureArrays, pack_textures

#: The image of no sky.
NO_SKY = np.zeros((0, 0, 3), np.float32)

#: The textures of lights without pictures.
NO_TEXTURES = pack_textures([])


def powers_per_strength(rows: Doubles) -> Doubles:
    """Returns the power of lights over their strength, (n,)."""
    per_strength = np.zeros(len(rows))
    for kind in KINDS:
        own = rows[:, LIGHT_KIND] == kind.number
        per_strength[own] = kind.power_per_strength(rows[own])
    return per_strength


def powers(rows: Doubles) -> Doubles:
    """Returns the power of lights, (n, 3) W per channel."""
    power: Doubles = powers_per_strength(rows)[:, None] * rows[:, LIGHT_STRENGTH : LIGHT_STRENGTH + 3]
    return power


def brightest_powers(rows: Doubles) -> Doubles:
    """Returns the power of lights if they were everywhere as bright as they are at most, (n, 3) W per channel."""
    power = powers(rows)
    for kind in KINDS:
        if kind.brightest is not None:
            own = rows[:, LIGHT_KIND] == kind.number
            power[own] = np.maximum(power[own], kind.brightest(rows[own]))
    return power


def are_met(rows: Doubles) -> npt.NDArray[np.bool_]:
    """Returns whether a ray that leaves the scene can meet lights, (n,) bool."""
    met = np.zeros(len(rows), np.bool_)
    for kind in KINDS:
        own = rows[:, LIGHT_KIND] == kind.number
        met[own] = kind.is_met(rows[own])
    return met


def pack_lights(
    rows: list[Row], sky: npt.NDArray[np.float32] = NO_SKY, textures: TextureArrays = NO_TEXTURES
) -> LightArrays:
    """Packs lights with their probabilities. Rows of no power are kept and never chosen.

    sky: the image of a `sky_row`.
    textures: those of pictures.
    """
    table = np.array(rows, np.float64).reshape(-1, LIGHT_COLUMNS)
    watts = powers(table).mean(axis=1)
    total = float(watts.sum())
    probability = watts / total if total > 0.0 else np.zeros(len(table))
    chosen = probability > 0.0
    per_photon = brightest_powers(table)[chosen] / probability[chosen, None]
    cumulative = np.cumsum(probability)
    if total > 0.0:
        cumulative[np.flatnonzero(probability)[-1] :] = 1.0
    return LightArrays(
        rows=table,
        probability=probability,
        cumulative=cumulative,
        power=total,
        strongest_flux=max(float(per_photon.max(initial=0.0)), strongest_tint(sky) * total),
        outer=np.flatnonzero(are_met(table)),
        environment=pack_environment(sky),
        textures=textures,
    )
