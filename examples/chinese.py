"""一位中文助手的记忆：分话题、摘要、检索。Memory for a Chinese assistant. Needs the base install only."""

import json
import sys
from itertools import groupby
from pathlib import Path

from secom_core import Companion, MemoryBank
from secom_core.testing import ScriptedModel

sys.stdout.reconfigure(errors="replace")  # a terminal that cannot show Chinese shows question marks
LIN = ("林",)
DATA = Path(__file__).parent / "data" / "lin.jsonl"
model = ScriptedModel(["在浣花小学[2]。", "在一家茶馆做店长[1]。"])  # stands for your language model

with DATA.open(encoding="utf-8") as lines, MemoryBank.open(summaries=True) as bank:
    for session, rows in groupby(map(json.loads, lines), key=lambda row: row["session"]):
        bank.remember(LIN, rows, session=session, close=True)
        print(f"{session} 的话题：")
        for memory in bank.memories(LIN, session):
            print(f"  {len(memory.turns)} 轮  {memory.turns[0].messages[0].text}")

    print("\n摘要（最近五句）：", *bank.summaries.latest(LIN).sentences[-5:], sep="\n  ")

    companion = Companion(bank, LIN, model, instructions="你是林的助手，用中文回答。", token_budget=150)
    for question in ("小满在哪所小学上学？", "我现在做什么工作？"):
        answer = companion.reply(question)
        print(f"\n问：{question}\n{answer.recall.text}\n答：{answer.text}")
