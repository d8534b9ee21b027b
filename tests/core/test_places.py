"""A place is a file, memory or PostgreSQL. What only looks like one makes nothing, and no password is shown."""

from __future__ import annotations

import sqlite3
import traceback
from contextlib import closing
from pathlib import Path, PureWindowsPath

import pytest
from sqlalchemy import make_url

from secom_core.archive.salvage import salvage
from secom_core.bank import MemoryBank
from secom_core.command import main
from secom_core.errors import InvalidInput, StoreError
from secom_core.stores.opening import open_store
from secom_core.stores.places import file_at, is_postgres
from secom_core.stores.postgres import open_postgres, postgres_engine
from secom_core.stores.sqlite import open_sqlite
from secom_core.vector_stores.pgvector import PgVectorStore

PASSWORD = "pa55word"

REFUSED = [
    f"mysql://ann:{PASSWORD}@host/bank",
    f"MySQL+pymysql://ann:{PASSWORD}@host/bank",
    f"redis://:{PASSWORD}@host",
    f"jdbc:postgresql://ann:{PASSWORD}@host/bank",
    f" mysql://ann:{PASSWORD}@host/bank",
    f"url=mysql://ann:{PASSWORD}@host/bank",
    f"./mysql://ann:{PASSWORD}@host/bank",
    f"cockroachdb://ann:{PASSWORD}@host/bank",
    "sqlite:///bank.db",
    "sqlite:bank.db",
    "file:bank.db?mode=ro",
    "FILE:///bank.db",
    f"postgresql:ann:{PASSWORD}@host/bank",
    f"host=h user=ann password={PASSWORD}",
    f"host=h user=ann Password = {PASSWORD}",
    f"Server=h;Database=bank;PWD={PASSWORD}",
    Path(f"mysql://ann:{PASSWORD}@host/bank"),
    Path(f"postgresql://ann:{PASSWORD}@host/bank"),
    Path(f"/srv/mysql://ann:{PASSWORD}@host/bank"),
    "a\0b.db",
    "~nobody-of-that-name/bank.db",
]

UNDERSTOOD = [
    "POSTGRESQL://ann:pa55word@127.0.0.1:1/bank",
    " postgres://ann:pa55word@127.0.0.1:1/bank",
    "postgresql+asyncpg://ann:pa55word@127.0.0.1:1/bank",
    "PostgreSQL+psycopg2://ann:pa55word@127.0.0.1:1/bank",
    "postgresql://ann:pa55%77ord@127.0.0.1:1/bank",
    "postgresql://ann@127.0.0.1:1/bank?password=pa55word",
    "postgresql://ann@127.0.0.1:1/bank?pass%77ord=pa55%77ord",
    "postgresql://ann:x@127.0.0.1:1/bank?password=pa55word&password=pa55word",
    "postgresql://ann:x@127.0.0.1:1/bank?sslmode=require&sslpassword=pa55word",
    "postgresql://ann@127.0.0.1:1/bank?passfile=/home/pa55word",
    "postgresql://ann@127.0.0.1:1/bank?pwd=pa55word",
]

BROKEN = [
    "postgresql://ann:pa55word@host:not-a-port/bank",
    "postgresql://ann:pa55word/bank",
    "postgresql://ann:p@pa55word@host/bank",
    "postgresql://acme/ann:pa55word@host/bank",
]


def shown(error: BaseException) -> str:
    """All that a log shows of an error, but the lines of code."""
    lines = "".join(traceback.format_exception(error)).splitlines()
    return "\n".join(line for line in lines if not line.startswith("  "))


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """An empty folder to work in, which is looked at afterwards."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("where", REFUSED, ids=repr)
def test_what_only_looks_like_a_place_is_refused_and_makes_nothing(empty, where):
    with MemoryBank.open() as bank:
        openings = (MemoryBank.open, open_store, open_sqlite, salvage, bank.storage.backup)
        for open_ in openings:
            with pytest.raises(InvalidInput, match=r"memory\.db|NUL|full path") as refused:
                open_(where)
            assert PASSWORD not in shown(refused.value)


@pytest.mark.parametrize("where", [each for each in REFUSED if isinstance(each, str) and "\0" not in each], ids=repr)
@pytest.mark.parametrize(
    "words",
    [
        ["scopes", "--store", "{}"],
        ["remember", "/dev/null", "--store", "{}", "--scope", "ann"],
        ["remember", "{}", "--scope", "ann"],
        ["import", "{}"],
        ["import", "/dev/null", "--store", "{}"],
        ["export", "--damaged", "--store", "{}", "--scope", "ann"],
    ],
    ids=" ".join,
)
def test_the_command_refuses_it_too(empty, capsys, monkeypatch, where, words):
    monkeypatch.delenv("SECOM_STORE", raising=False)
    assert main([word.format(where) for word in words]) == 1
    said = capsys.readouterr()
    assert PASSWORD not in said.out + said.err


def test_the_command_copies_and_moves_to_no_url(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with MemoryBank.open("memory.db") as bank:
        bank.remember(("ann",), [{"role": "user", "content": "The parcel has arrived."}], session="s")
    for words in (["move", REFUSED[0]], ["backup", REFUSED[0]], ["export", "--scope", "ann", "-o", REFUSED[0]]):
        assert main(words) == 1
        assert PASSWORD not in capsys.readouterr().err
    assert main(["export", "--damaged", "--scope", "ann", "--store", UNDERSTOOD[0]]) == 1
    assert "--damaged reads the file" in capsys.readouterr().err
    assert {path.name.partition("-")[0] for path in tmp_path.iterdir()} == {"memory.db"}


@pytest.mark.parametrize("url", UNDERSTOOD)
def test_a_server_is_understood_and_no_password_shown(empty, url):
    pytest.importorskip("psycopg", reason="the extra 'postgres' is not installed")
    assert is_postgres(url)
    with pytest.raises(StoreError, match="failed") as failed:
        MemoryBank.open(url)
    assert PASSWORD not in shown(failed.value)
    engine = postgres_engine(url)
    # What libpq does not know, it refuses, and no store shows it.
    assert "pwd=" in url or PASSWORD not in f"{engine!r} {engine.url!r} {engine.url}"


@pytest.mark.parametrize("url", [*BROKEN, REFUSED[0]])
def test_a_url_that_cannot_be_read_is_refused_without_what_it_holds(empty, url):
    for open_ in (open_postgres, postgres_engine):
        with pytest.raises(InvalidInput, match="expected postgresql://") as refused:
            open_(url)
        assert PASSWORD not in shown(refused.value)


@pytest.mark.parametrize("where", [b"postgresql://ann:pa55word@host", make_url(UNDERSTOOD[-1]), None, "", 7], ids=repr)
def test_what_is_no_text_is_refused_without_what_it_holds(empty, where):
    with pytest.raises(InvalidInput, match="postgresql://…, got ") as refused:
        open_store(where)
    assert PASSWORD not in shown(refused.value)


@pytest.mark.parametrize(
    "name", ["C:\\x", "C:/x", "c:x.db", "\\\\?\\C:\\x", "a:b.db", "10:30.db", "a b=c.db", "~/x.db"]
)
def test_files_may_have_other_names(name):
    assert file_at(name) == Path(name).expanduser()
    assert not is_postgres(name)
    assert name.startswith("~") or file_at(str(PureWindowsPath(name)))


def test_a_password_in_the_query_is_used_and_not_shown(postgres_url):
    with MemoryBank.open(f"{postgres_url}&password={PASSWORD}&passfile=/{PASSWORD}") as bank:
        assert PASSWORD not in bank.storage.path
        assert PASSWORD not in repr(bank._store.engine) + repr(bank)
    upper = postgres_url.replace("postgresql://", "POSTGRESQL+asyncpg://")
    with MemoryBank.open(upper) as bank, MemoryBank.open(postgres_url) as same:
        assert bank.storage.path == same.storage.path


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_server_that_keeps_texts_otherwise_is_refused(postgres, encoding):
    name = f"of_{encoding.lower()}"
    postgres.execute(f"CREATE DATABASE {name} ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    url = postgres._url(name, "postgresql")
    try:
        with pytest.raises(StoreError, match=f"'{name}' keeps texts as {encoding}.*ENCODING 'UTF8'"):
            open_store(url)
        store = PgVectorStore(url, embedder=None)
        with pytest.raises(StoreError, match="ENCODING 'UTF8'"):
            store.delete(["x"])
        store.close()
    finally:
        postgres.execute(f"DROP DATABASE {name}")


# -- somebody else's file ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE orders (id)",
        "CREATE TABLE messages (id)",
        "CREATE TABLE scopes (id)",
        "CREATE VIEW v AS SELECT 1",
    ],
)
def test_another_programs_file_is_refused_and_stays_as_it_is(tmp_path, statement):
    path = tmp_path / "theirs.db"
    with closing(sqlite3.connect(path)) as theirs:
        theirs.execute(statement)
    before = path.read_bytes()
    for _ in range(2):
        with pytest.raises(InvalidInput, match=r"theirs\.db' holds the tables of another program.*name another file"):
            MemoryBank.open(path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["theirs.db"]


def test_an_encrypted_file_of_another_program_is_refused(tmp_path):
    dbapi2 = pytest.importorskip("sqlcipher3.dbapi2", reason="the extra 'encrypted' is not installed")
    path = tmp_path / "theirs.db"
    with closing(dbapi2.connect(str(path))) as theirs:
        theirs.execute("PRAGMA key = 'secret'")
        theirs.execute("CREATE TABLE orders (id)")
    before = path.read_bytes()
    with pytest.raises(InvalidInput, match="another program"):
        open_sqlite(path, key="secret")
    assert path.read_bytes() == before


def test_an_empty_file_and_an_empty_database_become_a_bank(tmp_path):
    (tmp_path / "empty.db").touch()
    with closing(sqlite3.connect(tmp_path / "void.db")) as void:
        void.execute("VACUUM")
    for name in ("empty.db", "void.db", "new.db"):
        with MemoryBank.open(tmp_path / name) as bank:
            bank.remember(("ann",), [{"role": "user", "content": "The parcel has arrived."}], session="s")
        with MemoryBank.open(tmp_path / name) as bank:
            assert bank.recall(("ann",), "parcel").hits
