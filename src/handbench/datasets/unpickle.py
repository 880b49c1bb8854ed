"""Pickles of outside origin, opened without running what they say: arrays and plain containers alone."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from handbench.datasets.files import must_exist
from handbench.errors import HandbenchError


def _latin1_bytes(text: str, encoding: str) -> bytes:
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"text in the encoding {encoding!r}")
    return text.encode("latin1")


def _numpy(name: str) -> Callable[..., Any]:
    from numpy._core import multiarray, numeric

    found: Callable[..., Any] = getattr(numeric if name == "_frombuffer" else multiarray, name)
    return found


_MULTIARRAY: Final = ("numpy.core.multiarray", "numpy._core.multiarray")
_NUMERIC: Final = ("numpy.core.numeric", "numpy._core.numeric")
_ALLOWED: Final[dict[tuple[str, str], Callable[..., Any]]] = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    **{(module, name): _numpy(name) for module in _MULTIARRAY for name in ("_reconstruct", "scalar")},
    **{(module, "_frombuffer"): _numpy("_frombuffer") for module in _NUMERIC},
    # Python 2 and low protocols write bytes as text to be encoded.
    ("_codecs", "encode"): _latin1_bytes,
    ("collections", "OrderedDict"): OrderedDict,
    **{
        (module, name): kind
        for module in ("builtins", "__builtin__")
        for name, kind in (("set", set), ("frozenset", frozenset))
    },
}


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Let through what arrays and containers need, and nothing else."""
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"an object of {module}.{name}, which is not plain data") from None


class Inert:
    """Stands for an object of a foreign class: its state is kept, and none of its code is ever run.

    Attributes:
        origin: module and name of the class.
        state: what the class would have been given to restore the object; None where nothing was.
    """

    origin = ""
    state: Any = None

    def __new__(cls, *arguments: object) -> Inert:
        """Make one, whatever the class would have been called with."""
        return super().__new__(cls)

    def __init__(self, *arguments: object) -> None:
        """Keep nothing of what the class would have been called with."""

    def __setstate__(self, state: object) -> None:
        self.state = state


def _inert_of_python_2(kind: Any, base: object, state: object) -> Any:
    if not (isinstance(kind, type) and issubclass(kind, Inert)):
        raise pickle.UnpicklingError("an object that is not plain data")
    return kind()


class _PlainOrInert(_Plain):
    def __init__(self, raw: io.BytesIO, encoding: str, modules: tuple[str, ...]) -> None:
        super().__init__(raw, encoding=encoding)
        self.modules = modules

    def find_class(self, module: str, name: str) -> Any:
        """Let through what arrays and containers need; classes of the modules named become :class:`Inert`."""
        if (module, name) in (("copy_reg", "_reconstructor"), ("copyreg", "_reconstructor")):
            return _inert_of_python_2
        if (module, name) in (("__builtin__", "object"), ("builtins", "object")):
            return object
        if module.split(".")[0] in self.modules or module in self.modules:
            return type("Inert", (Inert,), {"origin": f"{module}.{name}"})
        return super().find_class(module, name)


def load_with_inert(path: Path, what: str, modules: tuple[str, ...]) -> Any:
    """Read a pickle that holds objects of some foreign modules besides plain data.

    Args:
        path: the file.
        what: what it is, for errors.
        modules: names of modules or packages whose classes become :class:`Inert`, without being imported.

    Raises:
        HandbenchError: as for :func:`load_pickle`.
    """
    raw = must_exist(path, what).read_bytes()
    return _load(raw, path, what, lambda stream: _PlainOrInert(stream, "latin1", modules))


def load_pickle(path: Path, what: str) -> Any:
    """Read a pickle of Python 2 or 3.

    Args:
        path: the file.
        what: what it is, for errors.

    Returns:
        Its content: numbers, text (bytes of Python 2 as Latin-1), lists, tuples, dicts, sets and arrays.

    Raises:
        HandbenchError: it is absent, damaged, or holds anything else, which is named and never run.
    """
    return _load(must_exist(path, what).read_bytes(), path, what)


def load_npy(path: Path, what: str) -> Any:
    """Read a ``.npy`` file, be it of numbers or of one pickled object.

    Raises:
        HandbenchError: as for :func:`load_pickle`.
    """
    raw = io.BytesIO(must_exist(path, what).read_bytes())
    try:
        version = np.lib.format.read_magic(raw)
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        _, _, dtype = header(raw)
        if not dtype.hasobject:
            raw.seek(0)
            return np.lib.format.read_array(raw, allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise HandbenchError(f"{path}: expected {what} in a .npy file: {error}") from None
    content = _load(raw.read(), path, what)
    return content.item() if isinstance(content, np.ndarray) and content.ndim == 0 else content


def _load(
    raw: bytes,
    path: Path,
    what: str,
    reader: Callable[[io.BytesIO], pickle.Unpickler] = lambda stream: _Plain(stream, encoding="latin1"),
) -> Any:
    try:
        return reader(io.BytesIO(raw)).load()
    except (pickle.UnpicklingError, EOFError, ValueError, TypeError, KeyError, IndexError) as error:
        reason = str(error).splitlines()[0][:160] if str(error) else type(error).__name__
        raise HandbenchError(f"{path}: expected {what} as a plain pickle: {reason}") from None
    except (AttributeError, ImportError, MemoryError, OverflowError, RecursionError) as error:
        raise HandbenchError(f"{path}: expected {what} as a plain pickle: {type(error).__name__}") from None
