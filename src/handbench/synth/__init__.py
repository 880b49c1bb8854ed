"""Rendered hands with exact truth: mesh, pose, camera, pixels, and the sources made of them."""
