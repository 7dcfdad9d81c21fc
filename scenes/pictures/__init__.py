"""This package reads and makes pictures: textures, and images of light from all around."""
