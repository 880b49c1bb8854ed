"""The one kind of error that is the user's to mend."""

from __future__ import annotations


class HandbenchError(Exception):
    """Something a user can put right: one line that names the place, what was expected and what to do.

    The command line prints it and ends with exit code 2; it never becomes a traceback there.

    Attributes:
        reason: a few words under which rows that are left out for it are counted.
    """

    def __init__(self, message: str = "", reason: str = "damaged annotation") -> None:
        super().__init__(message)
        self.reason = reason
