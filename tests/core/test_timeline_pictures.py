"""Timelines drawn: Mermaid, SVG and a page, with anything that people say in them; the page in a real browser."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import urllib.request
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from histories import remember_all
from theanine_talk import sessions

from secom_core.bank import MemoryBank
from secom_core.conversation import Message, Turn
from secom_core.errors import InvalidInput
from secom_core.pictures.words import wrap
from secom_core.timelines import Event, Link, Relation, timeline_picture

DAY = datetime(2025, 1, 1, 9, tzinfo=timezone.utc)
NASTY = '</svg></script><script>document.title="owned"</script><img src=x onerror=alert(1)> "] --> e9 ]]> & \x00\x1b'
SVG = "{http://www.w3.org/2000/svg}"


def event(number: int, text: str = "", day: int | None = None) -> Event:
    at = DAY + timedelta(days=number * 9 if day is None else day)
    return Event(number, text or f"event {number}", at, NASTY, (f"t{number}",))


EVENTS = [event(1), event(2, NASTY), event(3, "猫が好きです。" * 20), event(4, day=18), event(5, day=60)]
LINKS = [
    Link(1, 2, Relation.CAUSE),
    Link(1, 3, Relation.CHANGED),
    Link(2, 5, Relation.HINDERED_BY),
    Link(2, 4, Relation.WANT),
    Link(3, 99, Relation.REACT),
]
TURNS = {f"t{n}": Turn((Message(f"said {n} {NASTY}\n  second line", "", NASTY, f"t{n}"),)) for n in range(1, 5)}


def test_mermaid_by_hand():
    text = timeline_picture([event(2), event(1, 'a "b" <c>')], LINKS[:2], highlighted=[2], format="mermaid")
    assert text == (
        "flowchart LR\n"
        '  e1["2025-01-10<br/>a #quot;b#quot; #lt;c#gt;"]\n'
        '  e2["2025-01-19<br/>event 2"]\n'
        "  e1 -->|Cause| e2\n"
        "  style e2 stroke-width:3px\n"
    )


def test_mermaid_keeps_what_people_say_inside_its_label():
    text = timeline_picture(EVENTS, LINKS, format="mermaid")
    for line in text.splitlines()[1:]:
        assert re.fullmatch(r'  e\d+\["[^"<>&`]*<br/>[^"<>&`]*"\]|  e\d+ -->\|\w+\| e\d+', line), line


def test_the_svg_is_one_well_formed_picture_with_all_events_and_labelled_arrows():
    root = ElementTree.fromstring(timeline_picture(EVENTS, LINKS, title=NASTY, format="svg"))
    boxes = [each for each in root.iter(f"{SVG}g") if each.find(f"{SVG}title") is not None]
    assert len(boxes) == len(EVENTS)
    labels = [text.text for text in root.iter(f"{SVG}text")]
    assert [name for name in ("Cause", "Changed", "HinderedBy", "Want") if name in labels] == [
        "Cause",
        "Changed",
        "HinderedBy",
        "Want",
    ]
    assert "React" not in labels, "its later event is not shown"
    assert {"2025-01-10", "2025-01-19", "2025-03-02"} <= set(labels)
    assert not list(root.iter(f"{SVG}script"))
    assert not list(root.iter(f"{SVG}a")), "without a page there is nothing to go to"


def test_boxes_stand_in_time_order_and_do_not_overlap():
    root = ElementTree.fromstring(timeline_picture(EVENTS, LINKS, format="svg"))
    rects = [each for each in root.iter(f"{SVG}rect") if each.get("rx") == "6"]
    corners = [(float(each.get("x")), float(each.get("y"))) for each in rects]
    assert [x for x, _ in corners] == sorted(x for x, _ in corners)
    for place, (x, y) in enumerate(corners):
        assert all(abs(x - u) >= 206 or abs(y - v) >= 78 for u, v in corners[:place])


def test_the_page_needs_nothing_else_and_escapes_everything():
    page = timeline_picture(EVENTS, LINKS, turns=TURNS, highlighted=[2], title=NASTY, format="html")
    assert "<script" not in page
    assert "<img" not in page
    assert not re.search(r'(?:src|href)="(?!#)', page)
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    assert "default-src 'none'" in page
    assert page.count("<article") == len(EVENTS)
    assert "said 2 &lt;/svg&gt;" in page
    assert "The turns were not given." in page
    assert "\x00" not in page
    assert "from (Cause) event 1" in page


def test_no_events_are_a_picture_too_and_too_many_are_none():
    for name in ("mermaid", "svg", "html"):
        assert timeline_picture([], [], format=name)
    with pytest.raises(InvalidInput, match="501"):
        timeline_picture([event(number) for number in range(501)], [])
    with pytest.raises(InvalidInput, match="'png'"):
        timeline_picture([], [], format="png")


@pytest.mark.parametrize(
    ("text", "width", "lines", "rows"),
    [
        ("", 5, 3, []),
        ("one two three", 7, 3, ["one two", "three"]),
        ("one two three", 5, 2, ["one", "two …"]),
        ("abcdefghij", 4, 3, ["abcd", "efgh", "ij"]),
        ("猫猫猫猫", 5, 2, ["猫猫", "猫猫"]),
    ],
)
def test_words_are_wrapped_by_columns(text, width, lines, rows):
    assert wrap(text, width, lines) == rows


# -- a real browser ---------------------------------------------------------------------------------------------------


def browser() -> str:
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    return found or pytest.skip("no Chromium is installed")


def dom(page: Path, fragment: str, profile: Path) -> str:
    command = [
        browser(),
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
        *("--disable-component-update", "--disable-sync", f"--user-data-dir={profile}", "--virtual-time-budget=500"),
        "--dump-dom",
        page.as_uri() + fragment,
    ]
    environment = {**os.environ, "HOME": str(profile)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True, env=environment)
    return done.stdout


def test_a_browser_shows_the_page_and_runs_nothing_of_what_was_said(tmp_path):
    page = tmp_path / "page.html"
    page.write_text(timeline_picture(EVENTS, LINKS, turns=TURNS, title="Mine", format="html"), encoding="utf-8")
    shown = dom(page, "#event-2", tmp_path / "profile")
    assert "<title>Mine</title>" in shown
    assert "owned" not in re.search(r"<title>(.*?)</title>", shown)[1]
    assert shown.count("<article") == len(EVENTS)
    assert shown.count('<a href="#event-') == len(EVENTS)


class Driver:
    """As much of the WebDriver protocol as one click takes, over the chromedriver that comes with the browser."""

    def __init__(self, profile: Path) -> None:
        program = shutil.which("chromedriver") or pytest.skip("no chromedriver is installed")
        self._process = subprocess.Popen([program, "--port=0"], stdout=subprocess.PIPE, text=True)
        port = next(
            found[1] for line in self._process.stdout if (found := re.search(r"successfully on port (\d+)", line))
        )
        self._address = f"http://127.0.0.1:{port}/session"
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        flags += ["--disable-component-update", "--disable-sync", f"--user-data-dir={profile}"]
        options = {"goog:chromeOptions": {"binary": browser(), "args": flags}}
        made = self._call("POST", "", {"capabilities": {"alwaysMatch": options}})
        self._address += f"/{made['sessionId']}"

    def _call(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self._address + path, data, {"Content-Type": "application/json"}, method=method
        )
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as reply:
            return json.load(reply)["value"]

    def open(self, page: Path) -> None:
        self._call("POST", "/url", {"url": page.as_uri()})

    def element(self, selector: str) -> str:
        return next(iter(self._call("POST", "/element", {"using": "css selector", "value": selector}).values()))

    def click(self, element: str) -> None:
        self._call("POST", f"/element/{element}/click", {})

    def see(self, element: str, what: str) -> Any:
        return self._call("GET", f"/element/{element}/{what}")

    def close(self) -> None:
        try:
            self._call("DELETE", "")
        finally:
            self._process.terminate()
            self._process.communicate(timeout=30)


def test_a_click_on_an_event_shows_its_turns(tmp_path):
    browser()
    with MemoryBank.open(timelines=True) as bank:
        remember_all(bank, ("mara",), sessions())
        turns = {turn.id: turn for name in bank.sessions(("mara",)) for turn in bank.turns(("mara",), name)}
        first, *_ = events = bank.timelines.events(("mara",))
        picture = timeline_picture(events, bank.timelines.links(("mara",)), turns=turns, title="Mara", format="html")
    page = tmp_path / "page.html"
    page.write_text(picture, encoding="utf-8")
    driver = Driver(tmp_path / "profile")
    try:
        driver.open(page)
        article = driver.element(f"#event-{first.id}")
        assert not driver.see(article, "displayed")
        driver.click(driver.element(f"#box-{first.id}"))
        assert driver.see(article, "displayed")
        assert turns[first.turn_ids[0]].messages[0].text[:30] in driver.see(article, "text")
        driver.click(driver.element(f"#event-{first.id} > a"))
        assert not driver.see(article, "displayed")
    finally:
        driver.close()
