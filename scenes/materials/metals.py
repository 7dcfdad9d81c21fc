"""This module holds refractive indices and extinction coefficients of metals, as they were measured.

Each is the mean over the visible spectrum for red, green and blue of linear sRGB: by the matching functions of Wyman,
Sloan, Shirley: Simple Analytic Approximations to the CIE XYZ Color Matching Functions, 2013, so weighted that what is
the same at all wavelengths stays so. Means that are taken of the reflectance instead differ from what these reflect by
no more than 0.015, but for gold's red, which no screen shows: there 1.006 became 0.968.
"""

from typing import NamedTuple

from scenes.model import Color


class MeasuredMetal(NamedTuple):
    """Describes a metal.

    symbol: of the element, empty for an alloy.
    eta: refractive index.
    k: extinction coefficient.
    """

    symbol: str
    eta: Color
    k: Color


#: Gold, silver and copper: Johnson, Christy: Optical Constants of the Noble Metals, 1972. Chromium, iron, nickel and
#: titanium: Johnson, Christy: Optical Constants of Transition Metals, 1974. Aluminium: Rakić: Algorithm for the
#: Determination of Intrinsic Optical Constants of Metal Films, 1995. Platinum and tungsten: Rakić, Djurišić, Elazar,
#: Majewski: Optical Properties of Metallic Films for Vertical-Cavity Optoelectronic Devices, 1998. Brass, of 70 %
#: copper and 30 % zinc: Querry: Optical Constants, 1985.
METALS = {
    "aluminium": MeasuredMetal("Al", (1.441, 0.988, 0.585), (7.558, 6.566, 5.306)),
    "brass": MeasuredMetal("", (0.433, 0.514, 1.146), (3.584, 2.695, 1.749)),
    "chromium": MeasuredMetal("Cr", (3.224, 3.117, 2.256), (3.291, 3.339, 3.113)),
    "copper": MeasuredMetal("Cu", (0.237, 1.037, 1.298), (3.244, 2.601, 2.353)),
    "gold": MeasuredMetal("Au", (0.108, 0.489, 1.478), (3.509, 2.338, 1.809)),
    "iron": MeasuredMetal("Fe", (2.917, 2.921, 2.532), (3.065, 2.939, 2.742)),
    "nickel": MeasuredMetal("Ni", (2.010, 1.904, 1.719), (4.121, 3.574, 2.863)),
    "platinum": MeasuredMetal("Pt", (2.317, 2.077, 1.819), (4.171, 3.673, 3.068)),
    "silver": MeasuredMetal("Ag", (0.055, 0.055, 0.043), (4.293, 3.543, 2.534)),
    "titanium": MeasuredMetal("Ti", (2.716, 2.511, 2.227), (3.791, 3.403, 2.999)),
    "tungsten": MeasuredMetal("W", (3.670, 3.444, 3.351), (2.918, 2.737, 2.504)),
}

#: The elements among them.
BY_SYMBOL = {metal.symbol: metal for metal in METALS.values() if metal.symbol}
