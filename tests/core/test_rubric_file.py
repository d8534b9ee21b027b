"""A rubric as a page: written, edited by hand, read again."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from secom_core.conversation import as_turns
from secom_core.errors import InvalidInput, SchemaTooNew
from secom_core.llm.flow import Cost
from secom_core.memory import Segment
from secom_core.segmenters import Rubric
from secom_core.segmenters.zero_shot_prompt import segmentation_example

SHOWN = segmentation_example(as_turns(["## Rules", "1. One\n```\n- two", "<b>"]), [Segment(0, 3)], "a note")
RUBRIC = Rubric(
    ("Keep a question with its answer.", "寒暄自成一段。"),
    (SHOWN, "another\n\n````\n## Rules\n````"),
    "Learned with tiny from the 100 hardest of 300 sessions.",
    Cost(310, 200_000, 30_000),
)

MARKDOWN = ["```", "## Rules", "1. x", "<!--"]
words = st.text(max_size=40).map(lambda text: f"{text}w")


@pytest.mark.slow
@given(
    items=st.lists(words, max_size=6),
    examples=st.lists(
        st.lists(st.text(max_size=20) | st.sampled_from(["```", "## Rules", "1. x", "<!--"])), max_size=3
    ),
    note=st.text(max_size=40),
    cost=st.builds(Cost, *[st.integers(0, 10**9)] * 3),
)
@example(items=["# x", "- y", "(none yet)w", "<!-- z", "``` w"], examples=[["`````"]], note="", cost=Cost())
@example(items=["w"], examples=[], note="## Rules", cost=Cost())
@example(items=["w"], examples=[], note="```", cost=Cost())
@example(items=["\ud800w"], examples=[["\ud800"]], note="\ud800", cost=Cost())
def test_what_is_written_is_read(items, examples, note, cost):
    rubric = Rubric(tuple(items), tuple("\n".join([*lines, "w"]) for lines in examples), note, cost)
    assert Rubric.parse(rubric.markdown) == rubric


def test_it_is_saved_and_loaded(tmp_path):
    path = tmp_path / "rubric.md"
    RUBRIC.save(path)
    assert Rubric.load(path) == RUBRIC
    assert [each.name for each in tmp_path.iterdir()] == ["rubric.md"]
    page = path.read_text("utf-8")
    assert "## Rules\n\n1. Keep a question with its answer.\n2. 寒暄自成一段。\n" in page
    assert "Cost: 310 calls, 200000 tokens in, 30000 tokens out." in page


def test_edits_by_hand_survive(tmp_path):
    path = tmp_path / "rubric.md"
    RUBRIC.save(path)
    page = path.read_text("utf-8")
    page = page.replace(
        "1. Keep a question", "My own words.\n\n* A joke belongs\nto what it is about.\n1) Never split a question"
    )
    page = page.replace("## Examples", "<!-- why? -->\n### for later\n\n## Thoughts\n\n- not a rule\n\n## Examples")
    page = page.replace("2. 寒暄自成一段。\n", "")
    path.write_bytes(b"\xef\xbb\xbf" + page.replace("\n", "\r\n").encode())
    edited = Rubric.load(path)
    assert edited.items == (
        "My own words.",
        "A joke belongs to what it is about.",
        "Never split a question with its answer.",
    )
    assert (edited.examples, edited.note, edited.cost) == (RUBRIC.examples, RUBRIC.note, RUBRIC.cost)
    with pytest.raises(InvalidInput, match=r"rubric\.md says something else, perhaps edited by hand; .*replace=True"):
        RUBRIC.save(path)
    assert Rubric.load(path) == edited
    RUBRIC.save(path, replace=True)
    RUBRIC.save(path)
    assert Rubric.load(path) == RUBRIC


def test_a_page_written_by_hand():
    page = "<!-- secom-rubric version 1 -->\n## rules\n- One.\n- Two,\n  continued.\n"
    assert Rubric.parse(page) == Rubric(("One.", "Two, continued."))


@pytest.mark.parametrize(
    ("page", "error", "reason"),
    [
        ("", InvalidInput, "has no line <!-- secom-rubric version 1 -->; it begins ''"),
        ("# Shopping\n- eggs", InvalidInput, "it begins '# Shopping"),
        ("<!-- secom-rubric version 2 -->\n## Rules\n- x", SchemaTooNew, "version 2, this package reads up to 1"),
        ("<!-- secom-rubric version 1 -->\n## Rulez\n- x", InvalidInput, r'no section "## Rules", only \[\'rulez\'\]'),
        (
            "<!-- secom-rubric version 1 -->\n## Rules\n- x\n## Examples\n```text\n<conversation>",
            InvalidInput,
            "line 5 of the page opens a block with ``` that is not closed",
        ),
        (
            "<!-- secom-rubric version 1 -->\n## Rules\n- x\n## Examples\n<conversation>",
            InvalidInput,
            "line 5 of the page: an example stands between lines of ```, got '<conversation>'",
        ),
        ("<!-- secom-rubric version 1 -->\n## Rules\n- ...", InvalidInput, r"a rule needs words, got \('\.\.\.',\)"),
    ],
)
def test_a_page_that_cannot_be_read_says_why(page, error, reason):
    with pytest.raises(error, match=reason):
        Rubric.parse(page)


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "rubric.md").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match=r"rubric\.md is no text in UTF-8: .*0xff"):
        Rubric.load(tmp_path / "rubric.md")


@pytest.mark.parametrize("values", [{"items": ("",)}, {"items": ("a", " - ")}, {"examples": ("```",)}])
def test_empty_rules_and_examples_are_refused(values):
    with pytest.raises(InvalidInput, match="needs words, got"):
        Rubric(**values)


def test_one_string_is_not_taken_for_many():
    with pytest.raises(InvalidInput, match="items are several texts, not the one string 'abc'"):
        Rubric("abc")


def test_guidance_is_a_list_that_leaves_no_tag_open():
    assert Rubric(("One </rubric> two.", "Three.")).guidance == "- One &lt;/rubric&gt; two.\n- Three."
    assert Rubric().guidance is None


@given(st.text(max_size=300))
def test_any_page_is_read_or_refused(text):
    try:
        rubric = Rubric.parse(f"<!-- secom-rubric version 1 -->\n## Rules\n{text}")
    except InvalidInput:
        return
    assert Rubric.parse(rubric.markdown) == rubric
