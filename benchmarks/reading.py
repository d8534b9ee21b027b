"""What it takes to read large exports, and what is read of each format.

    python -m benchmarks.reading                     # 200 MB of ChatGPT and of WhatsApp, and the table of formats
    python -m benchmarks.reading --megabytes 20

Each large file is written into a temporary folder and read in a process of its own, so that its peak of resident memory
is its own. ``before`` is what the process has with everything imported. The small files are those of
`benchmarks.example_exports`, of which it is known what is to be read.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import example_exports as examples
from secom_core.readers import format_of, read

WORDS = (
    "the a we you of to in and sail boat weather Ghent Bruges choir train at nine bread is müde größer 日本 rent "
    "garden tomato scarf question answer because however tomorrow"
).split()
RESULTS = Path(__file__).parent / "results" / "reading.txt"


def chatgpt(megabytes: int) -> Iterator[str]:
    """``conversations.json``, piece by piece: conversations of twenty messages, long answers, a branch in each."""
    draw, size, number = random.Random(1), 0, 0
    yield "["
    while size < megabytes * 1e6:
        text = json.dumps(_conversation(draw, number), ensure_ascii=number % 2 == 0)
        yield f",\n{text}" if number else text
        size, number = size + len(text), number + 1
    yield "]"


def _conversation(draw: random.Random, number: int) -> dict[str, object]:
    at, parent = 1.7e9 + number * 3600, "root"
    nodes: dict[str, object] = {"root": examples.node("root", None, None, "n0")}
    for place in range(20):
        role, length = ("user", 30) if place % 2 == 0 else ("assistant", 300)
        words = " ".join(draw.choices(WORDS, k=length))
        name = f"{number:08x}-{place:04x}"
        message = examples.chatgpt_message(name, role, words, at=at + place)
        nodes[name] = examples.node(name, parent, message)
        parent = name
    lost = examples.chatgpt_message("lost", "assistant", " ".join(draw.choices(WORDS, k=100)), at=at)
    nodes["lost"] = examples.node("lost", "root", lost)
    key = f"{number:08x}-0000-4000-8000-000000000000"
    return {"title": f"Chat {number}", "create_time": at, "mapping": nodes, "current_node": parent, "id": key}


def whatsapp(megabytes: int) -> Iterator[str]:
    """A chat of four people over years: lines of a few words, some messages of several lines, media now and then."""
    draw, size, minute = random.Random(2), 0, 0
    names = ("Ann", "Bob", "Zoë", "+32 470 12 34 56")
    while size < megabytes * 1e6:
        minute += draw.choice((0, 1, 1, 2, 5, 90))
        day = time.gmtime(1.4e9 + minute * 60)
        words = "<Media omitted>" if draw.random() < 0.03 else " ".join(draw.choices(WORDS, k=draw.randint(2, 25)))
        more = "\nand a second line" if draw.random() < 0.05 else ""
        line = f"{day.tm_mday:02}/{day.tm_mon:02}/{day.tm_year % 100:02}, {day.tm_hour:02}:{day.tm_min:02} - "
        line = f"{line}{draw.choice(names)}: {words}{more}\n"
        yield line
        size += len(line.encode())


def timed(name: str, path: Path, size: float) -> str:
    """How long a file takes in a process of its own, and how much memory."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.reading", "--one", str(path)], capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(done.stderr)
    told = json.loads(done.stdout)
    return (
        f"{name:24} {size:6.0f} MB {told['seconds']:7.1f} s {size / told['seconds']:6.1f} MB/s   "
        f"peak {told['peak']:5.0f} MB (before: {told['before']:3.0f})   {told['sessions']:,} sessions, "
        f"{told['messages']:,} messages"
    )


def _one(path: str) -> None:
    before = _resident()
    began, sessions, messages = time.perf_counter(), 0, 0
    for session in read(path, note=lambda text: None):
        sessions, messages = sessions + 1, messages + len(session.messages)
    seconds = time.perf_counter() - began
    told = {"seconds": seconds, "peak": _resident(), "before": before, "sessions": sessions, "messages": messages}
    print(json.dumps(told))


def _resident() -> float:
    """The peak of resident memory of this process, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3)


def large(megabytes: int, folder: Path) -> Iterator[str]:
    """A line for each large file."""
    made: dict[str, tuple[str, Callable[[int], Iterator[str]]]] = {
        "ChatGPT": ("conversations.json", chatgpt),
        "WhatsApp": ("WhatsApp Chat with Choir.txt", whatsapp),
    }
    for name, (file, pieces) in made.items():
        path = folder / file
        with path.open("w", encoding="utf-8") as out:
            out.writelines(pieces(megabytes))
        size = path.stat().st_size / 1e6
        yield timed(name, path, size)
        packed = folder / f"{name}.zip"
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.write(path, file)
        path.unlink()
        yield timed(f"{name}, zip", packed, size)
        packed.unlink()


def formats(folder: Path) -> Iterator[str]:
    """A line for each small file: what it is recognised as, and what was read of it."""
    yield f"{'file':28} {'recognised as':16} {'sessions':>8} {'messages':>8} {'dated':>5}  by role"
    for name, content in examples.FILES.items():
        path = examples.write(folder, {name: content}) / name
        yield _row(name, path)
    for name, files in {"slack": examples.SLACK, "package": examples.DISCORD_PACKAGE}.items():
        yield _row(f"{name}/", examples.write(folder / name, files))
        yield _row(f"{name}.zip", examples.zipped(folder / f"{name}.zip", files))


def _row(name: str, path: Path) -> str:
    said: list[str] = []
    sessions = list(read(path, note=said.append))
    messages = [message for session in sessions for message in session.messages]
    roles = Counter(message.role or "people" for message in messages)
    counts = ", ".join(f"{role} {count}" for role, count in sorted(roles.items()))
    left = next((text.partition("left out: ")[2] for text in said if "left out" in text), "")
    dated = sum(message.at is not None for message in messages)
    found = f"{name:28} {format_of(path).name:16} {len(sessions):8} {len(messages):8} {dated:5}  {counts}"
    return f"{found}; left out: {left}" if left else found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--megabytes", type=int, default=200, help="how large the large files are")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        _one(asked.one)
        return
    with tempfile.TemporaryDirectory() as folder:
        lines = [*large(asked.megabytes, Path(folder)), "", *formats(Path(folder) / "small")]
    print("\n".join(lines))
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
