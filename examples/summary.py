"""A running summary together with the memories that a search finds, in one budget. Needs the base install only.

Without a language model, the summary consists of sentences of the sessions. With one (``model=``), the bank writes a
new summary when each session closes.
"""

from secom_core import MemoryBank
from secom_core.readers import read_transcript

TRANSCRIPT = """\
--- 4 April 2025 ---
18:02 Ida: The roof of the boathouse leaks again.
18:03 Tom: Over the oars?
18:03 Ida: Right over them. Jonas knows a roofer in Lund, Mrs. Falk.
18:08 Ida: For the relay we have you, me and Jonas. Lena has her exam that day.
--- 2 May 2025 ---
19:30 Tom: Mrs. Falk was here. New sheets of zinc cost 2,300 crowns, and she starts on Monday.
19:31 Ida: Good. And Lena's exam was moved, so she can row the relay instead of me.
--- 9 May 2025 ---
20:15 Tom: The roof is dry. Mrs. Falk left us a ladder.
"""

club = ("club",)
with MemoryBank.open(summaries=True) as bank:
    for session in read_transcript(TRANSCRIPT):
        bank.remember(club, session, close=True)
    print(bank.recall(club, "What does the roof cost?", token_budget=250, layers=["summaries"]).text)
    latest = bank.summaries.latest(club)
    print(
        f"\nversion {latest.version}, made of {len(latest.turn_ids)} turns in"
        f" {len(bank.summaries.versions(club))} sessions"
    )

    bank.forget(club, session=latest.session)
    bank.derive(club)
    print(
        f"{latest.session} is forgotten; the ladder is in the summary: {'ladder' in bank.summaries.latest(club).text}"
    )
