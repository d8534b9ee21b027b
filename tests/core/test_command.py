"""The command ``secom``: as a user types it, as a script reads it, and with what nobody should have typed."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import re
import select
import shlex
import shutil
import sqlite3
import struct
import subprocess
import sys
import termios
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from secom_core import MemoryBank
from secom_core.command import main
from secom_core.command.options import parser
from secom_core.memory import Recall, RecallOptions
from secom_core.readers import read, read_transcript

ROOT = Path(__file__).resolve().parents[2]
ALICE = ["--scope", "acme", "--scope", "alice"]
CHAT = """\
Ann: I moved to Ghent last week, into a flat above a bakery.
Bob: Congratulations! How is it?
Ann: Noisy at four in the morning. My cat Miso loves the warm floor.
"""
NASTY = "clear \x1b[2J bell \x07 nul \x00 half \ud83d right \u202eto left\u202c back\rwards tag \U000e0041 end"
READING = [
    ["recall", "Ghent"],
    ["inspect"],
    ["inspect", "topics", "--make"],
    ["forget", "--all", "--yes"],
    ["export"],
    ["report", "-o", "page.html"],
]


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


class Secom:
    """Runs the command in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: str) -> Done:
        try:
            code = main(list(words))
        except SystemExit as left:
            code = int(left.code or 0)
        seen = self._capsys.readouterr()
        assert "Traceback" not in seen.err
        return Done(code, seen.out, seen.err)

    def ok(self, *words: str) -> str:
        done = self(*words)
        assert done.code == 0, done.err
        return done.out


@pytest.fixture
def secom(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Secom:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "nothing"))
    for name in [name for name in os.environ if name.startswith("SECOM_")]:
        monkeypatch.delenv(name, raising=False)
    Path("chat.txt").write_text(CHAT, encoding="utf-8")
    return Secom(capsys)


@pytest.fixture
def kept(secom: Secom) -> Secom:
    secom.ok("remember", "chat.txt", *ALICE)
    return secom


def environment() -> dict[str, str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("SECOM_")}
    return {**env, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", "NO_COLOR": "1"}


def typed(*words: str, stdin: str = "") -> Done:
    """The command in a process of its own."""
    command = [sys.executable, "-m", "secom_core", *words]
    done = subprocess.run(command, input=stdin, env=environment(), capture_output=True, encoding="utf-8", timeout=60)
    return Done(done.returncode, done.stdout, done.stderr)


def at_terminal(words: Sequence[str], answer: str = "") -> tuple[int, str]:
    """The command at a terminal of its own; what is seen there, and its exit code."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    command = [sys.executable, "-m", "secom_core", *words]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment()) as process:
        os.close(theirs)
        os.write(ours, answer.encode())
        seen = b""
        while select.select([ours], [], [], 60)[0]:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            seen += piece
        code = process.wait(timeout=60)
    os.close(ours)
    return code, seen.decode("utf-8", "surrogateescape")


def dump(path: str = "memory.db") -> list[str]:
    with sqlite3.connect(path) as connection:
        return list(connection.iterdump())


# -- as a user types it -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_remember_recall_inspect_forget(secom: Secom) -> None:
    assert typed("remember", "chat.txt", *ALICE).out == "3 messages remembered, in 1 session\n"
    recalled = typed("recall", "Which city did Ann move to?", *ALICE)
    assert (recalled.code, recalled.err) == (0, "")
    assert "[1] Ann: I moved to Ghent" in recalled.out
    assert re.search(r"^turns +3$", secom.ok("inspect", *ALICE), re.M)
    assert secom.ok("scopes").split() == ["3", "turns", "1", "session", *ALICE]
    assert secom.ok("forget", "--all", "--yes", *ALICE) == "3 turns forgotten\n"
    gone = typed("recall", "Which city did Ann move to?", *ALICE)
    assert (gone.code, gone.out) == (1, "")
    assert gone.err.startswith("secom: nothing is remembered for --scope acme --scope alice")


def test_it_is_installed_under_its_name() -> None:
    found = re.search(r'^secom = "(?P<module>[\w.]+):(?P<name>\w+)"$', (ROOT / "pyproject.toml").read_text(), re.M)
    assert found is not None
    assert getattr(sys.modules[found["module"]], found["name"]) is main


def test_captions_of_a_recording_are_remembered_once(secom: Secom) -> None:
    Path("weekly.vtt").write_text(
        "WEBVTT\n\n00:01.000 --> 00:04.000\n<v Ann>My cat is called Miso.\n", encoding="utf-8"
    )
    assert secom.ok("remember", "weekly.vtt", *ALICE) == "1 message remembered, in 1 session\n"
    assert secom.ok("remember", "weekly.vtt", *ALICE) == "0 messages remembered, 1 known already, in 1 session\n"
    assert "Ann: My cat is called Miso." in secom.ok("recall", "Miso", *ALICE)


def test_a_file_may_be_remembered_again_when_it_has_grown(kept: Secom) -> None:
    assert kept.ok("remember", "chat.txt", *ALICE) == "0 messages remembered, 3 known already, in 1 session\n"
    Path("chat.txt").write_text(CHAT + "Bob: Noisy how?\nAnn: Noisy how?\nAnn: Noisy how?\n", encoding="utf-8")
    told = json.loads(kept.ok("remember", "chat.txt", "--json", *ALICE))
    assert (told["new"], told["known"], told["sessions"]) == (3, 3, ["chat"])
    assert len(json.loads(kept.ok("inspect", "turns", "--json", *ALICE))) == 6


def test_what_says_no_time_is_said_when_you_say(secom: Secom) -> None:
    secom.ok("remember", "chat.txt", "--at", "7 May 2024", *ALICE)
    assert {turn["at"] for turn in json.loads(secom.ok("inspect", "turns", "--json", *ALICE))} == {
        "2024-05-07T00:00:00+00:00"
    }


def test_a_session_that_is_left_open_is_taken_in_by_no_layer(secom: Secom) -> None:
    secom.ok("remember", "chat.txt", "--open", *ALICE)
    assert json.loads(secom.ok("inspect", "--json", *ALICE))["not_taken_in"]["topics"] == 0
    secom.ok("remember", "chat.txt", *ALICE)
    assert json.loads(secom.ok("inspect", "--json", *ALICE))["not_taken_in"]["topics"] == 1


def test_standard_input_needs_a_name(secom: Secom, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CHAT.encode())))
    assert "--session NAME" in secom("remember", "-", *ALICE).err
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CHAT.encode())))
    assert secom.ok("remember", "-", "--session", "monday", *ALICE).startswith("3 messages")
    assert json.loads(secom.ok("inspect", "sessions", "--json", *ALICE))[0]["session"] == "monday"


def test_what_is_stored_with_another_time_than_the_file_has_is_told(secom: Secom) -> None:
    name = "WhatsApp Chat with Zed.txt"
    first = "01/02/2024, 09:15 - Zed: alpha\n01/02/2024, 09:16 - Ann: beta\n"
    Path(name).write_text(first, encoding="utf-8")
    secom.ok("remember", name, *ALICE)
    assert "another time" not in secom("remember", name, *ALICE).err
    # What has come since shows that the month stands first.
    Path(name).write_text(f"{first}01/15/2024, 09:15 - Zed: gamma\n", encoding="utf-8")
    done = secom("remember", name, *ALICE)
    assert done.out == "1 message remembered, 2 known already, in 2 sessions\n"
    assert (
        "2 messages known already with another time, such as 2024-02-01 09:15+00:00 for what is now read as "
        in done.err
    )
    assert "2024-01-02 09:15+00:00" in done.err
    elsewhere = secom("remember", name, "--timezone", "Asia/Tokyo", *ALICE).err
    assert "3 messages known already with another time" in elsewhere
    assert "(and likewise of 1 other session)" in elsewhere
    [advised] = re.findall(r"`secom (forget [^`]+)`", done.err)
    secom.ok(*shlex.split(advised), "--yes", *ALICE)
    assert "another time" not in secom("remember", name, *ALICE).err
    times = [each["at"] for each in json.loads(secom.ok("inspect", "turns", "--json", *ALICE))]
    assert times == ["2024-01-02T09:15:00+00:00", "2024-01-02T09:16:00+00:00", "2024-01-15T09:15:00+00:00"]


def test_a_pipe_is_read_once_and_needs_a_name(secom: Secom) -> None:
    os.mkfifo("pipe")
    for words, said in ([], "the pipe pipe needs a name"), (["--session", "monday"], "3 messages remembered"):
        with subprocess.Popen(["sh", "-c", "cat chat.txt > pipe"]):
            done = typed("remember", "pipe", *words, *ALICE)
        assert said in done.out + done.err
    with subprocess.Popen(["sh", "-c", "cat chat.txt > pipe"]):
        assert [len(session.messages) for session in read("pipe")] == [3]


SAID = [{"role": "user", "content": "I moved."}, {"role": "assistant", "content": "Where to?"}]
FORMS = {
    "headers.txt": ("--- 3 May 2024 ---\nAnn: Hi\n--- 4 May 2024 ---\nAnn: Ho\n", ["3 May 2024", "4 May 2024"]),
    "bracket.txt": ("[2024-05-03 14:05] Ann: Hi\n[2024-05-03 14:06] Bob: Ho\n", ["bracket"]),
    "bom.txt": ("\ufeffAnn: Hi\nBob: Ho\n", ["bom"]),
    "list.json": (json.dumps(SAID), ["list"]),
    "pairs.json": (json.dumps([["user", "Hi"], ["assistant", "Ho"]]), ["pairs"]),
    "object.json": (json.dumps({"messages": SAID}), ["object"]),
    "lines.jsonl": ("\n".join(map(json.dumps, SAID)), ["lines"]),
    "one": (json.dumps(SAID[0]), ["one"]),
    "named.jsonl": ("\n".join(json.dumps({**row, "session": f"s{n}"}) for n, row in enumerate(SAID)), ["s0", "s1"]),
    "tuning.jsonl": ("\n".join([json.dumps({"messages": SAID})] * 2), ["tuning 1", "tuning 2"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMS)
def test_every_form_is_read(secom: Secom, name: str) -> None:
    text, sessions = FORMS[name]
    Path(name).write_text(text, encoding="utf-8")
    told = json.loads(secom.ok("remember", name, "--json", *ALICE))
    assert told["sessions"] == sessions
    assert told["new"] > 0
    again = json.loads(secom.ok("remember", name, "--json", *ALICE))
    assert (again["new"], again["turn_ids"]) == (0, told["turn_ids"])


# -- what can be asked for --------------------------------------------------------------------------------------------


def test_recall_as_json_is_the_recall(kept: Secom) -> None:
    told = json.loads(kept.ok("recall", "Where did Ann move?", "-k", "1", "--json", *ALICE))
    with MemoryBank.open("memory.db") as bank:
        recall = bank.recall(("acme", "alice"), "Where did Ann move?", k=1)
    assert (told["text"], told["tokens"]) == (recall.text, recall.tokens)
    assert [turn["id"] for turn in told["hits"][0]["turns"]] == list(recall.hits[0].turn_ids)


def test_the_budget_and_the_moment_are_passed_on(secom: Secom) -> None:
    Path("diary.txt").write_text("--- 2024-05-01 ---\nAnn: I ran.\n--- 2024-06-01 ---\nAnn: I swam.\n")
    secom.ok("remember", "diary.txt", *ALICE)
    told = json.loads(secom.ok("recall", "What did Ann do?", "--token-budget", "40", "--json", *ALICE))
    assert 0 < told["tokens"] <= 40
    lately = secom.ok("recall", "What did Ann do yesterday?", "-k", "1", "--now", "2024-05-02", *ALICE)
    assert "I ran." in lately


@pytest.mark.parametrize(
    ("zone", "now", "found"),
    [
        ("Europe/Brussels", "2025-06-11T22:30Z", "I swam."),  # the 12th has begun in Brussels
        ("Europe/Brussels", "2025-06-12T00:30", "I swam."),
        ("Europe/Brussels", "2025-06-12T00:30-03:00", "I swam."),
        ("Europe/Brussels", "2025-06-11T21:30Z", "I ran."),
        (None, "2025-06-11T22:30Z", "I ran."),
    ],
)
def test_yesterday_is_counted_in_the_time_zone_that_is_given(
    secom: Secom, zone: str | None, now: str, found: str
) -> None:
    Path("diary.txt").write_text("--- 2025-06-10 12:00 ---\nAnn: I ran.\n--- 2025-06-11 12:00 ---\nAnn: I swam.\n")
    secom.ok("remember", "diary.txt", *ALICE)
    asked = ["recall", "What did Ann do yesterday?", "-k", "1", "--now", now, *ALICE]
    assert found in secom.ok(*asked, *(["--timezone", zone] if zone else []))
    if zone:
        Path("secom.toml").write_text(f'timezone = "{zone}"\n')
        assert found in secom.ok(*asked)


def test_times_without_a_zone_are_of_the_configured_one(secom: Secom) -> None:
    Path("secom.toml").write_text('timezone = "Europe/Brussels"\n')
    Path("chat.txt").write_text("[10/06/2025, 23:30:00] Ann: I ran.\n[11/06/2025, 23:30:00] Bob: I swam.\n")
    done = secom("remember", "chat.txt", "--dates", "day-first", *ALICE)
    assert "time zone" not in done.err
    secom.ok("forget", "--before", "2025-06-11", "--json", *ALICE)
    with MemoryBank.open("memory.db") as bank:
        assert [str(turn.at) for turn in bank.turns(("acme", "alice"))] == ["2025-06-11 23:30:00+02:00"]
    assert "Europe/Brussels" in refused(secom("recall", "x", "--timezone", "Europe/Brussel", *ALICE))


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo"])
def test_days_and_times_of_transcripts_and_messages_are_of_the_configured_zone(secom: Secom, zone: str) -> None:
    Path("secom.toml").write_text(f'timezone = "{zone}"\n')
    Path("chat.txt").write_text("--- 3 May 2024 ---\nAnn: I ran.\n14:05 Ann: I swam.\n14:06Z Ann: I slept.\n")
    said = [{"role": "user", "content": "Hi."}, {"role": "user", "content": "So.", "at": "2024-05-04T14:05:00"}]
    Path("chat.json").write_text(json.dumps({"session": "s", "date": "2024-05-04", "messages": said}))
    secom.ok("remember", "chat.txt", "chat.json", *ALICE)
    with MemoryBank.open("memory.db") as bank:
        turns = bank.turns(("acme", "alice"))
    offset = "-04:00" if zone == "America/New_York" else "+09:00"
    plain = [f"2024-05-03 00:00:00{offset}", f"2024-05-03 14:05:00{offset}"]
    dated = [f"2024-05-04 00:00:00{offset}", f"2024-05-04 14:05:00{offset}"]
    assert sorted(str(turn.at) for turn in turns if turn.messages[0].text != "I slept.") == plain + dated


def test_recall_takes_every_option_and_passes_it_on(kept: Secom, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = {
        "token_budget": 400,
        "k": 2,
        "layers": ("summaries", "citations"),
        "only_relevant": True,
        "history": False,
    }
    apart = {"where": {"role": "user"}, "also": (("acme", "bob"),)}
    assert {*wanted, *apart} == {field.name for field in fields(RecallOptions)}
    seen: list[dict[str, object]] = []
    recall = MemoryBank.recall

    def watched(bank: MemoryBank, *args: Any, **named: Any) -> Recall:
        seen.append(named)
        return recall(bank, *args, **named)

    monkeypatch.setattr(MemoryBank, "recall", watched)
    given = ["--token-budget", "400", "-k", "2", "--layer", "summaries", "--layer", "citations"]
    given += ["--only-relevant", "--no-history"]
    assert "Ghent" in kept.ok("recall", "Ghent", *given, *ALICE)
    kept.ok("recall", "Ghent", "--where", '{"role": "user"}', "--also", '["acme", "bob"]', *ALICE)
    assert {name: seen[0][name] for name in wanted} == wanted
    assert {name: seen[1][name] for name in apart} == apart
    done = kept("recall", "Ghent", "--where", '{"rol": "user"}', *ALICE)
    assert "a filter has the fields role" in done.err


@pytest.mark.slow
def test_looking_makes_nothing(kept: Secom) -> None:
    before = dump()
    for what in listings():
        kept.ok("inspect", what, *ALICE)
        kept.ok("inspect", what, "--json", *ALICE)
    layers = [word for layer in ("summaries", "timelines", "topics", "citations") for word in ("--layer", layer)]
    kept.ok("recall", "Ghent", *layers, "--without-model", *ALICE)
    kept.ok("report", "-o", "page.html", *ALICE)
    kept.ok("export", *ALICE)
    kept.ok("scopes")
    assert dump() == before


def test_inspect_shows_what_every_bank_has_and_what_layers_list(kept: Secom) -> None:
    wanted = [
        "overview",
        "sessions",
        "segments",
        "turns",
        "summaries",
        "timelines",
        "topics",
        "validity",
        "changes",
        "chats",
        "log",
        "corrections",
        "lifetimes",
    ]
    assert listings() == wanted
    lines = dict(re.findall(r"^  ([a-z]+) +(\S.*)$", helped(kept, "inspect").split("Examples:")[0], re.M))
    assert lines.keys() >= set(wanted)


def test_inspect_shows_the_latest_only_and_ignores_no_option(secom: Secom) -> None:
    Path("two.txt").write_text("--- 3 May 2024 ---\nAnn: Hi\n--- 4 May 2024 ---\nBob: Ho\n", encoding="utf-8")
    secom.ok("remember", "two.txt", *ALICE)
    for what in ("sessions", "segments"):
        shown = secom.ok("inspect", what, "--last", "1", *ALICE)
        assert "4 May 2024" in shown
        assert "3 May 2024" not in shown
    for what in ("sessions", "summaries", "corrections"):
        assert f"for segments and turns, not for {what}" in refused(secom("inspect", what, "--session", "x", *ALICE))
    assert "--last is for lists" in refused(secom("inspect", "--last", "1", *ALICE))


def test_a_block_that_is_too_small_is_told_from_nothing_found(kept: Secom) -> None:
    assert (
        "nothing that fits into --token-budget 5 is found" in kept("recall", "Ghent", "--token-budget", "5", *ALICE).err
    )


def test_another_scope_that_holds_nothing_is_told(kept: Secom) -> None:
    kept.ok("remember", "chat.txt", "--scope", "acme", "--scope", "team")
    done = kept("recall", "Ghent", "--also", '["acme", "teem"]', *ALICE)
    assert (done.code, "Ghent" in done.out) == (0, True)
    assert "--also: nothing is remembered for --scope acme --scope teem" in done.err
    assert "did you mean --scope acme --scope team?" in done.err
    assert kept("recall", "Ghent", "--also", '["acme", "team"]', *ALICE).err == ""


def test_a_layer_takes_no_part_without_a_model_unless_it_is_asked_for_twice(kept: Secom) -> None:
    for layer in ("timelines", "topics"):
        done = kept("recall", "Ghent", "--layer", layer, *ALICE)
        assert (done.code, done.out) == (1, "")
        assert f"without a language model, {layer} make a recall worse" in done.err
        assert "--without-model" in done.err
    assert "Ghent" in kept.ok("recall", "Ghent", "--layer", "summaries", *ALICE)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["topics", "timelines", "summaries"])
def test_make_makes_a_layer_and_says_what_is_missing(kept: Secom, what: str) -> None:
    seen = kept("inspect", what, *ALICE)
    assert (seen.code, seen.out) == (0, "")
    assert f"not in the {what} yet: 1 closed session" in seen.err
    asked = ("recall", "Ghent", "--layer", what, "--without-model", *ALICE)
    assert f"not every closed session is in the {what} yet" in kept(*asked).err
    made = kept("inspect", what, "--make", *ALICE)
    assert "Miso" in made.out
    assert made.err == ""
    assert json.loads(kept.ok("inspect", what, "--json", *ALICE))
    assert kept(*asked).err == ""


def test_what_is_missing_is_not_said_to_be_made_without_a_model_where_one_is_configured(kept: Secom) -> None:
    pytest.importorskip("openai", reason="the model of the command")
    assert "--make takes them in without a language model\n" in kept("inspect", "topics", *ALICE).err
    endpoint = ("--model", "any", "--base-url", "http://127.0.0.1:9/v1")
    assert kept("inspect", "topics", *endpoint, *ALICE).err.endswith("; --make takes them in\n")


@pytest.mark.slow
def test_the_log_shows_what_answers_cited_and_changes_nothing(kept: Secom) -> None:
    assert kept("inspect", "log", *ALICE).err == "secom: no log yet\n"
    with MemoryBank.open("memory.db", citations=True) as bank:
        for number in range(3):
            recall = bank.recall(("acme", "alice"), f"Ghent {number}?")
            assert recall.impression is not None
            bank.citations.reward(("acme", "alice"), f"Ghent {number}?", recall.impression, [1])
    before = dump()
    log = json.loads(kept.ok("inspect", "log", "--last", "2", "--json", *ALICE))
    assert [(entry["query"], entry["cited"]) for entry in log] == [("Ghent 1?", [1]), ("Ghent 2?", [1])]
    assert re.search(r"shown +\d+  cited 1  Ghent 2\?$", kept.ok("inspect", "log", *ALICE), re.M)
    kept.ok("report", "-o", "page.html", *ALICE)
    assert "Ghent 2?" in Path("page.html").read_text("utf-8")
    assert dump() == before


@pytest.mark.slow
def test_the_ids_that_turns_shows_are_those_that_forget_takes(kept: Secom) -> None:
    first = kept.ok("inspect", "turns", *ALICE).split()[0]
    assert kept.ok("forget", "--turn", first, *ALICE) == "1 turn forgotten\n"
    assert "Ghent" not in kept.ok("inspect", "turns", *ALICE)


@pytest.mark.slow
def test_conditions_of_forgetting_come_together(secom: Secom) -> None:
    Path("diary.txt").write_text("--- 2023-05-01 ---\nAnn: I ran.\n--- 2024-06-01 ---\nAnn: I swam.\n")
    secom.ok("remember", "diary.txt", *ALICE)
    assert secom("forget", "--session", "2024-06-01", "--before", "2024-01-01", *ALICE).code == 1
    assert json.loads(secom.ok("forget", "--before", "2024-01-01", "--json", *ALICE)) == {"forgotten": 1}
    assert [each["session"] for each in json.loads(secom.ok("inspect", "sessions", "--json", *ALICE))] == ["2024-06-01"]


def test_forgotten_words_are_not_in_the_file(kept: Secom) -> None:
    kept.ok("forget", "--session", "chat", *ALICE)
    left = b"".join(path.read_bytes() for path in Path().glob("memory.db*"))
    assert b"bakery" not in left


@pytest.mark.slow
def test_export_and_import_bring_everything(kept: Secom) -> None:
    kept.ok("export", "-o", "alice.jsonl", *ALICE)
    assert kept.ok("export", *ALICE) == Path("alice.jsonl").read_text(encoding="utf-8")
    assert kept.ok("import", "alice.jsonl", "--store", "other.db") == "3 turns came in\n"
    assert kept.ok("import", "alice.jsonl", "--store", "other.db", "--scope", "bob") == "3 turns came in\n"
    assert kept.ok("import", "alice.jsonl", "--store", "other.db", "--scope", "bob") == "0 turns came in\n"
    for scope in (ALICE, ["--scope", "bob"]):
        there = json.loads(kept.ok("inspect", "turns", "--json", "--store", "other.db", *scope))
        assert there == json.loads(kept.ok("inspect", "turns", "--json", *ALICE))


def test_the_store_is_named_by_option_or_environment(kept: Secom, monkeypatch: pytest.MonkeyPatch) -> None:
    os.rename("memory.db", "kept here.db")
    assert "Ghent" in kept.ok("recall", "Ghent", "--store", "kept here.db", *ALICE)
    monkeypatch.setenv("SECOM_STORE", "kept here.db")
    assert "Ghent" in kept.ok("recall", "Ghent", *ALICE)
    assert kept("recall", "Ghent", "--store", "other.db", *ALICE).code == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a?b.db", "a#b.db", "a%41.db", "mit Umlaut ü.db", "-"])
def test_a_store_may_have_any_name(secom: Secom, name: str) -> None:
    secom.ok("remember", "chat.txt", f"--store={name}", *ALICE)
    assert "Ghent" in secom.ok("recall", "Ghent", f"--store={name}", *ALICE)
    assert sorted(path.name for path in Path().iterdir()) == sorted([name, "chat.txt"])


@pytest.mark.slow
def test_sessions_are_listed_by_their_dates_and_not_by_the_order_of_the_export(secom: Secom) -> None:
    Path("chat.txt").write_text("--- 20 May 2024 ---\nAnn: Last.\n--- 3 May 2024 ---\nAnn: First.\n")
    assert secom("remember", "chat.txt", *ALICE).code == 0
    sessions = json.loads(secom("inspect", "sessions", "--json", *ALICE).out)
    assert [each["session"] for each in sessions] == ["3 May 2024", "20 May 2024"]
    [latest] = json.loads(secom("inspect", "turns", "--last", "1", "--json", *ALICE).out)
    assert latest["session"] == "20 May 2024"
    assert secom("report", "-o", "page.html", "--turns", "1", *ALICE).code == 0
    page = Path("page.html").read_text()
    assert "Last." in page
    assert page.index("20 May 2024") < page.index("3 May 2024")


def test_a_report_is_written_whole_for_its_owner(kept: Secom) -> None:
    assert kept("report", "-o", "page.html", "--make", "--title", "A & B", *ALICE).err == "secom: wrote page.html\n"
    page = Path("page.html").read_text(encoding="utf-8")
    assert '<h1 dir="auto">A &amp; B</h1>' in page
    assert "Ghent" in page
    assert "No topics are kept" not in page
    assert Path("page.html").stat().st_mode & 0o077 == 0
    assert sorted(path.name for path in Path().iterdir() if path.name.startswith(".")) == []
    assert kept.ok("report", "-o", "-", *ALICE).startswith("<!doctype html>")


# -- any scope, any words ---------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "scope", [["a b", "'\"$(x)\\"], ["--all"], ["-"], ["ü/猫", "x=y"], ["nul \x00", "half \ud800"], ['["a"]'], ["\n"]]
)
def test_a_scope_is_printed_as_it_is_given(secom: Secom, scope: list[str]) -> None:
    given = ["--scope-json", json.dumps(scope)]
    secom.ok("remember", "chat.txt", *given)
    printed = shlex.split(secom.ok("scopes").split("session", 1)[1])
    assert "Ghent" in secom.ok("recall", "Ghent", *printed)
    assert json.loads(secom.ok("scopes", "--json")) == [{"scope": scope, "sessions": 1, "turns": 3}]


@pytest.fixture
def nasty(secom: Secom) -> Secom:
    row = {"role": "user", "name": NASTY, "content": NASTY, "session": NASTY}
    Path("nasty.jsonl").write_text(json.dumps(row), encoding="utf-8")
    secom.ok("remember", "nasty.jsonl", *ALICE)
    return secom


def test_json_is_exact(nasty: Secom) -> None:
    [turn] = json.loads(nasty.ok("inspect", "turns", "--json", *ALICE))
    assert turn["session"] == turn["messages"][0]["text"] == turn["messages"][0]["speaker"] == NASTY
    [hit] = json.loads(nasty.ok("recall", "bell", "--json", *ALICE))["hits"]
    assert hit["turns"] == [turn]


COMMANDS = [["recall", "bell"], *(["inspect", what] for what in ("sessions", "segments", "topics"))]


@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_words_do_not_control_a_terminal(nasty: Secom, words: list[str]) -> None:
    words = [*words, "--make"] if words[-1] == "topics" else words
    code, seen = at_terminal([*words, *ALICE])
    assert code == 0
    assert "bell" in seen
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff\U000e0041]", seen)
    assert "\r" not in seen.replace("\r\n", "")


@pytest.mark.slow
def test_a_terminal_sees_what_was_there(nasty: Secom) -> None:
    assert "clear \\x1b[2J bell \\x07 nul \\x00 half \\ud83d" in at_terminal(["inspect", "turns", *ALICE])[1]
    # A block is for a model: what nobody sees is left out of it.
    assert "clear [2J bell  nul  half \ufffd" in at_terminal(["recall", "bell", *ALICE])[1]


@pytest.mark.slow
def test_a_pipe_gets_the_words_as_they_are(nasty: Secom) -> None:
    done = typed("inspect", "turns", *ALICE)
    assert done.code == 0
    assert "clear \x1b[2J bell \x07 nul \x00 half \\ud83d" in done.out


def test_messages_do_not_control_a_terminal(kept: Secom) -> None:
    for words in (["recall", "x", "--scope", "\x1b[2J"], ["inspect", "turns", "--session", "\x1b[2J", *ALICE]):
        done = kept(*words)
        assert done.code == 1
        assert "\x1b" not in done.err
        assert done.err.count("\n") == 1


@pytest.mark.slow
def test_a_bar_is_for_terminals(secom: Secom) -> None:
    seen = at_terminal(["remember", "chat.txt", *ALICE])[1]
    assert ("remembering" in seen, "reading chat.txt" in seen) == (True, True)
    assert typed("remember", "chat.txt", *ALICE).err == ""


@pytest.mark.slow
def test_a_terminal_is_asked_before_anything_is_forgotten(kept: Secom) -> None:
    code, seen = at_terminal(["forget", "--all", *ALICE], "n\n")
    assert code == 1
    assert "Forget 3 turns of --scope acme --scope alice for good? [y/N]" in seen
    assert "Ghent" in kept.ok("recall", "Ghent", *ALICE)
    code, seen = at_terminal(["forget", "--all", *ALICE], "y\n")
    assert code == 0
    assert "3 turns forgotten" in seen
    kept.ok("remember", "chat.txt", *ALICE)
    code, seen = at_terminal(["forget", "--all", "--yes", *ALICE])
    assert (code, "[y/N]" in seen) == (0, False)


def test_a_whole_scope_is_not_forgotten_where_nobody_can_be_asked(kept: Secom) -> None:
    done = typed("forget", "--all", *ALICE, stdin="y\n")
    assert (done.code, done.out) == (2, "")
    assert "add --yes" in done.err
    assert "Ghent" in kept.ok("recall", "Ghent", *ALICE)
    assert typed("forget", "--all", "--yes", *ALICE).out == "3 turns forgotten\n"


def test_questions_may_come_through_standard_input(kept: Secom) -> None:
    done = typed("recall", "-", *ALICE, stdin="Ghent\n\nMiso\n")
    assert (done.code, done.out.count("<memories>"), done.err) == (0, 2, "")
    rows = json.loads(typed("recall", "-", "--json", *ALICE, stdin="Ghent\nMiso").out)
    assert [row["query"] for row in rows] == ["Ghent", "Miso"]
    assert "holds no question" in refused(typed("recall", "-", *ALICE))


def test_a_misspelt_scope_or_session_is_answered_with_the_nearest(kept: Secom) -> None:
    wrong = kept("recall", "Ghent", "--scope", "acme", "--scope", "alise")
    assert "did you mean --scope acme --scope alice?" in wrong.err
    assert "did you mean chat?" in kept("inspect", "turns", "--session", "chatt", *ALICE).err
    assert "did you mean" not in kept("inspect", "turns", "--session", "zebra", *ALICE).err


# -- what cannot be done ----------------------------------------------------------------------------------------------


def refused(done: Done) -> str:
    assert done.code == 1
    assert done.out == ""
    assert re.fullmatch(r"secom: [^\n]+\n", done.err), done.err
    return done.err


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_reading_makes_no_store(secom: Secom, words: list[str]) -> None:
    assert "--store FILE or SECOM_STORE" in refused(secom(*words, *ALICE))
    assert sorted(path.name for path in Path().iterdir()) == ["chat.txt"]


@pytest.mark.slow
@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_a_scope_that_is_not_there_is_an_error(kept: Secom, words: list[str]) -> None:
    before = dump()
    assert "nothing is remembered for --scope bob" in refused(kept(*words, "--scope", "bob"))
    assert dump() == before


@pytest.mark.slow
@pytest.mark.parametrize("words", [*READING, ["remember", "chat.txt"]], ids=" ".join)
def test_other_files_are_left_alone(secom: Secom, words: list[str]) -> None:
    with sqlite3.connect("other.db") as connection:
        connection.execute("CREATE TABLE scopes (name TEXT)")
    Path("text.db").write_text("dear diary" * 1000)
    Path("folder.db").mkdir()
    before = Path("other.db").read_bytes()
    assert "not a store of secom" in refused(secom(*words, "--store", "other.db", *ALICE))
    assert "text.db holds text and is no bank" in refused(secom(*words, "--store", "text.db", *ALICE))
    assert "is a folder" in refused(secom(*words, "--store", "folder.db", *ALICE))
    assert "in memory" in refused(secom(*words, "--store", ":memory:", *ALICE))
    assert Path("other.db").read_bytes() == before
    assert Path("text.db").read_text() == "dear diary" * 1000


OF_A_STORE = {
    "remember": ["remember", "chat.txt", "--store", "@", *ALICE],
    "recall": ["recall", "Ghent", "--store", "@", *ALICE],
    "inspect": ["inspect", "--store", "@", *ALICE],
    "report": ["report", "-o", "page.html", "--store", "@", *ALICE],
    "correct": ["correct", "1", "No.", "--yes", "--store", "@", *ALICE],
    "retract": ["retract", "1", "--yes", "--store", "@", *ALICE],
    "undo": ["undo", "1", "--yes", "--store", "@", *ALICE],
    "pin": ["pin", "1", "--yes", "--store", "@", *ALICE],
    "unpin": ["unpin", "1", "--yes", "--store", "@", *ALICE],
    "forget": ["forget", "--all", "--yes", "--store", "@", *ALICE],
    "sweep": ["sweep", "--store", "@"],
    "compact": ["compact", "--store", "@"],
    "export": ["export", "--store", "@", *ALICE],
    "import": ["import", "@"],
    "check": ["check", "--store", "@"],
    "prepare": ["prepare", "--store", "@"],
    "move": ["move", "@"],
    "backup": ["backup", "@"],
    "rekey": ["rekey", "@", "--new-key-file", "key.txt"],
    "serve": ["serve", "--tokens-file", "@", *ALICE],
    "token": ["token", "laptop", "--tokens-file", "@", *ALICE],
    "scopes": ["scopes", "--store", "@"],
    "doctor": ["doctor", "--store", "@"],
}


def test_every_command_is_tried_on_files_that_are_none() -> None:
    assert {*OF_A_STORE, "completion"} == parser().commands.keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_A_STORE)
def test_what_an_error_advises_the_command_can_take(kept: Secom, name: str) -> None:
    """A folder, a file of another program, rubbish, and where it has to be there, a file that is not."""
    with sqlite3.connect("other.db") as connection:
        connection.execute("CREATE TABLE scopes (name TEXT)")
    Path("folder.db").mkdir()
    Path("rubbish.db").write_bytes(bytes(range(128, 256)) * 64)
    Path("key.txt").write_text("another one")
    makes = name in {"remember", "import", "move", "backup", "token", "doctor"}
    for place in ["folder.db", "other.db", "rubbish.db", *([] if makes else ["none.db"])]:
        done = kept(*(place if word == "@" else word for word in OF_A_STORE[name]))
        assert done.code == 1
        last = done.err.splitlines()[-1]
        assert last.startswith("secom: ")
        assert place in last
        of_this_command = re.sub("`[^`]*`", "", last)
        assert set(re.findall(r"--[a-z][\w-]+", of_this_command)) <= set(parser().commands[name].options), last


BROKEN = {
    "picture.txt": (b"\x89PNG\r\n\x1a\n\0\0", "picture.txt looks like a picture; pictures hold no text"),
    "empty.txt": (b" \n", "empty.txt holds no message"),
    "empty.json": (b"[]", "empty.json holds no message"),
    "nobody.txt": (b"It rained all day", "nobody.txt: line 1: expected 'Name: words', got 'It rained all day'"),
    "broken.json": (b'[{"role": "user", "content"', "broken.json: not JSON: "),
    "broken.jsonl": (b'{"role": "user", "content": "x"}\n{"role"', "broken.jsonl: line 2 is not JSON: "),
    "deep.json": (b"[" * 100_000, "deep.json: not JSON: "),
    "number.json": (b"[1]", "number.json: message 0: expected a Message, a dict or a (role, text) pair, got 1"),
    "roleless.json": (b'[{"content": "x"}]', "roleless.json: message 0: needs a 'role'"),
    "export.jsonl": (b'{"kind": "header", "format": "secom-memory"}', "take it in with: secom import export.jsonl"),
    "twice.json": (
        b'[{"id": "m", "role": "user", "content": "x"}, {"id": "m", "role": "user", "content": "y"}]',
        "id 'm' already belongs to another message",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_cannot_be_read_is_named(secom: Secom, name: str) -> None:
    raw, message = BROKEN[name]
    Path(name).write_bytes(raw)
    assert message in refused(secom("remember", "chat.txt", name, *ALICE))
    if name != "twice.json":
        assert not Path("memory.db").exists()  # nothing of the good file either


def test_a_file_that_is_not_utf8_is_read_and_that_is_said(secom: Secom) -> None:
    Path("latin.txt").write_bytes("Ann: Zoë".encode("latin-1"))
    done = secom("remember", "latin.txt", *ALICE)
    assert done.code == 0
    assert done.err.startswith("secom: latin.txt is not UTF-8: byte 7 is 0xeb; it is read as Windows-1252")
    assert "Zoë" in secom.ok("inspect", "turns", *ALICE)


@pytest.mark.slow
def test_files_that_are_not_there(kept: Secom) -> None:
    missing = "secom: there is no file or folder {}; check its name and the folder that it is in\n"
    assert refused(kept("remember", "none.txt", *ALICE)) == missing.format("none.txt")
    assert "holds no export that is known" in refused(kept("remember", ".", *ALICE))
    assert "there is no folder none" in refused(kept("report", "-o", "none/page.html", *ALICE))
    assert refused(kept("import", "none.jsonl")) == missing.format("none.jsonl")


def test_names_that_do_not_fit(secom: Secom) -> None:
    Path("two.txt").write_text(FORMS["headers.txt"][0])
    assert "holds 2 sessions with names of their own" in refused(secom("remember", "two.txt", "--session", "x", *ALICE))


def test_an_import_that_fails_makes_no_store(secom: Secom) -> None:
    told = refused(secom("import", "chat.txt"))
    assert "line 1 of the import cannot be used" in told
    assert "`secom remember` reads other chats" in told
    assert not Path("memory.db").exists()


def test_the_store_is_not_overwritten(kept: Secom) -> None:
    for words in (["export"], ["report"]):
        assert "is the store itself" in refused(kept(*words, "-o", "./memory.db", *ALICE))
    assert "Ghent" in kept.ok("recall", "Ghent", *ALICE)


def test_nothing_that_is_meant_is_an_error(kept: Secom) -> None:
    assert "nothing was forgotten" in refused(kept("forget", "--before", "1999-01-01", *ALICE))
    assert "has no session 'none'" in refused(kept("forget", "--session", "none", *ALICE))
    assert "has no session 'none'" in refused(kept("inspect", "turns", "--session", "none", *ALICE))
    for what in ("turns", "log"):
        message = f"--make is for what is made of closed sessions, not for {what}"
        assert message in refused(kept("inspect", what, "--make", *ALICE))


def test_a_store_of_a_later_version(kept: Secom) -> None:
    with sqlite3.connect("memory.db") as connection:
        connection.execute("INSERT INTO schema_versions VALUES (9999)")
    assert "upgrade secom-memory" in refused(kept("recall", "Ghent", *ALICE))


@pytest.mark.slow
def test_a_full_disk_is_an_error(kept: Secom) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "secom_core", "export", *ALICE]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=environment(), text=True, timeout=60)
    assert done.returncode == 1
    assert re.fullmatch(r"secom: the output cannot be written: No space left[^\n]*\n", done.stderr)


_WITHOUT_RIGHTS = """
import ctypes, os, sys
if os.geteuid() == 0:
    # Root may write to anything, so this process gives up what makes it so.
    ctypes.CDLL(None).capset((ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)())
from secom_core.command import main
sys.exit(main())
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="how root gives up its rights is a matter of Linux")
@pytest.mark.parametrize(
    ("words", "place"),
    [
        # It is written under another name first.
        (["export", "-o", "closed/alice.jsonl"], "closed/alice.jsonl"),
        (["remember", "export"], "export/inner"),
    ],
)
def test_an_error_names_what_there_is_no_right_to(kept: Secom, words: list[str], place: str) -> None:
    Path("closed").mkdir(mode=0o555)
    Path("export/inner").mkdir(parents=True)
    Path("export/chat.txt").write_text("Ann: Hello.")
    Path("export/inner").chmod(0)
    command = [sys.executable, "-c", _WITHOUT_RIGHTS, *words, *ALICE]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60)
    Path("export/inner").chmod(0o755)
    assert done.stderr == f"secom: {place}: Permission denied; give yourself the right to it, or name another file\n"


@pytest.mark.slow
def test_a_reader_that_has_seen_enough(kept: Secom) -> None:
    Path("long.txt").write_text("".join(f"Ann: {number} {'word ' * 50}\n" for number in range(2000)))
    kept.ok("remember", "long.txt", *ALICE)
    command = f"{shlex.quote(sys.executable)} -m secom_core export {shlex.join(ALICE)} | head -1"
    done = subprocess.run(["bash", "-c", command], env=environment(), capture_output=True, text=True, timeout=60)
    assert json.loads(done.stdout)["kind"] == "header"
    assert done.stderr == ""


MISUSED = [
    (["recall", "x"], "--scope acme --scope alice"),
    (["recall", "x", "--scope", ""], "a part of a scope is not empty"),
    (["recall", "x", "--scope-json", "alice"], "a JSON list of strings, such as '[\"acme\", \"alice\"]', got 'alice'"),
    (["recall", "x", "--also", "team", *ALICE], "got 'team'"),
    (["recall", "x", "--scope-json", '"alice"'], "a JSON list of strings"),
    (["recall", "x", "--scope-json", "[]"], "a JSON list of strings"),
    (["recall", "x", "--scope", "a", "--scope-json", '["a"]'], "not allowed with"),
    (["recall", *ALICE], "QUERY"),
    (["recall", "x", "-k", "0", *ALICE], "a whole number from 1 on, not '0'"),
    (["recall", "x", "--token-budget", "many", *ALICE], "a whole number from 1 on"),
    (["recall", "x", "--now", "tomorrow", *ALICE], "a date such as 2024-05-07"),
    (["inspect", "dreams", *ALICE], "invalid choice: 'dreams'"),
    (["forget", *ALICE], "Give --session, --turn or --before, or --all"),
    (["forget", "--all", "--session", "x", *ALICE], "--all is the whole scope"),
    (["forget", "--before", "14:00", *ALICE], "a date such as"),
    (["report", *ALICE], "-o/--output"),
    (["remember", *ALICE], "FILE"),
    (["dream"], "invalid choice: 'dream'"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("words", "message"), MISUSED, ids=[" ".join(words) for words, _ in MISUSED])
def test_misuse_is_explained(kept: Secom, words: list[str], message: str) -> None:
    done = kept(*words)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert "Ghent" in kept.ok("recall", "Ghent", *ALICE)


# -- by hand ----------------------------------------------------------------------------------------------------------


def test_what_is_done_by_hand_is_asked_for_shown_and_undone(furnished: Secom) -> None:
    code, seen = at_terminal(["correct", "rent", "Our rent is 1,700.", *ALICE], "n\n")
    assert (code, "nothing was changed" in seen) == (1, True)
    assert "Our rent is new." in seen
    done = json.loads(furnished.ok("correct", "rent", "Our rent is 1,700.", "--yes", "--json", *ALICE))
    assert done["corrected"] == "rent"
    assert "→ (replaced on" in furnished.ok("recall", "rent", *ALICE)
    furnished.ok("pin", "rent", "-y", *ALICE)
    furnished.ok("report", "-o", "page.html", *ALICE)
    page = Path("page.html").read_text(encoding="utf-8")
    assert page.count("<em>corrected on ") == page.count("<em>pinned on ") == page.count("<em>retracted on ") == 1
    assert "helmet" in furnished.ok("inspect", "corrections", *ALICE)
    assert furnished.ok("undo", "rent", "-y", *ALICE) == "rent is undone\n"
    for wrong in (["pin", "nobody"], ["undo", "rent"]):
        assert furnished(*wrong, "-y", *ALICE).code == 1
    furnished.ok("unpin", "rent", "-y", *ALICE)
    assert furnished.ok("sweep") == "0 turns forgotten\n"
    assert furnished.ok("prepare") == "1 scope ready to be searched\n"


# -- help, and the page that is written about it ----------------------------------------------------------------------


def helped(secom: Secom, *words: str) -> str:
    done = secom(*words, "--help")
    assert done.code == 0
    return done.out


def test_help_shows_three_commands_to_begin_with(secom: Secom) -> None:
    text = helped(secom)
    begin = text[text.index("Begin with") : text.index("A scope says")]
    assert [line.split()[1] for line in begin.splitlines() if line.startswith("  secom")] == [
        "remember",
        "recall",
        "inspect",
    ]
    alone = secom()
    assert (alone.code, alone.out, alone.err) == (2, "", text)
    assert re.fullmatch(r"secom \d+\.\d+\.\d+\n", secom.ok("--version"))


NAMES = list(parser().commands)


def test_a_store_moves_to_a_server_and_is_asked_there(kept: Secom, postgres_url: str) -> None:
    assert json.loads(kept.ok("move", postgres_url, "--json"))["scopes"] == 1
    assert "1 there already" in kept.ok("move", postgres_url)
    here, there = kept.ok("export", *ALICE), kept.ok("export", "--store", postgres_url, *ALICE)
    assert here == there
    assert kept.ok("scopes", "--store", postgres_url) == kept.ok("scopes")
    refused = kept("backup", "copy.db", "--store", postgres_url)
    assert (refused.code, "pg_dump" in refused.err) == (1, True)


def test_a_store_is_not_moved_into_a_file_that_is_none(kept: Secom) -> None:
    Path("notes.txt").write_text("not a store")
    refused = kept("move", "notes.txt")
    assert (refused.code, "holds text and is no bank" in refused.err) == (1, True)
    assert kept.ok("backup", "copy.db") == "copied to copy.db\n"
    assert kept.ok("scopes", "--store", "copy.db") == kept.ok("scopes")


def test_compact_writes_the_file_anew(kept: Secom, postgres_url: str) -> None:
    said = [{"role": "user", "content": f"The lighthouse of Ostend, number {each}. " * 9} for each in range(200)]
    Path("said.jsonl").write_text("\n".join(map(json.dumps, said)), encoding="utf-8")
    kept.ok("remember", "said.jsonl", "--scope", "bob")
    kept.ok("forget", "--all", "--yes", "--scope", "bob")
    before = Path("memory.db").stat().st_size
    done = json.loads(kept.ok("compact", "--json"))
    assert (done["before"], done["after"]) == (before, Path("memory.db").stat().st_size)
    assert done["after"] < before
    assert b"lighthouse" not in Path("memory.db").read_bytes()
    kept.ok("move", postgres_url)
    refused = kept("compact", "--store", postgres_url)
    assert (refused.code, "VACUUM FULL" in refused.err) == (1, True)


def test_there_is_help_for_each_command() -> None:
    assert NAMES == [
        "remember",
        "recall",
        "inspect",
        "report",
        "correct",
        "retract",
        "undo",
        "pin",
        "unpin",
        "forget",
        "sweep",
        "compact",
        "export",
        "import",
        "check",
        "prepare",
        "move",
        "backup",
        "rekey",
        "serve",
        "token",
        "scopes",
        "doctor",
        "completion",
    ]


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the first test puts what `furnished` has made, for the others to copy."""
    return tmp_path_factory.mktemp("furnished") / "folder"


@pytest.fixture
def furnished(secom: Secom, shelf: Path) -> Secom:
    """All that the examples in the help are about."""
    if not shelf.exists():
        furnish(secom)
        shutil.copytree(".", shelf)
    shutil.copytree(shelf, ".", dirs_exist_ok=True)
    return secom


def furnish(secom: Secom) -> None:
    secom.ok("remember", "chat.txt", *ALICE)
    Path("chat.jsonl").write_text("\n".join(map(json.dumps, SAID)), encoding="utf-8")
    Path("diary.txt").write_text("[2023-05-01 09:00] Ann: I ran.\n[2024-05-01 09:00] Ann: I swam.\n")
    secom.ok("remember", "diary.txt", *ALICE)
    secom.ok("export", "-o", "alice.jsonl", *ALICE)
    said = [{"role": "user", "content": f"Our {each} is new.", "id": each} for each in ("rent", "helmet")]
    Path("said.jsonl").write_text("\n".join(map(json.dumps, said)), encoding="utf-8")
    secom.ok("remember", "said.jsonl", *ALICE)
    secom.ok("retract", "helmet", "--yes", *ALICE)
    Path("key.txt").write_text("the old one\n")
    Path("new-key.txt").write_text("the new one\n")
    if find_spec("sqlcipher3") is not None:
        secom.ok("move", "vault.db", "--new-key-file", "key.txt")


def test_a_session_gives_its_time_to_messages_without_one(secom: Secom) -> None:
    said, later = {"role": "user", "content": "I moved."}, {"role": "user", "content": "I ran.", "at": "2024-03-16"}
    rows = [{"session": "one", "date": "2024-03-15", "messages": [said, later]}, {"session": "two", "messages": [said]}]
    Path("chat.json").write_text(json.dumps(rows), encoding="utf-8")
    secom.ok("remember", "chat.json", "--at", "2020-01-01", *ALICE)
    turns = secom.ok("inspect", "turns", *ALICE)
    assert re.findall(r"20\d\d-\d\d-\d\d", turns) == ["2020-01-01", "2024-03-15", "2024-03-16"]
    Path("odd.json").write_text(json.dumps([{"date": "one day", "messages": [said]}]), encoding="utf-8")
    assert "no time can be read from 'one day'" in secom("remember", "odd.json", *ALICE).err


@pytest.mark.slow
@pytest.mark.parametrize("name", ["", *NAMES])
def test_the_examples_in_the_help_work(furnished: Secom, name: str) -> None:
    lines = re.findall(r"^  (secom .*)$", helped(furnished, *filter(None, [name])), re.M)
    assert lines
    for line in lines:
        _, *words = shlex.split(line)
        assert name in ("", words[0])
        if "--damaged" in words and find_spec("dissect") is None:
            continue  # needs the extra 'salvage'
        if "--key-file" in words and find_spec("sqlcipher3") is None:
            continue  # needs the extra 'encrypted'
        if ">" in words:
            words = words[: words.index(">")]
        if words[0] == "serve":
            parser(words).parse_args(words)
            continue  # serves until it is stopped; tests/serve starts it
        done = furnished(*words)
        assert (done.code, line) == (0, line), done.err


@pytest.mark.long
@pytest.mark.slow
def test_the_page_on_the_command_is_true(secom: Secom) -> None:
    """Its shell blocks run in order in one folder, and print what stands below them."""
    page = (ROOT / "docs" / "command.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(sh|text)\n(.*?)^```$", page, re.M | re.S)
    assert sum(kind == "sh" for kind, _ in blocks) >= 5
    printed: str | None = ""
    for kind, text in blocks:
        if kind == "text":
            assert printed in (text, None)
            continue
        if "--key-file" in text and find_spec("sqlcipher3") is None:
            printed = None  # needs the extra 'encrypted'
            continue
        script = f'secom() {{ {shlex.quote(sys.executable)} -m secom_core "$@"; }}\nset -e\n{text}'
        done = subprocess.run(
            ["bash", "-c", script], env=environment(), capture_output=True, encoding="utf-8", timeout=60, input=""
        )
        assert done.returncode == 0, f"{text}\n{done.stderr}"
        printed = done.stdout


def test_the_page_names_every_command_and_option() -> None:
    page = (ROOT / "docs" / "command.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`secom ([a-z]+)", page)) | set(re.findall(r"^secom ([a-z]+)", page, re.M))
    assert named >= set(NAMES)
    assert set(re.findall(r"--[a-z][a-z-]*", page)) <= set(re.findall(r"--[a-z][a-z-]*", options()))


def commands() -> dict[str, ArgumentParser]:
    found = next(action for action in parser()._actions if action.choices and "recall" in action.choices)
    return dict(found.choices or {})


def options() -> str:
    return "".join(command.format_help() for command in commands().values())


def listings() -> list[str]:
    """What `secom inspect` can show."""
    return list(next(action for action in commands()["inspect"]._actions if action.dest == "what").choices or ())


def test_a_transcript_keeps_what_the_reader_makes_of_it(secom: Secom) -> None:
    secom.ok("remember", "chat.txt", *ALICE)
    with MemoryBank.open("memory.db") as bank:
        there = bank.turns(("acme", "alice"), "chat")
    [read] = read_transcript(CHAT)
    assert [turn.text for turn in there] == [turn.text for turn in read.turns]


# -- what is configured -----------------------------------------------------------------------------------------------


def test_the_scope_and_the_store_may_be_configured_and_the_command_line_wins(
    kept: Secom, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("memory.db").rename("mine.db")
    Path("secom.toml").write_text('store = "mine.db"\nscope = ["acme", "alice"]\n', encoding="utf-8")
    assert "Ghent" in kept.ok("recall", "Ghent")
    assert "nothing is remembered for --scope acme --scope bob;" in refused(
        kept("recall", "Ghent", "--scope", "acme", "--scope", "bob")
    )
    monkeypatch.setenv("SECOM_SCOPE", "acme/carol")
    assert "for --scope acme --scope carol (from SECOM_SCOPE);" in refused(kept("recall", "Ghent"))
    assert "Ghent" in kept.ok("recall", "Ghent", *ALICE)
    monkeypatch.setenv("SECOM_STORE", "other.db")
    assert "other.db (from SECOM_STORE);" in refused(kept("recall", "Ghent", *ALICE))
    assert "Ghent" in kept.ok("recall", "Ghent", "--store", "mine.db", *ALICE)


def test_a_configuration_that_is_named_is_read_by_every_command(kept: Secom) -> None:
    Path("elsewhere").mkdir()
    Path("memory.db").rename("elsewhere/memory.db")
    Path("elsewhere/my.toml").write_text('store = "memory.db"\nscope = "acme/alice"\n', encoding="utf-8")
    for words in (["recall", "Ghent"], ["inspect"], ["scopes"], ["check"], ["export"], ["backup", "copy.db"]):
        kept.ok(*words, "--config", "elsewhere/my.toml")
    Path("elsewhere/my.toml").write_text("scope = 7\n", encoding="utf-8")
    assert "elsewhere/my.toml: scope is a list" in refused(kept("scopes", "--config", "elsewhere/my.toml"))
    assert "--config names" in refused(kept("scopes", "--config", "nothing.toml"))


def test_the_embedder_may_be_named(kept: Secom, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wordllama", reason="needs the extra 'static'")
    asked = ["recall", "In which town does she live?", "--json", *ALICE]
    by_words, by_meaning = (json.loads(kept.ok(*asked, *more)) for more in ([], ["--embedder", "static"]))
    assert by_words["hits"] != by_meaning["hits"]
    monkeypatch.setenv("SECOM_EMBEDDER", "statik")
    error = refused(kept(*asked))
    assert error.startswith("secom: SECOM_EMBEDDER: there is no embedder 'statik'")
    assert "did you mean 'static'?" in error
    kept.ok("export", *ALICE)  # asks no model for anything
