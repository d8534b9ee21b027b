"""The pictures of the page on the inspector; `PYTHONPATH=.:tests python tests/serve/take_pictures.py` takes them."""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path

from browsing import Inspector, browsing, inspecting
from PIL import Image

from benchmarks.served import serving
from secom_core import MemoryBank

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "pictures"
SCOPE = ("acme", "mara")
REPLY = """Quartz is the easy one of the three. Here is what to know before you sign:

1. **Care.** Water and a drop of soap are enough. It does not need oil, unlike oak, and acids do not etch it, unlike \
terrazzo. Wipe up turmeric and red wine within the hour all the same.
2. **Heat.** Put a trivet under a pan from the oven. The resin between the grains browns at about 150 degrees, and no \
polish takes that out again.
3. **Edges.** A bevel of 3 mm chips less than a sharp edge, which matters most at the sink.
4. **Finish.** Matt hides crumbs and scratches, and shows greasy fingers; polished does the opposite. In fog grey, \
most people take matt.
5. **Joints.** A slab is 3.2 m long at most. With your corner there will be one joint: ask for it beside the hob, not \
at the sink, where water stands.
6. **Price.** Count 450 to 600 euros a metre with the cut-outs, and ask whether the templates are included."""


def filled(folder: Path) -> None:
    """A bank with the example conversation, and a chat with a long reply."""
    with MemoryBank.open(str(folder / "memory.db"), changes=True) as bank:
        kept, sessions = ("id", "at", "role", "content"), dict[str, list[dict[str, object]]]()
        for row in map(json.loads, (ROOT / "examples" / "data" / "mara.jsonl").read_text("utf-8").splitlines()):
            sessions.setdefault(row.pop("session"), []).append({key: row[key] for key in kept})
        for name, messages in sessions.items():
            bank.remember(SCOPE, messages, session=name, close=True)
        asked = {"role": "user", "content": "What should I know about quartz?", "at": "2025-06-08T10:00:00Z"}
        bank.remember(SCOPE, [asked, {"role": "assistant", "content": REPLY}], session="quartz", close=True)


def searched(inspector: Inspector) -> None:
    """The first hits of a search, with the reason for one of them."""
    inspector.open()
    inspector.page.get_by_role("slider").fill("600")
    inspector.search("Which finish hides crumbs on a quartz worktop?")
    inspector.page.locator(".why summary").first.click()


def at_a_session(inspector: Inspector) -> None:
    """A session, at its segments."""
    inspector.open("sessions/s3")
    inspector.page.locator(".strip").wait_for()


def keep(picture: bytes, name: str) -> None:
    """Keep a picture of few colours, which is small."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image.quantize(200, dither=Image.Dither.NONE).save(PICTURES / f"{name}.png", optimize=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place, browsing() as browser:
        filled(Path(place))
        with serving(Path(place), "--scope", "acme", "--scope", "mara") as served:
            with inspecting(browser, served.url, viewport={"width": 1280, "height": 1000}) as inspector:
                searched(inspector)
                keep(inspector.page.screenshot(), "inspector_search")
            phone = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}
            with inspecting(browser, served.url, **phone) as inspector:
                at_a_session(inspector)
                keep(inspector.page.screenshot(), "inspector_session")
