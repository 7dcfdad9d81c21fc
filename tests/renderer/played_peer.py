"""A renderer that `tracecore bench pictures` asks in a process of its own: grey pictures, an error, or a crash."""

import os
import sys

import numpy as np

from renderer.bench.peer_process import PeerPicture


def render(way, order):
    """What its way says: pictures all of one half, each of them made in 1, 2 and 9 seconds, or something worse."""
    print("a log that nobody wants to read", file=sys.stderr)
    if way == "raises":
        raise ValueError("not today")
    if way == "crashes":
        os._exit(3)
    assert order.path.is_file()
    assert order.path.suffix == ".xml"
    width, height = order.size
    grey = np.full((height, width, 3), 0.5, np.float32)
    return [PeerPicture(samples=count, seconds=[1.0, 9.0, 2.0], linear=grey) for count in order.samples]
