"""A fleet is several processes, its members, that share out work: on one host with a GPU each, or on several machines.

What the work is, the fleet does not know. A member makes items of it with what it was opened with; each item may be
made anywhere and twice, with the same result. `processes` has the members of one host, `cluster` those of a Dask
cluster, `seats` says which device and cores each has.
"""
