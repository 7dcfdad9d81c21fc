"""This package plays a document: what it looks like at one time, as triangles."""
