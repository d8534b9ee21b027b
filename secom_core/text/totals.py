"""Questions that are answered by what a user told over many turns: how many, how much, how often, which ones.

Rules for English, German, Chinese, Spanish, French, Italian, Portuguese, Japanese and Korean.
"""

from __future__ import annotations

from typing import Final

from .replies_asked import asks_of_replies
from .speech import only_asks
from .wording import wording

_LONGEST: Final = 300
"""How many characters such a question has at most."""

_TIME: Final = r"(?:\w+ )?(?:days|weeks|months|hours|minutes|time|tage|wochen|monate|stunden|zeit)"
_APART: Final = r"(?:between|passed|until|left|since|zwischen|vergangen|bis|seit)"
_SEVERAL: Final = r"(?:\w+(?<!s)s|people|children)"
_DONE: Final = r"(?:\w+ed|gave|told|sent|said|paid|cost|made|let|left|took|brought|lent|wrote|hurt)"
_SPANISH: Final = (
    r"(?:he|hemos|fui|fuimos|hice|tuve|\w+(?:é|amos|imos)|\w\w+í|(?:me|nos) (?:ha|han|\w+(?:ó|aron|ieron)))"
)
_FRENCH: Final = r"(?:(?:ai|suis)-je|(?:avons|sommes)-nous|a-t-on|(?:est-ce que? )?(?:j'ai|je suis|nous avons|on a))"
_ITALIAN: Final = r"(?:ho|abbiamo|sono|siamo|mi|ci|mi[oae]|miei|nostr[oaie])"
_PORTUGUESE: Final = r"(?:eu|nós|tenho|temos|fui|fomos|\w+(?:ei|amos|emos|imos)|me|nos|meus?|minhas?|noss[oa]s?)"
_SPAN: Final = (
    r"(?: de)? (?:tiempo|temps|tempo)\b.{0,40}\b(?:entre|desde|depuis|hasta|jusqu|pas|falta|queda|reste|da|fa|há)"
)
_COUNTER: Final = "[回冊個本人度枚軒社匹杯件台]"
_IN_ALL: Final = (
    wording(
        rf"""
    how (?:many|often|much)(?! {_TIME}\b.{{0,40}}\b{_APART}\b)\b.{{0,120}}\b(?:I|we|my|our|me|us)
    (?:which|what) (?:\w+ ){{0,2}}{_SEVERAL} (?:\w+ ){{0,4}}(?:have|did|had|am|are|were) (?:I|we)
    (?:list|name|enumerate) (?:\w+ ){{0,3}}(?:all|every|each|my|our)|all (?:of )?(?:my|our|the \w+(?: \w+)? (?:I|we))
    (?:what|which) \w+s (?:are|were) in (?:my|our)|(?:who|whom) (?:has|have|did|had) .{{0,40}}\b(?:I|we|me|us|my|our)
    (?:what (?:did|have|has|does))\b.{{0,80}}\bcost (?:me|us)
    (?:which|what) (?:\w+ ){{0,2}}{_SEVERAL} (?:(?:have|had) )?{_DONE} (?:\w+ ){{0,2}}(?:me|us|my|our)
    (?:which|who) of (?:my|our)|(?:what|where|whom?) have (?:I|we)(?! (?:got|to|been (?:thinking|feeling))\b)
    what (?:has|have) (?:all )?been (?:\w+ ){{1,3}}(?:me|us|my|our)|who owes (?:me|us)
    """,
        signed=("how many|how often|how much| which | what | list | name | enumerate | all | who | whom | where have"),
    ),
    wording(
        rf"""
    wie\s?(?:viele?n?|oft)(?! {_TIME}\b.{{0,40}}\b{_APART}\b)\b.{{0,120}}\b(?:ich|wir|mein\w*|unser\w*|mir|mich|uns)
    welche[nrms]? (?:\w+ ){{1,4}}?(?:habe?n?|hatten?|bin|sind|waren?) (?:ich|wir|mich|mir|uns)
    welche[rs]? (?:von )?(?:meine[rn]|unsere[rn])
    (?:was|wen|wem|wer)\b.{{0,40}}\b(?:ich|wir|mich|mir|uns) (?:schon )?alles
    (?:wo|wohin)\b.{{0,40}}\b(?:ich|wir) (?:schon )?überall
    (?:liste|nenne?|zähle?)\b.{{0,30}}\b(?:alle|meine?|unsere?)|alle (?:meine|unsere|\w+,? die (?:ich|wir))
    """,
        signed=" wie|welche| was | wen | wem | wer | wo | wohin | liste| nenn| zähl| alle ",
    ),
    wording(
        rf"""
    cuánt[oa]s?(?!{_SPAN})\b.{{0,120}}\b(?:{_SPANISH}|tengo|tenemos|mis?|nuestr[oa]s?)
    (?:qué|cuáles) \w+s (?:\w+ ){{0,3}}?{_SPANISH}
    (?:qué|dónde|quién(?:es)?) (?:he|hemos) \w+|(?:cuáles|quiénes) de (?:mis|nuestr[oa]s)
    tod[oa]s (?:mis|nuestr[oa]s|l[oa]s \w+ (?:\w+ )?que {_SPANISH})|(?:enumera|lista)\b.{{0,30}}\b(?:mis|nuestr[oa]s)
    combien(?!{_SPAN})\b.{{0,120}}\b(?:{_FRENCH}|m'a|m'ont|nous (?:a|ont)|mes|nos)
    quel(?:le)?s (?:\w+ ){{1,4}}?{_FRENCH}
    (?:qu'est-ce que? (?:j'ai|nous avons|on a)|(?:qu'|où |à qui |chez qui )(?:ai-je|avons-nous)) \w+
    lesquel(?:le)?s de (?:mes|nos)|tou(?:s|tes) (?:mes|nos|les \w+ (?:\w+ )?que {_FRENCH})
    (?:énumère|cite|nomme|liste)\b.{{0,30}}\b(?:mes|nos)
    quant[oaie](?!{_SPAN})\b.{{0,120}}\b{_ITALIAN}|quali (?:\w+ ){{1,3}}?{_ITALIAN}|(?:cosa|dove|chi) (?:ho|abbiamo) \w+
    tutt[ei] (?:i miei|le mie|i nostri|le nostre|(?:gli|le|i) \w+ che {_ITALIAN})
    quant[oa]s?(?!{_SPAN})\b.{{0,120}}\b{_PORTUGUESE}|(?:quais|que) \w+s (?:\w+ ){{0,2}}?{_PORTUGUESE}
    o que (?:eu )?(?:já )?\w{{2,}}ei|tod[oa]s (?:[oa]s )?(?:meus|minhas|noss[oa]s|\w+ que {_PORTUGUESE})
    """,
        signed=(
            "cuánt| qué | cuáles | dónde | quién| quiénes | todos | todas | enumera | lista |combien|quel| qu'| où "
            "| à qui | chez qui | tous | toutes | énumère | cite | nomme | liste |quant| quali | cosa | dove | chi "
            "|tutti|tutte| quais | que "
        ),
    ),
    wording(
        anywhere=rf"""
    我.{{0,30}}(?:几|多少|哪些|一共|总共|共计|累计)|(?:一共|总共|共计|累计).{{0,30}}我|列出.{{0,10}}(?:我|所有)
    (?:何{_COUNTER}|いくら(?!でし|だっ)|いくつ|どんな).{{0,30}}(?:た|んだ)(?:か|っけ|の|んですか|でしょう)?\W*$
    (?:私|僕|俺)(?:は|が).{{0,20}}(?:何を|何{_COUNTER}|どんな).{{0,20}}(?:た|んだ|て(?:い|る))
    (?:全部|合計|すべて|これまで|今まで).{{0,30}}(?:何{_COUNTER}|何を|いくら|いくつ|どんな)
    (?:내가|제가|나는|저는|우리가|우리는|지금까지|그동안).{{0,40}}(?:몇|얼마|어떤|무슨|뭐가|뭘|뭐를)
    (?:몇 ?(?:번|권|개|명|곳|마리|군데|잔|편)|얼마나?).{{0,20}}(?:[갔샀썼했봤왔었았렸졌]|읽은)
    (?:전부|모두|다 합쳐).{{0,20}}(?:몇|얼마)|(?:내|제|우리) .{{1,20}}(?:전부|모두|다) (?:말해|알려|적어)
    """,
        signed=(
            "我|列出|何|いくら|いくつ|どんな|내가|제가|나는|저는|우리|지금까지|그동안|몇|얼마|전부|모두|내 |제 |우리 "
        ),
    ),
)
"""By language, so that most questions compile the rule of one."""
_OF_QUESTIONS: Final = wording(
    r"""
    (?:ask(?:ed|ing)?|questions?|gefragt|fragen?)(?! (?:him|her|them|for (?:a|the|my))\b)
    pregunt\w+|demandée?s?|domand\w+|chiest\w+|pergunt\w+
    """,
    anywhere="问|質問|聞い|물어|질문",
)
"""What is asked about that a question of the user may be, or end in."""

_PERHAPS: Final = wording(
    r"""
    (?:can|should|do|could|must|may|would|shall|will|am) (?:I|we)|(?:kann|soll|sollte|muss|darf|könnte) (?:ich|wir)
    """
)
"""How one asks of anybody, oneself included: "How do I oil a chain?"."""
_SELF: Final = wording(
    r"""
    I|my|mine|myself|me|we|our|ours|us|ich|mein[a-z]*|mir|mich|wir|unser[a-z]*|uns
    yo|mis?|mí|conmigo|nosotr[oa]s|nos|nuestr[oa]s?|he|hemos|je|j|moi|m|mon|ma|mes|notre|nos|nous
    io|mi[oae]|miei|noi|nostr[oaie]|ho|abbiamo|eu|mim|meus?|minhas?|nós|noss[oa]s?
    """,
    anywhere="我|私|僕|俺|うち|내|제|나[는도를]|저[는도를]|우리",
)


def asks_in_all(query: str) -> bool:
    """Whether a question asks for what the user told in several turns: "How many books have I read?".

    Not where it asks of the assistant's replies, or of what the user asked.
    """
    if len(query) > _LONGEST:
        return False
    asks = any(rule.search(query) for rule in _IN_ALL)
    return asks and not asks_of_replies(query) and _OF_QUESTIONS.search(query) is None


def tells_of_nobody(text: str) -> bool:
    """Whether what a user says only asks, and of nothing that is his: "How much does a bike cost?"."""
    return only_asks(text) and _SELF.search(_PERHAPS.sub(" ", text)) is None
