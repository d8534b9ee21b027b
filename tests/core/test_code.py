"""Questions that ask for code, and what is shown of the replies that hold it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from secom_core.bank import MemoryBank
from secom_core.conversation import Message
from secom_core.text import code
from secom_core.text.code import CodeAsked, asks_for_code, code_edges, holding_any, identifiers, is_code, type_names

ANN = ("acme", "ann")


@pytest.mark.parametrize(
    "question",
    [
        "Show me the Python function for sharing the bill again",
        "Give me the code to share the restaurant bill fairly",
        "Which command did you suggest for undoing the commit?",
        "the regex you gave me for the addresses",
        "What was the SQL query you wrote for the orders?",
        "give me that Dockerfile again",
        "Can you show me the docker-compose.yml again?",
        "paste the StockCache class",
        "Which config did you suggest for the proxy?",
        "Zeig mir nochmal die deploy.sh",
        "Zeig mir nochmal den Code für die Rechnung",
        "Welchen Befehl hast du mir genannt?",
        "Dame el código de la cuenta",
        "Redonne-moi la fonction pour l'addition",
        "Where is the function that computes the checksum?",
        "Where's the regex for order numbers?",
        "give me the debounce hook",
        "show me the diff for the dunning schedule",
        "Show me the migration",
        "give me the schema of the orders table",
        "which SQL did we use for the duplicate visits?",
        "What regex did we end up with?",
        "What's the command to reindex?",
        "What's the reindex command?",
        "The query that removes duplicate visits",
        "Wo ist die Funktion, die die Prüfsumme berechnet?",
        "Welches SQL haben wir für die Duplikate genommen?",
        "Wie lautet der Befehl zum Reindexieren?",
        "Zeig mir den Diff",
        "¿Dónde está la función que calcula la suma?",
        "Où est la fonction qui calcule la somme ?",
        "给我那个函数",
        "重建索引的命令是什么?",
        "我们用了哪个 SQL?",
        "把那个函数再发给我",
        "あのスクリプトをもう一度見せて",
        "그 코드 다시 보여줘",
    ],
)
def test_a_question_asks_for_code(question: str) -> None:
    assert asks_for_code(question)


@pytest.mark.parametrize(
    "question",
    [
        "What is the door code you gave me?",
        "Give me the zip code of the workshop.",
        "Who wrote the film script you recommended?",
        "Where does my function as chair of the club end?",
        "Did my query get an answer?",
        "Does Docker cost anything?",
        "When does my class begin?",
        "What did Ben say about the code?",
        "show me the way",
        "What's the schema of our trip?",
        "Where is the function tonight?",
        "Where is the function room?",
        "What's the function of the liver?",
        "What's the chain of command?",
        "Which code did we use for the door?",
        "Give me the migration dates of the cranes",
        "show me the migration of the birds",
        "Show me the crochet hook I bought",
        "show me the differences between the two hotels",
        "Who will do the migration?",
        "Wo ist der Code für die Tür?",
        "Wo ist die Klasse meines Sohnes?",
        "La función que vimos anoche",
        "Où est la fonction publique ?",
        "Show me the code, please. " * 20,
    ],
)
def test_a_question_that_asks_for_no_code(question: str) -> None:
    assert not asks_for_code(question)


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("the share_out function", ["share_out"]),
        ("What does divmod(total, guests) do?", ["divmod"]),
        ("Is it getUserName, or os.path.join, or share_out?", ["getUserName", "os.path.join", "share_out"]),
        ("What are __init__ and MAX_SIZE?", ["__init__", "MAX_SIZE"]),
        ("\u8bf7\u7528share_out\u51fd\u6570", ["share_out"]),
        ("Do I need the iPhone, macOS or YouTube for the item(s)?", []),
        ("Who wrote to ann_b@example.com or example.com/a_b at 5 p.m., e.g. in app.py?", []),
        ("Which version was it, v0.6.2 or 3.8?", []),
    ],
)
def test_names_of_code_in_a_question(question: str, names: list[str]) -> None:
    assert identifiers(question) == names


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Show me FrameChecksum", ["FrameChecksum"]),
        ("Was it JSONDecoder or OAuth2Client? JSONDecoder!", ["JSONDecoder", "OAuth2Client"]),
        ("\u4f7f\u7528FrameChecksum", ["FrameChecksum"]),
        ("In May I sent PDFs to Ann@FooBar.com and FooBar@example.com", []),
    ],
)
def test_names_of_types_in_a_question(question: str, names: list[str]) -> None:
    assert type_names(question) == names


def test_a_name_that_may_be_of_a_type_counts_in_code_only() -> None:
    asked = CodeAsked("Which YouTube channel did you recommend?")
    text = "YouTube has it.\n\n```\nYouTube(1)\n```\n\nYouTube is free."
    assert asked.is_asked
    assert [asked.is_in(text, *part) for part in ((0, 15), (17, 35), (37, len(text)))] == [False, True, False]


def test_a_command_within_a_line_is_code_where_code_is_asked_for() -> None:
    text = "Run `make all`, as `make` does nothing."
    asked, other = CodeAsked("What's the command to build it?"), CodeAsked("What did build_all do?")
    assert [each.is_in(text, 0, 15) for each in (asked, other)] == [True, False]
    assert not asked.is_in(text, 16, len(text))


def test_where_the_code_of_a_reply_is_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counting(text: str) -> list[int]:
        read.append(text)
        return code_edges(text)

    monkeypatch.setattr(code, "code_edges", counting)
    text = "## Makefile\n```make\nall:\n```\n\n## Dockerfile\n```docker\nFROM scratch\n```\nThat is all.\n"
    makefile, dockerfile = text.index("all:"), text.index("FROM")
    for query, is_in in (("Show me the Makefile.", (True, False)), ("Show me the Dockerfile.", (False, True))):
        asked = CodeAsked(query)
        assert tuple(asked.is_in(text, at, at + 3) for at in (makefile, dockerfile)) == is_in
    assert read == [text]


def test_a_name_is_held_as_a_whole() -> None:
    holds = holding_any(["share_out"])
    assert [holds(each) for each in ("call share_out(3)", "share_outs", "share out")] == [True, False, False]


def test_where_code_stands() -> None:
    text = "Do this:\n\n```sh\ngit status\n```\n\nThen that.\n"
    edges = code_edges(text)
    at, after = text.index("```sh"), text.index("Then")
    assert [is_code(edges, *part) for part in ((0, at), (0, at + 1), (at + 4, at + 6), (after, len(text)))] == [
        False,
        True,
        True,
        False,
    ]
    assert code_edges("No code here.") == []


PAYERS = (
    "guest friend uncle aunt cousin sister brother niece nephew boss baker nurse tailor painter mason smith pilot cook"
)
TALK = [
    f"Sharing a restaurant bill fairly is a matter of rounding, as every {payer} pays a share of the bill. "
    for payer in PAYERS.split()
]
CODE = "```python\ndef share_out(cents, count):\n    base, rest = divmod(cents, count)\n    return base, rest\n```\n\n"


@pytest.fixture
def bank() -> Iterator[MemoryBank]:
    """A reply that talks a lot about the code that it holds, among others."""
    with MemoryBank.open() as bank:
        for number, topic in enumerate(["the garden", "a bread", "the piano"]):
            said = [
                Message(f"Help me with {topic}, please."),
                Message(f"Take your time with {topic}. " * 40, "assistant"),
            ]
            bank.remember(ANN, said, session=f"s{number}", close=True)
        shared = f"{''.join(TALK[:5])}\n\n{CODE}{''.join(TALK[5:])}"
        said = [Message("How do I share a restaurant bill?"), Message(shared, "assistant")]
        bank.remember(ANN, said, session="bill", close=True)
        yield bank


@pytest.mark.parametrize(
    "question",
    ["Give me the code to share the restaurant bill fairly", "the share_out function for the bill, what was it?"],
)
def test_code_that_is_asked_for_comes_before_what_is_said_about_it(bank: MemoryBank, question: str) -> None:
    assert "def share_out" in bank.recall(ANN, question, token_budget=250).text


def test_of_several_files_the_one_that_is_asked_for_is_shown() -> None:
    lines = [f"orders[{number}] = bake(number={number})" for number in range(9)]
    copied = [f"COPY {name} /srv/{name}" for name in ("app", "data", "static", "templates", "settings")]
    files = {
        "Layout": ["app/", "main.py", "Dockerfile"],
        "main.py": ["import flask", *lines],
        "Dockerfile": ["FROM python", *copied],
    }
    reply = "".join("\n".join([f"## {name}", "", "```", *each, "```", "", ""]) for name, each in files.items())
    with MemoryBank.open() as bank:
        bank.remember(ANN, [Message("I need a service for my bakery."), Message(reply, "assistant")], session="s")
        for question, shown, budget in (
            ("give me that Dockerfile again", "FROM python", 70),
            ("show me main.py again", "import flask", 110),
        ):
            assert shown in bank.recall(ANN, question, token_budget=budget).text


HOOK = "export function useDebouncedSearch(term) {\n  return useSettled(term, 275);\n}"
CRC = "func FrameChecksum(frame []byte) uint32 {\n\treturn crc32.ChecksumIEEE(frame)\n}"
LOOP = "for (const each of rows) {\n  print(each);\n}"


@pytest.mark.parametrize(
    ("question", "code"),
    [
        ("Is there something debounced?", HOOK),
        ("useDebouncedSearch", HOOK),
        ("Show me FrameChecksum", CRC),
        ("What is the checksum of?", CRC),
    ],
)
def test_names_of_code_are_found_whole_and_by_their_words(question: str, code: str) -> None:
    with MemoryBank.open() as bank:
        for number, each in enumerate([LOOP, HOOK, LOOP.replace("rows", "cells"), CRC]):
            said = [Message("And this?"), Message(f"Try it:\n\n```\n{each}\n```\n\nGood luck.", "assistant")]
            bank.remember(ANN, said, session=f"s{number}", close=True)
        bank.remember(ANN, [Message("I search, and use what is settled; frame by frame.")], session="t", close=True)
        [first, *_] = bank.recall(ANN, question, k=1).hits
    assert code in first.turns[0].messages[1].text


def test_a_question_about_the_same_reply_is_answered_by_its_words(bank: MemoryBank) -> None:
    found = bank.recall(ANN, "What did you say about sharing a restaurant bill fairly?", token_budget=250).text
    assert "matter of rounding" in found
    assert "def share_out" not in found


@pytest.mark.parametrize(
    "question",
    [
        "give me that code again",
        "What was that command again?",
        "Wie war der Befehl noch mal?",
        "C'était quoi la commande déjà ?",
        "¿Cuál era el comando?",
        "再给我一次那段代码",
    ],
)
def test_code_that_shares_no_word_with_the_question_is_shown_in_a_small_block(bank: MemoryBank, question: str) -> None:
    bank.remember(ANN, [Message("And the soup?"), Message("Salt it. " * 90, "assistant")], session="soup", close=True)
    assert "def share_out" in bank.recall(ANN, question, token_budget=120).text


def test_of_code_that_shares_no_word_with_the_question_only_the_newest_is_found() -> None:
    with MemoryBank.open() as bank:
        for number in range(40):
            said = [Message("Help?"), Message(f"Sure.\n\n```sh\nmake part{number}\n```\n\nGood luck.", "assistant")]
            bank.remember(ANN, said, session=f"s{number}", close=True)
        found = bank.recall(ANN, "Give me that command again", k=50)
    assert [hit.turns[0].session for hit in found.hits if hit.kind == "relevant"] == ["s37", "s38", "s39"]
