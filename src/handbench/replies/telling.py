"""What a whole reply may tell without choosing: none of the options, all of them, undecided, a refusal, shares."""

from __future__ import annotations

import re

from handbench.replies.patterns import START, STOP, any_of

_THING = "options?|choices?|answers?|statements?|alternatives?|labels?|candidates?|descriptions?|gestures?|categories|possibilities"
_FIT = (
    "is|are|seems?|fits?|appl\\w+|match\\w*|describes?|holds?|works?|looks?|corresponds?|makes? sense|can be|could be"
)
_NONE = {
    "en": rf"none of (?:the|these|those|them|your)(?! other| rest| remaining){STOP}(?! (?:\w+ )?(?:fingers?|joints?|hands?)\b)"
    rf"(?! (?:\w+ ){{0,2}}(?:is|are) (?:impossible|wrong))"
    rf"|neither(?: one| of (?:them|these|those|the (?:two|{_THING}))| (?:{_THING}))?(?: (?:{_FIT})){STOP}"
    rf"|no (?:{_THING}|one of (?:them|these)) (?:{_FIT}|here|in the list|given|listed){STOP}"
    rf"|(?:isn't|aren't|not|no) (?:in|on|among|one of|listed (?:in|among|as)|part of|any of|either of) (?:the|these|those|them|your)"
    rf" ?(?:list|given|offered|provided|{_THING}|above|two){STOP}"
    rf"|none (?:appl(?:y|ies)|fits?|match\w*|(?:is|are|seems?|of it is) (?:correct|right|true|suitable|applicable)){STOP}"
    rf"|(?:no|not a) (?:correct|right|valid|suitable|matching|fitting) (?:{_THING}){STOP}|not (?:listed|offered|on the list|an option){STOP}"
    rf"|(?:isn't|is not|are not|not) (?:listed|offered|available|present|included|given) ?(?:here|above|in the (?:list|options))?(?=[.!]?\s*\Z)"
    rf"|nothing (?:in|on|from|of) (?:the|this|these|your) (?:list|{_THING}){STOP}|(?:answer|choice|option|final|ans)[^.\n]{{0,12}}?[:=][\s\"'(]*none{STOP}"
    rf"|all (?:of )?(?:the |these |them |your )?(?:{_THING})? ?(?:are|seem) (?:wrong|incorrect|false)(?! (?:except|but|apart|other))"
    rf"|(?:doesn't|does not|do not|don't) (?:match|fit|correspond to) any (?:of the )?(?:{_THING})",
    "de": "kein(?:e|er|es)? (?:der|von|dieser|davon|option|antwort)\\w*|keine antwort (?:ist|passt|trifft)|weder noch",
    "fr": "aucune? (?:de ces|des|n'est|réponse|option|proposition|ne )|aucune? d'(?:entre )?elles",
    "es": "ninguna? (?:de|es|opción|respuesta)|ninguna de las anteriores",
    "it": "nessuna? (?:di|delle|dei|è|opzione|risposta)",
    "pt": "nenhuma? (?:da|de|do|é|opção|resposta|alternativa)",
    "nl": "geen van|geen enkel\\w* (?:optie|antwoord)",
    "ru": "ни один|ни одно|ни одна|нет (?:правильн|верн|подходящ)\\w*",
    "uk": "жоден|жодн\\w+|немає правильн\\w+",
    "pl": "żadn\\w+",
    "cs": "žádn\\w+",
    "tr": "hiçbiri\\w*|hiçbir (?:seçenek|cevap|şık)",
    "vi": "không (?:có )?(?:đáp án|phương án|lựa chọn|câu)(?: \\w+)? nào|không câu nào|tất cả đều sai",
    "id": "tidak ada (?:yang|jawaban|pilihan|opsi|satupun|satu pun)|bukan salah satu|semua(?:nya)? salah",
    "ar": "لا شيء مما|ليس أي|لا أحد من|لا يوجد (?:خيار|جواب|إجابة)|ولا واحد\\w*|لا شيء من",
    "he": "אף אחת?|אין תשובה",
    "fa": "هیچ ?کدام|هیچ یک",
    "hi": "इनमें से कोई|कोई भी (?:विकल्प|नहीं)|उपरोक्त में से कोई",
    "nordic": "ing(?:en|et) av|ingen af|ei mikään|mikään ei|inget (?:svar|alternativ)",
    "ro": "nici ?un\\w*",
    "hu": "egyik sem",
    "el": "κανένα|καμία",
}
_WHOLE_NONE = (
    r"\A\W*(?:none|neither(?: of (?:them|these|those|the (?:two|above|options|statements))| one)?|nothing fits)\W*\Z"
)
NONE_OF_THEM = re.compile(
    rf"{START}{any_of(_NONE)}|{_WHOLE_NONE}"
    r"|以上都不|以上皆非|都不(?:是|对|對|正确|正確|符合)|没有(?:一个)?(?:正确|选项|答案|合适)|沒有(?:正確|選項)|皆非|均不|どれで?も|いずれも(?:正しくない|違|当て)"
    r"|該当なし|該当(?:する)?(?:もの|選択肢)(?:は|が)(?:ない|ありません)|正しいものはありません|정답(?:이)? 없|해당(?:하는 것이|사항)? ?없"
    r"|모두 (?:아니|아닙|틀)|보기에 없"
)
_PLAUSIBLE = r"(?:correct|right|true|possible|plausible|fit|apply|valid|work|likely|could|may|might|can|match)"
_ALL = {
    "en": rf"all (?:of )?(?:the above|(?:the |these |those )?(?:{_THING})|them|these|those)(?: (?:are|seem|look|could|can|may|might|appear))?"
    rf"(?= ?(?:{_PLAUSIBLE}|equally|[.!]?\s*\Z))"
    rf"|both{STOP}(?=.{{0,40}}{_PLAUSIBLE})|both(?: of (?:them|these)| {_THING})?[.!]?\s*\Z"
    rf"|either(?: one| of (?:them|these|the two)| option| answer| way)?(?: is| could| may| might| can| works|[.!]?\s*\Z)"
    rf"|any of (?:them|these|the (?:options|above|answers))(?=.{{0,30}}{_PLAUSIBLE})"
    r"|equally (?:likely|plausible|possible|good|valid|well)|(?:can|could) go either way|50 ?[/-] ?50"
    rf"|(?:two|three|several|multiple|more than one)(?: of the| of these)? (?:{_THING}|of them) (?:are|seem|could|look|fit|apply)"
    r"|(?:cannot|can't|can not|unable to|not able to|hard to|difficult to|impossible to) (?:decide|choose|pick|distinguish|tell apart|settle)"
    r"(?: (?:between|which|among))|toss[- ]?up|coin flip",
    "de": "alle (?:der|antworten|optionen|oben|genannten|sind)|beide (?:antworten|sind|stimmen|optionen|aussagen)|beides",
    "fr": "toutes les (?:réponses|options|propositions)|les deux",
    "es": "todas las (?:anteriores|opciones|respuestas)|ambas|las dos",
    "it": "tutte le (?:risposte|opzioni|precedenti)|entrambe",
    "pt": "todas as (?:anteriores|opções|alternativas)|ambas",
    "nl": "alle (?:bovenstaande|opties|antwoorden)|allebei|beide",
    "ru": "все (?:вышеперечисленн|варианты|ответы)\\w*|оба(?: варианта| ответа)?|обе",
    "pl": "wszystkie (?:odpowiedzi|powyższe)|obie|oba",
    "other": "hepsi|her ikisi|tất cả|cả hai|semua (?:jawaban|benar|pilihan)|keduanya|جميع ما|كلاهما|كلا|सभी|दोनों|alla|båda|begge",
}
ALL_OF_THEM = re.compile(
    rf"{START}{any_of(_ALL)}"
    r"|以上都(?:是|对|對|正确|正確)|以上皆是|都(?:对|對|正确|正確|有可能)|两者都|兩者都|すべて正|全て正|どちらも|両方|모두 (?:맞|정답)|둘 다"
)
_CANNOT = "can't|cannot|can not|couldn't|could not|won't|will not|wouldn't|am not able to|am unable to|'m unable to|'m not able to"
_ABLE = (
    "help|assist|answer|see|view|determine|tell|identify|provide|comply|process|analy[sz]e|access|say|judge|make out|discern"
    "|know|give|open|evaluate|comment|do that|do this|fulfil\\w*|continue|decide|have (?:access|the ability|enough)|be able"
    "|engage|offer|perceive|look at|verify|interpret|recogni[sz]e|read|assess|respond|support|describe|choose|pick|select"
    "|make (?:a|an|that)|infer|estimate|classify"
)
_PICTURE = "image|picture|photo|photograph|file|attachment|video|visual"
_REFUSAL = {
    "en": rf"(?:i|we)(?:'m| am|'re| are)? (?:\w+ ){{0,2}}(?:sorry|afraid){STOP}.{{0,60}}\b(?:can't|cannot|can not|unable|not able|won't"
    rf"|don't|couldn't|not possible|impossible)"
    rf"|(?:i|we) (?:\w+ ){{0,2}}?(?:{_CANNOT}) (?:\w+ ){{0,2}}?(?:{_ABLE}){STOP}"
    rf"|(?:i|we) (?:\w+ ){{0,1}}?(?:don't|do not|am not allowed to|am not permitted to|'m not allowed to) (?:\w+ ){{0,2}}?"
    rf"(?:know|see|have (?:access|the ability|enough|any|an image)|feel comfortable|provide|answer|engage|identify|process|receive){STOP}"
    rf"|i(?:'m| am) (?:\w+ ){{0,2}}?(?:unable|not able|not allowed|not permitted|not in a position|incapable|not comfortable|unsure"
    rf"|not sure|uncertain|not certain|a (?:text|language|large)[\w -]{{0,20}}model){STOP}"
    rf"|(?:not able|unable) to (?:{_ABLE}){STOP}|i (?:can't|cannot|won't|couldn't)[.!]?\s*\Z"
    rf"|(?:must|have to|need to|will|would rather|i'd rather|prefer(?: to| not to)?|prefer not to|i|i'll|politely|respectfully) (?:decline|refuse|abstain|pass|not answer|answer)"
    rf"{STOP}(?=[^:]*\Z)(?<!answer)|declin\w+ to|refus\w+ to"
    rf"|(?:no|not) (?:{_PICTURE})s? (?:was|were|is|has been|have been|provided|attached|visible|given|found|supplied|here|available)"
    rf"|(?:there is|there's|i see|i have|received|with) no (?:{_PICTURE})|without (?:an?|the|seeing the) (?:{_PICTURE})"
    rf"|(?:{_PICTURE})s? (?:is|was|seems to be|appears to be|has|did|does|are|could)(?: not|n't)? (?:missing|be loaded|been loaded"
    rf"|attached|provided|load|visible|available|unavailable|come through|blank|be displayed|corrupt\w*|broken|show up"
    rf"|be opened|unreadable|unclear|too (?:dark|blurry|blurred|small|unclear|low))"
    rf"|(?:impossible|(?:not|isn't) possible|too \w+|no way|hard|difficult) (?:for me )?to (?:tell|say|determine"
    rf"|judge|know|see|answer|identify|decide|discern|assess|make out){STOP}"
    rf"|(?:cannot|can't|can not|could not|couldn't) be (?:\w+ly )?(?:determined|seen|answered|identified|judged|assessed|inferred"
    rf"|verified|decided|told|discerned|made out)|(?:insufficient|not enough|lack of|no) (?:\w+ )?(?:information|data|details?|evidence|context)"
    rf"|(?:against|violat\w+) (?:my|the|our) (?:polic\w+|guidelines|programming|rules|content)|no idea{STOP}|(?:not|not to|rather not) answer{STOP}|(?:not|isn't) something (?:that )?i can|something (?:that )?i (?:can't|cannot) (?:do|help)|no answer (?:is )?(?:possible|can be)|no way (?:of|to) (?:know|tell)\w*|as an? (?:large )?(?:ai|language|text)[ -]"
    rf"(?:\w+ )?(?:model|assistant)?",
    "de": "(?:kann|können|konnte|könnte|darf)(?: \\w+){0,8} (?:nicht|keine\\w?)|nicht in der lage|nicht (?:erkennbar|zu erkennen"
    "|möglich|beurteilen|beantworten|bestimmen|feststellbar|bestimmbar)|es tut mir leid|tut mir leid|leider|weiß (?:ich )?(?:es )?nicht|lässt sich (?:\\w+ )?nicht|keine (?:angabe|aussage|ahnung)"
    "|unmöglich zu",
    "fr": "je ne (?:peux|suis|vois|sais|parviens|puis|dispose)|impossible (?:de|à)|désolée?|pas de réponse (?:possible|disponible)|je refuse|je regrette|on ne peut pas",
    "es": "lo siento|no (?:puedo|podemos|es posible|me es posible|soy capaz|se puede|logro|veo|lo sé|sé)|me temo|imposible"
    "|disculpa|me niego",
    "it": "mi dispiace|non (?:posso|riesco|è possibile|sono in grado|vedo|so|lo so)|spiacente|impossibile|mi rifiuto",
    "pt": "sinto muito|lamento|não (?:posso|consigo|é possível|sou capaz|vejo|dá para|sei)|impossível|infelizmente",
    "nl": "(?:ik )?kan (?:\\w+ ){0,5}?niet|het spijt me|helaas|niet mogelijk|weet (?:ik )?(?:het )?niet|onmogelijk",
    "ru": "извините|к сожалению|(?:я )?не (?:могу|вижу|удается|удаётся|в состоянии|способ\\w+|знаю|имею)|невозможно|нельзя"
    "|простите|отказываюсь",
    "uk": "вибачте|на жаль|не (?:можу|бачу|знаю)|неможливо",
    "pl": "przepraszam|przykro mi|nie (?:mogę|jestem w stanie|potrafię|widzę|da się|wiem|można)|niestety|niemożliwe|odmawiam",
    "cs": "omlouvám|nemohu|bohužel|nevím|nelze|nedokážu",
    "tr": "üzgünüm|maalesef|ne yazık ki|özür dilerim|\\w+(?:emiyorum|amıyorum|emem|amam)|mümkün değil|bilmiyorum",
    "vi": "xin lỗi|rất tiếc|(?:tôi )?không thể|(?:tôi )?không (?:biết|thấy|chắc)",
    "id": "maaf|saya tidak (?:dapat|bisa|mampu|tahu)|tidak (?:dapat|bisa|mungkin) \\w+|mohon maaf|sayangnya",
    "ar": "عذرا|عذرًا|آسف|أعتذر|للأسف|لا (?:أستطيع|يمكنني|يمكن|أقدر|أعرف|أرى)|لست قادرا",
    "he": "מצטער|סליחה|אין באפשרותי|לא (?:יכול|ניתן|יודע)",
    "fa": "متاسفم|متأسفم|نمی ?توانم|نمیتوانم",
    "hi": "क्षमा|माफ़|माफ|खेद|नहीं (?:कर|बता|देख|दे|पता)|असमर्थ",
    "bn": "দুঃখিত",
    "nordic": "tyvärr|jag kan (?:\\w+ )?inte|beklager|kan (?:\\w+ )?(?:ikke|inte)|valitettavasti|en (?:voi|pysty|tiedä|näe)|vet (?:jag )?inte|vet (?:jeg )?ikke|ved (?:jeg )?ikke|desværre"
    "|dessverre|ledsen|undskyld|unnskyld|anteeksi",
    "ro": "îmi pare rău|nu pot|din păcate|nu știu",
    "hu": "sajnálom|nem (?:tudom|tudok|lehet|látom)|sajnos",
    "el": "λυπάμαι|δεν (?:μπορώ|γνωρίζω|βλέπω|ξέρω)|συγγνώμη|δυστυχώς",
}
_WHOLE_REFUSAL = (
    r"\A\W*(?:n/a|na|no answer|unsure|not sure|refuse\w*|idk|no idea|no comment|pass|skip|(?:cannot|can't|could not) (?:tell|determine"
    r"|answer|say|see|decide|judge|identify)(?: \w+){0,5}|not (?:determinable|visible|applicable|clear|possible)(?: \w+){0,4}|(?:un)?(?:known"
    r"|determinable|determined|answerable|clear|certain)(?<!\Aknown)(?<!\Aclear)|indeterminate|inconclusive)\W*\Z"
)
REFUSAL = re.compile(
    rf"{START}{any_of(_REFUSAL)}|{_WHOLE_REFUSAL}"
    r"|抱歉|对不起|對不起|很遗憾|遗憾|无法|無法|不能(?:回答|判断|判斷|确定|確定|看到|帮|幫|提供)|看不(?:到|清|见|見|出)|不便回答|不知道|拒绝回答|不确定"
    r"|申し訳|すみませんが|ごめんなさい|できません|できない|わかりません|分かりません|見えません|お答えでき|不明です"
    r"|죄송|미안|할 수 없|(?:을|를|ㄹ) 수 없|수 없습니다|알 수 없|볼 수 없|모르겠|확인할 수|어렵습니다|ขออภัย|ขอโทษ|ไม่สามารถ|ไม่ทราบ"
)

_FIGURE = r"(\d{1,3}(?:\.\d{1,6})?|\.\d{1,6})"
SHARE_RIGHT = re.compile(
    r"[ \"')\]:=(~|-]{0,8}(?:about |approximately |around |is |at |with |gets |has |a |probability |score |confidence |of |likelihood ){0,4}"
    rf"[ :=(]{{0,3}}{_FIGURE}\s?(?:%|percent)?(?![\d:])"
)
SHARE_LEFT = re.compile(
    rf"(?<![\d.]){_FIGURE} ?(?:%|percent) {{0,3}}(?:for|chances?|of|probability|confidence|sure|certain|likely|that|it(?:'s| is)|is"
    r"|on|to|option|answer|the|für|pour|para|per|voor| )*[ \"'(\[:]*\Z"
)
