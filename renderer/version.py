"""This module holds the version of the program, and what its files say of who wrote them."""

__version__ = "0.1.0"

#: By its beginning `scenes.files.marks` knows files of the program.
SOFTWARE = f"tracecore {__version__}"
