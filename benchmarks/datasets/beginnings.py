"""The first sessions of LoCoMo's conversations as a small data set, for runs with a slow model.

    python -m benchmarks.datasets.beginnings --data LOCOMO --sessions 5 --out FOLDER [--replies]

Writes files in LoCoMo's own form, with the questions whose evidence lies in these sessions. With ``--replies``, one
file in the form of Multi-Session Chat, which also has five sessions: the last session is to be carried on, and what
LoCoMo notes of the speakers in the sessions before it stands as their personas.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.retrieval import locomo_files

_MARK: Final = "beginning"


def _title(sessions: int) -> str:
    return f"LoCoMo, the first {sessions} sessions"


def title_of(file: Path) -> str:
    """What a file that was written here is of; empty for any other."""
    with file.open(encoding="utf-8", errors="replace") as text:
        _, is_marked, rest = text.read(100).partition(f'{{"{_MARK}": "')
    return rest.partition('"')[0] if is_marked else ""


def beginning(found: Mapping[str, Any], sessions: int) -> dict[str, Any]:
    """The first sessions of a conversation in LoCoMo's form, and the questions that they answer."""
    names = [f"session_{number}" for number in range(1, sessions + 1)]
    taken = {*names, *(f"{name}_date_time" for name in names)}
    kept = {key: value for key, value in found.items() if key in taken}
    said = {each["dia_id"] for name in names for each in found.get(name, ())}
    asked = [each for each in found["qa"] if each.get("evidence") and said.issuperset(each["evidence"])]
    speakers = {key: found[key] for key in ("speaker_a", "speaker_b")}
    return {_MARK: _title(sessions), **speakers, **kept, "qa": asked}


def carried_on(found: Mapping[str, Any], name: str, sessions: int) -> dict[str, Any]:
    """The same sessions in the form of Multi-Session Chat; the last of them is the one to carry on."""
    dialogs = [
        [{"id": each["speaker"], "text": each["text"]} for each in found[f"session_{number}"]]
        for number in range(1, sessions + 1)
    ]
    noted: dict[str, list[str]] = {found["speaker_a"]: [], found["speaker_b"]: []}
    for number in range(1, sessions):
        for speaker, lines in found.get(f"session_{number}_observation", {}).items():
            noted.setdefault(speaker, []).extend(line for line, _ in lines)
    return {
        _MARK: _title(sessions),
        "previous_dialogs": [{"dialog": dialog} for dialog in dialogs[:-1]],
        "dialog": dialogs[-1],
        "personas": list(noted.values()),
        "metadata": {"initial_data_id": name},
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sessions", type=int, default=5)
    parser.add_argument("--out", type=Path, required=True, help="a folder")
    parser.add_argument("--replies", action="store_true")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    read = {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in locomo_files(options.data)}
    if options.sessions < 1 + options.replies:
        least = "2, as there has to be a session to remember" if options.replies else "1"
        raise SystemExit(f"--sessions {options.sessions}: give at least {least}")
    if without := [name for name, found in read.items() if not found.get(f"session_{options.sessions}")]:
        raise SystemExit(f"{', '.join(without)} has no session {options.sessions}: give a smaller --sessions")
    if options.replies:
        rows = [json.dumps(carried_on(found, name, options.sessions)) for name, found in read.items()]
        (options.out / f"session_{options.sessions}.txt").write_text("\n".join(rows) + "\n", encoding="utf-8")
        print(f"{len(rows)} conversations: {options.out / f'session_{options.sessions}.txt'}")
        return
    for name, found in read.items():
        (options.out / f"{name}.json").write_text(json.dumps(beginning(found, options.sessions)), encoding="utf-8")
    print(f"{len(read)} conversations: {options.out}")


if __name__ == "__main__":
    main()
