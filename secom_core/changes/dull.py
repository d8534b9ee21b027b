"""Head words that tell nothing of what a statement is about; in seven languages."""

from __future__ import annotations

from functools import cache
from typing import Final

from ..text.terms import terms

_AS_THEY_ARE: Final = """
    어요 에요 해요 예요 이에 니다 습니 아요 이야 지금 이제 요즘 하고 있어
    었어 았어 으로 에서 에는 까지 부터 现在 以后 今は 还是 已经 我们 每天
    每周 一个 ました です でし した だっ った いや 是 이고 는데 라고 다고
    께서 대요 네요 지만 아니 미안 죄송 잠깐
    了
    ab wurd wird sind ist auf den sie hab hem hemos som somos son seremo ere vamos llev th
"""
_WORDS: Final = {
    "english": """
        now new still anymore goes get got go going went say said tell told know think thing really just
        also back want need like make made take took good great today yesterday week month year day time
        last next ago actually sorry correction try trying help use using much lot recently currently change
        changed switch moved increase improve reach update adjust instead longer hey yeah wow thanks oh
        happy love course natural obvious lol haha since because given far consider set sure agree mention
        notice please around approximately roughly almost exactly
        january february march april may june july august september october november december januar februar
        märz mai juni juli oktober dezember enero febrero marzo abril mayo junio julio agosto septiembre
        octubre noviembre diciembre
    """,
    "german": """
        jetzt nun neu wieder mehr gerade heute gestern schon noch immer sagen gut machen gehen kommen übrigens
        natürlich klar woche monat jahr betragen beträgt belaufen beläuft seit weil erst will möchte bitte
        etwa ungefähr circa rund überhaupt
    """,
    "spanish": """
        ahora nuevo hoy ayer ya todavía semana mes año decir ir hacer bueno aquí claro puesto dado quiero
        queremos alrededor aproximadamente casi
    """,
    "french": """
        maintenant désormais plus nouveau nouvelle aujourd'hui hier encore déjà toujours semaine mois année
        ici fois janvier février avril juin juillet août septembre octobre novembre décembre pardon désolé
        depuis puisque comme tout rien vouloir veux veut voulons environ presque
    """,
}


def is_dull(term: str) -> bool:
    """Whether most statements of a change hold a term, whatever they are about."""
    return term in _terms()


@cache
def _terms() -> frozenset[str]:
    found = (term for language, words in _WORDS.items() for term in terms(words, language=language))
    return frozenset([*_AS_THEY_ARE.split(), *found])
