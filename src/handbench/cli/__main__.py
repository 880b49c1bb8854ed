"""``python -m handbench.cli``."""

from handbench.cli import main

main()
