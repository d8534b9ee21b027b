"""Replies that know nothing, such as "You haven't told me": in English, German, Chinese and Japanese."""

from __future__ import annotations

from typing import Final

from .wording import folded_case, is_signed, signs, wording

_NON_ANSWER: Final = wording(
    r"""
    I (?:do not|don't|currently don't|cannot|can't) (?:actually )?(?:know|recall|remember|find|access|tell)
    I(?:'m (?:sorry|afraid)| apologi[sz]e),? (?:but )?(?:I )?(?:do not|don't|cannot|can't) (?:see|have)
    I (?:do not|don't|currently don't) (?:actually |currently )?have (?!to\b)
    I(?:'m| am) not (?:sure|aware)|I have no (?:idea|information|record|memory|details?)
    you (?:have not|haven't|did not|didn't|never) (?:\w+ )?(?:told|tell|mention\w*|said|say|share\w*|specif\w+)
    no (?:information|record|memory|details?) (?:of|about|on|regarding)
    (?:das )?weiß ich (?:leider )?nicht|ich weiß (?:es |das )?(?:leider )?nicht
    ich habe (?:\w+ ){0,2}keine (?:informationen?|angaben?|erinnerung)
    du hast (?:mir )?(?:das |es )?(?:noch )?(?:nie|nicht)
    nicht erinnern|mir (?:leider )?(?:nicht|nichts) bekannt
    """,
    anywhere="""
    不(?:知道|清楚|记得|了解)
    没有(?:相关|任何|关于.{1,12}的)?(?:信息|资讯|资料|记录)
    [你您](?:还)?没(?:有)?(?:告诉|提到|提过|说过)
    (?:わかり|分かり|存じ上げ|存じ|知り|覚えてい|聞いてい|伺ってい|伺っており|把握してい)ません
    (?:情報|記録)(?:は|が)(?:あり|ござい|見つかり)ません
    """,
)
_NON_ANSWER_SIGNS: Final = signs("not|n't|n’t|never|idea|information|record|memory|detail|nicht|keine|nie|不|没|ません")
_NON_ANSWER_LENGTH: Final = 400
"""How many characters an answer that knows nothing has at most; a longer one goes on to say something."""


def is_non_answer(text: str) -> bool:
    """Whether a reply says that it knows nothing."""
    if len(text) > _NON_ANSWER_LENGTH or not is_signed(folded_case(text), _NON_ANSWER_SIGNS):
        return False
    return _NON_ANSWER.search(text) is not None
