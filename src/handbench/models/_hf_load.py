"""A model folder → model, processor and adapter, with one clear line for each way in which it can be wrong."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from handbench.errors import HandbenchError
from handbench.loading import quiet_where_small

_ENDS: Final = 1 << 20

DTYPES: Final = ("auto", "bfloat16", "float16", "float32")


@dataclass(frozen=True)
class Loaded:
    """A model ready to be asked.

    Attributes:
        model: a transformers model for images and text, in evaluation mode.
        processor: its processor, which pads on the left.
        weights: a fingerprint of its weight files, and of its adapter's.
    """

    model: Any
    processor: Any
    weights: str = ""

    @property
    def tokenizer(self) -> Any:
        """The processor's tokenizer."""
        return self.processor.tokenizer

    @property
    def end_tokens(self) -> set[int]:
        """Tokens that end a reply."""
        ends = self.model.generation_config.eos_token_id
        ends = ends if ends is not None else self.tokenizer.eos_token_id
        return set(ends) if isinstance(ends, list) else {ends} - {None}

    def facts(self) -> dict[str, Any]:
        """Architecture, number format, versions, and a fingerprint of the chat template."""
        import torch
        import transformers

        template = self.processor.chat_template or ""
        template = template if isinstance(template, str) else json.dumps(template, sort_keys=True)
        return {
            "architecture": type(self.model).__name__,
            "dtype": str(self.model.dtype).removeprefix("torch."),
            "parameters": sum(int(weight.numel()) for weight in self.model.parameters()),
            **peak_memory(),
            "processor": type(self.processor).__name__,
            "image_processor": type(self.processor.image_processor).__name__,
            "identity": {"chat template": sha256(template.encode()).hexdigest()[:16], "weights": self.weights},
            "torch": torch.__version__,
            "transformers": transformers.__version__,
        }


def peak_memory() -> dict[str, Any]:
    """The most memory held so far, bytes: of the graphics card where there is one, else of the whole process."""
    import torch

    if torch.cuda.is_available():
        return {"peak_memory": int(torch.cuda.max_memory_allocated()), "peak_memory_of": "GPU"}
    import resource  # not on Windows

    unit = 1 if sys.platform == "darwin" else 1024
    return {"peak_memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit, "peak_memory_of": "process"}


def load(path: str, adapter: str, dtype: str, device: str) -> Loaded:
    """Load a model.

    Args:
        path: a model folder, or the name of a model in the local cache or at the hub.
        adapter: a PEFT adapter's folder, or empty.
        dtype: one of :data:`DTYPES`.
        device: ``auto`` spreads the model over the accelerators there are; else a device such as ``cpu``.

    Raises:
        HandbenchError: a package, the model, its processor or its chat template is missing, or the adapter is
            for another model.
    """
    try:
        import torch
        from transformers import AutoModelForImageTextToText, AutoProcessor
    except ImportError as error:
        raise HandbenchError(f"hf:{path}: {error}; pip install 'handbench[hf]' brings what is needed") from None
    # Names that transformers is about to change in itself are no news to who asks or trains a model.
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"transformers\.")
    if dtype not in DTYPES:
        raise HandbenchError(f"hf:{path}: dtype={dtype}: number formats are {', '.join(DTYPES)}")
    number = dtype if dtype == "auto" else getattr(torch, dtype)
    where: Any = _device_map(torch, device)
    try:
        processor = AutoProcessor.from_pretrained(path)
    except Exception as error:
        raise HandbenchError(f"hf:{path}: no processor could be loaded: {_line(error)}") from None
    if not hasattr(processor, "image_processor") or not hasattr(processor, "tokenizer"):
        raise HandbenchError(f"hf:{path}: its processor is a {type(processor).__name__}, which takes no images")
    if not processor.chat_template:
        raise HandbenchError(f"hf:{path}: its processor has no chat template; add chat_template.jinja to the folder")
    try:
        with quiet_where_small(Path(path)):
            model = AutoModelForImageTextToText.from_pretrained(path, dtype=number, device_map=where)
    except Exception as error:
        raise HandbenchError(f"hf:{path}: the model could not be loaded: {_line(error)}") from None
    if adapter:
        model = lay_on(model, path, adapter).merge_and_unload()
    processor.tokenizer.padding_side = "left"
    if processor.tokenizer.pad_token is None:
        processor.tokenizer.pad_token = processor.tokenizer.eos_token
    return Loaded(model.eval(), processor, fingerprint([Path(path), *([Path(adapter)] if adapter else [])]))


def fingerprint(folders: Sequence[Path]) -> str:
    """Of the weights in folders: the names, sizes, first and last megabyte of their files; empty where there are none.

    The whole of a large model takes minutes to read; training changes every part of every file.
    """
    digest, found = sha256(), False
    for folder in folders:
        for file in sorted([*folder.glob("*.safetensors"), *folder.glob("*.bin")]):
            found = True
            size = file.stat().st_size
            digest.update(f"{file.name} {size}\0".encode())
            with file.open("rb") as weights:
                digest.update(weights.read(_ENDS))
                weights.seek(max(0, size - _ENDS))
                digest.update(weights.read(_ENDS))
    return digest.hexdigest()[:16] if found else ""


def _device_map(torch: Any, device: str) -> Any:
    if device != "auto":
        return {"": device}
    return "auto" if torch.cuda.is_available() else {"": "cpu"}


def lay_on(model: Any, path: str, adapter: str, trainable: bool = False) -> Any:
    """An adapter on a model.

    Args:
        model: the base.
        path: of the base.
        adapter: the adapter's folder.
        trainable: whether its weights are to be trained further.

    Raises:
        HandbenchError: peft is missing, or the adapter is damaged or for another model.
    """
    try:
        from peft import PeftModel, get_peft_model_state_dict
        from peft.utils import load_peft_weights
    except ImportError as error:
        raise HandbenchError(f"hf:{path}: adapter={adapter} needs peft ({error}); pip install peft") from None
    _refuse_other_base(type(model).__name__, path, adapter)
    if not any((Path(adapter) / name).exists() for name in ("adapter_model.safetensors", "adapter_model.bin")):
        raise HandbenchError(f"hf:{path}: adapter={adapter}: no weights there (adapter_model.safetensors)")
    try:
        tuned = PeftModel.from_pretrained(model, adapter, is_trainable=trainable)
        # Its base is this one: else peft would ask the hub for whatever name the adapter was made under.
        tuned.active_peft_config.base_model_name_or_path = path
        given, taken = set(load_peft_weights(adapter, device="cpu")), set(get_peft_model_state_dict(tuned))
    except Exception as error:
        raise HandbenchError(
            f"hf:{path}: adapter={adapter} does not fit this model; was it tuned on another? {_line(error)}"
        ) from None
    if given != taken:
        odd = sorted(given ^ taken)
        raise HandbenchError(
            f"hf:{path}: adapter={adapter} does not fit this model; was it tuned on another? "
            f"{len(odd)} weights have no counterpart, e.g. {odd[0]}"
        )
    return tuned


def _refuse_other_base(architecture: str, path: str, adapter: str) -> None:
    """Compare what an adapter says of its base, where it says it, with the model that it is to be laid on."""
    try:
        config = json.loads((Path(adapter) / "adapter_config.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise HandbenchError(f"hf:{path}: adapter={adapter}: no adapter_config.json there") from None
    except (OSError, ValueError) as error:
        raise HandbenchError(f"hf:{path}: adapter={adapter}: adapter_config.json cannot be read ({error})") from None
    tuned = (config.get("auto_mapping") or {}).get("base_model_class") or architecture
    if tuned != architecture:
        raise HandbenchError(f"hf:{path}: adapter={adapter} was tuned on a {tuned}, and this is a {architecture}")
    base = config.get("base_model_name_or_path") or path
    if Path(base).is_dir() and fingerprint([Path(base)]) != fingerprint([Path(path)]):
        raise HandbenchError(f"hf:{path}: adapter={adapter} was tuned on {base}, whose weights are others")


def _line(error: BaseException) -> str:
    return (" ".join(str(error).split()) or type(error).__name__)[:200]
