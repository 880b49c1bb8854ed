"""Hand-pose estimators: an image in, 21 keypoints per hand out."""
