"""The renderer: drivers, photon map, film, image and statistics files, command line."""

__version__ = "0.1.0"

from renderer.processor import use_widest_vectors

use_widest_vectors()  # before anything is compiled
