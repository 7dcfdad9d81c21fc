"""Holds hits where the rays lie, on a GPU. Whoever imports this module imports CuPy."""

from typing import Any

import cupy

from tracecore.rays import HitColumns, Hits


class DeviceHits(HitColumns, cupy.ndarray):  # type: ignore[misc]  # CuPy has no types
    """Holds hits in a GPU's memory. Other libraries take them by `__dlpack__` or `__cuda_array_interface__`."""

    @property
    def plain(self) -> Any:
        """Returns the same array without names."""
        return self.view(type=cupy.ndarray)

    def get(self, *order: Any, **options: Any) -> Hits:
        """Returns hits in the machine's memory, as CuPy's `get` does."""
        return super().get(*order, **options).view(Hits)
