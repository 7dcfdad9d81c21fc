"""This module holds the quantities of scene files, each with its bounds."""

from scenes.geometry import MAX_COORDINATE
from scenes.keys.values import Number, Triple, Vector

#: The largest number of matrices, scales, angles and times.
MAX_NUMBER = 1e30
#: Radiance reaches so far, so that float32 can square it; lights are looked at from afar, and may be stronger.
MAX_RADIANCE, MAX_INTENSITY = 1e9, 1e20
#: The largest reflectance of an nff surface; more than 1 in all is scaled down when it is shaded.
MAX_REFLECTANCE = 1e6

number = Number(-MAX_NUMBER, MAX_NUMBER)
point = Vector(3, -MAX_COORDINATE, MAX_COORDINATE)
direction = Vector(3, -MAX_NUMBER, MAX_NUMBER)
length = Number(0.0, MAX_COORDINATE)
positive_length = Number(0.0, MAX_COORDINATE, inside=True)
factors = Triple(-MAX_NUMBER, MAX_NUMBER)
radiance = Triple(0.0, MAX_RADIANCE)
intensity = Triple(0.0, MAX_INTENSITY)
reflectance = Triple(0.0, MAX_REFLECTANCE)
