"""The folder of files that tests read: scenes by their format, programs and kernels."""

from pathlib import Path

DATA = Path(__file__).parent / "data"


def data_text(name: str) -> str:
    """Returns the text of a file, by its path below the folder."""
    return (DATA / name).read_text(encoding="utf-8")
