"""The words that joints of an answer are made of, in many languages, compiled once.

Each pattern is matched against the few words left or right of a mention, so none of them has to search far.
"""

from __future__ import annotations

import re

# --- small words around a mention -----------------------------------------------------------------------------------

OPTION_WORDS = (
    r"options?|choices?|answers?|letters?|statements?|alternatives?|candidates?|items?|numbers?|no\.|sentences?"
    r"|descriptions?|opción|la opción|opcion|opção|opcao|alternativa|letra|opzione|lettera|scelta|lettre|réponse"
    r"|proposition|choix|antwort|aussage|möglichkeit|buchstabe|antwoord|optie|keuze|letter|вариант\w*|букв\w+|пункт\w*"
    r"|ответ\w*|варіант\w*|odpowiedź|opcja|opcj[aęi]|wariant|litera|možnost|volba|seçenek|seçeneği|şık|şıkkı"
    r"|lựa chọn|đáp án|phương án|câu|pilihan|opsi|jawaban|huruf|विकल्प|उत्तर|الخيار|الحرف|الإجابة|选项|選項|選択肢|肢"
    r"|보기|선택지|ตัวเลือก|ข้อ|alternativ\w*|svar|vaihtoehto|opțiunea|varianta|válasz|επιλογή|האפשרות|תשובה|גזינה|گزینه"
)
_GLUE = re.compile(
    rf"(?:[\s\"'(\[<>*]|(?<![^\W_])(?:{OPTION_WORDS}|the|la|le|el|il|de|die|das|der|den|het|o|a|likely|probably|definitely"
    r"|certainly|clearly|surely|indeed|just|simply|still|actually|obviously|undoubtedly|again|then|therefore|thus"
    r"|sicher|wohl|sans doute|sin duda|senz'altro|zeker|точно|именно))\Z"
)
_FILLER = re.compile(
    r"[\s\"'(\[<>,:.!?-]*(?:(?:ok(?:ay)?|sure|yes|yeah|yep|right|well|h+m+|alright|of course|certainly|absolutely|great"
    r"|thanks?|thank you|good question|gladly|oui|ja|sí|si|da|да|так|tak|はい|네|예|好的|好|嗯|evet|ya|vâng|हाँ|نعم|sim|sì"
    r"|bien|gut|klar|gerne|claro|certo|certamente|конечно)\b[\s\"'(\[<>,:.!?-]*){0,3}\Z"
)

LINK = re.compile(
    r"(?:[ \"')\]*]{0,4}(?:[,/&|+~-]|\.(?= (?:and|or|und|oder|et|ou|y|o|e) ))?[ \"'(\[]{0,3}(?:(?:and/or|through|to|or also|as well as|as much as|or|and|nor|oder|und|noch|ou|et|ni|o|u|y|e"
    r"|né|oppure|of|en|или|и|либо|ни|або|чи|lub|albo|i|czy|ani|nebo|a|veya|ya da|ve|hoặc|hay|và|atau|dan|maupun|या|और"
    r"|أو|او|و|یا|eller|och|og|tai|ja|sau|și|vagy|és|ή|και|או|หรือ|และ|(?:还是|還是|或者?|或是|和|与|以及|也|跟)|(?:または|もしくは|か|と|や)"
    r"|(?:또는|혹은|이나|나|와|과|하고))(?![A-Za-z]))?"
    rf"[ \"'(\[]{{0,3}}(?:(?:{OPTION_WORDS}) ?)?[ \"'(\[]{{0,2}})"
)

_NUMBERS = {
    "first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "fifth": 5, "5th": 5,
    "sixth": 6, "6th": 6, "seventh": 7, "7th": 7, "eighth": 8, "8th": 8, "last": 0, "final": 0,
    "erste": 1, "zweite": 2, "dritte": 3, "vierte": 4, "letzte": 0, "première": 1, "premier": 1, "deuxième": 2,
    "seconde": 2, "troisième": 3, "quatrième": 4, "dernière": 0, "primera": 1, "segunda": 2, "tercera": 3, "cuarta": 4,
    "última": 0, "primeira": 1, "terceira": 3, "quarta": 4, "prima": 1, "seconda": 2, "terza": 3, "ultima": 0,
    "eerste": 1, "tweede": 2, "derde": 3, "vierde": 4, "laatste": 0, "первый": 1, "первое": 1, "второй": 2, "второе": 2,
    "третий": 3, "третье": 3, "четвертый": 4, "четвёртый": 4, "последний": 0,
    "一": 1, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "两": 2,
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
}  # fmt: skip
_ORDINAL_NOUN = (
    r"(?:one|option|statement|choice|answer|alternative|sentence|description|candidate|item|possibility|entry|claim"
    r"|aussage|option|antwort|möglichkeit|proposition|réponse|affirmation|phrase|opción|afirmación|respuesta|frase"
    r"|opção|afirmação|resposta|alternativa|opzione|affermazione|risposta|optie|uitspraak|antwoord|вариант|утверждение"
    r"|ответ)"
)
_ORDINAL_WORD = "|".join(
    word
    for word, value in _NUMBERS.items()
    if word.isascii() is False
    or word[0].isdigit()
    or word
    in [
        "first",
        "second",
        "third",
        "fourth",
        "fifth",
        "sixth",
        "seventh",
        "eighth",
        "last",
        "final",
        "erste",
        "zweite",
        "dritte",
        "vierte",
        "letzte",
        "premier",
        "seconde",
        "primera",
        "segunda",
        "tercera",
        "cuarta",
        "primeira",
        "terceira",
        "quarta",
        "prima",
        "seconda",
        "terza",
        "ultima",
        "eerste",
        "tweede",
        "derde",
        "vierde",
        "laatste",
    ]
)
ORDINAL = re.compile(
    rf"\b(?P<word>{_ORDINAL_WORD}) {_ORDINAL_NOUN}\b"
    r"|\b(?:option|choice|answer|statement|alternative|number|opción|opção|opzione|optie|вариант|antwort|réponse)"
    r" (?:number |no\.? ?|#)?#?(?P<digit>\d{1,2}|one|two|three|four|five|six|seven|eight)\b(?![.:]?\d|%| ?(?:finger|hand))"
    r"|第(?P<cjk>[一二三四五六两]|[1-8])(?:个|個|项|項|种|種|番目|の)?(?:选项|選項|选择|答案|陈述|選択肢|の選択肢|の文|番目)?"
    r"|(?P<jp>[1-8])番目?(?:の選択肢|の文)?"
    r"|(?P<ko>첫|두|세|네|다섯) ?번째 ?(?:보기|선택지|문장|것)?"
)  # fmt: skip
_KOREAN = {"첫": 1, "두": 2, "세": 3, "네": 4, "다섯": 5}


def ordinal_value(found: re.Match[str], count: int) -> int | None:
    """Index that an ordinal names, or None where it names none."""
    word = found["word"] or found["digit"] or found["cjk"] or found["jp"]
    if found["ko"]:
        return _KOREAN[found["ko"]] - 1
    value = int(word) if word.isdecimal() else _NUMBERS[word]
    return count - 1 if value == 0 and not word.isdecimal() else value - 1


# --- left of a mention ----------------------------------------------------------------------------------------------

_COPULA = (
    r"(?:is|was|are|would be|will be|should be|must be|has to be|is therefore|is thus|is then|is clearly|is probably"
    r"|is likely|is most likely|is definitely|is still|remains|becomes|seems to be|appears to be|reads|ist|lautet|wäre"
    r"|est|serait|es|sería|seria|è|é|sarebbe|is|luidt|to|brzmi|je|är|er|on|este|adalah|ialah|là|είναι|היא|הוא|هي|هو|है"
    r"|คือ|являются|является|будет)"
)
_ANSWER_NOUN = (
    r"(?:answers?|choice|solution|response|selection|verdict|conclusion|prediction|pick|guess|vote|bet|decision|result|label"
    r"|output|ans|antwort|lösung|ergebnis|réponse|reponse|choix|solution|résultat|respuesta|solución|elección|resultado"
    r"|risposta|soluzione|scelta|resposta|solução|escolha|antwoord|oplossing|keuze|ответ\w*|решение|выбор|відповідь"
    r"|odpowiedź|rozwiązanie|wybór|odpověď|odpoveď|cevap|cevabım|cevabı|yanıt|yanıtım|đáp án|câu trả lời|trả lời|jawaban"
    r"|jawabannya|jawapan|الإجابة|الاجابة|الجواب|إجابة|جواب|إجابتي|תשובה|התשובה|پاسخ|उत्तर|जवाब|উত্তর|คำตอบ|svar|svaret"
    r"|vastaus|răspuns|răspunsul|válasz|απάντηση|odgovor|отговор|sagot|jibu|பதில்|resposta correcta)"
)
_ADJECTIVE = (
    r"(?:correct|right|best|true|accurate|matching|valid|final|proper|only|most likely|likeliest|fitting|suitable|appropriate"
    r"|selected|chosen|richtige?r?s?|korrekte?|bonne|correcte|exacte|correcta|verdadera|corretta|giusta|esatta|correta"
    r"|certa|juiste|goede|correcte|правильный|правильное|верный|верное|правильна|poprawna|prawidłowa|właściwa|správná"
    r"|doğru|đúng|yang benar|betul|الصحيحة|الصحيح|सही|ที่ถูกต้อง|rätt|rätta|riktige|korrekt|oikea|corect|helyes|σωστή"
    r"|הנכונה|صحیح|درست)"
)
_TARGET = (
    r"(?:one|options?|statement|description|alternative|gesture|class|category|classification|candidate|sentence|match|object"
    r"|item|action|meaning|interpretation|relation|pose|sign|intent(?:ion)?|aussage|option|möglichkeit|proposition|opción"
    r"|afirmación|opzione|affermazione|opção|afirmação|alternativa|optie|uitspraak|вариант|утверждение|варіант|opcja"
    r"|seçenek|phương án|lựa chọn|pilihan|الخيار|विकल्प|alternativet|vaihtoehto|varianta|επιλογή)"
)
_END = r"[\s\"'(\[<]*[:=→⇒>-]*>?[\s\"'(\[<]*\Z"
_NOT_WORD = r"(?<![^\W_])"

# The answer itself: "the answer (to the question) is", "correct option:", and the same in other languages.
ANSWER_LEFT = re.compile(
    rf"{_NOT_WORD}(?:{_ANSWER_NOUN}(?: [\w']+){{0,6}}? {_COPULA}(?: [\w']+ly)?(?: (?:the|la|el|die|option|das|de|het))*{_END}"
    rf"|{_ANSWER_NOUN}(?: {_ADJECTIVE})?(?: {_COPULA})?\s*[:=→⇒>-]+[\s\"'(\[<]*\Z"
    rf"|(?:my|the|our|final|your|ma|mi|meine|mia|minha|mijn|mein|la|de|het|il|a|o|мой|moja|yang)? ?{_ADJECTIVE} (?:{_ANSWER_NOUN}|{_TARGET})"
    rf"(?: [\w']+){{0,5}}? {_COPULA}?(?: (?:the|la|el|die|das|de|het))*{_END}"
    rf"|(?:my|final|ma|mi|meine|mia|minha|mijn|мой|moja|cevabım) {_ANSWER_NOUN}(?: {_ADJECTIVE})?{_END}"
    rf"|{_ANSWER_NOUN} {_ADJECTIVE}(?: {_COPULA})?{_END}"
    rf"|{_TARGET}(?: {_ADJECTIVE}| shown| displayed| depicted| here| in (?:the|this) (?:image|picture|photo)| being \w+| being made)*"
    rf" {_COPULA}{_END}"
    rf"|{_TARGET}\s*[:=→⇒][\s\"'(\[<]*\Z"
    r"|(?:richtig|korrekt|correct|right|true|верно|правильно) (?:ist|is|wäre|est)"
    + _END
    + r"|la (?:correcta|correta|corretta|bonne|bonne réponse)(?: es| é| è| est)?"
    + _END
    + ")"
    r"|(?:答案|正解|答え|解答|回答|正答|结论|結論|正确选项|正确答案|正确的?|正确的是|正確答案|選択|解)(?:应该|應該|应|應)?"
    r"(?:是|为|為|选|は|が|、)?(?:选项|選項|選択肢)?"
    + _END
    + r"|(?:정답|답변|답|선택|결론)(?:은|는|이|가)?"
    + _END
    + r"|正しい(?:の|答え|選択肢|もの)は"
    + _END
)

# Choosing: "I'd go with", "therefore", "it is", "我选".
CHOOSE_LEFT = re.compile(
    rf"{_NOT_WORD}(?:go(?:ing)? (?:with|for)|went with|pick(?:ed|ing)?|choos(?:e|ing)|chose|select(?:ed|ing)?|vot(?:e|ing) for|opt(?:ed|ing)? for"
    r"|settl(?:e|ed|ing) (?:on|for)|say|answer|lean(?:ing)? (?:more )?(?:to|towards?|for)|bet on|conclude(?: that)?(?: it(?:'s| is))?"
    r"|stick(?:ing)? (?:with|to)|take|prefer|favou?r|guess|decid(?:e|ed) (?:on|for)|respond(?: with)?|mark|submit|commit(?:ting)? to"
    r"|points? (?:clearly )?to|leads? (?:me |us )?to|leaves(?: us with| only)?|remains|consistent with|corresponds? to|match(?:es|ing)?|supports?"
    r"|it(?:'s| is| must be| has to be| should be| would be| was| can only be)(?: [a-z]+ly)?|that(?:'s| is| would be| makes it| leaves| means)"
    r"|this (?:is|would be|means)|must be|should be|i mean|i meant|make that|make it|so|therefore|thus|hence|consequently|accordingly"
    r"|finally|final|overall|only|but|rather|actually|instead|now|final pick|final choice|is therefore|my final answer|my answer"
    r"|ich (?:wähle|nehme|tippe auf|sage|entscheide mich für)|es ist|also|daher|somit|deshalb|sondern|vielmehr"
    r"|je (?:choisis|dirais|prends|penche pour|réponds)|j'opte pour|je opte pour|c'est|il s'agit de|donc|mais|plutôt|par conséquent"
    r"|elijo|escojo|opto por|me quedo con|elegiría|diría|es la|por lo tanto|por tanto|así que|entonces|sino|pero|marco"
    r"|scelgo|opto per|direi|quindi|dunque|ma|bensì|è la|perciò"
    r"|escolho|opto pela?|fico com|portanto|logo|então|mas|mas sim|diria|marco"
    r"|ik kies(?: voor)?|ik ga voor|dus|maar|daarom"
    r"|я выбираю|выбираю|выберу|я бы выбрал|это|следовательно|значит|итак|поэтому|таким образом|а|но|обираю|отже"
    r"|wybieram|więc|zatem|to|lecz|ale|vybírám|volím|tedy|jag väljer|jag säger|alltså|valitsen|aleg|deci|választom|tehát|επιλέγω|άρα"
    r"|tôi chọn|chọn|vậy|do đó|vì vậy|mà là|nên chọn|saya (?:memilih|pilih)|memilih|pilih|jadi|maka|melainkan|tetapi|adalah"
    r"|أختار|اختار|إذن|لذلك|بل|وإنما|אני בוחר|לכן|לפיכך|seçiyorum|o halde|bu yüzden|öyleyse|ama|इसलिए|अतः|बल्कि|मैं|ตอบ|เลือก|ดังนั้น)"
    r"(?: that| on| is)?[,:]?[\s\"'(\[<]*[:=→⇒>-]*>?[\s\"'(\[<]*\Z"
    r"|(?:我选择?|我選擇?|选择?|選擇?|应选|應選|故选|故|因此|所以|而是|应该是|應該是|应为|是|就是|为|答|选的是|推荐|は|したがって|よって|つまり|ゆえに|なので|따라서|그러므로|그래서|즉)"
    r"[,:、]?[\s\"'(\[<]*[:→]?[\s\"'(\[<]*\Z"
)
# Words of bare belief: enough for one option, not against another.
PROBABLE_LEFT = re.compile(
    rf"{_NOT_WORD}(?:probably|likely|presumably|best guess(?: is)?|i (?:think|believe|guess|suppose|suspect|reckon|assume)(?: that)?(?: it(?:'s| is))?"
    r"|seems(?: to be| like)?|looks(?: most)? like|appears to be|apparently|inclined to(?: say)?|if i had to (?:guess|choose|pick)(?: one)?,?"
    r"|wahrscheinlich|vermutlich|ich (?:glaube|denke|vermute),?|probablement|sans doute|je (?:crois|pense)(?: que c'est)?|probablemente|seguramente|creo que es(?: la)?"
    r"|probabilmente|credo(?: sia)?|penso|provavelmente|acho que é(?: a)?|waarschijnlijk|ik denk|вероятно|скорее всего|наверное|думаю|prawdopodobnie|chyba|myślę"
    r"|muhtemelen|sanırım|có lẽ(?: là)?|có thể là|mungkin|kemungkinan|sepertinya|ربما|غالبا|أعتقد|शायद|संभवतः|troligen|nog|sannsynligvis)"
    r"(?: is)?[\s\"'(\[<:,]*\Z|(?:大概是?|可能是?|应该是|我觉得是?|我认为是?|おそらく|たぶん|多分|아마도?)[\s\"'(\[<:、,]*\Z"
)
POSSIBLE_LEFT = re.compile(
    rf"{_NOT_WORD}(?:maybe|perhaps|possibly|(?:might|may|could|can)(?: well)?(?: also| even)?(?: just)?(?: be)|vielleicht|möglicherweise|könnte|peut-être|pourrait être"
    r"|quizás?|tal vez|podría ser|puede ser|forse|potrebbe essere|talvez|pode ser|poderia ser|misschien|возможно|может быть|możliwe|może|belki|barangkali|bisa jadi|kanske)"
    r"(?: also)?[\s\"'(\[<:,]*\Z|(?:也许是?|或许是?|もしかすると|もしかしたら|어쩌면)[\s\"'(\[<:、,]*\Z"
)
DENY_LEFT = re.compile(
    rf"(?:{_NOT_WORD}(?:not|cannot be|never|neither|nor|no longer|ruled? out|ruling out|rules out|exclud\w+|eliminat\w+|discard\w*|reject\w*|dismiss\w*|instead of|rather than|other than"
    r"|unlike|against|over|versus|vs\.?|wrong|incorrect|false|rejected|except(?: for)?|apart from|cross(?:ed|ing)? out|avoid\w*|nicht|kein(?:e|er|es)?|weder|ausschließen|statt|anstatt|falsch|pas|n'est|ni|exclus|j'exclus|élimine|faux"
    r"|non|nè|né|escludo|scarto|descarto|excluyo|en vez de|excluo|descarto|não|niet|geen|uitgesloten|fout|не|ни|исключаю|кроме|неверно|ні|nie|ani|odrzucam|wykluczam|ne|není|inte|ikke|ej|ei|ei ole|nu|nem|δεν|όχι|לא"
    r"|không|không phải|không phải là|loại|bukan|tidak|değil|ليس|ليست|لا|غير|ما عدا|नहीं|न)"
    r"|n't|不是|不选|不選|不能选|并非|並非|而不是|而非|排除|除了|错误的是|ไม่ใช่|ไม่)"
    r"(?: (?:be|been|at all|the|an?|really|it|that|is|likely|est|es|la|el|le|die|das|è|é|ist|to|a|o|jest|on)| ?(?:"
    + OPTION_WORDS
    + r")){0,4}[\s\"'(\[<:]*\Z"
)
_DENIAL = re.compile(
    rf"{_NOT_WORD}(?:not|never|cannot|hardly|neither|nor|without|nobody|isn't|nicht|kein\w*|pas|non|nunca|não|niet|geen|не|nie|inte|ikke|không|bukan|tidak|değil|ليس|नहीं)(?![^\W_])|n't(?![^\W_])|不|没|沒"
)
_NO_DENIAL = re.compile(
    r"(?:without (?:a|any) |no |beyond |not a |not in )doubts?|not only|no question|why not|without question|not sure,? but"
)
_CLAUSE_BREAK = re.compile(
    rf"[,:;]|{_NOT_WORD}(?:but|so|therefore|thus|hence|yet|however|instead|sondern|aber|mais|donc|pero|sino|quindi|ma|mas|maar|dus|но|а|поэтому|ale|więc)(?![^\W_])|但|而是|所以|因此|ので|から"
)
CONCESSION_LEFT = re.compile(
    rf"{_NOT_WORD}(?:while|although|though|even if|despite|at first|initially|originally|previously|earlier|i first|first thought|first said|i thought|i had thought|whether|if|unless|compar\w+"
    r"|confus\w+|distract\w+|someone|some (?:people|might)|one might|you might|users?|suppose|suppos\w+|assum\w+|wants?|tempt\w+|similar to|like|says?|obwohl|zwar|wenn|ob|zuerst|bien que|même si|si|d'abord|aunque|al principio|sebbene|anche se"
    r"|embora|hoewel|хотя|если|сначала|chociaż|jeśli|meskipun|mặc dù|nếu|虽然|如果|尽管|起初|一开始)(?![A-Za-z])"
)
ALL_BUT_LEFT = re.compile(
    r"\b(?:all|every|everything|any|none|each|nothing)(?: [a-z']+){0,5} (?:except(?: for)?|but|other than|besides|apart from|save)(?: (?:for|the|option|choice|answer|statement|letter))*[\s\"'(\[<]*\Z"
)
BETWEEN_LEFT = re.compile(
    rf"{_NOT_WORD}(?:between|torn|undecided|zwischen|entre|tra|fra|tussen|между|między|arasında|antara|giữa)(?: (?:options?|choices?|the|answers?))*[\s\"'(\[<:]*\Z|在[\s\"'(\[<:]*\Z"
)
RANKING_LEFT = re.compile(r"\b(?:ranking|ranked|rank|order(?:ed|ing)?|sorted)\b(?P<rest>[^:.\n]{0,80}):[\s\"'(\[<]*\Z")
_COLON = re.compile(r"(?P<noun>[^\s:]*)\s*(?::|=|→|⇒|->|=>)[\s\"'(\[<>]*\Z")
_NOT_ANSWER_NOUN = frozenset(
    [
        "options",
        "choices",
        "confidence",
        "question",
        "grade",
        "type",
        "plan",
        "vitamin",
        "group",
        "class",
        "user",
        "statements",
        "candidates",
        "alternatives",
        "joint",
        "e.g",
        "i.e",
        "says",
        "asks",
        "reads",
    ]
)
FINAL_LEFT = re.compile(
    rf"{_NOT_WORD}(?:final(?:ly)?|ultimately|in conclusion|in summary|conclu\w+|overall|real answer|therefore|thus|hence|so|therefore|consequently|correction|edit|update|revised?|corrected|actually|instead|changed? my|in the end|to sum up"
    r"|endgültig\w*|schließlich|korrektur|finale?|finalement|en conclusion|corrección|correção|correzione|definitiva|definitivo|финальный|окончательный|итог\w*|исправление|ostateczn\w+|kết luận|kesimpulan\w*|sonuç)(?![^\W_])"
    r"|最终|最終|综上|更正|修正|訂正|結論|结论|정정|최종|따라서|所以|因此|したがって|よって"
)
CORRECTION = re.compile(
    r"\b(?:wait|no[,.!]|no no|actually|correction|edit|update|sorry|oops|scratch that|on second thoughts?|second look|i was wrong|was wrong|i meant|i mean|my mistake|mistake|mistaken|instead|change (?:my|the)|revis\w+|real answer|re-?consider\w*|re-?check\w*|re-?examin\w*|looking again|look again|looking closer|closer look|hold on|strike that|apolog\w+|misread|misspoke|however|but|rather|make that|ignore"
    r"|nein|moment|korrektur|doch|quatsch|verzeihung|non|pardon|en fait|erreur|correction|attendez|perdón|corrección|espera|mejor dicho|me equivoqué|correzione|anzi|scusa|aspetta|correção|desculpe|aliás|espere|nee|correctie|wacht|нет|исправление|поправка|точнее|извините|ошиб\w+|poprawka|chwila|pomyłka|düzeltme|pardon|hayır|ralat|maaf|koreksi|xin lỗi|nhầm|đính chính)"
    r"|更正|不对|不對|等等|抱歉|修正|订正|訂正|いや|間違|すみません|정정|아니|잠깐|تصحيح|عفوا|सुधार|माफ"
)

# --- right of a mention ---------------------------------------------------------------------------------------------

NOTHING_RIGHT = re.compile(
    r"[\s\"')\]>.,:;!…}-]*(?:(?:です|だ|だと思います|でしょう|と思います|となります|になります|を選びます|を選択します|입니다|이다|이에요|예요|이라고 생각합니다|를 선택합니다|을 선택합니다|है|हैं|होगा|'?d[ıiuü]r|olmalı|seçeneği|şıkkı|seçeneğidir|şıkkıdır|ครับ|ค่ะ|nhé|ạ|option|choice|answer|선택지|项|項)[\s\"')\].,:;!]*)?\Z"
)
_PERCENT = r"\(?(?:about |approx\.? |~|with |confidence:? )*\d{1,3}(?:\.\d+)?\s?%?(?: sure| confident| confidence| certain(?:ty)?| probability)?\)?"
EXPLAIN_RIGHT = re.compile(
    rf"[\s\"')\]]*(?:{_PERCENT}[\s.)\]]*\Z|[,(;—]|[.!] |[.-]+ |(?:because|since|as|for|due|given|based|with|where|which|holds|fits|here|in this|according|i think|i believe|judging|when looking|and (?:not|the|i|this|that|it)|but|not|rather than|instead of|over|weil|da|denn|car|parce|puisque|porque|ya que|pues|perché|poiché|pois|omdat|want|потому|так как|поскольку|bo|ponieważ|gdyż|vì|karena|sebab|çünkü|لأن|क्योंकि)(?![^\W_])|因为|因為|由于|なぜなら|왜냐하면|から)"
)
EXPLAIN_A_RIGHT = re.compile(
    rf"[\s\"')\]]*(?:{_PERCENT}[\s.)\]]*\Z|[,(;—]|[.-]+ |(?:because|since|due to|rather than|instead of|weil|denn|parce|puisque|porque|ya que|perché|poiché|omdat|потому|поскольку|ponieważ|karena|çünkü|لأن|क्योंकि)(?![^\W_])|因为|因為|由于|から)"
)
QUESTION_RIGHT = re.compile(r"[\s\"')\]]*\?")
_ADVERB = r"(?:(?:clearly|definitely|obviously|certainly|indeed|also|the|actually|really|most|more|likely|best|simply|undoubtedly|therefore|thus|surely|a|my|visibly|plainly|still|just|even) ){0,3}"
AFFIRM_RIGHT = re.compile(
    rf"[\s\"')\].,:;—–-]*(?:(?:is|are|was|seems|looks|must be|has to be|appears(?: to be)?|should be|=) {_ADVERB}(?:correct|right|true|accurate|best|answer|valid|one|only|match|choice|option|solution|pick|supported|consistent)(?! (?:side|hand|if|only if|when|about|for the first|but)\b)"
    r"|(?:match\w*|agrees?|fits?|holds?|applies|appl(?:y|ies)|stands?|remains?|wins?|corresponds|describes|works|makes sense|survives)(?: (?:is|the|best|with|true|well|up|to|what|better|here|what i see))*(?! (?:neither|no|not|only if)\b)(?![^\W_])"
    r"|(?:correct|true|yes|right|ok|valid|supported|✓|✔|✅|☑|√|👍|⭕|richtig|wahr|ja|vrai|juste|oui|correcta|correcto|verdadero|verdadera|sí|corretta|vero|sì|correta|verdadeiro|sim|juist|верно|правильно|да|prawda|tak|doğru|evet|đúng|benar|ya|صحيح|نعم|सही|हाँ)(?![^\W_]) ?(?:[\s.,;:!)\]]|\Z)"
    r"|✓|✔|✅|☑|√|👍"
    r"|ist (?:die )?(?:richtig\w*|korrekt\w*|wahr)|stimmt|trifft zu|passt|est (?:la |le )?(?:bonne|correct\w*|juste|vrai\w*|exact\w*)|convient|es (?:la |lo )?(?:correct\w+|verdader\w+|ciert\w+|adecuad\w+)|è (?:la )?(?:corrett\w+|giust\w+|esatt\w+|ver\w+)|é (?:a |o )?(?:corret\w+|cert\w+|verdadeir\w+)|está corret\w+|is (?:juist|correct|goed)|klopt|(?:-|—|это)? ?(?:верн\w+|правильн\w+)|подходит|jest (?:poprawn\w+|prawidłow\w+|prawdziw\w+)|(?:adalah )?(?:yang )?benar|là (?:đúng|đáp án đúng)|(?:seçeneği |şıkkı )?doğru|(?:هو|هي) (?:الصحيح\w*|الإجابة)|सही है"
    r"|(?:是|最|才是|选项)?(?:正确|正確|对的|對的|符合)|(?:が|は)(?:正しい|正解|適切|合って)|(?:이|가|은|는) ?(?:정답|맞|옳))"
)
DENY_RIGHT = re.compile(
    r"[\s\"')\].,:;—–-]*(?:(?:is|are|was|were|seems?|looks?|would be|can|could|does|do|did|must|should|has|have|will|would|might) {0,1}(?:clearly |definitely |also |both |all |probably |obviously |certainly |simply |likely |most |just |therefore |thus |be |to be |been |being )*(?:not|n't|never|no|wrong|incorrect|false|out|excluded|eliminated|impossible|implausible|unlikely|ruled out|invalid|inaccurate|untrue|mistaken|discarded|rejected|dismissed|contradict\w+|inconsistent|off|too|less)(?![^\W_])"
    r"|(?:isn't|aren't|wasn't|doesn't|don't|can't|cannot|couldn't|won't|wouldn't|shouldn't|hasn't|fails?|contradicts?|conflicts?|too|falls out|drops out|ruled out|eliminated|excluded|misses|gets)(?![^\W_])"
    r"|(?:wrong|incorrect|false|no|nope|untrue|invalid|out|falsch|nein|faux|non|incorrecta|incorrecto|falso|falsa|sbagliat\w|errad\w|não|fout|nee|onjuist|неверно|нет|неправильно|fałsz|nie|yanlış|hayır|sai|salah|خطأ|لا|गलत|नहीं)(?![^\W_]) ?(?:[\s.,;:!)\]]|\Z)"
    r"|✗|✘|❌|×|✖|👎|❎"
    r"|ist (?:falsch|nicht|unzutreffend|ausgeschlossen)|stimmt nicht|passt nicht|trifft nicht|scheidet aus|est (?:faux|fausse|incorrect\w*|exclu\w*|à exclure)|n'est|ne (?:convient|correspond)|(?:no es|es (?:incorrect\w+|fals\w+))|queda descartad\w|non è|è (?:sbagliat\w|errat\w|fals\w|da escludere)|não é|é (?:fals\w|errad\w|incorret\w)|está errad\w|is (?:fout|onjuist|niet)|klopt niet|(?:-|—|это)? ?(?:неверн\w+|неправильн\w+|не )|не подходит|nie jest|jest (?:błędn\w+|niepoprawn\w+|fałszyw\w+)|(?:adalah )?salah|bukan|tidak|là sai|không (?:đúng|phải)|yanlış|değil|(?:seçeneği |şıkkı )?(?:yanlış|değil)|(?:ليس|غير|خاطئ)|नहीं|गलत"
    r"|(?:是|选项)?(?:错误?|錯|不对|不對|不正确|不正確|不符)|(?:は|が)?(?:誤り|間違|正しくない|違)|では?ない|じゃない|では?ありません|(?:이|가|은|는) ?(?:아니|아닙|틀|오답))"
)
IF_RIGHT = re.compile(
    r"[\s\"')\]]*(?:says?|states?|claims?|reads|describes|mentions?|might|may|could|would)(?![^\W_])|[\s\"')\],]*(?:if|unless|when|only if|assuming|provided|otherwise|or else|falls wenn|wenn|falls|si|se|als|если|jeśli|jika|nếu)(?![^\W_])"
)
NOMINAL_RIGHT = re.compile(
    r"[\s\"')\]]{0,3}(?:hand )?(?:gestures?|signs?|poses?|signals?|hand|labels?|class|category|option|symbol|sign language|shape)(?![^\W_])[\s\"')\].,:;!]*\Z"
)

# --- whole replies --------------------------------------------------------------------------------------------------

NONE_OF_THEM = re.compile(
    r"\bnone of (?:the|these|those|them|your)(?! other| rest| remaining)(?: (?:\w+ ){0,2}?(?:options?|choices?|answers?|above|statements?|alternatives?|labels?|listed|given|candidates?|descriptions?|gestures?))?\b(?! (?:is|are) (?:impossible|wrong))|\bneither(?: one| option| statement| choice| answer| of (?:them|these|those|the (?:two|options|statements|choices|answers)))?(?: (?:is|are|seems?|fits?|appl\w+|match\w*|describes|holds|works|looks?|statement is|option is))\b|^\W*neither(?: of (?:them|these|the (?:two|above|options|statements)))?\W*$|\bno (?:option|choice|answer|statement|alternative|label)s? (?:is|are|here|in the list|fits?|match\w*|appl\w+|describes)\b|\bnot (?:in|on|among|one of|listed (?:in|among)) the (?:list|options|choices|answers|given|alternatives)|\bnone (?:apply|applies|fits?|match\w*|is correct|are correct|is right)\b|^\W*none\W*$|\b(?:isn't|aren't|not) (?:any|either) of (?:these|the|them|those)"
    r"|\bkein(?:e|er|es)? (?:der|von|dieser)|\bkeine antwort|\bweder noch\b|aucune? (?:de ces|des)|\baucune\b(?: réponse)?\W*$|ninguna? (?:de|es)|ninguna de las anteriores|nessuna? (?:de|di|delle)|nenhuma? (?:da|de|do)|\bgeen van\b|ни один|ни одно|ни одна|нет правильн|жодн\w+ з|żadn\w+ z|hiçbiri|không (?:có )?(?:đáp án|phương án|lựa chọn|câu) nào|tidak ada (?:yang|jawaban|pilihan)|bukan salah satu|لا شيء مما|ليس أي|لا أحد من|इनमें से कोई|ingen av|ingen af|ei mikään|niciun|egyik sem|κανένα"
    r"|以上都不|都不(?:是|对|對|正确|正確|符合)|没有(?:一个)?(?:正确|选项|答案)|沒有(?:正確|選項)|皆非|どれも|いずれも(?:正しくない|違)|該当なし|該当(?:する)?(?:もの|選択肢)(?:は|が)(?:ない|ありません)|정답(?:이)? 없|해당(?:하는 것이)? 없|모두 (?:아니|틀)"
)
ALL_OF_THEM = re.compile(
    r"\ball (?:of )?(?:the above|them|these|those|options|choices|answers|statements|the options|of these)\b(?! (?:except|but|wrong|is wrong|are wrong|other)| .{0,24}(?:wrong|incorrect|false|in mind|mention|one by one|carefully))|\bboth(?: of (?:them|these)| options| statements| choices| answers| are| seem| could| can)?\b(?=.{0,40}(?:correct|right|true|possible|plausible|fit|apply|valid|work|\W*$))|^\W*both\W*$|\beither (?:one|of them|option|could|is|works|way)\b|\b(?:any|either) of (?:them|these|the (?:two|options|above))\b(?=.{0,40}(?:correct|right|true|possible|plausible|fit|apply|valid|work|could|may|might|can))|\bequally (?:likely|plausible|possible|good|valid)\b|\b(?:can|could) go either way\b|\b50[/-]50\b|\b(?:two|three|several|multiple) (?:options|answers|choices|of them) (?:are|seem|could|look|fit|apply)"
    r"|\balle (?:der|antworten|optionen|oben)|\bbeide (?:antworten|sind|stimmen|optionen)|toutes les (?:réponses|options)|les deux|todas las (?:anteriores|opciones)|ambas|tutte le (?:risposte|opzioni)|entrambe|todas as (?:anteriores|opções|alternativas)|\ballebei\b|\bbeide\b|все (?:вышеперечисленн|варианты)|оба варианта|wszystkie (?:odpowiedzi|powyższe)|obie|hepsi|tất cả|cả hai|semua (?:jawaban|benar|pilihan)|keduanya|جميع ما|كلاهما|सभी|दोनों"
    r"|以上都(?:是|对|對|正确|正確)|都(?:对|對|正确|正確|有可能)|两者都|兩者都|すべて正|どちらも|両方|모두 (?:맞|정답)|둘 다"
)
UNDECIDED = re.compile(
    r"\b(?:cannot|can't|can not|unable to|not able to|hard to|difficult to|impossible to) (?:decide|choose|pick|distinguish|tell apart|settle)\b|\btoss[- ]?up\b|\bcoin flip\b"
)
REFUSAL = re.compile(
    r"\b(?:i|we)(?:'m| am|'re| are)? (?:really |very |so |terribly )?(?:sorry|afraid)\b.{0,60}\b(?:can't|cannot|can not|unable|not able|won't|don't|couldn't|not possible|impossible)\b"
    r"|\b(?:i|we) (?:simply |really |just |honestly |do |must |have to |will |would |am |currently )*(?:can't|cannot|can not|couldn't|won't|will not|am not able to|am unable to|don't|do not|am not allowed to|am not permitted to|'m not able to) (?:\w+ ){0,2}?(?:help|assist|answer|see|view|determine|tell|identify|provide|comply|process|analy[sz]e|access|say|judge|make out|discern|know|give|open|evaluate|comment|do that|do this|fulfil\w*|continue|decide|have (?:access|the ability|enough)|be able|engage|offer|perceive|look at|verify|feel comfortable|interpret|recogni[sz]e|read)\b"
    r"|\b(?:i|we)(?:'m| am|'re| are) (?:\w+ ){0,2}?(?:unable|not able|not allowed|not permitted|not in a position|incapable|not comfortable|not sure|unsure|uncertain|not certain|a (?:text|language)[\w -]{0,20}model)\b|\bnot able to (?:see|view|answer|determine|help|assist|tell)|\bunable to (?:determine|answer|see|view|tell|identify|assist|help|process|say|judge|provide|comply|decide|analy[sz]e|discern|assess|access|make)"
    r"|\b(?:must|have to|need to|will|would rather|prefer(?: to)?|i) (?:decline|refuse|abstain|pass)\b|\bdeclin\w+ to answer|\brefus\w+ to answer|\b(?:no|not) (?:image|picture|photo)s? (?:was|were|is|has been|have been|provided|attached|visible|given|found|supplied)|\b(?:image|picture|photo)s? (?:is|was|seems to be|appears to be|has|did|does|are|could)(?: not|n't)? (?:missing|be loaded|been loaded|attached|provided|load|visible|available|unavailable|come through|blank|be displayed|corrupt\w*|broken|too (?:dark|blurry|blurred|small))"
    r"|\b(?:impossible|not possible|cannot be possible|too (?:blurry|dark|blurred|unclear)|no way) (?:for me )?to (?:tell|say|determine|judge|know|see|answer|identify|decide|discern|assess)|\b(?:cannot|can't|can not|could not|couldn't) be (?:determined|seen|answered|identified|judged|assessed|inferred|verified)|\b(?:insufficient|not enough) (?:information|data|detail|evidence|visual)|\b(?:unknown|undeterminable|indeterminate|undetermined|unclear|unanswerable|inconclusive)\W*$|^\W*(?:n/a|na|no answer|unsure|not sure|refuse\w*|idk|no idea|cannot (?:tell|determine|answer|say|see)(?: \w+){0,4}|can't (?:tell|say|see)(?: \w+){0,4}|not (?:determinable|visible|applicable|clear|possible))\W*$|\bas an ai\b.{0,80}\b(?:can't|cannot|can not|unable|not able|don't|do not)\b|\b(?:against|violat\w+) (?:my|the|our) (?:polic\w+|guidelines|programming|rules|content)|\bno idea\b"
    r"|\b(?:kann|können|konnte)(?: \w+){0,6} (?:nicht|keine)\b|\bnicht in der lage\b|\bnicht (?:erkennbar|zu erkennen|möglich|beurteilen|beantworten|bestimmen)\b|\bkeine antwort geben\b|es tut mir leid|tut mir leid"
    r"|\bje ne (?:peux|suis|vois|sais|parviens)|\bimpossible (?:de|à)|\bdésolée?\b|\bje refuse\b|lo siento|\bno (?:puedo|es posible|me es posible|soy capaz|se puede|logro|veo)\b|\bmi dispiace\b|\bnon (?:posso|riesco|è possibile|sono in grado|vedo)\b|\bspiacente\b|\bdesculpe\b|\bsinto muito\b|\blamento\b|\bnão (?:posso|consigo|é possível|sou capaz|vejo|dá para)\b|\bsorry, (?:maar|but|aber)\b|\b(?:ik )?kan (?:\w+ ){0,4}?niet\b|\bhet spijt me\b|\bhelaas\b"
    r"|извините|к сожалению|\bне (?:могу|вижу|удается|удаётся|в состоянии|способен)|невозможно|вибачте|на жаль|не можу|przepraszam|przykro mi|nie (?:mogę|jestem w stanie|potrafię|widzę|da się)|omlouvám|nemohu|bohužel|üzgünüm|maalesef|(?:yapamam|edemem|göremiyorum|edemiyorum|veremem|yapamıyorum|belirleyemiyorum|mümkün değil)|xin lỗi|rất tiếc|tôi không thể|không thể (?:xác định|trả lời|nhìn|thấy|xem|biết)|maaf|saya tidak (?:dapat|bisa|mampu)|tidak (?:dapat|bisa) (?:menentukan|menjawab|melihat|membantu)|عذرا|آسف|أعتذر|لا (?:أستطيع|يمكنني|يمكن|أقدر)|क्षमा|माफ़|माफ कर|नहीं (?:कर सकता|बता सकता|देख सकता|दे सकता|कर सकती|बता सकती)|tyvärr|jag kan inte|beklager|kan ikke|valitettavasti|en voi|îmi pare rău|nu pot|sajnálom|nem tudom|λυπάμαι|δεν μπορώ|מצטער|אין באפשרותי|לא יכול|متاسفم|نمی‌توانم|ขออภัย|ขอโทษ|ไม่สามารถ"
    r"|抱歉|对不起|對不起|无法|無法|不能(?:回答|判断|判斷|确定|確定|看到|帮|幫)|看不(?:到|清|见)|不便回答|申し訳|すみませんが|ごめんなさい|できません|判断できない|わかりません|分かりません|見えません|お答えでき|죄송|할 수 없|수 없습니다|알 수 없|볼 수 없|モデルなので"
)
PERCENTAGES = re.compile(
    r"[ \"')\]:=(~-]{0,8}(?:about |approximately |is |at |with |gets |has |probability |score |confidence |of ){0,3}[\s:=(]{0,3}(\d{1,3}(?:\.\d{1,6})?|\.\d{1,6})\s?(%|percent)?(?![\d:])"
)
PERCENT_LEFT = re.compile(
    r"(?<![\d.])(\d{1,3}(?:\.\d{1,6})?|\.\d{1,6}) ?(?:%|percent) {0,3}(?:for|chance|chances|of|probability|confidence|sure|certain|likely|that|it(?:'s| is)|is|on|to|option|answer|the| )*[ \"'(\[:]*\Z"
)
YES = re.compile(
    r"[\s\"')\].]*\?[\s\"')\]]*(?:yes|yep|yeah|correct|right|true|ja|oui|sí|sì|sim|да|tak|是|对|はい|예|네|✓|✔|✅)(?![^\W_])"
)
NO = re.compile(r"[\s\"')\].]*\?[\s\"')\]]*(?:no|nope|not|wrong|false|nein|non|não|nee|нет|nie|不|いいえ|아니|✗|✘|❌)")


def strip_glue(left: str) -> str:
    """The words left of a mention without the small ones that belong to the mention ("the option")."""
    for _ in range(8):
        found = _GLUE.search(left[-24:])
        if found is None:
            break
        left = left[: len(left) - (found.end() - found.start())]
    return left


def is_filler(left: str) -> bool:
    """Whether nothing but signs and interjections stands left of a mention."""
    return _FILLER.match(left) is not None


def denies_far(left: str) -> bool:
    """Whether a denial stands somewhere left in the same clause, so that what follows is not clear."""
    clause = _NO_DENIAL.sub(" ", left)
    for found in _CLAUSE_BREAK.finditer(clause):
        clause = " " * found.end() + clause[found.end() :]
    return _DENIAL.search(clause) is not None


def concedes(left: str) -> bool:
    """Whether the clause left of a mention only weighs, quotes or supposes it."""
    start = max(left.rfind(","), left.rfind(":"), left.rfind("—"), left.rfind(" but "), left.rfind(" yet ")) + 1
    return CONCESSION_LEFT.search(left, start) is not None


def leads_with_colon(left: str) -> bool:
    """Whether a colon or an arrow right before a mention presents it."""
    found = _COLON.search(left)
    return found is not None and found["noun"].strip("\"'()[]") not in _NOT_ANSWER_NOUN
