"""Passages cover their text, whatever the text."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secom_core.conversation import Turn
from secom_core.memory import Segment
from secom_core.segmenters.fixed import EachTurn, FixedSize, WholeSession
from secom_core.segmenters.lexical import LexicalSegmenter
from secom_core.segmenters.passages import passages, segment_spans
from secom_core.text.terms import count_tokens

TEXTS = st.text() | st.lists(
    st.sampled_from(
        ["Ann: hi", "Bob: a longer line, with words.", "", "  ", "plain text! And more?", "今日は雨。明日は", "x" * 90]
    ),
    max_size=12,
).map("\n".join)


def pieces(text: str) -> list[str]:
    return [text[each.start : each.stop] for each in passages(text)]


def test_a_transcript_is_cut_into_utterances_with_their_continuation_lines() -> None:
    text = "Ann: hello\nhow are you?\n\nBob: fine.\n[2023-05-01 10:00] Ann: ok: yes\n"
    assert pieces(text) == ["Ann: hello\nhow are you?\n\n", "Bob: fine.\n", "[2023-05-01 10:00] Ann: ok: yes\n"]
    assert [each.turn.messages[0].speaker for each in passages(text)] == ["Ann", "Bob", "Ann"]
    assert passages(text)[0].turn.content == "hello\nhow are you?"


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffAnn: hello\nBob: fine\n",
        "\u200fAnn: hello\n\u200eBob: fine\n",
        "Ann\xa0:\xa0hello\nBob\xa0:\xa0fine\n",
        "Ann:\r\nhello\r\n\r\nBob:\r\nfine\r\n",
    ],
)
def test_invisible_characters_do_not_hide_the_names(text: str) -> None:
    said = [(each.turn.messages[0].speaker, each.turn.content) for each in passages(text)]
    assert said == [("Ann", "hello"), ("Bob", "fine")]
    assert "".join(pieces(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "12/03/2025, 14:05 - Messages are encrypted. Learn more.\n"
        "12/03/2025, 14:05 - Ann: hello\nall\n3/12/25, 2:06\u202fPM - Bob: fine\n",
        "14:05:10 From Ann to Everyone:\n\thello\nall\n14:05:12\t From  Bob : fine\n",
        "Ann (00:12):\nhello\nall\n\nBob (1:00:15): fine\n",
        "Ann  0:12\nhello\nall\n\nBob\t1:00:15\r\nfine\n",
        "Weekly meeting\n\nAnn  0:12\nhello\nall\n\nBob  0:15\nfine\n",
    ],
)
def test_the_time_may_stand_around_the_name(text: str) -> None:
    said = [(each.turn.messages[0].speaker, each.turn.content) for each in passages(text)]
    assert said == [("Ann", "hello\nall"), ("Bob", "fine")]
    assert "".join(pieces(text)) == text


def test_lines_with_times_are_no_transcript() -> None:
    log = "".join(f"2025-03-01 14:05:1{n},123 - worker - INFO - done: {n}\n" for n in range(9))
    prose = "The train left at 10:15.\nGhent: 10:40, as ever.\nIt rained.\nNobody came.\n"
    titles = "\n".join(
        f"{name}  3:4{n}" for n, name in enumerate("Heron Tern Grebe Coot Rail Stork Crane Egret".split())
    )
    for text in (log, prose, "Songs of the sea\n\n" + titles):
        assert all(message.speaker is None for each in passages(text) for message in each.turn.messages)


def test_roles_make_exchanges() -> None:
    text = "user: hello\nassistant: hi\nuser: bye\nassistant: see you"
    assert pieces(text) == ["user: hello\nassistant: hi\n", "user: bye\nassistant: see you"]
    assert [message.role for message in passages(text)[1].turn.messages] == ["user", "assistant"]


def test_prose_is_cut_into_sentences_and_a_lone_colon_makes_no_transcript() -> None:
    text = "It rains. Nobody came!\n\nNote: this. 今日は雨。明日は？晴れ"
    assert pieces(text) == ["It rains. ", "Nobody came!\n\n", "Note: this. ", "今日は雨。", "明日は？", "晴れ"]


PAGE = """The harbour has two cranes, and each of them is in-
spected by the crew in spring and again in autumn, before
Marta Falk and her men come. What they find is written in
the log. The cranes stand still on holidays.

Nobody works at night, when the gates of the harbour are
locked.
"""


def test_a_line_that_was_broken_to_fit_the_page_ends_no_sentence() -> None:
    assert "".join(pieces(PAGE)) == PAGE
    assert [" ".join(piece.split()) for piece in pieces(PAGE)] == [
        "The harbour has two cranes, and each of them is in- spected by the crew in spring and again in autumn, before "
        "Marta Falk and her men come.",
        "What they find is written in the log.",
        "The cranes stand still on holidays.",
        "Nobody works at night, when the gates of the harbour are locked.",
    ]
    ends = [PAGE[:b].rstrip()[-1] for _, b in segment_spans(PAGE, LexicalSegmenter(), limit=160, counter=len)]
    assert len(ends) > 1
    assert set(ends) == {"."}


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("# The harbour and its two old cranes\nthe harbour has two cranes", 2),
        ("The harbour has two cranes in the north\n\nthe other one is in the south", 2),
        ("milk and bread\nbutter and eggs", 2),
        ("The harbour has two cranes in the north\n- and a ferry in the south", 2),
        ("The crane of the harbour is from 1950\nMarta came\nThe ferry of the harbour is from the year 1960", 3),
        ("The harbour has two cranes in the north:\nthe old and the new", 2),
        ("- The harbour has two cranes, which were\n  built in 1950.\n- The ferry is new.", 2),
        ("1. Open the valve.\n2. Close the gate.", 2),
        ("(a) the valve\n(b) the gate", 2),
        ("We paid for the crane in 1950. It fell.", 2),
    ],
)
def test_what_ends_with_its_line_and_what_does_not(text: str, count: int) -> None:
    assert len(pieces(text)) == count
    assert "".join(pieces(text)) == text


def test_blank_text_has_no_passages() -> None:
    assert passages("") == passages(" \n\t") == []
    assert segment_spans(" \n", WholeSession()) == []


def test_odd_text_is_cut_in_no_time() -> None:
    odd = [
        "." * 50_000,
        '."' * 20_000,
        " " * 50_000 + "x",
        "\n" * 50_000 + "x",
        "Ann:" * 20_000,
        ("a" * 30 + " " * 99) * 400,
        ("a" * 40 + "\n" + " " * 40) * 2_000,
        ("a" + "\t" * 20_000 + "1") * 3,
        "1/1/25, 10:00 - " + " \n" * 20_000,
        ("1/1/25, 10:00 - b" + "\n" * 9) * 5_000 + "x",
        ("10:00:00 From a" + " to" * 9_000 + "\n") * 3,
    ]
    began = time.thread_time()
    for text in odd:
        passages(text)
    assert time.thread_time() - began < 2


def test_a_link_is_no_speaker() -> None:
    text = "https://a.example/x is one.\nhttps://b.example/y is two."
    assert all(message.speaker is None for each in passages(text) for message in each.turn.messages)


def test_a_limit_cuts_between_sentences_then_words_then_characters() -> None:
    text = "One two three. Four five six. " + "z" * 60
    spans = segment_spans(text, WholeSession(), limit=5)
    assert [text[a:b] for a, b in spans][:2] == ["One two three. ", "Four five six. "]
    assert all(count_tokens(text[a:b]) <= 5 for a, b in spans)


@pytest.mark.slow
@given(TEXTS, st.sampled_from([EachTurn(), FixedSize(3), WholeSession()]), st.none() | st.integers(1, 30))
@settings(max_examples=300, deadline=None)
def test_spans_cover_any_text(text: str, segmenter: FixedSize, limit: int | None) -> None:
    spans = segment_spans(text, segmenter, limit=limit)
    if not text.strip():
        assert spans == []
        return
    assert "".join(text[a:b] for a, b in spans) == text
    assert spans[0][0] == 0
    assert all(left[1] == right[0] for left, right in pairwise(spans))
    if limit is not None:
        assert all(count_tokens(text[a:b]) <= limit for a, b in spans if b - a > 1)


MARKDOWN = """# Birds

Herons stand in the river Leie. They wait for fish, and nobody sees them move.

```python
def heron():
    # waits

    return "fish"
```

## Nests

They nest in tall trees.

~~~~ text
```
a fence within a fence
```
~~~~

| bird  | nest |
|-------|------|
| heron | tree |

- Where they live:

  ```sh
  ls nests
  ```
"""


def fences(piece: str) -> int:
    # The fences within a fence come in a pair too.
    return sum(line.strip().startswith(("```", "~~~")) for line in piece.splitlines())


@pytest.mark.parametrize("segmenter", [EachTurn(), FixedSize(2), WholeSession(), LexicalSegmenter()])
@pytest.mark.parametrize("limit", [120, 200, 300])
def test_code_between_fences_and_tables_are_not_torn(segmenter: FixedSize, limit: int) -> None:
    pieces = [MARKDOWN[a:b] for a, b in segment_spans(MARKDOWN, segmenter, limit=limit, counter=len)]
    assert "".join(pieces) == MARKDOWN
    assert all(fences(piece) % 2 == 0 for piece in pieces)
    assert sum("| bird  | nest |\n|-------|------|\n| heron | tree |" in piece for piece in pieces) == 1
    assert all(len(piece) <= limit for piece in pieces)


def test_code_that_is_longer_than_the_limit_is_cut_between_its_lines() -> None:
    text = "Before.\n\n```\n" + "".join(f"line {n} = [1, 2. 3]\n" for n in range(40)) + "```\n"
    pieces = [text[a:b] for a, b in segment_spans(text, LexicalSegmenter(), limit=200, counter=len)]
    assert all(len(piece) <= 200 and piece.endswith("\n") for piece in pieces)
    assert len(pieces) <= 7


def test_a_document_that_fits_is_not_segmented() -> None:
    asked: list[int] = []

    class Asked:
        def segment(self, turns: Sequence[Turn]) -> list[Segment]:
            asked.append(len(turns))
            return EachTurn().segment(turns)

    text = "One two. Three four.\n\nFive six.\n"
    assert segment_spans(text, Asked(), limit=1000) == [(0, len(text))]
    assert not asked  # a language model may be what segments
    assert len(segment_spans(text, Asked())) == asked.pop() == 3
    assert len(segment_spans("Ann: hello\nBob: fine\n", Asked(), limit=1000)) == asked.pop() == 2


def test_a_document_is_cut_before_its_headings_and_fills_the_limit() -> None:
    text = "\n".join(f"# Part {part}\n\n" + "Words stand here, one by one.\n\n" * 9 for part in range(9))
    pieces = [text[a:b] for a, b in segment_spans(text, LexicalSegmenter(), limit=700, counter=len)]
    assert all(piece.startswith("# Part") for piece in pieces)
    assert len(pieces) == 5


def test_a_heading_stays_with_what_it_stands_above() -> None:
    text = "One two three four.\n\n# Five\n\nSix seven eight nine.\n"
    assert [text[a:b] for a, b in segment_spans(text, EachTurn(), limit=32, counter=len)] == [
        "One two three four.\n\n",
        "# Five\n\nSix seven eight nine.\n",
    ]


def test_headings_stay_with_what_they_stand_above_where_each_segment_is_a_piece() -> None:
    text = "One two.\n\n# Three\n\n## Four\n\nFive six.\n\n### Seven\n\n```\neight\n```\n"
    assert [text[a:b] for a, b in segment_spans(text, EachTurn())] == [
        "One two.\n\n",
        "# Three\n\n## Four\n\nFive six.\n\n",
        "### Seven\n\n```\neight\n```\n",
    ]
    assert segment_spans("# One\n\n# Two", EachTurn()) == [(0, 12)]


def test_the_turns_of_a_transcript_keep_their_code() -> None:
    code = "```yaml\nname: heron\nfood: fish\n```\n"
    text = f"User: How do I write it?\nAssistant: So:\n{code}User: And for a tern?\nAssistant: Alike:\n{code}"
    assert [each.turn.content for each in passages(text)] == [
        f"How do I write it?\nSo:\n{code}".strip(),
        f"And for a tern?\nAlike:\n{code}".strip(),
    ]


def test_a_chat_with_long_replies_is_cut_between_its_exchanges() -> None:
    reply = "Two ways:\n\nCost: low\n\n1. Boil it.\n2. Fry it.\n\n## Then\n\nNote: with salt.\n\nServe it.\n\n"
    text = "".join(f"User: How do I cook {dish}?\n\nAssistant: {reply}" for dish in ("rice", "oats", "corn"))
    exchanges = [f"User: How do I cook {dish}?\n\nAssistant: {reply}" for dish in ("rice", "oats", "corn")]
    assert pieces(text) == exchanges
    assert [text[a:b] for a, b in segment_spans(text, EachTurn(), limit=60)] == exchanges
    for user, assistant in [("用户：", "助手："), ("**User:**", "**Assistant:**"), ("**Human**:", "**AI**:")]:
        said = [each.turn.messages for each in passages(text.replace("User:", user).replace("Assistant:", assistant))]
        assert [(asked.text, answer.role) for asked, answer in said] == [
            (f"How do I cook {dish}?", "assistant") for dish in ("rice", "oats", "corn")
        ]
    # Fields in a reply are no speakers, whatever they are called.
    fields = text.replace("Cost: low", "**User**: one\n**AI**: yes\nModel: new")
    assert {message.role for each in passages(fields) for message in each.turn.messages} == {"user", "assistant"}
    assert len(pieces(fields)) == 3
    # One exchange at the beginning of a document is an example.
    document = "User: Why?\nAssistant: So.\n\n" + "It is so. It stays so.\n\n" * 9
    assert all(not each.turn.messages[0].role for each in passages(document))


def test_an_assistant_among_people_is_one_of_them() -> None:
    said = ["Ann: Hello.", "AI: Hi, I take notes.", "Ann: The budget is 5,000.", "User: I joined late.", "AI: Noted."]
    found = [message for each in passages("\n".join(said)) for message in each.turn.messages]
    assert [f"{message.speaker or ''}{message.role}" for message in found] == "Ann assistant Ann user assistant".split()


YAML = """kind: Deployment
metadata:
  name: web
  labels:
    app: web
spec:
  selector:
    matchLabels:
      app: web
  template:
    spec:
      image: heron
      resources:
        limits:
          memory: 256Mi
"""


def test_terms_that_come_once_each_are_no_speakers() -> None:
    terms = ["Heron", "Tern", "Grebe", "Coot", "Stork", "Crane", "Rail", "Bittern", "Egret"]
    glossary = "\n".join(f"{term}: a bird that lives near water" for term in terms)
    assert all(message.speaker is None for each in passages(glossary) for message in each.turn.messages)
    assert segment_spans(glossary, EachTurn(), limit=1000, counter=len) == [(0, len(glossary))]
    # A round in which many speak once, and some answer.
    talk = "\n".join(f"{term}: I am here.\nChair: Thank you." for term in terms)
    assert {each.turn.messages[0].speaker for each in passages(talk)} == {*terms, "Chair"}


def test_keys_of_yaml_are_no_speakers() -> None:
    assert all(message.speaker is None for each in passages(YAML) for message in each.turn.messages)
    assert segment_spans(YAML, EachTurn(), limit=1000, counter=len) == [(0, len(YAML))]
    assert pieces("Ann: I sing.\n  Bob: So do I.\n  Ann: When?\n") == [
        "Ann: I sing.\n",
        "  Bob: So do I.\n",
        "  Ann: When?\n",
    ]
    # Words below a name are words, also further in.
    assert pieces("Ann:\n  I sing.\nBob:\n  So do I.\n") == ["Ann:\n  I sing.\n", "Bob:\n  So do I.\n"]
