"""``tiny``: a vision-language model of four million parameters that comes with this package, and its tuned state.

A toy that knows one renderer: it shows what tuning on hand questions does, on any machine, without a download.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Final

from handbench.errors import HandbenchError
from handbench.models._hf_load import load
from handbench.models.hf import LocalModel
from handbench.protocols import Model, model
from handbench.specs import Options, Spec

FOLDER: Final = Path(str(files("handbench.models"))) / "tiny_vlm"
"""Where the base's weights, its processor, the tuned adapter and the model card are."""

TUNED: Final = "tuned"


def adapter_folder(name: str) -> str:
    """The folder of an adapter: ``tuned`` is the package's own, anything else a path; empty for none."""
    return str(FOLDER / TUNED) if name == TUNED else name


@model("tiny")
def tiny(spec: Spec, options: Options) -> Model:
    """``tiny``, or ``tiny?adapter=tuned`` or ``tiny?adapter=PATH`` for one of your own.

    It answers by the likeliest letter: a reply that it writes (``mode=generate``) often has the letter of one option
    and the words of another, since its words follow the picture by themselves.

    Options: ``adapter``, ``mode`` (options, generate), ``batch``, ``max_tokens``, ``allow_overlap``, ``name``.
    """
    if spec.name:
        raise HandbenchError(f"{spec}: tiny takes no path; an adapter is named by tiny?adapter=PATH")
    adapter = options.text("adapter", "")
    name = options.text("name", str(spec))
    by_options = options.choice("mode", "options", ("generate", "options")) == "options"
    batch = options.integer("batch", 32, least=1)
    max_tokens = options.integer("max_tokens", 24, least=1)
    allow = options.flag("allow_overlap")
    options.done()
    folder = adapter_folder(adapter)
    return LocalModel(
        name, load(str(FOLDER), folder, "float32", "cpu"), by_options=by_options, batch=batch, max_tokens=max_tokens,
        adapter=folder, allow_overlap=allow,
    )  # fmt: skip
