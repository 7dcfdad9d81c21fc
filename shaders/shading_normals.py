"""This module corrects for surfaces that are shaded with another normal than their flat one.

Light is traced to flat triangles, and shading sees it about the shading normal, which is interpolated between the
corners' normals or bent by a map. Radiance is scattered by the cosine about the shading normal alone. Flux that was
counted on the flat triangle has to be corrected: Veach: Robust Monte Carlo Methods for Light Transport Simulation,
1997, section 5.3. It is corrected once for each use: where photons are looked up in a disc, by the normal that is
shaded; or where a photon lands, if it is for irradiance that is looked up without a normal; and where it is scattered.

The correction has no bound, and its square has no finite mean under even light. `MOST_CORRECTION`, a choice of this
project and not of Veach's, bounds it, which makes light that grazes the flat triangle too dark. Where a normal leans by
an angle t under light that is the same from all sides, a bound of m loses the share
(sqrt(m^2 + 1 - 2 m cos t) + cos t - m) / (1 + cos t) of the irradiance, the form factor of the wedge between the flat
triangle and the plane where the correction is m (docs/correctness.md has numbers).
"""

from shaders.compilation import compiled
from shaders.float32 import ONE, ZERO, Float32

#: The largest factor by which a shading normal may change flux.
MOST_CORRECTION = Float32(4.0)


@compiled
def shading_normal_correction(bent: float, flat: float) -> float:
    """Returns the factor that turns flux counted about the flat normal into flux counted about the shading normal.

    bent: cosine about the shading normal, or a product with one, not negative.
    flat: cosine about the flat normal, or a product with one; where it is not positive there is no correction.
    Returns bent / flat, at most `MOST_CORRECTION`, in the precision of the arguments.
    """
    return min(bent / flat, MOST_CORRECTION) if flat > ZERO else ONE
