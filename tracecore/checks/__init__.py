"""Hard cases for a kernel: triangles and rays go in, and what differs from the hits of the CPU comes out.

`hard_cases` holds them, and `child` runs them in a process of its own, which a kernel may crash.
"""
