"""This package makes one picture.

In: a plan, and its scene with an open tracer. Out: the picture, and its files.

`make_picture` does it: it adds passes to the film until the plan's limits are reached; they come from `pass_source`,
which has a driver make them. `picture_record` knows what the picture's files say, and `picture_files` writes them.
`missing_light` says why a picture is black, and `path_report` what one of its paths met.
"""
