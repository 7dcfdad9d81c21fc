"""This script writes shipped scenes: `python -m scenes.shipped.scripts [NAME ...]`."""

import sys

from scenes.shipped.scripts.writing import SCENES, write_scene

for name in sys.argv[1:] or SCENES:
    write_scene(name)
