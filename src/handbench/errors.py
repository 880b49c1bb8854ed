"""The one kind of error that is the user's to mend."""

from __future__ import annotations


class HandbenchError(Exception):
    """Something a user can put right: one line that names the place, what was expected and what to do.

    The command line prints it and ends with exit code 2; it never becomes a traceback there.
    """
