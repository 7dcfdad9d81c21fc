"""This package moves things: keyframes, and affine maps."""
