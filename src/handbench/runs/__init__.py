"""A run: a folder in which questions are asked, answered, read and scored; broken off, it can be taken up."""
