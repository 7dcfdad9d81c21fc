"""`python -m renderer` is `tracecore`."""

import sys

from renderer.cli import main

sys.exit(main())
