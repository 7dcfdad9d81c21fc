"""How rays reach a tracer and hits come back.

`tracer` is the contract. A batch goes through a slot of the `ring`: a doorbell says that its rays are there, a
completion flag that its hits are. A kernel that stays answers, or launches of it (`resident` has both), or the calling
thread itself (`direct`). Compiled loops hand over their rays by a `port`, Python by a `queue`, which is a face of one.
Whole arrays on a GPU take neither: they are launched in large pieces (`whole_arrays`).
"""
