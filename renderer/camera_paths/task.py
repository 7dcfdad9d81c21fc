"""What decides the paths of a pass."""

from typing import NamedTuple

import numpy as np

#: Where the numbers of the first surface come from.
RANDOM, SOBOL = range(2)
SAMPLERS = {"random": RANDOM, "sobol": SOBOL}

#: What eye paths do with diffuse reflection: follow it (path tracing), or ask the photons for all light but the
#: direct (photon mapping), or for all light (the map shown as it is). NOTHING: direct light alone, and no specular lobe is
#: followed. CAUSTICS: follow it, but ask the photons for light that came by mirrors and glass. GATHER: that up to a
#: diffuse bounce and beyond it what is near; farther off ask the irradiance at photons for all light.
FOLLOW, INDIRECT, EVERYTHING, NOTHING, CAUSTICS, GATHER = range(6)


class EyeTask(NamedTuple):
    """What decides the paths of a pass. sequence: the pass. diffuse: FOLLOW or another of these. radius: of the gather.

    light_samples: shadow rays per hit, 0 for none. sampler: RANDOM or SOBOL.
    """

    seed: np.uint64
    sequence: int
    diffuse: int
    max_bounces: int
    light_samples: int
    radius: float
    sampler: int = SOBOL
