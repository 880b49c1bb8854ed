"""Small vision-language models made from their configs, with random weights: nothing is downloaded.

Qwen2.5-VL's processor needs torchvision.  Where only its compiled operators cannot be loaded, as beside a CPU build of
torch, :func:`torchvision_shim` declares them: the image transforms do not use them.
"""

from __future__ import annotations

import contextlib
import importlib.util
from pathlib import Path

SPECIAL = ["<pad>", "<s>", "</s>", "<|system|>", "<|user|>", "<|assistant|>"]

TEMPLATE = (
    "<s>{% for message in messages %}<|{{ message['role'] }}|>"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] in ['image', 'image_url'] %}IMAGE{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)

_OPERATORS = {
    "nms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "roi_align": "(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, "
    "int sampling_ratio, bool aligned) -> Tensor",
    "roi_pool": "(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width) "
    "-> (Tensor, Tensor)",
    "ps_roi_align": "(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, "
    "int sampling_ratio) -> (Tensor, Tensor)",
    "ps_roi_pool": "(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width) "
    "-> (Tensor, Tensor)",
    "deform_conv2d": "(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, "
    "SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, "
    "SymInt offset_groups, bool use_mask) -> Tensor",
    "_roi_align_backward": "(Tensor grad, Tensor rois, float spatial_scale, SymInt pooled_height, "
    "SymInt pooled_width, SymInt batch_size, SymInt channels, SymInt height, SymInt width, int sampling_ratio, "
    "bool aligned) -> Tensor",
    "_roi_pool_backward": "(Tensor grad, Tensor rois, Tensor argmax, float spatial_scale, SymInt pooled_height, "
    "SymInt pooled_width, SymInt batch_size, SymInt channels, SymInt height, SymInt width) -> Tensor",
    "_ps_roi_align_backward": "(Tensor grad, Tensor rois, Tensor channel_mapping, float spatial_scale, "
    "SymInt pooled_height, SymInt pooled_width, int sampling_ratio, SymInt batch_size, SymInt channels, "
    "SymInt height, SymInt width) -> Tensor",
    "_ps_roi_pool_backward": "(Tensor grad, Tensor rois, Tensor channel_mapping, float spatial_scale, "
    "SymInt pooled_height, SymInt pooled_width, SymInt batch_size, SymInt channels, SymInt height, SymInt width) "
    "-> Tensor",
    "_deform_conv2d_backward": "(Tensor grad, Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, "
    "SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, "
    "SymInt groups, SymInt offset_groups, bool use_mask) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
}
_declared = []  # a library's declarations end with the object


def torchvision_shim() -> bool:
    """Make torchvision importable; whether it is there at all."""
    if importlib.util.find_spec("torchvision") is None:
        return False
    import torch

    with contextlib.suppress(AttributeError, RuntimeError):
        torch.ops.torchvision.nms  # noqa: B018
        return True
    library = torch.library.Library("torchvision", "DEF")
    for name, signature in _OPERATORS.items():
        library.define(name + signature)
    _declared.append(library)
    return True


def tokenizer(special: list[str], **names: str):
    """One token for each byte, and the special ones."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = SPECIAL + special
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {word: number for number, word in enumerate(words + alphabet)}
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", bos_token="<s>", eos_token="</s>",
        additional_special_tokens=words[3:], padding_side="left", **names,
    )  # fmt: skip


def _text(words, width=64, layers=2, **more):
    return dict(
        hidden_size=width, num_hidden_layers=layers, num_attention_heads=4, num_key_value_heads=2,
        intermediate_size=2 * width, vocab_size=len(words), max_position_embeddings=4096, pad_token_id=0,
        bos_token_id=1, eos_token_id=2, **more,
    )  # fmt: skip


def _ids(words, **names):
    return {key: words.convert_tokens_to_ids(word) for key, word in names.items()}


def llava(words=None, width=64, layers=2, seen=32, vision_width=32, vision_layers=2):
    import transformers as T

    words = words or tokenizer(["<image>"])
    patch = 8 if seen < 100 else 16
    vision = T.CLIPVisionConfig(
        hidden_size=vision_width, intermediate_size=4 * vision_width, num_hidden_layers=vision_layers,
        num_attention_heads=2, image_size=seen, patch_size=patch,
    )  # fmt: skip
    config = T.LlavaConfig(
        text_config=T.LlamaConfig(**_text(words, width, layers)), vision_config=vision, vision_feature_layer=-1,
        image_token_index=words.convert_tokens_to_ids("<image>"),
        vision_feature_select_strategy="default", image_seq_length=(seen // patch) ** 2,
    )  # fmt: skip
    images = T.CLIPImageProcessorPil(size={"shortest_edge": seen}, crop_size={"height": seen, "width": seen})
    processor = T.LlavaProcessor(
        image_processor=images, tokenizer=words, patch_size=patch, vision_feature_select_strategy="default",
        num_additional_image_tokens=1, chat_template=TEMPLATE.replace("IMAGE", "<image>"),
    )  # fmt: skip
    return T.LlavaForConditionalGeneration(config), processor


def idefics3():
    import transformers as T

    tiles = [f"<row_{row}_col_{column}>" for row in range(1, 4) for column in range(1, 4)]
    words = tokenizer(["<image>", "<fake_token_around_image>", "<global-img>", "<end_of_utterance>", *tiles])
    vision = {
        "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2,
        "image_size": 32, "patch_size": 8,
    }  # fmt: skip
    config = T.Idefics3Config(
        text_config=_text(words, model_type="llama"), vision_config=vision, scale_factor=2, pad_token_id=0,
        image_token_id=words.convert_tokens_to_ids("<image>"),
    )  # fmt: skip
    images = T.Idefics3ImageProcessorPil(
        size={"longest_edge": 32}, max_image_size={"longest_edge": 32}, do_image_splitting=False
    )
    processor = T.Idefics3Processor(
        image_processor=images, tokenizer=words, image_seq_len=4, chat_template=TEMPLATE.replace("IMAGE", "<image>")
    )
    return T.Idefics3ForConditionalGeneration(config), processor


def janus():
    import transformers as T

    words = tokenizer(
        ["<image_placeholder>", "<begin_of_image>", "<end_of_image>"],
        extra_special_tokens={
            "image_token": "<image_placeholder>", "boi_token": "<begin_of_image>", "eoi_token": "<end_of_image>"
        },
    )  # fmt: skip
    vision = T.JanusVisionConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=2, image_size=32, patch_size=8, mlp_ratio=2,
        projection_dim=64, depth=2, num_image_tokens=16,
    )  # fmt: skip
    quantiser = T.JanusVQVAEConfig(
        embed_dim=8, num_embeddings=32, base_channels=32, channel_multiplier=[1, 1], num_res_blocks=1,
        num_patches=16, projection_dim=64, image_token_embed_dim=64, num_hidden_layers=1,
    )  # fmt: skip
    config = T.JanusConfig(
        text_config=T.LlamaConfig(**_text(words)), vision_config=vision, vq_config=quantiser,
        image_token_id=words.convert_tokens_to_ids("<image_placeholder>"),
    )  # fmt: skip
    images = T.JanusImageProcessorPil(size={"height": 32, "width": 32}, min_size=4)
    processor = T.JanusProcessor(
        image_processor=images, tokenizer=words, chat_template=TEMPLATE.replace("IMAGE", "<image_placeholder>")
    )
    processor.num_image_tokens = 16
    return T.JanusForConditionalGeneration(config), processor


def qwen():
    import transformers as T

    words = tokenizer(["<|image_pad|>", "<|video_pad|>", "<|vision_start|>", "<|vision_end|>"])
    ids = _ids(
        words, image_token_id="<|image_pad|>", video_token_id="<|video_pad|>",
        vision_start_token_id="<|vision_start|>", vision_end_token_id="<|vision_end|>",
    )  # fmt: skip
    rope = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 3, 3]}
    config = T.Qwen2_5_VLConfig(
        text_config=_text(words, rope_parameters=rope),
        vision_config={
            "hidden_size": 32, "intermediate_size": 64, "depth": 2, "num_heads": 2, "patch_size": 8,
            "spatial_merge_size": 2, "out_hidden_size": 64, "window_size": 32, "fullatt_block_indexes": [1],
        },
        **ids,
    )  # fmt: skip
    size = {"shortest_edge": 32 * 32, "longest_edge": 64 * 64}
    common = {"patch_size": 8, "merge_size": 2, "temporal_patch_size": 2, "size": size}
    processor = T.Qwen2_5_VLProcessor(
        image_processor=T.Qwen2VLImageProcessor(**common), tokenizer=words,
        video_processor=T.Qwen2VLVideoProcessor(**common),
        chat_template=TEMPLATE.replace("IMAGE", "<|vision_start|><|image_pad|><|vision_end|>"),
    )  # fmt: skip
    return T.Qwen2_5_VLForConditionalGeneration(config), processor


def clip():
    """Two towers into one space; no model that can be asked."""
    import transformers as T
    from tokenizers.processors import TemplateProcessing

    words, end = tokenizer([], model_max_length=256), "<|assistant|>"  # what a text is pooled at
    words._tokenizer.post_processor = TemplateProcessing(
        single=f"$A {end}", special_tokens=[(end, words.convert_tokens_to_ids(end))]
    )
    tower = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = T.CLIPConfig(
        text_config={**tower, "vocab_size": len(words), "max_position_embeddings": 256,
                     "eos_token_id": words.convert_tokens_to_ids(end)},
        vision_config={**tower, "image_size": 32, "patch_size": 8}, projection_dim=16,
    )  # fmt: skip
    images = T.CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
    return T.CLIPModel(config), T.CLIPProcessor(image_processor=images, tokenizer=words)


MAKERS = {"llava": llava, "idefics3": idefics3, "janus": janus, "qwen2.5-vl": qwen}
NEED_TORCHVISION = {"qwen2.5-vl"}


def save(name: str, folder: Path, seed: int = 0, **how) -> Path:
    """Make a model, give it weights that tell images apart, and save it with its processor.

    Args:
        name: a key of :data:`MAKERS`, or ``clip``.
        folder: where to save it.
        seed: of the weights.
        how: passed on to the maker.
    """
    import torch

    torch.manual_seed(seed)
    torchvision_shim()
    made, processor = (clip if name == "clip" else MAKERS[name])(**how)
    with torch.no_grad():
        for parameter in made.parameters():  # the usual small initial weights hardly look at the image
            if parameter.ndim == 2:
                parameter.normal_(0, parameter.shape[1] ** -0.5)
    if made.can_generate():
        made.generation_config.eos_token_id = 2
        made.generation_config.pad_token_id = 0
    made.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
