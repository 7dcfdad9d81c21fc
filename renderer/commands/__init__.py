"""This package holds the commands, one module each. What they ask of a module is in `renderer.cli`."""
