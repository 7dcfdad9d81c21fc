"""This module holds every error that shading raises."""


class ShaderError(Exception):
    """This is the root of the errors of shaders."""


class UnknownShaderError(ShaderError, ValueError):
    """No shader has this name; the message lists those there are."""


class UnknownLightError(ShaderError, ValueError):
    """No kind of light has this name; the message lists those there are."""
