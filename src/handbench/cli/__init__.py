"""The command line.  Each verb is a stage; heavy imports happen inside it."""

from __future__ import annotations

import sys

import typer

from handbench.cli import (
    annotating,
    batches,
    compare,
    demo,
    demo_vlm,
    describing,
    experiments,
    looking,
    papers,
    policies,
    posing,
    stages,
    studying,
    swift,
    tune,
)
from handbench.cli.app import app
from handbench.errors import HandbenchError

_INTERRUPTED = 130


def main() -> None:
    """Run the command line; a user's error is one line and exit code 2."""
    try:
        code = app(standalone_mode=False)
        if code == _INTERRUPTED:  # the parser turns an interruption into its exit code
            raise KeyboardInterrupt
        sys.exit(code if isinstance(code, int) else 0)
    except HandbenchError as error:
        print(f"handbench: {error}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        print(f"handbench: {place}{error.strerror or error}", file=sys.stderr)
        sys.exit(2)
    except (KeyboardInterrupt, typer.Abort):
        print("handbench: stopped; repeat the command to go on", file=sys.stderr)
        sys.exit(_INTERRUPTED)
    except typer.Exit as stop:
        sys.exit(stop.exit_code)
    except Exception as error:
        if hasattr(error, "format_message") and hasattr(error, "exit_code"):  # a usage error of the parser
            print(f"handbench: {error.format_message()}", file=sys.stderr)
            sys.exit(error.exit_code)
        raise


__all__ = [
    "annotating",
    "app",
    "batches",
    "compare",
    "demo",
    "demo_vlm",
    "describing",
    "experiments",
    "looking",
    "main",
    "papers",
    "policies",
    "posing",
    "stages",
    "studying",
    "swift",
    "tune",
]
