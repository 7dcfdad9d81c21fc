"""Makes machine code of Python: merged with its callers, cached on disk, with vectors and a clock for it.

It sees nothing else of the project; `shaders` is compiled by it too.
"""
