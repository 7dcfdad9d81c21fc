"""Measurements that need no scene: rates of launches and of dispatch, and the CPU tracer against Embree."""
