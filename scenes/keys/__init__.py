"""This package holds what keys of a scene file, options and keywords in Python are made of: the kinds of values that
they may have, tables of keys, and the place of a value in a file, for messages.

`values` and `place` load no NumPy, as help of the command line needs them."""
