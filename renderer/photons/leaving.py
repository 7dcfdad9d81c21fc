"""The ways in which photons leave lights, as types: a loop over photons is written once, and compiled for each."""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call"

from typing import Any

from numba import types
from numba.extending import models, register_model

from renderer.scene.photon_scene import PLAIN
from renderer.simd.columns import I32
from shaders.environment import Sky
from shaders.float32 import ONE
from shaders.lights import Emission, Emitter, leaving
from shaders.random import Bits4, unit32
from shaders.sampling import lambertian
from shaders.vector import along
from tracecore.compilation.cached import inlined
from tracecore.compilation.vector import emitting


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


class Leaving(types.Type):
    """Is Numba's type of a way to leave lights: loops are compiled for each.

    function: from an emitter, the sky and random bits to a photon.
    """

    def __init__(self, function: Any) -> None:
        super().__init__(name=f"Leaving({function.__module__}.{function.__name__})")
        self.function = function._numba_type_


@register_model(Leaving)
class LeavingModel(models.OpaqueModel):
    """Says that a way to leave lights holds nothing."""


@emitting
def leave_from(typing: Any, way: Any, light: Any, sky: Any, bits: Any) -> Any:
    """Returns the photon that leaves a light in some way."""
    called = typing.resolve_function_type(way.function, (light, sky, bits), {})

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.get_function(way.function, called)(builder, arguments[1:])

    return called.return_type(way, light, sky, bits), emit


@emitting
def for_each_way(typing: Any, loop: Any, more: Any) -> Any:
    """Calls loop(way, kind, more) for each way to leave lights, with the number that `PhotonScene.kinds` has for it."""
    kinds = ((kind.leave, int(kind.number)) for kind in leaving())
    ways = [(Leaving(function), number) for function, number in ((leave_from_plain, int(PLAIN)), *kinds)]
    calls = [typing.resolve_function_type(loop, (way, types.int32, more), {}) for way, _ in ways]

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        for (_, number), call in zip(ways, calls, strict=True):
            context.get_function(loop, call)(builder, (context.get_dummy_value(), I32(number), arguments[1]))
        return context.get_dummy_value()

    return types.void(loop, more), emit
