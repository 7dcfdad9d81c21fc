"""The renderer: drivers, photon map, film, image and statistics files, command line."""

__version__ = "0.1.0"
