"""This package reads and writes files as bytes: errors that say what is wrong, limits, marks, writing in one step."""
