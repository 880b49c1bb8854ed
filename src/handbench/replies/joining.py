"""Small words around a mention: what it may be called, what joins two of them, ordinals, interjections."""

from __future__ import annotations

import re

from handbench.replies.declaring import ANSWER_NOUN
from handbench.replies.patterns import START, STOP, any_of

OPTION_NOUN = {
    "en": "options?|choices?|letters?|statements?|alternatives?|candidates?|items?|numbers?|no\\.|sentences?|descriptions?",
    "es": "opción|opcion|letra|inciso|alternativa",
    "pt": "opção|opcao",
    "it": "opzione|lettera|alternativa",
    "fr": "lettre|proposition|option",
    "de": "aussage|möglichkeit|buchstabe|variante",
    "nl": "optie|stelling",
    "ru": "вариант\\w*|букв\\w+|пункт\\w*|утверждени\\w+",
    "uk": "варіант\\w*|літер\\w+",
    "pl": "opcj[aęi]|wariant|liter[aęy]",
    "cs": "možnost|varianta|písmeno",
    "tr": "seçenek|seçeneği|şık|şıkkı|harfi",
    "vi": "lựa chọn|phương án|câu",
    "id": "pilihan|opsi|huruf",
    "hi": "विकल्प",
    "ar": "الخيار|خيار|الحرف",
    "fa": "گزینه",
    "he": "האפשרות|אפשרות",
    "el": "επιλογή|η επιλογή",
    "nordic": "alternativ\\w*|valmöjligh\\w*|vaihtoehto",
    "ro": "opțiunea|varianta",
    "hu": "lehetőség|opció",
    "zh": "选项|選項",
    "ja": "選択肢|肢",
    "ko": "보기|선택지",
    "th": "ตัวเลือก|ข้อ",
}
_ADVERB = (
    "the|la|le|el|il|los|las|les|de|die|das|der|den|het|o|a|η|to|likely|probably|definitely|certainly|clearly|surely|indeed"
    "|just|simply|still|actually|obviously|undoubtedly|again|either|entweder|soit|bien|sicher|wohl|zeker|точно"
    "|именно|claramente|sicuramente|certainement"
)
_NOUN = f"(?:{any_of(OPTION_NOUN)}|{ANSWER_NOUN})"
_GLUE = re.compile(rf"(?:[\s\"'(\[<*]|{START}(?:{_NOUN}|{_ADVERB}))\Z")
_INTERJECTION = (
    "ok(?:ay)?|sure|easy|simple|definitely|clearly|surely|undoubtedly|(?:without|beyond) (?:a |any )?doubt|no doubt|honestly|yes|yeah|yep|right|well|h+m+|alright|of course|certainly|absolutely|great|thanks?|thank you|gladly"
    "|good question|no(?!\\.)|nope|wait|sorry|oops|oh|ah|actually|correction|ugh|let me see|here you go|here it is|voilà"
    "|oui|bien sûr|d'accord|ja|sí|si|claro|da|да|хорошо|конечно|так|tak|はい|네|예|好的|好|嗯|evet|tabii|ya|vâng|dạ|हाँ|जी"
    "|نعم|sim|sì|certo|gut|klar|gerne|natürlich|natuurlijk|nein|non|não|nee|нет|nie|ich|yo|io|eu|ben|я|저는|나는|私は|我|em|tôi|saya"
)
_FILLER = re.compile(rf"[\s\"'(\[<>,:.!?-]*(?:(?:{_INTERJECTION}){STOP}[\s\"'(\[<>,:.!?-]*){{0,4}}\Z")

_CONJUNCTION = {
    "en": "and/or|or also|and also|or else|and maybe|and perhaps|and possibly|as well as|or maybe|or possibly|or perhaps|or even|or|and|nor|through|to",
    "de": "oder|und|noch|bis",
    "fr": "ou|et|ni",
    "es": "o|u|y|ni",
    "pt": "ou|e|nem",
    "it": "o|e|né|oppure",
    "nl": "of|en",
    "ru": "или|и|либо|ни",
    "uk": "або|чи|та|і",
    "pl": "lub|albo|i|czy|ani",
    "cs": "nebo|a|či",
    "tr": "veya|ya da|ve|ile",
    "vi": "hoặc|hay|và",
    "id": "atau|dan|maupun",
    "hi": "या|और",
    "ar": "أو|او|و|أم",
    "fa": "یا",
    "he": "או|ו",
    "el": "ή|και",
    "nordic": "eller|och|og|tai|ja",
    "ro": "sau|și",
    "hu": "vagy|és",
    "th": "หรือ|และ",
    "zh": "还是|還是|或者|或是|或|和|与|以及|也|跟|及",
    "ja": "または|もしくは|あるいは|か|と|や",
    "ko": "또는|혹은|이나|나|와|과|하고",
}
_SIGN = r"(?:[,/&|+~、-]|\.(?= (?:and|or|und|oder|et|ou|y|o|e) ))"
_BLANK = r"[ \"'(\[]{0,3}"
_AND = rf"{any_of(_CONJUNCTION)}(?![a-z])"
LINK = re.compile(
    rf"[ \"')\]]{{0,3}}(?:{_SIGN}{_BLANK}(?:{_AND})?|{_AND}){_BLANK}(?:(?:the|a|an) )?(?:{_NOUN} )?{_BLANK}|[ \"'()\[\]]{{1,4}}"
)

CONJUNCTION = re.compile(rf" {_AND}")
_NUMBER = {
    "first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "fifth": 5, "5th": 5,
    "sixth": 6, "6th": 6, "seventh": 7, "7th": 7, "eighth": 8, "8th": 8, "last": 0,
    "erste": 1, "zweite": 2, "dritte": 3, "vierte": 4, "letzte": 0,
    "première": 1, "premier": 1, "deuxième": 2, "seconde": 2, "troisième": 3, "quatrième": 4, "dernière": 0,
    "primera": 1, "segunda": 2, "tercera": 3, "cuarta": 4, "quinta": 5, "última": 0,
    "primeira": 1, "terceira": 3, "quarta": 4, "prima": 1, "seconda": 2, "terza": 3, "ultima": 0,
    "eerste": 1, "tweede": 2, "derde": 3, "vierde": 4, "laatste": 0,
    "первый": 1, "первое": 1, "второй": 2, "второе": 2, "третий": 3, "третье": 3, "четвертый": 4, "четвёртый": 4,
    "последний": 0, "последнее": 0, "pierwsza": 1, "druga": 2, "trzecia": 3, "czwarta": 4,
    "birinci": 1, "ikinci": 2, "üçüncü": 3, "dördüncü": 4,
}  # fmt: skip
_CARDINAL = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}
_CJK = {"一": 1, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8}
_KOREAN = {"첫": 1, "두": 2, "세": 3, "네": 4, "다섯": 5}
_ORDINAL_NOUN = (
    "one|option|statement|choice|answer|alternative|sentence|description|candidate|item|possibility|entry|claim|label"
    "|listed|aussage|option|antwort|möglichkeit|proposition|réponse|affirmation|phrase|opción|afirmación|respuesta|frase"
    "|opção|afirmação|resposta|alternativa|opzione|affermazione|risposta|optie|uitspraak|stelling|antwoord|вариант"
    "|утверждение|ответ|opcja|odpowiedź|seçenek|cevap"
)
ORDINAL = re.compile(
    rf"{START}(?P<word>{'|'.join(_NUMBER)}) (?:{_ORDINAL_NOUN}){STOP}(?!\s?[:=]?\s?[\"'(]?[a-h]{STOP})"
    rf"|(?<=is the )(?P<last>{'|'.join(_NUMBER)})(?=[.!]?\s*(?:\n|\Z))"
    r"|\b(?:option|choice|answer|statement|alternative|opción|opção|opzione|optie|вариант|antwort|réponse|pilihan)"
    rf" (?:number |no\.? ?|nr\.? ?)?#?(?P<digit>\d{{1,2}}|{'|'.join(_CARDINAL)}){STOP}(?![.:]\d|%| ?(?:fingers?|hands?){STOP})"
    r"|第 ?(?P<cjk>[一二三四五六七八1-8]) ?(?:个|個|项|項|种|種|番目)(?:の|选项|選項|答案|陈述|選択肢|文)*"
    r"|(?:选项|選項)(?P<cjk2>[一二三四五六七八1-8])(?!\d)"
    r"|(?<!\d)(?P<ja>[1-8])(?:番目|番)(?:の選択肢|の文)?"
    r"|(?P<ko>첫|두|세|네|다섯) ?번째 ?(?:보기|선택지|문장|것)?"
)


def ordinal_index(found: re.Match[str], count: int) -> int:
    """Index (from 0) that an ordinal names in a list of ``count``."""
    if found["ko"]:
        return _KOREAN[found["ko"]] - 1
    word = found["word"] or found["last"] or found["digit"] or found["cjk"] or found["cjk2"] or found["ja"]
    if word.isdecimal():
        return int(word) - 1
    value = {**_NUMBER, **_CARDINAL, **_CJK}[word]
    return value - 1 if value else count - 1


ADDED = re.compile(
    r"[\s\"')\].,…]*(?:(?:or|and|oder|und|ou|et|или|либо|lub|albo|veya|hoặc|atau|eller|of|oppure)(?: also| else| maybe| perhaps| possibly)?"
    rf"{STOP}|或|还是|または|또는|أو|या)[\s\"'(\[]*"
)


def strip_glue(left: str) -> str:
    """The words left of a mention without the small ones that belong to it ("the option")."""
    for _ in range(8):
        found = _GLUE.search(left, max(0, len(left) - 24))
        if found is None:
            break
        left = left[: found.start()]
    return left


def is_filler(left: str) -> bool:
    """Whether nothing but signs and interjections stands left of a mention."""
    return _FILLER.match(left) is not None
