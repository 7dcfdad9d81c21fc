"""Every error that shading raises."""


class ShaderError(Exception):
    """Root of the errors of shaders."""


class UnknownShaderError(ShaderError, ValueError):
    """No shader has this name; the message lists those there are."""
