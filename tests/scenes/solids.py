"""What must hold of triangles that enclose something."""

import numpy as np


def corners(mesh):
    """(n, 3, 3) of the triangles of a mesh."""
    return mesh.vertices[mesh.triangles]


def volume(triangles):
    """Of what closed triangles (n, 3, 3) enclose; negative if they face inward."""
    return np.linalg.det(triangles).sum() / 6.0


def is_closed(triangles):
    """Whether each edge of one triangle is that of another the other way round."""
    places = np.unique(np.round(triangles.reshape(-1, 3), 9), axis=0, return_inverse=True)[1].reshape(-1, 3)
    edges = {tuple(edge) for edge in np.concatenate([places[:, [0, 1]], places[:, [1, 2]], places[:, [2, 0]]]).tolist()}
    return len(edges) == 3 * len(triangles) and all((b, a) in edges for a, b in edges)
