"""Denoising by Intel Open Image Denoise, a network that keeps the edges of surfaces (Áfra: Intel Open Image Denoise,
2019). It looks at the picture and at the colours and normals of what the eye meets; it needs the extra `denoise`."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from renderer.errors import UsageError

Floats = npt.NDArray[np.float32]


def check_denoiser() -> None:
    """Raise `UsageError` now if a picture could not be denoised later."""
    try:
        import pyoidn

        pyoidn.denoise(np.zeros((1, 1, 3), np.float32), hdr=True)  # its library is loaded at the first call
    except (ImportError, OSError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise UsageError(f"cannot denoise: {reason}; install Open Image Denoise with: pip install pyoidn") from error


def denoised(linear: Floats, layers: Mapping[str, Floats]) -> Floats:
    """Returns a picture without its noise.

    linear: (height, width, 3) float32, linear radiance.
    layers: `albedo` and `normal`, of the same shape, if they are known.
    """
    import pyoidn

    clean = pyoidn.denoise(linear, layers.get("albedo"), layers.get("normal"), hdr=True)
    return np.maximum(np.asarray(clean, np.float32), 0.0)
