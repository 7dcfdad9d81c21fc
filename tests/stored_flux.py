"""What photons carry, added up as their 32 bits of flux say."""

import numpy as np

from renderer.photons.photon_map import PHOTON_FLUX


def total_flux(photons):
    """The sum of the stored flux of photons (n, PHOTON_WORDS), in its unit: (3,) float64.

    Five bits are an exponent, raised by 24, of nine bits for each channel, blue first.
    """
    packed = np.ascontiguousarray(photons[:, PHOTON_FLUX])
    step = np.ldexp(1.0, (packed >> 27).astype(np.int64) - 24 - 9)
    return np.array([(((packed >> (9 * channel)) & 511) * step).sum() for channel in range(3)])
