"""What a shader is: it says what mixture of lobes a material's numbers mean, and what becomes of it at a point."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from shaders.bsdf import Bsdf
from shaders.custom import AtPoint
from shaders.vector import Color


class Parameters(Protocol):
    """The numbers of a material; which of them count is the shader's affair."""

    @property
    def diffuse(self) -> Color:
        """Reflectance 0..1, linear; a texture multiplies it at the hit."""

    @property
    def specular(self) -> Color:
        """Reflectance 0..1, linear."""

    @property
    def shine(self) -> float:
        """Cosine power."""

    @property
    def transmittance(self) -> float:
        """Share let through, 0..1."""

    @property
    def ior(self) -> float:
        """Refractive index; <= 0 stands for 1."""

    @property
    def eta(self) -> Color:
        """Refractive index of a metal; black stands for unknown."""

    @property
    def k(self) -> Color:
        """Extinction coefficient of a metal."""

    @property
    def roughness(self) -> float:
        """Root of the width of facets, 0..1."""


@dataclass(frozen=True, kw_only=True)
class Shader:
    """A row of the registry.

    mixture: from a material's parameters to its lobes. at_point: compiled, from these, after textures, to the lobes at
    a point, or None. Photons are stored where the diffuse lobe of the mixture is not black.
    """

    name: str
    summary: str
    mixture: Callable[[Parameters], Bsdf]
    at_point: AtPoint | None = None
