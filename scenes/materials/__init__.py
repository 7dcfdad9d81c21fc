"""This package makes surfaces that several formats have: metals, coats, colours of faces and of corners."""
