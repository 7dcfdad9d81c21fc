"""This package has vector loops over structures of arrays, and the packing between them.

The compiler turns them into vector instructions. In and out: columns of float32 and int32 in memory of one thread.
"""
