"""Events of a life that are told in other words than they are asked about: "the wedding" is "we got married".

Rules for English, German, Spanish, French, Chinese, Japanese and Korean.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from .wording import wording


class LifeEvent(NamedTuple):
    """A kind of event.

    Args:
        told: how it is asked about, and told.
        words: that are looked for, in whichever language.
    """

    told: re.Pattern[str]
    words: str


_WE: Final = r"(?:I|we|she|he|they)(?:'ve|'s| have| has| had)?"
_HOME: Final = "(?:flat|apartment|house|home|place|room)"

LIFE_EVENTS: Final = (
    LifeEvent(
        wording(
            r"""
            weddings?|(?:got|get|getting|are|were|was|is|been|we're) (?:\w+ )?married|married (?:today|yesterday)
            (?:I|we|he|she) married|tied the knot|marriage|hochzeit|trauung|heirat|heiratet\w*|geheiratet
            boda|nos casamos|se cas(?:ó|aron)|me casé|casar(?:me|nos|se)|mariage|noces
            (?:nous sommes|on s'est|ils se sont|s'est) mari\w+|mariée?s
            """,
            anywhere="结婚|婚礼|結婚|入籍|결혼",
        ),
        "wedding married marry marriage tied knot hochzeit heiraten geheiratet heiratet trauung boda casamos"
        " casaron casé casar mariage mariés marié 结婚 婚礼 結婚した 결혼 결혼했어요",
    ),
    LifeEvent(
        wording(
            rf"""
            the move|(?:my|our) move|did (?:I|we|she|he|they) move(?! (?:on|forward|up|past|money|it|the|my)\b)
            {_WE} (?:\w+ )?moved(?! (?:on|forward|up|past|money|it|the|my)\b)
            moving (?:day|in|out|house|van|boxes)|moved (?:in|into|out|house|here|there|to)
            first (?:\w+ )?(?:night|day|morning|week|evening) in (?:the|my|our) (?:new )?{_HOME}
            in (?:the|my|our) new {_HOME}
            (?:got|picked up|have|collected) (?:the|our|my) keys (?:to|of|for) (?:the|our|my)
            umzug|umgezogen|eingezogen|einzug|zogen wir|sind .{{0,30}}gezogen|wohnen? (?:wir|ich) (?:jetzt|nun|in)
            (?:neue|neuen|neuer) (?:wohnung|haus|zuhause|heim)
            mudanza|mud(?:é|amos|arme|arnos)|(?:piso|casa|apartamento) nuev[oa]|nuev[oa] (?:piso|casa|apartamento)
            déménag\w+|emménag\w+|nouvel(?:le)? (?:appartement|maison|logement)
            """,
            anywhere="搬家|搬进|搬到|新家|引っ越|引越|新居|이사|새 ?집",
        ),
        "move moved moving flat apartment house boxes keys umzug umgezogen eingezogen wohnung wohnen wohne mudanza"
        " mudamos mudé piso déménagement déménagé emménagé 搬家 新家 引っ越し 引っ越した 이사",
    ),
    LifeEvent(
        wording(
            r"""
            surger(?:y|ies)|operations?|operated|operate|under the knife|op|operation|operiert|cirugía|operación
            operaron|opération|opérée?
            """,
            anywhere="手术|手術|수술",
        ),
        "surgery operation operated operate op operiert cirugía operación opération opéré 手术 手術 수술",
    ),
    LifeEvent(
        wording(
            r"""
            birth|(?:was|is|were|been) born|gave birth|(?:had|have|has) (?:her|his|their|our|the|a) (?:\w+ )?baby
            geburt|geboren|(?:sohn|tochter|baby|kind|mädchen|jungen) (?:\w+ )?bekommen|zur welt
            nacimiento|naci(?:ó|eron)|dio a luz|naissance|est née?|accouch\w+
            """,
            anywhere="出生|生了(?:个|一个)?(?:孩子|宝宝|儿子|女儿)|生まれ|出産|태어|출산",
        ),
        "birth born baby geburt geboren bekommen sohn tochter nacimiento nació naissance née"
        " 出生 宝宝 生まれた 出産 태어",
    ),
    LifeEvent(
        wording(
            r"""
            promotion|promoted|(?:became|made|named) (?:\w+ ){0,3}(?:lead(?:er)?|manager|head|director|partner|captain)
            befördert|beförderung|ascenso|ascendieron|promue?|promotion
            """,
            anywhere="升职|晋升|昇進|승진",
        ),
        "promotion promoted lead manager head director befördert beförderung ascenso promu 升职 昇進 승진",
    ),
    LifeEvent(
        wording(
            r"""
            funeral|died|death|passed away|beerdigung|beisetzung|gestorben|starb|verstorben|tod
            funeral|entierro|murió|falleció|enterrement|obsèques|est morte?|décéd\w+
            """,
            anywhere="去世|葬礼|亡くな|葬式|돌아가셨|장례",
        ),
        "funeral died death passed beerdigung gestorben verstorben entierro murió enterrement décès"
        " 去世 葬礼 葬式 장례",
    ),
    LifeEvent(
        wording(
            r"""
            laid off|lay-?offs?|(?:got|was|been|were) fired|(?:lost|lose) (?:my|his|her|the) job
            (?:was|were|been) let go|entlassen|entlassung|(?:job|stelle|arbeit) verloren|despid\w+|licenci\w+
            """,
            anywhere="被裁|失业|解雇|リストラ|해고",
        ),
        "laid layoff fired lost job entlassen entlassung despidieron despido licencié 被裁 失业 解雇 해고",
    ),
    LifeEvent(
        wording(
            r"""
            broke up|break-?up|split up|separated|divorced?|trennung|getrennt|scheidung|geschieden
            ruptura|rompimos|separ(?:é|amos|ación)|divorcio|rupture|séparée?s?|divorcée?s?
            """,
            anywhere="分手|离婚|別れ|離婚|헤어|이혼",
        ),
        "broke split separated divorce divorced trennung getrennt scheidung geschieden ruptura divorcio rupture"
        " 分手 离婚 離婚",
    ),
)


def life_event(words: str) -> LifeEvent | None:
    """The kind of event that the words are for; nothing where they are for another.

    Args:
        words: as a question names an event.
    """
    return next((each for each in LIFE_EVENTS if each.told.search(words)), None)
