"""A browser on the inspector: Chromium, which asks nobody but the server, and notes what it asks and complains of."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from callers import Caller

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright, which the extra 'dev' brings")

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
WAIT_MS = 15_000
_GO = """view => new Promise(done => {
  if (location.hash === `#${view}`) return done();
  addEventListener("hashchange", () => done(), { once: true });
  location.hash = view;
})"""


def chromium(driver: Any) -> str | None:
    """Where Chromium is: the one that Playwright has brought, or the system's; nothing where there is none."""
    own = driver.chromium.executable_path
    return own if own and Path(own).exists() else next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def browsing() -> Iterator[Any]:
    """A browser; the test is skipped, with the reason, where there is none."""
    with playwright.sync_playwright() as driver:
        place = chromium(driver)
        if place is None:
            pytest.skip("no Chromium here: apt-get install chromium, or playwright install chromium")
        # Chromium refuses its sandbox to root, as whom containers run.
        arguments = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        browser = driver.chromium.launch(executable_path=place, args=arguments)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Inspector:
    """The page in a browser.

    Args:
        page: of Playwright.
        url: of the server.
        asked: every address that was asked for.
        complaints: what the browser reported as an error.
    """

    page: Any
    url: str
    asked: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def open(self, view: str = "") -> None:
        """Load the page, at one of its views."""
        self.page.goto(f"{self.url}/inspect/{view and '#'}{view}")

    def sign_in(self, token: str) -> None:
        """Type the token where it is asked for."""
        self.page.get_by_label("Token").fill(token)
        self.page.get_by_role("button", name="Sign in").click()

    def enter(self, caller: Caller, view: str = "") -> None:
        """Load the page and sign in."""
        self.open(view)
        self.sign_in(caller.token)
        self.page.get_by_role("navigation", name="Views").wait_for()

    def go(self, view: str) -> None:
        """Another view, once it is there."""
        self.page.evaluate(_GO, view)
        self.page.locator("main:not([aria-busy])").wait_for()

    def search(self, query: str) -> None:
        """Ask, and wait for the answer."""
        self.page.locator("#query").fill(query)
        with self.page.expect_response("**/v1/inspect/recall"):
            self.page.keyboard.press("Enter")
        self.page.locator("#results[aria-busy]").wait_for(state="detached")

    @property
    def foreign(self) -> list[str]:
        """What was asked of anybody but the server."""
        return [each for each in self.asked if urlsplit(each)[:2] != urlsplit(self.url)[:2]]

    @property
    def text(self) -> str:
        """What can be read on the page."""
        read: str = self.page.locator("body").inner_text()
        return read


@contextmanager
def inspecting(browser: Any, url: str, **context: Any) -> Iterator[Inspector]:
    """A new tab, with nothing kept of others."""
    with browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **context}) as made:
        made.set_default_timeout(WAIT_MS)
        page = made.new_page()
        inspector = Inspector(page, url)
        page.on("request", lambda request: inspector.asked.append(request.url))
        page.on("pageerror", lambda error: inspector.complaints.append(str(error)))
        page.on("console", lambda said: inspector.complaints.append(said.text) if said.type == "error" else None)
        page.on("dialog", lambda dialog: (inspector.complaints.append("a dialog of the browser"), dialog.dismiss()))
        yield inspector
