"""The ways in which photons leave lights: a loop over photons is written once, and compiled for each."""

from renderer.scene.photon_scene import PLAIN
from renderer.simd.ways import for_each_way
from shaders.environment import Sky
from shaders.float32 import ONE
from shaders.lights import Emission, Emitter, kinds_with
from shaders.random import Bits4, unit32
from shaders.sampling import lambertian
from shaders.vector import along
from tracecore.compilation.cached import inlined


@inlined
def leave_plain(light: Emitter, bits: Bits4) -> Emission:
    """Returns a photon that leaves a point, triangle or parallelogram."""
    s, t = unit32(bits[2]), unit32(bits[3])
    is_beyond = s + t > ONE + light.size  # the other half of the square, where the light has none
    s, t = ONE - s if is_beyond else s, ONE - t if is_beyond else t
    origin = along(along(light.corner, light.edge_1, s), light.edge_2, t)
    return Emission(origin, lambertian(light.normal, unit32(bits[0]), unit32(bits[1])), light.flux)


@inlined
def leave_from_plain(light: Emitter, _sky: Sky, bits: Bits4) -> Emission:
    """Returns a photon as `leave_plain` does, beside lights of other kinds."""
    return leave_plain(light, bits)


#: Calls loop(way, kind, more) for each way to leave lights, with the number that `PhotonScene.kinds` has for it.
for_each_leaving = for_each_way(
    [(leave_from_plain, int(PLAIN)), *((kind.leave, int(kind.number)) for kind in kinds_with("leave"))]
)
