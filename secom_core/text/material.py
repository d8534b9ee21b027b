"""What of a message its writer does not say of himself: a text to be worked on, a part in a play, a quotation.

"Translate into German: I live in Berlin." tells nobody's home. Rules for English, German, Spanish, French, Italian,
Portuguese, Chinese, Japanese and Korean; they are about an order to work on a text, and where that text stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from .kept import KEPT, Kept
from .patterns import regex
from .wording import folded_case, is_signed, signs, wording

Span = tuple[int, int]
"""Where a piece of a text begins and ends, in characters."""

_READ: Final = 3000
"""How many characters are read: an order stands before the text."""

_OPENS: Final = r"(?:^|(?<=[.!?。！？\n] )|(?<=[\n。！？]))[\W\d_]{0,12}"
"""Where a sentence begins."""

_PLEASE: Final = (
    r"(?:(?:please|hi|hello|hey|ok|okay|now|then|next|and|so|also|just|thanks|kindly|quickly|first"
    r"|(?:can|could|would|will) you|(?:i|we) (?:need|want) you to|i'd like you to|help me(?: to)?"
    r"|bitte|hallo|hi|jetzt|und|(?:kannst|könntest|würdest) du(?: bitte)?"
    r"|per favore|ciao|olá|(?:puoi|potresti|pode|poderia)"
    r"|por favor|hola|ahora|(?:puedes|podrías)|s'il te plaît|bonjour|maintenant|(?:peux|pourrais)-tu)\b[,!:]? )*"
)
_NOUN: Final = (
    r"(?:english|german|french|spanish|italian|grammar|spelling|punctuation"
    r"|(?:\w+ ){0,4}(?:sentences?|phrases?|texts?|paragraphs?|e-?mails?|mails?|letters?|messages?|essays?|translations?"
    r"|grammar|spelling|wording|english|german|french|spanish|code|function|script|story|poem|lyrics|article|draft"
    r"|quote|passage|post|dialogue|typos|mistakes))\b"
)
_LETTER: Final = (
    r"(?:letter|e-?mail|mail|message|story|tale|poem|text|post|tweet|song|essay|speech|novel|scene|dialog(?:ue)?|script"
    r"|reply|review|sentence|paragraph|chapter|monologue|diary entry|blog|caption|joke|limerick|haiku)s?"
)
_HEAD: Final = r"[^:：.!?\n]"
_COLON: Final = rf"{_HEAD}{{0,120}}[:：](?!//|\d)"
_LINE: Final = r"[:：](?!//|\d)|[.!]?[ \t]*\n"
_WORKED_ON: Final = regex(
    (
        rf"{_OPENS}{_PLEASE}(?:"
        rf"(?:translate|re-?write|re-?phrase|paraphrase|proof-?read|re-?word|summari[sz]e|transcribe|spell-?check)\b"
        rf"(?!{_HEAD}{{0,60}}\b(?:always|whenever|every)\b){_HEAD}{{0,120}}(?:{_LINE})"
        rf"|(?:correct|fix|edit|improve|polish|shorten|simplify|analy[sz]e|classify|format|convert|reply to|respond to"
        rf"|debug) (?:this|these|the following|{_NOUN}){_HEAD}{{0,80}}(?:{_LINE})"
        rf"|(?:check|review|continue|complete|finish|extend) {_NOUN}{_HEAD}{{0,80}}(?:{_LINE})"
        rf"|(?:write|draft|compose|make up|invent)\b(?!{_HEAD}{{0,40}}\b(?:cover|application|motivation)\b)"
        rf"{_HEAD}{{0,60}}\b{_LETTER}\b{_COLON}"
        rf"|(?:übersetze?|korrigiere?|lektoriere|fasse? (?!dich\b)|formuliere?)\b(?!{_HEAD}{{0,60}}\b(?:immer|stets)\b)"
        rf"{_HEAD}{{0,120}}(?:{_LINE})"
        rf"|(?:verbessere?|überarbeite|kürze)\b{_HEAD}{{0,30}}\b(?:diese\w*|folgende\w*|deutsch|englisch|text|satz|sätze"
        rf"|e-?mail|mail|brief|grammatik|aufsatz|formulierung)\b{_HEAD}{{0,80}}(?:{_LINE})"
        rf"|{_HEAD}{{0,60}}\b(?:übersetzen|korrigieren|zusammenfassen|umformulieren)\b{_COLON}"
        rf"|(?:schreibe?|verfasse?|entwirf)\b{_HEAD}{{0,60}}\b(?:briefe?|e-?mails?|nachricht|geschichte|gedicht|text|lied"
        rf"|antwort|rede|szene|dialog|satz){_COLON}"
        rf"|(?:traduce|traduzca|traducir|corrige|corregir|resum(?:e|ir) (?:est|el|l[ao])\w*|reescribe|parafrasea"
        rf"|(?:mejora|revisa) (?:est[ea]|el siguiente|mi (?:texto|frase|carta|correo|español|inglés)))"
        rf"(?!{_HEAD}{{0,60}}\bsiempre\b){_HEAD}{{0,120}}(?:{_LINE})"
        rf"|(?:escribe|redacta|compón)\w*\b{_HEAD}{{0,60}}\b(?:carta|correo|mensaje|historia|cuento|poema|texto|canción"
        rf"|respuesta|discurso|escena|diálogo|frase)\b{_COLON}"
        rf"|(?:traduci|tradurre|correggi|riassumi|riscrivi|riformula|traduza|traduz|traduzir|corrija|resuma|reescreva)\b"
        rf"(?!{_HEAD}{{0,60}}\bsempre\b){_HEAD}{{0,120}}(?:{_LINE})"
        rf"|(?:scrivi|scrivimi|escreva)\b{_HEAD}{{0,60}}\b(?:lettera|e-?mail|mail|messaggio|storia|poesia|testo|canzone"
        rf"|risposta|discorso|dialogo|frase|carta|mensagem|história|poema|texto|canção|resposta|diálogo)\b{_COLON}"
        rf"|(?:tradui[st]|traduisez|traduire|corrigez?|corriger|résumez?|résumer|réécri[st]|réécrivez|reformulez?"
        rf"|améliorez?|relis|relisez)\b(?!{_HEAD}{{0,60}}\btoujours\b){_HEAD}{{0,120}}(?:{_LINE})"
        rf"|(?:écris|écrivez|écrire|rédige[zr]?|compose)\b{_HEAD}{{0,60}}\b(?:lettre|e-?mail|mail|message|histoire|conte"
        rf"|poème|texte|chanson|réponse|discours|scène|dialogue|phrase)\b{_COLON}"
        rf"|(?:let's|let us|can we|shall we|we) (?:role-?\s?play|play|pretend)\b{_COLON}|role-?\s?play\b{_COLON}"
        rf"|(?:lass uns|wir|komm,? wir) spielen?\b{_COLON}|rollenspiel\b{_COLON}"
        rf"|(?:juguemos|vamos a jugar|jouons|on joue|jeu de rôles?)\b{_COLON}"
        rf"|(?:請|请|帮我|麻烦|帮忙)*(?:把.{{0,20}})?(?:翻译|改写|润色|修改|校对|缩写|总结|概括|续写|纠正){_COLON}"
        rf"|(?:请|帮我)*写一?[封篇首个段则].{{0,20}}{_COLON}|(?:我们|来|咱们).{{0,3}}(?:玩|扮演){_COLON}"
        rf"|{_HEAD}{{0,40}}(?:訳して|翻訳して|添削して|要約して|書き直して|直して|校正して){_HEAD}{{0,20}}(?:{_LINE})"
        rf"|{_HEAD}{{0,40}}(?:번역해|고쳐|교정해|요약해|다듬어){_HEAD}{{0,12}}(?:{_LINE})"
        r")"
    ).replace("'", "['’]"),
    re.I,
)
"""An order to work on a text, or to play a part, up to where the text begins."""
_SIGNS: Final = signs(
    """corregg|riassum|riscriv|riformul|corrij|escrev|scriv|translat|write|phras|proof|word|summari|transcri|spell|correct|fix|edit|improve|polish|shorten|simplif|check
    |continue|complete|finish|extend|analy|classify|format|convert|reply to|respond to|debug|review|draft|compose
    |make up|invent|play|pretend|übersetz|korrigier|verbesser|überarbeit|formulier|kürze|lektor|fass|schreib|verfass
    |entwirf|spiel|tradu|corrig|corregir|resum|résum|reescrib|parafras|mejora|revisa|escrib|redact|compón|jugar
    |juguemos|réécri|améliore|relis|écri|rédige|jou|jeu|译|改|润|校|总|概|续|纠|写|玩|扮|訳|添|要約|直し|書き|번역
    |고쳐|교정|요약|다듬"""
)
_BEFORE_IT: Final = (":", "：", "\n")
"""One of these stands before a text to be worked on."""

_SUPPOSED: Final = regex(
    (
        rf"{_OPENS}{_PLEASE}(?:"
        r"(?:pretend|imagine|suppose|assume|let's (?:say|assume|imagine|pretend))(?: that)? (?:i|we|my|our|you)\b"
        r"|angenommen,? (?:ich|wir)|(?:nehmen wir an|tu so|tun wir so),? .{0,12}(?:ich|wir)\b"
        r"|(?:imagina|supongamos|supón|finge|imaginemos|suponha|finja) que"
        r"|(?:immagina|supponiamo|fingi) che|(?:imagine|imaginons|supposons|suppose|admettons) qu(?:e|')"
        r"|(?:fais|faisons) comme si|(?:假设|假如|假装|假定|想象一?下?).{0,4}我|仮に.{0,4}(?:私|僕|俺)"
        r")[^.!?。！？\n]*"
    ).replace("'", "['’]"),
    re.I,
)
"""What is to be taken for so, to the end of its sentence."""
_SUPPOSING: Final = signs(
    """pretend|imagin|suppose|assume|let's say|let’s say|angenommen|nehmen wir|tu so|tun wir|supon|supón|finge|comme si
    |supposons|admett|suponha|finja|immagin|supponiam|fingi|假|想象|仮に"""
)

_BLANK_LINE: Final = regex(r"\n[ \t]*\n")

_TO_ITS_END: Final = r"(?:(?!\b(?:because|since|but|then|weil|denn|aber|porque|pero|parce|mais)\b)[^,;:.!?\n—–])*"
_IF: Final = regex(
    rf"\b(?:if|whether|unless|in\s+case|as\s+though)\s+(?:I|we)\b{_TO_ITS_END}|\b(?:wenn|falls|ob)\s+(?:ich|wir)\b{_TO_ITS_END}"
    rf"|\bse\s+(?:io\b|eu\b|vivo\b|abito\b|moro\b|mi\s|me\s){_TO_ITS_END}|\bsi\s+(?:yo\b|vivo\b|vivimos\b|trabajo\b|me\s|j['’]|je\b|nous\b){_TO_ITS_END}"
    "|(?:如果|要是|假如|假使|倘若)我[^，。；！？\n]*|もし(?:私|僕|俺)[^、。！？\n]*",
    re.I,
)
_QUOTES: Final = regex(
    r"“[^”\n]{2,400}”|„[^“”\n]{2,400}[“”]|«[^»\n]{2,400}»|\"[^\"\n]{2,400}\"|「[^」\n]{2,400}」|『[^』\n]{2,400}』"
    r"|(?:^|(?<=[:：,(] )|(?<=[:：(])|(?<=said )|(?<=says )|(?<=wrote )|(?<=writes ))['‘]\w[^\n]{1,400}?['’](?!\w)"
)
"""What somebody else says, and names of things."""
_QUOTED: Final = tuple("“„«\"「『'‘")
_CODE: Final = regex(
    r"(?m:^[ \t]*>[^\n]*)|```.*?(?:```|\Z)|`[^`\n]+`|(?m:^[ \t]*(?:def|class|function|fn|func) \w+[^\n]*)", re.S
)
"""What was pasted."""
_WROTE: Final = regex(
    r"(?<!\bI\s)\b(?:wrote|writes|texted|schrieb|schreibt|escribió|escribe|écrit)\b[^.!?:\n]{0,30}:\s[^\n]*", re.I
)
_FIGURATIVE: Final = wording(
    r"""
    liv(?:e|ing) in (?:constant |mortal |eternal )?(?-i:fear|hope|denial|peace|harmony|awe|dread|terror|doubt|poverty)
    liv(?:e|ing) in (?:a|the) (?-i:dream|bubble|nightmare|moment|past|present|now|clouds|future|hope)
    liv(?:e|ing) for (?!now\b|the (?:moment|time)|a (?:while|year|month)|\w+ (?:years|months|weeks))
    moved? (?:on )?to (?!an? )(?:\w+ ){0,3}(?:chapter|level|page|step|question|topic|subject|stage|section|exercise)
    moved? (?:on )?to (?!an? )(?:\w+ ){0,3}(?:episode|season|round|task|slide|item|unit|lesson|volume|paragraph|phase)
    my name is mud|lebe in (?-i:[Aa]ngst|[Ff]rieden|[Ff]urcht)
    vivo (?:con|en) (?:miedo|paz)|vis dans la (?:peur|crainte)
    """
)
"""What is said of oneself in so many words, and means no home, job or name."""
_FICTION: Final = regex(
    r"[^.!?\n]{0,200}\bin\s(?:(?:the|my|this|our)\s(?:story|novel|role-?play|rp|dream|screenplay|fanfic|campaign)"
    r"|(?:this|our)\sgame)(?=\s*(?:$|[.,;:!?\n]|(?:that|which|I|my|we|our|you|your)\b))[^.!?\n]*",
    re.I,
)
_UNMEANT: Final = (
    (signs("`|>|def |class |function |fn |func "), _CODE),
    (signs("if|whether|unless|in case|as though|wenn|falls|ob |si |se |如果|要是|假如|假使|倘若|もし"), _IF),
    (signs("wr|texted|schr|escrib|écrit"), _WROTE),
    (signs("liv|move|mud|leb|viv|vis "), _FIGURATIVE),
    (signs("story|novel|play|dream|rp|fanfic|campaign|game"), _FICTION),
)


def _given_in(text: str) -> tuple[Span, ...]:
    folded = folded_case(text)
    is_ordered = is_signed(folded, _BEFORE_IT) and is_signed(folded, _SIGNS)
    is_supposed = is_signed(folded, _SUPPOSING)
    return (*(_worked_on(text) if is_ordered else ()), *(_spans(_SUPPOSED, text) if is_supposed else ()))


def _worked_on(text: str) -> Iterator[Span]:
    at = 0
    while (found := _WORKED_ON.search(text, at)) is not None:
        at = _end_of(text, found.end())
        yield found.end(), at


def _end_of(text: str, start: int) -> int:
    """Where a text ends that begins here: behind its paragraph, or with all where it begins on a line of its own."""
    rest = text[start:]
    begun = start + len(rest) - len(rest.lstrip())
    if "\n" in text[start - 1 : begun]:
        return len(text)
    end = _BLANK_LINE.search(text, begun)
    return end.start() if end else len(text)


given_spans: Final[Kept[str, tuple[Span, ...]]] = Kept(_given_in, characters=KEPT)
"""Where in a text its writer gives a text to be worked on, plays a part, or supposes: nothing there is so."""


def without_given(text: str) -> str:
    """The text with blanks for what is given to be worked on, played or supposed; everything else stays in place."""
    return _blanked(text, given_spans(text))


def is_within_given(text: str, start: int) -> bool:
    """Whether a place far in a text is in one that was given at its beginning and goes on to the end."""
    read = text[:_READ]
    return any(first <= start and (start < stop or stop == len(read)) for first, stop in given_spans(read))


def meant(text: str) -> str:
    """The text with blanks for what its writer does not mean of himself: quotations and conditions too."""
    text = without_given(text)
    if is_signed(text, _QUOTED):
        # What is in quotes from its beginning to its end was written down so by whoever noted it.
        text = _blanked(text, [span for span in _spans(_QUOTES, text) if span != (0, len(text))])
    folded = folded_case(text)
    for signs_of_it, rule in _UNMEANT:
        if is_signed(folded, signs_of_it):
            text = _blanked(text, _spans(rule, text))
    return text


def _spans(rule: re.Pattern[str], text: str) -> list[Span]:
    return [each.span() for each in rule.finditer(text)]


def _blanked(text: str, spans: Iterable[Span]) -> str:
    for start, stop in spans:
        text = text[:start] + " " * (stop - start) + text[stop:]
    return text
