"""This module reads media that are the same everywhere, of which shapes are full."""

from dataclasses import dataclass, field, replace

from scenes.materials import microfacets
from scenes.materials.microfacets import glass, scaled
from scenes.model import Color
from scenes.pbrt.colors import INDEX, color
from scenes.pbrt.files import PbrtFiles
from scenes.pbrt.materials import MappedMaterial
from scenes.pbrt.parameters import Parameters
from scenes.pbrt.tokens import FileLine

#: What a medium absorbs and scatters that does not say it.
ABSORPTION, SCATTERING = (0.0011, 0.0024, 0.014), (2.55, 3.21, 3.77)
#: What is noted of other media.
LEFT_OUT = "a medium is left out: space is empty"
#: The border of what lets light pass, where something is inside.
BORDER = MappedMaterial(glass("interface", 1.0))


@dataclass(frozen=True)
class Fog:
    """Is what a medium absorbs and scatters, 1/m, and the mean cosine."""

    absorption: Color
    scattering: Color
    cosine: float


@dataclass(eq=False)
class Media:
    """Holds the media of a file by their names; None stands for one that is left out, which is noted."""

    files: PbrtFiles
    named: dict[str, Fog | None] = field(default_factory=dict)
    around: dict[str, FileLine] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)

    def add(self, name: str, parameters: Parameters) -> None:
        """Makes a medium with a name."""
        if parameters.text("type", "") != "homogeneous":
            self.files.lose(parameters.place, LEFT_OUT)
            self.named[name] = None
            return
        scale = parameters.number("scale", 1.0, low=0.0)
        absorption = color(parameters, self.files, "sigma_a", INDEX) or ABSORPTION
        scattering = color(parameters, self.files, "sigma_s", INDEX) or SCATTERING
        cosine = parameters.number("g", 0.0, -1.0, 1.0)
        self.named[name] = Fog(scaled(absorption, scale), scaled(scattering, scale), cosine)

    def inside(self, inner: str, outer: str, place: FileLine) -> Fog | None:
        """Returns the medium inside of shapes, or None. Outside of them is what the shapes around them are full of."""
        if outer:
            self.around.setdefault(outer, place)
        self.used.add(inner)
        return self.named.get(inner)

    def finish(self) -> None:
        """Notes media that are outside of shapes and inside of none."""
        for name, place in self.around.items():
            if name not in self.used and self.named.get(name) is not None:
                self.files.lose(place, LEFT_OUT)


def filled(look: MappedMaterial | None, fog: Fog | None) -> MappedMaterial | None:
    """Returns the look of shapes that are full of a medium. look: without it, or None for what light passes."""
    if fog is None:
        return look
    look = look or BORDER
    inside = microfacets.filled(look.material, fog.absorption, fog.scattering, fog.cosine)
    return replace(look, material=inside) if look.material.transmittance > 0.0 else look
