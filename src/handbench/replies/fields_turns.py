"""What the words before an object say of it: that it corrects the last one, is no answer, or only shows the form."""

from __future__ import annotations

import re

_TAKES_BACK = re.compile(
    r"\b(?:correction|correct(?:ed|ing)|wrong|mistaken?|incorrect|actually|revis(?:e|ed|ing|ion)|final(?:ly)?|instead"
    r"|second thought|reflection|reconsider\w*|scratch that|fix(?:ed|ing)?|sorry|oops|meant|should (?:be|have)|rather"
    r"|disregard|ignore|updated?|changed? my mind|not right|amend\w*|replaces?|rectif\w*|wait|hold on|hmm|improved|better"
    r"|error|no[,.!:]|(?:let me|to|must|i'll) correct|mis(?:read|judg|identif|interpret)\w*"
    r"|(?:second|2nd|new) (?:attempt|try|answer)|retry|look(?:ing)? again|(?:after|taking|on) (?:a )?closer (?:look|inspection)"
    r"|re-?check\w*|re-?exam\w*|re-?evaluat\w*|re-?think\w*|not correct|isn't (?:right|correct)|my answer is"
    r"|(?:take|took) (?:that|it|this) back|strike that|apolog(?:y|ies|i[sz]e)|upon (?:review|reflection|closer)|typo|edit(?:ed)?:"
    r"|chang(?:e|ed|ing) (?:my|the) answer|overlook\w*|my bad|re-?do\b|redoing|retract\w*"
    r"|korrektur|perdón|disculp\w+|entschuldigung|korrigier\w*|falsch|endgültig|corrección|corrijo|corrig\w+|definitiva|erreur|rectification"
    r"|исправ\w*|поправк\w*|koreksi|düzeltme|sửa lại)"
    r"|修正|更正|纠正|改正|错|最终|訂正|最終|正しく|정정|수정",
    re.IGNORECASE,
)
_DISMISSES = re.compile(
    r"\b(?:(?:wrong|incorrect|bad|invalid) (?:answer|json|output|response|object|label)s?\b[^.]{0,30}"
    r"|(?:would|do|could|should|will|did)(?: not|n't) (?:answer|say|write|choose|give|pick|return|output)\b[^.]{0,20}"
    r"|(?:instead of|rather than|as opposed to|unlike)"
    r"|(?:this|the following|it|the answer) (?:is|would be|is clearly)(?: not|n't)(?: correct| right)?"
    r"|(?:this|the following) (?:is|would be) (?:wrong|incorrect|false)"
    r"|(?:someone|somebody|some|others?|another (?:person|model|annotator)|one)(?: else)? (?:might|may|could|would)\b[^.]{0,30}"
    r"|(?:if|had) (?:the|it|this|he|she|they)\b[^.]{0,80}(?:would|could|might)\b[^.]{0,30})[\s:`(\"'*]*\Z",
    re.IGNORECASE,
)
_ILLUSTRATES = re.compile(
    r"\b(?:example|e\.g\.|format|template|schema|such as|structure|first attempt|initial(?:ly)?|draft|considered)\b",
    re.IGNORECASE,
)
_DISMISSED_AFTER = re.compile(
    r"\W{0,4}(?:is|was|would be) (?:ruled out|out|wrong|incorrect|not (?:right|correct|it|my answer)|an? (?:draft|example))\b",
    re.IGNORECASE,
)
_FENCE = re.compile(r"`{3}\w*")


def takes_back(between: str) -> bool:
    """Whether the words between two objects correct the first by the second."""
    return _TAKES_BACK.search(between) is not None


def dismissed(before: str, after: str) -> bool:
    """Whether the words right before or behind an object say that it is not the answer."""
    ahead = _DISMISSES.search(_FENCE.sub("", before[-200:]))
    return ahead is not None or _DISMISSED_AFTER.match(after) is not None


def illustrates(before: str) -> bool:
    """Whether the words before an object say that it only shows the form of an answer, or is a draft."""
    return _ILLUSTRATES.search(before) is not None
