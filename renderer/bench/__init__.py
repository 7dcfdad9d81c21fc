"""Everything that measures: sets of rays and view points, kernels and peers compared on them, and what is told of it.

In: a scene with a tracer (`scene`), drivers and runs whose rays are recorded. Out: tables, plots, pages and files of
figures. Pictures do not depend on anything here.
"""
