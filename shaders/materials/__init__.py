"""This package holds the built-in shaders, one file each, whose last line is the row that `shaders.registry` lists."""
