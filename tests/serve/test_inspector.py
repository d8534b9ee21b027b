"""The inspector in a real browser, on a real server: what it shows, what it changes, and who can use it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
from browsing import Inspector, browsing, inspecting
from callers import Caller, called

from benchmarks.served import Served, serving
from secom_core import MemoryBank
from secom_core.conversation import Scope

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LONG = (
    "😀 Here is what to watch for with a worktop of quartz. " + "It does not need oil. " * 60 + "\n\n"
    "**Fog grey** is the calmest of the colours, and it hides crumbs. " + "It keeps its colour in the sun. " * 60
)
CHAT = [
    {"role": "user", "content": "Please always answer in metres.", "at": "2025-01-12T10:00:00Z"},
    {"role": "assistant", "content": "I will."},
    {"role": "user", "content": "I would love an oak worktop in the kitchen.", "at": "2025-01-12T10:05:00Z"},
    {"role": "assistant", "content": "Oak looks lovely, but it needs oiling two or three times a year."},
    {"role": "user", "content": "The dog Biscuit scratches his ears at night.", "at": "2025-01-12T10:10:00Z"},
    {"role": "assistant", "content": "Let the vet see Biscuit; it may be the chicken in his kibble."},
    {"role": "user", "content": "The vet says that Biscuit reacts to chicken.", "at": "2025-01-12T10:12:00Z"},
    {"role": "assistant", "content": "Then eight weeks of salmon kibble, and nothing else."},
]
LATER = [
    {"role": "user", "content": "Which colour of quartz is calm?", "at": "2025-06-07T09:00:00Z"},
    {"role": "assistant", "content": LONG},
    {"role": "user", "content": "I took the worktop of fog grey quartz.", "at": "2025-06-07T09:05:00Z"},
    {"role": "assistant", "content": "A calm choice."},
]
QUERY = "Which worktop of quartz did I take?"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsing() as found:
        yield found


@pytest.fixture
def inspector(browser: Any, server: Served) -> Iterator[Inspector]:
    with inspecting(browser, server.url) as found:
        yield found
        assert found.foreign == []
        # A call without a token, or one too long, is an error to the browser too.
        assert not [each for each in found.complaints if "status of 4" not in each]


@pytest.fixture
def chat(caller: Caller) -> Caller:
    for name, messages in (("winter", CHAT), ("summer / two", LATER)):
        caller.ok(caller.post("/v1/remember", messages=messages, session=name, close=True))
    return caller


# -- search ------------------------------------------------------------------------------------------------------------


def test_a_search_shows_the_very_block_that_reaches_the_prompt(inspector: Inspector, chat: Caller) -> None:
    inspector.enter(chat)
    inspector.search(QUERY)
    answer = chat.ok(chat.post("/v1/recall", query=QUERY, token_budget=2000))
    assert inspector.page.locator("#block").text_content() == answer["text"]
    assert inspector.page.locator("#used").inner_text() == f"{answer['tokens']:,} of 2,000 tokens"
    assert inspector.page.locator(".hits article").count() == len(answer["hits"])
    assert "fog grey quartz" in inspector.page.locator(".hits article").first.inner_text()


@pytest.mark.parametrize("budget", [200, 8000])
def test_the_slider_shows_what_would_reach_the_prompt(inspector: Inspector, chat: Caller, budget: int) -> None:
    inspector.enter(chat)
    inspector.search(QUERY)
    slider = inspector.page.get_by_role("slider", name="Token budget")
    with inspector.page.expect_response("**/v1/inspect/recall"):
        slider.press("Home" if budget == 200 else "End")
    answer = chat.ok(chat.post("/v1/recall", query=QUERY, token_budget=budget))
    inspector.page.get_by_text(f"{answer['tokens']:,} of {budget:,} tokens", exact=True).wait_for()
    assert inspector.page.locator("#block").text_content() == answer["text"]
    assert answer["tokens"] <= budget
    assert slider.get_attribute("aria-valuetext") == f"{budget:,} tokens"


def test_why_a_hit_is_shown_adds_up_to_its_score(inspector: Inspector, chat: Caller) -> None:
    inspector.enter(chat)
    inspector.search(QUERY)
    [first, *_] = sorted(
        chat.ok(chat.post("/v1/recall", query=QUERY, token_budget=2000, explain=True))["hits"],
        key=lambda hit: (hit["kind"] != "relevant", -hit["relevance"]),
    )
    card = inspector.page.locator(".hits article").first
    assert f"{round(100 * first['relevance'])} % chance that it helps to answer" in card.inner_text()
    card.get_by_text("Why it is shown").click()
    cells = card.locator("tbody td:last-child").all_inner_texts()
    added = sum(float(each.replace("−", "-")) for each in cells)
    assert added == pytest.approx(float(card.locator("tfoot td").inner_text()), abs=0.01 * len(cells))
    assert float(card.locator("tfoot td").inner_text()) == pytest.approx(first["score"], abs=0.01)
    assert "Strongest reasons for it:" in card.inner_text()
    assert {"worktop", "quartz"} <= set(card.locator(".match").all_inner_texts())


def test_an_excerpt_stands_marked_in_its_whole_turn(inspector: Inspector, chat: Caller) -> None:
    inspector.enter(chat)
    query = "Which colour hides crumbs and is the calmest?"
    inspector.page.get_by_role("slider", name="Token budget").fill("600")
    inspector.search(query)
    hits = chat.ok(chat.post("/v1/recall", query=query, token_budget=600))["hits"]
    spans = [each for hit in hits for each in hit["excerpts"]]
    assert spans, "the long reply is to be shown in part"
    whole = inspector.page.locator("details.whole")
    whole.first.locator("summary").first.click()
    assert "[…]" in inspector.page.locator(".cut").all_text_contents()
    shown = "".join(whole.first.locator("mark").all_text_contents())
    said = {turn["id"]: [message["text"] for message in turn["messages"]] for hit in hits for turn in hit["turns"]}
    assert shown == "".join(said[each["turn_id"]][each["message"]][each["start"] : each["stop"]] for each in spans)
    assert LONG in (whole.first.text_content() or "")


def test_a_search_that_finds_nothing_and_an_empty_memory_say_what_to_do(
    inspector: Inspector, caller: Caller, server: Served, browser: Any, scope: Scope
) -> None:
    inspector.enter(caller)
    assert "Nothing is remembered here yet." in inspector.text
    for view, says in (
        ("sessions", "There is no session yet."),
        ("standing", "Nothing is pinned."),
        ("made", "makes no timelines"),
    ):
        inspector.go(view)
        assert says in inspector.text
    caller.remember("I bake bread.")
    with inspecting(browser, server.url) as other:
        other.enter(caller)
        other.page.get_by_text("What to include").click()
        other.page.get_by_label("Only memories that answer").check()
        other.search("Quaternions?")
        assert "Nothing was found for that." in other.text


# -- sessions and what stands ------------------------------------------------------------------------------------------


def test_segments_are_named_by_their_telling_words(inspector: Inspector, chat: Caller) -> None:
    inspector.enter(chat, "sessions")
    inspector.page.get_by_role("link", name="winter").click()
    inspector.page.locator(".strip").wait_for()
    names = chat.ok(chat.get("/v1/inspect/session", name="winter"))["names"]
    headings = inspector.page.locator("main section h3").evaluate_all(
        "all => all.map(each => each.firstChild.textContent)"
    )
    assert headings == [", ".join(words) for words in names]
    assert any("Biscuit" in heading for heading in headings)
    jump = inspector.page.locator(".strip button").last
    jump.click()
    assert inspector.page.evaluate("document.activeElement.firstChild.textContent") == headings[-1]
    inspector.go("sessions/summer%20%2F%20two")
    assert "summer / two" in inspector.page.locator("h2").inner_text()


def test_a_long_reply_opens_when_it_is_asked_for(inspector: Inspector, chat: Caller) -> None:
    inspector.enter(chat, "sessions/summer%20%2F%20two")
    reply = inspector.page.locator(".reply").filter(has_text="watch for")
    assert LONG not in (reply.text_content() or "")
    reply.get_by_role("button").click()
    assert LONG in (reply.text_content() or "")


def test_what_stands_and_what_was_replaced(inspector: Inspector, chat: Caller) -> None:
    turn = chat.ok(chat.get("/v1/session", name="winter"))["turns"][1]
    chat.ok(chat.post("/v1/correct", turn_id=turn["id"], text="I took quartz for the kitchen."))
    inspector.enter(chat, "standing")
    inspector.page.get_by_text("Instructions for later answers").wait_for()
    assert "Please always answer in metres." in inspector.text
    replaced = inspector.page.locator("section").filter(has=inspector.page.get_by_role("heading", name="Replaced"))
    assert "I would love an oak worktop in the kitchen." in replaced.locator(".older").inner_text()
    assert "I took quartz for the kitchen." in replaced.locator(".newer").inner_text()
    inspector.page.get_by_role("button", name="Undo the correction").click()
    inspector.page.locator("#notice").get_by_text("The turn holds again").wait_for()
    marks = [mark["kind"] for mark in chat.ok(chat.get("/v1/turns", id=turn["id"]))["turns"][0]["marks"]]
    assert marks == []


def test_what_stands_is_found_in_the_languages_that_the_page_names(inspector: Inspector, caller: Caller) -> None:
    said = {
        "English": "Always answer in metres.",
        "German": "Antworte immer auf Deutsch.",
        "Chinese": "请总是用中文回答。",
        "Spanish": "Responde siempre en español.",
        "French": "Réponds toujours en français.",
        "Italian": "Rispondi sempre in italiano.",
        "Portuguese": "Responde sempre em português.",
        "Japanese": "いつも日本語で答えてください。",
        "Korean": "항상 한국어로 대답해 주세요.",
    }
    inspector.enter(caller, "standing")
    told = inspector.page.get_by_text("Rules look for such statements in").inner_text()
    assert told.endswith(f"in {', '.join(list(said)[:-1])} and Korean.")
    for language, words in said.items():
        caller.remember(words, session=language)
    assert len(caller.ok(caller.get("/v1/inspect/standing"))["statements"]) == len(said)


def test_a_pin_is_kept(inspector: Inspector, chat: Caller) -> None:
    inspector.enter(chat, "sessions/winter")
    inspector.page.get_by_role("button", name="Pin: The dog Biscuit").click()
    inspector.page.locator("#notice").get_by_text("Pinned").wait_for()
    inspector.go("standing")
    assert [each["messages"][0]["text"] for each in chat.ok(chat.get("/v1/inspect/standing"))["pinned"]] == [
        CHAT[4]["content"]
    ]
    inspector.page.get_by_role("button", name="Unpin: The dog Biscuit").click()
    inspector.page.locator("#notice").get_by_text("Unpinned").wait_for()
    assert chat.ok(chat.get("/v1/inspect/standing"))["pinned"] == []


def test_a_server_without_layers_says_how_to_have_them_and_not_how_they_were_made(
    inspector: Inspector, chat: Caller
) -> None:
    inspector.enter(chat, "made")
    inspector.page.locator("h3").first.wait_for()
    assert inspector.text.count("This server makes no") == 3
    assert "this server has no language model" not in inspector.text


def test_timelines_topics_and_the_summary_are_shown_where_the_server_keeps_them(browser: Any, tmp_path: Path) -> None:
    layers = {"summaries": True, "timelines": True, "topics": True}
    with MemoryBank.open(str(tmp_path / "memory.db"), **layers) as bank:  # type: ignore[arg-type]
        for place in range(3):
            said = [("user", f"Biscuit the dog saw the vet about his ears, visit {place}."), ("assistant", "Good.")]
            bank.remember(("a",), said, session=f"s{place}", close=True)
        events = bank.timelines.events(("a",))
    (tmp_path / "secom.toml").write_text('layers = ["summaries", "timelines", "topics"]\n')
    with serving(tmp_path, "--scope", "a") as local, inspecting(browser, local.url) as inspector:
        inspector.open("made")
        inspector.page.locator("h3").first.wait_for()
        assert "this server has no language model" in inspector.text
        for event in events:
            assert event.text in (inspector.page.locator("main").text_content() or "")
        assert inspector.complaints == []


def test_days_are_those_of_the_servers_time_zone_as_in_the_block(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "secom.toml").write_text('timezone = "Europe/Brussels"\n')
    with MemoryBank.open(str(tmp_path / "memory.db"), timezone="Europe/Brussels") as bank:
        for hour in ("09:00", "22:30"):
            said = [{"role": "user", "content": f"My bike at {hour}.", "at": f"2025-05-07T{hour}:00Z"}]
            bank.remember(("a",), said, session=hour)
    with serving(tmp_path, "--scope", "a") as local, inspecting(browser, local.url) as inspector:
        inspector.open()
        inspector.search("Where is my bike?")
        assert "2025-05-08" in (inspector.page.locator("#block").text_content() or "")
        assert "8 May 2025, 00:30 UTC+02:00" in inspector.page.locator(".hits").inner_text()
        inspector.go("sessions")
        assert "on 7 May 2025" in inspector.text
        assert "on 8 May 2025" in inspector.text
        inspector.page.get_by_label("What was said before").fill("2025-05-08")
        inspector.page.get_by_role("button", name="Forget what is older").click()
        dialog = inspector.page.get_by_role("dialog")
        dialog.get_by_role("button", name="Forget 1 turn").wait_for()
        assert "Forget what was said before 8 May 2025?" in dialog.inner_text()
        assert "My bike at 09:00." in dialog.inner_text()
        assert inspector.complaints == []


# -- correct and forget ------------------------------------------------------------------------------------------------


def test_correct_asks_first_and_the_store_has_it(inspector: Inspector, chat: Caller) -> None:
    inspector.enter(chat)
    inspector.search("What about the oak?")
    opener = inspector.page.get_by_role("button", name="Correct: I would love an oak worktop").first
    opener.click()
    dialog = inspector.page.get_by_role("dialog", name="Correct this turn")
    assert "I would love an oak worktop" in dialog.inner_text()
    dialog.get_by_role("button", name="Correct", exact=True).click()
    assert "Write the correct text" in dialog.get_by_role("alert").inner_text()
    inspector.page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    assert inspector.page.evaluate("document.activeElement.getAttribute('aria-label')").startswith(
        "Correct: I would love"
    )
    assert chat.ok(chat.get("/v1/stats"))["sessions"] == 2

    opener.click()
    dialog.get_by_label("The correct text").fill("I want quartz, not oak.")
    dialog.get_by_role("button", name="Correct", exact=True).click()
    inspector.page.locator("#notice").get_by_text("Corrected").wait_for()
    text = chat.ok(chat.post("/v1/recall", query="What about the oak?", token_budget=2000))["text"]
    assert "I want quartz, not oak." in text
    assert "(corrected on" in text or "(replaced on" in text


def test_taking_back_leaves_nothing_in_its_place(inspector: Inspector, chat: Caller) -> None:
    inspector.enter(chat, "sessions/winter")
    inspector.page.get_by_role("button", name="Correct: I would love an oak worktop").click()
    inspector.page.get_by_role("button", name="Retract it").click()
    inspector.page.locator("#notice").get_by_text("Retracted").wait_for()
    turn = chat.ok(chat.get("/v1/session", name="winter"))["turns"][1]
    assert [mark["kind"] for mark in turn["marks"]] == ["retracted"]
    assert "retracted on" in inspector.text


def test_forget_says_what_will_be_gone_and_then_what_is_gone(
    inspector: Inspector, chat: Caller, server: Served, scope: Scope
) -> None:
    inspector.enter(chat, "sessions/winter")
    opener = inspector.page.get_by_role("button", name="Forget: The dog Biscuit")
    opener.click()
    dialog = inspector.page.get_by_role("dialog", name="Forget this turn?")
    dialog.get_by_text("1 turn will be gone for good").wait_for()
    assert "The dog Biscuit scratches his ears at night." in dialog.inner_text()
    assert "This cannot be undone" in dialog.inner_text()
    assert inspector.page.evaluate("document.activeElement.textContent") == "Keep it"
    inspector.page.keyboard.press("Escape")
    assert chat.ok(chat.get("/v1/stats"))["turns"] == 6

    opener.click()
    dialog.get_by_role("button", name="Forget 1 turn").click()
    inspector.page.locator("#notice").get_by_text("1 turn is gone").wait_for()
    assert "scratches" not in inspector.page.locator("main").inner_text()
    assert chat.ok(chat.get("/v1/stats"))["turns"] == 5
    with MemoryBank.open(str(server.folder / "memory.db")) as bank:
        assert not [turn for turn in bank.turns(scope) if "scratches" in turn.text]
        assert "scratches" not in bank.recall(scope, "What does Biscuit scratch?", token_budget=4000).text


def test_a_session_is_forgotten_whole(inspector: Inspector, chat: Caller) -> None:
    inspector.enter(chat, "sessions/winter")
    inspector.page.get_by_role("button", name="Forget this session").click()
    inspector.page.get_by_role("button", name="Forget 4 turns").click()
    inspector.page.get_by_role("link", name="summer / two").wait_for()
    assert [row["name"] for row in chat.ok(chat.get("/v1/sessions"))["sessions"]] == ["summer / two"]


def test_everything_is_forgotten_only_with_the_word(inspector: Inspector, chat: Caller) -> None:
    inspector.enter(chat, "sessions")
    inspector.page.get_by_label("What was said before").fill("2025-03-01")
    inspector.page.get_by_role("button", name="Forget what is older").click()
    inspector.page.get_by_role("dialog").get_by_text("4 turns will be gone").wait_for()
    inspector.page.get_by_role("button", name="Keep them").click()
    inspector.page.get_by_role("button", name="Forget everything").click()
    forget = inspector.page.get_by_role("button", name="Forget 6 turns")
    forget.click()
    assert "Write the word forget" in inspector.page.get_by_role("alert").inner_text()
    assert chat.ok(chat.get("/v1/stats"))["turns"] == 6
    inspector.page.get_by_label("write the word forget").fill("forget")
    forget.click()
    inspector.page.locator("#notice").get_by_text("6 turns are gone").wait_for()
    assert chat.ok(chat.get("/v1/stats"))["turns"] == 0


# -- the token, and trouble --------------------------------------------------------------------------------------------


def test_the_token_stays_in_the_tab_and_out_of_every_address(inspector: Inspector, chat: Caller) -> None:
    inspector.open()
    inspector.sign_in("secom_wrong-token-of-somebody-else")
    assert "The server refused this token" in inspector.page.get_by_role("alert").inner_text()
    inspector.sign_in(chat.token)
    inspector.search(QUERY)
    kept = inspector.page.evaluate("[{...sessionStorage}, {...localStorage}, document.cookie]")
    assert kept == [{"secom.token": chat.token}, {}, ""]
    assert chat.token not in inspector.page.content()
    assert not [each for each in inspector.asked if chat.token in each]
    inspector.page.reload()
    inspector.page.locator("#query").wait_for()
    inspector.page.get_by_role("button", name="Sign out").click()
    assert inspector.page.evaluate("sessionStorage.length") == 0
    assert "fog grey" not in inspector.text
    inspector.page.get_by_label("Token").wait_for()


def test_a_token_that_may_only_read_is_offered_no_change(
    inspector: Inspector, chat: Caller, server: Served, scope: Scope
) -> None:
    with called(server, scope, writes=False) as reader:
        inspector.enter(reader, "sessions/winter")
        inspector.page.locator(".strip").wait_for()
        assert "this token may only read" in inspector.text
        for name in ("Forget", "Correct", "Pin"):
            assert inspector.page.get_by_role("button", name=name).count() == 0


def test_on_this_machine_without_tokens_nobody_is_asked_for_one_and_a_stop_is_told(
    browser: Any, tmp_path: Path
) -> None:
    with serving(tmp_path, "--scope", "a") as local, inspecting(browser, local.url) as inspector:
        inspector.open()
        inspector.page.get_by_text("Nothing is remembered here yet.").wait_for()
        local.stop()
        inspector.go("sessions")
        alert = inspector.page.get_by_role("alert").inner_text()
        assert "The server does not answer." in alert
        assert "Start `secom serve` again" in alert
        assert inspector.page.get_by_role("button", name="Try again").is_visible()


def test_a_refusal_of_the_server_is_shown_in_its_words(inspector: Inspector, chat: Caller) -> None:
    inspector.enter(chat)
    inspector.page.locator("#query").fill("x" * 150_000)
    inspector.page.keyboard.press("Enter")
    alert = inspector.page.get_by_role("alert")
    alert.wait_for()
    assert "100,000 bytes" in alert.inner_text()
    assert "Send less at once." in alert.inner_text()


@contextmanager
def proxied(url: str) -> Iterator[str]:
    """The address of a proxy that asks the server under the name that it knows it by, as nginx does unless told."""

    class Proxy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
            answer = httpx.request(self.command, url + self.path, headers=headers, content=body)
            self.send_response(answer.status_code)
            for name in ("content-type", "location"):
                if name in answer.headers:
                    self.send_header(name, answer.headers[name])
            self.end_headers()
            self.wfile.write(answer.content)

        do_POST = do_GET

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{proxy.server_port}"
        proxy.shutdown()


def test_a_proxy_that_keeps_the_host_for_itself_is_told_and_no_token_is_asked_for(
    browser: Any, server: Served, chat: Caller
) -> None:
    with proxied(server.url) as url, inspecting(browser, url) as inspector:
        inspector.enter(chat)
        inspector.search(QUERY)
        alert = inspector.page.get_by_role("alert").inner_text()
        assert f"pages of {url!r} may not call this server" in alert
        assert "pass the Host header on (nginx: proxy_set_header Host $http_host)" in alert
        assert "token" not in alert


# -- hostile words -----------------------------------------------------------------------------------------------------

HOSTILE = (
    "</script><script>window.owned = 1; alert(1)</script><img src=x onerror='window.owned = 2'>"
    "<svg onload=window.owned=3><iframe srcdoc='<script>parent.owned=4</script>'></iframe>"
    '"><a href="javascript:window.owned=5">click</a> [link](javascript:window.owned=6) ![](https://evil.example/x.png)'
    " <style>body{display:none}</style> ${window.owned=7} "
    "{{constructor.constructor('window.owned=8')()}} \u202egnp.exe\u202c"
)


def test_nothing_that_anybody_said_runs_or_loads(inspector: Inspector, caller: Caller) -> None:
    name = f"kiln {HOSTILE}"
    messages = [
        {"role": "user", "content": f"Always fire the kiln so: {HOSTILE}", "speaker": HOSTILE},
        {"role": "assistant", "content": HOSTILE},
    ]
    done = caller.ok(caller.post("/v1/remember", messages=messages, session=name, close=True))
    turn = done["turn_ids"][0]
    caller.ok(caller.post("/v1/inspect/pin", turn_id=turn, pinned=True))
    inspector.enter(caller)
    inspector.search(f"How do I fire the kiln? {HOSTILE}")
    for summary in inspector.page.locator("main summary").all():
        summary.click()
    assert HOSTILE in (inspector.page.locator("main").text_content() or "")
    for view in ("sessions", "standing", "made"):
        inspector.go(view)
    inspector.page.evaluate("name => { location.hash = `sessions/${encodeURIComponent(name)}` }", name)
    inspector.page.locator(".strip").wait_for()
    assert inspector.page.locator("h2").text_content() == name
    inspector.page.get_by_role("button", name="Forget this session").click()
    inspector.page.get_by_role("dialog").get_by_text("will be gone for good").wait_for()
    assert inspector.page.evaluate("window.owned") is None
    assert inspector.page.locator("img, iframe, svg, body script, style, a[href^='javascript']").count() == 0
    assert inspector.page.locator("[style]:not(.strip li), [onerror], [onload]").count() == 0


def test_the_policy_stops_what_a_mistake_would_let_in(inspector: Inspector, chat: Caller) -> None:
    inspector.enter(chat)
    tries = {
        "markup": "document.querySelector('main').innerHTML = '<p>x</p>'",
        "script": "const made = document.createElement('script'); made.text = 'window.owned = 1'; "
        "document.body.append(made)",
        "handler": "document.body.setAttribute('onclick', 'window.owned = 1'); document.body.click()",
        "address": "location.href = 'javascript:window.owned = 1'",
        "elsewhere": "await fetch('https://evil.example/').then(() => { window.owned = 1 })",
    }
    for name, code in tries.items():
        outcome = inspector.page.evaluate(
            f"async () => {{ try {{ {code}; return 'done' }} catch (error) {{ return error.name }} }}"
        )
        assert outcome == "TypeError" or name in ("handler", "address"), f"{name}: {outcome}"
    assert inspector.page.evaluate("window.owned") is None
    # What the browser reports of them is what this test is about.
    assert inspector.complaints
    inspector.complaints.clear()


# -- everybody ---------------------------------------------------------------------------------------------------------

VIEWS = ("search", "sessions", "sessions/winter", "standing", "made")


def each_view(inspector: Inspector) -> Iterator[str]:
    """Each view, with something in it, and everything opened."""
    for view in VIEWS:
        inspector.go(view)
        if view == "search":
            inspector.search(QUERY)
        inspector.page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
        yield view


def test_all_of_it_by_keyboard_alone(inspector: Inspector, chat: Caller) -> None:
    page, keys = inspector.page, inspector.page.keyboard
    inspector.open()
    page.get_by_label("Token").wait_for()
    keys.type(chat.token)
    keys.press("Enter")
    page.locator("#query").wait_for()
    page.get_by_role("link", name="Sessions").focus()
    keys.press("/")
    assert page.evaluate("document.activeElement.id") == "query"
    keys.press("/")
    assert page.locator("#query").input_value() == "", "the key leads to the field, and is not written into it"
    keys.type("a/b")
    assert page.locator("#query").input_value() == "a/b"
    page.locator("#query").fill("")
    keys.type("Which dog scratches?")
    with page.expect_response("**/v1/inspect/recall"):
        keys.press("Enter")
    page.locator("#results[aria-busy]").wait_for(state="detached")

    def tab_to(starts: str) -> None:
        for _ in range(200):
            keys.press("Tab")
            if (
                page.evaluate("document.activeElement.ariaLabel || document.activeElement.textContent") or ""
            ).startswith(starts):
                return
        raise AssertionError(f"the tab key does not lead to {starts}")

    tab_to("Why it is shown")
    keys.press("Enter")
    assert page.locator("details.why[open]").count() == 1
    keys.press("Escape")
    assert page.locator("details.why[open]").count() == 0
    keys.press("/")
    tab_to("Correct: The dog Biscuit")
    keys.press("Enter")
    keys.type("The dog Biscuit sleeps well.")
    tab_to("Correct")
    keys.press("Enter")
    page.locator("#notice").get_by_text("Corrected").wait_for()
    page.get_by_role("link", name="Holds now").focus()
    keys.press("Enter")
    page.get_by_role("heading", name="What holds now").wait_for()
    tab_to("Forget: Please always")
    keys.press("Enter")
    page.get_by_role("dialog").get_by_text("will be gone").wait_for()
    keys.press("Shift+Tab")
    keys.press("Enter")
    page.locator("#notice").get_by_text("1 turn is gone").wait_for()
    assert "always answer" not in chat.ok(chat.post("/v1/recall", query="metres", token_budget=2000))["text"]


def test_the_focus_is_always_seen_and_never_caught(inspector: Inspector, chat: Caller) -> None:
    inspector.enter(chat)
    inspector.search(QUERY)
    inspector.page.locator("h1").click()
    inspector.page.evaluate("document.activeElement.blur()")
    seen = []
    for _ in range(120):
        inspector.page.keyboard.press("Tab")
        place = inspector.page.evaluate(
            """() => { const at = document.activeElement, style = getComputedStyle(at);
            return at === document.body ? null : [at.tagName, at.textContent.slice(0, 20), style.outlineStyle,
            parseFloat(style.outlineWidth)] }"""
        )
        if place is None:
            break
        assert place[2] != "none", f"{place} has no visible focus"
        assert place[3] >= 2, f"{place} has hardly a visible focus"
        seen.append(place[0])
    assert place is None, "the tab key leads round for ever"
    assert {"A", "INPUT", "BUTTON", "SUMMARY", "PRE"} <= set(seen)
    inspector.page.reload()
    inspector.page.locator("#query").wait_for()
    inspector.page.keyboard.press("Tab")
    assert inspector.page.evaluate("document.activeElement.textContent") == "Skip to the content"
    inspector.page.keyboard.press("Enter")
    assert inspector.page.evaluate("document.activeElement.id") == "main"


NAMELESS = """nodes => nodes.filter(each => !each.ignored
  && ['button', 'link', 'textbox', 'searchbox', 'slider', 'checkbox', 'meter', 'progressbar', 'dialog', 'article',
  'region', 'navigation'].includes(each.role?.value) && !each.name?.value).map(each => each.role.value)"""


def test_every_control_has_a_name_and_the_page_has_its_landmarks(inspector: Inspector, chat: Caller) -> None:
    inspector.enter(chat)
    session = inspector.page.context.new_cdp_session(inspector.page)
    for view in each_view(inspector):
        tree = session.send("Accessibility.getFullAXTree")["nodes"]
        roles = [node.get("role", {}).get("value") for node in tree if not node.get("ignored")]
        assert inspector.page.evaluate(NAMELESS, tree) == [], view
        assert {"main", "banner", "navigation"} <= set(roles), view
        assert roles.count("main") == 1
        levels = inspector.page.locator("h1, h2, h3, h4").evaluate_all(
            "all => all.filter(each => each.checkVisibility()).map(each => Number(each.tagName[1]))"
        )
        assert levels.count(1) == 1, view
        assert levels[:2] == [1, 2], view
        assert all(deeper <= level + 1 for level, deeper in pairwise(levels)), (view, levels)
        assert (
            inspector.page.evaluate(
                "(() => { const ids = [...document.querySelectorAll('[id]')].map(each => each.id);"
                " return ids.length - new Set(ids).size })()"
            )
            == 0
        )
    assert inspector.page.locator("[aria-live=polite]").count() == 1
    assert inspector.page.locator("html").get_attribute("lang") == "en"
    inspector.go("search")
    inspector.search(QUERY)
    assert "hits" in (inspector.page.locator("#announcer").text_content() or "")


CONTRAST = """() => {
  const light = channel => { const part = channel / 255;
    return part <= .04045 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4 };
  const luminance = ([r, g, b]) => .2126 * light(r) + .7152 * light(g) + .0722 * light(b);
  const colour = text => { const parts = text.match(/[\\d.]+/g).map(Number);
    return [...parts.slice(0, 3), parts[3] ?? 1] };
  const behind = at => { for (; at; at = at.parentElement) { const found = colour(getComputedStyle(at).backgroundColor);
    if (found[3] === 1) return found } return colour(getComputedStyle(document.documentElement).backgroundColor) };
  const poor = [];
  for (const at of document.querySelectorAll('body *')) {
    const own = [...at.childNodes].some(each => each.nodeType === 3 && each.data.trim());
    if (!own || !at.checkVisibility() || at.disabled || at.closest('.unseen, .skip, select')) continue;
    const [text, page] = [luminance(colour(getComputedStyle(at).color)), luminance(behind(at))];
    const ratio = (Math.max(text, page) + .05) / (Math.min(text, page) + .05);
    if (ratio < 4.5) poor.push(`${at.tagName}.${at.className} ${at.textContent.slice(0, 30)}: ${ratio.toFixed(2)}`);
  }
  return [document.querySelectorAll('body *').length, poor];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_word_stands_out_from_what_is_behind_it(browser: Any, server: Served, chat: Caller, scheme: str) -> None:
    turn = chat.ok(chat.get("/v1/session", name="winter"))["turns"][1]["id"]
    chat.ok(chat.post("/v1/inspect/pin", turn_id=turn, pinned=True))
    chat.ok(chat.post("/v1/correct", turn_id=turn, text="I took quartz."))
    with inspecting(browser, server.url, color_scheme=scheme) as inspector:
        inspector.enter(chat)
        backgrounds = set()
        for view in each_view(inspector):
            looked_at, poor = inspector.page.evaluate(CONTRAST)
            assert looked_at > 20
            assert poor == [], view
            backgrounds.add(inspector.page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))
        inspector.go("sessions")
        inspector.page.get_by_role("button", name="Forget everything").click()
        inspector.page.get_by_role("dialog").get_by_text("will be gone for good").wait_for()
        assert inspector.page.evaluate(CONTRAST)[1] == []
        assert backgrounds == {"rgb(255, 255, 255)" if scheme == "light" else "rgb(22, 23, 24)"}


def test_a_phone_shows_all_without_scrolling_sideways(browser: Any, server: Served, chat: Caller) -> None:
    chat.remember("x" * 900 + " https://example.org/" + "a/" * 200, "|" + "-" * 400, session="w" * 200)
    with inspecting(browser, server.url, viewport={"width": 390, "height": 844}, has_touch=True) as inspector:
        inspector.enter(chat)
        for view in each_view(inspector):
            assert inspector.page.evaluate("document.documentElement.scrollWidth") <= 390, view
            small = inspector.page.locator("button, nav a, input:not([type=checkbox])").evaluate_all(
                "all => all.filter(each => each.checkVisibility() && each.getBoundingClientRect().height < 24)"
                ".map(each => each.outerHTML.slice(0, 80))"
            )
            assert small == [], view
        inspector.page.evaluate("name => { location.hash = `sessions/${name}` }", "w" * 200)
        inspector.page.locator(".strip").wait_for()
        assert inspector.page.evaluate("document.documentElement.scrollWidth") <= 390
        inspector.page.get_by_role("button", name="Forget this session").click()
        box = inspector.page.get_by_role("dialog").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
