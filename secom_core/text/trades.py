"""How somebody says what he works as in Spanish, French, Italian and Portuguese: by the endings of such words."""

from __future__ import annotations

from typing import Final

TRADES: Final = "\n".join(
    (
        r"soy (?:una? )?(?:(?!primer|ligera|mejor|mayor|menor|peor|por\b|ahora)\w+(?:er[oa]|ista|ora?|óg[oa]",
        r"|ari[oa]|tect[oa])|(?:médic|mecánic|técnic|músic|físic|químic|abogad|maestr|estudiante|jefe)\w?)",
        r"je suis (?:une? )?(?:(?!premi|derni|derri|hier|fi[eè]r|entier|prêt|meill|régul|famil)\w+(?:i?ère|ier|eur)",
        r"|(?!vég)\w+(?:rice|iste|ienne|icien|logue|aire)|médecin|prof\w*|avocate?|architecte|étudiante?|retraitée?",
        r"|(?:coiff|serv|vend)euse)",
        r"(?:sono (?:una? |uno |un')?|faccio (?:il |lo |la |l'))(?:(?!intier|leggera|voglia)\w+(?:ier[ea]|aio|aia",
        r"|ista|tore|trice|ologo|ologa|tett[oa]|oressa)|medico|avvocat[oa]|insegnante|student\w+|cuoc[oa])",
        r"sou (?:uma? )?(?:(?!primeir|terceir|inteir|melhor|pior|maior|menor)\w+(?:eir[oa]|ista|dora?|sora?|óg[oa]",
        r"|ári[oa]|tet[oa])|médic[oa]|advogad[oa]|mecânic[oa]|técnic[oa]|músic[oa]|estudante|gerente)",
    )
).replace("\n|", "|")
"""Alternatives as `secom_core.text.wording.wording` reads them, a line each."""
