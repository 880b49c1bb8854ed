"""One folder per benchmark: questions, reading, scoring, baselines, published numbers."""
