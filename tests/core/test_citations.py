"""Markers in answers: which count, what the user sees, and that pieces of a stream read like the whole."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secom_core.citations import Citations, CitationStream, read_citations
from secom_core.context.block import citable, render
from secom_core.conversation import as_turns
from secom_core.memory import Hit, Memory

SHOWN = (0, 1, 2, 3, 12)


@pytest.mark.parametrize(
    ("answer", "numbers"),
    [
        ("She moved in May [1].", (1,)),
        ("Both [1][3].", (1, 3)),
        ("Three [0, 2,3].", (0, 2, 3)),
        ("Semicolons [1; 2].", (1, 2)),
        ("[m12] and [M1]", (12, 1)),
        ("Again [1], and [1], and [1, 1].", (1,)),
        ("The later first [3], then [1].", (3, 1)),
        ("Blanks [ 2 ].", (2,)),
        ("No blank[2]", (2,)),
        ("**[2]** and ([3])", (2, 3)),
        ("No marker: [one], [1a], [a1], [1.5], [-1], [#1], [1..3], [], [,], [1,,2], [1,].", ()),
        ("Escaped \\[1\\], a task [ ], [x].", ()),
        ("A link [1](https://example.org/1), a footnote [1] (here).", (1,)),
        ("Broken [1", ()),
        ("Broken 1]", ()),
        ("Two lines [1,\n2]", ()),
        ("[[2]]", (2,)),
        ("[" * 500 + "1]", ()),
        ("[" + "1," * 200 + "1]", ()),
        ("[99999999999999999999]", ()),
    ],
)
def test_formats(answer: str, numbers: tuple[int, ...]) -> None:
    found = read_citations(answer, SHOWN)
    assert found.numbers == numbers
    assert found.text == answer


@pytest.mark.parametrize(
    ("answer", "numbers", "shown"),
    [
        ("In May [1-3].", (1, 2, 3), "In May."),
        ("In May [1–3], [1 — 2] and [2−3].", (1, 2, 3), "In May."),
        ("In May [1-9].", (), "In May [1-9]."),
        ("In May [3-1].", (), "In May [3-1]."),
        ("In May [1]-[3], [1] – [3].", (1, 2, 3), "In May."),
        ("In May [3]-[1], [0, 1]-[3] and [12].", (3, 1, 0, 12), "In May."),
        ("In May [3]-[12].", (3, 12), "In May."),
        ("他五月搬家了【1】。", (1,), "他五月搬家了。"),
        ("他五月搬家了［２］，六月也是【1，3】。", (2, 1, 3), "他五月搬家了，六月也是。"),
        ("In May [Memory 1].", (1,), "In May."),
        ("In May [Memories 1 and 3], [mem 2].", (1, 3, 2), "In May."),
        ("Im Mai [Erinnerung 1]. 五月［记忆2］。", (1, 2), "Im Mai. 五月。"),
        ("In May [^1][^2].\n\n[^1]: From a talk.", (1, 2), "In May.\n\n[^1]: From a talk."),
        ("In May【3:1†source】.", (1,), "In May."),
        ("In **May** **[1]**, ([2]) and <sup>[3]</sup>.", (1, 2, 3), "In **May**."),
        ("In *May* *[1]*, not in a*[2]*3.", (1,), "In *May*, not in a*[2]*3."),
        ("In May [1] [77].", (1,), "In May [77]."),
        ("In May [1, 77].", (1,), "In May [1, 77]."),
        ("In May (1).", (), "In May (1)."),
        ("According to [1] and [2], in May.", (1, 2), "According to [1] and [2], in May."),
        ("In the town she moved to [1].", (1,), "In the town she moved to."),
        ("[1] says so.\n[2] May it be.", (1, 2), "[1] says so.\nMay it be."),
        ("In May [1].\n\nReferences:\n[1] March\n[2] Lent", (1, 2), "In May.\n\nReferences:\nMarch\nLent"),
        ("In May.\n\nReferences:\n[1], [2]", (1, 2), "In May.\n\nReferences:\n[1], [2]"),
    ],
)
def test_forms_of_a_citation(answer: str, numbers: tuple[int, ...], shown: str) -> None:
    found = read_citations(answer, SHOWN, markers="strip")
    assert (found.numbers, found.text) == (numbers, shown)


@pytest.mark.parametrize(
    "text",
    [
        "xs = [1, 2, 3]",
        "The array is [1, 2, 3], and a[1] is 2.",
        "Sort it:\n[3, 1, 2]",
        "[1, 2, 3].append(12)",
        "So [1, 2] + [3] is longer.",
        "matrix [[1, 2], [3, 12]]",
        '{"ids": [1], "of": [2, 3]}',
        "f([1, 2]) and f(x)[1] and d['a'][1] and self.items[2] and xs[0]",
        "The score was [1-3].",
        "Since $x \\in [1, 2]$ and \\(a[1]\\):\n$$\n[1]\n$$",
        "Escaped \\[1\\].",
        "A [link](https://example.org), [text][1].\n\n[1]: https://example.org",
        "<pre>\n[1]\n</pre>",
        'It says "[1]" there.',
        "Use `NO_CITE` or NO_CITED_X.",
    ],
)
def test_numbers_that_are_no_citations_stay(text: str) -> None:
    answer = f"{text}\n\nIn May [12]."
    assert read_citations(answer, SHOWN, markers="strip") == Citations(f"{text}\n\nIn May.", (12,))


@pytest.mark.parametrize("text", ["xs = [1, 2, 3]", "In May [1].", "I do not know. [NO_CITE]", "In May [1"])
def test_where_nothing_was_shown_nothing_is_read_and_nothing_waits(text: str) -> None:
    stream = CitationStream((), markers="strip")
    assert stream.feed(text) == text
    assert stream.finish() == Citations("")


def test_parentheses_cite_where_they_are_asked_for() -> None:
    found = read_citations("(1) In May (2), f(1) (1, 3)（12）.", SHOWN, markers="strip", parentheses=True)
    assert (found.numbers, found.text) == ((2, 1, 3, 12), "(1) In May, f(1).")


@pytest.mark.parametrize(
    ("answer", "numbers"),
    [
        ("`[1]` but [2]", (2,)),
        ("``a ` [1]`` but [2]", (2,)),
        ("```python\nx = y[1]\n```\nbut [2]", (2,)),
        ("~~~\n[1]\n```\n[1]\n~~~\nbut [2]", (2,)),
        ("````\n```\n[1]\n```\n````\n[2]", (2,)),
        ("  ```\n  [1]\n  ```\n[2]", (2,)),
        ("```\nnever closed [1]\n\n[2]", ()),
        ("a stray ` tick [1]", (1,)),
        ("a stray ` tick [1]\n\nand `[2]` then [3]", (1, 3)),
        ("``[1]` still open [2]", (1, 2)),
        ("a ``` b [1] ``` c [2]", (2,)),
        ("~[1]~", (1,)),
    ],
)
def test_code_does_not_count(answer: str, numbers: tuple[int, ...]) -> None:
    assert read_citations(answer, SHOWN).numbers == numbers


def test_only_what_was_shown_counts() -> None:
    found = read_citations("[1][4][99, 1]", (1, 2))
    assert (found.numbers, found.unknown) == ((1,), (4, 99))


@pytest.mark.parametrize(
    "marker", ["[NO_CITE]", "NO_CITE", "(NO_CITE)", "[no_cite]", "[NO CITATION]", "[NO_CITATIONS]", "[No_Cited]"]
)
def test_no_cite(marker: str) -> None:
    found = read_citations(f"I do not know. {marker}", SHOWN, markers="strip")
    assert (found.numbers, found.none_used, found.is_feedback, found.text) == ((), True, True, "I do not know.")


def test_an_answer_without_markers_tells_nothing() -> None:
    assert not read_citations("She moved in May.", SHOWN).is_feedback
    assert not read_citations("Only what was not shown [77].", SHOWN).is_feedback
    assert read_citations("In May [1].", SHOWN).is_feedback


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ("In May [1].", "In May."),
        ("In May [1][3], and in June [2] too.", "In May, and in June too."),
        ("In May [1] [3].", "In May."),
        ("In May. [1]. In June? [2].", "In May. In June?"),
        ("In May, etc. [1]...", "In May, etc..."),
        ("[1] In May.", "In May."),
        ("Keep `x[1]` and [a].", "Keep `x[1]` and [a]."),
        ("Two  spaces stay.  ", "Two  spaces stay.  "),
        ("A list\n\n- one [1]\n- two [2]", "A list\n\n- one\n- two"),
    ],
)
def test_stripping(answer: str, shown: str) -> None:
    assert read_citations(answer, SHOWN, markers="strip").text == shown


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ("Marta does, see [1][2].", "Marta does, see [1][2]."),
        ("Compare [1] with [2]: the second is newer.", "Compare [1] with [2]: the second is newer."),
        ("[1] with [2] compared with [3]: newer.", "[1] with [2] compared with [3]: newer."),
        ("Compare [1][3] with [2]: newer.", "Compare [1][3] with [2]: newer."),
        ("He moved [1] to Ghent [2].", "He moved to Ghent."),
        ("He went [1] with Ann [2], to Lier.", "He went with Ann, to Lier."),
    ],
)
def test_of_a_pair_all_markers_stay_or_none(answer: str, shown: str) -> None:
    assert read_citations(answer, range(1, 4), markers="strip").text == shown
    stream = CitationStream(range(1, 4), markers="strip")
    assert "".join(map(stream.feed, answer)) + stream.finish().text == shown


def test_a_quoted_memory_cites_nothing() -> None:
    turns = as_turns(["As I said [2], and [3], it rained."], "s")
    block = citable(render([Hit(Memory("s#0-1", "", turns), turns, 1.0, 1)]))
    assert read_citations(block.splitlines()[2].removeprefix("[1] "), SHOWN).numbers == ()
    assert read_citations(block, SHOWN).numbers == (1,)


def test_a_block_that_is_copied_in_place_of_an_answer_cites_nothing() -> None:
    # What SmolLM2-135M-Instruct answered a question about somebody's cat, asked through a LangChain agent, in short.
    copied = "[1] user: Hi! I'm Ann. I moved to Ghent last week.\n\n[2] user: Yes please. I can spend 80 euros at most."
    for markers in ("keep", "strip"):
        done = streamed(copied, list(range(len(copied))), markers)
        assert (done.text, done.numbers) == (copied, ())
        assert not done.is_feedback
    assert read_citations("[1] assistant: It rained.", SHOWN).numbers == ()
    said = "You moved in May [1].\n[2] users were asked. According to [3] user: names are free."
    assert read_citations(said, SHOWN).numbers == (1, 2, 3)


# -- streaming --------------------------------------------------------------------------------------------------------

PIECES = """[1] [ ] ( ) ** * 1 2, [0,2] [1-3] 1–3 【1】 【 】 ［2］ [Memory Memory [^1] : [77] [1,77] [NO_CITE] NO_CITE
N NO_ ` `` ``` ~~~ $ $$ \\ \\[ \\] \\( \\) <sup> </sup> <code> </code> <think> </think> < = + ! . , ; " - | m12 word
xs in see and list with to Sources: 值 和 †a"""
PIECE = st.sampled_from([*PIECES.split(), " ", "  ", "\n", "\n\n", "[0, 2]", "- "])
ANSWER = st.one_of(st.lists(PIECE, max_size=30).map("".join), st.text(max_size=60))


def streamed(answer: str, cuts: list[int], markers: str) -> Citations:
    stream = CitationStream(SHOWN, markers=markers)  # type: ignore[arg-type]
    places = sorted({min(cut, len(answer)) for cut in cuts} | {0, len(answer)})
    text = "".join(stream.feed(answer[a:b]) for a, b in pairwise(places))
    done = stream.finish()
    return Citations(text + done.text, done.numbers, done.unknown, done.none_used)


@pytest.mark.slow
@given(ANSWER, st.lists(st.integers(0, 80), max_size=12), st.sampled_from(["keep", "strip"]))
def test_pieces_read_like_the_whole(answer: str, cuts: list[int], markers: str) -> None:
    assert streamed(answer, cuts, markers) == read_citations(answer, SHOWN, markers=markers)  # type: ignore[arg-type]


@pytest.mark.slow
@given(ANSWER)
def test_one_character_at_a_time(answer: str) -> None:
    assert streamed(answer, list(range(len(answer))), "strip") == read_citations(answer, SHOWN, markers="strip")


@given(st.text())
def test_kept_text_is_the_answer_and_only_shown_numbers_come_out(answer: str) -> None:
    found = read_citations(answer, SHOWN)
    assert found.text == answer
    assert set(found.numbers) <= set(SHOWN)
    assert len(set(found.numbers)) == len(found.numbers)


@pytest.mark.slow
@given(ANSWER)
def test_stripped_text_has_only_characters_of_the_answer_in_order(answer: str) -> None:
    rest = iter(answer)
    assert all(character in rest for character in read_citations(answer, SHOWN, markers="strip").text)


def test_text_does_not_wait_longer_than_it_must() -> None:
    stream = CitationStream(SHOWN, markers="strip")
    assert stream.feed("In May") == "In May"
    assert stream.feed(" [") == ""
    assert stream.feed("1") == ""
    assert stream.feed("]") == ""
    assert stream.feed(".") == "."
    assert stream.feed(" See [x") == " See"
    assert stream.feed("?]") == " [x?]"
    assert stream.finish() == Citations("", (1,))


@pytest.mark.parametrize("begun", ["[", "(", "**[", "【", "[see ", "[1", "$a", "<sup>[", "[Memory ", "NO_CITE", " "])
@pytest.mark.parametrize("unit", ["a ", "1, ", "1", "[1]", "x$", " "])
def test_no_more_than_some_hundred_characters_wait(begun: str, unit: str) -> None:
    stream, fed, shown = CitationStream(SHOWN), 0, 0
    for piece in [f"In May {begun}", *[unit] * 300]:
        fed, shown = fed + len(piece), shown + len(stream.feed(piece))
        assert fed - shown < 200


def test_an_answer_that_breaks_off_gives_no_citations() -> None:
    stream = CitationStream(SHOWN)
    shown = stream.feed("In May [1] and then [2")
    broken = stream.abandon()
    assert shown + broken.text == "In May [1] and then [2"
    assert (broken.numbers, broken.finished, broken.is_feedback) == ((), False, False)


@pytest.mark.slow
def test_a_long_answer_is_read_in_linear_time() -> None:
    answer = "word [1] `code [2]` [ " * 4_000
    found = read_citations(answer, SHOWN, markers="strip")
    assert found.numbers == (1,)


@pytest.mark.slow
@pytest.mark.parametrize("step", [1, 5_000])
@pytest.mark.parametrize(
    "unit",
    [
        "`",
        "~",
        "[",
        "[1",
        "1, ",
        "[a ",
        "[ ",
        "<",
        "</",
        "<think>",
        "[1]",
        "`[1]\n",
        " ",
        "$",
        "$a",
        "(",
        "([1]",
        "\\[",
        "N",
    ],
)
def test_no_answer_takes_time_that_grows_with_its_square(unit: str, step: int) -> None:
    """Eight times the answer, in pieces of any size: a square would take 64 times as long."""
    for start in ("", "["):
        for _ in range(3):  # the machine has other work
            short, long = (time_of(start + unit * (n // len(unit)) + "]", step) for n in (400, 3_200))
            if long < 24 * short + 0.1:
                break
        else:
            pytest.fail(f"{start!r}: {short:.4f} s, then {long:.4f} s")


def time_of(answer: str, step: int) -> float:
    began = time.thread_time()
    stream = CitationStream(SHOWN, markers="strip")
    for place in range(0, len(answer), step):
        stream.feed(answer[place : place + step])
    stream.finish()
    return time.thread_time() - began


@pytest.mark.parametrize("run", ["`", "~"])
@pytest.mark.parametrize("step", [1, 3, 1000])
def test_a_run_that_goes_on_and_on_reads_like_the_whole(run: str, step: int) -> None:
    for answer in (run * 500, f"[1] {run * 500}[2]{run * 500}[3]", f"\n{run * 500}\n[1]\n{run * 501} [2]\n[3]"):
        assert streamed(answer, list(range(0, len(answer), step)), "strip") == read_citations(
            answer, SHOWN, markers="strip"
        )


@pytest.mark.parametrize(
    ("answer", "numbers"),
    [
        ("<think>[1] says so, or [2].</think>\nIt was [3].", (3,)),
        ("\n <THINKING>\n```\n[1]\n</THINKING> [2]", (2,)),
        ("No opening tag, [1] and `[2]</think> but [3].", (3,)),
        ("<think>[1] and then nothing came", ()),
        ("a < b [1] <b>bold</b> [2] <thinker> [3]", (1, 2, 3)),
        ("It was [1], <think> they say [2].", (1, 2)),
        ("<", ()),
        ("[1]<", (1,)),
        ("[1]</thin", (1,)),
    ],
)
def test_what_a_model_thinks_aloud_cites_nothing(answer: str, numbers: tuple[int, ...]) -> None:
    assert read_citations(answer, numbers=range(1, 9)).numbers == numbers
    for size in (1, 2, 5):
        stream = CitationStream(numbers=range(1, 9))
        text = "".join(stream.feed(answer[start : start + size]) for start in range(0, len(answer), size))
        done = stream.finish()
        assert (text + done.text, done.numbers) == (answer, numbers)


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ("[3]", "[3]"),
        (" [1][2]\n", "[1][2]"),
        ("[3].", "[3]."),
        ("[2] and [3].", "[2] and [3]."),
        ("[NO_CITE]", ""),
        ("[1] Yes", "Yes"),
    ],
)
def test_an_answer_of_citations_alone_is_shown(answer: str, shown: str) -> None:
    """Small models answer so; the user is not to see nothing."""
    whole = read_citations(answer, [1, 2, 3], markers="strip")
    stream = CitationStream([1, 2, 3], markers="strip")
    pieces = [*map(stream.feed, answer), stream.finish().text]
    assert whole.text.strip() == "".join(pieces).strip() == shown
