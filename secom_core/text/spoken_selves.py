"""How somebody tells a name or an age aloud, or types it in a hurry: without a capital, and the number in words.

Lines as `secom_core.text.wording.wording` reads them. Without a capital, "I'm tired" looks like "I'm Katrin": a name
takes a greeting before it, or "by the way" behind it.
"""

from __future__ import annotations

from typing import Final

_SOUND: Final = r"(?:(?:um+|uh+|ähm?|eh|so|yeah|and|also|pues|there|everyone|again),? )*"
_NO_NAME: Final = (
    r"(?!(?:ok|okay|sure|fine|good|great|happy|sad|sorry|done|ready|back|here|there|not|no|so|glad|tired|sick|ill|busy"
    r"|bored|lost|confused|afraid|curious|home|well|all|better|stuck|late|early|free|hungry|cold|hot|alone|serious"
    r"|right|wrong|awake|new|just|also|still|the|a|an|my|your|in|on|at|from|about|for|with|very|really|pretty|vegan"
    r"|vegetarian|pregnant|single|married|diabetic|allergic|important|urgent|great|awesome|amazing|it|that|what"
    r"|engaged|divorced|retired|german|american|french|dutch|belgian|swiss|greek|indian|\w+(?:ish|ese|ican|alian))\b)"
    r"(?!\w+ing\b)"
)
_NO_CALL: Final = (
    r"(?!(?:back|later|now|today|tomorrow|tonight|any ?time|whenever|when|if|by|on|at|in|an?|the|my|your|that|this|old"
    r"|crazy|weird|whatever|anything|names|lazy|stupid|again|out|up|maybe|please)\b)"
)
_NO_NAME_DE: Final = (
    r"(?!(?:müde|krank|neu|hier|da|wieder|zurück|fertig|bereit|nicht|sehr|so|gerade|auf|in|im|am|an|bei|zu|mit|ein"
    r"|eine|vegan\w*|vegetari\w*|allergisch|diabetiker\w*|schwanger|froh|traurig|sauer|satt|spät|schon|noch|jetzt"
    r"|heute|meinung|ansicht|erste|letzte|neue|chefin?|mutter|vater|frau|mann)\b)"
)
_NO_NAME_ES: Final = (
    r"(?!(?:yo|un|una|el|la|de|del|muy|alérgic\w*|vegan\w*|vegetarian\w*|celíac\w*|diabétic\w*|nuev\w*|médic\w*"
    r"|enfermer\w*|profesor\w*|estudiante|abogad\w*)\b)"
)
_NAME: Final = r"[^\W\d_]{2,}"
_HI: Final = rf"(?:hi|hello|hey|good (?:morning|afternoon|evening)),? {_SOUND}"
_HALLO: Final = rf"(?:hallo|hi|hey|moin|servus|guten (?:tag|morgen|abend)),? {_SOUND}"
_HOLA: Final = rf"(?:hola|buenas(?: tardes| noches)?|buenos días),? {_SOUND}"

NAME: Final = "\n".join(
    (
        rf"{_HI}(?:i'm|i am) {_SOUND}{_NO_NAME}{_NAME}(?= by the way| and i\b| from\b|\W*$)",
        rf"{_HI}this is {_SOUND}{_NO_NAME}{_NAME}(?: {_NAME})?(?= calling| speaking| from\b| and i\b| again)",
        rf"(?:i'm|im|i am) {_SOUND}{_NO_NAME}{_NAME}(?= by the way|,? btw\b)",
        rf"(?:you can(?: just)?|every(?:one|body)|people|(?:my )?friends) calls? me {_NO_CALL}{_NAME}"
        r"(?=\W*$|[,.!]| btw\b)",
        rf"{_HALLO}(?:ich bin|hier (?:ist|spricht)) {_SOUND}(?:die |der )?{_NO_NAME_DE}{_NAME}(?= und\b| aus\b|\W*$)",
        rf"{_HOLA}soy {_SOUND}{_NO_NAME_ES}{_NAME}(?= y\b| de\b|\W*$)",
    )
)
NAME_IN_SIGNS: Final = (
    "(?:你好|您好|大家好|喂|嗨)[啊呀，,、 ]*我是(?![一个做在不说想来谁因怎什从你他她这那吃素要有])"
    "[\u4e00-\u9fff]{2,4}(?=[，。,]|$)"
)
NAME_SIGNS: Final = (
    "hi |hi,|hello|hey|good morning|good afternoon|good evening|by the way|btw|call me|calls me"
    "|hallo|moin|servus|guten|hola|buenas|buenos"
    "|你好|您好|大家好|喂|嗨"
)
_UNITS: Final = "(?:one|two|three|four|five|six|seven|eight|nine)"
_TENS: Final = rf"(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[ -]{_UNITS})?"
_NUMBER: Final = rf"(?:{_TENS}|(?:thir|four|fif|six|seven|eigh|nine)teen)"
_NUMBER_ES: Final = r"(?:veint\w+|(?:treinta|cuarenta|cincuenta|sesenta|setenta|ochenta|noventa)(?: y \w+)?)"
_WHEN_DE: Final = "(?:jetzt|schon|gerade|letzte woche|letztes jahr|heute|gestern)"
AGE: Final = "\n".join(
    (
        rf"I(?:'m| am)(?: now| already| uh| um)? {_NUMBER}(?=[,.!]| years?| and\b| now\b|$)",
        rf"I(?:'ve| have)? (?:just )?turned {_NUMBER}",
        rf"ich bin (?:{_WHEN_DE} )?\w{{2,}}(?:zig|ßig|ssig)(?= jahre| geworden|[,.!]|$)",
        rf"tengo {_NUMBER_ES} años|cumplí {_NUMBER_ES}",
    )
)
AGE_IN_SIGNS: Final = "我(?![女儿弟妹哥姐爸妈老孩家们朋同])[^，。的]{0,9}[一二三四五六七八九十]岁"
AGE_SIGNS: Final = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|teen|zig|ßig|ssig|tengo|cumplí|岁"
