"""This script makes the clipped bush of the terrace, a ball with dents as leaves have in the light. `python -m
scenes.shipped.scripts.outdoor_leaves` writes `outdoor-leaves.npz` beside the scene."""

import numpy as np

from scenes.meshes.geometry import unit
from scenes.meshes.shapes import sphere
from scenes.shipped import FOLDER

#: Metres: the radius of the ball, and how high its middle is above the foot of the pot.
RADIUS, HEIGHT = 0.27, 0.46

ball = sphere(np.zeros(3), 1.0, 0, 96)
waves = np.sin(23.0 * ball.vertices @ unit(np.array([[1.0, 2.0, 0.5], [-2.0, 0.7, 1.0], [0.4, -1.0, 2.0]])).T)
vertices = ball.vertices * (RADIUS * (1.0 + 0.03 * waves.sum(axis=1, keepdims=True))) + (0.0, HEIGHT, 0.0)
path = FOLDER / "outdoor-leaves.npz"
np.savez(path, vertices=vertices, triangles=ball.triangles.astype(np.uint16))
