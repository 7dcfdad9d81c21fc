"""This script writes shipped scenes: `python -m modelling [NAME ...]`."""

import sys

from modelling.writing import SCENES, write_scene

for name in sys.argv[1:] or SCENES:
    write_scene(name)
