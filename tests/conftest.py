"""Fixtures that every package's tests share."""

import os
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared" / "scenes"


@pytest.fixture(scope="session")
def shared_scenes() -> Path:
    """The folder of public scenes that the project does not ship (BART kitchen, Sibenik, bunny)."""
    folder = Path(os.environ.get("TRACECORE_SCENES", SHARED))
    if not folder.is_dir():
        pytest.skip(f"no folder of public scenes at {folder} (set TRACECORE_SCENES)")
    return folder


@pytest.fixture(scope="session")
def kitchen_file(shared_scenes: Path) -> Path:
    """The BART kitchen's main file."""
    path = shared_scenes / "bart-kitchen" / "aff" / "kitchen.aff"
    if not path.is_file():
        pytest.skip(f"the BART kitchen is not at {path}")
    return path
