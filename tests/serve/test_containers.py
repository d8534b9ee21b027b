"""The files for containers, as far as that goes without a container engine: what they say, and what they would run."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from benchmarks.served import serving
from secom_core.configuration import OPTIONS

yaml = pytest.importorskip("yaml", reason="needs the extra 'dev'")
if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT: Final = Path(__file__).resolve().parents[2]
KNOWN: Final = {each.variable for each in OPTIONS.values()} | {"SECOM_TOKEN", "SECOM_METRICS_TOKEN", "SECOM_CONFIG"}
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile with what follows each."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    joined = re.sub(r"\\\n\s*", " ", re.sub(r"^#.*\n", "", text, flags=re.M))
    return [(name, rest) for line in joined.splitlines() if line for name, _, rest in [line.partition(" ")]]


def of(name: str) -> list[str]:
    return [rest for each, rest in instructions() if each == name]


def environment() -> dict[str, str]:
    return dict(word.split("=", 1) for line in of("ENV") for word in shlex.split(line))


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    return found


def test_every_instruction_is_one_of_docker() -> None:
    known = "FROM RUN COPY ENV USER WORKDIR VOLUME EXPOSE HEALTHCHECK STOPSIGNAL ENTRYPOINT CMD"
    assert {name for name, _ in instructions()} <= set(known.split())


def test_the_image_is_made_in_two_stages_and_runs_without_rights() -> None:
    names = [name for name, _ in instructions()]
    assert names.count("FROM") == 2
    last = names[len(names) - names[::-1].index("FROM") :]
    assert last.index("USER") < last.index("ENTRYPOINT")
    assert of("USER") == ["secom"]
    assert of("STOPSIGNAL") == ["SIGTERM"]


def test_what_is_copied_is_there_and_is_let_through() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    sources = [word for line in of("COPY") if "--from" not in line for word in line.split()[:-1]]
    assert ignored[0] == "*"
    for source in sources:
        assert (ROOT / source.removeprefix("./")).exists(), source
        assert f"!{source}" in ignored
    packages = re.findall(r"packages = (\[.*\])", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert set(json.loads(packages[0])) <= set(sources)


def test_the_image_installs_extras_that_there_are_and_starts_a_command_that_there_is() -> None:
    [extras] = re.findall(r'pip install --no-cache-dir "\.\[([\w,]+)\]"', " ".join(of("RUN")))
    assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])
    assert {"serve", "postgres", "static"} <= set(extras.split(","))
    [[entry]], [[word]] = map(json.loads, of("ENTRYPOINT")), map(json.loads, of("CMD"))
    assert entry in PROJECT["scripts"]
    assert word == "serve"


def test_every_variable_is_one_that_is_read(compose: dict[str, Any]) -> None:
    named = {*environment(), *compose["services"]["server"]["environment"]}
    assert {name for name in named if name.startswith("SECOM_")} <= KNOWN


def test_no_secret_stands_in_a_file_and_none_is_left_out(compose: dict[str, Any]) -> None:
    server, database = compose["services"]["server"]["environment"], compose["services"]["database"]["environment"]
    secrets = [server["SECOM_TOKEN"], server["PGPASSWORD"], database["POSTGRES_PASSWORD"], server["SECOM_SCOPE"]]
    assert all(re.fullmatch(r"\$\{[A-Z_]+:\?[^}]+\}", each) for each in secrets)
    assert ":" not in server["SECOM_STORE"].split("//")[1].split("@")[0]
    assert not [name for name in environment() if "TOKEN" in name or "KEY" in name or "PASSWORD" in name]


def test_the_server_waits_for_the_database_and_only_this_machine_reaches_it(compose: dict[str, Any]) -> None:
    server, database = compose["services"]["server"], compose["services"]["database"]
    assert server["depends_on"]["database"]["condition"] == "service_healthy"
    assert database["healthcheck"]["test"][0] == "CMD-SHELL"
    assert "ports" not in database
    assert all(port.startswith("127.0.0.1:") for port in server["ports"])
    assert server["cap_drop"] == ["ALL"]
    assert server["read_only"] is True
    assert set(compose["volumes"]) == {"database"}


def test_the_image_refuses_to_start_without_a_token(tmp_path: Path) -> None:
    environ = {"SECOM_SERVE_HOST": "0.0.0.0", "SECOM_SCOPE": "acme/alice"}
    says = "can be reached from other machines, and there are no tokens"
    with pytest.raises(RuntimeError, match=says), serving(tmp_path, environ=environ):
        pass


def is_healthy(url: str) -> bool:
    """Whether the health check of the image says so; it is the same command, on another port."""
    [rest] = of("HEALTHCHECK")
    command: list[str] = json.loads(rest.partition("CMD ")[2])
    assert command[0] == "python"
    words = [each.replace("http://127.0.0.1:8765", url.replace("0.0.0.0", "127.0.0.1")) for each in command[1:]]
    return subprocess.run([sys.executable, *words], capture_output=True, timeout=60).returncode == 0


def test_the_servers_settings_work_over_postgresql_with_pgvector(
    tmp_path: Path, postgres_url: str, compose: dict[str, Any]
) -> None:
    pytest.importorskip("wordllama")
    given = compose["services"]["server"]["environment"]
    filled = {"SECOM_STORE": postgres_url, "SECOM_TOKEN": "a-token-of-my-own-choice", "SECOM_SCOPE": "acme/alice"}
    environ = {**given, "SECOM_SERVE_HOST": environment()["SECOM_SERVE_HOST"], **filled}
    with serving(tmp_path, environ=environ) as served:
        assert is_healthy(served.url)
        url = served.url.replace("0.0.0.0", "127.0.0.1")
        headers = {"authorization": f"Bearer {filled['SECOM_TOKEN']}", "host": "memory.example"}
        body = {"messages": [{"role": "user", "content": "My cat sleeps on the radiator."}], "session": "s"}
        assert httpx.post(f"{url}/v1/remember", json=body, headers=headers, timeout=60).status_code == 200
        found = httpx.post(f"{url}/v1/recall", json={"query": "kitten"}, headers=headers, timeout=60)
        assert "radiator" in found.json()["text"]
        assert served.stop() == 0
        assert not is_healthy(served.url)
