"""This package shades hits whose materials have loops of their own, BSDF by BSDF, for photons and eye paths alike."""
