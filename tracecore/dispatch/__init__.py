"""How rays reach a tracer and hits come back.

`tracer` is the contract. A batch goes through a slot of the `ring`: a doorbell says that its rays are there, a flag that
its hits are. A kernel that stays (`resident`), launches (`streamed`) or the calling thread itself (`direct`) answers.
Compiled loops hand over their rays by a `port`, Python by a queue.
"""
