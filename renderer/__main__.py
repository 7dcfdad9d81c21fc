"""This module makes `python -m renderer` the command `tracecore`."""

import sys

from renderer.cli import main

sys.exit(main())
