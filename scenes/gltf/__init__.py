"""This package reads glTF 2.0 files, .gltf and .glb (Khronos Group: glTF 2.0 Specification, 2021), into documents.

`container` opens a file, `accessors` and `primitives` read its arrays, `nodes`, `animation` and `deformation` what
moves, `pictures` and `surfaces` materials, `views` cameras and lights; `reader` puts them together. docs/gltf.md says
what is read, approximated, noted and refused.
"""

from scenes.gltf.reader import read_document
from scenes.gltf.views import new_name

__all__ = ["GLTF_SUFFIXES", "new_name", "read_document"]

GLTF_SUFFIXES = (".glb", ".gltf")
