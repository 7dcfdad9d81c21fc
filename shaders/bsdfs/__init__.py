"""This package holds the BSDFs, one file each, whose last line is the row that `shaders.registry` lists."""
