"""Fixtures for reading scenes that a test writes."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from scenes import Scene, Snapshot, load

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes files in an `aff` folder, beside the texture `t.ppm`, and returns the path of the first, the scene."""

    def files(text: str | bytes, name: str = "scene.aff", **others: str) -> Path:
        folder = tmp_path / "aff"
        folder.mkdir(exist_ok=True)
        pixels = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
        Image.fromarray(pixels).save(folder / "t.ppm")
        for stem, other in others.items():
            (folder / f"{stem}.aff").write_text(other, encoding="latin-1")
        (folder / name).write_bytes(text.encode("latin-1") if isinstance(text, str) else text)
        return folder / name

    return files


@pytest.fixture
def read(write: Write) -> Callable[..., Scene]:
    """Writes a scene and loads it."""
    return lambda text, **others: load(write(text, **others))


@pytest.fixture
def snap(read: Callable[..., Scene]) -> Callable[..., Snapshot]:
    """Writes a scene, loads it and gives it at a time."""
    return lambda text, time=0.0, **others: read(text, **others).at(time)
