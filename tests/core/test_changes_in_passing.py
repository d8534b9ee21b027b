"""Changes as they are told in passing: in a subordinate clause, with a plan beside, or of some of several things."""

from __future__ import annotations

import pytest

from secom_core.changes import links_of, statements_of


def kinds(older: str, newer: str) -> list[str]:
    """The kinds of the links from a later message to an earlier one."""
    return [link.kind for link in links_of(statements_of(newer), statements_of(older), lambda _: 1.0)]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I plan to interview 12 nurses.", "I now plan to interview 18 nurses, so the work has to be spread."),
        ("We want to stay in Hallstatt for 3 nights.", "We've extended the stay in Hallstatt to 5 nights."),
        ("We want to invite 40 guests to the wedding.", "We've cut the guest list of the wedding to 30 guests."),
        ("Nous voulons inviter 40 personnes au mariage.", "Nous avons réduit la liste à 30 personnes pour le mariage."),
        (
            "The memory limit of my worker pods is at 512MB and they get killed.",
            "I want help, as I had to change the memory limit of my worker pods to 1GB with the team.",
        ),
    ],
)
def test_a_plan_that_changed_and_amounts_in_another_unit(older: str, newer: str) -> None:
    assert kinds(older, newer) == ["changed"]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I plan to run 3 times a week.", "I now plan to swim 2 times a week as well."),
        ("We plan to hire 2 designers in spring.", "We now plan to hire 4 developers in autumn."),
        ("We want to stay in Graz for 3 nights.", "We've extended the stay in Linz to 5 nights."),
        ("I want to lose 5 kg and go to the sea.", "I've now lost 2 kg."),
        # Two numbers of one thing.
        (
            "The average response time of my search API is around 220ms.",
            "The maximum response time of my search API is currently 900ms.",
        ),
        # What is named beside what has ended goes on.
        (
            "El mercado se ha aplazado al 20 de junio.",
            "El año pasado vendí mis tazas en el mercado de artesanía de Gijón y se acabaron.",
        ),
    ],
)
def test_another_plan_unit_or_number_changes_nothing(older: str, newer: str) -> None:
    assert kinds(older, newer) == []


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (
            "El alquiler es de 700 euros y quiero ahorrar.",
            "El alquiler ha subido a 760 euros, así que gasto menos.",
        ),
        ("Mon cours de piano est le mardi et je veux m'y préparer.", "Mon cours de piano est maintenant le jeudi."),
        (
            "Der Vortrag ist am 4. Juni und ich möchte ihn noch kürzen.",
            "Der Vortrag wurde auf den 11. Juni verschoben, also habe ich Zeit.",
        ),
    ],
)
def test_what_is_told_beside_a_plan_is_so_already(older: str, newer: str) -> None:
    assert kinds(older, newer) == ["changed"]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Je cours 20 km par semaine depuis mai.", "Puisque je cours désormais 30 km par semaine, faut-il du repos ?"),
        ("Mein Kurs hat 12 Teilnehmer.", "Jetzt, da mein Kurs 17 Teilnehmer hat, brauche ich einen größeren Raum."),
        ("Der Verein hat 140 Mitglieder.", "Jetzt, wo der Verein 165 Mitglieder hat, brauchen wir eine Halle."),
        ("El mercado es el 6 de junio.", "Puesto que el mercado se ha aplazado al 20 de junio, tengo tiempo."),
    ],
)
def test_a_conjunction_is_nothing_that_a_statement_is_about(older: str, newer: str) -> None:
    assert kinds(older, newer) == ["changed"]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I've finished 4 of the modules.", "I've now finished 6 of the modules of the cloud course."),
        ("I've read 2 of the 8 reports so far.", "I've read 5 of the 8 reports by now."),
        ("J'ai lu 3 des chapitres.", "J'ai maintenant lu 8 des chapitres."),
    ],
)
def test_some_of_several_things_are_counted(older: str, newer: str) -> None:
    assert kinds(older, newer) == ["changed"]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I've finished 3 of the chapters of the book.", "I've now finished 7 of the exercises in the physics course."),
        ("I've read 2 of the 8 reports.", "I've written 3 of the 8 reports now."),
        ("I've read 2 of the reports.", "Now 4 of the reports are late."),
    ],
)
def test_some_of_other_things_are_counted_apart(older: str, newer: str) -> None:
    assert kinds(older, newer) == []


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I meet my supervisor on Tuesdays.", "We agreed on Thursdays instead for the meetings with my supervisor."),
        ("I take the pottery class on Fridays.", "I'm going to the pottery class on Saturdays instead."),
        ("The flight to Oslo leaves at 7:40.", "The airline wrote that the flight to Oslo leaves at 9:15 instead."),
        (
            "Unser Training ist dienstags um 18 Uhr.",
            "Wir haben uns stattdessen auf donnerstags für unser Training geeinigt.",
        ),
        ("The session timeout is 30 minutes.", "I have set the session timeout to 60 minutes, as the testers asked."),
        ("The upload limit is 10MB.", "I was told to raise the upload limit to 25MB, so how do I do that?"),
        ("I have 120 followers on the blog.", "I just hit 300 followers on the blog and celebrated."),
    ],
)
def test_ways_of_saying_that_something_changed(older: str, newer: str) -> None:
    assert kinds(older, newer) == ["changed"]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Our stand-up is on Mondays at 9.", "I go to the gym on Wednesdays instead."),
        ("I drink tea on Mondays.", "I drink coffee on Tuesdays instead."),
        ("The retry limit is 3 attempts.", "I've set the login limit to 5 attempts."),
        ("The timeout of the gateway is 30 seconds.", "I've set the timeout of the worker to 60 seconds."),
        ("Let's say I have a pair of boxes with an overlap of 0.8.", "I've set the overlap threshold to 0.45."),
        ("I take the pottery class on Fridays.", "My sister takes the pottery class on Saturdays instead."),
    ],
)
def test_the_same_ways_of_other_things(older: str, newer: str) -> None:
    assert kinds(older, newer) == []


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Their team has 20 people in Shenzhen.", "Our team has 8 people now."),
        ("My rent is 800 euros.", "He pays 900 euros rent now."),
        ("My rent is 800 euros.", "My brother moved to Berlin, he pays 900 euros rent now."),
        ("我大学同学在深圳做应用，他们团队有20个人。", "又招了两位工程师，现在团队8个人了。"),
    ],
)
def test_what_others_have_is_not_followed_by_what_one_has(older: str, newer: str) -> None:
    assert kinds(older, newer) == []


def test_what_others_have_is_followed_by_what_they_have_later() -> None:
    assert kinds("Their team has 20 people in Shenzhen.", "Their team has 25 people now.") == ["changed"]
    assert kinds("Peso 80 kilos.", "Ahora he bajado a 75 kilos.") == ["changed"]
    assert kinds("Their monthly fee is 30 euros.", "The monthly fee is 35 euros now.") == ["changed"]
