"""What stands around an answer: thinking, chat markers, end tokens, tags, JSON, LaTeX and Markdown.

Everything here keeps the length of the text: what is not part of the answer becomes blanks, and a declared
container (a box, an answer tag, an answer key) becomes an answer phrase on a line of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from handbench.replies.folding import fold
from handbench.replies.patterns import words

HEAD, TAIL = 2000, 6000

_THOUGHT = r"(?:think(?:ing)?|thoughts?|reason(?:ing)?|analysis|reflection|scratchpad|cot|rationale|seed:think)"
_THINK_CLOSE = re.compile(
    rf"</{_THOUGHT}>|<\|end_of_thought\|>|◁/think▷|\[/think\]|<\|channel\|>final<\|message\|>", re.IGNORECASE
)
_THINK_OPEN = re.compile(
    rf"<{_THOUGHT}>|<\|begin_of_thought\|>|◁think▷|\[think\]|<\|channel\|>analysis<\|message\|>", re.IGNORECASE
)
END_TOKEN = re.compile(
    r"<\|[^<>|\n]{1,40}\|>|</?s>|<(?:eos|bos|pad|unk|end_of_turn|start_of_turn|end_of_utterance)>|\[(?:eos|pad|sep|cls)\]",
    re.IGNORECASE,
)
_INST_END = re.compile(r"\[/INST\]", re.IGNORECASE)
_ROLE = r"[ \t#>*_<|]*(?:assistant|ai|bot|model|chatgpt|gpt|response)[*_>| \t]*(?::[*_]*|\n|$)"
_ANSWERER = re.compile(rf"(?:^|(?<=\n)){_ROLE}", re.IGNORECASE)
_ASKER = re.compile(r"(?:^|(?<=\n))[ \t#>*_]*(?:user|human|system)[*_ \t]*(?::|\n)", re.IGNORECASE)
_BOX = re.compile(r"\\+(?:boxed|fbox|framebox)\s*\{|<\|begin_of_box\|>")
_TAG = re.compile(
    r"<(/?)(?:final[_ -]?)?(?:answer|ans|final|choice|option|solution|response|result|output|label|prediction|letter)>"
    r"|<\|(begin|end)_of_solution\|>|<\|end_of_box\|>",
    re.IGNORECASE,
)
_HTML = re.compile(r"</?(?:b|i|strong|em|p|br|div|span|u|code|h[1-6]|mark|li|ul|ol|td|tr|table)\b[^<>\n]{0,60}>")
_FENCE = re.compile(r"'{3,}[ \t]*[a-zA-Z]*|~{3,}[a-zA-Z]*")
_STRUCK = re.compile(r"~~[^~\n]{1,120}~~")
_LATEX = re.compile(r"\\(?:text(?:bf|it|rm)?|math(?:rm|bf|it|sf)|boldsymbol|mbox|bf|rm|left|right|displaystyle)\b")
_MARKUP = re.compile(r"[*~\\${}|]+|(?<![^\W_])_+|_+(?![^\W_])")
_LINE_START = re.compile(r"(?:^|(?<=\n))[ \t]*(?:#{1,6}|[>•▪‣◦+-]+)(?=[ \t])[ \t#>•▪‣◦+-]*")
_NOTHING = re.compile(r"[\s\"'~]*\Z")
_PAIR = re.compile(
    r"([\"'])([^\"'\n{}]{1,40})\1\s{0,20}:(?!\s{0,20}\{)\s{0,20}"
    r"(\"(?:[^\"\\]|\\.)*\"?|'(?:[^'\\\n]|\\.)*'?|\[[^\[\]{}]*\]?|[^,}\n]*)"
)
_ANSWER_KEYS = words(
    "object item target thing action intent intention meaning emotion activity pose sign relation answer final_answer finalanswer correct_answer ans choice final_choice option correct_option "
    "selected_option selected selection label prediction predicted result output response letter "
    "answer_letter option_letter choice_letter final best_option chosen_option chosen answer_choice "
    "correct_choice selected_answer verdict decision pick value gesture class category solution "
    "answer_text selected_choice correct your_answer respuesta réponse reponse antwort risposta "
    "resposta ответ 答案 正解 答え 정답 답 jawaban antwoord odpowiedź cevap đáp_án الإجابة उत्तर svar"
)


@dataclass(frozen=True, slots=True)
class Envelope:
    """The visible answer of a reply.

    Attributes:
        text: Plain text, case kept, as long as the part of the reply that is looked at.
        start: Where ``text`` begins in the reply.
        cut: Where in ``text`` the middle of a long reply was left out, or None.
        skipped: How many characters were left out there.
        empty: Nothing but white space, end tokens, quotes or empty thinking.
        unfinished: Thinking was opened and not closed.
        thought: The reply has thinking with words in it.
    """

    text: str
    start: int
    cut: int | None
    skipped: int
    empty: bool
    unfinished: bool
    thought: bool

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Span in the original reply of a span in ``text``."""
        if self.cut is not None:
            start, end = (place if place < self.cut else place + self.skipped for place in (start, end))
        return start + self.start, end + self.start


def _blank(found: re.Match[str]) -> str:
    return " " * (found.end() - found.start())


def _as_line(found: re.Match[str]) -> str:
    return "\n" + " " * (found.end() - found.start() - 1)


def _phrase(length: int) -> str:
    for phrase in ("\nfinal answer:", "\nfinal:", "\nans:"):
        if len(phrase) <= length:
            return phrase.ljust(length)
    return "\n" + ":".rjust(length - 1)


def _tag(found: re.Match[str]) -> str:
    length = found.end() - found.start()
    text = found.group()
    closing = found[1] == "/" or found[2] == "end" or "end_of_box" in text
    return _as_line(found) if closing else _phrase(length)


def _pair(found: re.Match[str]) -> str:
    name = re.sub(r"[\s-]+", "_", found[2].strip().lower())
    value = found[3]
    head = found.start(3) - found.start()
    if name in _ANSWER_KEYS:
        return _phrase(head) + re.sub(r"[\"\[\]]|^'|'$", " ", value)
    if len(name) == 1 and name.isalpha():
        return f"\n{found[2].strip()}:".ljust(head) + re.sub(r"[\"\[\]']", " ", value)
    return "\n" + " " * (found.end() - found.start() - 1)


def without_thinking(text: str) -> tuple[str, bool, bool]:
    """Blank the thinking; tell whether it had words and whether it was left open."""
    if not any(sign in text for sign in ("<", "◁", "[")):
        return text, False, False
    opens = _THINK_OPEN.search(text)
    closes = max(_THINK_CLOSE.finditer(text), key=lambda found: found.start(), default=None)
    thought = False
    if closes is not None:
        start = opens.start() if opens is not None and opens.start() < closes.start() else 0
        inside = text[opens.end() if opens is not None and opens.start() < closes.start() else 0 : closes.start()]
        thought = bool(inside.strip())
        text = text[:start] + " " * (closes.end() - start) + text[closes.end() :]
        opens = _THINK_OPEN.search(text, closes.end())
    if opens is None:
        return text, thought, False
    inside = text[opens.end() :]
    return text[: opens.start()] + " " * (len(text) - opens.start()), bool(inside.strip()) or thought, True


def without_roles(text: str) -> str:
    """Blank a repeated prompt before the answer, and an invented next turn after it."""
    for found in _INST_END.finditer(text):
        text = " " * found.end() + text[found.end() :]
    asker = _ASKER.search(text)
    if asker is not None and not text[: asker.start()].strip():
        answerer = _ANSWERER.search(text, asker.end())
        if answerer is not None:
            text = " " * answerer.end() + text[answerer.end() :]
            asker = _ASKER.search(text, answerer.end())
    answerer = _ANSWERER.match(text, len(text) - len(text.lstrip()))
    if answerer is not None:
        text = " " * answerer.end() + text[answerer.end() :]
    if asker is not None and text[: asker.start()].strip():
        text = text[: asker.start()] + " " * (len(text) - asker.start())
    return text


def _without_markup(text: str) -> str:
    if "\\" in text or "<" in text:
        text = _BOX.sub(lambda found: _phrase(found.end() - found.start()), text)
        text = _TAG.sub(_tag, text)
        text = _HTML.sub(_blank, text)
        text = _LATEX.sub(_blank, text)
    if "~~" in text:
        text = _STRUCK.sub(_blank, text)
    if "{" in text:
        text = _PAIR.sub(_pair, text)
    text = _MARKUP.sub(_blank, text)
    return _LINE_START.sub(_blank, text)


def open_envelope(reply: str) -> Envelope:
    """Find the visible answer of a reply.

    Args:
        reply: What the model wrote.

    Returns:
        The envelope. Of a visible text longer than ``HEAD + TAIL`` characters only its first and last are kept.
    """
    text, thought, unfinished = without_thinking(fold(reply))
    start = len(text) - len(text.lstrip())
    text = text.strip()
    cut, skipped = None, 0
    if len(text) > HEAD + TAIL:
        cut, skipped = HEAD, len(text) - TAIL - HEAD
        text = text[: HEAD - 1] + "\n" + text[-TAIL:]
    text = END_TOKEN.sub(_end, text) if "<" in text or "[" in text else text
    empty = not thought and not unfinished and _NOTHING.match(text) is not None
    if not empty:
        text = _FENCE.sub(_as_line, text) if "'''" in text or "~~~" in text else text
        text = _without_markup(without_roles(text))
    return Envelope(text, start, cut, skipped, empty, unfinished, thought)


def _end(found: re.Match[str]) -> str:
    if found.group().endswith(("_of_box|>", "_of_solution|>")):
        return found.group()
    return _as_line(found)
