"""This module holds the version of the program, and what its files say of who wrote them."""

import importlib.metadata

__version__ = "0.1.0"

#: By its beginning `scenes.files.marks` knows files of the program.
SOFTWARE = f"tracecore {__version__}"


def version_of(package: str) -> str | None:
    """Returns the version of an installed package, as pip names it, or None where it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
