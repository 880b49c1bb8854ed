"""Pictures and tables of a finished run: the terminal, and one HTML file."""
