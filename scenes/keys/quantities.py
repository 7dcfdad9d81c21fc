"""This module holds the quantities of scene files, each with its bounds and its unit."""

from scenes.keys.tables import Triple
from scenes.keys.values import Number, Vector
from scenes.meshes.geometry import MAX_COORDINATE

#: The largest number of matrices, scales, angles and times.
MAX_NUMBER = 1e30
#: Radiance reaches so far, so that float32 can square it; lights are looked at from afar, and may be stronger.
MAX_RADIANCE, MAX_INTENSITY = 1e9, 1e20
#: The largest reflectance of an nff surface; more than 1 in all is scaled down when it is shaded.
MAX_REFLECTANCE = 1e6

IN_FILE = "in the file's unit"

number = Number(-MAX_NUMBER, MAX_NUMBER)
degrees = Number(-MAX_NUMBER, MAX_NUMBER, unit="degrees")
share = Number(0.0, 1.0)
point = Vector(3, -MAX_COORDINATE, MAX_COORDINATE, unit=IN_FILE)
flat_point = Vector(2, -MAX_COORDINATE, MAX_COORDINATE, unit=IN_FILE)
#: In a unit that is not the file's.
shift = Vector(3, -MAX_COORDINATE, MAX_COORDINATE)
direction = Vector(3, -MAX_NUMBER, MAX_NUMBER)
length = Number(0.0, MAX_COORDINATE, unit=IN_FILE)
positive_length = Number(0.0, MAX_COORDINATE, inside=True, unit=IN_FILE)
factors = Triple(-MAX_NUMBER, MAX_NUMBER)
positive_factors = Triple(0.0, MAX_NUMBER)
radiance = Triple(0.0, MAX_RADIANCE, unit="W/(m² sr)")
irradiance = Triple(0.0, MAX_RADIANCE, unit="W/m²")
intensity = Triple(0.0, MAX_INTENSITY)
reflectance = Triple(0.0, MAX_REFLECTANCE)
