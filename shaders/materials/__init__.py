"""The built-in shaders: importing this package registers them."""

from shaders.materials import dielectric, diffuse, mirror, nff

__all__ = ["dielectric", "diffuse", "mirror", "nff"]
