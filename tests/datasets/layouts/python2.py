"""Pickles as Python 2 wrote them: protocol 2, byte strings, numpy under its old name."""

from __future__ import annotations

import io
import pickle
import struct
from pathlib import Path
from typing import Any, ClassVar


class _Pickler(pickle._Pickler):  # the pure-Python pickler is the one whose opcodes can be chosen
    dispatch: ClassVar[dict[type, Any]] = dict(pickle._Pickler.dispatch)

    def save_bytes(self, value: bytes) -> None:
        self.write(pickle.BINSTRING + struct.pack("<i", len(value)) + value)
        self.memoize(value)

    def save_str(self, value: str) -> None:
        data = value.encode("latin1")
        self.write(pickle.BINSTRING + struct.pack("<i", len(data)) + data)
        self.memoize(value)

    dispatch[bytes] = save_bytes
    dispatch[str] = save_str


def write_pickle(path: Path, content: object) -> None:
    """Write a pickle that Python 3 reads with ``encoding="latin1"`` only."""
    buffer = io.BytesIO()
    _Pickler(buffer, protocol=2).dump(content)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(buffer.getvalue().replace(b"cnumpy._core.", b"cnumpy.core."))
