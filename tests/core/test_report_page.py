"""The page of all that a scope remembers: nothing that anybody said can run, load, or stand for anything but itself."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from secom_core.citations import CitationEntry, Impression
from secom_core.citations import look as citations
from secom_core.conversation import WRITTEN_BY, Message, Turn, group_messages
from secom_core.errors import InvalidInput
from secom_core.memory import Segment
from secom_core.pictures.report import ReportedSession, ReportSection, ScopeContents, scope_report
from secom_core.summaries import Summary
from secom_core.summaries import look as summaries
from secom_core.timelines import Event, Link, Relation
from secom_core.timelines import look as timelines
from secom_core.topics import Topic, TopicVersion
from secom_core.topics import look as topics

DAY = datetime(2025, 1, 31, 9, 30, tzinfo=timezone.utc)
MADE = datetime(2026, 11, 21, tzinfo=timezone.utc)
NASTY = (
    '</style></script><script>document.title="owned"</script><img src="//evil.example/x" onerror=alert(1)>'
    "\"' <!-- --> ]]> &amp; <base href=//evil.example> javascript:alert(1) https://evil.example/ "
    "\x00\x1b[2J\ud83d \u202eleft\u202c \ufffe"
)
VOID = {"meta", "input", "br"}


class Page(HTMLParser):
    """What a browser makes of a page: elements with their attributes, and text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)

    @property
    def tags(self) -> set[str]:
        return {tag for tag, _ in self.elements}

    @property
    def ids(self) -> list[str]:
        return [each["id"] for _, each in self.elements if each.get("id")]  # type: ignore[misc]


def session(name: str, texts: list[str], cuts: tuple[int, ...] = (), at: datetime = DAY) -> ReportedSession:
    said = [
        Message(text, ("user", "assistant")[place % 2], id=f"{name}-{place}", at=at + timedelta(minutes=place))
        for place, text in enumerate(texts)
    ]
    turns = group_messages(said, name)
    bounds = [0, *cuts, len(turns)]
    segments = tuple(Segment(start, stop) for start, stop in pairwise(bounds))
    return ReportedSession(name, turns, segments)


def answer(query: str | None = "q", *, shown: int, cited: int) -> CitationEntry:
    numbers = tuple(range(1, shown + 1))
    each = tuple(map(str, numbers))
    impression = Impression("a", numbers, each, tuple((id_,) for id_ in each), (0.0,) * shown, DAY)
    return CitationEntry(impression, query, numbers[:cited], DAY)


def sections(
    *,
    of_summaries: Sequence[Summary] = (),
    of_timelines: tuple[Sequence[Event], Sequence[Link]] = ((), ()),
    of_topics: Sequence[Topic] = (),
    of_citations: Sequence[CitationEntry] = (),
    missing: int = 0,
) -> tuple[ReportSection, ...]:
    """What the layers show, as they show it of a bank."""
    return (
        ReportSection("summaries", "Summary", len(of_summaries), lambda page: summaries.report(of_summaries)),
        ReportSection(
            "timelines", "Timelines", len(of_timelines[0]), lambda page: timelines.report(*of_timelines, page)
        ),
        ReportSection("topics", "Topics", len(of_topics), lambda page: topics.report(of_topics, page), missing),
        ReportSection(
            "citations", "Citations", len(of_citations), lambda page: citations.report(of_citations, len(of_citations))
        ),
    )


def full(words: str = "words", answers: Sequence[CitationEntry] | None = None) -> ScopeContents:
    """One of everything, all of it saying the same."""
    first, later = session(words, [words] * 6, (1,)), session("later", [words] * 4, at=DAY + timedelta(days=40))
    turn_ids = tuple(turn.id for turn in first.turns)
    versions = TopicVersion(2, words, words, words, turn_ids, TopicVersion(1, words, words, words, turn_ids[:1]))
    summary = Summary(2, words, words, turn_ids, Summary(1, words, words, turn_ids), provisional=True)
    if answers is None:
        answers = [answer(words if n else None, shown=4, cited=n) for n in range(4)]
    return ScopeContents(
        (words, "alice"),
        (first, later),
        sections(
            of_summaries=(summary.previous or summary, summary),
            of_timelines=(
                [Event(n, words, DAY + timedelta(days=n), words, turn_ids) for n in (1, 2, 3)],
                [Link(1, 2, Relation.CHANGED), Link(2, 99, Relation.CAUSE)],
            ),
            of_topics=[Topic(1, words, versions, (*turn_ids, "gone"))],
            of_citations=answers,
            missing=3,
        ),
    )


def report(contents: ScopeContents, turns: int = 2000) -> str:
    return scope_report(contents, made=MADE, turns=turns)


# -- what it says -----------------------------------------------------------------------------------------------------


def test_everything_is_on_the_page() -> None:
    page = Page(report(full("Hello there")))
    assert page.open == []
    for words in (
        "What is remembered, as of 2026-11-21 00:00 UTC",
        "Version 1, after Hello there",
        "Not in here yet: 3 closed sessions.",
        "3 turns · 2 segments",
        "Thread 1: 2 events, 2025-02-01 to 2025-02-02",
        "The reranker was updated 4 times by what answers cited.",
        "a turn that is gone",
        "forgotten",
    ):
        assert words in page.text, words
    numbers = re.findall(r"<dt>([\w ]+)</dt><dd>([\d,-]+)</dd>", report(full()))
    assert numbers == [
        ("sessions", "2"),
        ("turns", "5"),
        ("messages", "10"),
        ("segments", "3"),
        ("summary", "2"),
        ("timelines", "3"),
        ("topics", "1"),
        ("citations", "4"),
        ("from", "2025-01-31"),
        ("to", "2025-03-12"),
    ]


def test_a_layers_title_is_text_and_not_html() -> None:
    odd = ReportSection("own", "<b>Mine & yours</b>", 2, lambda page: ["<p>mine</p>"])
    page = Page(report(ScopeContents(("a",), (), (odd,))))
    assert "b" not in page.tags
    assert "<b>Mine & yours</b>" in page.text
    assert "mine" in page.text
    assert "own" in page.ids


def test_whose_words_a_correction_is() -> None:
    said = Message("I live in Ghent.", "user", id="m1", at=DAY, metadata={WRITTEN_BY: "assistant"})
    contents = ScopeContents(
        ("a",), (ReportedSession("s1", group_messages([said], "s1"), (Segment(0, 1),)),), sections()
    )
    assert "user, as corrected by the assistant" in Page(report(contents)).text


def test_an_empty_scope_says_so() -> None:
    page = Page(report(ScopeContents(("acme",), (), sections())))
    assert page.open == []
    for words in (
        "Nothing is remembered.",
        "No topics",
        "No timelines",
        "No summary",
        "No answer has cited anything yet.",
    ):
        assert words in page.text


def test_strips_show_how_a_session_was_cut() -> None:
    page = report(ScopeContents(("a",), (session("s", ["x"] * 10, (2, 3)),)))
    blocks = re.findall(r'<rect x="(\d+)" y="1" width="(\d+)"[^>]*/><text [^>]*>(\w)</text>', page)
    assert blocks == [("1", "30", "A"), ("31", "15", "B"), ("46", "30", "C")]


def test_a_long_session_is_a_strip_of_several_rows() -> None:
    page = report(ScopeContents(("a",), (session("s", ["x"] * 240, (50, 60)),)))  # 120 turns, 56 in a row
    rows = re.findall(r'<rect x="(\d+)" y="(\d+)" width="(\d+)"', page)
    assert [(int(x), int(y), int(wide) // 15) for x, y, wide in rows] == [
        (1, 1, 50),
        (751, 1, 6),
        (1, 22, 4),
        (61, 22, 52),
        (1, 43, 8),
    ]


def test_references_lead_to_turns_that_are_there() -> None:
    page = Page(report(full()))
    targets = [each["href"] for tag, each in page.elements if tag == "a"]
    assert targets
    assert {target[1:] for target in targets if target} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    assert any(target == "#t1" for target in targets)


def test_the_curve_is_the_mean_of_the_latest_answers() -> None:
    page = report(full(answers=[answer(shown=2, cited=cited) for cited in (0, 2, 2, 0)]))
    [points] = re.findall(r'<polyline points="([^"]+)"', page)
    heights = [1 - (float(point.split(",")[1]) - 10) / 180 for point in points.split()]
    assert heights == pytest.approx([0, 0.5, 1, 0.5], abs=1e-3)  # over two
    assert "the mean of the latest 2" in page


# -- nothing runs, nothing is loaded ----------------------------------------------------------------------------------


def test_words_are_words() -> None:
    page = Page(report(full(NASTY)))
    assert page.open == []
    assert not page.tags & {
        "script",
        "img",
        "base",
        "iframe",
        "object",
        "link",
        "form",
        "image",
        "use",
        "foreignobject",
    }
    assert page.tags == Page(report(full())).tags
    assert page.text.count('<script>document.title="owned"</script>') >= 12
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\ufffe]", report(full(NASTY)))
    report(full(NASTY)).encode("utf-8")


def test_attributes_carry_nothing_from_outside() -> None:
    plain, nasty = Page(report(full())), Page(report(full(NASTY)))
    assert {(tag, *each) for tag, each in nasty.elements} == {(tag, *each) for tag, each in plain.elements}
    for _, attributes in nasty.elements:
        assert not {
            name for name in attributes if name.startswith("on") or name in ("style", "src", "srcset", "action")
        }
        if "href" in attributes:
            assert re.fullmatch(r"#[a-z]+\d*", attributes["href"] or "")


def test_no_address_but_in_words() -> None:
    page = report(full())
    assert not re.search(r"https?:|//|url\((?!#)|@import", page)


def test_the_policy_allows_one_style_and_nothing_else() -> None:
    page = report(full(NASTY))
    [style] = re.findall(r"<style>(.*?)</style>", page, re.S)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    wanted = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    [policy] = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
    assert policy == wanted
    assert page.index("Content-Security-Policy") < page.index("<title>") < page.index("<style>")


# -- how much of it ---------------------------------------------------------------------------------------------------


def large(turns: int, each: int) -> ScopeContents:
    sessions = tuple(
        session(
            f"s{number}",
            [f"said {number} {place} " + "words that say a little " * 8 for place in range(2 * each)],
            tuple(range(5, each, 5)),
            DAY + timedelta(days=number),
        )
        for number in range(turns // each)
    )
    events = tuple(Event(n, f"event {n}", DAY + timedelta(days=n), "s1", ("s1-0",)) for n in range(1, 1200))
    links = tuple(Link(n, n + 1, Relation.SAME_TOPIC) for n in range(1, 1199) if n % 100)
    found = tuple(
        Topic(n, "Ann", TopicVersion(1, f"topic {n}", f"topic {n}", "s1", ("s1-0",)), ("s1-0",) * 50)
        for n in range(1, 1000)
    )
    answers = [answer(f"question {n}", shown=6, cited=n % 7) for n in range(5000)]
    shown = sections(of_timelines=(events, links), of_topics=found, of_citations=answers)
    return ScopeContents(("a",), sessions, shown)


@pytest.mark.slow
@pytest.mark.parametrize("each", [10, 5000], ids=["many sessions", "one session"])
def test_a_large_scope_makes_a_page_that_can_be_read(each: int) -> None:
    contents = large(5000, each)
    began = time.perf_counter()
    page = report(contents)
    assert time.perf_counter() - began < 5  # under a second where nothing else runs
    assert len(page) < 4_000_000
    seen = Page(page)
    assert "The latest 2,000 of 5,000 turns are shown word for word; 3,000 earlier turns left out." in seen.text
    assert sum(id_[0] == "t" and id_[1:].isdigit() for id_ in seen.ids) == 2000
    last = contents.sessions[-1]
    assert last.turns[-1].messages[0].text in seen.text
    assert contents.sessions[0].turns[0].messages[0].text not in seen.text
    assert "599 earlier topics left out." in seen.text
    assert "799 earlier events left out." in seen.text
    assert "4 more threads of events not drawn." in seen.text
    assert "Thread 1: 99 events, 2028-02-06 to 2028-05-14; the latest 30 are drawn" in seen.text
    assert ("100 earlier sessions left out." in seen.text) == (each == 10)


@pytest.mark.parametrize("turns", [900, 890, 2], ids=["all", "all but ten", "two"])
def test_the_turns_of_many_short_sessions_are_shown_as_far_as_was_asked(turns: int) -> None:
    sessions = tuple(session(f"s{n}", [f"said {n}"] * 4, at=DAY + timedelta(days=n)) for n in range(450))
    seen = Page(report(ScopeContents(("a",), sessions), turns=turns))
    assert sum(id_[0] == "t" and id_[1:].isdigit() for id_ in seen.ids) == turns
    assert ("50 earlier sessions left out." in seen.text) == (turns == 2)
    assert ("5 earlier sessions left out." in seen.text) == (turns == 890)


def test_endless_words_are_cut() -> None:
    page = report(ScopeContents(("a",), (session("s", ["x" * 50_000, "y"]),)))
    assert len(page) < 30_000
    assert "44,000 more characters are not shown" in page


def test_the_latest_turns_are_those_shown() -> None:
    sessions = (session("old", ["one", "", "two", ""]), session("new", ["three", "", "four", ""]))
    page = Page(report(ScopeContents(("a",), sessions), turns=3))
    assert "1 earlier turn left out." in page.text
    assert ["one" in page.words, *(word in page.words for word in ("two", "three", "four"))] == [
        False,
        True,
        True,
        True,
    ]
    with pytest.raises(InvalidInput, match="1 turn or more, got 0"):
        report(ScopeContents(("a",), sessions), turns=0)


@pytest.mark.parametrize(
    ("years", "caption"), [(2, "Turns in each month"), (4, "Turns in each of the latest 36 months")]
)
def test_the_months_that_are_shown_are_told(years: int, caption: str) -> None:
    turns = tuple(Turn((Message("hi", at=DAY.replace(year=DAY.year - back)),), "s", back) for back in range(years))
    page = report(ScopeContents(("a",), (ReportedSession("s", turns, (Segment(0, years),)),)))
    assert f"<figcaption>{caption}</figcaption>" in page


def test_turns_without_a_time_or_a_role() -> None:
    turns = (Turn((Message("no time", "", "Ann"),), "s", 0, "t"),)
    page = Page(report(ScopeContents(("a",), (ReportedSession("s", turns, (Segment(0, 1),)),))))
    assert "no time" in page.text


def test_segments_are_called_by_their_names_and_by_letters_without() -> None:
    one = session("s", ["words"] * 6, (1, 2))
    named = ReportedSession(one.name, one.turns, one.segments, (f"kiln, {NASTY}", "", "oak"))
    page = report(ScopeContents(("a",), (named,)))
    assert "kiln, &lt;/style&gt;" in page
    assert ">B</span>" in page
    assert ">oak</span>" in page
    assert "<title>2 oak" in page or "<title>3-5 oak" in page
    assert not [tag for tag, _ in Page(page).elements if tag in ("script", "img", "base")]


# -- in a browser -----------------------------------------------------------------------------------------------------

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def seen_by_browser(page: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", *options]
    return subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=90)


@pytest.mark.skipif(BROWSER is None, reason="needs a browser")
def test_a_browser_runs_nothing_and_accepts_the_style(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(report(full(NASTY)), encoding="utf-8")
    done = seen_by_browser(page, "--dump-dom")
    assert "<title>owned" not in done.stdout
    assert "</html>" in done.stdout
    assert "Content Security Policy" not in done.stderr  # nothing even tried
    hostile = tmp_path / "hostile.html"
    hostile.write_text(report(full()).replace("<header>", "<script>document.title='owned'</script><header>"))
    done = seen_by_browser(hostile, "--dump-dom")
    assert "<title>owned" not in done.stdout
    assert "Content Security Policy" in done.stderr
