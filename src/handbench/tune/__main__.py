"""``accelerate launch -m handbench.tune --data … --base … -o …``: ``handbench tune`` in several processes."""

from __future__ import annotations

import sys
from importlib import import_module


def main() -> None:
    """Run the command line's own verb, so that there is one set of options."""
    sys.argv.insert(1, "tune")
    import_module("handbench.cli").main()


if __name__ == "__main__":
    main()
