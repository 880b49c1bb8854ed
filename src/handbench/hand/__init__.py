"""The hand itself: skeleton, geometry, descriptors, camera. Pure numpy, no files, no text."""
