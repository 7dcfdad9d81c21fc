"""This package reads scenes of Mitsuba: a subset of its XML, as 0.6 and as 3 spell it.

This one of the formats that research scenes are published in is read because XML needs no parser of our own and its
shapes are the OBJ and PLY files that are read anyway; the scenes of Bitterli: Rendering resources (2016) come in it.
Jakob: Mitsuba renderer (2010). Jakob, Speierer, Roussel, Vicini: Dr.Jit, with Mitsuba 3 (2022).

Shapes: obj, ply, rectangle, cube, sphere, disk, cylinder, and shapegroup with instance. Curved ones become triangles.
A mesh without normals is flat; Mitsuba would smooth it. A transform that mirrors leaves the outside outside.

BSDFs: diffuse, conductor, dielectric, plastic and the rough ones of these; twosided, mask, bumpmap and normalmap are
what is in them, of which bitmaps in the last two bend the normals. A blendbsdf of diffuse ones, conductors without
index, smooth dielectrics and blends becomes a mixture as in NFF, with Phong's highlight for that of a rough conductor;
how much of what it reflects is a perfect mirror follows from that highlight, not from the blend. The picture of a
mask's opacity cuts out what is below one half of its bytes; no other opacity counts. Every surface has two sides.
Metals are known by the symbols of `scenes.metals`, whose indices are not those of Mitsuba's tables, or by eta and k.
Specular_reflectance of glass and plastic counts for nothing, and thindielectric is a pane that bends nothing. What is
diffuse may have a texture, and so may the specular_reflectance of metals and the alpha of metals and rough plastic;
elsewhere its mean counts. Textures: bitmap and checkerboard, repeated or clamped (both axes by wrap_mode, mirror
repeats), with filter_type nearest, bilinear, or else mip. All of a surface must map texture coordinates alike.

Emitters: area, point, spot (which fades a little otherwise from its beam to its cutoff), directional, constant and
envmap. Sensors: perspective, thinlens and orthographic; film sizes count, all else of films, samplers, filters and
integrators is skipped. Colours are rgb, srgb or spectra of one or three numbers, not of wavelengths. Includes and
pictures lie beside the file that names them.
"""

from pathlib import Path

from scenes.errors import SceneFileError
from scenes.evaluator import scene_of
from scenes.mitsuba.reader import read_document
from scenes.scene import Scene

__all__ = ["read"]


def read(path: Path) -> Scene:
    """Returns the scene of an XML file. Raises SceneFileError with the file and line of what is wrong or not
    supported."""
    document = read_document(path)
    if document.triangles == 0:
        raise SceneFileError(path, None, "there are no shapes in the scene")
    return scene_of(path.stem, document, str(path))
