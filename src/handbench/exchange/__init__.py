"""To and from other programs' files."""
