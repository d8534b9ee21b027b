"""What somebody is no longer, what is so again, and changes told with a heading or in a second clause."""

from __future__ import annotations

import time

import pytest

from secom_core import MemoryBank, Message
from secom_core.changes import links_of, statements_of

ANN = ("ann",)


def kinds(older: str, newer: str) -> list[str]:
    """The kinds of the links from a later message to an earlier one."""
    return [link.kind for link in links_of(statements_of(newer), statements_of(older), lambda _: 1.0)]


@pytest.mark.parametrize(
    ("older", "newer", "kind"),
    [
        (
            "I work as a paralegal at a small firm.",
            "I quit my job and I'm looking for something in compliance.",
            "ended",
        ),
        ("Ich arbeite als Erzieherin.", "Ich habe meine Stelle gekündigt, was nun?", "ended"),
        ("我在一家银行上班。", "我已经从银行辞职了,简历该怎么写?", "ended"),
        ("I'm dating a guy called Marcus.", "Marcus and I broke up in March, so it will just be me.", "ended"),
        ("I'm single.", "I got married in spring, can you help with the forms?", "changed"),
        ("I take the train to work every morning.", "I don't commute by train any more.", "ended"),
        ("Soy vegana desde hace dos años.", "Ya no soy vegana, así que puedes incluir huevos.", "ended"),
        ("Ich esse kein Fleisch.", "Ich esse inzwischen wieder Fleisch, du kannst Hähnchen einplanen.", "changed"),
        ("I can't run because of my knee.", "I can run again, so let's plan a race.", "changed"),
        ("我不吃辣。", "我现在能吃辣了,推荐几道川菜吧。", "changed"),
        ("The deadline for the application is May 9th.", "Update: the deadline is the 14th.", "changed"),
        ("Mi vuelo sale el 12 de mayo.", "Me han cambiado el vuelo, ahora sale el 15 de mayo.", "changed"),
        ("Unsere Miete beträgt 780 Euro.", "Die Miete wurde auf 845 Euro erhöht, kannst du mir helfen?", "changed"),
        (
            "The budget for the kitchen is 12,000 pounds.",
            "We had to raise the kitchen budget to 15,500 pounds.",
            "changed",
        ),
        ("Pago 650 euros de alquiler.", "Me subieron el alquiler a 720 euros, ¿qué hago?", "changed"),
        ("Vivo en Valencia con mi hermana.", "Ahora que me he mudado a Bilbao, ¿qué gimnasio hay?", "changed"),
        ("Ich wohne in Kassel.", "Seit wir nach Erfurt gezogen sind, suche ich einen Arzt.", "changed"),
        ("我住在杭州。", "我们搬到苏州以后,想找一家幼儿园,有什么建议吗?", "changed"),
    ],
)
def test_what_is_over_or_so_again_is_linked(older: str, newer: str, kind: str) -> None:
    assert kinds(older, newer) == [kind]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I work as a paralegal.", "If I quit my job, would I get benefits?"),
        ("I work as a paralegal.", "My brother quit his job at the law firm."),
        ("I work as a paralegal.", "I quit my job at Tesco in 2019 and travelled."),
        ("I work for a bank.", "I lost my job offer at the museum."),
        ("I work at a bakery.", "I got fired up about its new bread."),
        ("Ich arbeite als Erzieherin.", "Ich habe bei Vodafone gekündigt, wie bekomme ich meine Nummer mit?"),
        ("I'm dating Marcus.", "We split up the chores."),
        ("I'm dating Marcus.", "Jenna and Marcus Webb broke up in March."),
        ("I'm single.", "My sister got married in May."),
        ("I don't eat meat.", "I accidentally ate meat again yesterday."),
        ("Ich esse kein Fleisch.", "Meine Oma isst wieder Fleisch."),
        ("I don't drive.", "I'm driving to the supermarket now."),
        ("I can't log in.", "I can't log in again."),
        ("My flight is on May 3rd.", "Update: my passport arrived on the 7th."),
        ("The build takes 12 minutes.", "Update: the deploy takes 20 minutes."),
        ("My meeting starts at 17:00.", "They moved my yoga class, it now starts at 18:00."),
        ("My daughter goes to bed at 7.", "My plumber goes to lunch at 9."),
        ("Vivo en Valencia.", "Mi prima se ha mudado a Bilbao."),
    ],
)
def test_what_others_do_or_what_is_supposed_ends_nothing(older: str, newer: str) -> None:
    assert kinds(older, newer) == []


def test_a_bank_finds_what_has_ended_though_no_word_is_shared() -> None:
    with MemoryBank.open(changes=True) as bank:
        bank.remember(
            ANN, [Message("I work as a paralegal in Dublin."), Message("Nice.", "assistant")], session="1", close=True
        )
        bank.remember(
            ANN,
            [Message("I was laid off on Friday, so I need a budget."), Message("Oh.", "assistant")],
            session="2",
            close=True,
        )
        assert [each.kind for each in bank.changes(ANN)] == ["ended"]


def test_long_and_hostile_texts_are_read_in_time() -> None:
    began = time.process_time()
    for text in ("I can " * 4000, "Update on the " + "a " * 10000, "我在" + "银" * 20000, "ich bin " * 3000 + "nach "):
        statements_of(text)
    assert time.process_time() - began < 20
