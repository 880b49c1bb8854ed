"""Hand-pose reliability: 2D estimators on four axes and Pose-F1 (VERA-Hand, arXiv 2610.32517)."""
