"""This package reads OBJ files and the MTL files that they name, and gives a document's parts.

Wavefront Technologies: Advanced Visualizer, appendices B1 (object files) and B2 (material libraries), 1995. What of the
formats is read stands in `docs/meshes.md`.
"""

from scenes.wavefront.lines import check_text
from scenes.wavefront.obj import read_obj

__all__ = ["check_text", "read_obj"]
