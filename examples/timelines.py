"""How things came about: events linked over nine months, as timelines and as a page. Needs the base install only."""

import json
from itertools import groupby
from pathlib import Path

from secom_core import MemoryBank
from secom_core.pictures import timeline_picture

SCOPE = ("mara",)
DATA = Path(__file__).parent / "data" / "mara.jsonl"

with DATA.open(encoding="utf-8") as lines, MemoryBank.open(timelines=True) as bank:
    for session, rows in groupby(map(json.loads, lines), key=lambda row: row["session"]):
        bank.remember(SCOPE, rows, session=session, close=True)
    print(f"{len(bank.events(SCOPE))} events, {len(bank.links(SCOPE))} links\n")

    question = "Which worktop did I choose?"
    for number, timeline in enumerate(bank.timelines(SCOPE, question), start=1):
        print(f"timeline {number}")
        for event in timeline.events:
            print(f"  {event.at:%d %b}  {event.text}")

    print(f"\n{bank.recall(SCOPE, question, token_budget=700, timelines=True).text}")

    turns = {turn.id: turn for name in bank.sessions(SCOPE) for turn in bank.turns(SCOPE, name)}
    page = timeline_picture(bank.events(SCOPE), bank.links(SCOPE), turns=turns, title="Mara")
    target = Path("timelines.html")
    target.write_text(page, encoding="utf-8")
    print(f"\nThe whole graph as a page: {target.name}, {len(page) // 1024} KiB")
