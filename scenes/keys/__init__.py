"""This package holds what keys of a scene file are made of: tables of keys, the values that these may have, and the
place of a value in the file, for messages."""
