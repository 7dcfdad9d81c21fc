"""This module tabulates how much of the light that falls on rough glass one facet does not send on, over index,
roughness and angle.

What a facet sends to the wrong side of the surface, or what other facets hide, hits more of them; models of one bounce
lose it. The share that is lost depends on the index of the far side over that of the near one, `eta`, on the width
`alpha` of GGX and on the cosine. Layers are at equal steps of the root of |eta - 1| / (eta + 1), as Fresnel's
reflectance rises steeply where media are almost alike; rows and columns are those of `shaders.albedo_table`.

The table takes minutes to make, so that it is kept in a file beside the code, which
`python -m shaders.rough_glass_table` writes and `shaders.rough_glass_missed` reads.
"""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from shaders.albedo_table import Doubles, column_cosines, kept_by_reflection, row_alphas, seen_facets
from shaders.coat_table import reflected

Shorts = npt.NDArray[np.uint16]

#: Layers along eta, from media that let nothing in to those that let nothing out.
ETAS = 65

#: What a share is stored as multiples of, and the largest index that counts as finite.
UNIT, LARGEST_ETA = 1.0 / 65535.0, 1e4

FILE = Path(__file__).with_suffix(".npy")


def missed_at_once(eta: float, alpha: float, cosine: Doubles) -> Doubles:
    """Returns the shares (n,) of the light at cosines (n,) that one facet neither reflects nor refracts to where it
    leaves.

    Walter, Marschner, Li, Torrance: Microfacet Models for Refraction through Rough Surfaces, 2007, by quadrature over
    the facets that are seen.
    """
    facets = seen_facets(alpha, cosine)
    at_facet = facets.at_facet
    far = np.sqrt(np.maximum(0.0, 1.0 - (1.0 - at_facet**2) / (eta * eta)))
    below = np.clip(facets.z_o / eta - facets.h_z * (at_facet / eta - far), 0.0, 1.0)
    seen_below = 2.0 * below / np.maximum(below + np.sqrt(below**2 + alpha**2 * (1.0 - below**2)), 1e-30)
    share = reflected(at_facet, eta)
    kept = facets.mean(share * kept_by_reflection(alpha, facets) + (1.0 - share) * seen_below)
    return np.clip(1.0 - kept, 0.0, 1.0)


def eta_at(layer: int) -> float:
    """Returns the refractive index of a layer, from 1 / LARGEST_ETA to LARGEST_ETA."""
    root = 2.0 * layer / (ETAS - 1) - 1.0
    ratio = root * abs(root)
    return min(max((1.0 + ratio) / max(1.0 - ratio, 1e-30), 1.0 / LARGEST_ETA), LARGEST_ETA)


def tabulated() -> Shorts:
    """Returns the missed shares, (ETAS, ALPHAS, COSINES), in multiples of UNIT."""
    rows = [(alpha, column_cosines(alpha)) for alpha in row_alphas()]
    shares = [[missed_at_once(eta_at(layer), alpha, cosine) for alpha, cosine in rows] for layer in range(ETAS)]
    return np.rint(np.array(shares) / UNIT).astype(np.uint16)


if __name__ == "__main__":
    np.save(FILE, tabulated())
