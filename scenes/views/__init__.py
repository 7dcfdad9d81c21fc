"""This package says how a scene is looked at, and lit, where its file does not."""
