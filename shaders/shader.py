"""A shader says what mixture of lobes a material's numbers mean, and what becomes of it at a point."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from shaders.bsdf import Bsdf
from shaders.custom import AtPoint
from shaders.vector import Color


class Parameters(Protocol):
    """Has the numbers of a material; each shader says which of them count."""

    @property
    def diffuse(self) -> Color:
        """Returns the reflectance 0..1, linear; a texture multiplies it at the hit."""

    @property
    def specular(self) -> Color:
        """Returns the reflectance 0..1, linear."""

    @property
    def exponent(self) -> float:
        """Returns the cosine power of the Phong lobe."""

    @property
    def mirror_share(self) -> float | None:
        """Returns the share 0..1 of what is specular that is a mirror, or None for what follows from the exponent."""

    @property
    def transmittance(self) -> float:
        """Returns the share of light that is let through, 0..1."""

    @property
    def ior(self) -> float:
        """Returns the refractive index; <= 0 stands for 1."""

    @property
    def eta(self) -> Color:
        """Returns the refractive index of a metal; black stands for unknown."""

    @property
    def k(self) -> Color:
        """Returns the extinction coefficient of a metal."""

    @property
    def roughness(self) -> float:
        """Returns the root of the width of the facets, 0..1."""


@dataclass(frozen=True, kw_only=True)
class Shader:
    """This is a row of the registry.

    mixture: from a material's parameters to its lobes.
    at_point: compiled, from these, after textures, to the lobes at a point, or None. Photons are stored where the
        diffuse lobe of the mixture is not black.
    """

    name: str
    summary: str
    mixture: Callable[[Parameters], Bsdf]
    at_point: AtPoint | None = None
