"""Times of a question in more languages, put in English words, which the rules for English read.

"Что я делал на прошлой неделе?" becomes "Что я делал did I last week?": nothing but the days is read from it. The words
of each language are a paragraph of `day_words.txt`, read when a question in that language is first met.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

from .dates import LONGEST_QUESTION, MONTHS
from .patterns import regex
from .word_lists import word_lists
from .wording import folded_case, is_signed

_BLOCKS: Final = {0x06: "arabic", 0x09: "hindi", 0x0E: "thai"}
"""The language of the characters of a block of 256, for scripts of which one language is read."""

_RUSSIAN: Final = tuple("ыэъё")
_UKRAINIAN: Final = tuple("іїєґ")
"""Letters of which the other language has none."""
_SIGNS: Final = {
    language: tuple(folded_case(listed).split("|"))
    for language, listed in {
        "polish": (
            "temu|wczoraj|dziś|dzisiaj|jutr|zeszł|ubiegł|ostatni|niedawn|stycz|lutego|lutym|luty|marca|marcu"
            "|marcem|marzec|kwie|maja|maju|majem|czerw|lipca|lipcu|lipiec|sierp|wrze|paźdz|listopad|grudni"
            "|grudzień|wiosn|latem|lecie|jesie|zimą|zimie|w weekend|tym tyg|przyszł|następn|poprzedni|poniedział"
            "|wtor|środ|czwart|piąt|sobot|niedziel"
        ),
        "czech": (
            "včera|předevč| dnes|zítra|pozítří|minul|příští| loni|vloni|loňsk|letos|před |víkend|leden|lednu"
            "|ledna|únor|břez|dubn|duben|květ|červ|srpn|srpen|září|říj|listopad|prosin|ponděl|úter|střed|čtvrt"
            "|pát|sobot|neděl|jaře|létě|podzim|zimě|nedávn|poslední|tento"
        ),
        "turkish": (
            "önce| dün|bugün|yarın|geçen|gelecek|önümüzdeki|haftaya|bu hafta|hafta sonu|bu ay|bu yıl|bu sene|öbür"
            "|evvel|ocak|şubat|mart'|mart’|martta| mart |nisan|mayıs|haziran|temmuz|ağustos|eylül|ekim|kasım"
            "|aralık|yazın|kışın|günü|zamanlarda|yakınlarda|son bir|son iki|son üç|son dört|son beş|son altı"
            "|son on|son birkaç|son 1|son 2|son 3|son 4|son 5|son 6"
        ),
        "dutch": (
            "geleden| gister|vandaag|overmorgen|vorig|afgelopen|volgende|komende|deze week|deze maand|dit jaar"
            "|sinds|het weekend|dit weekend|januari|februari|maart| mei | mei?|juni|juli|augustus|oktober| lente"
            "|zomer|herfst|in de winter|onlangs|laatst|maandag|dinsdag|woensdag|donderdag|vrijdag|zaterdag|zondag"
        ),
        "swedish": (
            "för |förrgår|i går|igår|i dag|idag|övermorgon|i morgon|imorgon|förra|nästa|i fjol|i år|helgen|denna"
            "|den här|måndag|tisdag|onsdag|torsdag|fredag|lördag|söndag|våras|somras|höstas|vintras|januari"
            "|februari| mars| maj | maj?|juni|juli|augusti|oktober| i april| i september| i november| i december"
            "|sommar|vintern|våren|hösten|mellan |början| i mitten|slutet|senaste|nyligen|sistone|sedan april"
        ),
        "italian": (
            "settiman|giorni fa|mesi fa|anni fa|mese fa|anno fa|giorno fa|domani|scors|l'ultim|l’ultim|ultimi "
            "|ultime |ultimamente|di recente|recentemente|passat|prossim|nel fine|il fine|questo fine|nel weekend"
            "|gennaio|febbraio|marzo|aprile|maggio|giugno|luglio|agosto|settembre|ottobre|novembre|dicembre"
            "|in estate|d'estate|d’estate|l'estate|l’estate|autunno|inverno|in primavera"
        ),
        "portuguese": (
            "há |faz |atrás|amanhã|passad|últim|próxim|que vem|fim de semana|janeiro|fevereiro|março|abril|maio"
            "|junho|julho|agosto|setembro|outubro|novembro|dezembro|verão|outono|inverno|na primavera|na segunda"
            "|na terça|na quarta|na quinta|na sexta|meio ano|recentemente|ultimamente"
        ),
        "vietnamese": "trước|hôm|tối qua|vừa qua|ngày|tháng|tuần|năm|thứ|chủ nhật|mùa|gần đây|dạo này|vừa rồi|đêm",
        "indonesian": (
            "lalu|kemarin|besok|hari ini|hari senin|hari selasa|hari rabu|hari kamis|hari jumat|hari sabtu"
            "|hari minggu|minggu|pekan| bulan|sebulan| tahun|setahun|sejak|semalam|tadi malam|terakhir|belakangan"
            "|baru-baru|akhir-akhir| lusa|pada |maret|januari|februari|agustus|oktober|desember"
        ),
    }.items()
}
"""What stands in whatever is read, one of it at least, in the languages that are written in Latin letters."""

_EDGES: Final = {
    "hindi": (r"(?<![\w\u0900-\u0963])", r"(?![\w\u0900-\u0963])"),
    "thai": (r"(?<!\d)", r"(?!\d)"),
    "arabic": (r"(?<!\w)[وف]?", r"(?!\w)"),
    # "in Juli's house" is English.
    "dutch": (r"(?<!\w)", r"(?!['’]?\w)"),
}
_WEEKDAYS: Final = tuple("Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split())
_ENGLISH: Final = {
    "month": MONTHS["english"],
    "weekday": _WEEKDAYS,
    "season": ("spring", "summer", "autumn", "winter"),
    "unit": ("day", "week", "month", "year"),
    "count": tuple(map(str, range(1, 13))),
}
"""What the words of each line of the file are in English, in their order."""

_LINES: Final = {"month": "months", "weekday": "weekdays", "season": "seasons", "unit": "units", "count": "numbers"}
_PLACE: Final = re.compile(r"\{(\w+?)(2?)\}")
ASKED: Final = "did I "
"""Stands before a time of a question about what was, so that the rules for English see that it is one."""

_AGAIN: Final = "x"
"""Stands behind the name of a group that an alternative of the same line has too."""

_RECENTLY: Final = "recently"
_ASKS_WHEN: Final = regex(
    r"(?<!\w)(?:когда|коли|kiedy|kdy|ne\szaman|متى|wanneer|när|quando|khi\snào|bao\sgiờ|kapan)(?!\w)", re.I
)
"""What asks for a time, which is not told with it: "Kiedy ostatnio byłem u dentysty?" asks for the last time of all."""

_BUDDHIST: Final = 2400, 543
"""From which year on the years of Thailand are meant, and how far they are ahead."""


class _Language(NamedTuple):
    """How the times of a language are read.

    Args:
        times: an alternative for each time, in a group with a number.
        in_english: what each is in English, and whether it is one only where the question is about what was.
        words: finds which of the words of each kind it is.
        is_of_the_past: finds what asks for what was.
    """

    times: re.Pattern[str]
    in_english: tuple[tuple[str, bool], ...]
    words: dict[str, re.Pattern[str]]
    is_of_the_past: re.Pattern[str]


def days_in_english(text: str) -> str:
    """The question with its times in English words, where it is in one of these languages.

    Args:
        text: the question.
    """
    if len(text) > LONGEST_QUESTION:
        return text
    languages = [_read(language) for language in _languages(text)]
    is_past = any(language.is_of_the_past.search(text) for language in languages)
    for language in languages:
        text = _put(text, language, is_past)
    return text


def _languages(text: str) -> list[str]:
    folded = f" {folded_case(text)} "
    found = [language for language, listed in _SIGNS.items() if is_signed(folded, listed)]
    if not text.isascii():
        blocks = {ord(letter) >> 8 for letter in text}
        found += [language for block, language in _BLOCKS.items() if block in blocks]
        if 0x04 in blocks and not is_signed(folded, _RUSSIAN):
            found.append("ukrainian")
        if 0x04 in blocks and not is_signed(folded, _UKRAINIAN):
            found.append("russian")
    return found


def _put(text: str, language: _Language, is_past: bool) -> str:
    asks_when = _ASKS_WHEN.search(text) is not None

    def english(match: re.Match[str]) -> str:
        at = int((match.lastgroup or "_0").rpartition("_")[2])
        told, only_past = language.in_english[at]
        parts = {name.rstrip(_AGAIN): found for name, found in match.groupdict().items() if found}
        if (only_past and not is_past) or (asks_when and told == _RECENTLY):
            return match[0]
        filled = _PLACE.sub(lambda place: _word(language, place[1], parts.get(f"{place[1]}{place[2]}_{at}")), told)
        return f" {ASKED if is_past else ''}{' '.join(filled.split())} "

    return language.times.sub(english, text)


def _word(language: _Language, kind: str, word: str | None) -> str:
    """A word that was found, in English; nothing where it is missing, as the year mostly is."""
    if word is None:
        return ""
    if word.isdecimal():
        number = int(word)
        return str(number - _BUDDHIST[1] if kind == "year" and number > _BUDDHIST[0] else number)
    found = language.words[kind.rstrip("2")].fullmatch(word)
    return _ENGLISH[kind.rstrip("2")][int((found.lastgroup or "_0")[1:])] if found else ""


@cache
def _paragraphs() -> dict[str, str]:
    return word_lists(__package__, "day_words.txt")


@cache
def _read(name: str) -> _Language:
    lines = _paragraphs()[name].strip().splitlines()
    listed = dict(line.split(": ", 1) for line in lines[:6])
    words = {kind: listed[line].split() for kind, line in _LINES.items()}
    # The longest number first: "eleven" begins as "ten" does where no space stands between words.
    places = {kind: "|".join(reversed(each)) for kind, each in words.items()} | {"day": r"\d\d?", "year": r"\d{4}"}
    places["count"] += r"|\d{1,3}"
    opens, closes = _EDGES.get(name, (r"(?<!\w)", r"(?!\w)"))
    patterns, in_english = [], []
    for at, line in enumerate(lines[6:]):
        pattern, told = line.removeprefix("!").rsplit(" = ", 1)
        in_english.append((told, line.startswith("!")))
        patterns.append(rf"(?P<t_{at}>{opens}(?:{_expression(pattern, places, at)}){closes})")
    return _Language(
        re.compile("|".join(patterns), re.I),
        tuple(in_english),
        {
            kind: re.compile("|".join(f"(?P<n{n}>{w})" for n, w in enumerate(each)), re.I)
            for kind, each in words.items()
        },
        re.compile(listed["past"].replace(" ", r"\s+"), re.I),
    )


def _expression(pattern: str, places: dict[str, str], at: int) -> str:
    """A line of the file as a regular expression, with a group for each of its places; alternatives repeat them."""
    seen: list[str] = []

    def group(place: re.Match[str]) -> str:
        name = f"{place[1]}{place[2]}_{at}"
        seen.append(name)
        return f"(?P<{name}{_AGAIN * (seen.count(name) - 1)}>{places[place[1]]})"

    spaced = pattern.replace(" ?", r"\s*").replace(" ", r"\s+")
    return _PLACE.sub(group, spaced)
