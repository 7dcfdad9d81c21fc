"""What decides the paths of a pass."""

from typing import NamedTuple

import numpy as np

#: Where the numbers of the first surface come from.
RANDOM, SOBOL = range(2)
SAMPLERS = {"random": RANDOM, "sobol": SOBOL}

#: What eye paths do with diffuse reflection. FOLLOW: follow it (path tracing). INDIRECT: ask the photons for all light
#: but the direct (photon mapping). EVERYTHING: ask them for all light (the map shown as it is). NOTHING: take direct
#: light alone, and follow mirrors and glass, but no lobe that spreads light. CAUSTICS: follow it, but ask the photons
#: for light that came by mirrors and glass. GATHER: do as CAUSTICS up to a diffuse bounce and, beyond it, for what is
#: near; farther off ask the irradiance at photons for all light. PARTLY: do as INDIRECT, but follow the first diffuse
#: reflection of pixels that have no radius of their own, and ask the photons behind it. OCCLUDE: no path goes on; one
#: shadow ray tells whether the sky is free.
FOLLOW, INDIRECT, EVERYTHING, NOTHING, CAUSTICS, GATHER, PARTLY, OCCLUDE = range(8)

#: All that ask photons for light.
ASKING = (INDIRECT, EVERYTHING, CAUSTICS, GATHER, PARTLY)


class EyeTask(NamedTuple):
    """What decides the paths of a pass: what its driver says, and settings by their names.

    seed: of all random numbers.
    sequence: number of the pass.
    diffuse: what is done with diffuse reflection: FOLLOW or another of these.
    max_bounces: surfaces after which a path ends, but for sheets that it goes straight through; behind a last mirror or
        glass it still meets light.
    light_samples: shadow rays per hit, 0 for none.
    radius: of the search for photons, world units.
    sampler: RANDOM or SOBOL.
    """

    seed: np.uint64
    sequence: int
    diffuse: int
    max_bounces: int
    light_samples: int
    radius: float
    sampler: int = SOBOL


#: Fields that a driver says; all others are settings.
OF_DRIVER = ("seed", "sequence", "diffuse", "light_samples", "radius", "sampler")
EYE_SETTINGS = tuple(name for name in EyeTask._fields if name not in OF_DRIVER)
