"""This package holds everything that measures: sets of rays and view points, kernels and peers compared on them, and
reports of the figures.

In: a scene with a tracer (`scene`), drivers and runs whose rays are recorded. Out: tables, plots, pages and files of
figures. Pictures do not depend on anything here.
"""
