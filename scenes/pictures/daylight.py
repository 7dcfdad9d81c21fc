"""This module holds the light of a clear day: the radiance of the sky, the irradiance by the sun, and where it stands.

Preetham, Shirley, Smits: A Practical Analytic Model for Daylight, 1999, whose turbidity says how hazy the air is: 2 is
very clear, 10 a haze. Radiance and irradiance are the means over the spectrum as the eye weighs it, per nanometre, so
that 683 lm/W times 106.9 nm makes luminance of them; Mitsuba has the same unit.
"""

import math
from typing import NamedTuple

import numpy as np

from scenes.colors.spectra import RGB_OF_XYZ, WAVELENGTHS, blackbody, light_color
from scenes.meshes.geometry import unit
from scenes.model import Color, Doubles, Floats

#: Rows and columns of the image of a sky.
SKY_SIZE = (256, 512)
#: Turbidities for which the model was fitted.
LEAST_TURBIDITY, MOST_TURBIDITY = 1.7, 10.0
#: cd/m^2 of a radiance of 1 W/(m^2 sr nm): lm/W at the peak, times the integral of the matching function of Y in nm.
LUMINANCE = 683.0 * 106.857
#: The temperature of a black body that is as bright as the sun, K, and the angle from its middle to its edge, degrees.
SUN_TEMPERATURE, SUN_RADIUS = 5778.0, 0.2665

#: Coefficients A to E of Perez's distribution, each of turbidity and 1, for luminance Y and chromaticities x and y.
PEREZ = np.array(
    [
        [[0.1787, -1.4630], [-0.3554, 0.4275], [-0.0227, 5.3251], [0.1206, -2.5771], [-0.0670, 0.3703]],
        [[-0.0193, -0.2592], [-0.0665, 0.0008], [-0.0004, 0.2125], [-0.0641, -0.8989], [-0.0033, 0.0452]],
        [[-0.0167, -0.2608], [-0.0950, 0.0092], [-0.0079, 0.2102], [-0.0441, -1.6537], [-0.0109, 0.0529]],
    ]
)
#: Chromaticities x and y of the zenith: rows of turbidity squared, turbidity and 1, columns of the sun's angle cubed,
#: squared, plain and 1.
ZENITH = np.array(
    [
        [
            [0.00166, -0.00375, 0.00209, 0.0],
            [-0.02903, 0.06377, -0.03202, 0.00394],
            [0.11693, -0.21196, 0.06052, 0.25886],
        ],
        [
            [0.00275, -0.00610, 0.00317, 0.0],
            [-0.04214, 0.08970, -0.04153, 0.00516],
            [0.15346, -0.26756, 0.06670, 0.26688],
        ],
    ]
)


class PlaceAndTime(NamedTuple):
    """Holds a time at a place, as clocks show it. Degrees north and east; hours ahead of Greenwich."""

    latitude: float = 35.6894
    longitude: float = 139.6917
    timezone: float = 9.0
    year: float = 2010.0
    month: float = 7.0
    day: float = 10.0
    hour: float = 15.0
    minute: float = 0.0
    second: float = 0.0


def sky(to_sun: Doubles, turbidity: float) -> Floats:
    """Returns the radiance of the sky, (height, width, 3) float32, in the frame of an environment; black below the
    horizon.

    to_sun: (3,) unit, y up. A sun below the horizon counts as one on it.
    turbidity: what is beyond those of the model counts as the nearest of them.
    """
    haze = min(max(turbidity, LEAST_TURBIDITY), MOST_TURBIDITY)
    height = max(float(to_sun[1]), 0.0)
    sun = unit(np.array([to_sun[0], height, to_sun[2]]))
    angle = math.acos(min(height, 1.0))
    directions = sky_directions()
    above = directions[: SKY_SIZE[0] // 2]
    cosines = above[..., 1]
    gamma = np.arccos(np.clip(above @ sun, -1.0, 1.0))
    zenith = zenith_color(angle, haze)
    shares = [
        perez(row @ (haze, 1.0), cosines, gamma) / perez(row @ (haze, 1.0), np.array(1.0), np.array(angle))
        for row in PEREZ
    ]
    luminance, x, y = (middle * share for middle, share in zip(zenith, shares, strict=True))
    radiance = np.zeros((*SKY_SIZE, 3))
    xyz = np.stack([luminance * x / y, luminance, luminance * (1.0 - x - y) / y], axis=-1)
    radiance[: SKY_SIZE[0] // 2] = np.maximum(xyz @ RGB_OF_XYZ.T, 0.0)
    return radiance.astype(np.float32)


def sky_directions() -> Doubles:
    """Returns the direction (height, width, 3) of each texel of an environment."""
    rows, columns = SKY_SIZE
    polar = np.pi * (np.arange(rows) + 0.5) / rows
    turn = 2.0 * np.pi * ((np.arange(columns) + 0.5) / columns - 0.5)
    across, up = np.sin(polar)[:, None], np.repeat(np.cos(polar)[:, None], columns, axis=1)
    return np.stack([across * np.sin(turn), up, -across * np.cos(turn)], axis=-1)


def perez(coefficients: Doubles, cosines: Doubles, gamma: Doubles) -> Doubles:
    """Returns Perez's distribution (Perez, Seals, Michalsky: All-Weather Model for Sky Luminance Distribution, 1993).

    cosines: to the zenith, above 0.
    gamma: angles to the sun, radians.
    """
    a, b, c, d, e = coefficients
    found: Doubles = (1.0 + a * np.exp(b / cosines)) * (1.0 + c * np.exp(d * gamma) + e * np.cos(gamma) ** 2)
    return found


def zenith_color(angle: float, haze: float) -> tuple[float, float, float]:
    """Returns the radiance Y and the chromaticities x and y of the zenith. angle: from it to the sun, radians."""
    chi = (4.0 / 9.0 - haze / 120.0) * (math.pi - 2.0 * angle)
    kilocandela = (4.0453 * haze - 4.9710) * math.tan(chi) - 0.2155 * haze + 2.4192
    x, y = ((haze**2, haze, 1.0) @ table @ (angle**3, angle**2, angle, 1.0) for table in ZENITH)
    return max(1e3 * kilocandela, 0.0) / LUMINANCE, float(x), float(y)


def sun_irradiance(to_sun: Doubles, turbidity: float) -> Color:
    """Returns the irradiance by the sun on a plane across its light, behind air that scatters it; black below the
    horizon.

    The sun is a black body; ozone and water vapour, which take a few percent, are left out. Masses of air: Kasten:
    A New Table and Approximation Formula for the Relative Optical Air Mass, 1965.

    to_sun: (3,) unit, y up.
    """
    if to_sun[1] <= 0.0:
        return (0.0, 0.0, 0.0)
    angle = math.acos(min(float(to_sun[1]), 1.0))
    mass = 1.0 / (math.cos(angle) + 0.15 * (93.885 - math.degrees(angle)) ** -1.253)
    micrometres = WAVELENGTHS / 1e3
    molecules = 0.008735 * micrometres**-4.08
    dust = max(0.04608 * turbidity - 0.04586, 0.0) * micrometres**-1.3
    solid_angle = math.pi * math.sin(math.radians(SUN_RADIUS)) ** 2
    return light_color(solid_angle * blackbody(SUN_TEMPERATURE) * np.exp(-mass * (molecules + dust)))


def sun_position(moment: PlaceAndTime) -> tuple[float, float]:
    """Returns the sun's angle to the zenith, and from north over east, both in radians.

    Blanco-Muriel, Alarcón-Padilla, López-Moratalla, Lara-Coira: Computing the Solar Vector, 2001.
    """
    hours = moment.hour - moment.timezone + (moment.minute + moment.second / 60.0) / 60.0
    days = julian_day(moment) + hours / 24.0 - 2_451_545.0
    node = 2.1429 - 0.0010394594 * days
    anomaly = 6.2400600 + 0.0172019699 * days
    length = 4.8950630 + 0.017202791698 * days + 0.03341607 * math.sin(anomaly) + 0.00034894 * math.sin(2.0 * anomaly)
    length -= 0.0001134 + 0.0000203 * math.sin(node)
    obliquity = 0.4090928 - 6.2140e-9 * days + 0.0000396 * math.cos(node)
    ascension = math.atan2(math.cos(obliquity) * math.sin(length), math.cos(length))
    declination = math.asin(math.sin(obliquity) * math.sin(length))
    sidereal = 6.6974243242 + 0.0657098283 * days + hours
    turn = math.radians(15.0 * sidereal + moment.longitude) - ascension
    latitude = math.radians(moment.latitude)
    cosine = math.cos(latitude) * math.cos(turn) * math.cos(declination) + math.sin(declination) * math.sin(latitude)
    zenith = math.acos(min(max(cosine, -1.0), 1.0))
    along = math.tan(declination) * math.cos(latitude) - math.sin(latitude) * math.cos(turn)
    return zenith + 6371.01 / 149_597_890.0 * math.sin(zenith), math.atan2(-math.sin(turn), along)


def julian_day(moment: PlaceAndTime) -> float:
    """Returns the Julian date of the midnight in Greenwich at which a day begins."""
    year, month, day = int(moment.year), int(moment.month), int(moment.day)
    early = (month - 14) // 12 + (1 if (month - 14) % 12 else 0)  # rounded towards zero
    whole = (1461 * (year + 4800 + early)) // 4 + (367 * (month - 2 - 12 * early)) // 12
    return whole - (3 * ((year + 4900 + early) // 100)) // 4 + day - 32_075 - 0.5
