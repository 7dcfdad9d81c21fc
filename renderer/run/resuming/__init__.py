"""This package has pictures and frames go on where they stopped, with the same bits.

In: a film and what its driver carries from pass to pass. Out: a checkpoint, and the same again of it.

`checkpoints` takes one up and writes others, each a `sealed_file`. `frame_key` is one text of all that decides a
picture, by which it is known again; `fingerprint` makes such texts of any value.
"""
