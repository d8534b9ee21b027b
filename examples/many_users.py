"""Many users in one process, in threads and in tasks: one bank, separate memories. Needs the base install only."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from secom_core import InvalidScope, MemoryBank
from secom_core.bank import BackgroundWriter

USERS = [("acme", f"user-{number}") for number in range(10, 30)]
bank = MemoryBank.open()  # MemoryBank.open("memory.db"): several processes may share the file, too
writer = BackgroundWriter(bank)  # on disk at once; topics and keys are made in a thread of its own


def say(turn: int, scope: tuple[str, str]) -> None:
    """What each of them says is alike but for a secret of their own."""
    said = f"Remark {turn}: the code of my locker is {scope[1]}-{turn}."
    writer.remember(scope, [{"role": "user", "content": said}], session=f"day-{turn // 5}")


with ThreadPoolExecutor(8) as pool:  # a thousand turns, interleaved
    list(pool.map(lambda job: say(*job), [(turn, scope) for turn in range(50) for scope in USERS]))


async def ask(scope: tuple[str, str]) -> str:
    """The bank blocks for some milliseconds, so that an event loop has it work in a thread."""
    recall = await asyncio.to_thread(bank.recall, scope, "What is the code of my locker?", token_budget=1000)
    return recall.text


async def ask_all() -> list[str]:
    return await asyncio.gather(*map(ask, USERS))


blocks = asyncio.run(ask_all())  # at once, while the writer is still at work
print(f"{sum(bank.stats(scope).turns for scope in bank.scopes())} turns of {len(bank.scopes())} users")
found = [(block.count("locker is"), block.count(f"{scope[1]}-")) for scope, block in zip(USERS, blocks, strict=True)]
own, foreign = min(own for _, own in found), sum(shown - own for shown, own in found)
print(f"Each was shown at least {own} turns of their own, and {foreign} of anybody else's. Such as user-17:\n")
print(bank.recall(USERS[7], "Remark 12: the code of my locker?", token_budget=60).text)

print(f"\nuser-17 is forgotten: {bank.forget(USERS[7])} turns; user-18 has {bank.stats(USERS[8]).turns} still")
try:
    bank.recall((), "locker")
except InvalidScope as error:
    print(f"nobody's memory: {error}")
writer.close()
bank.close()
