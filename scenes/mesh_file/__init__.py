"""This package reads mesh files by the readers that there are, and 3MF by one of its own."""

from scenes.mesh_file.reader import read_mesh_document, read_mesh_file

__all__ = ["read_mesh_document", "read_mesh_file"]
