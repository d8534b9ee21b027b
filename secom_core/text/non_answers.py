"""Replies that know nothing, such as "You haven't told me", in English, German, Chinese and Japanese, and replies in
which a model refuses a task, such as "I can't help with that", also in Spanish, French and Korean.
"""

from __future__ import annotations

from typing import Final

from .wording import folded_case, is_signed, signs, wording
from .written_calls import is_written_call

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
    """Whether a reply says that it knows nothing, or is a call of a tool that was never called."""
    if is_written_call(text):
        return True
    if len(text) > _NON_ANSWER_LENGTH or not is_signed(folded_case(text), _NON_ANSWER_SIGNS):
        return False
    return _NON_ANSWER.search(text) is not None


_I_CANNOT: Final = r"I(?: cannot| can not| can't|(?:'m| am) (?:not able|unable) to| won't| will not)"
_DOING: Final = "(?:storing|keeping|recording|extracting|summari[sz]ing|writing|creating|providing|sharing)"
_REFUSAL: Final = wording(
    rf"""
    {_I_CANNOT} (?:help|assist) (?:you )?with (?:that|this|your request|the request|these|such|{_DOING})
    {_I_CANNOT} (?:provide|share|disclose|extract|store|record) (?:any|that|this|such|personal|private|sensitive)
    {_I_CANNOT} (?:provide|share|disclose|extract|store|record|give) (?:\w+ ){{0,3}}(?:information|details|summary)
    {_I_CANNOT} (?:comply|summari[sz]e (?:this|the|that)|fulfil+ (?:this|the|that|your)|process (?:this|that|your))
    as an AI(?: language)?(?: model| assistant)?,? I
    (?:ich kann|kann ich) (?:Ihnen |dir |euch )?(?:dabei |damit |hierbei )?(?:leider )?nicht (?:weiter)?helfen
    (?:ich kann|kann ich) (?:leider )?(?:diese|dieses|die|das|keine) (?:\w+ ){{1,3}}(?:zusammenfassen|bereitstellen)
    als KI(?:-\w+)?,? (?:kann|darf) ich
    je ne peux (?:pas|malheureusement pas) (?:vous |t')?aider
    no puedo ayudar(?:te|le|lo|la)? con (?:eso|esto|esa|esta)
    """,
    anywhere=r"""
    (?:抱歉|对不起|對不起|不好意思)[，,、 ]*(?:但是?)?我(?:无法|無法|不能|没办法)(?:协助|帮|提供|处理|完成|满足|总结)
    作为(?:一个|一名)?(?:AI|人工智能)(?:语言模型|助手|模型)?[，,]
    (?:お手伝い|対応|お答え|提供)(?:すること(?:は|が))?できません
    도와\s?드릴 수 (?:가 )?없습니다
    """,
)
_REFUSAL_SIGNS: Final = signs(
    "can not|cannot|can't|not able|unable|won't|will not|an ai|kann|als ki|peux|puedo|我|作为|ません|없"
)
_REFUSAL_PLACE: Final = 80
"""Within how many characters of its beginning a refusal says so."""


def is_refusal(text: str) -> bool:
    """Whether a model refuses its task there, in the first person, rather than to do it."""
    beginning = text[: 2 * _REFUSAL_PLACE]
    if not is_signed(folded_case(beginning), _REFUSAL_SIGNS):
        return False
    found = _REFUSAL.search(beginning)
    return found is not None and found.start() < _REFUSAL_PLACE
