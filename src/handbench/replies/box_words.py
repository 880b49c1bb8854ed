"""Replies without a box: nothing is pointed at, or the model will not or cannot say."""

from __future__ import annotations

import re

from handbench.replies.telling import REFUSAL

_THINGS = r"(?:objects?|targets?|items?|things?|referents?|match(?:es)?|candidates?|bounding[- ]box(?:es)?|b?box(?:es)?|bbox\w*|detections?|regions?|such thing|one)"
_NEVER = (
    r"(?!other|doubt|need|longer|further|way|idea|problem|image|picture|photo|information|answer|additional|more\b)"
)
_NULL = r"(?:null|none|nil|n/a|[\"'](?:none|null|nil|n/a|nothing|no|no (?:object|target|box)|not found|reject(?:ed)?|-|)[\"']|\[\s*(?:null|none|[\"']{2})?\s*(?:,\s*(?:null|none)\s*)*\]|\{\s*\})"
NULL_BOX = re.compile(
    rf"[\"']?(?:b?box(?:es)?\w*|bbox\w*|bounding[_ ]?box\w*|coord\w*|target\w*|referent|answer|object|result|output|location|prediction)[\"']?\s*[:=]\s*[\[(]?\s*{_NULL}\s*(?=[,}}\])\n]|\Z)"
    r"|[\"']b?box\w*[\"']\s*:\s*false\b",
    re.IGNORECASE,
)
_WHOLE = re.compile(
    r"[\s\W]*(?:(?:the |final |my )?(?:answer|output|result|b?box|bbox|target|bounding box|it)(?: is)?\W+)?"
    r"(?:none|null|nil|n/?a|nothing|no|not found|no (?:\w+ )?(?:object|target|box|bbox|match|detection|referent|bounding box)s?|reject(?:ed)?|rejection|empty|void|absent|∅|无|沒有|没有|なし|없음|нет|нічого"
    r"|rien|nada|nichts|niente|kein(?:e|s)?|aucune?|ninguno|nessuno|nenhum)(?: found| detected| visible| present| pointed at| here)?[\s\W]*\Z|\s*[\"'*]*\s*(?:\[[\s\[\]]*\]|\{\s*\}|\[\s*(?:none|null)\s*\]|\(\s*\))[\s\"'*.~]*\Z",
    re.IGNORECASE,
)
_SAYS = re.compile(
    rf"\bno {_NEVER}(?:\w+ ){{0,3}}?{_THINGS}\b(?! (?:can be ruled|other))"
    r"|\bnone of (?:the|these|them)\b|\bnothing (?:is|lies|stands|sits)\b|\bnothing\b(?:\W+\w+){0,6}?\W+(?:point\w*|target\w*|ray|there|match\w*|refer\w*|indicat\w*|locat\w*|path|line|direction|here|fit\w*|detect\w*|found|visible|present|box)\b"
    r"|\b(?:at|to|into|towards?|on) (?:nothing|empty|blank|thin air|the air|the void|no)\b"
    r"|(?:not|n't|never) (?:\w+ ){0,2}?(?:point(?:ing|ed)?|aim(?:ing|ed)?|directed) (?:(?:directly|clearly|really) )?(?:at|to|towards?) (?:any|a |an |one|some|the|what)"
    r"|\b(?:hand|finger|it|person|user)(?: \w+)? (?:is not|isn't|does not|doesn't|is never) (?:actually |really |clearly |currently )?point(?:ing)?\b|\bnot pointing\b"
    r"|(?:cannot|can't|can not|could not|couldn't|unable to|don't|do not|did not|didn't|not able to|failed to) (?:\w+ ){0,2}?(?:find|see|detect|locate|identify|spot|match) (?:any(?! (?:images?|pictures?|photos?))|anything|such|an? (?:object|target|match|suitable|matching|valid))\b"
    rf"|\b(?:target|referent|object|it|thing|item) (?:\w+ )?(?:is|was|does|are|cannot be|could not be|can't be)(?: not|n't)? ?(?:absent|missing|present|exist|in the (?:image|picture|scene)|visible in|found|there|located|detected)\b(?<!(?<!not )(?<!n't )(?<!cannot be )(?<!could not be )present)(?<!is in the image)(?<!is in the picture)(?<!is in the scene)(?<!is there)(?<!is located)(?<!is found)(?<!is visible in)(?<!was found)(?<!was detected)(?<!is detected)(?<!was located)"
    r"|\bthere(?:'s| is| are| isn't| aren't| is not| are not)(?: \w+)? (?:no|any|nothing|none)\b(?: (?!other|doubt|need|image|picture|photo|ambiguity|more)\w+){1,5} (?:in (?:the|this)|on (?:the|its)|along|being|that|here|present|visible|at (?:the|that)|pointed|to be)\b"
    r"|(?:does not|doesn't|do not|don't|did not|didn't|never) (?:\w+ ){0,2}?(?:meet|hit|intersect|reach|cross|touch|lead to|land on|correspond to|match|fall on|indicate|select)s? (?:any|anything|an? (?:object|target|thing|item))\b"
    r"|\bwithout (?:a|any) (?:target|referent|pointed)\b|\breject(?:ed|ion|ing)?\b(?= *(?:[.:,]|\Z))"
    r"|没有(?:任何|被)?(?:指向|指)?的?(?:物体|目标|对象|东西|物品)|没有指向|未(?:指向|找到|发现|检测到)|无(?:目标|物体|对象)|不存在|沒有(?:任何)?(?:物體|目標)"
    r"|\bkein(?:e[nrs]?)? (?:objekt|ziel|gegenstand)\w*|\bzeigt auf nichts|\baucune? (?:objet|cible)|\bne (?:pointe|montre) (?:rien|vers rien|aucun)|\bning[uú]n (?:objeto|blanco)|\bno (?:hay|apunta a) (?:ning[uú]n|nada)"
    r"|\bnessun (?:oggetto|bersaglio)|\bnenhum (?:objeto|alvo)|\bgeen (?:object|doel|voorwerp)|\bнет (?:объекта|цели|предмет\w*)|ни на что не|対象(?:物)?(?:は|が)?(?:ありません|ない|なし|見つかりません)|指して(?:いません|いない)|(?:물체|대상|객체)(?:가|이)? ?없",
    re.IGNORECASE,
)
_CONTRASTS = re.compile(
    r"\b(?:but|however|yet|still|although|though|nevertheless|closest|nearest|best (?:guess|match|candidate|estimate)|most likely|if i (?:had|have) to|otherwise|except|apart from|so (?:the|it|i)|therefore|thus|instead|only)\b|但|不过|最接近",
    re.IGNORECASE,
)
_HYPOTHETICAL = re.compile(
    r"\b(?:would be|might be|could be|example|typical\w*|hypothetical\w*|placeholder|e\.g\.|dummy|random|guess)\b",
    re.IGNORECASE,
)


_REFUSES = re.compile(
    r"\b(?:guidelines?|polic(?:y|ies)|rules) (?:do|does|would)(?:n't| not) (?:allow|permit)|\bi (?:won't|will not|cannot|can't|refuse to) (?:draw|mark|box|locate|provide|give|label|locali[sz]e)\b|\bno access to\b|\bunable to (?:locate|view|process|access)\b|\b(?:image|picture|photo)\b.{0,20}\b(?:did not|didn't|failed to) load\b",
    re.IGNORECASE,
)


def refuses(text: str) -> tuple[int, int] | None:
    """Where a text says that its writer will not or cannot look; None where it does not."""
    found = REFUSAL.search(text.lower()) or _REFUSES.search(text)
    return None if found is None else found.span()


def rejects(text: str) -> tuple[int, int] | None:
    """Where a text says that there is nothing to point out; None where it does not."""
    found = NULL_BOX.search(text) or _WHOLE.match(text) or _SAYS.search(text)
    return None if found is None else found.span()


def yields_anyway(text: str, rejected: tuple[int, int], box: int) -> bool:
    """Whether a box stands beside a rejection on purpose ("nothing on the ray, but the closest is ...")."""
    between = text[rejected[1] : box] if box >= rejected[1] else text[: rejected[0]]
    return _CONTRASTS.search(between) is not None


def hypothetical(text: str) -> bool:
    """Whether a text calls its box a guess or an example."""
    return _HYPOTHETICAL.search(text) is not None
