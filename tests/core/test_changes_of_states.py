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
        ("I work at Siemens.", "I quit my job at Siemens on Friday.", "ended"),
        ("I'm married.", "We separated last month.", "ended"),
        ("I work at Siemens.", "Big news: I quit my job.", "ended"),
        ("I work at Siemens.", "As I said: I quit my job.", "ended"),
        ("I work at Siemens.", "A short message: I quit my job.", "ended"),
        ("Ich wohne in Kassel.", "Gute Nachricht: Ich bin nach Erfurt gezogen.", "changed"),
        ("我住在杭州。", "好消息：我们搬到上海了。", "changed"),
        ("I'm married.", "Marcus and I separated, and he has taken the car.", "ended"),
        ("I'm married.", "Marcus and I split up, so I'm looking for a flat.", "ended"),
        ("Ich bin mit Jonas verheiratet.", "Jonas und ich haben uns getrennt, er ist ausgezogen.", "ended"),
        ("我和陈伟结婚了。", "我和陈伟离婚了。", "ended"),
        ("我每周二弹钢琴。", "我考虑了很久，不弹钢琴了。", "ended"),
        ("我的房租是每月3000元。", "考虑到通胀，房东把房租涨到每月3500元了。", "changed"),
        ("Ich bin verlobt.", "Jonas und ich haben uns letzte Woche getrennt.", "ended"),
        ("Estoy saliendo con Pablo.", "Pablo y yo nos separamos la semana pasada.", "ended"),
        ("Je suis mariée.", "Paul et moi nous nous sommes séparés la semaine dernière.", "ended"),
        ("The deadline is May 9th.", "Update: it's the deadline of May 14th now.", "changed"),
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
        ("I quit my job in March.", "I'm working as a volunteer on Sunday."),
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
        ("I work at Siemens.", "I left my job at 5 to fetch the kids."),
        ("I work at Siemens.", "Tom wrote: I lost my job."),
        ("I work at Siemens.", "Here is a message from my brother: I quit my job, call me back."),
        ("I'm dating Marcus.", "My friend texted me: We broke up last night, I'm devastated."),
        ("Ich bin verheiratet.", "Meine Freundin schreibt: Wir haben uns getrennt, ich bin am Ende."),
        ("Trabajo en un banco.", "Mi amigo me escribió: Dejé mi trabajo ayer."),
        ("Je travaille chez Orange.", "Mon ami m'écrit : j'ai démissionné hier."),
        ("我在华为上班。", "我朋友发来消息：我辞职了，我们分手了。"),
        ("我住在杭州。", "帮我改一下这句话：我们搬到上海了。"),
        ("I work at Siemens.", "I got fired by the customer in the role play."),
        ("I work at Siemens.", "I resigned yesterday as treasurer of the club."),
        ("I quit my job in March.", "I'm working at the kitchen table."),
        ("I'm dating Marcus.", "We split up at the airport and took two trains."),
        ("I'm dating Marcus.", "We split up in two groups for the quiz."),
        ("I'm dating Marcus.", "I'm single for the weekend, Marcus is at his mum's."),
        ("I'm single.", "I'm dating the pottery shards for my thesis."),
        ("My project runs on Django 4.2.", "Update: Django 5.0 is out."),
        ("The meeting is on Tuesday at 10.", "Update: Anna's meeting is on Thursday at 11."),
        ("I'm dating Marcus.", "Marcus and I separated, the party went on."),
        ("I'm dating Marcus.", "Marcus and I split up, I took the tram and he walked."),
        ("Ich bin verheiratet.", "Jonas und ich haben uns getrennt, die Feier ging weiter."),
        ("Estoy casada.", "Pablo y yo nos separamos y la fiesta siguió."),
        ("Je suis mariée.", "Paul et moi on s'est séparés, la fête a continué."),
        ("我每周二弹钢琴。", "我在考虑不弹钢琴了。"),
        ("我的房租是每月3000元。", "房东考慮把房租涨到每月3500元。"),
        ("Ich bin verheiratet.", "Wir haben uns von alten Möbeln getrennt."),
        ("Ich bin verheiratet.", "Jonas und ich haben uns am Bahnhof getrennt."),
        ("Ich arbeite bei der Sparkasse.", "Ich habe meine Arbeit verloren, die Datei ist kaputt."),
        ("Ich wohne in Kassel.", "2012 sind wir nach Köln gezogen."),
        ("Ich wohne in Kassel.", "Im Spiel bin ich nach Norden gezogen."),
        ("Estoy saliendo con Pablo.", "Pablo y yo rompimos el sofá."),
        ("Estoy saliendo con Pablo.", "Pablo y yo lo dejamos para mañana."),
        ("Trabajo en un banco.", "Perdí mi trabajo porque no guardé el archivo."),
        ("Dejé mi trabajo en marzo.", "Mi trabajo de fin de grado va sobre abejas."),
        ("Vivo en Sevilla.", "Nos mudamos a Cádiz cada verano."),
        ("Vivo en Sevilla.", "Me mudé a Madrid con 18 años."),
        ("Je suis mariée.", "Paul et moi avons rompu le pain."),
        ("Je travaille chez Orange.", "J'ai quitté mon travail à 17 h pour le dentiste."),
        ("我在华为上班。", "我梦见我辞职了。"),
        ("我住在杭州。", "他辞职了,搬到成都了。"),
        ("我不吃肉。", "我又开始研究吃肉的问题。"),
        ("私は結婚しています。", "駅で別れました。"),
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
    for text in (
        "I can " * 4000,
        "Update on the " + "a " * 10000,
        "我在" + "银" * 20000,
        "ich bin " * 3000 + "nach ",
        "says " * 4000,
    ):
        statements_of(text)
    assert time.process_time() - began < 20
