"""This package makes a sequence of frames, and one animated picture of them.

In: a plan of all frames, and their numbers (`sequence_order`). Out: a file for each frame, and one of all.

`make_sequence` does it: `frame_maker` plays, packs, opens and renders frame after frame, the next ones while passes of
one are made, and `finished_frames` knows those that are there already. `exposure_pilot` chooses one exposure for all.
"""
