"""What people say without saying anything, and the small words that turn a meaning round, in many languages."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["FILLERS", "FILLER_PHRASES", "FILLER_RUN", "NEGATIONS", "NEGATION_CHARACTERS", "TIMES"]

FILLERS: Final = frozenset(
    """
    ah aha ahh alright aw aww bye cheers congrats eh ehm er erm goodbye goodnight haha hahaha hehe hello hey hi hiya
    hm hmm hmmm huh lol mhm mm mmm oh ohh ok okay oops ooh oof phew please pls thank thanks thx uh uhm um umm whoa wow
    yay yeah yep yup yikes
    danke hallo tschüss tschüs ähm äh bitte servus naja
    bonjour bonsoir coucou euh merci salut
    hola gracias adiós vale
    ciao grazie buongiorno buonasera arrivederci prego
    olá oi obrigado obrigada tchau
    bedankt dank doei hoi
    hej tack hejdå tak takk kiitos moi hei szia köszönöm bună mulțumesc merhaba teşekkürler selam
    привет здравствуйте спасибо пожалуйста ага ой ну
    γεια ευχαριστώ
    مرحبا شكرا
    नमस्ते धन्यवाद
    안녕 안녕하세요 감사합니다 고마워요 고마워 네 음 어 와
    """.split()
)
"""Greetings, thanks and sounds, one word each, lower-cased."""

FILLER_PHRASES: Final = frozenset(
    tuple(phrase.split())
    for phrase in """
    thank you; thank you so much; thank you very much; thanks so much; thanks a lot; good morning; good afternoon
    good evening; good night; how are you; how are you doing; how's it going; what's up; nice to meet you
    you're welcome; you know; i mean; see you; see you soon; see you later; talk to you later; take care; by the way
    no problem; of course; no worries
    guten morgen; guten tag; guten abend; auf wiedersehen; vielen dank
    s'il vous plaît; s'il te plaît; au revoir; de rien; ça va
    por favor; buenos días; buenas tardes; buenas noches; muchas gracias; de nada; hasta luego; qué tal
    per favore; come stai; bom dia; boa tarde; boa noite; tudo bem; alsjeblieft dank
    доброе утро; добрый день; добрый вечер; как дела; до свидания
    """.replace("\n", ";").split(";")
    if phrase.strip()
)
"""The same, several words each."""

FILLER_RUN: Final = re.compile(
    "(?:你好|您好|大家好|早上好|晚上好|晚安|谢谢(?:你|您)?|謝謝(?:你|您)?|多谢|不客气|再见|再見|拜拜|好的|好呀|好吧|对对|是的"
    "|嗯|哦|噢|啊|呃|哎|唉|喂|哈|嘿|呵"
    "|こんにちは|こんばんは|おはよう(?:ございます)?|ありがとう(?:ございます|ございました)?|どうも|さようなら|またね"
    "|よろしくお願いします|お願いします|えっと|ええと|えーと|あの|うん|はい|ええ|へえ|わあ)+"
)
"""A run of Chinese or Japanese that is a greeting or a sound as a whole."""

NEGATIONS: Final = frozenset(
    """
    no not never none nothing nobody nowhere neither nor without cannot nope hardly barely
    nicht kein keine keinen keinem keiner keines nie niemals nichts niemand ohne nein
    ne n' pas jamais rien aucun aucune sans non
    nunca nada nadie ningún ninguna ninguno sin jamás tampoco
    mai niente nulla nessuno nessuna senza
    não ninguém nenhum nenhuma sem
    niet geen nooit niets niemand zonder nee
    inte aldrig ingen inget inga utan ikke ikkje aldri intet uden uten
    ei eivät älä ilman
    nem ne soha semmi senki nélkül
    nu niciodată nimic nimeni fără
    değil yok hayır hiç asla
    не нет ни никогда ничего никто без
    δεν μην μη όχι ποτέ τίποτα χωρίς
    لا ليس لم لن ما بدون
    नहीं मत न बिना
    """.split()
)
"""Words that turn a meaning round, lower-cased."""

NEGATION_CHARACTERS: Final = re.compile("[不没沒無无未非别莫勿]|ない|なかっ|ません|[ずぬ]$|^안$|^못|않|없|아니|ไม่")
"""The same inside a run of Chinese, Japanese, Korean or Thai."""

TIMES: Final = frozenset(
    """
    today yesterday tomorrow tonight morning afternoon evening noon midnight weekend week month year ago last next
    before after until since once twice first second third
    one two three four five six seven eight nine ten eleven twelve dozen hundred thousand million half
    monday tuesday wednesday thursday friday saturday sunday
    january february march april may june july august september october november december
    heute gestern morgen vor woche monat jahr montag dienstag mittwoch donnerstag freitag samstag sonntag
    aujourd'hui hier demain semaine mois an ans lundi mardi mercredi jeudi vendredi samedi dimanche
    janvier février mars avril mai juin juillet août septembre octobre novembre décembre
    hoy ayer mañana semana mes año años hace lunes martes miércoles jueves viernes sábado domingo
    enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
    oggi ieri domani settimana mese anno fa lunedì martedì mercoledì giovedì venerdì sabato domenica
    hoje ontem amanhã ano anos segunda terça quarta quinta sexta
    vandaag gisteren morgen maandag dinsdag woensdag donderdag vrijdag zaterdag zondag
    сегодня вчера завтра назад неделя месяц год понедельник вторник среда четверг пятница суббота воскресенье
    오늘 어제 내일 작년 올해
    """.split()
)
"""Days, months, small numbers and the words that place an event in time, lower-cased."""
