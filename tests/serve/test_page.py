"""The page on the server is true: its shell blocks run in order, its configurations are read."""

from __future__ import annotations

import json
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from benchmarks.served import serving
from secom_core.command.options import parser
from secom_core.configuration import read_settings

PAGE: Final = (Path(__file__).resolve().parents[2] / "docs" / "serve.md").read_text(encoding="utf-8")
BLOCKS: Final = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.M | re.S)


def run(text: str, folder: Path) -> str:
    script = f'secom() {{ {shlex.quote(sys.executable)} -m secom_core "$@"; }}\nset -e\n{text}'
    done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, encoding="utf-8", timeout=60)
    assert done.returncode == 0, f"{text}\n{done.stderr}"
    return done.stdout


@pytest.mark.slow
def test_the_shell_blocks_run_in_order(tmp_path: Path) -> None:
    tokens, *calls = [text for kind, text in BLOCKS if kind == "sh"]
    assert len(calls) == 3
    run(tokens, tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with serving(tmp_path, "--tokens-file", "tokens.jsonl", port=port):
        answers = [json.loads(run(call.replace(":8765", f":{port}"), tmp_path)) for call in calls]
    assert answers[0] == {"turn_ids": ["m1"], "new": 2, "ended": []}
    assert "Ghent" in answers[1]["text"]
    assert [row["name"] for row in answers[2]["sessions"]] == ["monday"]


def configured() -> list[dict[str, Any]]:
    """What the page's configurations say of the server, one each."""
    read = [json.loads(text) for kind, text in BLOCKS if kind == "json"]
    return [each.get("servers", each.get("mcpServers"))["memory"] for each in read if "error" not in each]


def test_what_agents_are_told_to_start_can_be_started() -> None:
    started = [each for each in configured() if "command" in each]
    assert len(started) == 2
    for each in started:
        assert each["command"] == "secom"
        args = parser(each["args"]).parse_args(each["args"])
        assert (args.mcp, args.scope, args.store) == (True, ["me"], "/home/me/memory.db")
    [over_http] = [each for each in configured() if "url" in each]
    assert over_http["url"].endswith("/mcp")


def test_the_configuration_of_the_page_is_read(tmp_path: Path) -> None:
    [text] = [text for kind, text in BLOCKS if kind == "toml"]
    (tmp_path / "secom.toml").write_text(text, encoding="utf-8")
    settings = read_settings(file=tmp_path / "secom.toml", environ={})
    assert (settings.scope, settings.embedder, settings.layers) == (("acme", "alice"), "static", ("summaries",))
    assert settings.serve.tokens_file == str(tmp_path / "tokens.jsonl")


def test_every_option_of_the_page_is_one() -> None:
    commands = next(each for each in parser()._actions if each.choices and "serve" in each.choices).choices or {}
    known = re.findall(r"--[a-z][a-z-]*", "".join(commands[name].format_help() for name in ("serve", "token")))
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", PAGE)) - {"--build"} <= set(known)
