"""This package reads and writes the project's own scene files, in TOML (Preston-Werner et al.: TOML v1.0.0, 2021): see
`docs/scene-file.md`."""

from scenes.toml_scene.reader import read

__all__ = ["read"]
