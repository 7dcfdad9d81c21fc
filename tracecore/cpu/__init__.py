"""Traverses a tree on the CPU: one ray through an 8-wide tree, in compiled code that any thread may call."""
