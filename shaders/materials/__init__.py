"""The built-in shaders: importing this package registers them."""

from shaders.materials import dielectric, diffuse, metal, mirror, nff, plastic

__all__ = ["dielectric", "diffuse", "metal", "mirror", "nff", "plastic"]
