"""Words around a mention that judge it: denied, confirmed, conceded, supposed; and what may follow an answer."""

from __future__ import annotations

import re

from handbench.replies.declaring import ANSWER_NOUN
from handbench.replies.joining import OPTION_NOUN
from handbench.replies.patterns import START, STOP, any_of, whole

_MARK = r"[\s\"'()\].,:;|—–-]*"
_CLOSE = r"[\s\"'()\]|:]*(?:- )?"
_OPEN = r"[\s\"'(\[<:]*\Z"
_NOUN = f"(?:{any_of(OPTION_NOUN)}|{ANSWER_NOUN})"

# --- left -----------------------------------------------------------------------------------------------------------

_NEGATOR = {
    "en": "not|cannot be|never|neither|nor|no longer|ruled? out|ruling out|rules out|exclud\\w+|eliminat\\w+|discard\\w*"
    "|reject\\w*|dismiss\\w*|instead of|rather than|other than|unlike|against|over|versus|vs\\.?|wrong|incorrect|false"
    "|except(?: for)?|apart from|cross(?:ed|ing)? out|avoid\\w*|disqualif\\w+|rule|without|anything but|far from|unlikely|implausible|improbable|impossible",
    "de": "nicht|kein(?:e|er|es)?|weder|noch|ausschließen|statt|anstatt|falsch|außer|ausgeschlossen",
    "fr": "pas|n'est|ni|exclus|j'exclus|élimine|j'élimine|faux|sauf|écarte|j'écarte",
    "es": "no|no es|ni|descarto|excluyo|en vez de|en lugar de|excepto|salvo|elimino|nunca",
    "it": "non|non è|né|escludo|scarto|tranne|invece di|elimino",
    "pt": "não|nem|excluo|descarto|exceto|em vez de|elimino",
    "nl": "niet|geen|uitgesloten|fout|behalve|in plaats van",
    "ru": "не|ни|исключаю|исключить|исключаем|кроме|неверно|вместо|отбрасываю",
    "uk": "не|ні|виключаю|крім",
    "pl": "nie|ani|odrzucam|wykluczam|oprócz|zamiast|eliminuję",
    "cs": "ne|není|ani|vylučuji",
    "tr": "değil|hariç|yerine",
    "vi": "không|không phải|loại|loại trừ|trừ|thay vì",
    "id": "bukan|tidak|kecuali|bukannya",
    "ar": "ليس|ليست|لا|غير|ما عدا|أستبعد|بدلا من",
    "hi": "नहीं",
    "nordic": "inte|ikke|ej|ei|ei ole|utesluter|utom",
    "other": "nu|nem|δεν|όχι|לא|نیست",
}
_BETWEEN = (
    "be|been|at all|the|an?|really|it|that|is|likely|say|choose|pick|go with|est|es|la|el|le|die|das|è|é|ist|to|a|o|jest"
    "|on|sure about|correct answer|right answer"
)
DENY_LEFT = re.compile(
    rf"(?:{START}{any_of(_NEGATOR)}|n't|不是|不选|不選|不能选|并非|並非|而非|排除|除了|错误的是|ไม่ใช่|ไม่)"
    rf"(?: (?:{_BETWEEN})| ?{_NOUN}){{0,4}}{_OPEN}"
)
_DENIAL = re.compile(
    r"(?<![^\W_])(?:not|never|cannot|hardly|neither|nor|without|nobody|unlikely|impossible|hard to (?:believe|imagine|accept)|least|worst|lowest|wrong|incorrect|mistaken|mistake|false|doubt\w*|nicht|kein\w*|weder|pas|jamais|non|nunca"
    r"|não|nem|niet|geen|не|нельзя|nie|ani|inte|ikke|không|bukan|tidak|değil|ليس|ليست|नहीं|no)(?![^\W_])"
    r"|n't(?![^\W_])|不|没|沒|ない"
)
_NO_DENIAL = re.compile(
    r"(?:without (?:a |any )?|no |beyond |not a |not in )(?:shadow of )?doubts?|not only|no question|why not|no further"
    r"|ohne zweifel|sans (?:aucun )?doute|sin (?:ninguna )?duda|senza dubbio|sem dúvida|без сомнен\w+|no\."
)
_BREAK = re.compile(
    rf"[,:;—]| - |{START}(?:but|so|therefore|thus|hence|yet|however|instead|sondern|aber|mais|donc|pero|sino|quindi|ma|mas"
    rf"|maar|dus|но|а|поэтому|ale|więc|lecz){STOP}|但|而是|所以|因此|ので|から"
)
_CONCESSION = {
    "en": "while|although|though|even if|even though|despite|at first|initially|originally|previously|earlier|i first"
    "|first thought|first said|first impression|i thought|i had thought|whether|if|unless|compar\\w+|confus\\w+|distract\\w+"
    "|someone|some (?:people|might|would)|one (?:might|could|may)|you (?:might|may|could)|users?|(?<!i )suppos\\w+|(?<!i )assum\\w+|tempt\\w+"
    "|similar to|resembl\\w+|says|reads|written|printed|asks?|asked|wants?|told|between|considering|consider|looking at|look at|output|mistaken for"
    "|would need|requires?|for example|such as|e\\.g|previous\\w*|others|other (?:people|models|users)|colleague|friend|teacher|student|(?:he|she|they|people) (?:choose|chose|say|said|think|thinks|picked|answered)|instruct\\w+|should output|should say|second choice|second best|runner-up|followed by|alternatively|fallback|format",
    "de": "obwohl|zwar|wenn|falls|ob|zuerst|zunächst|anfangs|auf den ersten blick",
    "fr": "bien que|même si|si|d'abord|au début|à première vue",
    "es": "aunque|al principio|si|a primera vista",
    "it": "sebbene|anche se|se|all'inizio|benché",
    "pt": "embora|se|à primeira vista|apesar",
    "nl": "hoewel|als|eerst",
    "ru": "хотя|если|сначала|сперва",
    "pl": "chociaż|choć|jeśli|najpierw",
    "other": "meskipun|walaupun|jika|mặc dù|nếu|lúc đầu|rağmen|eğer|även om|om",
}
_CONCEDES = re.compile(rf"{whole(_CONCESSION)}|虽然|雖然|如果|尽管|起初|一开始|乍一看|最初|もし|たとえ|비록|처음")
ALL_BUT_LEFT = re.compile(
    r"\b(?:all|every|everything|any|each)(?: [a-z']+){0,5} (?:except(?: for)?|but|other than|besides|apart from|save)"
    rf"(?: (?:for|the|option|choice|answer|statement|letter))*{_OPEN}"
    rf"|(?:alle \w+ außer|toutes? .{{0,20}}sauf|todas? .{{0,20}}(?:excepto|menos|salvo)|tutte .{{0,20}}tranne"
    rf"|все .{{0,20}}кроме|除了){_OPEN}"
)
SECOND_LEFT = re.compile(
    rf"{START}(?:second (?:choice|best|option|guess)|next best|runner-up|followed by|then|alternatively|fallback)[\s:,=\"'(]*\Z"
)
NONE_BUT_LEFT = re.compile(
    rf"\b(?:nothing|none|no (?:option|choice|answer|statement)) (?:but|except(?: for)?|other than|besides)(?: (?:the|{_NOUN}))*{_OPEN}"
)
BETWEEN_LEFT = re.compile(
    rf"{START}(?:between|among|out of|torn|undecided|zwischen|entre|tra|fra|tussen|между|між|między|mezi|arasında|antara|giữa|mellan)"
    rf"(?: (?:the|{_NOUN}))*{_OPEN}|在{_OPEN}"
)

# --- right ----------------------------------------------------------------------------------------------------------

_SUFFIX = (
    "일 것입니다|일 것 같습니다|인 것 같습니다|です|だ|だと思います|だと思う|でしょう|と思います|となります|になります|を選びます|を選択します|であると考えます|である|です|입니다"
    "|이다|이에요|예요|이라고 생각합니다|라고 생각합니다|(?:을|를) (?:선택합니다|선택하겠습니다|고르겠습니다|고릅니다)|이 됩니다"
    "|है|हैं|होगा|'?d[ıiuü]r|olmalı|olacaktır|seçeneği|şıkkı|seçeneğidir|şıkkıdır|'?[yn]?[ıiuü] seçiyorum|ครับ|ค่ะ|nhé|ạ"
    "|here|on this one|for this (?:one|image|picture|question)|in (?:this|the) (?:case|image|picture|photo)|overall|instead|too|though"
    "|to me|for me|i think|i believe|i guess|i'd say|i would say|as (?:my|the) (?:final )?answer|of the two"
    "|option|choice|answer|wählen|nehmen|sagen|tippen|선택지|番|项|項|了|吧"
)
NOTHING_RIGHT = re.compile(rf"[\s\"')\]>.,:;!…|-]*(?:(?:{_SUFFIX})[\s\"')\].,:;!]*)?\Z")
_SHARE = (
    r"\(?(?:about |approx\.? |~|with |confidence:? |p ?= ?)*\d{1,3}(?:\.\d{1,6})?\s?%?"
    r"(?: sure| confident| confidence| certain(?:ty)?| probability)?\)?"
)
_BECAUSE = (
    "because|due to|rather than|instead of|weil|denn|parce|puisque|porque|ya que|puesto que|perché|poiché|omdat|want"
    "|потому|поскольку|так как|ponieważ|gdyż|protože|karena|sebab|çünkü|vì|eftersom|fordi|koska|deoarece|لأن|क्योंकि|כי"
)
_EXPLAIN = (
    f"{_BECAUSE}|since|as|for|given|based|with|where|which|holds|fits|here|in this|according|i think|i believe|judging"
    "|when looking|and (?:not|the|i|this|that|it)|but|not|over|than|from|da|car|pues|pois|bo"
)
EXPLAIN_RIGHT = re.compile(
    rf"[\s\"')\]]*(?:{_SHARE}[\s.)\]]*\Z|[,(;—–]|[.-]+ |(?:{_EXPLAIN}){STOP}|因为|因為|由于|なぜなら|왜냐하면|から)"
)
# After "A", which may be an article, only what can not follow an article.
EXPLAIN_A_RIGHT = re.compile(
    rf"[\s\"')\]]*(?:{_SHARE}[\s.)\]]*\Z|[,(;—–]|[.-]+ |(?:{_BECAUSE}|since|but|and|or){STOP}|因为|因為|由于|から)"
)
QUESTION_RIGHT = re.compile(r"[\s\"')\].]*\?")
_YES_WORD = (
    "yes|yep|yeah|correct|right|true|valid|ok|ja|richtig|wahr|oui|vrai|correcto|sí|verdadero|sì|vero|corretto|sim|verdadeiro"
    "|certo|juist|waar|да|верно|правильно|так|tak|prawda|ano|evet|doğru|đúng|có|ya|benar|betul|نعم|صحيح|हाँ|सही|kyllä|igen|ναι"
)
_NO_WORD = (
    "no|nope|wrong|incorrect|false|untrue|invalid|not (?:correct|true|right|valid)|out|nein|falsch|non|faux|incorrecto|falso"
    "|incorrecta|falsa|sbagliato|sbagliata|errado|errada|não|nee|fout|onjuist|нет|неверно|неправильно|ні|nie|fałsz|ne|hayır"
    "|yanlış|không|sai|tidak|salah|bukan|خطأ|لا|غير صحيح|नहीं|गलत|nej|fel|nei|nem|όχι"
)
_YES_SIGN, _NO_SIGN = "✓|✔|✅|☑|√|👍|⭕|🟢", "✗|✘|❌|×|✖|👎|❎|☒|🔴|🚫"
_SHUT = r"(?![^\W_])\s*(?:[.,;:!()\]|]|\Z)"
_QUALITY = "correct|right|true|accurate|best|answer|valid|one|only|match|choice|option|solution|pick|supported|consistent|compatible|closest"
_QUALIFIER = "clearly|definitely|obviously|certainly|indeed|also|the|actually|really|most|simply|undoubtedly|therefore|thus|a|my|still|just"
_AFFIRM = {
    "en": rf"(?:is|are|was|(?:seems|looks|appears)(?: to be)?|must be|has to be|should be|=) (?:(?:{_QUALIFIER}) ){{0,3}}"
    rf"(?:{_QUALITY})(?! (?:side|hand|if|only if|when|about|for the first|but|next|there|of){STOP})"
    r"|(?:is|seems|looks|appears) (?:far |much |slightly |a bit |clearly )?(?:the )?(?:more|most) (?:likely|plausible|probable"
    r"|convincing|fitting|accurate|appropriate|reasonable)|(?:it (?:is|must be|has to be)|would be my (?:choice|answer|pick|guess)|is my (?:choice|answer|pick|guess)|is what i (?:see|choose|pick|would \w+))(?=[\s.!]*\Z)|is (?:likelier|better|a better (?:fit|match)|the better \w+)"
    rf"|(?:match(?:es)?|agrees?|fits?|holds?|applies|stands?|remains?|wins|corresponds|works|makes sense|survives|describes (?:(?:the|this) (?:image|picture|photo|scene|hand|situation|pose)|it|what))"
    rf"(?: (?:is|the|best|with|true|well|up|to|what|better|here|see))*(?! (?:neither|no|not|only if){STOP}){STOP}",
    "de": "ist (?:die |das )?(?:richtig\\w*|korrekt\\w*|wahr)|stimmt(?! nicht)|trifft zu|passt(?! nicht)",
    "fr": "est (?:la |le )?(?:bonne|correct\\w*|juste|vrai\\w*|exact\\w*)|convient",
    "es": "es (?:la |lo |el )?(?:correct\\w+|verdader\\w+|ciert\\w+|adecuad\\w+|respuesta)",
    "it": "è (?:la |quella )?(?:corrett\\w+|giust\\w+|esatt\\w+|vera|risposta)",
    "pt": "é (?:a |o )?(?:corret\\w+|cert\\w+|verdadeir\\w+|resposta)|está (?:corret|cert)\\w",
    "nl": "is (?:juist|correct|goed|het juiste)|klopt(?! niet)",
    "ru": "(?:-|—|это)? ?(?:верн\\w+|правильн\\w+)|подходит",
    "pl": "jest (?:poprawn\\w+|prawidłow\\w+|prawdziw\\w+)",
    "tr": "(?:seçeneği |şıkkı )?doğru(?:dur)?",
    "vi": "là (?:đúng|đáp án đúng|chính xác)",
    "id": "(?:adalah )?(?:yang )?(?:jawaban yang )?(?:benar|tepat)",
    "ar": "(?:هو|هي) (?:الصحيح\\w*|الإجابة|الجواب)",
    "hi": "(?:ही )?सही (?:(?:उत्तर|विकल्प|जवाब) )?है",
    "nordic": "är (?:rätt|korrekt|riktig\\w*)|er (?:riktig\\w*|korrekt|rigtig\\w*)|on oikein",
    "zh": "(?:是|最|才是|选项)?(?:正确|正確|对的|對的|符合)",
    "ja": "(?:が|は)(?:正しい|正解|適切|合って|答え)",
    "ko": "(?:이|가|은|는)? ?(?:정답|맞|옳)",
}
AFFIRM_RIGHT = re.compile(rf"{_CLOSE}{any_of(_AFFIRM)}|{_MARK}(?:(?:{_YES_WORD}){_SHUT}|{_YES_SIGN})")
# A text may itself stand in a sentence about the scene: "the fork is right of the knife" is no verdict.
AFFIRM_TEXT_RIGHT = re.compile(
    rf"{_MARK}(?:(?:is|seems|must be|has to be) (?:(?:clearly|definitely|most|the) ){{0,3}}(?:correct|true|accurate|answer"
    rf"|(?:right|best|correct) (?:answer|choice|option|one|label|description|match))(?! (?:if|only if|when)){STOP}"
    rf"|is (?:what i|my) (?:would )?(?:choose|pick|select|answer|choice|pick)|(?:fits|matches|applies) best{STOP}|(?:{_YES_WORD}){_SHUT}|{_YES_SIGN})"
)
_DENY = {
    "en": r"(?:is|are|was|were|seems?|looks?|would be|can|could|does|do|did|must|should|has|have|will|would|might) ?"
    r"(?:clearly |definitely |also |both |all |probably |obviously |certainly |simply |likely |most |just |therefore |thus "
    r"|be |to be |been |being |quite |plainly )*(?:not|n't|never|no|wrong|incorrect|false|out|excluded|eliminated|impossible"
    r"|implausible|unlikely|ruled out|invalid|inaccurate|untrue|mistaken|discarded|rejected|dismissed|contradict\w+"
    rf"|inconsistent|off|too|less|unsupported|out of the question|a mistake){STOP}"
    rf"|(?:isn't|aren't|wasn't|doesn't|don't|can't|cannot|couldn't|won't|wouldn't|shouldn't|hasn't|fails?|contradicts?"
    rf"|conflicts?|too|falls out|drops out|ruled out|eliminated|excluded|misses){STOP}",
    "de": "(?:ist|sind|war) (?:falsch|nicht|unzutreffend|ausgeschlossen|auszuschließen)|stimmt nicht|passt nicht|trifft nicht"
    "|scheidet aus|kann (?:man )?ausgeschlossen|kann nicht",
    "fr": "(?:est|sont) (?:faux|fausses?|incorrect\\w*|exclu\\w*|à exclure|à écarter|à éliminer)|n'est|ne (?:convient|correspond|peut)",
    "es": "no (?:es|son|puede)|(?:es|son) (?:incorrect\\w+|fals\\w+|err\\w+)|queda (?:descartad|excluid)\\w|está mal",
    "it": "non (?:è|sono|può)|(?:è|sono) (?:sbagliat\\w|errat\\w|fals\\w|da escludere)",
    "pt": "não (?:é|são|pode)|(?:é|são) (?:fals\\w+|errad\\w+|incorret\\w+)|está errad\\w",
    "nl": "(?:is|zijn) (?:fout|onjuist|niet|uitgesloten|verkeerd)|klopt niet|valt af",
    "ru": "(?:-|—|это)? ?(?:неверн\\w+|неправильн\\w+|не |ошиб\\w+|исключ\\w+)",
    "pl": "nie (?:jest|pasuje)|(?:jest|są) (?:błędn\\w+|niepoprawn\\w+|fałszyw\\w+|nieprawidłow\\w+)|odpada",
    "tr": "(?:seçeneği |şıkkı )?(?:yanlış|değil)",
    "vi": "(?:là )?sai|không (?:đúng|phải)",
    "id": "(?:adalah )?salah|bukan|tidak",
    "ar": "(?:ليس|ليست|غير|خاطئ|خطأ)",
    "hi": "नहीं|गलत",
    "nordic": "är (?:fel|inte)|er (?:feil|ikke|forkert)|ei ole|on väärin",
    "zh": "(?:是|选项)?(?:错误?|錯|不对|不對|不正确|不正確|不符|可以排除|被排除)",
    "ja": "(?:は|が)?(?:誤り|間違|正しくない|正しくあり|違|正解では|答えでは|不正解)|では?(?:ない|なく|ありません)|じゃない",
    "ko": "(?:이|가|은|는)? ?(?:(?:정답|답|옳|맞)\\w? ?)?(?:아니|아닙|않|틀|오답)",
}
DENY_RIGHT = re.compile(rf"{_CLOSE}{any_of(_DENY)}|{_MARK}(?:(?:{_NO_WORD}){_SHUT}|{_NO_SIGN})")
CONDITION_RIGHT = re.compile(
    rf"[\s\"')\]]*(?:says?|states?|claims?|reads|describes(?! (?:it|what|(?:the|this) (?:image|picture|photo|scene|hand|situation|pose)))|mentions?|might|may|could|would(?! be my)|needs?|requires?){STOP}"
    rf"|[\s\"')\],]*(?:if|unless|when|only if|assuming|provided|otherwise|or else|falls|wenn|si|se|als|если|jeśli|jika|nếu){STOP}"
)
CONDITIONAL_LEFT = re.compile(
    r"\W*(?:if|when|should|wenn|falls|si|se|если|jeśli|als|jika|nếu)(?! (?:i|you|we) (?:had|have|must|need|were|ask|look)|,| so,| not,"
    rf"| forced| pressed){STOP}|如果|若"
)
ASKING_LEFT = re.compile(
    rf"{START}(?:please|which|do you|would you|bitte){STOP}|请|\A\W*(?:choose|select|pick|(?:answer|reply|respond) with){STOP}"
)
# A verdict that its end turns round, where the verb comes last.
TURNED_RIGHT = re.compile(r"[^,.;\n]{0,12}?(?:아니|아닙|않|ない|ありません|नहीं|değil)")
BOTH_LEFT = re.compile(
    rf"{START}(?:both|either|entweder|soit|o bien|либо|beide|sowohl|ambos|ambas|entrambi|entrambe|les deux|zarówno)\W*\Z"
)
BOTH_RIGHT = re.compile(
    r"\W*(?:could|may|might|can|would)(?: both| all| each| equally| well| also)*(?: be)? (?:right|correct|possible|plausible|true|fit"
    rf"|apply|valid|the answer|work){STOP}"
    r"|\W*(?:are|seem|look|sind|sont|son|sono|são|zijn|är|są)(?: \w+)? (?:possible|plausible|equally|likely|möglich|possibles|posibles"
    rf"|possibili|possíveis|mogelijk|möjliga|możliwe){STOP}|\W*(?:возможны|都有可能|都可能)"
)
INSTEAD_LEFT = re.compile(
    rf"{START}(?:rather than|instead of|unlike|(?:an)?statt|au lieu de|plutôt que|en (?:vez|lugar) de|em vez de|invece di|in plaats van"
    rf"|вместо|zamiast|i stället för)(?: (?:the|{_NOUN}))*{_OPEN}"
)
CHANGED_LEFT = re.compile(
    rf"{START}(?:chang|switch|revis|mov|updat|correct)\w*[^.;\n]{{0,40}} from(?: {_NOUN})?{_OPEN}"
)
WRONG_BEFORE_BUT = re.compile(rf"{START}(?:wrong|incorrect|false|excluded|ruled out|eliminated|falsch|fausses?){STOP}")
YES_SIGN_LINE = re.compile(rf"[\s\"'(\[>-]*(?:{_YES_SIGN}|[👉➡])[\s\"'(\[:>-]*\Z")
NO_SIGN_LINE = re.compile(rf"[\s\"'(\[>-]*(?:{_NO_SIGN})[\s\"'(\[:>-]*\Z")
NOMINAL_RIGHT = re.compile(
    r"[\s\"')\]]{0,3}(?:hand )?(?:gestures?|signs?|poses?|signals?|hand|labels?|class|category|option|symbol|shape|emotion"
    rf"|expression|emoji|one|action|finger(?:s)?|digits?){STOP}[\s\"')\].,:;!]*\Z"
)
YES_AHEAD = re.compile(rf"[\s\"')\].]*\?[\s\"')\]]*(?:(?:{_YES_WORD}|是|对|はい|예|네){STOP}|{_YES_SIGN})")
NO_AHEAD = re.compile(rf"[\s\"')\].]*\?[\s\"')\]]*(?:(?:{_NO_WORD}|not|不|いいえ|아니){STOP}|{_NO_SIGN})")
YES_START = re.compile(rf"\s*(?:(?:{_YES_WORD}){STOP}|{_YES_SIGN})")
VERDICT_LINE = re.compile(rf"[.):|\s]+(?:{_YES_WORD}|{_NO_WORD}|{_YES_SIGN}|{_NO_SIGN}|对|错|是|否|不是)[\s.,;!|]*\Z")


def denies_far(left: str) -> bool:
    """Whether a denial stands somewhere left in the same clause, so that what follows is not clear."""
    clause = _NO_DENIAL.sub(" ", left)
    start = 0
    for found in _BREAK.finditer(clause):
        start = found.end()
    return _DENIAL.search(clause, start) is not None


def concedes(left: str) -> bool:
    """Whether the clause left of a mention only weighs, quotes or supposes it."""
    signs = (",", ":", "—", " but ", " yet ", " so ", " however ")
    start = max(left.rfind(sign) for sign in signs) + 1
    return _CONCEDES.search(left, start) is not None


def weighs(left: str) -> bool:
    """Whether words of weighing or supposing stand anywhere left of a mention in its sentence."""
    return _CONCEDES.search(left) is not None
