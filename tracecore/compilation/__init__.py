"""How Python becomes machine code: merged with its callers, cached on disk, with vectors and a clock of its own.

It sees nothing else of the project; `shaders` is compiled by it too.
"""
