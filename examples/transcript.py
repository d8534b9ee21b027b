"""A plain transcript into a bank, and a question to it. Needs the base install only."""

from secom_core import MemoryBank
from secom_core.readers import read_transcript

TRANSCRIPT = """\
--- 4 April 2025 ---
18:02 Ida: The roof of the boathouse leaks again.
18:03 Tom: Over the oars?
18:03 Ida: Right over them. Jonas knows a roofer in Lund, Mrs. Falk.
18:07 Tom: Call her. Who rows in the relay, by the way?
18:08 Ida: You, me and Jonas. Lena has her exam that day.
--- 2 May 2025 ---
19:30 Tom: Mrs. Falk was here. New sheets of zinc, 2,300 crowns,
and she starts on Monday.
19:31 Ida: Good. And Lena's exam was moved, so she can row the relay instead of me.
19:32 Tom: Then you hold the stopwatch.
"""

with MemoryBank.open() as bank:
    for session in read_transcript(TRANSCRIPT):
        bank.remember(("club",), session, close=True)
    for question in ("Who rows in the relay?", "What does the roof cost?"):
        recall = bank.recall(("club",), question, token_budget=120)
        print(f"{question}\n{recall.text}\n")
