"""What a mail repeats of the one that it answers, as programs for mail write it in many languages."""

from __future__ import annotations

from typing import Final

from ..text.patterns import regex

_VERB: Final = r"\b(?:wrote|schrieb|a écrit|escribió|escreveu|schreef|ha scritto|skrev)\b"
_BEGIN: Final = rf"^(?:On|Am|Le|El|Em|Op|Il|Den)\b(?=[^\n]*\d)(?=[^\n]*(?:\n[^\n]*@[^\n]*)?{_VERB})"
_INTRODUCED: Final = (
    # On one line, or on two where a long address does not fit; the day tells it from "On Friday she wrote to me:".
    rf"{_BEGIN}(?:[^\n]{{5,300}}[:：]|[^\n]{{5,200}}\n(?=[^\n]*@)[^>\n][^\n]{{0,200}}[:：])[ \t]*$"
)
_ADDRESSED: Final = r"^[^\n<>]{0,200}<\n?[^<>\s]{1,100}@[^<>\s]{1,100}>\n?[^\n<>]{0,40}[:：][ \t]*$"
_BEFORE_QUOTE: Final = regex(rf"(?m)(?:{_INTRODUCED}|{_ADDRESSED})(?=\s*^>)")
"""``On 2 May 2024, Ann <ann@x.org> wrote:``, in any language where an address stands in it, before quoted lines."""

_FROM: Final = "From|Von|De|Van|Da|Från|Fra|Od|От|Kimden|差出人|发件人|寄件者|보낸 사람"
_SENT: Final = (
    "Sent|Date|Gesendet|Datum|Envoyé|Enviad[oa](?: el| em)?|Fecha|Data|Verzonden|Inviato|Skickat|Sendt|Wysłano|"
    "Отправлено|Дата|Gönderme Tarihi|送信日時|发送时间|寄件日期|보낸 날짜"
)
_SUBJECT: Final = "Subject|Betreff|Objet|Asunto|Assunto|Onderwerp|Oggetto|Ämne|Emne|Temat|Тема|Konu|件名|主题|主旨|제목"
_REPEATED: Final = regex(
    rf"(?m){_INTRODUCED}|^-{{3,}}[ \t]*(?:Original Message|Ursprüngliche Nachricht|Forwarded message)[^\n]{{0,40}}$|"
    rf"^(?:_{{5,}}\s+)?\W{{0,3}}(?:{_FROM})\s?[:：][^\n]*\n(?:[^\n]*\n){{0,2}}?\W{{0,3}}(?:{_SENT})\s?[:：][^\n]*\n"
    rf"(?:[^\n]*\n){{0,4}}?\W{{0,3}}(?:{_SUBJECT})\s?[:：]|^-- $"
)
"""Behind it stands nothing but the earlier mail, with no mark on its lines, or a signature."""


def own_words(text: str) -> str:
    """The text of a mail without the mail that it answers, wherever the answer stands, and without a signature."""
    answered = _BEFORE_QUOTE.sub("", text.replace("\r\n", "\n"))
    repeated = _REPEATED.search(answered)
    lines = (answered[: repeated.start()] if repeated else answered).split("\n")
    return "\n".join(line.rstrip() for line in lines if not line.startswith(">")).strip()
