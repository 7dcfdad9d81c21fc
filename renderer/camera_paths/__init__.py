"""Paths from the eye: where they start, what they meet, and what each of them brings to its pixel.

In: the packed scene, the photons to look at, and the task of a pass. Out: an image of (pixels, columns) float64. A path
begins in `camera_rays` with numbers from `sampler`, lies in the columns of `paths`, and goes on in `bounce`, whose
stages are `vertices` and `lighting`, BSDF by BSDF, with lamps and the sky in `met_light`. `loops` runs many of them in
one thread.
"""
