"""What was said about each person, by topic: summaries that are searched, with their turns. Needs the base install.

Without a language model, similar segments become one topic. With one (``model=``), the bank asks it what each session
says about each speaker, and to which topic that belongs.
"""

from secom_core import MemoryBank
from secom_core.readers import read_transcript
from secom_core.topics import TopicOptions

TRANSCRIPT = """\
--- 4 April 2025 ---
18:02 Ida: The roof of the boathouse leaks again, right over the oars.
18:03 Ida: Jonas knows a roofer in Lund who could mend the boathouse roof.
--- 2 May 2025 ---
19:30 Ida: The roofer from Lund was here. New sheets of zinc for the boathouse roof cost 2,300 crowns.
--- 9 May 2025 ---
20:15 Tom: My sister Lena passed her exam in Uppsala, she is a vet now.
"""

club = ("club",)
with MemoryBank.open(topics=TopicOptions(recall_without_model=True)) as bank:
    for session in read_transcript(TRANSCRIPT):
        bank.remember(club, session, close=True)
    for topic in bank.topics.all(club):
        print(f"{topic.speaker}, {len(topic.turn_ids)} turns of {len(topic.sessions)} sessions: {topic.version.note}")
    print()
    print(bank.recall(club, "What does the roofer want for the boathouse?", token_budget=250, layers=["topics"]).text)

    merged = next(topic for topic in bank.topics.all(club) if topic.version.previous)
    before = bank.topics.undo_merge(club, merged.id)
    print(f"\ntaken back: {len(merged.turn_ids)} turns are {len(before.turn_ids)} again")
