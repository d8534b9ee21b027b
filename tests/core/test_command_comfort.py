"""The command for people: what was meant, colours, completion, and the doctor."""

from __future__ import annotations

import fcntl
import gc
import io
import json
import os
import pty
import re
import shlex
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from contextlib import closing, redirect_stderr
from dataclasses import dataclass
from pathlib import Path

import pytest

from secom_core import MemoryBank, errors
from secom_core.command import main, opening
from secom_core.command.completion import script_for
from secom_core.command.doctor import EXTRAS
from secom_core.command.line import did_you_mean
from secom_core.command.options import parser
from secom_core.configuration.reading import tomllib

ROOT = Path(__file__).resolve().parents[2]
CHAT = "Ann: I moved to Ghent last week.\nBob: Congratulations!\nAnn: My cat Miso loves the warm floor.\n"
ALICE = ["--scope", "acme", "--scope", "alice"]


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with a chat in it, and an environment without settings."""
    for name in [each for each in os.environ if each.startswith("SECOM_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "nowhere"))
    monkeypatch.chdir(tmp_path)
    Path("chat.txt").write_text(CHAT, encoding="utf-8")
    return tmp_path


def typed(*words: str, stdin: str = "", **variables: str) -> Done:
    """The command in a process of its own, without a terminal."""
    command = [sys.executable, "-m", "secom_core", *words]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", **variables}
    done = subprocess.run(command, input=stdin, env=env, capture_output=True, encoding="utf-8", timeout=60)
    assert "Traceback" not in done.stderr
    return Done(done.returncode, done.stdout, done.stderr)


def typed_here(*words: str) -> str:
    """What the command in this process writes to standard error."""
    with redirect_stderr(io.StringIO()) as said:
        main(words)
    return said.getvalue()


def at_terminal(words: Sequence[str], **variables: str) -> str:
    """What is seen of the command at a terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    env = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    env |= {"PYTHONPATH": str(ROOT), "TERM": "xterm", **variables}
    command = [sys.executable, "-m", "secom_core", *words]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # The other end is closed.
                break
            if not piece:
                break
            seen += piece
        process.wait(timeout=60)
    os.close(ours)
    return seen.decode()


def run(capsys: pytest.CaptureFixture[str], *words: str) -> Done:
    """The command in this process."""
    try:
        code = main(list(words))
    except SystemExit as left:
        code = int(left.code or 0)
    seen = capsys.readouterr()
    return Done(code, seen.out, seen.err)


# -- what was meant ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        (["recal", "x"], 2, "did you mean recall?"),
        (["recall", "x", "--scpe", "acme"], 2, "did you mean --scope?"),
        (["recall", "x", "-scope", "acme"], 2, "did you mean --scope?"),
        (["recall", "x", "--only-relevent", *ALICE], 2, "did you mean --only-relevant?"),
        (["recall", "x", "--layer", "sumaries", *ALICE], 2, "did you mean summaries?"),
        (["inspect", "sesions", *ALICE], 2, "did you mean sessions?"),
        (["recall", "Where", "is", "it?", *ALICE], 2, "unrecognized arguments: is it?; put words that belong together"),
        (["recall", "x", "--scope", "acme", "alice"], 2, "--scope before each part of a scope"),
        (["recall", "x", "--scope", "acme", "--scope", "alise"], 1, "did you mean --scope acme --scope alice?"),
        (["inspect", "turns", "--session", "Chatt", *ALICE], 1, "did you mean chat?"),
        (["forget", "--session", "chta", *ALICE], 1, "did you mean chat?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_the_word_that_was_meant_is_named(
    capsys: pytest.CaptureFixture[str], words: list[str], code: int, hint: str
) -> None:
    assert run(capsys, "remember", "chat.txt", *ALICE).code == 0
    done = run(capsys, *words)
    assert (done.code, done.out) == (code, "")
    assert hint in done.err


def test_nothing_is_guessed_where_nothing_is_near() -> None:
    assert did_you_mean("xylophone", ["recall", "remember"]) == ""
    assert did_you_mean("", []) == ""
    assert "\x1b" not in did_you_mean("ab\x1bcd", ["ab\x1bce"])


# -- colours -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_is_said_while_a_bar_is_shown_has_a_line_of_its_own(folder: Path) -> None:
    lines = [f"{place % 28 + 1:02}/05/24, 14:05 - Ann: The choir sings {place}." for place in range(40)]
    (folder / "WhatsApp Chat with Choir.txt").write_text("\n".join(lines))
    seen = at_terminal(["remember", "WhatsApp Chat with Choir.txt", "--scope", "acme"], NO_COLOR="1")
    said = [line for line in re.split(r"[\r\n]+", seen) if "secom:" in line]
    assert any("carry no time zone" in line for line in said)
    assert all(line.startswith("secom:") for line in said), said


@pytest.mark.slow
def test_colours_are_for_terminals(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "remember", "chat.txt", *ALICE).code == 0
    words = ["recall", "Ghent", *ALICE]
    assert "\x1b[36m[1]\x1b[0m Ann: I moved to Ghent" in at_terminal(words)
    assert "\x1b[1;31msecom:\x1b[0m nothing is remembered" in at_terminal(["recall", "x", "--scope", "bob"])
    for plain in (at_terminal(words, NO_COLOR="1"), at_terminal(words, TERM="dumb"), typed(*words).out):
        assert "[1] Ann: I moved to Ghent" in plain
        assert "\x1b" not in plain


# -- completion --------------------------------------------------------------------------------------------------------

COMPLETED = [
    (["reca"], {"recall"}, set()),
    (["recall", "--sc"], {"--scope", "--scope-json"}, {"--repair"}),
    (["recall", "--layer", "s"], {"summaries"}, {"--scope"}),
    (["inspect", "se"], {"sessions", "segments"}, {"scopes"}),
    (["completion", "z"], {"zsh"}, {"bash"}),
]
CASES = [" ".join(words) for words, _, _ in COMPLETED]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(("words", "wanted", "unwanted"), COMPLETED, ids=CASES)
def test_bash_completes(words: list[str], wanted: set[str], unwanted: set[str]) -> None:
    line = (
        f"COMP_WORDS=(secom {' '.join(words)}); COMP_CWORD={len(words)}; _secom; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    script = f"compopt() {{ :; }}\n{script_for('bash')}\n{line}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    offered = set(done.stdout.split())
    assert wanted <= offered
    assert not unwanted & offered


@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
@pytest.mark.parametrize(("words", "wanted", "unwanted"), COMPLETED, ids=CASES)
def test_fish_completes(words: list[str], wanted: set[str], unwanted: set[str]) -> None:
    script = f"{script_for('fish')}\ncomplete -C 'secom {' '.join(words)}'"
    done = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    offered = {line.split("\t")[0] for line in done.stdout.splitlines()}
    assert wanted <= offered
    assert not unwanted & offered


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
@pytest.mark.parametrize(("words", "wanted", "unwanted"), COMPLETED, ids=CASES)
def test_zsh_completes(words: list[str], wanted: set[str], unwanted: set[str]) -> None:
    """With what zsh's own completion would be given in place of its functions."""
    begun = f"words=(secom {' '.join(words)}); CURRENT={len(words) + 1}; _secom"
    stubs = f"compdef() {{ :; }}; _files() {{ :; }}; compadd() {{ print -l -- ${{(M)@:#{words[-1]}*}}; }}"
    script = f"{stubs}\n{script_for('zsh')}\n{begun}"
    done = subprocess.run(["zsh", "-f", "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    offered = set(done.stdout.split())
    assert wanted <= offered
    assert not unwanted & offered


def test_every_command_and_option_is_completed() -> None:
    for shell in ("bash", "zsh", "fish"):
        script = script_for(shell)
        for name, line in parser().commands.items():
            assert name in script
            assert all(each.lstrip("-") in script for each in line.options)


# -- the doctor --------------------------------------------------------------------------------------------------------


def test_the_doctor_knows_every_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    assert set(EXTRAS) == set(extras) - {"all", "test", "dev", "peers"}
    # The extra "all" brings each of them.
    assert set(EXTRAS) == set(re.findall(r"[\w-]+", extras["all"][0].partition("[")[2]))
    for name, wanted in EXTRAS.items():
        required = {re.split(r"[\[<>=~! ]", each)[0].lower() for each in extras[name]}
        assert {each.lower() for each in wanted} <= required


def test_the_doctor_says_what_there_is(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai")
    assert run(capsys, "remember", "chat.txt", *ALICE).code == 0
    Path("secom.toml").write_text('scope = ["acme", "alice"]\nmodel = "any"\n', encoding="utf-8")
    monkeypatch.setenv("SECOM_API_KEY", "sk-very-secret")
    done = run(capsys, "doctor")
    assert done.code == 0, done.err
    for wanted in (
        r"ok secom-memory +\d",
        r"ok scope +acme, alice  \(from secom.toml\)",
        r"ok SECOM_API_KEY +set",
        r"holds +1 scope, 1 session, 3 turns, 0 vectors",
        r"integrity +no errors were found",
        r"second recall +\d+ ms in --scope acme --scope alice",
    ):
        assert re.search(wanted, done.out), wanted
    rows = json.loads(run(capsys, "doctor", "--json").out)
    assert {row["about"] for row in rows} == {"installed", "extras", "configuration", "store", "speed"}
    assert "sk-very-secret" not in done.out + json.dumps(rows)


def test_the_doctor_names_what_is_missing_and_how_to_get_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(EXTRAS["llmlingua"], "no-such-thing", "no_such_thing")  # type: ignore[arg-type]
    done = run(capsys, "doctor")
    assert done.code == 0
    assert re.search(r'- +llmlingua +not installed; pip install "secom-memory\[llmlingua\]"', done.out)
    assert re.search(r"- +memory.db +not there yet", done.out)
    assert not Path("memory.db").exists()


def test_an_extra_that_this_python_cannot_have_names_the_python_that_can(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    marked = {
        name: tuple(map(int, found[1].split(".")))
        for name, wanted in project["optional-dependencies"].items()
        if name in EXTRAS and (found := re.search(r"python_version >= '([\d.]+)'", "".join(wanted)))
    }
    assert marked == errors.EXTRA_PYTHONS

    monkeypatch.setitem(EXTRAS["pydantic-ai"], "no-such-thing", "no_such_thing")  # type: ignore[arg-type]
    monkeypatch.setattr("sys.version_info", (3, 10, 13, "final", 0))
    why = "needs Python 3.11 or later, and this is Python 3.10.13"
    assert re.search(rf"- +pydantic-ai +not installed; {re.escape(why)}\n", run(capsys, "doctor").out)
    assert str(errors.MissingExtra("pydantic_ai_secom", "pydantic-ai")) == f"pydantic_ai_secom {why}"
    monkeypatch.setattr("sys.version_info", (3, 11, 0, "final", 0))
    assert 'pip install "secom-memory[pydantic-ai]"' in str(errors.MissingExtra("pydantic_ai_secom", "pydantic-ai"))


def test_a_package_that_is_too_old_for_an_extra_is_named_with_both_versions(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for extra, (package, least) in errors.EXTRA_PACKAGES.items():
        assert f"{package}>={'.'.join(map(str, least))}," in ",".join(project["optional-dependencies"][extra])

    monkeypatch.setitem(EXTRAS, "serve", {"mcp": "json"})
    monkeypatch.setattr("importlib.metadata.version", lambda name: "1.30.0")
    why = "needs mcp 2.3 or later, and mcp 1.30 is installed, which another package may need; run it in an environment"
    assert re.search(rf"! +serve +{re.escape(why)}", run(capsys, "doctor").out)
    assert str(errors.MissingExtra("secom serve", "serve")).startswith(f"secom serve {why}")
    monkeypatch.setattr("importlib.metadata.version", lambda name: "2.3.0")
    assert str(errors.MissingExtra("secom serve", "serve")).endswith('with: pip install "secom-memory[serve]"')


def test_the_doctor_says_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "remember", "chat.txt", *ALICE).code == 0
    wrong = run(capsys, "doctor", "--embedder", "statik")
    assert (wrong.code, "did you mean 'static'?" in wrong.err) == (1, True)
    Path("memory.db").write_bytes(b"SQLite format 3\x00" + b"\xff" * 4000)
    broken = run(capsys, "doctor")
    assert broken.code == 1
    assert re.search(r"!! cannot be opened", broken.out)


def test_the_doctor_hides_the_password_of_a_database(capsys: pytest.CaptureFixture[str]) -> None:
    done = run(capsys, "doctor", "--store", "postgresql://alice:hunter2@127.0.0.1:1/none")
    assert done.code == 1
    assert "hunter2" not in done.out + done.err
    assert "127.0.0.1" in done.out


def _write_long() -> None:
    said = "herons, gulls, swans, geese and ducks by the old canal behind the mill in the rain"
    lines = "".join(f"Ann: On day {each} I counted {each * 7} {said}.\nBob: Noted.\n" for each in range(250))
    Path("long.txt").write_text(lines, encoding="utf-8")


def kept(store: str) -> int:
    """How many blocks the search index has in a store."""
    with closing(sqlite3.connect(store)) as connection:
        return int(connection.execute("SELECT count(*) FROM index_blocks").fetchone()[0])


def test_after_a_large_import_nobody_waits_for_the_search_index() -> None:
    _write_long()
    assert main(["remember", "chat.txt", *ALICE]) == 0
    assert kept("memory.db") == 0, "a few turns are analysed in no time, as they are asked for"
    assert main(["remember", "long.txt", *ALICE]) == 0
    assert kept("memory.db") > 0
    assert main(["export", *ALICE, "-o", "alice.jsonl"]) == 0
    assert main(["import", "alice.jsonl", "--store", "other.db"]) == 0
    assert kept("other.db") > 0
    assert main(["move", "moved.db"]) == 0
    assert kept("moved.db") > 0


def test_each_command_stands_in_a_line_with_what_it_is_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = parser().format_help().split("\n")
    for name, command in parser().commands.items():
        [line] = [each for each in lines if each.split()[:1] == [name]]
        assert line.split(maxsplit=1)[1] == command.says
        prose = [each for each in command.format_help().split("\n") if each[:1].strip()]
        assert max(map(len, prose)) <= 80


def test_a_misspelt_scope_is_not_compared_with_millions(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with MemoryBank.open(folder / "memory.db") as bank:
        for number in range(5):
            bank.remember((f"user-{number}",), [("user", "Hello.")], session="s")
    monkeypatch.setattr(opening, "_COMPARED", 3)
    monkeypatch.setattr(MemoryBank, "scopes", lambda *_: pytest.fail("all scopes are read"))
    assert "did you mean --scope user-2?" in typed_here("recall", "x", "--scope", "usr-2")
    assert "user-4" not in typed_here("recall", "x", "--scope", "usr-4")


@pytest.mark.parametrize("package", ["starlette", "uvicorn", "mcp", "pydantic", "prometheus_client"])
def test_a_server_without_its_packages_says_what_to_install(folder: Path, package: str) -> None:
    code = f"import sys; sys.modules[{package!r}] = None; from secom_core.command import main; sys.exit(main())"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code, "serve", "--scope", "me"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert 'pip install "secom-memory[serve]"' in done.stderr


def test_the_process_of_the_command_looks_for_no_garbage_as_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    before = gc.get_freeze_count()  # what collecting the tests has left behind
    assert main([]) == 2
    assert gc.get_freeze_count() <= before, "others go on after it"
    monkeypatch.setattr("sys.argv", ["secom"])
    try:
        assert main() == 2
        assert gc.get_freeze_count() > before
    finally:
        gc.unfreeze()
        gc.collect()
        gc.freeze()


# -- what ends early ---------------------------------------------------------------------------------------------------

# What runs in the background of a shell is deaf to Ctrl-C, and so are the tests there.
_LISTENING = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
_RUN = f"{_LISTENING}; import sys; from secom_core.command import main; sys.exit(main())"
_AS_IT_STARTS = f"""
{_LISTENING}
import builtins, os, sys
from secom_core.command import main
usual = builtins.__import__
def interrupted(name, *more):
    if name == "options":
        os.kill(os.getpid(), signal.SIGINT)
    return usual(name, *more)
builtins.__import__ = interrupted
sys.exit(main())
"""


def test_a_command_that_is_interrupted_as_it_starts_shows_no_traceback() -> None:
    command = [sys.executable, "-c", _AS_IT_STARTS, "scopes"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60)
    assert done.returncode == 130
    assert done.stderr.startswith("secom: interrupted; ")
    assert len(done.stderr.splitlines()) == 1


def test_a_search_index_whose_making_was_interrupted_is_made_by_the_same_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _write_long()

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(MemoryBank, "prepare", interrupted)
        assert main(["remember", "long.txt", *ALICE]) == 130
        assert main(["export", *ALICE, "-o", "alice.jsonl"]) == 0
        assert main(["import", "alice.jsonl", "--store", "other.db"]) == 130
    assert (kept("memory.db"), kept("other.db")) == (0, 0)
    assert main(["remember", "long.txt", *ALICE]) == 0
    assert main(["import", "alice.jsonl", "--store", "other.db"]) == 0
    assert kept("memory.db") > 0
    assert kept("other.db") > 0


def test_what_an_interrupted_command_has_done_is_whole_and_the_rest_is_done_by_the_next(folder: Path) -> None:
    """Ctrl-C in the middle of an import of 600 sessions."""
    rows = [[f"Herons {each}.", f"Gulls {each}.", f"Swans {each}."] for each in range(600)]
    said = [
        {"session": f"s{n}", "messages": [{"role": "user", "content": text} for text in row]}
        for n, row in enumerate(rows)
    ]
    Path("long.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in said), encoding="utf-8")
    command = [sys.executable, "-c", _RUN, "remember", "long.jsonl", *ALICE]
    with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE) as process:
        while process.poll() is None and _sessions(folder / "memory.db") < 20:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 130
    assert "the same command again does the rest" in errors
    with MemoryBank.open("memory.db") as bank:
        kept = bank.stats(("acme", "alice"))
        assert 20 <= kept.sessions < 600
        assert kept.messages == 3 * kept.sessions
        assert bank.check() == ()
    done = typed("remember", "long.jsonl", *ALICE)
    new = f"{1800 - kept.messages:,} messages remembered, {kept.messages:,} known already, in 600 sessions"
    assert (done.code, done.out.strip()) == (0, new)


def _sessions(store: Path) -> int:
    try:
        with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as connection:
            return int(connection.execute("SELECT count(*) FROM sessions").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_command_works_with_a_closed_stream(closed: str) -> None:
    assert main(["remember", "chat.txt", *ALICE]) == 0
    command = f"{shlex.quote(sys.executable)} -m secom_core remember chat.txt {' '.join(ALICE)} {closed}"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, shell=True, env=env, capture_output=True, encoding="utf-8", timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == ("" if closed.startswith(">") else "0 messages remembered, 3 known already, in 1 session\n")
