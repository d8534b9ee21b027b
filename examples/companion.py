"""A conversation that remembers, and records which memories its answers used. Needs the base install only.

The language model is a stand-in that looks words up, so that this runs anywhere. With a real one:

    from secom_core.models import OpenAIModel
    model = OpenAIModel("gpt-4o-mini")  # or any compatible endpoint, with base_url="http://localhost:11434/v1"
"""

import json
import re
from itertools import groupby
from pathlib import Path

from secom_core import Companion, MemoryBank
from secom_core.testing import ScriptedModel, ScriptedRequest

SCOPE = ("mara",)
DATA = Path(__file__).parent / "data" / "mara.jsonl"
QUESTIONS = ("Where is the wedding of my sister Ines?", "When do we fly to the Azores?", "When is my pottery class?")


def stand_in(request: ScriptedRequest) -> str:
    """Answers with the latest memory that shares most long words with the question, and cites it."""
    memories, _, question = request.text.rpartition("\n\n")
    wanted = set(re.findall(r"\w{4,}", question.lower()))
    entries = re.findall(r"^\[(\d+)\] (.*)$", memories, re.M)
    number, line = max(reversed(entries), key=lambda entry: len(wanted & set(re.findall(r"\w{4,}", entry[1].lower()))))
    return f"You said: “{line.partition(': ')[2]}” [{number}]"


with DATA.open(encoding="utf-8") as lines, MemoryBank.open(citations=True) as bank:
    for session, rows in groupby(map(json.loads, lines), key=lambda row: row["session"]):
        bank.remember(SCOPE, rows, session=session, close=True)

    companion = Companion(bank, SCOPE, ScriptedModel(stand_in), token_budget=250)
    for question in QUESTIONS:
        answer = companion.reply(question)
        print(f"{question}\n  {answer.text}")
        print(f"  cited {list(answer.citations.numbers)} of {len(answer.recall.hits)} shown: {answer.lesson.kind}")
    print(f"\nWhat the model was shown for the last one:\n{answer.recall.text}")

    print("\nWhat the bank keeps of it:")
    for entry in bank.citations.log(SCOPE):
        print(f"  {entry.query!r} was answered from the turns {entry.used_turns}")
