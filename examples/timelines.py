"""How things came about: events linked over nine months, as timelines and as a page. Needs the base install only."""

import json
from itertools import groupby
from pathlib import Path

from secom_core import MemoryBank
from secom_core.timelines import TimelineOptions, timeline_picture

SCOPE = ("mara",)
DATA = Path(__file__).parent / "data" / "mara.jsonl"
OPTIONS = TimelineOptions(recall_without_model=True)  # with a model=… that links the events, they find more

with DATA.open(encoding="utf-8") as lines, MemoryBank.open(timelines=OPTIONS) as bank:
    for session, rows in groupby(map(json.loads, lines), key=lambda row: row["session"]):
        bank.remember(SCOPE, rows, session=session, close=True)
    print(f"{len(bank.timelines.events(SCOPE))} events, {len(bank.timelines.links(SCOPE))} links\n")

    question = "Which worktop did I choose?"
    for number, timeline in enumerate(bank.timelines.find(SCOPE, question), start=1):
        print(f"timeline {number}")
        for event in timeline.events:
            print(f"  {event.at:%d %b}  {event.text}")

    print(f"\n{bank.recall(SCOPE, question, token_budget=700, layers=['timelines']).text}")

    turns = {turn.id: turn for name in bank.sessions(SCOPE) for turn in bank.turns(SCOPE, name)}
    page = timeline_picture(bank.timelines.events(SCOPE), bank.timelines.links(SCOPE), turns=turns, title="Mara")
    target = Path("timelines.html")
    target.write_text(page, encoding="utf-8")
    print(f"\nThe whole graph as a page: {target.name}, {len(page) // 1024} KiB")
