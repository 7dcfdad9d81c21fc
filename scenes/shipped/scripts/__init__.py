"""This package holds the scripts that made the scenes of `scenes/shipped` that no hand wrote. It is no part of the
program: a scene is its file. `python -m scenes.shipped.scripts` makes all of them again, and with `kitchen` behind it
that one.
"""
