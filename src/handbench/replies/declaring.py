"""Phrases left of a mention that declare it the answer, firmly or weakly, in many languages."""

from __future__ import annotations

import re

from handbench.replies.patterns import LEAD, START, STOP, any_of, whole, words

_ANSWER_NOUN = {
    "en": "answers?|choice|solution|response|selection|verdict|conclusion|prediction|pick|guess|vote|bet|decision|result"
    "|output|ans|classification|judge?ment",
    "de": "antwort|lösung|ergebnis|wahl|entscheidung",
    "fr": "réponse|reponse|choix|résultat",
    "es": "respuesta|solución|elección|resultado",
    "it": "risposta|soluzione|scelta|risultato",
    "pt": "resposta|solução|escolha",
    "nl": "antwoord|oplossing|keuze|resultaat",
    "ca": "solució|elecció",
    "ru": "ответ\\w*|решение|выбор",
    "uk": "відповідь|вибір",
    "be": "адказ",
    "bg": "отговор\\w*",
    "sr": "odgovor|одговор",
    "pl": "odpowiedź|rozwiązanie|wybór",
    "cs": "odpověď|odpoveď|řešení",
    "tr": "cevap|cevabım|cevabı|yanıt|yanıtım|yanıtı",
    "az": "cavab",
    "vi": "đáp án|câu trả lời|trả lời",
    "id": "jawaban|jawabannya|jawapan",
    "ar": "الإجابة|الاجابة|الجواب|إجابة|جواب|إجابتي|الحل",
    "he": "תשובה|התשובה|תשובתי",
    "fa": "پاسخ|جواب",
    "hi": "उत्तर|जवाब",
    "bn": "উত্তর",
    "ta": "பதில்|விடை",
    "nordic": "svar|svaret|vastaus|vastaukseni",
    "ro": "răspuns|răspunsul",
    "hu": "válasz|a válasz|válaszom",
    "el": "απάντηση",
    "tl": "sagot",
    "sw": "jibu",
}
ANSWER_NOUN = any_of(_ANSWER_NOUN)
_ADJECTIVE = {
    "en": "correct|right|best|true|accurate|matching|valid|final|proper|only|most likely|likeliest|fitting|suitable"
    "|appropriate|selected|chosen|preferred|most accurate|most appropriate|best matching|closest",
    "de": "richtige?r?s?|korrekte?|passende?|beste|endgültige|finale|zutreffende",
    "fr": "bonne|correcte?|exacte|juste|finale|meilleure|définitive",
    "es": "correcta|verdadera|final|mejor|adecuada|acertada|definitiva",
    "it": "corretta|giusta|esatta|finale|migliore|definitiva",
    "pt": "correta|certa|final|melhor|verdadeira|definitiva",
    "nl": "juiste|goede|correcte|beste|definitieve",
    "ru": "правильн\\w+|верн\\w+|окончательн\\w+|итогов\\w+|лучш\\w+",
    "uk": "правильн\\w+|остаточн\\w+",
    "pl": "poprawna|prawidłowa|właściwa|ostateczna|najlepsza",
    "cs": "správná|konečná",
    "tr": "doğru|nihai|en uygun",
    "vi": "đúng|chính xác|cuối cùng|đúng nhất",
    "id": "yang benar|yang tepat|benar|betul|akhir|terbaik|paling tepat",
    "ar": "الصحيحة|الصحيح|النهائية|صحيحة",
    "he": "הנכונה|הסופית",
    "fa": "صحیح|درست|نهایی",
    "hi": "सही|अंतिम",
    "nordic": "rätt|rätta|riktige?|korrekt[ae]?|slutgiltiga|oikea|lopullinen",
    "ro": "corect|corectă|finală?",
    "hu": "helyes|végső",
    "el": "σωστή|τελική|ορθή",
}
_TARGET = {
    "en": "one|option|statement|description|alternative|gesture|class|category|candidate|sentence|match|object|item"
    "|action|meaning|interpretation|relation|pose|sign|intent(?:ion)?|letter|label|activity|emotion|count|number|fit",
    "de": "aussage|option|möglichkeit|variante|geste|lösung|buchstabe",
    "fr": "proposition|option|affirmation|lettre|geste",
    "es": "opción|afirmación|alternativa|letra|gesto|etiqueta",
    "it": "opzione|affermazione|alternativa|lettera|gesto",
    "pt": "opção|afirmação|alternativa|letra",
    "nl": "optie|uitspraak|stelling|letter",
    "ru": "вариант\\w*|утверждение|буква|жест",
    "uk": "варіант",
    "pl": "opcja|wariant|stwierdzenie",
    "cs": "možnost|varianta",
    "tr": "seçenek|şık",
    "vi": "phương án|lựa chọn",
    "id": "pilihan|opsi",
    "ar": "الخيار|الاختيار",
    "he": "האפשרות",
    "fa": "گزینه",
    "hi": "विकल्प",
    "nordic": "alternativet|vaihtoehto",
    "ro": "varianta|opțiunea",
    "el": "επιλογή",
}
_COPULA = (
    "is|was|are|would be|will be|should be|must be|has to be|is therefore|is thus|is then|is hence|is indeed|is clearly"
    "|is probably|is likely|is most likely|is definitely|is still|is now|is simply|remains|becomes|seems to be|reads"
    "|appears to be|jest|és|ist|lautet|wäre|bleibt|est|serait|reste|es|sería|seria|è|é|sarebbe|is dus|luidt|to|brzmi|je|är|er|on"
    "|este|adalah|ialah|yaitu|là|είναι|היא|הוא|هي|هو|است|है|są|będzie|будет|является|є"
)
_ARTICLE = "the|a|la|el|il|le|die|das|de|het|option|opción|opção|opzione|η"
_OWN = "my|our|your|ma|mi|mein|meine|mia|la mia|il mio|minha|a minha|mijn|мой|moja|min|mitt|saya|aku|benim|मेरा"
_NOUN = ANSWER_NOUN
_ADJ = any_of(_ADJECTIVE)
_AIM = any_of(_TARGET)
_MARK = r"\s*(?:[:=→⇒]|-{1,2}>|=>|-|–)[\s\"'(\[<:]*\Z"
_UNSPACED_NOUN = (
    "(?:答案|正解|答え|解答|回答|正答|结论|結論|结果|結果|正确选项|正确答案|正確答案|正確選項|正确的选项|正确的是|正确的|选择的是|解"
    "|最佳答案|最终答案|最終答案|最終的な答え)"
)
_IS = rf"(?:{_COPULA})(?: \w+)?,?"
_ARTICLES = rf"(?: (?:{_ARTICLE}))*"
_SAID = "one|option|statement|alternative|description|sentence|proposition|aussage|opción|afirmación|opzione|opção|optie|stelling"
ANSWER_LEFT = re.compile(
    rf"{START}(?:"
    # the answer (to the question) is; the statement that fits the picture best is
    rf"(?:{_NOUN}|{_SAID})(?: [\w']+){{0,12}}? {_IS}{_ARTICLES}{LEAD}"
    # answer: / answer to the question:
    rf"|{_NOUN}(?: {_ADJ})?(?: (?:to|for|of|in|zu|auf|à|a|para|alla) [\w' ]{{1,40}})?(?: (?:{_COPULA}))?{_MARK}"
    # the correct option (for this picture is)
    rf"|(?:{_ADJ} ){{1,2}}(?:{_NOUN}|{_AIM})(?:(?: [\w']+){{0,12}}? {_IS})?{_ARTICLES}{LEAD}"
    rf"|{_ADJ} (?:{_COPULA}){_ARTICLES}(?: (?:{_NOUN}|{_AIM}))?{LEAD}"
    # my answer; jawaban saya; đáp án đúng
    rf"|(?:{_OWN}) (?:{_ADJ} )?{_NOUN}(?: {_ADJ})?{LEAD}"
    rf"|{_NOUN} (?:{_OWN})(?: (?:{_COPULA}))?{LEAD}"
    rf"|{_NOUN}(?: {_ADJ}){{1,2}}(?: (?:{_COPULA}))?{_ARTICLES}{LEAD}"
    # the gesture shown here is; label:
    rf"|{_AIM}(?: {_ADJ}| (?:shown|displayed|depicted|seen|here|visible|made|i see|in (?:the|this) \w+)"
    rf"| being(?: \w+){{1,2}}){{0,2}} {_IS}{_ARTICLES}{LEAD}"
    rf"|{_AIM}(?: {_ADJ})?{_MARK}"
    # richtig ist; correct:
    r"|(?:richtig|korrekt|zutreffend|správně|poprawnie|juist|correct|right|true|верно|правильно|doğru olan|benar|rätt)"
    rf"(?: (?:{_COPULA}))?{LEAD}"
    rf"|(?:la|el|lo|a|o|quella|die|das|the) (?:correcta|correcto|correta|corretta|giusta|certa|bonne|richtige)"
    rf"(?: (?:{_COPULA}))?{_ARTICLES}{LEAD}"
    rf"|(?:final|finale|definitiv\w*){LEAD}"
    rf")|{_UNSPACED_NOUN}(?:应该|應該|应|應|就)?(?:是|为|為|选|選|は|が|、)?(?:选项|選項|選択肢)?{LEAD}"
    rf"|(?:정답|답변|답|선택|결론)(?:은|는|이|가)?{LEAD}"
    rf"|(?:正しい|適切な)(?:の|答え|選択肢|もの|文)は{LEAD}"
    rf"|(?:คำตอบ|คำตอบที่ถูก(?:ต้อง)?|ตัวเลือกที่ถูก(?:ต้อง)?)(?:คือ)?{LEAD}"
)

_CHOOSE = {
    "en": "go(?:ing)? (?:with|for)|went with|pick(?:ed|ing)?|choos(?:e|ing)|chose|select(?:ed|ing)?|vot(?:e|ing) for"
    "|opt(?:ed|ing)? for|settl(?:e|ed|ing) (?:on|for)|say|answer|lean(?:ing)? (?:more )?(?:to|towards?|for)|bet on|tick"
    "|conclude(?: that)?(?: it(?:'s| is))?|stick(?:ing)? (?:with|to)|stop at|land(?:ed)? on|end up (?:with|at)|arrive at|take|prefer|favou?r|guess|decid(?:e|ed) (?:on|for)"
    "|marking|ticking|circling|implying|giving|which (?:is|means|gives|leaves|makes it)|respond(?: with)?|reply(?: with)?|mark|submit|commit(?:ting)? to|points? (?:clearly )?to|leads? (?:me |us )?to"
    "|leaves(?: us with| me with| only| just)?|consistent with|corresponds? to|match(?:es|ing)?|supports?|call it"
    "|it(?:'s| is| must be| has to be| should be| would be| was| can only be| could only be)(?: [a-z]+ly)?"
    "|that(?:'s| is| would be| makes it| leaves| means)|this (?:is|would be|means|makes it)|must be|should be|i mean"
    "|i meant|make that|make it|so|therefore|thus|hence|consequently|accordingly|finally|overall|only|but|rather|actually"
    "|instead|now|ultimately|in conclusion|in summary|in short|to conclude|better",
    "de": "ich (?:wähle|nehme|tippe auf|sage|entscheide mich für|würde|bleibe bei)|es ist|das ist|also|daher|somit|deshalb"
    "|demnach|folglich|sondern|vielmehr",
    "fr": "je (?:choisis|dirais|prends|penche pour|réponds|sélectionne|retiens)|j'opte pour|c'est|il s'agit de|donc|mais"
    "|plutôt|par conséquent|ainsi",
    "es": "elijo|escojo|opto por|me quedo con|me decanto por|me inclino por|elegiría|diría|es|por lo tanto|por tanto|así que|entonces|sino|pero|marco"
    "|selecciono|sino que es|en conclusión",
    "it": "scelgo|opto per|direi|quindi|dunque|ma|bensì|è|perciò|seleziono|pertanto",
    "pt": "escolho|opto pela?|fico com|portanto|logo|então|mas|mas sim|diria|marco|seleciono|assim|é",
    "nl": "ik kies(?: voor)?|ik ga voor|ik neem|dus|maar|daarom|het is",
    "ru": "я выбираю|выбираю|выберу|я бы выбрал\\w?|это|следовательно|значит|итак|поэтому|таким образом|а|но|скажу",
    "uk": "обираю|я обираю|вибираю|отже|тому|а|але|це",
    "pl": "wybieram|więc|zatem|dlatego|lecz|ale|stawiam na|zaznaczam",
    "cs": "vybírám|volím|tedy|proto|ale|je to",
    "tr": "o halde|bu yüzden|öyleyse|dolayısıyla|ama|seçimim|bence",
    "vi": "tôi chọn|chọn|vậy|do đó|vì vậy|nên|mà là|nên chọn|em chọn|đó là",
    "id": "saya (?:memilih|pilih)|memilih|pilih|jadi|maka|melainkan|tetapi|adalah|oleh karena itu|itu",
    "ar": "أختار|اختار|سأختار|إذن|إذا|لذلك|لذا|بل|وإنما|ولكن",
    "he": "אני בוחר|אני בוחרת|בוחר|לכן|לפיכך|אלא",
    "fa": "انتخاب من|بنابراین|پس|بلکه",
    "hi": "इसलिए|अतः|बल्कि|मैं",
    "nordic": "jag väljer|jag säger|jeg velger|jeg vælger|alltså|derfor|därför|utan|men|det är|det er|valitsen|siis|se on",
    "ro": "aleg|deci|prin urmare|ci",
    "hu": "választom|tehát|hanem|szerintem",
    "el": "επιλέγω|άρα|οπότε|αλλά",
}
CHOOSE_LEFT = re.compile(
    rf"{START}{any_of(_CHOOSE)}(?:,? (?:that|on|is|it's|it is|for|dass|que|che|что|że|hogy|att|at))?,?(?: (?:{_ARTICLE}))*{LEAD}"
    r"|(?:我选择?|我選擇?|选择?|選擇?|选的是|应选|應選|故选|故選|应该选|因此|所以|而是|应该是|應該是|应为|是|就是|为|答|推荐|から|ので|ため"
    r"|は|したがって|よって|つまり|ゆえに|なので|だから|따라서|그러므로|그래서|즉|ตอบ|เลือก|ดังนั้น)"
    rf"{LEAD}"
)
# Before an option's text, which may be part of any sentence, only what can not describe a scene.
CHOOSE_TEXT_LEFT = re.compile(
    rf"{START}(?:go(?:ing)? (?:with|for)|pick|choose|select|opt for|settle (?:on|for)|say|answer|conclude(?: that)?|stick with"
    r"|(?:it(?:'s| is| must be| has to be| should be)|that(?:'s| is)|this is|must be|should be)(?: (?:clearly|definitely|certainly))?"
    r"|therefore|thus|hence|consequently|finally|final|in conclusion|so|but|rather|i mean|i meant|make that|sondern|also|daher"
    rf"|donc|por lo tanto|quindi|portanto|dus)(?: that| it's| it is)?[,:]?(?: (?:the|a|an))?{LEAD}"
)
_PROBABLE = {
    "en": "probably|likely|more likely|most likely|presumably|best guess(?: is| would be)?|seems(?: to be| like)?|apparently|i'm (?:fairly|pretty) sure"
    "|i (?:think|believe|guess|suppose|suspect|reckon|assume|feel|would think)(?: that)?(?: it(?:'s| is| must be| should be))?"
    "|i'd (?:think|guess)|looks(?: most| more)? like|appears to be|inclined (?:to say|towards?|to)|chances are(?: it's)?"
    "|if i (?:had|have) to (?:guess|choose|pick|answer)(?: one)?,?|i (?:am|'m) (?:quite |fairly |pretty |almost )?(?:sure|confident)"
    "(?: that)?(?: it(?:'s| is))?",
    "de": "wahrscheinlich|vermutlich|wohl|ich (?:glaube|denke|vermute|schätze),?(?: es ist| dass)?",
    "fr": "probablement|sans doute|je (?:crois|pense|suppose)(?: que c'est| que)?|il semble que ce soit",
    "es": "probablemente|seguramente|creo que(?: es)?|supongo que(?: es)?|parece ser|diría que(?: es)?|pienso que es",
    "it": "probabilmente|credo(?: sia| che sia)?|penso(?: sia| che sia)?|direi",
    "pt": "provavelmente|acho que(?: é)?|creio que(?: seja| é)?|penso que é",
    "nl": "waarschijnlijk|vermoedelijk|ik (?:denk|geloof|gok)(?: dat het)?",
    "ru": "вероятно|скорее всего|наверное|думаю|я думаю|полагаю|похоже|видимо|кажется",
    "uk": "ймовірно|мабуть|думаю|скоріше за все",
    "pl": "prawdopodobnie|chyba|myślę|myślę, że|sądzę, że|najpewniej",
    "cs": "pravděpodobně|asi|myslím",
    "tr": "muhtemelen|sanırım|galiba|büyük olasılıkla|bence",
    "vi": "có lẽ(?: là)?|tôi nghĩ(?: là)?|chắc là|nhiều khả năng(?: là)?",
    "id": "kemungkinan(?: besar)?|sepertinya|saya (?:kira|rasa|pikir)|tampaknya",
    "ar": "غالبا|على الأرجح|أعتقد(?: أنها| أنه| أن)?|أظن",
    "he": "כנראה|אני חושב",
    "hi": "संभवतः|मुझे लगता है",
    "nordic": "troligen|förmodligen|nog|sannsynligvis|sandsynligvis|todennäköisesti|luultavasti|jag tror|jeg tror",
    "ro": "probabil|cred că(?: este)?",
    "hu": "valószínűleg|talán|azt hiszem",
    "el": "μάλλον|πιθανότατα|νομίζω",
}
PROBABLE_LEFT = re.compile(
    rf"{START}{any_of(_PROBABLE)}(?:,? (?:is|dass|que|che|что|że|hogy|att|at))?(?: (?:{_ARTICLE}))*{LEAD}"
    rf"|(?:大概是?|很可能是?|可能是?|应该是|我觉得是?|我认为是?|我猜是?|估计是?|おそらく|たぶん|多分|아마도?){LEAD}"
)
_POSSIBLE = {
    "en": "maybe|perhaps|possibly|(?:might|may|could|can)(?: well| very well)?(?: also| even)?(?: just)?(?: be)",
    "de": "vielleicht|möglicherweise|könnte(?: auch)?|eventuell",
    "fr": "peut-être|pourrait être|ça pourrait être|éventuellement",
    "es": "quizás?|tal vez|podría ser|puede ser|posiblemente",
    "it": "forse|potrebbe essere|può essere|magari",
    "pt": "talvez|pode ser|poderia ser|possivelmente",
    "nl": "misschien|mogelijk|kan zijn|wellicht",
    "ru": "возможно|может быть|может",
    "pl": "może|możliwe|być może",
    "tr": "belki|olabilir",
    "id": "mungkin|barangkali|bisa jadi",
    "vi": "có thể(?: là)?",
    "ar": "ربما|قد تكون|قد يكون",
    "hi": "शायद",
    "nordic": "kanske|måske|kanskje|ehkä",
}
POSSIBLE_LEFT = re.compile(
    rf"{START}{any_of(_POSSIBLE)}(?: also)?(?: (?:{_ARTICLE}))*{LEAD}|(?:也许是?|或许是?|もしかすると|もしかしたら|어쩌면){LEAD}"
)
_FINAL = {
    "en": "final(?:ly)?|ultimately|in conclusion|in summary|conclu\\w+|overall|real answer|therefore|thus|hence|so"
    "|consequently|correction|edit|update|revised?|corrected|actually|instead|changed? my|in the end|to sum up|in short",
    "de": "endgültig\\w*|schließlich|letztlich|korrektur|also|daher|somit|fazit",
    "fr": "finale|finalement|en conclusion|donc|définitive",
    "es": "definitiva|finalmente|por lo tanto|por tanto|así que|en conclusión|corrección",
    "it": "definitiva|quindi|in conclusione|pertanto|infine|correzione",
    "pt": "portanto|finalmente|em conclusão|correção|logo",
    "nl": "uiteindelijk|definitief|dus|correctie|conclusie",
    "ru": "окончательн\\w+|итог\\w*|следовательно|таким образом|значит|поэтому|исправление",
    "pl": "ostateczn\\w+|zatem|więc|podsumowując|poprawka",
    "other": "kết luận|vậy|kesimpulan\\w*|jadi|sonuç|dolayısıyla|إذن|لذلك|النهائية|इसलिए|अंतिम|slutligen|lopullinen",
}
FINAL_LEFT = re.compile(
    rf"{whole(_FINAL)}|最终|最終|综上|更正|修正|訂正|結論|结论|정정|최종|따라서|所以|因此|したがって|よって"
)
_CORRECTION = {
    "en": "wait|no|nope|actually|correction|edit|update|sorry|oops|scratch that|second thoughts?|second look|was wrong"
    "|i meant|i mean|my mistake|mistake|mistaken|instead|change (?:my|the)|revis\\w+|real answer|re-?consider\\w*"
    "|re-?check\\w*|re-?examin\\w*|look(?:ing)? again|look(?:ing)? closer|closer look|hold on|strike that|apolog\\w+"
    "|misread|misspoke|misjudged|however|but|rather|make that|ignore|disregard|error|on reflection|after all|hmm+",
    "de": "nein|moment|korrektur|doch|quatsch|verzeihung|halt|irrtum|falsch",
    "fr": "non|pardon|en fait|erreur|attendez|rectification|plutôt",
    "es": "perdón|corrección|espera|mejor dicho|me equivoqué|en realidad|rectifico",
    "it": "correzione|anzi|scusa|scusate|aspetta|in realtà|ripensandoci",
    "pt": "não|correção|desculpe|aliás|espere|na verdade|quer dizer",
    "nl": "nee|correctie|wacht|toch|eigenlijk",
    "ru": "нет|исправление|поправка|точнее|извините|ошиб\\w+|стоп|вернее|хотя",
    "pl": "nie|poprawka|chwila|pomyłka|jednak|przepraszam",
    "tr": "düzeltme|pardon|hayır|aslında",
    "id": "ralat|maaf|koreksi|sebenarnya|bukan",
    "vi": "xin lỗi|nhầm|đính chính|không",
}
CORRECTION = re.compile(
    rf"{whole(_CORRECTION)}|更正|不对|不對|等等|抱歉|修正|订正|訂正|いや|間違|すみません|정정|아니|잠깐|تصحيح|عفوا|सुधार|माफ"
)
RETRACTION = re.compile(
    rf"{START}(?:wait|sorry|oops|correction|scratch that|strike that|i mean|i meant|make that|my mistake|on second thoughts?"
    r"|korrektur|verzeihung|entschuldigung|nein|pardon|en fait|rectification|perdón|corrección|mejor dicho|rectifico|correzione|anzi"
    r"|scusa|scusate|desculpe|aliás|correção|quer dizer|correctie|поправка|вернее|точнее|извините|poprawka|przepraszam|düzeltme|ralat"
    rf"|koreksi|xin lỗi|đính chính){STOP}|更正|修正|订正|訂正|いや|すみません|정정|아니"
)
_TAKEN_BACK = re.compile(
    r"(?:\A|[.!?\n—;]|-)\W*(?:(?:wait|no|hmm+|actually|sorry|oops|hold on|but|however|on second thoughts?)\W+){0,3}"
    r"(?:(?:that|this|it)(?:'s| is| was| can't be| cannot be| isn't| is not)(?: not)? ?(?:wrong|incorrect|right|correct|it|a mistake|an error|true)"
    r"(?<!(?:is|'s) right)(?<!(?:is|'s) correct)(?<!(?:is|'s) true)(?<!(?:is|'s) it)"
    r"|i (?:take that back|was wrong|made a mistake|am wrong)|scratch that|strike that|my mistake)(?![^\W_])"
)


def is_taken_back(after: str) -> bool:
    """Whether the words behind an answer take it back without giving another."""
    return _TAKEN_BACK.search(after) is not None


_COLON = re.compile(r"(?P<noun>[^\s:]*)\s*(?::|=|→|⇒|->|=>)[\s\"'(\[<>]*\Z")
_OTHER_NOUN = words(
    "options choices question grade type plan vitamin group class user statements "
    "candidates alternatives joint e.g i.e says asks reads wrong incorrect rejected eliminated "
    "excluded fingers hand example examples opciones optionen antwortmöglichkeiten выборы варианты 选项 "
    "選択肢 보기"
)


def leads_with_colon(left: str) -> bool:
    """Whether a colon or an arrow right before a mention presents it."""
    found = _COLON.search(left)
    return found is not None and found["noun"].strip("\"'()[]") not in _OTHER_NOUN


_SUPERLATIVE = re.compile(
    r"\b(?:(?P<up>least|worst|lowest|ascending|increasing)|(?:most|best|highest|descending|decreasing|top))\b"
)
RANKING_LEFT = re.compile(
    r"\b(?:rank\w*|order\w*|sort\w*|from (?:most|least|best|worst|highest|lowest)|(?:most|best|highest)(?: \w+)? (?:to|first)"
    r"|least (?:likely |probable |plausible )?(?:to|first))\b(?P<rest>[^.\n]{0,80}):[\s\"'(\[<\d.)]*\Z"
)


def ranks_upwards(cue: str) -> bool:
    """Whether a ranking starts with the least likely option."""
    found = _SUPERLATIVE.search(cue)
    return found is not None and found["up"] is not None
