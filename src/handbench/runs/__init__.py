"""A run: a folder in which questions are asked, answered, read and scored; it can be broken off and taken up."""
