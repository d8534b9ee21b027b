"""Messages that ask nothing of a memory."""

from __future__ import annotations

import pytest

from secom_core.bank import MemoryBank
from secom_core.text import small_talk
from secom_core.text.small_talk import asks_nothing

ANN = ("acme", "ann")

NOTHING = """
    ok thanks
    Thank you!
    Great, let's do that
    Good morning
    2+2?
    12 * 7 =
    Thanks a lot for your help!
    Hello, how are you?
    Perfect, thanks again 🙂
    Alles klar, vielen Dank!
    Guten Morgen
    Muchas gracias
    D'accord, merci beaucoup !
    好的，谢谢！
    ありがとうございます
    고마워요
    Ok, grazie mille!
    Va bene, perfetto
    Ciao, come stai?
    Muito obrigada!
    Oi, tudo bem?
    Nickel, merci
    спасибо
    bedankt!
    धन्यवाद
    なるほど
    ㅋㅋㅋ
    """

SOMETHING = """
    yes, the second one
    ok, and the hotel?
    Ok?
    Thanks, what about Rome?
    Good morning in Japanese
    Great idea about the roof
    2026-05-03?
    3/5?
    Thanksgiving
    no idea
    2+2 cats
    let's do that trip
    Guten Morgen Tokio
    好吃的
    grazie, e il secondo?
    Tudo bem com a reserva?
    top ten films
    なるほどの語源
    谢谢你上次推荐的书
    """


def lines(block: str) -> list[str]:
    return [line.strip() for line in block.strip().splitlines()]


@pytest.mark.parametrize("message", lines(NOTHING))
def test_thanks_greetings_consent_and_sums_ask_nothing(message: str) -> None:
    assert asks_nothing(message)


@pytest.mark.parametrize("message", [*lines(SOMETHING), "", "???", "thanks " * 20])
def test_what_says_more_may_ask(message: str) -> None:
    assert not asks_nothing(message)


@pytest.mark.parametrize("message", ["ok thanks", "Great, let's do that", "Good morning"])
def test_nothing_is_relevant_to_what_asks_nothing(message: str) -> None:
    with MemoryBank.open() as bank:
        for session in range(12):
            said = "Good, thanks. Let's do that in the morning, ok? Great."
            bank.remember(
                ANN, [("user", said), ("assistant", "Good morning, thanks!")], session=str(session), close=True
            )
        found = bank.recall(ANN, message, only_relevant=True)
        assert (found.hits, found.confidence) == ((), 0.0)
        assert bank.recall(ANN, message).hits
        assert bank.recall(ANN, f"{message}, and the morning?", only_relevant=True).hits


@pytest.mark.parametrize("message", ["Where does my sister live?", "What's the door code?", "Rent went up last week."])
def test_most_messages_are_told_by_how_they_begin_or_end(monkeypatch: pytest.MonkeyPatch, message: str) -> None:
    """The rule for all such messages takes 20 ms to compile, in the first recall of a process."""
    monkeypatch.setattr(small_talk, "_NOTHING", None)
    assert not asks_nothing(message)
