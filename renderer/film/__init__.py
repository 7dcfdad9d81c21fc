"""The film: passes added up, the layers beside the picture, and the way to a file.

In: passes, (height, width, columns) float64. Out: linear radiance, its noise and layers, pictures with what is known of
them, and image files. It knows neither scenes nor photons.
"""
