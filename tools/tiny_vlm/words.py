"""The tiny model's tokens: every byte, and as one token each phrase that the questions are made of.

Phrases keep a question short (about 25 tokens), which is what makes training on two processors feasible; bytes let any
other text be written, though the model has never learned it.
"""

from __future__ import annotations

from typing import Any, Final

from handbench.hand.descriptors import PAPER
from handbench.hand.skeleton import JOINTS
from handbench.tasks.handvqa import text

SPECIAL: Final = ("<pad>", "<s>", "</s>", "<image>")

TEMPLATE: Final = (
    "<s>{% for message in messages %}"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% elif part['type'] == 'text' %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endif %}"
    "{% if message['role'] == 'assistant' %}</s>{% endif %}"
    "{% endfor %}"
)

LOOK: Final = ("Look at the", " person's", " left", " right", " hand in the image.")
FACT: Final = " It is known of it: "
KINDS: Final = {
    "angle": " Bend:",
    "distance": " Distance:",
    "x": " Left or right:",
    "y": " Below or above:",
    "z": " Behind or in front:",
}
"""How the free questions, which only the base is taught, name what they ask for."""


def phrases() -> list[str]:
    """Every phrase that is one token, in a fixed order."""
    found = [text.SYSTEM, *LOOK, FACT, *KINDS.values(), " and", " at", ".\n", "?"]
    for answer in ("sentence", "letter"):
        opening, closing = _frame(answer)
        found += [opening, closing]
    for joint in JOINTS[1:]:
        noun = text.noun(joint)
        found += [f"T{noun[1:]}", f". T{noun[1:]}", f" {noun}"]
    for finger in dict.fromkeys(text.finger_name(joint) for joint in JOINTS[1:]):
        found += [f"The {finger}", f". The {finger}", f" the {finger}"]
    for name in dict.fromkeys(text.joint_name(joint) for joint in JOINTS[1:]):
        found.append(f" the {name} joint")
    for descriptor in PAPER.descriptors:
        found += [f" is {label}{' at' * (descriptor.name == 'angle')}" for label in descriptor.asked_labels]
    return list(dict.fromkeys(found))


def _frame(answer: str) -> tuple[str, str]:
    """What stands between the hand's name and the first option, and after the last option's full stop."""
    whole = text.prompt(["#"], "left", answer)
    opening, _, closing = whole.removeprefix("".join([*LOOK[:3], LOOK[4]])).partition("A. #")
    return opening, closing.removeprefix("\n")  # one line end belongs to the last option


def tokenizer() -> Any:
    """The tokenizer, made anew."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: number for number, word in enumerate([*SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet())])}
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(word, special=True, normalized=False) for word in SPECIAL])
    made.add_tokens([AddedToken(phrase, normalized=False) for phrase in phrases()])
    return PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", bos_token="<s>", eos_token="</s>", padding_side="left",
        additional_special_tokens=["<image>"], clean_up_tokenization_spaces=False,
        model_max_length=2048,
    )  # fmt: skip
